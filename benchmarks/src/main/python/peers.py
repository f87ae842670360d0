"""One loader of the comparison, told on stdin what to do.

Arguments: the loader's name and the settings, a JSON file with ``endpoint``, ``bucket``, ``steps``
and ``warmup``, ``counted``, ``ready`` (their parts), ``pause_s``, ``workers``, ``prefetch``,
``stream``, ``directory`` (the daemon's), ``daemon`` and ``server`` (process ids), ``work``. Each
line in is one pass over all steps: ``cold`` begins with nothing on this node, ``warm`` with what the
pass before left here. Each line out is its result, JSON; the first one says that it can begin.

A pass takes ``warmup`` steps, then ``counted`` ones as fast as they come, then ``ready`` ones with a
pause before each (``pause_s``, or twice what a counted step took), in which the loader can get ahead:
what ``next()`` takes then is the hand-over alone. Every page of a batch is looked at once, as a copy
to an accelerator does, and every sample is checked to have come exactly once.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import shutil
import sys
import time
from typing import Any, Callable, Iterator

import safetensors.torch
import torch
from peer_data import PIXELS, SAMPLES, SAMPLES_PER_TAR, s3
from torch.utils.data import DataLoader, Dataset, default_collate

PAGE = 4096
Batches = Iterator[dict[str, torch.Tensor]]


class BatchWeave:
    """The node's daemon prefetches into its ring; this process maps."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from batchweave.torch import StepLoader

        self.loader = StepLoader
        self.settings = settings
        self.passes = itertools.count()

    def batches(self, warm: bool) -> Batches:
        with self.loader(
            self.settings["stream"],
            group="peers",
            session=f"pass-{next(self.passes)}",
            directory=self.settings["directory"],
            dp=0,
            dp_size=1,
        ) as loader:
            yield from loader

    def roots(self) -> list[int]:
        return [os.getpid(), self.settings["daemon"]]


class Alone:
    """A loader whose processes are all below this one."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings

    def roots(self) -> list[int]:
        return [os.getpid()]

    def workers(self) -> dict[str, Any]:
        return {
            "num_workers": self.settings["workers"],
            "prefetch_factor": self.settings["prefetch"],
        }


class Objects(Dataset[dict[str, torch.Tensor]]):
    """A safetensors object per step, by boto3 on a connection that each worker keeps."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.client: Any = None

    def __len__(self) -> int:
        return int(self.settings["steps"])

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        if self.client is None:
            self.client = s3(self.settings)
        answer = self.client.get_object(Bucket=self.settings["bucket"], Key=f"objects/{step}")
        return safetensors.torch.load(answer["Body"].read())


class TorchWorkers(Alone):
    """torch's DataLoader in its best case: whole batches, made beforehand, one object each."""

    def batches(self, warm: bool) -> Batches:
        return iter(DataLoader(Objects(self.settings), batch_size=None, **self.workers()))


class Mosaic(Alone):
    """MosaicML's StreamingDataset as its guide has it, without shuffling."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from streaming import StreamingDataset

        super().__init__(settings)
        self.dataset = StreamingDataset
        os.environ["S3_ENDPOINT_URL"] = settings["endpoint"]
        self.local = pathlib.Path(settings["work"]) / "mosaic"
        self.loader: Any = None

    def batches(self, warm: bool) -> Batches:
        if not warm:
            self.loader = None
            shutil.rmtree(self.local, ignore_errors=True)
            dataset = self.dataset(
                remote=f"s3://{self.settings['bucket']}/mds",
                local=str(self.local),
                shuffle=False,
                batch_size=SAMPLES,
            )
            self.loader = DataLoader(
                dataset, batch_size=SAMPLES, persistent_workers=True, **self.workers()
            )
        return iter(self.loader)


class Tars(Alone):
    """WebDataset as its guide has it: tar shards through curl, batches made in the workers."""

    def __init__(self, settings: dict[str, Any]) -> None:
        import webdataset

        super().__init__(settings)
        self.webdataset = webdataset

    def batches(self, warm: bool) -> Batches:
        client = s3(self.settings)
        shards = self.settings["steps"] * SAMPLES // SAMPLES_PER_TAR
        urls = [
            client.generate_presigned_url(
                "get_object",
                Params={"Bucket": self.settings["bucket"], "Key": f"tars/{shard:04}.tar"},
            )
            for shard in range(shards)
        ]
        dataset = (
            self.webdataset.WebDataset(
                [f"pipe:curl -s -f -L '{url}'" for url in urls],
                shardshuffle=False,
                nodesplitter=self.webdataset.split_by_node,
            )
            .map(self.tensors)
            .batched(SAMPLES, collation_fn=self.collate)
        )
        return iter(self.webdataset.WebLoader(dataset, batch_size=None, **self.workers()))

    @staticmethod
    def tensors(sample: dict[str, Any]) -> dict[str, torch.Tensor]:
        pixels = torch.frombuffer(bytearray(sample["pixels"]), dtype=torch.uint8)
        tokens = torch.frombuffer(bytearray(sample["tokens"]), dtype=torch.int32)
        return {"pixels": pixels.view(PIXELS), "tokens": tokens}

    @staticmethod
    def collate(samples: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Without the keys, which nobody wants here."""
        return default_collate(
            [{name: sample[name] for name in ("pixels", "tokens")} for sample in samples]
        )


LOADERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "batchweave": BatchWeave,
    "dataloader": TorchWorkers,
    "mosaic": Mosaic,
    "webdataset": Tars,
}


def cpu_seconds(roots: list[int]) -> float:
    """Processor time of these processes and all below them, ended children included."""
    ticks = 0
    todo = list(roots)
    while todo:
        process = todo.pop()
        try:
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))
            for task in pathlib.Path(f"/proc/{process}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except FileNotFoundError:
            continue  # ended between two looks: its parent has its time
    return ticks / os.sysconf("SC_CLK_TCK")


class Checked:
    """Takes steps from a loader, looks at them, and knows what came."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.numbers: list[int] = []
        self.bytes = 0

    def take(self) -> float:
        """One step; how long ``next()`` took, in microseconds."""
        began = time.perf_counter_ns()
        batch = next(self.batches)
        took = (time.perf_counter_ns() - began) / 1e3
        for tensor in batch.values():
            tensor.view(torch.uint8).flatten()[::PAGE].sum()
            self.bytes += tensor.nbytes
        self.numbers += batch["tokens"][:, 0].tolist()
        return took


def run(loader: Any, settings: dict[str, Any], warm: bool) -> dict[str, Any]:
    began = time.perf_counter()
    checked = Checked(loader.batches(warm))
    checked.take()
    first_s = time.perf_counter() - began
    for _ in range(settings["warmup"] - 1):
        checked.take()
    bytes_before, samples_before = checked.bytes, len(checked.numbers)
    cpu, server = cpu_seconds(loader.roots()), cpu_seconds([settings["server"]])
    began = time.perf_counter()
    for _ in range(settings["counted"]):
        checked.take()
    seconds = time.perf_counter() - began
    cpu = cpu_seconds(loader.roots()) - cpu
    server = cpu_seconds([settings["server"]]) - server
    counted = {"bytes": checked.bytes - bytes_before, "samples": len(checked.numbers) - samples_before}
    took = []
    pause_s = max(settings["pause_s"], 2 * seconds / settings["counted"])
    for _ in range(settings["ready"]):
        time.sleep(pause_s)
        took.append(checked.take())
    rest = next(checked.batches, None)
    if rest is not None or sorted(checked.numbers) != list(range(len(checked.numbers))):
        raise SystemExit(f"the loader did not bring every sample once: rest={rest is not None}")
    return {
        "firstSeconds": first_s,
        "seconds": seconds,
        "cpuSeconds": cpu,
        "serverSeconds": server,
        "readyMicros": took,
        **counted,
    }


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    torch.set_num_threads(1)
    settings = json.loads(pathlib.Path(sys.argv[2]).read_text())
    loader = LOADERS[sys.argv[1]](settings)
    print(json.dumps({"loader": sys.argv[1]}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(run(loader, settings, line.strip() == "warm")), file=out, flush=True)


if __name__ == "__main__":
    main()
