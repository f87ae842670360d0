"""Steps that are reclaimed by real commands and a real daemon while ranks read."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import java_tools
import pytest

import batchweave
from batchweave import Reclaimed, Refused
from system import Process, until, write_stream

WAIT_S = 60.0
MAIN = "io.batchweave.cli.Main"
pytestmark = pytest.mark.timeout(600)  # several processes each, and none of it depends on time


def attach(url: str, place: pathlib.Path, **options: Any) -> batchweave.Reader:
    return batchweave.attach(url, directory=place, deadline_s=WAIT_S, environment={}, **options)


def test_should_restore_the_checkpoint_before_a_corrupt_one(rank, serve, place, tmp_path):
    """Case D7: while steps are reclaimed, what the newest ``keep`` checkpoints need is there."""
    url = str(tmp_path / "stream")
    write_stream(url, dp=1, cp=1, first=0, steps=8, lengths="1000", seal=False)
    write_stream(url, dp=1, cp=1, first=8, steps=16, lengths="1000", seal=True)
    serve(url)
    assert _last_seqs(url)[0] <= 8
    first = rank()
    options: dict = {"directory": str(place), "group": "d7", "deadline_s": WAIT_S}
    first.do(f"reader = batchweave.attach({url!r}, session='launch-1', **{options!r})", WAIT_S)
    saved = {}
    for step, more in (9, 9), (13, 4), (20, 7):
        first.do(f"for _ in range({more}): reader.next().release()", WAIT_S)
        saved[step] = bytes.fromhex(first.do("reader.token.hex()"))
        first.do(f"reader.checkpointed('step-{step}', keep=2)", WAIT_S)
    told = json.loads(java_tools.run(MAIN, "reclaim", url, "--json"))
    assert told["horizon"] == 13 and told["dataObjects"] > 0
    assert _last_seqs(url)[0] > 13, "what ends below step 13 is still there"
    first.kill()
    with pytest.raises(Refused) as refused:
        attach(url, place, group="d7", session="launch-2", token=saved[20][:-1] + b"?")
    assert refused.value.code == "TOKEN"
    second = attach(url, place, group="d7", session="launch-2", token=saved[13])
    java_tools.run(MAIN, "reclaim", url)
    for expected in range(13, 24):
        with second.next() as step:
            tokens = memoryview(step.slices[0].tensors()["tokens"])
            assert step.step == expected and set(tokens) == {expected * 10_000}
            del tokens
    assert second.next() is None
    second.close()
    with pytest.raises(Reclaimed):
        attach(url, place, group="d7", session="launch-3", token=saved[9])


def test_should_reclaim_from_the_daemon(processes, place, tmp_path):
    """``serve --reclaim`` deletes what a checkpoint lets go, and serves what is left."""
    url = str(tmp_path / "stream")
    for first in 0, 8:
        write_stream(url, dp=1, cp=1, first=first, steps=8, lengths="1000", seal=False)
    options = ["--memory", "1MiB", "--reserve", "0", "--dir", place, "--reclaim", "1s"]
    daemon = Process(java_tools.command(MAIN, "serve", url, *options))
    processes.callback(daemon.kill)
    while not daemon.line(WAIT_S).startswith("serving:"):
        pass
    assert _last_seqs(url)[0] <= 8, "nobody has said what may go"
    java_tools.run(MAIN, "checkpoint", "add", url, "g", "c", "12")
    until(lambda: _last_seqs(url)[0] > 12, "what ends below step 12 is deleted", WAIT_S)
    while "horizon=12" not in daemon.line(WAIT_S):
        pass
    reader = attach(url, place, group="g", session="s", next_step=12)
    assert reader.next().step == 12
    reader.close()
    daemon.process.terminate()
    daemon.end(WAIT_S)


def _last_seqs(url: str) -> list:
    """The last sequence number in each data object that is there."""
    found = os.walk(pathlib.Path(url) / "data")  # which bears with directories that go meanwhile
    names = [name for _, _, files in found for name in files if name.endswith(".tgb")]
    return sorted(int(name.split("-")[1].split(".")[0]) for name in names)
