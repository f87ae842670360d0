"""A rank of the soak: checks every word of every step and says so, a line each.

Word i of slice (step, dp) is ``step << 32 | dp << 24 | i``, little-endian. Arguments: directory,
stream, dp, ranks, first step, seconds to wait at most.
"""

from __future__ import annotations

import array
import sys

import batchweave


def main() -> None:
    directory, stream = sys.argv[1:3]
    dp, ranks, first, seconds = map(int, sys.argv[3:])
    reader = batchweave.attach(
        stream,
        directory=directory,
        group="train",
        session="run-0",
        rank=dp,
        dp=dp,
        dp_size=ranks,
        local_readers=ranks,
        next_step=first,
        deadline_s=seconds,
    )
    with reader:
        for step in reader:
            read = memoryview(step.slices[0])
            base = step.step << 32 | dp << 24
            right = read.nbytes > 0 and read == memoryview(
                array.array("Q", range(base, base + read.nbytes // 8))
            ).cast("B")
            print("step" if right else "WRONG", step.step, flush=True)
    print("end", flush=True)


main()
