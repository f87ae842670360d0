"""The resume position that a trainer stores in its checkpoint.

Little-endian, the stream id in RFC 4122 byte order; as in Java's ``io.batchweave.read.Token``::

    0  magic "BWTK"     4  format, 1      5  oldest reader, 1    6  reserved, 2 bytes
    8  stream id, 16   24  view version  32  next step          40  CRC32C of the 40 bytes before
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .errors import Refused

_MAGIC = b"BWTK"
_FORMAT = 1
_LAYOUT = struct.Struct("<4sBBH16sqq")
LENGTH_BYTES = 44


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


_CRC32C = _table()


def _crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC32C[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Token:
    """A resume position.

    Attributes:
        stream_id: the stream it belongs to, 32 hexadecimal digits.
        view_version: the manifest version that is the session's view, 0 before any session.
        next_step: the next step to read.
    """

    stream_id: str
    view_version: int
    next_step: int

    def encode(self) -> bytes:
        """The token's bytes: the same on every rank of a session that stands at the same step."""
        head = _LAYOUT.pack(
            _MAGIC,
            _FORMAT,
            _FORMAT,
            0,
            bytes.fromhex(self.stream_id),
            self.view_version,
            self.next_step,
        )
        return head + struct.pack("<I", _crc32c(head))


def decode(data: bytes) -> Token:
    """Reads a token's bytes.

    Raises:
        Refused: they are no token, are damaged, or a newer BatchWeave wrote them.
    """
    if len(data) < _LAYOUT.size or data[:4] != _MAGIC:
        raise Refused(f"not a BatchWeave token: {len(data)} bytes", code="TOKEN")
    _, _, oldest, _, stream_id, view_version, next_step = _LAYOUT.unpack_from(data)
    if oldest > _FORMAT:
        raise Refused(
            f"a newer BatchWeave wrote this token (format={oldest}): upgrade", code="TOKEN"
        )
    if len(data) != LENGTH_BYTES:
        raise Refused(f"the token is damaged: {len(data)} bytes, not {LENGTH_BYTES}", code="TOKEN")
    [crc32c] = struct.unpack_from("<I", data, _LAYOUT.size)
    if crc32c != _crc32c(data[: _LAYOUT.size]):
        raise Refused("the token is damaged: its checksum differs", code="TOKEN")
    if view_version < 0 or next_step < 0:
        raise Refused(f"the token is damaged: {view_version=} {next_step=}", code="TOKEN")
    return Token(stream_id.hex(), view_version, next_step)
