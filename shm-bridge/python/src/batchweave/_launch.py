"""Who this rank is: from arguments first, then from what torchrun puts into the environment."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from dataclasses import dataclass
from typing import Mapping, Optional

from .errors import Refused

_NAME = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(frozen=True)
class Launch:
    """The place of one rank in one launch of a training job.

    Attributes:
        group: the training job, ``[a-z0-9-]``, at most 64 characters; the same for every launch.
        session: one launch of it; the same on all ranks of the launch, new for the next.
        rank: global rank, for messages; None where there is none.
        dp, dp_size: data-parallel coordinate and size of the job.
        cp, cp_size: context-parallel coordinate and size of the job.
        local_readers: ranks of the launch on this node.
    """

    group: str
    session: str
    rank: Optional[int]
    dp: int
    dp_size: int
    cp: int
    cp_size: int
    local_readers: int


def find(
    *,
    group: str,
    session: Optional[str] = None,
    rank: Optional[int] = None,
    dp: Optional[int] = None,
    dp_size: Optional[int] = None,
    cp: Optional[int] = None,
    cp_size: Optional[int] = None,
    local_readers: Optional[int] = None,
    environment: Optional[Mapping[str, str]] = None,
) -> Launch:
    """Completes what the caller said by the variables of torchrun.

    Without ``dp``, ``dp_size``, ``cp`` and ``cp_size`` every rank of the launch is a data-parallel
    rank of its own. Ranks that share data (tensor or pipeline parallel) must say their coordinate.

    Raises:
        Refused: something is missing, out of range or contradictory; the message names it.
    """
    env = os.environ if environment is None else environment
    rank = _number(env, "RANK") if rank is None else rank
    world = _number(env, "WORLD_SIZE")
    if (dp is None) != (dp_size is None) or (cp is None) != (cp_size is None):
        raise Refused("a coordinate needs its size: give dp and dp_size, cp and cp_size together")
    if dp is None:
        if cp is not None:
            raise Refused("cp and cp_size need dp and dp_size: which ranks share data?")
        dp, dp_size = (rank, world) if rank is not None and world is not None else (0, 1)
    if cp is None:
        cp, cp_size = 0, 1
    assert dp_size is not None and cp_size is not None
    if not 0 <= dp < dp_size or not 0 <= cp < cp_size:
        raise Refused(f"coordinate outside its size: {dp=} {dp_size=} {cp=} {cp_size=}")
    if local_readers is None:
        local_readers = _number(env, "LOCAL_WORLD_SIZE") or 1
    if local_readers < 1:
        raise Refused(f"local_readers is the number of ranks on this node: {local_readers=}")
    if session is None:
        session = _session(env, world if world is not None else dp_size * cp_size)
    for what, name in (("group", group), ("session", session)):
        if not _NAME.fullmatch(name):
            raise Refused(f"{what} must match [a-z0-9-]{{1,64}}: {what}={name!r}")
    return Launch(group, session, rank, dp, dp_size, cp, cp_size, local_readers)


def _number(env: Mapping[str, str], name: str) -> Optional[int]:
    text = env.get(name)
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError:
        raise Refused(f"the variable {name} is no number: {name}={text!r}") from None


def _session(env: Mapping[str, str], world: int) -> str:
    """torchrun's run id and restart count; something of our own where that names one launch."""
    run = env.get("TORCHELASTIC_RUN_ID")
    restarts = env.get("TORCHELASTIC_RESTART_COUNT", "0")
    if run is None:
        if world > 1:
            raise Refused(
                f"which launch is this? Give session=, the same on all {world} ranks and new for "
                "each launch, or start the ranks by torchrun"
            )
        return f"single-{secrets.token_hex(8)}"
    if run == "none":
        # torchrun without --rdzv-id: the same word for every launch. On one node the agent that
        # started the ranks tells launches apart.
        if _number(env, "LOCAL_WORLD_SIZE") != world:
            raise Refused("torchrun was given no run id: add --rdzv-id to it, or give session=")
        run = f"none-{os.getppid()}-{_started(os.getppid())}"
    return _name(f"{run}-{restarts}")


def _started(pid: int) -> str:
    """When a process began, in clock ticks since boot."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[19]
    except OSError:
        return "0"


def _name(text: str) -> str:
    """`text` as a name; what had to be changed is told apart by a hash."""
    name = re.sub(r"[^a-z0-9-]", "-", text.lower())
    if name == text and len(name) <= 64:
        return name
    return f"{name[:47]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
