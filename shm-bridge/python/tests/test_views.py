"""Copy-on-write views where memory is swapped, moved or locked, and how long a step is held.

Cases: U8, U9, U31, U32, U36. Real daemon, real ring, real rank processes; what a machine does not
allow is reported as not run.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import signal
import struct
import subprocess
import sys
from typing import Iterator

import pytest
from system import STEPS, RankFailed, until

SWAP_BYTES = 16 << 20
NEXT = "step = reader.next(); told = None if step is None else seen(step); told"
PAGES = """
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
PAGE = os.sysconf("SC_PAGESIZE")
def span(step):
    part = step.slices[0]
    first = ctypes.addressof(ctypes.c_char.from_buffer(memoryview(part)))
    return first // PAGE * PAGE, first + len(part)
def entries(step):
    first, end = span(step)
    with open("/proc/self/pagemap", "rb") as file:
        file.seek(first // PAGE * 8)
        count = -(-(end - first) // PAGE)
        return struct.unpack(f"{count}Q", file.read(8 * count))
def edit(step):
    first, end = span(step)
    view = memoryview(step.slices[0])
    for at in range(0, len(view), 512): view[at] ^= 255
    view[len(view) - 1] ^= 255
"""


@pytest.fixture
def swap(tmp_path: pathlib.Path) -> Iterator[None]:
    """A small swap file for the time of a test, where this user may add one."""
    page = os.sysconf("SC_PAGESIZE")
    libc = ctypes.CDLL(None, use_errno=True)
    file = tmp_path / "swap"
    header = bytearray(page)
    struct.pack_into("<III", header, 1024, 1, SWAP_BYTES // page - 1, 0)
    header[-10:] = b"SWAPSPACE2"
    with open(file, "wb") as out:
        out.write(header + bytes(SWAP_BYTES - page))
        out.flush()
        os.fsync(out.fileno())
    file.chmod(0o600)
    if libc.swapon(os.fsencode(file), 0) != 0:
        pytest.skip(f"no swap can be added here: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        assert libc.swapoff(os.fsencode(file)) == 0


def test_should_show_the_next_step_when_an_edited_view_was_swapped_out(node, launch, rank, swap):
    """Case U36, with real swap: edited pages are out when the step is released."""
    url, place = node
    one = rank()
    one.attach(url, place, session=launch)
    one.do(PAGES)
    out = 0
    for step in range(12):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]], "whatever was edited there before"
        told = one.do("""
edit(step)
first, end = span(step)
assert libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(-(-(end - first) // PAGE) * PAGE), 21) == 0
[entry >> 62 == 1 for entry in entries(step)]
""")
        out += sum(told)
        one.do("step = told = None")
    if out == 0:
        pytest.skip("MADV_PAGEOUT swaps nothing out here")
    assert one.do("reader.info['views']") == "view"


@pytest.mark.full
def test_should_show_the_next_step_when_pages_move_at_release(node, launch, rank):
    """Case U36: the kernel moves pages all the time while views are edited and released.

    What a page under migration looks like in pagemap is part of ``views_unit.c`` in every run.
    """
    url, place = node
    if not os.access("/proc/sys/vm/compact_memory", os.W_OK):
        pytest.skip("this user may not make the kernel compact memory")
    one = rank()
    one.attach(url, place, session=launch)
    one.do(PAGES)
    moved = one.do(
        """
import threading
running = True
def move():
    while running:
        with open("/proc/sys/vm/compact_memory", "w") as file: file.write("1")
def frames(step): return [entry & (1 << 55) - 1 for entry in entries(step)]
mover = threading.Thread(target=move)
mover.start()
try:
    moved = wrong = 0
    for step in reader:
        wrong += seen(step)[1][0][3]
        edit(step)
        before = frames(step)
        for _ in range(20): moved += frames(step) != before
        del step
finally:
    running = False
    mover.join()
assert wrong == 0, wrong
moved
""",
        100,
    )
    if moved == 0:
        pytest.skip("no edited page moved while it was looked at: nothing shown here")


def test_should_refuse_rather_than_show_stale_pages_when_memory_is_locked_later(
    node, launch, rank
):
    """Case U36: mlockall of what is mapped copies every page of the ring, other steps' too."""
    url, place = node
    one = rank()
    one.attach(url, place, session=launch)
    assert one.do("reader.info['views']") == "view"
    assert one.do(NEXT)[0] == 0
    current = 1  # MCL_CURRENT
    if one.do(f"import ctypes; ctypes.CDLL(None).mlockall({current})") != 0:
        pytest.skip("this user may not lock memory")
    one.do("told = []")
    # A release or a take meets pages that cannot be dropped.
    with pytest.raises(RankFailed) as failed:
        one.do("for _ in range(9): step = None; step = reader.next(); told.append(seen(step))")
    assert failed.value.kind == "ViewFailed", failed.value
    assert "mlock" in failed.value.text and "copy" in failed.value.text
    assert all(wrong == 0 for _, [[_, _, _, wrong]] in one.do("told"))
    one.do("step = None; ctypes.CDLL(None).munlockall()")
    first = one.do("reader.next_step")
    for step in range(first, STEPS):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]], "unlocked, the pages can be dropped"


def test_should_drop_edits_of_steps_in_huge_pages(stream, launch, rank, place, serve):
    """Cases U9 and U36: in a ring that is mapped 2 MiB at a time an edit is a page of its own."""
    url = stream(steps=9, lengths="400000")
    serve(url, memory_bytes=16 << 20)
    one = rank()
    one.attach(url, place, session=launch)
    one.do(PAGES)
    for step in range(9):
        assert one.do(NEXT) == [step, [[0, 0, 400_000, 0]]], "edits of a step that lay there"
        if step == 0:
            huge = one.do("""
with open("/proc/self/smaps") as maps:
    kib = sum(int(line.split()[1]) for line in maps if line.startswith("ShmemPmdMapped"))
kib""")
        if step % 2 == 0:
            one.do("edit(step)")
        else:
            one.do("memoryview(step.slices[0])[1_234_567] ^= 255")
        one.do("step = None")
    if huge == 0:
        pytest.skip("this system gave the ring no huge pages: shown with small ones")


def test_should_fall_back_to_copies_where_pagemap_tells_nothing(node, launch, rank):
    """Hidden as hardened kernels hide it: it opens, and has no entry."""
    url, place = node
    one = rank()
    hidden = one.do("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, PRIVATE, BIND = 0x20000, 1 << 18 | 1 << 14, 4096
path = f"/proc/{os.getpid()}/pagemap".encode()
libc.unshare(NEWNS) == 0 and libc.mount(b"none", b"/", None, PRIVATE, None) == 0 and \
    libc.mount(b"/dev/null", path, None, BIND, None) == 0
""")
    if not hidden:
        pytest.skip("this user may not mount over /proc")
    one.attach(url, place, session=launch)
    assert one.do("reader.info['views']") == "copy"
    for step in range(8):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]
        one.do("memoryview(step.slices[0])[5] ^= 1")
    [line] = [line for line in one.errors if "views=copy" in line]
    assert "pagemap" in line


def test_should_hold_a_step_as_long_as_an_exception_does(node, launch, rank):
    """Case U8: a traceback keeps its frames, a frame its batch; the ring never runs into it."""
    url, place = node
    one = rank()
    one.loop(url, place, session=launch)
    told = one.do(
        """
import gc
gc.disable()
kept = []
def train(batch, index):
    view = batch["tokens"][::2]
    if index % 3 == 0:
        raise ValueError(int(view[0]))
bad = 0
for index, batch in enumerate(loader):
    bad += int(batch["step"]) != index or not bool((batch["tokens"] == index * 10000).all())
    try:
        train(batch, index)
    except ValueError as error:
        bad += error.args[0] != index * 10000
        kept = [error]
    if kept:
        frame = kept[0].__traceback__.tb_next.tb_frame
        bad += not bool((frame.f_locals["view"] == kept[0].args[0]).all())
        del frame
[index, bad, loader.reader.info["held_steps"]]
""",
        60,
    )
    assert told == [STEPS - 1, 0, 1], "the last exception is of the last step"
    assert one.do("kept.clear(); del batch; loader.reader.info['held_steps']") == 0


def test_should_hold_a_step_as_long_as_autograd_does(node, launch, rank):
    url, place = node
    one = rank()
    one.loop(url, place, session=launch)
    told = one.do(
        """
weight = torch.ones(1000, requires_grad=True)
bad = 0
before = None
for index, batch in enumerate(loader):
    loss = (batch["tokens"].view(torch.float32).abs().nan_to_num() * 0 + batch["ids"][0] * weight).sum()
    x = batch["tokens"] * 1.0
    kept = (x * weight).sum()
    if before is not None:
        before.backward()
    before = (batch["tokens"].detach().view(torch.int32) * weight).sum()
    bad += int(batch["step"]) != index
    del batch, x, kept, loss
before.backward()
del before
[index, bad, bool((weight.grad == sum(range(64)) * 10000).all()), loader.reader.info["held_steps"]]
""",
        60,
    )
    assert told == [STEPS - 1, 0, True, 0]


def test_should_go_on_where_a_stateful_data_loader_stopped(node, launch, rank):
    """Case U32: with one worker, which copies; the position comes from the worker."""
    url, place = node
    one, other = rank(), rank()
    make = f"""
from torchdata.stateful_dataloader import StatefulDataLoader
from batchweave.torch import StepLoader
def make(session):
    inner = StepLoader({url!r}, directory={str(place)!r}, group='stateful', session=session, deadline_s=20)
    return StatefulDataLoader(inner, batch_size=None, num_workers=1)
"""
    seen = one.do(
        make + f"loader = make('a-{launch}'[:60]); batches = iter(loader)\n"
        "[int(next(batches)['step']) for _ in range(5)]",
        100,
    )
    assert seen == list(range(5))
    state = one.do("import pickle; pickle.dumps(loader.state_dict()).hex()")
    workers = one.do("import multiprocessing; [p.pid for p in multiprocessing.active_children()]")
    one.kill()
    for worker in workers:  # sees by itself that its parent is gone, but only in a while
        os.kill(worker, signal.SIGKILL)
        until(lambda: ended(worker), f"worker {worker} ends")
    told = other.do(
        make + f"import pickle\nloader = make('b-{launch}'[:60])\n"
        f"loader.load_state_dict(pickle.loads(bytes.fromhex({state!r})))\n"
        "[[int(b['step']), bool((b['tokens'] == int(b['step']) * 10000).all())] for b in loader]",
        100,
    )
    assert told == [[step, True] for step in range(5, STEPS)]


def ended(process: int) -> bool:
    """Whether a process is gone, or holds nothing any more."""
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


EVERY_TYPE = """
import sys
sys.modules["numpy"] = None
import importlib.util, json, struct, torch, warnings
spec = importlib.util.spec_from_file_location("batchweave_probe", {probe!r})
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
names = dict(BOOL=torch.bool, U8=torch.uint8, I8=torch.int8, I16=torch.int16, U16=torch.uint16,
             F16=torch.float16, BF16=torch.bfloat16, I32=torch.int32, U32=torch.uint32,
             F32=torch.float32, F64=torch.float64, I64=torch.int64, U64=torch.uint64,
             F8_E4M3=torch.float8_e4m3fn, F8_E5M2=torch.float8_e5m2, F8_E8M0=torch.float8_e8m0fnu,
             F8_E4M3FNUZ=torch.float8_e4m3fnuz, F8_E5M2FNUZ=torch.float8_e5m2fnuz,
             C64=torch.complex64)
for name, dtype in names.items():
    for shape in ((), (0,), (3,), (2, 0, 3), (2, 3)):
        count = 1
        for size in shape: count *= size
        data = bytes(i % 2 for i in range(count * dtype.itemsize))
        header = json.dumps(dict(x=dict(dtype=name, shape=shape, data_offsets=[0, len(data)]))).encode()
        slice_ = probe.slice(struct.pack("<Q", len(header)) + header + data)
        for read in (torch.from_dlpack(slice_.tensors()["x"]), torch.from_dlpack(slice_.capsules()["x"])):
            assert read.dtype is dtype and tuple(read.shape) == shape, (name, shape, read)
            flat = bytes(read.reshape(-1).view(torch.uint8).tolist()) if count else b""
            assert flat == data, (name, shape)
print("numpy" in sys.modules and sys.modules["numpy"] is None)
"""


def test_should_read_every_type_without_numpy(probe_file):
    """Case U31."""
    command = [sys.executable, "-W", "ignore", "-c", EVERY_TYPE.format(probe=str(probe_file))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
