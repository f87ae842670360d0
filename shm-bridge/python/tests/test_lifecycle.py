"""Checkpoints, restarts, other sizes, the end, and what errors carry: against a real daemon."""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import pathlib
import signal
import struct
import time
import types
from typing import Any, Callable, Iterator, Optional

import java_tools
import pytest
import torch
from conftest import REPOSITORY

import batchweave
from batchweave import DeadlineExceeded, Reclaimed, Refused, Superseded
from batchweave._token import decode
from batchweave.torch import StepLoader
from system import RING, STEPS, Daemon, write_stream

WAIT_S = 60.0
LEASE_BREAK_TIME = pathlib.Path("/proc/sys/fs/lease-break-time")
LEASE_S = 20  # more than it takes to start a daemon and to be late once
pytestmark = pytest.mark.timeout(400)  # several processes each, and none of it depends on time


def attach(url: str, place: pathlib.Path, **options: Any) -> batchweave.Reader:
    return batchweave.attach(url, directory=place, deadline_s=WAIT_S, environment={}, **options)


def attach_all(url: str, place: pathlib.Path, count: int, **options: Any) -> list:
    """All ranks of a launch, in this process."""
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        each = [
            threads.submit(
                attach, url, place, dp=dp, dp_size=count, rank=dp, local_readers=count, **options
            )
            for dp in range(count)
        ]
        return [one.result() for one in each]


def read(readers: list, steps: int) -> list:
    """The checksums of the slices of each step, in the order of the stream's grid."""
    seen = []
    for _ in range(steps):
        taken = [reader.next() for reader in readers]
        assert len({step.step for step in taken}) == 1
        seen.append([part.crc32c for step in taken for part in step.slices])
        for step in taken:
            step.release()
    return seen


def test_should_resume_every_rank_behind_the_checkpoint(stream, serve, rank, place):
    """Case U14: nothing that was prefetched, or read after the checkpoint, moves the position.

    Also U16: the token is the same on every rank, and short.
    """
    url = stream(dp=2)
    serve(url)
    ranks = [rank(), rank()]
    options = {"group": "u14", "local_readers": 2, "dp_size": 2}
    for dp, each in enumerate(ranks):
        told = {"session": "launch-1", "dp": dp, "rank": dp, **options}
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, **{told!r})\n"
            "reader.next_step"
        )
    assert [each.answer() for each in ranks] == [0, 0]
    for each in ranks:
        each.do("for _ in range(11): reader.next().release()")
    tokens = {each.do("token = reader.token; token.hex()") for each in ranks}
    assert len(tokens) == 1
    token = bytes.fromhex(tokens.pop())
    assert len(token) <= 256 and decode(token).next_step == 11 and decode(token).view_version > 0
    for each in ranks:
        each.do("for _ in range(4): reader.next().release()")
        assert each.do("reader.next_step") == 15
    ranks[1].do("reader.checkpointed('step-11', keep=2, token=token)")
    for each in ranks:
        each.kill()
    again = attach_all(url, place, 2, group="u14", session="launch-2", token=token)
    assert [reader.next_step for reader in again] == [11, 11]
    assert [reader.next().step for reader in again] == [11, 11]
    for reader in again:
        reader.close()


def test_should_read_the_same_samples_with_another_number_of_ranks(serve, place, tmp_path):
    """Case U34: four ranks, then two from the token; three are refused before the first step."""
    url = str(tmp_path / "stream")
    write_stream(url, dp=4, cp=1, first=0, steps=70, lengths="1000", seal=True)
    serve(url, memory_bytes=8 << 20)
    [whole] = attach_all(url, place, 1, group="elastic", session="whole")
    expected = read([whole], 70)
    assert whole.next() is None
    whole.close()
    four = attach_all(url, place, 4, group="elastic", session="four")
    assert read(four, 50) == expected[:50]
    token = four[2].token
    for reader in four:
        reader.close()
    two = attach_all(url, place, 2, group="elastic", session="two", token=token)
    assert read(two, 20) == expected[50:]
    assert [reader.next() for reader in two] == [None, None], "a clean end on every rank"
    for reader in two:
        reader.close()
    with pytest.raises(Refused) as refused:
        attach(url, place, group="elastic", session="three", dp=0, dp_size=3)
    assert refused.value.code == "GRID_MISMATCH"


def test_should_register_checkpoints_from_the_loader(stream, serve, place):
    url = stream()
    serve(url)
    options: dict = {"directory": place, "group": "loader", "deadline_s": WAIT_S}
    with StepLoader(url, session="one", **options) as loader:
        for _ in range(5):
            next(loader)
        state = loader.state_dict()
        loader.checkpointed("five", keep=1)
        next(loader)
        loader.checkpointed("five", keep=1, state=state)  # once more, later: nothing happens
        assert len(loader) == STEPS
        with pytest.raises(Refused) as refused:
            loader.reader.checkpointed("too-early", token=_at(state, 4))
        assert refused.value.code == "CHECKPOINT"
        again = StepLoader(url, session="two", **options)
        again.load_state_dict(state)
        assert again.reader.next_step == 5
        with pytest.raises(Superseded):
            loader.checkpointed("six")
        again.close()


def _at(state: dict, step: int) -> bytes:
    token = decode(bytes.fromhex(state["token"]))
    return type(token)(token.stream_id, token.view_version, step).encode()


def test_should_name_the_request_that_the_store_swallowed(serve, place, tmp_path):
    """Case U19: no answer at all: the rank raises in time, and says what it waited for."""
    url = str(tmp_path / "stream")
    write_stream(url, dp=1, cp=1, first=0, steps=1, lengths="1000", seal=False)
    [tgb] = (tmp_path / "stream" / "data").rglob("*.tgb")
    with _leased(tgb):
        serve(url)
        with attach(url, place, group="u19", session="s", rank=3) as reader:
            late = _late(reader, lambda error: error.attempts is not None)
    assert (late.stream, late.rank, late.step) == (url, 3, 0)
    assert late.object == str(tgb.relative_to(url))
    assert late.attempts >= 1
    assert "no answer from the store" in str(late.status)
    for fact in (url, "rank=3", "step=0", f"key={late.object}", f"attempts={late.attempts}"):
        assert fact in str(late), fact


@contextlib.contextmanager
def _leased(path: pathlib.Path) -> Iterator[None]:
    """Whoever else opens the file waits: until the end of this, or as long as the kernel lets it,
    which is 45 s where nobody has changed it."""
    break_s = int(LEASE_BREAK_TIME.read_text())
    if break_s < LEASE_S:
        pytest.skip(f"a lease holds for {break_s} s here ({LEASE_BREAK_TIME}): needed={LEASE_S}")
    heard = signal.signal(signal.SIGIO, signal.SIG_IGN)
    file = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as e:
            pytest.skip(f"no lease on the file system of {path}: {e.strerror}")
        yield
    finally:
        os.close(file)
        signal.signal(signal.SIGIO, heard)


def _late(
    reader: batchweave.Reader, wanted: Callable[[DeadlineExceeded], bool]
) -> DeadlineExceeded:
    """Asks with a deadline until the error is the wanted one; each comes a second after it, at
    most, and some more where the machine is busy."""
    end = time.monotonic() + WAIT_S
    while True:
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded) as raised:
            reader.next(deadline_s=3)
        assert 3 <= time.monotonic() - began <= 3 + 1 + 10
        if wanted(raised.value) or time.monotonic() > end:
            return raised.value


def test_should_give_a_rank_the_same_bytes_on_another_node(rank, processes, place, tmp_path):
    """Case U15: rank 3 of 8 dies with step 20 in its hands, and asks for it on another node."""
    url = str(tmp_path / "stream")
    write_stream(url, dp=8, cp=1, first=0, steps=24, lengths="1000", seal=True)
    nodes = [place, place.with_name("another-node")]
    for node in nodes:
        daemon = Daemon(node, url)
        processes.callback(daemon.kill)
    told = {"group": "u15", "session": "s", "dp_size": 8, "dp": 3, "rank": 3}
    victim = rank()
    victim.attach(url, nodes[0], **told, local_readers=1)
    victim.do("for _ in range(20): reader.next().release()")
    view = decode(bytes.fromhex(victim.do("reader.token.hex()"))).view_version
    victim.do("import hashlib\nstep = reader.next()\nstep.step")
    seen = victim.do("hashlib.sha256(memoryview(step.slices[0])).hexdigest()")
    victim.kill()
    told.update(next_step=20, view_version=view, local_readers=1)
    with attach(url, nodes[1], **told) as again:
        assert again.next_step == 20
        for number in range(20, 24):
            with again.next() as step:
                assert step.step == number
                content = bytes(memoryview(step.slices[0]))
                assert struct.pack("<i", number * 10000 + 300) * 1000 in content
                assert number != 20 or hashlib.sha256(content).hexdigest() == seen
        assert again.next() is None
        assert decode(again.token).view_version == view


def test_should_say_reclaimed_to_a_reader_that_the_collector_overtook(serve, rank, place, tmp_path):
    """Case D5: the data, or RECLAIMED with the horizon; never an object that is not there."""
    url = str(tmp_path / "stream")
    for first in (0, 32):
        write_stream(url, dp=1, cp=1, first=first, steps=32, lengths="1000", seal=False)
    before = set((tmp_path / "stream" / "data").rglob("*.tgb"))
    serve(url, memory_bytes=RING)
    with attach(url, place, group="slow", session="s") as reader:
        reader.next().release()
        for command in (
            ("session", "end", url, "slow", "s"),
            ("checkpoint", "add", url, "slow", "kept", 40),
            ("reclaim", url),
        ):
            java_tools.run("io.batchweave.cli.Main", *command)
        left = set((tmp_path / "stream" / "data").rglob("*.tgb"))
        assert left < before, "the collector deleted what lies below the horizon"
        served = 1
        with pytest.raises(Reclaimed) as reclaimed:
            for step in reader:
                assert step.step == served < 40
                value = struct.pack("<i", served * 10000) * 1000
                assert value in bytes(memoryview(step.slices[0]))
                served += 1
    assert "horizon=40" in str(reclaimed.value)
    assert served < 32


def test_should_run_what_the_readme_shows_of_training(serve, place, tmp_path, monkeypatch):
    """The example of README.md, from the beginning and again from its checkpoint."""
    text = (REPOSITORY / "README.md").read_text()
    example = text.split("## In PyTorch")[1].split("```python")[1].split("```")[0]
    url = str(tmp_path / "stream")
    write_stream(url, dp=1, cp=1, first=0, steps=12, lengths="8", seal=True)
    serve(url)
    assert "s3://bucket/run7" in example and "pretrain" in example
    example = example.replace("s3://bucket/run7", url)
    monkeypatch.setenv("BATCHWEAVE_DIR", str(place))
    path = tmp_path / "model.pt"

    def run(session: str, resume: Optional[pathlib.Path]) -> list:
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", session)
        model = _Model()
        names = {
            "model": model,
            "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
            "resume": resume,
            "device": "cpu",
            "time_for_a_checkpoint": lambda: len(model.steps) == 5,
            "save": torch.save,
            "path": path,
            "name": "five",
            "torch": torch,
        }
        exec(compile(example, "README.md", "exec"), names)
        names["loader"].close()
        return model.steps

    assert run("one", None) == list(range(12))
    assert run("two", path) == list(range(5, 12))


class _Model(torch.nn.Module):
    """Notes the steps whose tokens it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.steps: list = []

    def forward(self, tokens: torch.Tensor) -> Any:
        self.steps.append(int(tokens[0]) // 10000)
        return types.SimpleNamespace(loss=(tokens * self.weight).sum())
