"""A StepLoader in a DataLoader: ``directory url start-method workers``. Prints what it read."""

from __future__ import annotations

import json
import sys

from torch.utils.data import DataLoader

from batchweave import BatchWeaveError
from batchweave.torch import StepLoader


def main() -> None:
    directory, url, method, workers = sys.argv[1:]
    loader = DataLoader(
        StepLoader(url, directory=directory, session="s", deadline_s=20),
        batch_size=None,
        num_workers=int(workers),
        multiprocessing_context=method if int(workers) else None,
    )
    told = []
    kept = []
    try:
        for batch in loader:
            step = int(batch["step"])
            kept.append(batch["tokens"][::2])
            kept = kept[-2:]
            told.append([step, bool((batch["tokens"] == step * 10000).all())])
    except BatchWeaveError as error:
        told = [type(error).__name__, str(error)]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
