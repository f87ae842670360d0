"""A training loop that waits for its data: colocated workers against BatchWeave, in turn.

Arguments: the settings, a JSON file with ``stepMs`` (the accelerator's), ``costs`` (processor
milliseconds of preprocessing per step), ``starvedCost`` (the one for which there are no more cores
elsewhere than here), ``workers``, ``rounds``, ``steps`` and ``colocatedSteps`` (that are
counted), ``mib`` (of a step), ``spare`` (how much quicker than the accelerator producers
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

import contextlib
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
DRAINED = 32
SETTLED = 48
SETTLING_MOST = 200
WAITED_MICROS = 5_000
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

    @contextlib.contextmanager
    def going_on(self, interval_s: float) -> Iterator[None]:
        """Adds one step after the other, meanwhile."""
        enough = threading.Event()

        def pace() -> None:
            due = time.perf_counter() + interval_s
            while not enough.wait(max(0.0, due - time.perf_counter())):
                self.add()
                due += interval_s

        thread = threading.Thread(target=pace, daemon=True)
        thread.start()
        try:
            yield
        finally:
            enough.set()
            thread.join()

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


def step(batches: Iterator[dict[str, Any]], step_s: float) -> float:
    """Takes a step and lets the accelerator work on it; how long ``next()`` took, microseconds."""
    asked = time.perf_counter()
    batch = next(batches)
    took = (time.perf_counter() - asked) * 1e6
    batch["tokens"][::1024].sum()
    del batch
    time.sleep(step_s)
    return took


def train(
    batches: Iterator[dict[str, Any]], uncounted: int, steps: int, step_s: float
) -> dict[str, Any]:
    """The loop."""
    for _ in range(uncounted):
        step(batches, step_s)
    began = time.perf_counter()
    took = [step(batches, step_s) for _ in range(steps)]
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


def settle(batches: Iterator[dict[str, Any]], step_s: float) -> None:
    """Goes on until no step of some was waited for.

    In turn with colocated workers the producers pause, which those of a job do not. The daemon looks
    the more rarely for something new the longer nothing came, at most a second apart, and gets
    quicker with each version that it finds. What is waited for later counts.
    """
    ready = 0
    for _ in range(SETTLING_MOST):
        ready = ready + 1 if step(batches, step_s) < WAITED_MICROS else 0
        if ready == SETTLED:
            return


def elsewhere(
    settings: dict[str, Any], producers: Producers, loader: StepLoader, cost: float, remote: int
) -> dict[str, Any]:
    step_s = settings["stepMs"] / 1e3
    producers.get_ahead(max(0, settings["ahead"] - producers.told + loader.reader.next_step))
    with producers.going_on(max(cost / remote / 1e3, step_s / settings["spare"])):
        settle(iter(loader), step_s)
        return train(iter(loader), 0, settings["steps"], step_s)


def starved(
    settings: dict[str, Any], producers: Producers, loader: StepLoader, cost: float, remote: int
) -> dict[str, Any]:
    """Nothing is left of what was made before."""
    while loader.reader.next_step < producers.told:
        next(iter(loader))
    with producers.going_on(cost / remote / 1e3):
        steps = settings["colocatedSteps"]
        return train(iter(loader), DRAINED, steps, settings["stepMs"] / 1e3)


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

        for _ in range(settings["rounds"]):
            tell("bare", 0, 0, bare(settings["steps"], settings["stepMs"] / 1e3))
            for cost in settings["costs"]:
                tell("colocated", cost, settings["workers"], colocated(settings, cost))
                remote = cores(settings, cost)
                tell("batchweave", cost, remote, elsewhere(settings, producers, loader, cost, remote))
        cost, remote = settings["starvedCost"], settings["workers"]
        tell("starved", cost, remote, starved(settings, producers, loader, cost, remote))
        loader.close()
    finally:
        producers.close()


if __name__ == "__main__":
    main()
