"""A PyTorch trainer that takes all there is and then waits in next(): a line for each step.

Arguments: directory, stream, group and session, rank, ranks, seconds to wait at most.
"""

from __future__ import annotations

import sys

from batchweave.torch import StepLoader

directory, stream, session = sys.argv[1:4]
rank, ranks, seconds = map(int, sys.argv[4:])
loader = StepLoader(
    stream,
    directory=directory,
    group=session,
    session=session,
    rank=rank,
    dp=rank,
    dp_size=ranks,
    local_readers=ranks,
    deadline_s=seconds,
)
for number, batch in enumerate(loader):
    print(number, batch["tokens"].numel(), flush=True)
