"""What next() of a StepLoader costs a rank when the step is ready, against a DataLoader worker.

Makes a stream of steps of ten tensors, serves it, and takes steps from it and the same tensors from
one worker of torch's DataLoader, in turn: a few of each in a row, after a sleep in which they become
ready and a moment in which the processor wakes up. Beside them what torch takes to make ten tensors
of memory that is there, after a sleep as well. What became ready has passed through the caches, so
the first of a row finds none of its code there, its ceiling neither: the first ones are kept apart
from those that follow. Prints one JSON line for each size. Arguments: the launcher, MiB per step and
rounds as "MIB:ROUNDS"...
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any, Iterator

import torch
from safetensors.torch import save_file
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.dlpack import from_dlpack, to_dlpack

from batchweave.torch import StepLoader

TENSORS = 10
MIB = 1 << 20
WARMUP = 3
AT_ONCE = 3
RING_STEPS = 6
SPIN_NS = 2_000_000
# As the package does it: without looks at what else it might have been given.
FROM_CAPSULE = getattr(torch._C, "_from_dlpack", from_dlpack)


def tensors(mib: int) -> dict[str, torch.Tensor]:
    each = mib * MIB // TENSORS // 64 * 16
    return {f"tensor{i}": torch.arange(each, dtype=torch.int32) + i for i in range(TENSORS)}


class Same(IterableDataset):
    """The same tensors, fresh each time, as a worker that prepares data has them."""

    def __init__(self, mib: int, steps: int) -> None:
        self.mib = mib
        self.steps = steps

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        made = tensors(self.mib)
        for _ in range(self.steps):
            yield {name: tensor.clone() for name, tensor in made.items()}


def run(launcher: str, *arguments: object, text: str = "") -> None:
    done = subprocess.run(
        [launcher, *map(str, arguments)], input=text, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: exit {done.returncode}: {done.stderr}")


def write_stream(launcher: str, root: pathlib.Path, mib: int, steps: int) -> None:
    slice_file = root / "slice.safetensors"
    save_file(tensors(mib), str(slice_file))
    run(launcher, "init", root / "stream", "--dp", 1)
    line = {"slices": [str(slice_file)], "state": 0, "origin": "bench"}
    lines = "".join(json.dumps({**line, "state": i}) + "\n" for i in range(steps))
    run(launcher, "produce", root / "stream", "--producer", "bench", text=lines)


class Row:
    """Microseconds, of the first of a row and of those that follow."""

    def __init__(self) -> None:
        self.first: list[float] = []
        self.following: list[float] = []

    def add(self, place: int, began_ns: int) -> None:
        took = (time.perf_counter_ns() - began_ns) / 1e3
        (self.following if place else self.first).append(took)


def look(batch: dict[str, Any]) -> None:
    for tensor in batch.values():
        tensor[::1024].sum()


def ready(mib: int) -> None:
    time.sleep(0.02 + AT_ONCE * 0.003 * mib)
    until = time.perf_counter_ns() + SPIN_NS
    while time.perf_counter_ns() < until:
        pass


def take(source: Iterator[dict[str, Any]], taken: Row, released: Row) -> None:
    batches = []
    for place in range(AT_ONCE):
        began = time.perf_counter_ns()
        batch = next(source)
        taken.add(place, began)
        batches.append(batch)
    del batch
    for batch in batches:
        look(batch)
    del batch
    for place in range(AT_ONCE):
        began = time.perf_counter_ns()
        del batches[0]
        released.add(place, began)


def make(mib: int, there: dict[str, torch.Tensor], took: Row) -> None:
    """The ceiling."""
    rows = [{name: to_dlpack(tensor) for name, tensor in there.items()} for _ in range(AT_ONCE)]
    batches = []
    ready(mib)
    for place, capsules in enumerate(rows):
        began = time.perf_counter_ns()
        batch = {name: FROM_CAPSULE(capsule) for name, capsule in capsules.items()}
        took.add(place, began)
        batches.append(batch)


def measure(stream: str, directory: str, mib: int, rounds: int) -> dict[str, Row]:
    ours = iter(
        StepLoader(stream, group="bench", session="bench", directory=directory, dp=0, dp_size=1)
    )
    steps = (rounds + WARMUP) * AT_ONCE
    worker = iter(DataLoader(Same(mib, steps), batch_size=None, num_workers=1, prefetch_factor=4))
    there = tensors(mib)
    for round_number in range(rounds + WARMUP):
        if round_number in (0, WARMUP):
            took = {name: Row() for name in ("next", "release", "worker", "drop", "made")}
        ready(mib)
        take(ours, took["next"], took["release"])
        make(mib, there, took["made"])
        ready(mib)
        take(worker, took["worker"], took["drop"])
    return took


def bench(launcher: str, mib: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory(dir="/dev/shm") as shm:
        write_stream(launcher, pathlib.Path(root), mib, (rounds + WARMUP) * AT_ONCE)
        stream = str(pathlib.Path(root) / "stream")
        memory = RING_STEPS * (mib + 1)
        directory = f"{shm}/daemon"
        daemon = subprocess.Popen(
            [launcher, "serve", stream, "--dir", directory, "--memory", f"{memory}MiB"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + 60
            while not (pathlib.Path(directory) / "daemon.json").exists():
                if time.monotonic() > deadline or daemon.poll() is not None:
                    raise SystemExit("the daemon did not start")
                time.sleep(0.05)
            took = measure(stream, directory, mib, rounds)
        finally:
            daemon.terminate()
            daemon.wait(60)
    print(json.dumps({"mib": mib, **{name: vars(row) for name, row in took.items()}}), flush=True)


if __name__ == "__main__":
    for size in sys.argv[2:]:
        bench(sys.argv[1], int(size.split(":")[0]), int(size.split(":")[1]))
