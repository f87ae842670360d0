"""Views of a step: types, values, and how long the step is held.

Cases: U31 (round trips without numpy), parts of U9 and U32 that need no daemon.
"""

from __future__ import annotations

import gc
import json
import os
import pathlib
import struct
import subprocess
import sys
import threading

import numpy
import pytest
import torch
from safetensors.torch import save

from batchweave.errors import CorruptSlice, Refused

TYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.uint16,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.uint32,
    torch.float32,
    torch.float64,
    torch.int64,
    torch.uint64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
    torch.complex64,
]
SHAPES = [(), (0,), (1,), (5,), (2, 0, 3), (3, 4), (2, 3, 4)]


def random_tensor(dtype: torch.dtype, shape: tuple) -> torch.Tensor:
    count = 1
    for size in shape:
        count *= size
    data = bytearray(os.urandom(max(1, count * dtype.itemsize)))
    if dtype is torch.bool:
        data = bytearray(byte & 1 for byte in data)
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(data, dtype=dtype, count=count).reshape(shape).clone()


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Same type, shape and bytes; NaN equals itself."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    flat = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
    return torch.equal(*flat)


def views(slice_, **options: bool) -> dict:
    return {name: torch.from_dlpack(c) for name, c in slice_.capsules(**options).items()}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("versioned", [False, True], ids=["legacy", "versioned"])
def test_should_round_trip_every_type_and_shape(probe, held, dtype, shape, versioned):
    """Case U31."""
    written = random_tensor(dtype, shape)
    [read] = views(probe.slice(save({"x": written})), versioned=versioned).values()
    assert same(read, written)
    assert read.is_contiguous()
    assert held.released == 0
    del read
    assert held.released == 1


def header_of(tensors: dict) -> bytes:
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def test_should_show_each_slice_its_own_bytes_when_headers_are_the_same(probe):
    """What was read of a header is used again for the next step: never its values."""
    slices = [probe.slice(save({"x": torch.arange(4) + i, "y": torch.ones(2)})) for i in range(4)]
    read = [views(slice_) for slice_ in slices]
    for i, tensors in enumerate(read):
        assert list(tensors) == ["x", "y"]
        assert tensors["x"].tolist() == [i, i + 1, i + 2, i + 3]
        assert slices[i].tensors()["x"].raw()[0] == i


def test_should_read_a_header_again_when_any_of_its_bytes_differs(probe):
    """Same length of slice and header, or the same header before another length."""
    described = {"x": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}
    first = header_of(described)
    for _ in range(2):
        assert views(probe.slice(first + bytes(4)))["x"].tolist() == [0, 0, 0, 0]
        other = probe.slice(first.replace(b'"U8"', b'"I8"') + b"\xff" * 4)
        assert views(other)["x"].tolist() == [-1] * 4
        square = probe.slice(header_of({"x": {**described["x"], "shape": [2, 2]}}) + bytes(4))
        assert views(square)["x"].shape == (2, 2)
        renamed = probe.slice(first.replace(b'"x"', b'"y"') + bytes(4))
        assert list(renamed.tensors()) == ["y"]
        for wrong in (first + bytes(5), first + bytes(3), first[:20], first[:8], first[:3], b""):
            assert views(probe.slice(first + bytes(4)))["x"].shape == (4,)
            with pytest.raises(CorruptSlice) as caught:
                probe.slice(wrong, guard=True).tensors()
            assert (caught.value.step, caught.value.rank) == (9, 3)


def test_should_hand_capsules_to_a_consumer(probe, held):
    slice_ = probe.slice(save({"x": torch.arange(3), "y": torch.ones(2)}))
    tensors = slice_.capsules(consumer=torch.from_dlpack)
    del slice_
    assert {name: tensor.tolist() for name, tensor in tensors.items()} == {
        "x": [0, 1, 2],
        "y": [1, 1],
    }
    assert held.released == 0
    del tensors
    assert held.released == 1


def test_should_release_when_a_consumer_of_capsules_raises(probe, held):
    gc.collect()  # what tests before this one raised
    before = held.released
    kept = []

    def consume(capsule: object) -> torch.Tensor:
        if kept:
            raise ValueError("enough")
        kept.append(torch.from_dlpack(capsule))
        return kept[0]

    with pytest.raises(ValueError, match="enough"):
        probe.slice(save({"x": torch.ones(3), "y": torch.ones(3)})).capsules(consumer=consume)
    assert held.released == before
    kept.clear()
    assert held.released == before + 1


def test_should_round_trip_without_numpy(probe_file):
    """Case U31: the whole path in a process that cannot import numpy."""
    script = f"""
import sys
sys.modules["numpy"] = None
import importlib.util, torch
spec = importlib.util.spec_from_file_location("batchweave_probe", {str(probe_file)!r})
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
import json, struct
header = json.dumps({{"x": {{"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}},
                      "y": {{"dtype": "F8_E5M2", "shape": [], "data_offsets": [4, 5]}}}}).encode()
slice_ = probe.slice(struct.pack("<Q", len(header)) + header + bytes([0x80, 0x3F, 0, 0xC0, 0x3C]))
x, y = (torch.from_dlpack(t) for t in slice_.tensors().values())
assert x.tolist() == [1.0, -2.0] and x.dtype is torch.bfloat16, x
assert y.item() == 1.0 and y.dtype is torch.float8_e5m2, y
"""
    # torch itself warns when there is no numpy.
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_should_share_memory_when_exported(probe):
    slice_ = probe.slice(save({"x": torch.arange(6, dtype=torch.int32)}))
    tensor = slice_.tensors()["x"]
    a, b = torch.from_dlpack(tensor), numpy.from_dlpack(tensor)
    a[0] = 41
    assert b[0] == 41
    assert memoryview(tensor)[0] == 41
    assert a.data_ptr() == b.ctypes.data


@pytest.mark.parametrize("dtype", ["BOOL", "U8", "I16", "F16", "I64", "F64"])
def test_should_export_a_typed_buffer(probe, dtype):
    names = {"BOOL": "bool", "U8": "u1", "I16": "i2", "F16": "f2", "I64": "i8", "F64": "f8"}
    written = numpy.arange(6).reshape(2, 3).astype(names[dtype])
    tensor = probe.slice(save({"x": torch.from_numpy(written)})).tensors()["x"]
    view = memoryview(tensor)
    assert (view.shape, view.itemsize, view.nbytes) == ((2, 3), written.itemsize, written.nbytes)
    if dtype != "F16":  # a format that memoryview shows but does not index before Python 3.12
        assert view.tolist() == written.tolist()
    assert numpy.array_equal(numpy.asarray(tensor), written)


def test_should_refuse_a_typed_buffer_where_python_has_no_format(probe):
    tensor = probe.slice(save({"x": torch.ones(2, dtype=torch.bfloat16)})).tensors()["x"]
    with pytest.raises(BufferError, match="raw"):
        memoryview(tensor)
    assert bytes(tensor.raw()) == b"\x80\x3f\x80\x3f"


def test_should_read_a_raw_slice_as_bytes(probe, held):
    slice_ = probe.slice(b"opaque")
    view = memoryview(slice_)
    assert (len(slice_), bytes(view), view.format, view.readonly) == (6, b"opaque", "B", False)
    assert (slice_.dp, slice_.cp, slice_.micro_batches) == (2, 1, 4)
    assert (slice_.samples, slice_.tokens, slice_.crc32c) == (5, 7, 0xFFFFFFFF)
    part = view[2:4]
    del slice_, view
    assert held.released == 0
    assert bytes(part) == b"aq"
    del part
    assert held.released == 1


@pytest.mark.parametrize("versioned", [False, True], ids=["legacy", "versioned"])
def test_should_release_when_the_last_tensor_dies(probe, held, versioned):
    slice_ = probe.slice(save({str(i): torch.arange(9) for i in range(10)}))
    tensors = views(slice_, versioned=versioned)
    del slice_
    part = tensors["3"][::2]
    for name in list(tensors):
        del tensors[name]
    assert held.released == 0
    assert part.tolist() == [0, 2, 4, 6, 8]
    del part
    assert held.released == 1


def test_should_hold_the_step_for_an_exporter_whose_buffer_went_back(probe, held):
    """torch.frombuffer gives the export back at once and keeps only the object."""
    tensor = torch.frombuffer(probe.slice(b"\1\2\3\4"), dtype=torch.uint8)
    gc.collect()
    assert held.released == 0
    assert tensor.tolist() == [1, 2, 3, 4]
    del tensor
    assert held.released == 1


@pytest.mark.parametrize("versioned", [False, True], ids=["legacy", "versioned"])
def test_should_release_when_a_capsule_is_never_consumed(probe, held, versioned):
    capsules = probe.slice(save({"x": torch.ones(3), "y": torch.ones(3)})).capsules(
        versioned=versioned
    )
    torch.from_dlpack(capsules.pop("x"))
    assert held.released == 0
    del capsules
    assert held.released == 1


@pytest.mark.parametrize("versioned", [False, True], ids=["legacy", "versioned"])
def test_should_release_on_a_thread_without_python_while_the_gil_is_held(probe, held, versioned):
    capsules = probe.slice(save({"x": torch.ones(3)})).capsules(versioned=versioned)
    probe.consume(capsules["x"])
    assert held.released == 1


def test_should_release_once_when_many_threads_drop_the_tensors(probe, held):
    for _ in range(50):
        before = held.released
        box = list(views(probe.slice(save({str(i): torch.ones(3) for i in range(16)}))).values())
        start = threading.Barrier(4)

        def drop(start: threading.Barrier = start, box: list = box) -> None:
            start.wait(10)
            try:
                while True:
                    box.pop()
            except IndexError:
                return

        threads = [threading.Thread(target=drop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert held.released == before + 1


def test_should_release_when_autograd_lets_go(probe, held):
    x = views(probe.slice(save({"x": torch.ones(3)})))["x"]
    weight = torch.ones(3, requires_grad=True)
    loss = (x * weight).sum()
    del x
    assert held.released == 0
    loss.backward()
    del loss
    assert held.released == 1
    assert weight.grad is not None and weight.grad.tolist() == [1, 1, 1]


def test_should_release_a_reference_cycle_when_collected(probe, held):
    cycle: dict = views(probe.slice(save({"x": torch.ones(3)})))
    cycle["self"] = cycle
    del cycle
    assert held.released == 0
    gc.collect()
    assert held.released == 1


def test_should_copy_when_asked(probe, held):
    tensors = probe.slice(save({"x": torch.arange(5), "z": torch.ones(0)})).tensors()
    copies = {name: torch.from_dlpack(t, copy=True) for name, t in tensors.items()}
    del tensors
    assert held.released == 1
    assert copies["x"].tolist() == [0, 1, 2, 3, 4]
    assert copies["x"].data_ptr() % 64 == 0


def test_should_copy_a_tensor_that_is_not_aligned(probe, held):
    slice_ = probe.slice(save({"x": torch.arange(5)}), shift=4)
    tensor = slice_.tensors()["x"]
    with pytest.raises(BufferError, match="aligned"):
        memoryview(tensor)
    with pytest.raises(BufferError, match="aligned"):
        tensor.__dlpack__(copy=False)
    for read in (views(slice_)["x"], torch.from_dlpack(tensor)):
        assert read.tolist() == [0, 1, 2, 3, 4]
        assert read.data_ptr() % 8 == 0
    del slice_, tensor
    assert held.released == 1


def test_should_mark_read_only_memory(probe):
    slice_ = probe.slice(save({"x": torch.arange(5)}), writable=False)
    tensor = slice_.tensors()["x"]
    assert memoryview(slice_).readonly and memoryview(tensor).readonly
    assert not numpy.from_dlpack(tensor).flags.writeable
    with pytest.raises(BufferError, match="DLPack 1.0"):
        tensor.__dlpack__()


def test_should_refuse_what_dlpack_asks_of_other_devices(probe):
    tensor = probe.slice(save({"x": torch.ones(1)})).tensors()["x"]
    assert tensor.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        tensor.__dlpack__(stream=1)
    with pytest.raises(TypeError):
        tensor.__dlpack__(max_version=1)
    assert torch.from_dlpack(tensor, copy=True).tolist() == [1]


def test_should_survive_interpreter_exit_with_tensors_alive(probe_file):
    script = f"""
import importlib.util, sys, torch, json, struct
spec = importlib.util.spec_from_file_location("batchweave_probe", {str(probe_file)!r})
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
header = json.dumps({{"x": {{"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}}}).encode()
slice_ = probe.slice(struct.pack("<Q", len(header)) + header + bytes([1, 2]))
sys.kept = [torch.from_dlpack(c) for c in slice_.capsules().values()] + [slice_.capsules(), slice_]
torch.kept = slice_.tensors()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_should_be_inert_in_a_forked_child(probe, held, tmp_path: pathlib.Path):
    """Case U32: a child neither reads what its parent took nor releases it."""
    slice_ = probe.slice(save({"x": torch.arange(3)}))
    tensor = slice_.tensors()["x"]
    view = torch.from_dlpack(tensor)
    report = tmp_path / "report"
    child = os.fork()
    if child == 0:
        seen = []
        for attempt in (slice_.tensors, slice_.capsules, tensor.__dlpack__):
            try:
                attempt()
                seen.append("served")
            except Refused as refusal:
                seen.append("fork" if "fork" in str(refusal) else str(refusal))
        for owner in (slice_, tensor):
            try:
                memoryview(owner)
                seen.append("served")
            except Refused:
                seen.append("fork")
        del slice_, tensor, view, attempt, owner
        report.write_text(f"{seen} released={held.released} inert={held.inert}")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert report.read_text() == f"{['fork'] * 5} released=0 inert=1"
    assert view.tolist() == [0, 1, 2]
    del slice_, tensor, view
    assert held.released == 1
