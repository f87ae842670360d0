"""StepLoader against a real daemon. Cases: U8, U9, U32, U45, and torchrun."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
from system import STEPS, RankFailed

HERE = pathlib.Path(__file__).parent


def run(program: str, *arguments: object, module: str | None = None, timeout_s: float = 110) -> str:
    head = (
        [sys.executable, "-m", module, "--standalone", "--nproc-per-node=2"]
        if module
        else [sys.executable]
    )
    command = [*head, str(HERE / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "leaked" not in done.stderr and "resource_tracker" not in done.stderr, done.stderr
    return done.stdout


def test_should_view_keep_edit_and_release(stream, serve, rank, place):
    """Cases U8, U9: a strided view outlives its batch; edits stay here; the ring wraps."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    assert one.loop(url, place) == 0
    told = one.do(
        """
bad = 0
kept = None
for index, batch in enumerate(loader):
    bad += int(batch["step"]) != index or not bool((batch["tokens"] == index * 10000).all())
    if kept is not None:
        bad += not bool((kept == (index - 1) * 10000 - 7).all())
    batch["tokens"] -= 7
    kept = batch["tokens"][::2]
    del batch
[index + 1, bad, loader.reader.info["held_steps"], loader.reader.info["views"]]
""",
        60,
    )
    assert told == [STEPS, 0, 1, "view"]


def test_should_raise_rather_than_overwrite_what_is_kept(stream, serve, rank, place):
    """Case U8."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    one.loop(url, place)
    with pytest.raises(RankFailed) as failed:
        one.do(
            """
kept = []
for batch in loader:
    kept.append((int(batch["step"]), batch["tokens"][::2]))
""",
            60,
        )
    assert failed.value.kind == "RingHeld"
    assert one.do("[step for step, view in kept if not bool((view == step * 10000).all())]") == []
    assert 2 <= one.do("len(kept)") <= 4
    assert one.do("kept.clear(); del batch; count = sum(1 for _ in loader); count") >= STEPS - 5


def test_should_keep_views_right_when_a_tensor_is_sent_away(stream, serve, rank, place):
    """Case U45: torch moves the storage; its views follow, the step is released."""
    url = stream()
    serve(url)
    one = rank()
    one.loop(url, place)
    told = one.do(
        """
import torch.multiprocessing
batch = next(iter(loader))
view = batch["tokens"][::2]
batch["tokens"].share_memory_()
batch["tokens"][0] = 5
[int(view[0]), bool((view[1:] == 0).all()), batch["tokens"].is_shared()]
""",
        60,
    )
    assert told == [5, True, True]
    one.do("del batch, view")
    assert one.do("loader.reader.info['held_steps']") == 0


@pytest.mark.parametrize(
    ("method", "workers"),
    [("fork", 0), ("fork", 1), ("forkserver", 1), ("spawn", 1)],
)
def test_should_work_in_a_data_loader(stream, serve, place, method, workers):
    """Case U32."""
    url = stream()
    serve(url)
    told = json.loads(run("loader_program.py", place, url, method, workers).splitlines()[-1])
    assert told == [[step, True] for step in range(STEPS)]


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_should_refuse_two_workers_whatever_starts_them(stream, serve, place, method):
    """Case U32."""
    url = stream()
    serve(url)
    told = json.loads(run("loader_program.py", place, url, method, 2).splitlines()[-1])
    assert told[0] == "NotSupported" and "num_workers=2" in told[1]


def test_should_run_the_quick_start_of_the_readme(stream, serve, rank, place):
    """Word for word, with a model that does nothing and this test's stream."""
    url = stream()
    serve(url)
    text = (HERE.parent / "README.md").read_text()
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text.split("# What to expect")[0], re.M)
    [with_torch] = [block for block in blocks if "StepLoader(" in block]
    [plain] = [block for block in blocks if "batchweave.attach(" in block]
    one = rank()
    one.do(f"""
import torch
os.environ["BATCHWEAVE_DIR"] = {str(place)!r}
device, path, losses = torch.device("cpu"), {str(place.parent / "checkpoint")!r}, []
class Output: loss = None
class Model(torch.nn.Module):
    def forward(self, tokens):
        losses.append(int(tokens[0]))
        return Output()
model = Model()
""")
    with_torch, plain = (
        textwrap.dedent(code).replace("s3://bucket/corpus", url).replace("    ...\n", "")
        for code in (with_torch, plain)
    )
    one.do(with_torch, 60)
    assert one.do("losses") == [step * 10000 for step in range(STEPS)]
    assert one.do("torch.load(path)['data']['token']") == one.do("loader.state_dict()['token']")
    one.do("loader.close(); del batch")
    one.do(f"{plain}\ntold = (step.step, len(slice.tensors()['tokens'].raw()))", 60)
    assert one.do("told") == [STEPS - 1, 4000]


def test_should_find_rank_and_launch_under_torchrun(stream, serve, place, tmp_path):
    url = stream(dp=2)
    serve(url)
    run("torchrun_program.py", place, url, tmp_path, module="torch.distributed.run")
    told = [json.loads((tmp_path / rank).read_text()) for rank in ("0", "1")]
    for dp, one in enumerate(told):
        assert one["steps"] == [[step, [dp, 0, step]] for step in range(STEPS)]
    assert told[0]["session"] == told[1]["session"]
    assert told[0]["state"] == told[1]["state"]
