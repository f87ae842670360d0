"""What can go wrong, one class per thing that the caller must do.

Every error says what happened, where (``name=value``) and what to do about it, and carries the
same facts as attributes. Nobody needs to match on message text.

==================  ============================================================================
class               what to do
==================  ============================================================================
DeadlineExceeded    passing trouble: the same call may succeed later; ``status`` says what held it
DaemonLost          no daemon until the deadline: start one, then call again
NoSpace             the daemon directory's file system is full: make room there, attach again
RingHeld            release steps: they are held by tensors of this rank (``steps``, ``bytes``)
Superseded          a newer launch of the group has taken over: stop, do not restart
StepFailed          this step cannot be served, for a reason that will stay
Reclaimed           the step lies below the horizon: it was deleted on purpose
Refused             the daemon or this process does not allow it: change the setting it names
CorruptSlice        the bytes are not what any producer writes: repair
CorruptRing         shared memory holds what no daemon writes: restart the daemon
ViewFailed          a view could not be made clean again; its step is held: call again, or end
NotSupported        this Python, kernel, element type or size is outside what we do
==================  ============================================================================
"""

from __future__ import annotations

from errno import ENOSPC as _ENOSPC
from typing import Any, Optional

__all__ = [
    "BatchWeaveError",
    "CorruptRing",
    "CorruptSlice",
    "DaemonLost",
    "DeadlineExceeded",
    "NoSpace",
    "NotSupported",
    "Reclaimed",
    "Refused",
    "RingHeld",
    "StepFailed",
    "Superseded",
    "ViewFailed",
]


class BatchWeaveError(RuntimeError):
    """Any error of BatchWeave.

    Attributes:
        stream: URL or name of the stream, or None where it is not known.
        step: the step that was asked for, or None.
        rank: global rank of this process, or None.
        object: the file, slice or object concerned, or None.
        attempts: how often it was tried, or None.
        status: the last status that the daemon or the store gave, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        stream: Optional[str] = None,
        step: Optional[int] = None,
        rank: Optional[int] = None,
        object: Optional[str] = None,
        attempts: Optional[int] = None,
        status: Optional[str] = None,
    ) -> None:
        facts = {
            "stream": stream,
            "step": step,
            "rank": rank,
            "object": object,
            "attempts": attempts,
            "status": status,
        }
        told = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
        super().__init__(f"{message} ({told})" if told else message)
        self.stream = stream
        self.step = step
        self.rank = rank
        self.object = object
        self.attempts = attempts
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process boundaries in DataLoader workers: keep class, text and attributes.
        return (_again, (type(self), self.args, self.__dict__))


def _again(
    kind: type[BatchWeaveError], arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> BatchWeaveError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(attributes)
    return error


class DeadlineExceeded(BatchWeaveError):
    """The deadline passed while waiting for a step or an answer; trying again is fine."""


class DaemonLost(BatchWeaveError):
    """The daemon is gone and none came in its place before the deadline."""


class NoSpace(BatchWeaveError):
    """What a rank needs to attach does not fit into the daemon directory's file system."""


class RingHeld(BatchWeaveError):
    """The next step finds no room because this rank still holds earlier ones.

    Attributes:
        steps: how many steps this rank holds.
        bytes: bytes of the ring that they occupy.
    """

    def __init__(self, message: str, *, steps: int = 0, bytes: int = 0, **facts: object) -> None:
        super().__init__(message, **facts)  # type: ignore[arg-type]
        self.steps = steps
        self.bytes = bytes


class Superseded(BatchWeaveError):
    """A newer session of the group has taken over. A supervisor must not restart this one."""


class StepFailed(BatchWeaveError):
    """The step cannot be served, and asking again will not help."""


class Reclaimed(BatchWeaveError):
    """The step lies below the stream's horizon."""


class Refused(BatchWeaveError):
    """The daemon, or this process's own rules, do not allow what was asked.

    Attributes:
        code: the refusal's name, for example ``GRID_MISMATCH``; None where we refused ourselves.
    """

    def __init__(self, message: str, *, code: Optional[str] = None, **facts: object) -> None:
        super().__init__(message, **facts)  # type: ignore[arg-type]
        self.code = code


class CorruptSlice(BatchWeaveError):
    """A slice's header is not what a safetensors writer writes."""


class CorruptRing(BatchWeaveError):
    """A shared file holds a value that no daemon writes."""


class ViewFailed(BatchWeaveError):
    """An edited view could not be dropped; its step stays held so that nothing goes stale.

    The next call tries again."""


class NotSupported(BatchWeaveError):
    """Outside of what BatchWeave does; the message names it."""


_REFUSALS = (
    "NOT_YET",
    "MALFORMED",
    "ABI_MISMATCH",
    "UNKNOWN_STREAM",
    "GRID_MISMATCH",
    "SIZES_DISAGREE",
    "NO_RING",
    "RING_HELD",
    "LOCK_NOT_VISIBLE",
    "READER_FILE",
    "TOKEN_OF_OTHER_STREAM",
    "START_DISAGREES",
    "SUPERSEDED",
    "SESSION_LIVE",
    "RECLAIMED",
    "STREAM_FAILED",
    "CLOSING",
    "CHECKPOINT",
)
_FAILED_RECLAIMED = 2
_FAILED_FENCED = 7
_STATUSES = {
    "NO_DAEMON": DaemonLost,
    "DAEMON_LOST": DaemonLost,
    "VERSION": NotSupported,
    "DEADLINE": DeadlineExceeded,
    "STARVED": DeadlineExceeded,
    "SUPERSEDED": Superseded,
    "CORRUPT": CorruptRing,
    "DIRTY": ViewFailed,
}


def from_status(
    status: str,
    text: str,
    code: int,
    errno: int,
    bytes: int,
    steps: int,
    facts: dict[str, Any],
) -> BatchWeaveError:
    """The exception for a status of the C client; called by the extension.

    Args:
        status: name of the status, for example ``DAEMON_LOST``.
        text: what the client says: what, ``name=value``, remedy.
        code: reason of a refusal or of a failed step, 0 where there is none.
        errno: of the system call that failed, or 0.
        bytes: bytes that the ring lacked, or 0.
        steps: steps that this rank holds.
        facts: stream, rank, step, object, attempts and status, as far as they are known.
    """
    full = status == "SYSTEM" and errno == _ENOSPC
    error = NoSpace(text) if full else _of_status(status, text, code, bytes, steps)
    for name, value in facts.items():
        setattr(error, name, value)  # the text has them already
    if errno:
        error.status = f"errno={errno}"
    return error


def _of_status(status: str, text: str, code: int, bytes: int, steps: int) -> BatchWeaveError:
    if status == "REFUSED":
        name = _REFUSALS[code] if 0 <= code < len(_REFUSALS) else f"CODE_{code}"
        if name == "SUPERSEDED":
            return Superseded(text)
        if name == "RECLAIMED":
            return Reclaimed(text)
        if name == "RING_HELD":
            return RingHeld(text, steps=steps, bytes=bytes)
        return Refused(text, code=name)
    if status == "RING_HELD":
        return RingHeld(text, steps=steps, bytes=bytes)
    if status == "STEP_FAILED":
        kind = {_FAILED_RECLAIMED: Reclaimed, _FAILED_FENCED: Superseded}.get(code, StepFailed)
        return kind(text)
    if status in ("ARGUMENT", "FORKED", "CLOSED", "INTERRUPTED"):
        return Refused(text, code=status)
    return _STATUSES.get(status, BatchWeaveError)(text)
