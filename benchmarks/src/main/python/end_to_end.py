"""A training loop that waits for its data: colocated workers against BatchWeave, in turn.

Arguments: the settings, a JSON file with ``stepMs`` (the accelerator's), ``costs`` (processor
milliseconds of preprocessing per step), ``starvedCost`` (the one for which there are no more cores
elsewhere than here), ``workers``, ``rounds``, ``steps`` and ``colocatedSteps``
(that are counted), ``mib`` (of a step), ``spare`` (how much quicker than the accelerator producers
are), ``ahead`` (steps that they are ahead at first), ``stream``, ``directory`` (the daemon's),
``produce`` (the command line of a producer), ``work``. Prints one JSON line for each measurement:
the mean time of a step in seconds, and every ``next()`` in microseconds.

The accelerator's step is a sleep. A colocated worker spends the processor time of the preprocessing
on this machine and then hands over a tensor; it reads nothing, which flatters it. BatchWeave's
producers are elsewhere: their processor time is a pause, as long as that many remote cores would
take per step, and what follows is real, on this machine, beside the trainer: a producer that reads,
uploads and commits, the store, the daemon, the rank.
"""

from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any, Iterator

import torch
from safetensors.torch import save_file
from torch.utils.data import DataLoader, Dataset

from batchweave.torch import StepLoader

MIB = 1 << 20
UNCOUNTED = 4
SETTLING = 32
LEFT_OVER = 8
PREFETCH = 4


def tensor(mib: int) -> torch.Tensor:
    return torch.arange(mib * MIB // 4, dtype=torch.int32)


def spin(cpu_ms: float) -> None:
    """Spends processor time of this thread."""
    until = time.thread_time_ns() + int(cpu_ms * 1e6)
    while time.thread_time_ns() < until:
        pass


class Preprocessed(Dataset[dict[str, torch.Tensor]]):
    """What a colocated worker does for a step."""

    def __init__(self, mib: int, cpu_ms: float, steps: int) -> None:
        self.tokens = tensor(mib)
        self.cpu_ms = cpu_ms
        self.steps = steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        spin(self.cpu_ms)
        return {"tokens": self.tokens.clone()}


class Producers:
    """A real producer, told what to commit at the pace of cores that are elsewhere."""

    def __init__(self, settings: dict[str, Any]) -> None:
        slice_file = pathlib.Path(settings["work"]) / "slice.safetensors"
        save_file({"tokens": tensor(settings["mib"])}, str(slice_file))
        self.line = {"slices": [str(slice_file)], "origin": "bench"}
        self.told = 0
        self.committed = 0
        self.change = threading.Condition()
        self.process = subprocess.Popen(
            settings["produce"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise SystemExit("the producer did not start")
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for _ in self.process.stdout or ():
            with self.change:
                self.committed += 1
                self.change.notify_all()

    def add(self) -> None:
        assert self.process.stdin is not None
        self.told += 1
        self.process.stdin.write(json.dumps({**self.line, "state": self.told}) + "\n")
        self.process.stdin.flush()

    def get_ahead(self, steps: int) -> None:
        """Steps that are committed when this returns."""
        for _ in range(steps):
            self.add()
        with self.change:
            if not self.change.wait_for(lambda: self.committed >= self.told, 60):
                raise SystemExit("the producer commits nothing")

    def go_on(self, steps: int, interval_s: float) -> threading.Thread:
        """Adds the others one by one, meanwhile."""

        def pace() -> None:
            due = time.perf_counter()
            for _ in range(steps):
                due += interval_s
                time.sleep(max(0.0, due - time.perf_counter()))
                self.add()

        thread = threading.Thread(target=pace, daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def train(
    batches: Iterator[dict[str, Any]], uncounted: int, steps: int, step_s: float
) -> dict[str, Any]:
    """The loop: take a step, let the accelerator work on it."""
    took: list[float] = []
    began = 0.0
    for number in range(uncounted + steps):
        if number == uncounted:
            began = time.perf_counter()
        asked = time.perf_counter()
        batch = next(batches)
        if number >= uncounted:
            took.append((time.perf_counter() - asked) * 1e6)
        batch["tokens"][::1024].sum()
        del batch
        time.sleep(step_s)
    return {"stepSeconds": (time.perf_counter() - began) / steps, "nextMicros": took}


def bare(steps: int, step_s: float) -> dict[str, Any]:
    """The same loop with a step that is simply there."""
    batch = {"tokens": tensor(1)}
    return train(iter(dict(batch) for _ in range(UNCOUNTED + steps)), UNCOUNTED, steps, step_s)


def colocated(settings: dict[str, Any], cost: float) -> dict[str, Any]:
    steps = settings["colocatedSteps"]
    data = Preprocessed(settings["mib"], cost, steps + UNCOUNTED + LEFT_OVER)
    loader = DataLoader(
        data, batch_size=None, num_workers=settings["workers"], prefetch_factor=PREFETCH
    )
    return train(iter(loader), UNCOUNTED, steps, settings["stepMs"] / 1e3)


def cores(settings: dict[str, Any], cost: float) -> int:
    """Remote cores that make steps a little quicker than the accelerator takes them."""
    return max(1, math.ceil(cost * settings["spare"] / settings["stepMs"]))


def elsewhere(
    settings: dict[str, Any],
    producers: Producers,
    loader: StepLoader,
    cost: float,
    remote: int,
    ahead: int,
) -> dict[str, Any]:
    """A pass after a pause of the producers, which a stream that goes on does not have.

    The daemon looks the more rarely for something new the longer nothing came, at most a second
    apart, and gets quicker with each version that it finds: those steps are not counted.
    """
    steps = settings["steps"]
    interval_s = max(cost / remote, settings["stepMs"] / settings["spare"]) / 1e3
    producers.get_ahead(ahead)
    rest = producers.go_on(SETTLING + steps - ahead, interval_s)
    measured = train(iter(loader), SETTLING, steps, settings["stepMs"] / 1e3)
    rest.join()
    return measured


def main() -> None:
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
    torch.set_num_threads(1)
    producers = Producers(settings)
    try:
        loader = StepLoader(
            settings["stream"],
            group="bench",
            session="bench",
            directory=settings["directory"],
            dp=0,
            dp_size=1,
        )

        def tell(what: str, cost: float, remote: int, measured: dict[str, Any]) -> None:
            told = {"what": what, "costMs": cost, "cores": remote, **measured}
            print(json.dumps(told), flush=True)

        starved = settings["workers"]
        for _ in range(settings["rounds"]):
            tell("bare", 0, 0, bare(settings["steps"], settings["stepMs"] / 1e3))
            for cost in settings["costs"]:
                tell("colocated", cost, settings["workers"], colocated(settings, cost))
                remote = cores(settings, cost)
                measured = elsewhere(
                    settings, producers, loader, cost, remote, settings["ahead"]
                )
                tell("batchweave", cost, remote, measured)
        cost = settings["starvedCost"]
        measured = elsewhere(settings, producers, loader, cost, starved, UNCOUNTED)
        tell("starved", cost, starved, measured)
        loader.close()
    finally:
        producers.close()


if __name__ == "__main__":
    main()
