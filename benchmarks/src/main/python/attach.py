"""Ranks that attach at once: makes them, and lets them go when it reads a line.

Arguments: directory, stream, session, ranks of that session on this node, how many of them to make.
Prints ``ready``, then the seconds that each took, a line each.
"""

from __future__ import annotations

import os
import sys
import time

import batchweave

DEADLINE_S = 60


def attach(go: int, report: int) -> None:
    directory, stream, session, local = sys.argv[1:5]
    os.read(go, 1)
    began = time.monotonic()
    reader = batchweave.attach(
        stream,
        directory=directory,
        group="train",
        session=session,
        local_readers=int(local),
        deadline_s=DEADLINE_S,
    )
    took = time.monotonic() - began
    reader.next().release()
    reader.close()
    os.write(report, f"{took}\n".encode())


def main() -> int:
    go, start = os.pipe()
    reports, report = os.pipe()
    for _ in range(int(sys.argv[5])):
        if os.fork() == 0:
            code = 1
            try:
                os.close(start)
                attach(go, report)
                code = 0
            finally:
                os._exit(code)
    print("ready", flush=True)
    sys.stdin.readline()
    os.close(start)
    os.close(report)
    failed = sum(os.wait()[1] != 0 for _ in range(int(sys.argv[5])))
    sys.stdout.write(os.read(reports, 1 << 16).decode())
    return 1 if failed else 0


sys.exit(main())
