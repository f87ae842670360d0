"""The steps that every loader of the comparison reads, written as each of them wants to find them.

A step is SAMPLES pictures of 3 x 224 x 224 bytes with 512 tokens each, picked out of noise by its
number, so that nothing compresses and every sample can be told. The batch that a trainer gets is the
same for all: ``{"pixels": uint8 [SAMPLES, 3, 224, 224], "tokens": int32 [SAMPLES, 512]}``.

Arguments: the settings, a JSON file; see ``peers.py``.
"""

from __future__ import annotations

import io
import json
import pathlib
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import botocore.config
import numpy
import torch
from safetensors.torch import save, save_file

SAMPLES = 32
PIXELS = (3, 224, 224)
TOKENS = 512
SHARD_BYTES = 64 << 20
SAMPLES_PER_TAR = 384
UPLOADS = 4
NOISE = numpy.random.default_rng(7).integers(0, 256, 1 << 20, dtype=numpy.uint8)


def sample(number: int) -> dict[str, numpy.ndarray]:
    """The sample of that number; its first token is the number."""
    length = int(numpy.prod(PIXELS))
    start = (number * 4099) % (len(NOISE) - length)
    tokens = numpy.arange(number, number + TOKENS, dtype=numpy.int32)
    return {"pixels": NOISE[start : start + length].reshape(PIXELS), "tokens": tokens}


def batch(step: int) -> dict[str, torch.Tensor]:
    samples = [sample(step * SAMPLES + i) for i in range(SAMPLES)]
    return {
        name: torch.from_numpy(numpy.stack([one[name] for one in samples]))
        for name in ("pixels", "tokens")
    }


def s3(settings: dict[str, Any], **options: Any) -> Any:
    """A client for the endpoint; its connection is kept, no checksum is computed on the way."""
    return boto3.client(
        "s3",
        endpoint_url=settings["endpoint"],
        region_name="us-east-1",
        config=botocore.config.Config(
            signature_version="s3v4",
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            **options,
        ),
    )


def write_slices(settings: dict[str, Any], folder: pathlib.Path) -> None:
    """A file per step for the producer, the same bytes as objects for the plain loader."""
    client = s3(settings, max_pool_connections=UPLOADS)

    def write(step: int) -> None:
        tensors = batch(step)
        save_file(tensors, str(folder / f"{step}.safetensors"))
        client.put_object(Bucket=settings["bucket"], Key=f"objects/{step}", Body=save(tensors))

    with ThreadPoolExecutor(UPLOADS) as threads:
        list(threads.map(write, range(settings["steps"])))


def write_tars(settings: dict[str, Any]) -> None:
    """WebDataset's shards: a tar of files that share a name up to the dot."""
    client = s3(settings)
    samples = range(settings["steps"] * SAMPLES)
    for shard, first in enumerate(samples[::SAMPLES_PER_TAR]):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for number in samples[first : first + SAMPLES_PER_TAR]:
                for name, values in sample(number).items():
                    member = tarfile.TarInfo(f"{number:08}.{name}")
                    member.size = values.nbytes
                    tar.addfile(member, io.BytesIO(values.tobytes()))
        client.put_object(
            Bucket=settings["bucket"], Key=f"tars/{shard:04}.tar", Body=file.getvalue()
        )


def write_mds(settings: dict[str, Any], folder: pathlib.Path) -> None:
    """MosaicML's shards, by its own writer, uncompressed."""
    from streaming import MDSWriter

    pixels = ",".join(map(str, PIXELS))
    columns = {"pixels": f"ndarray:uint8:{pixels}", "tokens": f"ndarray:int32:{TOKENS}"}
    with MDSWriter(out=str(folder), columns=columns, size_limit=SHARD_BYTES) as writer:
        for number in range(settings["steps"] * SAMPLES):
            writer.write(sample(number))
    client = s3(settings)
    for file in folder.iterdir():
        client.upload_file(str(file), settings["bucket"], f"mds/{file.name}")


def main() -> None:
    settings = json.loads(pathlib.Path(sys.argv[1]).read_text())
    work = pathlib.Path(settings["work"])
    for name in ("slices", "mds"):
        (work / name).mkdir()
    write_slices(settings, work / "slices")
    write_tars(settings)
    write_mds(settings, work / "mds")


if __name__ == "__main__":
    main()
