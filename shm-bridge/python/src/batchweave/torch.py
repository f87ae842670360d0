"""BatchWeave for PyTorch: :class:`StepLoader`, an iterable of dicts of tensors.

::

    loader = StepLoader("s3://bucket/run", group="pretrain")
    for batch in loader:                     # {"tokens": tensor, ...}, memory of the ring itself
        train(batch)
        if time_for_a_checkpoint:
            torch.save({"model": ..., "data": loader.state_dict()}, path)
"""

from __future__ import annotations

import os
from typing import Any, Iterator, Optional

import torch
from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.dlpack import from_dlpack

from . import _token
from ._pin import Pin
from .errors import CorruptSlice, NotSupported, Refused
from .reader import Reader, Slice

__all__ = ["StepLoader"]

_COMBINE = ("cat", "list")

# What from_dlpack comes to for a capsule, without its looks at what else it might have been given.
_from_capsule = getattr(torch._C, "_from_dlpack", from_dlpack)


class StepLoader(IterableDataset[dict[str, Any]]):
    """The steps of a stream as ``dict[str, torch.Tensor]``, without a copy.

    Each tensor lies in the ring and is row-major, in host memory. The step's memory is used again
    when its last tensor, view, storage or autograd holder is gone, whatever thread that happens on.
    An in-place edit (``labels[mask] = -100``) stays in this process. A ``numpy`` alias or a raw
    pointer of a tensor does not follow when torch moves that tensor's storage (sending it to
    another process does): take ``views="copy"`` where that happens.

    Attaches on first use, so a loader can be made before the process group and sent, unused, to
    another process. ``DataLoader(loader, batch_size=None, num_workers=0)`` works as it is; one
    worker works, but every tensor is copied on its way out of it; more are refused, because each
    would read every step.

    Args:
        stream: URL of the stream, or its name in the daemon's ``daemon.json``.
        combine: what a rank does with several slices of a step, which it has when the job's
            data-parallel size is smaller than the stream's: ``"cat"`` joins the tensors of one name
            along their first dimension (a copy), ``"list"`` gives lists of tensors.
        pin: ``"auto"`` registers the ring with CUDA where torch sees a GPU, so that
            ``batch["tokens"].to(device, non_blocking=True)`` copies straight from it; True insists,
            False never does. Set the device (``torch.cuda.set_device``) before the first batch. A
            pinned batch must not be edited in place: other ranks of the node see it.
        **options: as for :func:`batchweave.attach`.

    Threading: one thread at a time.
    """

    def __init__(
        self, stream: str, *, combine: str = "cat", pin: Pin = "auto", **options: Any
    ) -> None:
        super().__init__()
        if combine not in _COMBINE:
            raise Refused(f"combine is one of {_COMBINE}: {combine=}", stream=stream)
        self.stream = stream
        self._combine = combine
        self._options = dict(options)
        self._pin = pin
        self._pinned = False
        self._reader: Optional[Reader] = None
        self._process: Optional[int] = None
        self._resume: Optional[_token.Token] = None
        self._known: Optional[_token.Token] = None  # of the attachment before

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Goes on at the current position; ends where the stream was sealed.

        Raises:
            NotSupported: more than one DataLoader worker.
            Refused: this loader is attached in another process.
            BatchWeaveError: as :meth:`batchweave.Reader.next` says.
        """
        self._attached()
        return self

    def __next__(self) -> dict[str, Any]:
        reader = self._reader
        if reader is None or self._process != os.getpid():
            reader = self._attached()
        stream = 0
        if self._pinned and torch.cuda.is_initialized():
            stream = torch.cuda.current_stream().cuda_stream
        taken = reader._take(reader.deadline_s, stream)
        if taken is None:
            raise StopIteration
        step, _, slices = taken
        if len(slices) == 1:
            return slices[0].capsules(False, _from_capsule)
        return self._joined(step, slices)

    def _joined(self, step: int, slices: tuple[Slice, ...]) -> dict[str, Any]:
        parts = [part.capsules(False, _from_capsule) for part in slices]
        names = parts[0].keys()
        if any(part.keys() != names for part in parts):
            raise CorruptSlice(
                "the slices of one rank hold tensors of different names",
                stream=self.stream,
                step=step,
            )
        lists = {name: [part[name] for part in parts] for name in names}
        if self._combine == "list":
            return lists
        return {
            name: torch.cat(tensors) if tensors[0].dim() else torch.stack(tensors)
            for name, tensors in lists.items()
        }

    def _attached(self) -> Reader:
        if self._reader is not None:
            if self._process != os.getpid():
                raise Refused(
                    "this loader is attached in another process: use num_workers=0, or close() it "
                    "before workers start",
                    stream=self.stream,
                    code="FORKED",
                )
            return self._reader
        worker = get_worker_info()
        if worker is not None and worker.num_workers > 1:
            raise NotSupported(
                f"num_workers={worker.num_workers} would read every step that many times: use "
                "num_workers=0, nothing is copied or decoded here",
                stream=self.stream,
            )
        options = dict(self._options, pin=self._wanted_pin(in_worker=worker is not None))
        if self._resume is not None:
            if self._known is None:
                options["token"] = self._resume.encode()
            elif self._resume.stream_id != self._known.stream_id:
                raise Refused(
                    "the position is of another stream: stream_id="
                    f"{self._resume.stream_id}, this one is {self._known.stream_id}",
                    stream=self.stream,
                    code="TOKEN_OF_OTHER_STREAM",
                )
            else:
                options["next_step"] = self._resume.next_step
                options["view_version"] = self._known.view_version
        self._reader = Reader(self.stream, **options)
        self._pinned = self._reader.pinned
        self._process = os.getpid()
        self._known = _token.decode(self._reader.token)
        if "session" not in options:
            self._options["session"] = self._reader.launch.session
        return self._reader

    def _wanted_pin(self, in_worker: bool) -> Pin:
        """What a DataLoader worker makes leaves it as a copy; without a GPU there is no use."""
        if self._pin == "auto" and (in_worker or not torch.cuda.is_available()):
            return False
        return self._pin

    @property
    def reader(self) -> Reader:
        """The attachment; attaches if there is none. Its ``next_step`` is what is served next."""
        return self._attached()

    def state_dict(self) -> dict[str, Any]:
        """The position behind the last batch that was handed out.

        The same on all ranks; prefetching does not change it. ``{"token": text}``, at most 256
        characters.

        Raises:
            Refused: nothing was read yet, so the position is not known here. With a DataLoader
                worker only ``torchdata.stateful_dataloader.StatefulDataLoader`` knows it.
        """
        if self._reader is not None and self._process == os.getpid():
            return {"token": self._reader.token.hex()}
        if self._resume is not None:
            return {"token": self._resume.encode().hex()}
        if get_worker_info() is not None:
            return {"token": None}
        raise Refused(
            "the position is not known before the first batch (with a DataLoader worker: use "
            "torchdata's StatefulDataLoader)",
            stream=self.stream,
            code="NOT_ATTACHED",
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a position that :meth:`state_dict` gave.

        Checked against the stream when the loader attaches, on first use; ``reader.next_step`` then
        says what will be served.

        Raises:
            Refused: it is no position, or is damaged.
        """
        token = self._token_of(state)
        resume = None if token is None else _token.decode(token)
        self.close()
        self._resume = resume

    def _token_of(self, state: dict[str, Any]) -> Optional[bytes]:
        text = state.get("token")
        if text is None:
            return None
        try:
            return bytes.fromhex(text)
        except (TypeError, ValueError):
            raise Refused("not a BatchWeave token", stream=self.stream, code="TOKEN") from None

    def checkpointed(
        self,
        id: str,
        *,
        keep: int = 3,
        state: Optional[dict[str, Any]] = None,
        deadline_s: Optional[float] = None,
    ) -> None:
        """Registers a model checkpoint that is durable: the steps from it on are kept.

        Call it from one rank, or from all, once everything of the checkpoint is written.

        Args:
            id: the checkpoint's name, ``[a-z0-9-]``, at most 64 characters.
            keep: how many checkpoints of the group stay, the newest, this one included.
            state: what :meth:`state_dict` gave for the checkpoint; default: the current position.
                Give it where training went on while the checkpoint was being written.
            deadline_s: seconds to wait at most.

        Raises:
            Reclaimed, Superseded, Refused, DeadlineExceeded, DaemonLost: as
                :meth:`batchweave.Reader.checkpointed` says.
        """
        token = None if state is None else self._token_of(state)
        self._attached().checkpointed(id, keep=keep, token=token, deadline_s=deadline_s)

    def __len__(self) -> int:
        """Steps of the session, from its start to the end of the stream.

        Those that were skipped or reclaimed do not count, so it is at most what it was before a
        reclaim; every rank that asks then gets the same.

        Raises:
            TypeError: the loader is not attached in this process yet, or the stream is not sealed:
                then nobody knows.
        """
        if self._reader is None or self._process != os.getpid():
            raise TypeError("the loader is not attached here: it has no length yet")
        status = self._reader.status()
        if not status["sealed"]:
            raise TypeError("the stream is not sealed: it has no length yet")
        return int(status["session_steps"])

    def __bool__(self) -> bool:
        return True

    def close(self) -> None:
        """Detaches; tensors that are still held stay readable. The position is kept."""
        reader, self._reader = self._reader, None
        if reader is not None and self._process == os.getpid():
            self._resume = _token.decode(reader.token)
            reader.close()

    def __enter__(self) -> StepLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._reader is not None:
            raise Refused(
                "an attached loader cannot be sent to another process: use num_workers=0, or "
                "close() it first",
                stream=self.stream,
                code="ATTACHED",
            )
        return self.__dict__.copy()
