"""The README's loop under torchrun: ``directory url report``; each rank reports what it saw."""

from __future__ import annotations

import json
import os
import pathlib
import sys

from batchweave.torch import StepLoader


def main() -> None:
    directory, url, report = sys.argv[1:]
    loader = StepLoader(url, directory=directory, group="pretrain", deadline_s=60)
    told = [[int(batch["step"]), batch["ids"].tolist()] for batch in loader]
    rank = os.environ["RANK"]
    launch = loader.reader.launch
    text = json.dumps({"steps": told, "session": launch.session, "state": loader.state_dict()})
    pathlib.Path(report, rank).write_text(text)


if __name__ == "__main__":
    main()
