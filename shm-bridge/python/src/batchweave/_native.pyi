from typing import Any, Callable, Optional, final

from typing_extensions import Buffer, CapsuleType

@final
class Tensor(Buffer):
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    def raw(self) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class Slice(Buffer):
    @property
    def dp(self) -> int: ...
    @property
    def cp(self) -> int: ...
    @property
    def micro_batches(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def crc32c(self) -> int: ...
    def __len__(self) -> int: ...
    def tensors(self) -> dict[str, Tensor]: ...
    def capsules(
        self,
        versioned: bool = False,
        consumer: Optional[Callable[[CapsuleType], Any]] = None,
    ) -> dict[str, Any]: ...

@final
class Client:
    def next(
        self, deadline_s: float, stream: int = 0, /
    ) -> Optional[tuple[int, int, tuple[Slice, ...]]]: ...
    def info(self) -> dict[str, Any]: ...
    def checkpointed(self, id: str, next_step: int, keep: int, deadline_s: float, /) -> None: ...
    def status(self, deadline_s: float, /) -> dict[str, Any]: ...
    def close(self) -> None: ...

def attach(
    *,
    directory: Optional[str],
    stream: str,
    group: str,
    session: str,
    rank: Optional[int],
    dp: int,
    dp_size: int,
    cp: int,
    cp_size: int,
    local_readers: int,
    token: Optional[bytes],
    next_step: int,
    view_version: int,
    refuse_if_live: bool,
    views: int,
    check: bool,
    deadline_s: float,
    notice: Callable[[str], object],
    check_at_release: bool,
    pin_library: Optional[str],
    pin_required: bool,
    pin_chunk_bytes: int,
) -> Client: ...
