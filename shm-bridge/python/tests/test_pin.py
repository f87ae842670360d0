"""Rings registered with CUDA, against a runtime that writes down what it is asked.

The stub stands in for libcudart, everything else is real: daemon, ring, rank processes. What a
GPU adds is tested where there is one, and reported as not run elsewhere.
"""

from __future__ import annotations

import pathlib
import subprocess

import abi
import pytest
from conftest import PACKAGE, compiler
from system import RING, STEPS, RankFailed, until

NEXT = "step = reader.next(); told = None if step is None else seen(step); told"


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The recording runtime, compiled."""
    target = tmp_path_factory.mktemp("cuda") / "libcudart_stub.so"
    source = PACKAGE / "tests/native/cudart_stub.c"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-D_GNU_SOURCE"]
    done = subprocess.run(
        [*compiler(), *flags, str(source), "-o", str(target), "-lpthread"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def pinning(stub, rank):
    """A rank whose CUDA runtime is the stub; ``cuda`` and ``log()`` are there as names."""

    def start(chunk_bytes: int = 1 << 30):
        one = rank()
        one.do(f"""
import ctypes
import batchweave._pin
cuda = ctypes.CDLL({str(stub)!r})
cuda.stub_log.restype = ctypes.c_char_p
cuda.stub_registered_bytes.restype = ctypes.c_size_t
batchweave._pin.CHUNK_BYTES = {chunk_bytes}
def log():
    told = cuda.stub_log().decode().splitlines()
    cuda.stub_clear()
    return told
def mapped():
    return sum("ring-0.data" in line for line in open("/proc/self/maps"))
""")
        assert one.do("batchweave._pin.library()") == str(stub), "found among what is loaded"
        return one

    return start


def acked(place: pathlib.Path) -> int:
    """How many steps of their generation the ranks have released."""
    return sum(
        word != 0 for data in abi.readers(place).values() for word in abi.field(data, abi.READER, "ack")
    )


def test_should_register_the_ring_once_in_chunks_and_take_it_back(
    stream, serve, place, pinning, rank
):
    """Also over another generation: the ring file stays, and with it the registration."""
    url = stream(dp=2)
    ring = 32 * 4096
    serve(url, memory_bytes=ring)
    one = pinning(chunk_bytes=12 * 4096)
    one.attach(url, place, pin=True, dp=0, dp_size=2)
    assert one.do("[reader.pinned, reader.info['views']]") == [True, "pinned"]
    chunks = [12 * 4096, 12 * 4096, 8 * 4096]
    assert one.do("log()") == [f"register {chunk}" for chunk in chunks]
    for step in range(3):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]
    one.do("kept = memoryview(step.tensors()['tokens']); del step; log()")
    other = rank()
    other.attach(url, place, dp=1, dp_size=2, next_step=3)
    for step in range(3, 6):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]
        assert other.do(NEXT) == [step, [[1, 0, 1000, 0]]]
    assert one.do("reader.info['attachments']") == 2
    assert not [line for line in one.do("log()") if "register" in line]
    one.do("del step; reader.close(); log()")
    assert one.do("[cuda.stub_registered_bytes(), mapped() > 0]") == [ring, True], "kept holds it"
    assert one.do("set(kept.tolist()) == {20000}")
    one.do("del kept")
    assert one.do("log()") == ["drain 3", *(f"unregister {chunk}" for chunk in chunks)]
    assert one.do("[cuda.stub_registered_bytes(), mapped(), cuda.stub_events()]") == [0, 0, 0]


@pytest.mark.parametrize("at", [0, 2])
def test_should_fall_back_to_private_views_with_one_line(node, launch, pinning, at):
    url, place = node
    one = pinning(chunk_bytes=3 * 4096)
    one.do(f"cuda.stub_fail_register_at({at})")
    one.attach(url, place, session=launch, pin="auto")
    assert one.do("[reader.pinned, reader.info['views']]") == [False, "view"]
    assert one.do("[cuda.stub_registered_bytes(), cuda.stub_last()]") == [0, 0], "all or nothing"
    for step in range(STEPS):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]
        one.do("memoryview(step.slices[0])[0] ^= 255")
    [line] = one.errors
    assert "pin=False" in line and "cudaHostRegister" in line and "invalid argument" in line
    assert not [line for line in one.do("log()") if "mark" in line]


def test_should_fail_where_the_caller_insists(node, launch, pinning, rank):
    url, place = node
    one = pinning()
    one.do("cuda.stub_devices(0)")
    with pytest.raises(RankFailed) as failed:
        one.attach(url, place, session=launch, pin=True)
    assert failed.value.kind == "NotSupported"
    assert "no CUDA-capable device" in failed.value.text
    assert one.do("mapped()") == 0
    with pytest.raises(RankFailed) as failed:
        rank().attach(url, place, session=launch, pin=True)
    assert failed.value.kind == "NotSupported" and "no CUDA runtime" in failed.value.text
    for wrong in ({"pin": "yes"}, {"pin": True, "views": "copy"}, {"check": "md5"}):
        with pytest.raises(RankFailed) as failed:
            one.attach(url, place, session=launch, **wrong)
        assert failed.value.kind in ("Refused", "NotSupported"), wrong


def test_should_keep_the_mapping_that_it_cannot_take_back(node, launch, pinning):
    url, place = node
    one = pinning()
    one.attach(url, place, session=launch, pin=True)
    assert one.do(NEXT)[0] == 0
    one.do("cuda.stub_fail_unregister(1); del step; reader.close()")
    assert one.do("mapped()") > 0, "the GPU may still reach it"
    assert one.do("cuda.stub_last()") == 0, "and nobody else gets our error"
    until(lambda: not abi.readers(place), "but the rank has left")


def test_should_not_register_in_a_forked_child(node, launch, pinning):
    url, place = node
    one = pinning()
    one.attach(url, place, session=launch, pin=True)
    assert one.do(NEXT)[0] == 0
    options = f"{url!r}, directory={str(place)!r}, group='child', session='child', deadline_s=20"
    told = one.do(
        f"""
log()
reads, writes = os.pipe()
child = os.fork()
if child == 0:
    told = []
    try:
        batchweave.attach({options}, pin=True)
    except batchweave.NotSupported as refusal:
        told.append("forked" in str(refusal))
    with batchweave.attach({options}, pin="auto") as own:
        told += [own.pinned, own.next().step]
    del step
    reader.close()
    os.write(writes, repr([told, log()]).encode())
    os._exit(0)
os.waitpid(child, 0)
os.read(reads, 1000).decode()
""",
        60,
    )
    assert told == "[[True, False, 0], []]"
    assert one.do("[mapped() > 0, cuda.stub_registered_bytes()]") == [True, RING]
    assert one.do(NEXT)[0] == 1


def test_should_release_a_step_when_its_copies_have_ended(node, launch, pinning):
    url, place = node
    one = pinning()
    one.attach(url, place, session=launch, pin=True, deadline_s=20)
    assert one.do(NEXT)[0] == 0
    one.do("cuda.stub_busy(1); del step; log()")
    assert one.do("log()") == [], "no CUDA where a tensor happens to die"
    assert acked(place) == 0
    assert one.do("step = reader.next(copies_on=77); seen(step)[0]") == 1
    assert one.do("log()") == ["mark 1", "mark 77"]
    assert acked(place) == 0, "the GPU has not passed"
    one.do("cuda.stub_busy(0)")
    assert one.do(NEXT)[0] == 2
    assert acked(place) == 1
    assert one.do("log()") == [], "step 1 was let go when step 2 was there"
    assert one.do("reader.info['held_steps']") == 2, "so the next call marks it"


def test_should_wait_for_copies_rather_than_say_that_the_ring_is_held(
    node, launch, pinning
):
    url, place = node
    one = pinning()
    one.attach(url, place, session=launch, pin=True)
    one.do("cuda.stub_busy(1)")
    for step in range(12):
        one.do("step = None; cuda.stub_busy(1)")
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]
    told = one.do("log()")
    assert "wait 0" in told, "the ring holds four, all were waiting for the GPU"
    one.do("step = None; reader.close()")
    assert one.do("log()[0]") == "drain 3", "closing waits for what is being copied"
    assert one.do("[cuda.stub_registered_bytes(), cuda.stub_events()]") == [0, 0]


def test_should_drain_the_device_for_what_outlives_the_reader(node, launch, pinning):
    """On the rank's device, whatever is current where the last tensor dies."""
    url, place = node
    one = pinning()
    one.attach(url, place, session=launch, pin=True)
    assert one.do(NEXT)[0] == 0
    one.do("kept = memoryview(step.tensors()['tokens']); del step; reader.close(); log()")
    one.do("cuda.cudaSetDevice(0); cuda.stub_busy(1); log()")
    one.do("del kept")
    assert one.do("log()") == ["device 3", "drain 3", "device 0", f"unregister {RING}"]
    until(lambda: not abi.readers(place), "the rank has left")


def test_should_name_the_rank_that_wrote_to_a_shared_view(node, launch, pinning):
    url, place = node
    one = pinning()
    one.attach(url, place, session=launch, pin=True, check="crc", rank=5)
    assert one.do(NEXT)[0] == 0
    one.do("memoryview(step.slices[0])[100] ^= 1; del step")
    with pytest.raises(RankFailed) as failed:
        for _ in range(3):
            one.do("step = None; step = reader.next()")
    assert failed.value.kind == "CorruptRing"
    assert failed.value.facts["rank"] == 5 and failed.value.facts["step"] == 0
    assert "step=0" in failed.value.text and "rank=5" in failed.value.text
    one.do("step = None")
    for step in range(3, STEPS):
        told = one.do(NEXT)
        if told is None or told[0] == STEPS - 1:
            break
        assert told[1] == [[0, 0, 1000, 0]]


def test_should_register_through_the_loader_where_torch_sees_a_gpu(node, launch, pinning):
    url, place = node
    one = pinning()
    one.do("""
import torch
torch.cuda.is_available = lambda: True
torch.cuda.is_initialized = lambda: True
torch.cuda.current_stream = lambda: type("Stream", (), {"cuda_stream": 42})()
library = str(cuda._name)
batchweave._pin.library = lambda: library
""")
    assert one.loop(url, place, session=launch) == 0
    assert one.do("loader.reader.pinned")
    told = one.do(
        "[int(b['step']) == i and bool((b['tokens'] == i * 10000).all()) for i, b in enumerate(loader)]",
        60,
    )
    assert told == [True] * STEPS
    assert {"mark 1", "mark 42"} <= set(one.do("log()"))


def test_should_not_look_for_cuda_where_torch_sees_no_gpu(node, launch, rank):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    url, place = node
    one = rank()
    assert one.loop(url, place, session=launch) == 0
    assert one.do("[loader.reader.pinned, loader.reader.info['views']]") == [False, "view"]
    assert one.errors == []


def test_should_copy_from_the_ring_on_a_real_gpu(node, launch, rank):
    """Not run without one: the driver registers the ring, torch copies from it asynchronously."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: registration with a real driver is not run")
    url, place = node
    one = rank()
    one.loop(url, place, session=launch, pin=True)
    told = one.do(
        """
wrong = 0
for index, batch in enumerate(loader):
    assert batch["tokens"].is_pinned()
    copied = batch["tokens"].to("cuda", non_blocking=True)
    wrong += int((copied != index * 10000).sum())
del batch, copied
loader.close()
[index, wrong]
""",
        100,
    )
    assert told == [STEPS - 1, 0]
