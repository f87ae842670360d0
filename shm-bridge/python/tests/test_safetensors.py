"""The C parser of safetensors headers against the public library and every malformation."""

from __future__ import annotations

import json
import random
import re
import struct

import pytest
import safetensors

from batchweave.errors import CorruptSlice, NotSupported

SIZES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "I16": 2,
    "U16": 2,
    "F16": 2,
    "BF16": 2,
    "I32": 4,
    "U32": 4,
    "F32": 4,
    "F64": 8,
    "I64": 8,
    "U64": 8,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "F8_E4M3FNUZ": 1,
    "F8_E5M2FNUZ": 1,
    "F8_E8M0": 1,
    "C64": 8,
}


def slice_of(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype: str, shape: list, begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


GOOD = {"a": entry("I32", [2], 0, 8), "b": entry("U8", [3], 8, 11)}
DATA = bytes(range(11))


def told(error: pytest.ExceptionInfo) -> str:
    return str(error.value)


def test_should_list_tensors_where_they_lie(probe):
    tensors = probe.slice(slice_of(GOOD, DATA)).tensors()
    assert list(tensors) == ["a", "b"]
    assert tensors["a"].dtype == "I32"
    assert tensors["a"].shape == (2,)
    assert tensors["a"].nbytes == 8
    assert bytes(tensors["a"].raw()) == DATA[:8]
    assert bytes(tensors["b"].raw()) == DATA[8:]


@pytest.mark.parametrize("dtype", SIZES)
def test_should_know_the_dtype(probe, dtype):
    size = SIZES[dtype]
    data = bytes(range(3 * size))
    [tensor] = probe.slice(slice_of({"x": entry(dtype, [3], 0, 3 * size)}, data)).tensors().values()
    assert (tensor.dtype, tensor.nbytes, bytes(tensor.raw())) == (dtype, 3 * size, data)


def test_should_know_what_the_public_library_knows():
    """Whole-byte types only; the others are refused by name."""
    known = set(re.findall(r"`(\w+)`", told_types()))
    assert known - set(SIZES) == {"F4", "F6_E2M3", "F6_E3M2"}


def told_types() -> str:
    """The public library lists its types in the error of an unknown one."""
    with pytest.raises(safetensors.SafetensorError) as error:
        safetensors.deserialize(slice_of({"x": entry("NONE", [], 0, 1)}, b"\0"))
    return str(error.value).split("expected")[1]


def test_should_take_an_empty_slice(probe):
    assert probe.slice(slice_of({})).tensors() == {}
    assert probe.slice(slice_of({"__metadata__": {"a": "b"}})).tensors() == {}
    assert probe.slice(slice_of(b'{"__metadata__":null}  \n')).tensors() == {}


def test_should_take_scalars_and_zero_lengths_at_one_offset(probe):
    header = {
        "zero": entry("F32", [0, 7], 0, 0),
        "scalar": entry("F64", [], 0, 8),
        "end": entry("U8", [3, 0], 8, 8),
    }
    tensors = probe.slice(slice_of(header, b"\0" * 8)).tensors()
    assert [t.shape for t in tensors.values()] == [(0, 7), (), (3, 0)]


def test_should_ignore_fields_that_it_does_not_know(probe):
    text = (
        b'{"a":{"x":[1,-2.5e+3,{"y":[true,false,null,"\\u00e9"]}],"dtype":"U8","shape":[1],'
        b'"data_offsets":[0,1],"z":{}}}'
    )
    assert list(probe.slice(slice_of(text, b"\7")).tensors()) == ["a"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
        (b'"\\u0041\\u00e9\\u20AC"', "A\u00e9\u20ac"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        ('"\u00e9\U0001f600"'.encode(), "\u00e9\U0001f600"),
        (b'"a\\u0000b"', "a\0b"),
        (b'""', ""),
    ],
)
def test_should_decode_names(probe, written, name):
    text = b"{" + written + b':{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    assert list(probe.slice(slice_of(text, b"\7")).tensors()) == [name]


ONE = b'"dtype":"U8","shape":[1],"data_offsets":[0,1]'
MALFORMED = {
    "no length": b"\0" * 7,
    "length behind the end": slice_of(GOOD, DATA, 10_000),
    "length of all ones": slice_of(GOOD, DATA, 2**64 - 1),
    "empty header": slice_of(b""),
    "header cut": slice_of(json.dumps(GOOD).encode()[:-1], DATA),
    "leading blank": slice_of(b" {}"),
    "not an object": slice_of(b"[]"),
    "bytes after the object": slice_of(b"{}x"),
    "two objects": slice_of(b"{}{}"),
    "name without an end": slice_of(b'{"a'),
    "name is a number": slice_of(b"{1:{}}"),
    "control character": slice_of(b'{"a\n":{' + ONE + b"}}", b"\0"),
    "not UTF-8": slice_of(b'{"\xff":{' + ONE + b"}}", b"\0"),
    "overlong UTF-8": slice_of(b'{"\xc0\x80":{' + ONE + b"}}", b"\0"),
    "surrogate in UTF-8": slice_of(b'{"\xed\xa0\x80":{' + ONE + b"}}", b"\0"),
    "UTF-8 cut by the quote": slice_of(b'{"\xe2\x82":{' + ONE + b"}}", b"\0"),
    "above the last code point": slice_of(b'{"\xf4\x90\x80\x80":{' + ONE + b"}}", b"\0"),
    "unknown escape": slice_of(b'{"\\x":{' + ONE + b"}}", b"\0"),
    "short escape": slice_of(b'{"\\u12":{' + ONE + b"}}", b"\0"),
    "escape at the end": slice_of(b'{"\\'),
    "lone high surrogate": slice_of(b'{"\\ud83d":{' + ONE + b"}}", b"\0"),
    "lone low surrogate": slice_of(b'{"\\ude00":{' + ONE + b"}}", b"\0"),
    "high surrogate before text": slice_of(b'{"\\ud83dabcdef":{' + ONE + b"}}", b"\0"),
    "no colon": slice_of(b'{"a" {' + ONE + b"}}", b"\0"),
    "no comma": slice_of(b'{"a":{' + ONE + b'}"b":{}}', b"\0"),
    "comma at the end": slice_of(b'{"a":{' + ONE + b"},}", b"\0"),
    "comma inside at the end": slice_of(b'{"a":{' + ONE + b",}}", b"\0"),
    "name twice": slice_of(
        b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{' + ONE + b"}}", b"\0"
    ),
    "metadata twice": slice_of(b'{"__metadata__":{},"__metadata__":{}}'),
    "metadata is text": slice_of(b'{"__metadata__":"a"}'),
    "metadata of numbers": slice_of(b'{"__metadata__":{"a":1}}'),
    "metadata cut": slice_of(b'{"__metadata__":{"a"}}'),
    "tensor is a list": slice_of(b'{"a":["U8",[1],[0,1]]}', b"\0"),
    "tensor is empty": slice_of(b'{"a":{}}'),
    "no dtype": slice_of(b'{"a":{"shape":[1],"data_offsets":[0,1]}}', b"\0"),
    "no shape": slice_of(b'{"a":{"dtype":"U8","data_offsets":[0,1]}}', b"\0"),
    "no offsets": slice_of(b'{"a":{"dtype":"U8","shape":[1]}}', b"\0"),
    "dtype twice": slice_of(b'{"a":{"dtype":"U8",' + ONE + b"}}", b"\0"),
    "dtype is a number": slice_of(b'{"a":{"dtype":1,"shape":[1],"data_offsets":[0,1]}}', b"\0"),
    "shape is a number": slice_of(b'{"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}}', b"\0"),
    "negative size": slice_of({"a": entry("U8", [-1], 0, 1)}, b"\0"),
    "fractional size": slice_of(b'{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}', b"\0"),
    "exponent": slice_of(b'{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}', b"\0"),
    "leading zero": slice_of(b'{"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}}', b"\0"),
    "size above 2^63": slice_of({"a": entry("U8", [2**63], 0, 1)}, b"\0"),
    "size above 2^64": slice_of({"a": entry("U8", [2**70], 0, 1)}, b"\0"),
    "shape overflows": slice_of({"a": entry("U8", [2**40, 2**40], 0, 1)}, b"\0"),
    "strides overflow": slice_of({"a": entry("U8", [0, 2**40, 2**40], 0, 0)}),
    "element size overflows": slice_of({"a": entry("F64", [2**61], 0, 8)}, b"\0" * 8),
    "one offset": slice_of(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}', b"\0"),
    "three offsets": slice_of(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}', b"\0"),
    "offsets backwards": slice_of({"a": entry("U8", [1], 1, 0)}, b"\0"),
    "longer than its shape": slice_of({"a": entry("U8", [1], 0, 2)}, b"\0\0"),
    "shorter than its shape": slice_of({"a": entry("U8", [3], 0, 2)}, b"\0\0"),
    "gap at the start": slice_of({"a": entry("U8", [1], 1, 2)}, b"\0\0"),
    "gap between": slice_of({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, b"\0\0\0"),
    "overlap": slice_of({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, b"\0\0\0"),
    "same bytes twice": slice_of({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 0, 1)}, b"\0"),
    "data missing": slice_of(GOOD, DATA[:-1]),
    "data left over": slice_of(GOOD, DATA + b"\0"),
    "number without digits": slice_of(b'{"a":{"x":1.,' + ONE + b"}}", b"\0"),
    "bad exponent": slice_of(b'{"a":{"x":1e,' + ONE + b"}}", b"\0"),
    "bad word": slice_of(b'{"a":{"x":nul,' + ONE + b"}}", b"\0"),
    "unknown field cut": slice_of(b'{"a":{"x":'),
    "array cut": slice_of(b'{"a":{"x":[1'),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_should_refuse_a_malformed_header(probe, case, held):
    with pytest.raises(CorruptSlice) as error:
        probe.slice(MALFORMED[case]).tensors()
    assert error.value.stream == "probe"
    assert error.value.step == 9
    assert error.value.rank == 3
    assert "offset=" in told(error)
    del error
    assert held.released == 1


LIMITS = {
    "65 dimensions": slice_of({"a": entry("U8", [1] * 65, 0, 1)}, b"\0"),
    "unknown dtype": slice_of({"a": entry("F4", [2], 0, 1)}, b"\0"),
    "dtype with NUL": slice_of(
        b'{"a":{"dtype":"U8\\u0000","shape":[1],"data_offsets":[0,1]}}', b"\0"
    ),
    "nested 66 times": slice_of(b'{"a":{"x":' + b"[" * 66 + b"]" * 66 + b"," + ONE + b"}}", b"\0"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_should_refuse_what_is_beyond_a_limit(probe, case):
    with pytest.raises(NotSupported):
        probe.slice(LIMITS[case]).tensors()


def test_should_take_what_is_just_within_the_limits(probe):
    header = {"n" * 70_000: entry("U8", [1] * 64, 0, 1)}
    assert list(probe.slice(slice_of(header, b"\0")).tensors()) == ["n" * 70_000]
    many = {str(i): entry("U8", [0], 0, 0) for i in range(100_000)}
    assert len(probe.slice(slice_of(many)).tensors()) == 100_000
    assert probe.slice(slice_of(b"{}" + b" " * 99_999_998)).tensors() == {}
    with pytest.raises(NotSupported, match="100 MB"):
        probe.slice(slice_of(b"{}" + b" " * 99_999_999)).tensors()


def test_should_hold_as_many_tensors_as_the_shortest_text_allows(probe):
    one = b'{"dtype":"U8","shape":[],"data_offsets":[0,1]}'
    assert len(probe.slice(slice_of(b'{"":' + one + b"}", b"\7")).tensors()) == 1
    names = [bytes([byte]) for byte in range(0x23, 0x7F) if byte != 0x5C]
    zero = b'{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    text = b"{" + b",".join(b'"' + name + b'":' + zero for name in names) + b"}"
    assert len(probe.slice(slice_of(text)).tensors()) == len(names)


def public(data: bytes) -> dict | None:
    """What the public library says of a slice, None where it refuses."""
    try:
        return {
            name: (info["dtype"], tuple(info["shape"]), bytes(info["data"]))
            for name, info in safetensors.deserialize(data)
        }
    except Exception:  # its errors are of several kinds; each is a refusal
        return None


def ours(probe, data: bytes) -> dict | None:
    try:
        tensors = probe.slice(data, guard=True).tensors()
    except (CorruptSlice, NotSupported):
        return None
    return {name: (t.dtype, t.shape, bytes(t.raw())) for name, t in tensors.items()}


def random_slice(rng: random.Random) -> bytes:
    names = rng.sample(["a", "b", "tokens", "\u00e9", "x.y", "labels", "mask"], rng.randint(0, 5))
    header, data = {}, b""
    for name in names:
        dtype = rng.choice(list(SIZES))
        shape = [rng.randint(0, 3) for _ in range(rng.randint(0, 3))]
        count = 1
        for size in shape:
            count *= size
        length = count * SIZES[dtype]
        header[name] = entry(dtype, shape, len(data), len(data) + length)
        data += rng.randbytes(length)
    if rng.random() < 0.3:
        header["__metadata__"] = {"format": "pt"}
    items = list(header.items())
    rng.shuffle(items)
    return slice_of(dict(items), data)


def test_should_agree_with_the_public_library_on_good_slices(probe):
    rng = random.Random(1)
    for _ in range(500):
        data = random_slice(rng)
        assert ours(probe, data) == public(data) is not None


def test_should_accept_nothing_that_the_public_library_refuses(probe):
    rng = random.Random(2)
    accepted = refused = 0
    for _ in range(20_000):
        data = bytearray(random_slice(rng))
        for _ in range(rng.randint(1, 3)):
            kind = rng.random()
            at = rng.randrange(len(data))
            if kind < 0.6:
                data[at] = rng.choice(b'{}[]",:0123456789\\uU8F\x00\xff ' + bytes([data[at] ^ 1]))
            elif kind < 0.8:
                del data[at : at + rng.randint(1, 4)]
            else:
                data[at:at] = rng.choice([b"0", b" ", b",", b"\0", b'"', b"[]"])
            if not data:
                break
        mine, theirs = ours(probe, bytes(data)), public(bytes(data))
        if mine is None:
            refused += 1
            continue
        accepted += 1
        assert mine == theirs, bytes(data)
    assert accepted > 100 and refused > 5_000


def test_should_read_no_byte_behind_the_slice(probe):
    """Every truncation of a good slice is refused; the mapping ends right behind the bytes."""
    good = slice_of(GOOD, DATA)
    for length in range(len(good)):
        with pytest.raises(CorruptSlice):
            probe.slice(good[:length], guard=True).tensors()
