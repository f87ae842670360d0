"""The token's bytes. Case U16."""

from __future__ import annotations

import pytest

from batchweave import Refused
from batchweave._token import Token, decode

TOKEN = Token("00112233445566778899aabbccddeeff", 7, 1_000_000)
# The same literal is pinned on the Java side's layout: see io.batchweave.read.Token.
BYTES = bytes.fromhex(
    "4257544b0101000000112233445566778899aabbccddeeff070000000000000040420f0000000000"
)


def test_should_write_the_bytes_that_the_layout_says():
    assert TOKEN.encode()[:40] == BYTES
    assert len(TOKEN.encode()) == 44


def test_should_read_what_it_wrote():
    assert decode(TOKEN.encode()) == TOKEN


def test_should_know_crc32c():
    from batchweave._token import _crc32c

    assert _crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("length", range(44))
def test_should_refuse_a_short_token(length):
    with pytest.raises(Refused):
        decode(TOKEN.encode()[:length])


@pytest.mark.parametrize("at", range(44))
def test_should_refuse_a_flipped_bit(at):
    data = bytearray(TOKEN.encode())
    data[at] ^= 4
    with pytest.raises(Refused):
        decode(bytes(data))


def test_should_refuse_a_longer_or_newer_one():
    with pytest.raises(Refused, match="45 bytes"):
        decode(TOKEN.encode() + b"\0")
    newer = bytearray(TOKEN.encode())
    newer[5] = 2
    with pytest.raises(Refused, match="upgrade"):
        decode(bytes(newer))
