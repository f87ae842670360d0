"""``python -m batchweave URL``: a rank that reads and reports, for trying things and for the demo.

Writes one JSON line for each finished step; with ``--report FILE`` it appends to that file, and a
rank that is started again with the same file goes on after the last step in it. Exit codes: 0 end
of stream, 1 failed, 2 usage, 3 superseded.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Callable, Optional, TextIO

from .errors import BatchWeaveError, Refused, Superseded
from .reader import Reader, Step


def _arguments(argv: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m batchweave",
        description="Attach as one rank, read every step, report each in one JSON line.",
    )
    parser.add_argument("stream", help="URL of the stream, or its name in daemon.json")
    parser.add_argument("--dir", help="daemon directory")
    parser.add_argument("--group", default="default")
    parser.add_argument("--session", default=None, help="launch; default: torchrun's variables")
    parser.add_argument("--dp", type=int, default=0)
    parser.add_argument("--dp-size", type=int, default=1)
    parser.add_argument("--cp", type=int, default=0)
    parser.add_argument("--cp-size", type=int, default=1)
    parser.add_argument("--local-ranks", type=int, default=None, help="ranks on this node")
    parser.add_argument("--report", help="append to this file and go on after its last step")
    parser.add_argument("--deadline", type=float, default=60.0, help="seconds to wait for a step")
    parser.add_argument("--torch", action="store_true", help="take the tensors with PyTorch")
    return parser.parse_args(argv)


def _resume(report: str) -> Optional[int]:
    """The step after the last complete line; cuts off a line that a crash left unfinished."""
    with open(report, "a+b") as file:
        file.seek(0)
        data = file.read()
        end = data.rfind(b"\n") + 1
        file.truncate(end)
    if end == 0:
        return None
    try:
        return int(json.loads(data[:end].splitlines()[-1])["step"]) + 1
    except (ValueError, TypeError, KeyError):
        raise Refused(f"--report is no report of a rank: {report}") from None


def _plain_sum(step: Step) -> int:
    return sum(
        sum(memoryview(tensor.raw()).cast("i"))
        for part in step.slices
        for tensor in part.tensors().values()
        if tensor.dtype == "I32"
    )


def _torch_sum() -> Callable[[Step], int]:
    import torch

    def total(step: Step) -> int:
        return sum(
            int(torch.from_dlpack(tensor).sum())
            for part in step.slices
            for tensor in part.tensors().values()
            if tensor.dtype == "I32"
        )

    return total


def _read(args: argparse.Namespace, out: TextIO, next_step: Optional[int]) -> None:
    total = _torch_sum() if args.torch else _plain_sum
    with Reader(
        args.stream,
        directory=args.dir,
        group=args.group,
        session=args.session,
        dp=args.dp,
        dp_size=args.dp_size,
        cp=args.cp,
        cp_size=args.cp_size,
        local_readers=args.local_ranks,
        next_step=next_step,
        check=True,  # each slice's checksum is compared with the bytes that this process maps
        deadline_s=args.deadline,
    ) as reader:
        while True:
            began = time.perf_counter_ns()
            step = reader.next()
            if step is None:
                return
            waited = time.perf_counter_ns() - began
            line = {
                "step": step.step,
                "bytes": sum(len(part) for part in step.slices),
                "crc32c": [f"{part.crc32c:08x}" for part in step.slices],
                "samples": step.samples,
                "tokens": step.tokens,
                "tokenSum": total(step),
                "waitNanos": waited,
            }
            step.release()
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
            out.flush()


def main(argv: Optional[list[str]] = None) -> int:
    """Runs the rank; returns the exit code."""
    args = _arguments(argv)
    try:
        if args.report is None:
            _read(args, sys.stdout, None)
        else:
            next_step = _resume(args.report)
            with open(args.report, "a", encoding="utf-8") as out:
                _read(args, out, next_step)
    except Superseded as error:
        print(f"batchweave: {error}", file=sys.stderr)
        return 3
    except Refused as error:
        print(f"batchweave: {error}", file=sys.stderr)
        return 2 if error.code is None else 1
    except (BatchWeaveError, OSError, ImportError) as error:
        print(f"batchweave: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
