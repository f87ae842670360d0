"""Reading a stream's steps from the node daemon, without torch and without numpy.

Start at :func:`attach`. A :class:`Reader` hands out :class:`Step` objects in order; a step's slices
are buffers and its tensors are DLPack exporters, all without a copy.

**How long a step is held.** The memory of a step is used again once *nothing* of it is left in this
process: no ``Step``, ``Slice``, ``Tensor``, memoryview, array or tensor made from it. A ``for``
loop holds the step before while it asks for the next; who keeps more gets back-pressure, and in
the end :class:`~batchweave.errors.RingHeld`. Never a view whose bytes change.

**Writing.** With ``views="view"`` memory is copy-on-write: an edit stays in this process, until the
step is released.

**Pinned.** With ``pin`` the ring is shared and registered with CUDA, so that
``tensor.to(device, non_blocking=True)`` copies straight from it. A view is read-only by contract
there: an edit would reach the other ranks of the node, and ``check="crc"`` tells which rank made
it. A step that was let go is released once the GPU has passed what had been issued, by the next
call of :meth:`Reader.next`, to the default stream and to ``copies_on``; copies on yet another
stream must be joined to one of them before (``wait_stream``, as for using their result).

**Threads and processes.** A reader belongs to one thread at a time; ``close`` may come from any
thread; tensors may die on any thread. A forked child can use nothing of it: attach in the process
that reads.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import time
from types import TracebackType
from typing import Any, Iterator, Mapping, Optional, Union

from . import _launch, _native, _pin, _token
from ._native import Slice, Tensor
from .errors import Refused, RingHeld

__all__ = ["Reader", "Slice", "Step", "Tensor", "attach"]

_LOG = logging.getLogger("batchweave")
_VIEWS = ("view", "shared", "copy")
_CHECKS = (False, True, "crc")


def _notice(line: str) -> None:
    _LOG.warning("%s", line)


class Step:
    """One step, as this rank sees it.

    Attributes:
        step: its number in the stream.
        next_step: the step that follows for this session; skipped ones are passed over.
        slices: this rank's slices in grid order; one, unless the job's data-parallel size is
            smaller than the stream's.

    As a context manager it releases itself at the end of the block.
    """

    __slots__ = ("_slices", "next_step", "step")

    def __init__(self, step: int, next_step: int, slices: tuple[Slice, ...]) -> None:
        self.step = step
        self.next_step = next_step
        self._slices: Optional[tuple[Slice, ...]] = slices

    @property
    def slices(self) -> tuple[Slice, ...]:
        if self._slices is None:
            raise Refused("this step was released", step=self.step, code="RELEASED")
        return self._slices

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of the only slice, by name.

        Raises:
            Refused: the rank has several slices: use ``slices``.
            CorruptSlice: the slice is no safetensors file; raw slices are read as
                ``memoryview(step.slices[0])``.
        """
        if len(self.slices) != 1:
            raise Refused(
                f"this rank has {len(self.slices)} slices per step: use step.slices",
                step=self.step,
                code="SEVERAL_SLICES",
            )
        return self.slices[0].tensors()

    @property
    def samples(self) -> int:
        """Samples in this rank's slices, as their producer counted them."""
        return sum(part.samples for part in self.slices)

    @property
    def tokens(self) -> int:
        """Tokens in this rank's slices, as their producer counted them."""
        return sum(part.tokens for part in self.slices)

    def release(self) -> None:
        """Lets go of the slices; the memory is used again when nothing made from them is left."""
        self._slices = None

    def __enter__(self) -> Step:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        held = "released" if self._slices is None else f"{len(self._slices)} slices"
        return f"<batchweave.Step {self.step}, {held}>"


class Reader:
    """One rank's attachment to the node daemon; see :func:`attach` for the arguments.

    An iterator of :class:`Step`; it ends where the stream was sealed.
    """

    def __init__(
        self,
        stream: str,
        *,
        directory: Optional[Union[str, os.PathLike[str]]] = None,
        group: str = "default",
        session: Optional[str] = None,
        rank: Optional[int] = None,
        dp: Optional[int] = None,
        dp_size: Optional[int] = None,
        cp: Optional[int] = None,
        cp_size: Optional[int] = None,
        local_readers: Optional[int] = None,
        token: Optional[bytes] = None,
        next_step: Optional[int] = None,
        view_version: int = 0,
        supersede: bool = True,
        views: str = "view",
        pin: _pin.Pin = False,
        check: Union[bool, str] = False,
        deadline_s: float = 300.0,
        environment: Optional[Mapping[str, str]] = None,
    ) -> None:
        if views not in _VIEWS:
            raise Refused(f"views is one of {_VIEWS}: {views=}", stream=stream)
        if check not in _CHECKS:
            raise Refused(f"check is one of {_CHECKS}: {check=}", stream=stream)
        if next_step is not None and next_step < 0:
            raise Refused(f"a step is not negative: {next_step=}", stream=stream)
        if token is not None:
            _token.decode(token)
        self.launch = _launch.find(
            group=group,
            session=session,
            rank=rank,
            dp=dp,
            dp_size=dp_size,
            cp=cp,
            cp_size=cp_size,
            local_readers=local_readers,
            environment=environment,
        )
        self.stream = stream
        self.deadline_s = deadline_s
        self._client = _native.attach(
            directory=None if directory is None else os.fspath(directory),
            stream=stream,
            group=self.launch.group,
            session=self.launch.session,
            rank=self.launch.rank,
            dp=self.launch.dp,
            dp_size=self.launch.dp_size,
            cp=self.launch.cp,
            cp_size=self.launch.cp_size,
            local_readers=self.launch.local_readers,
            token=token,
            next_step=-1 if next_step is None else next_step,
            view_version=view_version,
            refuse_if_live=not supersede,
            views=_VIEWS.index(views),
            check=bool(check),
            check_at_release=check == "crc",
            pin_library=_pin.choose(pin, views, stream),
            pin_required=pin is True,
            pin_chunk_bytes=_pin.CHUNK_BYTES,
            deadline_s=_seconds(deadline_s),
            notice=_notice,
        )

    def next(
        self, deadline_s: Optional[float] = None, *, copies_on: int = 0
    ) -> Optional[Step]:
        """The next step, waiting for it; None at the end of a sealed stream.

        Args:
            deadline_s: seconds to wait at most; None: as the reader was made with; ``math.inf``:
                for ever.
            copies_on: with a pinned ring, handle of the CUDA stream that copies are issued to,
                besides the default stream (0).

        Raises:
            DeadlineExceeded: not there yet; calling again is fine.
            DaemonLost: the daemon is gone and none came in its place.
            NoSpace: one came, and its directory has no room to attach again.
            RingHeld: this rank holds the memory that the step needs, even after a collection of
                garbage.
            StepFailed, Reclaimed: the step will never be served.
            Superseded: a newer launch has taken over: stop.
            CorruptRing, ViewFailed, Refused: as their classes say.
        """
        taken = self._take(self.deadline_s if deadline_s is None else deadline_s, copies_on)
        return None if taken is None else Step(*taken)

    def _take(
        self, deadline_s: float, copies_on: int
    ) -> Optional[tuple[int, int, tuple[Slice, ...]]]:
        """The same as a plain tuple."""
        seconds = _seconds(deadline_s)
        began = time.monotonic()
        try:
            return self._client.next(seconds, copies_on)
        except RingHeld:
            gc.collect()  # a reference cycle may hold steps that nobody can reach
            left = seconds if seconds < 0 else max(0.5, seconds - (time.monotonic() - began))
            return self._client.next(left, copies_on)

    def __iter__(self) -> Iterator[Step]:
        return self

    def __next__(self) -> Step:
        step = self.next()
        if step is None:
            raise StopIteration
        return step

    @property
    def next_step(self) -> int:
        """The step that is served next; right after attaching, the first one."""
        return int(self._client.info()["next_step"])

    @property
    def token(self) -> bytes:
        """The resume position, 44 bytes: the same on every rank that stands at the same step."""
        info = self._client.info()
        return _token.Token(info["stream_id"], info["view_version"], info["next_step"]).encode()

    @property
    def pinned(self) -> bool:
        """Whether the ring is registered with CUDA."""
        return bool(self._client.info()["views"] == "pinned")

    def checkpointed(
        self,
        id: str,
        *,
        keep: int = 3,
        token: Optional[bytes] = None,
        deadline_s: Optional[float] = None,
    ) -> None:
        """Registers a model checkpoint that is durable: the steps from it on are kept.

        Call it from one rank, or from all; calling it again is no error. Until a first checkpoint
        is registered everything from the session's start on is kept.

        Args:
            id: the checkpoint's name, ``[a-z0-9-]``, at most 64 characters.
            keep: how many checkpoints of the group stay, the newest, this one included.
            token: the position that the checkpoint holds; default: the current one. Give it where
                training went on while the checkpoint was being written.
            deadline_s: seconds to wait at most; None: as the reader was made with.

        Raises:
            Reclaimed: the position lies below the horizon, which ``step`` names.
            Superseded: the session is over.
            Refused: a later checkpoint of this session is registered, or the position is beyond
                the head (code CHECKPOINT); the id is no name; the token is of another stream.
            DeadlineExceeded, DaemonLost: not decided yet: calling again is fine.
        """
        if keep < 1:
            raise Refused(f"keep counts checkpoints, at least this one: {keep=}")
        position = _token.decode(self.token if token is None else token)
        if position.stream_id != self._client.info()["stream_id"]:
            raise Refused(
                "the token was written for another stream",
                stream=self.stream,
                code="TOKEN_OF_OTHER_STREAM",
            )
        seconds = _seconds(self.deadline_s if deadline_s is None else deadline_s)
        self._client.checkpointed(id, position.next_step, keep, seconds)

    def status(self, deadline_s: Optional[float] = None) -> dict[str, Any]:
        """How the stream stands at its head, asked now.

        Returns:
            ``next_step``, the number of steps committed; ``horizon``, the first step not reclaimed;
            ``sealed``, whether the stream ends there; ``start_step``, where this session began, and
            ``session_steps``, how many steps it reads from there to the head; what was reclaimed
            does not count.

        Raises:
            Superseded: the session is over.
            DeadlineExceeded, DaemonLost: no answer: calling again is fine.
        """
        return self._client.status(
            _seconds(self.deadline_s if deadline_s is None else deadline_s)
        )

    @property
    def info(self) -> dict[str, Any]:
        """What the attachment knows of itself: grid, ring, generation, held steps, views."""
        return self._client.info()

    def close(self) -> None:
        """Detaches. What was made from its steps stays readable. May be called twice.

        As long as something of a step is left, this process counts as a reader of the ring: after
        some steps the other ranks of the node wait for it.

        Raises:
            ViewFailed: an edited view of a step released before could not be dropped.
        """
        self._client.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


def attach(stream: str, **options: object) -> Reader:
    """Attaches this process to the node daemon as one rank.

    Args:
        stream: URL of the stream, or its name in the daemon's ``daemon.json``.
        directory: the daemon's directory; default ``$BATCHWEAVE_DIR``, else
            ``/dev/shm/batchweave-<uid>/default``.
        group: the training job, ``[a-z0-9-]``; the same for every launch of it.
        session: this launch; default: torchrun's run id and restart count.
        rank: global rank, for messages; default ``$RANK``.
        dp, dp_size: data-parallel coordinate and size; default ``$RANK`` and ``$WORLD_SIZE``.
        cp, cp_size: context-parallel coordinate and size; default 0 and 1.
        local_readers: ranks on this node; default ``$LOCAL_WORLD_SIZE``.
        token: resume position, as :attr:`Reader.token` gave it.
        next_step: first step wanted, instead of a token, within a session that is already known.
        view_version: the session's view, where this process was in it before: then the session is
            never registered anew, and :class:`Superseded` says that it is over.
        supersede: end a live session of the group; False: be refused while one lives.
        views: ``"view"``, copy-on-write memory of the ring; ``"shared"``, read-only memory of the
            ring; ``"copy"``, memory of this process. Where the system cannot do the first, the last
            is used, with one line on the logger ``batchweave`` that says why.
        pin: True: map the ring shared and register it with the CUDA runtime that this process has
            loaded, on the device that is current; ``"auto"``: where that is possible, else one line
            says why not. Never in a forked child. Needs ``views="view"``.
        check: verify each slice's checksum when its step is taken; ``"crc"``: and again when it is
            released (views that are shared), which names the rank that wrote to it.
        deadline_s: seconds to wait, for attaching and for each step, unless a call says otherwise.

    Raises:
        DaemonLost: no daemon serves that directory until the deadline.
        NoSpace: its file system is full.
        Refused: the daemon or an argument says no; ``code`` names the reason.
        Superseded, RingHeld, Reclaimed, NotSupported: as their classes say.
    """
    return Reader(stream, **options)  # type: ignore[arg-type]


def _seconds(deadline_s: float) -> float:
    if not deadline_s >= 0:  # so that NaN is refused, too
        raise Refused(f"a deadline is a number of seconds from now: {deadline_s=}")
    return -1.0 if deadline_s == math.inf else float(deadline_s)
