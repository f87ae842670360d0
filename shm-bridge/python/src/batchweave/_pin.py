"""Whether a ring is to be registered with CUDA, and with which runtime of this process."""

from __future__ import annotations

import logging
import multiprocessing.context
import multiprocessing.process
import os
from typing import Optional, Union

from .errors import NotSupported, Refused

_LOG = logging.getLogger("batchweave")

Pin = Union[bool, str]

CHUNK_BYTES = 1 << 30
"""Longest run of bytes that is registered at once."""


def library() -> Optional[str]:
    """The file of the CUDA runtime that this process has loaded, as torch does; None: none."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.rstrip("\n").split(maxsplit=5)
            if len(fields) == 6 and os.path.basename(fields[5]).startswith("libcudart"):
                return fields[5]
    return None


def _obstacle(views: str) -> Optional[str]:
    if views != "view":
        return f"views={views!r} are not registered"
    if isinstance(multiprocessing.process.current_process(), multiprocessing.context.ForkProcess):
        return "this process was forked: CUDA cannot be used in it"
    return None


def choose(pin: Pin, views: str, stream: str) -> Optional[str]:
    """The runtime to register with; None: do not.

    Raises:
        Refused: ``pin`` is none of ``"auto"``, True, False.
        NotSupported: ``pin=True`` where it cannot be.
    """
    if pin not in ("auto", True, False):
        raise Refused(f"pin is one of 'auto', True, False: {pin=}", stream=stream)
    if pin is False:
        return None
    obstacle = _obstacle(views)
    found = None if obstacle is not None else library()
    if found is None:
        obstacle = obstacle or "no CUDA runtime is loaded in this process"
        if pin is True:
            raise NotSupported(f"pin=True is not possible here: {obstacle}", stream=stream)
        _LOG.warning("batchweave: pin=False, because %s", obstacle)
    return found
