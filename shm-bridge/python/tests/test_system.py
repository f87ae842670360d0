"""Ranks against a real daemon and a stream of a Java producer: values, order, death, back-pressure.

Cases: U7, U8, U9, U12, U14, U16, U32, U35, U37, U38 (what Python can show of them).
"""

from __future__ import annotations

import errno
import os
import signal
import time

import abi
import pytest
from system import SMALL, STEPS, Daemon, RankFailed, locked, until, write_stream

MIXED = "10,30000,500,7000"


def tell_all(ranks: list, code: str) -> list:
    """Runs code in all ranks at the same time and returns what each gave."""
    for each in ranks:
        each.send(code)
    return [each.answer() for each in ranks]


NEXT = "step = reader.next(); told = None if step is None else seen(step); told"


def test_should_give_every_rank_its_slice_of_every_step_in_order(stream, serve, rank, place):
    """Also case U16: the token is the same on all ranks, and short."""
    url = stream(dp=2, cp=2)
    serve(url)
    ranks = [rank() for _ in range(4)]
    for index, each in enumerate(ranks):
        options = {"dp": index // 2, "dp_size": 2, "cp": index % 2, "cp_size": 2}
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=4, rank={index}, **{options!r})\nreader.next_step"
        )
    assert [each.answer() for each in ranks] == [0] * 4
    for step in range(STEPS):
        for index, told in enumerate(tell_all(ranks, NEXT)):
            assert told == [step, [[index // 2, index % 2, 1000, 0]]]
    tokens = set(tell_all(ranks, "reader.token.hex()"))
    assert len(tokens) == 1
    assert len(bytes.fromhex(tokens.pop())) <= 256
    assert tell_all(ranks, NEXT) == [None] * 4, "sealed"
    assert tell_all(ranks, NEXT) == [None] * 4, "and stays so"


def test_should_give_a_smaller_job_several_slices(stream, serve, rank, place):
    """Case U34, the reading of it."""
    url = stream(dp=4)
    serve(url)
    one, other = rank(), rank()
    for index, each in enumerate((one, other)):
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=2, dp={index}, dp_size=2)\nreader.next_step"
        )
    assert [one.answer(), other.answer()] == [0, 0]
    assert tell_all([one, other], NEXT) == [
        [0, [[0, 0, 1000, 0], [1, 0, 1000, 0]]],
        [0, [[2, 0, 1000, 0], [3, 0, 1000, 0]]],
    ]


def test_should_refuse_a_job_that_does_not_divide_the_grid(stream, serve, rank, place):
    url = stream(dp=4)
    serve(url)
    with pytest.raises(RankFailed) as failed:
        rank().attach(url, place, dp=0, dp_size=3)
    assert (failed.value.kind, failed.value.facts["code"]) == ("Refused", "GRID_MISMATCH")
    assert failed.value.facts["stream"] == url


def test_should_refuse_a_stream_that_is_not_served(stream, serve, rank, place):
    serve(stream())
    with pytest.raises(RankFailed) as failed:
        rank().attach("file:/elsewhere", place)
    assert (failed.value.kind, failed.value.facts["code"]) == ("Refused", "UNKNOWN_STREAM")


def test_should_refuse_a_token_of_another_stream(stream, serve, rank, place):
    """Case U16."""
    here, elsewhere = stream(), stream(dp=2)
    serve(here, elsewhere, rings=2)
    one = rank()
    one.attach(elsewhere, place, dp=0, dp_size=2)
    token = one.do("reader.token.hex()")
    other = rank()
    with pytest.raises(RankFailed) as failed:
        other.do(
            f"batchweave.attach({here!r}, directory={str(place)!r}, session='s-2', "
            f"token=bytes.fromhex({token!r}))"
        )
    assert failed.value.facts["code"] == "TOKEN_OF_OTHER_STREAM"


def test_should_say_that_no_daemon_is_there(rank, place):
    one = rank()
    one.do("0")  # it runs
    began = time.monotonic()
    with pytest.raises(RankFailed) as failed:
        one.attach("s", place, deadline_s=0.5)
    assert failed.value.kind == "DaemonLost"
    assert time.monotonic() - began < 0.5 * 5


def test_should_say_that_there_is_no_space_left(small, stream, processes, rank):
    """For the reader file; for the log of what is said, or of the answer; then there is."""
    url = stream()
    processes.callback(Daemon(small / "d", url).kill)
    one = rank()
    filler = small / "filler"
    page = os.sysconf("SC_PAGESIZE")
    for pages in (0, 30, 70):
        filler.unlink(missing_ok=True)
        with open(filler, "wb") as file:
            free = os.statvfs(small).f_bavail
            os.posix_fallocate(file.fileno(), 0, (free - pages) * page)
        with pytest.raises(RankFailed) as failed:
            one.attach(url, small / "d", deadline_s=1)
        assert failed.value.kind == "NoSpace", failed.value.text
        assert f"no space left: directory={small / 'd'} " in failed.value.text
        assert "; make room there" in failed.value.text
        assert failed.value.facts["status"] == f"errno={errno.ENOSPC}"
    filler.unlink()
    assert one.attach(url, small / "d") == 0


def test_should_end_a_wait_at_its_deadline_and_go_on(stream, serve, rank, place, tmp_path):
    url = str(tmp_path / "growing")
    write_stream(url, dp=1, cp=1, first=0, steps=1, lengths=SMALL, seal=False)
    serve(url)
    one = rank()
    one.attach(url, place)
    assert one.do(NEXT)[0] == 0
    with pytest.raises(RankFailed) as failed:
        one.do("reader.next(0.3)")
    assert (failed.value.kind, failed.value.facts["step"]) == ("DeadlineExceeded", 1)
    write_stream(url, dp=1, cp=1, first=1, steps=1, lengths=SMALL, seal=True)
    assert one.do(NEXT) == [1, [[0, 0, 1000, 0]]]
    assert one.do(NEXT) is None


def test_should_stop_waiting_when_interrupted_or_closed(stream, serve, rank, place):
    url = stream(steps=1, seal=False)
    serve(url)
    one = rank()
    one.attach(url, place, deadline_s=25)
    assert one.do(NEXT)[0] == 0
    one.do("import signal, threading, time")
    # What starts in the background of a shell has SIGINT ignored, and Python leaves it so.
    one.do("signal.signal(signal.SIGINT, signal.default_int_handler)")
    began = time.monotonic()
    told = one.do("""
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    reader.next()
    told = "served"
except KeyboardInterrupt:
    told = "interrupted"
told
""")
    assert told == "interrupted"
    one.do("threading.Timer(0.3, reader.close).start()")
    with pytest.raises(RankFailed) as failed:
        one.do("reader.next()")
    assert (failed.value.kind, failed.value.facts["code"]) == ("Refused", "CLOSED")
    assert time.monotonic() - began < 2 * 5
    with pytest.raises(RankFailed) as failed:
        one.do("reader.next()")
    assert failed.value.facts["code"] == "CLOSED"


@pytest.mark.parametrize("how", ["exit", "exception", "sigkill"])
def test_should_leave_the_ring_to_others_when_a_rank_ends(stream, serve, rank, place, how):
    """Case U7."""
    url = stream(dp=2)
    serve(url)
    going, staying = rank(), rank()
    for index, each in enumerate((going, staying)):
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=2, dp={index}, dp_size=2)\nreader.next_step"
        )
    assert [going.answer(), staying.answer()] == [0, 0]
    before = (place / "ring-0.data").stat()
    for step in range(3):
        assert [told[0] for told in tell_all([going, staying], NEXT)] == [step, step]
    if how == "sigkill":
        going.kill()
    else:
        going.send(
            "os.kill"
            if how == "never"
            else "raise SystemExit(0)"
            if how == "exit"
            else "class Crash(BaseException): pass\nraise Crash('as ever')"
        )
        assert going.end() == (0 if how == "exit" else 1)
        warnings = "\n".join(going.errors)
        assert "tracker" not in warnings and "leaked" not in warnings
        assert ("Crash" in warnings) == (how == "exception")
    for step in range(3, STEPS):
        assert staying.do(NEXT) == [step, [[1, 0, 1000, 0]]], "nobody waits for the dead"
    after = (place / "ring-0.data").stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    until(lambda: len(abi.readers(place)) == 1, "the dead rank's reader file is gone")


def test_should_serve_a_rank_that_comes_back_at_its_step(stream, serve, rank, place):
    """Case U12: killed while it holds a step, and while it waits."""
    url = stream(dp=2, steps=40, seal=False)
    serve(url)
    staying = rank()
    going = rank()
    for index, each in enumerate((going, staying)):
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=2, dp={index}, dp_size=2)\nreader.next_step"
        )
    assert [going.answer(), staying.answer()] == [0, 0]
    assert [told[0] for told in tell_all([going, staying], NEXT)] == [0, 0]
    for step in (1, 2):
        assert going.do(NEXT)[0] == step
        going.kill()
        going = rank()
        began = time.monotonic()
        again = going.attach(
            url, place, session="s", local_readers=2, dp=0, dp_size=2, next_step=step
        )
        assert again == step
        assert going.do(NEXT) == [step, [[0, 0, 1000, 0]]]
        assert time.monotonic() - began < 3 * 5
        assert staying.do(NEXT) == [step, [[1, 0, 1000, 0]]]
    for step in range(3, 40):
        assert [told[0] for told in tell_all([going, staying], NEXT)] == [step, step]
    going.send("reader.next()")
    until(
        lambda: any(abi.field(r, abi.READER, "waiting") for r in abi.readers(place).values()),
        "a rank waits",
    )
    going.kill()
    going = rank()
    assert (
        going.attach(url, place, session="s", local_readers=2, dp=0, dp_size=2, next_step=39) == 39
    )
    assert going.do(NEXT) == [39, [[0, 0, 1000, 0]]]


def test_should_resume_behind_the_checkpoint(stream, serve, rank, place):
    """Case U14: prefetching does not move the position."""
    url = stream(dp=2)
    serve(url, memory_bytes=16 << 20)
    attach = (
        f"reader = batchweave.attach({url!r}, directory={str(place)!r}, local_readers=2, "
        "dp_size=2, deadline_s=20, "
    )
    ranks = [rank(), rank()]
    for index, each in enumerate(ranks):
        each.send(f"{attach} session='launch-1', dp={index})\nreader.next_step")
    assert [each.answer() for each in ranks] == [0, 0]
    for step in range(11):
        tell_all(ranks, NEXT)
    tokens = tell_all(ranks, "reader.token.hex()")
    for step in range(11, 15):
        assert [told[0] for told in tell_all(ranks, NEXT)] == [step, step]
    for each in ranks:
        each.kill()
    ranks = [rank(), rank()]
    for index, each in enumerate(ranks):
        each.send(
            f"{attach} session='launch-2', dp={index}, "
            f"token=bytes.fromhex({tokens[index]!r}))\nreader.next_step"
        )
    assert [each.answer() for each in ranks] == [11, 11]
    assert tell_all(ranks, NEXT) == [[11, [[0, 0, 1000, 0]]], [11, [[1, 0, 1000, 0]]]]


def test_should_stop_the_ranks_of_an_older_launch(stream, serve, rank, place):
    url = stream(steps=8, seal=False)
    serve(url)
    old, new = rank(), rank()
    old.attach(url, place, session="launch-1")
    assert old.do(NEXT)[0] == 0
    assert new.attach(url, place, session="launch-2", next_step=0) == 0
    assert new.do(NEXT)[0] == 0
    old.do("del step")
    with pytest.raises(RankFailed) as failed:
        for _ in range(8):
            old.do(NEXT)
    assert failed.value.kind == "Superseded"
    for step in range(1, 8):
        assert new.do(NEXT) == [step, [[0, 0, 1000, 0]]]


def test_should_refuse_a_launch_that_would_not_supersede(stream, serve, rank, place):
    url = stream(steps=8, seal=False)
    serve(url)
    old, new = rank(), rank()
    old.attach(url, place, session="launch-1")
    with pytest.raises(RankFailed) as failed:
        new.attach(url, place, session="launch-2", supersede=False)
    assert (failed.value.kind, failed.value.facts["code"]) == ("Refused", "SESSION_LIVE")
    assert old.do(NEXT) == [0, [[0, 0, 1000, 0]]]


@pytest.mark.parametrize("told", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_should_go_on_when_the_daemon_is_replaced(stream, serve, rank, place, told):
    """Case U13, the good end of it: a waiting rank and what it holds outlive the daemon."""
    url = stream()
    daemon = serve(url, memory_bytes=4 * 8192)
    one = rank()
    one.attach(url, place)
    for step in range(3):
        assert one.do(NEXT)[0] == step
    one.do("held = step")
    ring = os.stat(place / "ring-0.data").st_ino
    daemon.process.send_signal(told)
    until(lambda: not locked(place / "daemon.lock"), "the lock is given back")
    one.send(NEXT)
    serve(url, memory_bytes=4 * 8192)
    assert one.answer() == [3, [[0, 0, 1000, 0]]]
    assert one.do("seen(held)") == [2, [[0, 0, 1000, 0]]]
    one.do("del held")
    for step in range(4, STEPS):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]
    assert one.do("reader.info['attachments']") == 2
    until(lambda: any("attached again" in line for line in one.errors), "it says so")
    assert os.stat(place / "ring-0.data").st_ino == ring, "the ring was taken over"


def test_should_raise_when_the_daemon_is_gone(stream, serve, rank, place):
    """Case U13, the end of it: nobody starts another one."""
    url = stream(steps=2, seal=False)
    daemon = serve(url)
    one = rank()
    one.attach(url, place, deadline_s=2)
    assert one.do(NEXT)[0] == 0
    kept = one.do("kept = memoryview(step.tensors()['tokens']); kept[0]")
    daemon.kill()
    began = time.monotonic()
    with pytest.raises(RankFailed) as failed:
        for _ in range(3):
            one.do(NEXT)
    assert failed.value.kind == "DaemonLost"
    assert 1.5 < time.monotonic() - began < 10
    assert one.do("kept[0]") == kept, "what is held stays readable"


KEEP = """
kept = {}
order = []
def keep(step):
    tensors = step.tensors()
    order.append(step.step)
    kept[step.step] = (memoryview(tensors["tokens"])[::2], step)
def wrong():
    return [n for n, (view, _) in kept.items() if set(view.tolist()) != {n * 10000}]
"""


def test_should_give_back_pressure_and_never_foreign_bytes(stream, serve, rank, place):
    """Case U8: steps are kept while 50 more are asked for, in a ring of four."""
    url = stream()
    region = 8192  # 1000 tokens and the header
    serve(url, memory_bytes=4 * region)
    one = rank()
    one.attach(url, place, deadline_s=20)
    one.do(KEEP)
    with pytest.raises(RankFailed) as failed:
        one.do("""
for step in reader:
    keep(step)
    del step
""")
    assert failed.value.kind == "RingHeld"
    held = one.do("order")
    assert held == list(range(len(held))) and 2 <= len(held) <= 4
    assert failed.value.facts["steps"] >= len(held)
    assert failed.value.facts["bytes"] >= region
    assert one.do("wrong()") == []
    # Only the strided views are kept now: they hold their steps alone.
    one.do("kept = {n: (view, None) for n, (view, _) in kept.items()}; step = None")
    with pytest.raises(RankFailed):
        one.do("reader.next(0.5)")
    assert one.do("wrong()") == []
    one.do("kept.clear()")
    for step in range(len(held), 52):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]


def test_should_collect_garbage_before_it_gives_up(stream, serve, rank, place):
    """Steps in reference cycles that nobody can reach do not stop the loop."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    one.attach(url, place)
    count = one.do(
        """
import gc
gc.disable()
count = 0
for step in reader:
    cycle = [step]
    cycle.append(cycle)
    count += 1
count
""",
        60,
    )
    assert count == STEPS


def test_should_keep_an_edit_in_its_rank_and_out_of_later_steps(stream, serve, rank, place):
    """Case U9: two ranks share each slice; one edits every step, the ring wraps many times."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    editor, sibling = rank(), rank()
    for index, each in enumerate((editor, sibling)):
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=2, rank={index}, dp=0, dp_size=1)\nreader.info['views']"
        )
    assert [editor.answer(), sibling.answer()] == ["view", "view"]
    edit = """
step = reader.next(); told = seen(step)
view = memoryview(step.tensors()["tokens"])
for at in (0, 1, 500, 999): view[at] = -100
assert view[0] == view[999] == -100
told
"""
    for step in range(STEPS):
        assert editor.do(edit) == [step, [[0, 0, 1000, 0]]], (
            "fresh, whatever was edited there before"
        )
        assert sibling.do(NEXT) == [step, [[0, 0, 1000, 0]]], "and nobody else sees it"
        assert editor.do("view[500]") == -100, "kept until it is released"


def test_should_keep_edges_of_neighbouring_steps_apart(stream, serve, rank, place):
    """Case U38: an edit of the last byte before and after the next step arrives beside it."""
    url = stream()
    serve(url, memory_bytes=4 * 8192, hold=2)
    one = rank()
    one.attach(url, place)
    edit = "view = memoryview(step.slices[0]); view[len(view) - 1] ^= 255; edited = view[len(view) - 1]"
    for step in range(0, STEPS, 2):
        assert one.do(NEXT)[0] == step
        one.do(f"first = step; {edit}")
        assert one.do(NEXT) == [step + 1, [[0, 0, 1000, 0]]]
        one.do("before = memoryview(first.slices[0])")
        assert one.do("before[len(before) - 1] == edited")
        one.do("before[len(before) - 1] ^= 255; del before, view, first")
        assert one.do("seen(step)") == [step + 1, [[0, 0, 1000, 0]]]


def test_should_keep_tensors_readable_when_the_reader_is_closed(stream, serve, rank, place):
    """Case U9: and the ring goes on for others once they are gone."""
    url = stream(dp=2)
    serve(url, memory_bytes=4 * 16384)
    closing, going = rank(), rank()
    for index, each in enumerate((closing, going)):
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=2, dp={index}, dp_size=2, deadline_s=1)\nreader.next_step"
        )
    assert [closing.answer(), going.answer()] == [0, 0]
    tell_all([closing, going], NEXT)
    closing.do("view = memoryview(step.tensors()['tokens']); del step; reader.close()")
    with pytest.raises(RankFailed):
        for _ in range(6):
            going.do(NEXT)
    assert closing.do("set(view.tolist()) == {0}")
    assert len(abi.readers(place)) == 2, "a held step keeps its rank's lock"
    closing.do("del view")
    until(lambda: len(abi.readers(place)) == 1, "the lock goes with the last view")
    assert going.do(NEXT)[1][0][3] == 0


def test_should_copy_when_told_and_hold_nothing(stream, serve, rank, place):
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    one.attach(url, place, views="copy")
    one.do(KEEP + "\nimport itertools\nfor step in reader: keep(step)\n", 60)
    assert one.do("order") == list(range(STEPS))
    assert one.do("wrong()") == []
    assert one.do("reader.info['held_steps']") == 0


def test_should_fall_back_to_copies_where_views_cannot_be_private(stream, serve, rank, place):
    """Locked memory has no copy-on-write views: one line says so, and everything works."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    future = 2  # MCL_FUTURE
    if one.do(f"import ctypes; ctypes.CDLL(None).mlockall({future})") != 0:
        pytest.skip("this user may not lock memory")
    one.attach(url, place)
    assert one.do("reader.info['views']") == "copy"
    one.do(KEEP + "\nfor step in reader: keep(step)\n", 60)
    assert one.do("[order == list(range(64)), wrong()]") == [True, []]
    until(lambda: any("views=copy" in line for line in one.errors), "one line says so")
    [line] = [line for line in one.errors if "views=copy" in line]
    assert "mlockall" in line


def test_should_not_release_a_view_that_it_cannot_clean(stream, serve, rank, place):
    """What was edited would show under a later step: so the step is kept, and said."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    one.attach(url, place)
    assert one.do(NEXT)[0] == 0
    one.do("""
[pagemap] = [int(fd) for fd in os.listdir("/proc/self/fd")
             if os.path.exists(f"/proc/self/fd/{fd}") and "pagemap" in os.readlink(f"/proc/self/fd/{fd}")]
os.close(pagemap)
memoryview(step.slices[0])[0] ^= 1
del step
""")
    for _ in range(2):
        with pytest.raises(RankFailed) as failed:
            one.do("reader.next()")
        assert (failed.value.kind, failed.value.facts["step"]) == ("ViewFailed", 0)
    [data] = abi.readers(place).values()
    assert set(abi.field(data, abi.READER, "ack")) == {0}
    one.do("os.dup2(os.open('/proc/self/pagemap', os.O_RDONLY), pagemap)")
    for step in range(1, STEPS):
        assert one.do(NEXT) == [step, [[0, 0, 1000, 0]]]


def test_should_refuse_a_step_that_the_ring_cannot_hold_thrice(stream, serve, rank, place):
    """Case U35, the refusal: the message has the bytes that are needed."""
    url = stream(lengths="30000")
    serve(url, memory_bytes=2 * 128 * 1024)
    one = rank()
    with pytest.raises(RankFailed) as failed:
        one.attach(url, place)
        one.do(NEXT)
    assert failed.value.kind in ("StepFailed", "Refused", "RingHeld")
    assert "memory" in failed.value.text


@pytest.mark.timeout(300)
def test_should_run_a_loop_in_the_smallest_ring(stream, serve, rank, place):
    """Case U35: a ring of exactly three of the largest steps, 10,000 steps of mixed sizes."""
    steps = 10_000
    url = stream(steps=steps, lengths=MIXED)
    page = os.sysconf("SC_PAGESIZE")
    largest = -(-(30000 * 4 + 11 + 512 + 128) // page) * page
    serve(url, memory_bytes=3 * largest)
    one = rank()
    one.attach(url, place)
    told = one.do(
        """
bad, count = 0, 0
for step in reader:
    number, parts = seen(step)
    bad += number != count or parts[0][3]
    count += 1
[bad, count]
""",
        200,
    )
    assert told == [0, steps]


def test_should_be_inert_in_a_forked_child(stream, serve, rank, place):
    """Cases U32, U37: the child neither reads on, nor releases, nor keeps the lock."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    one.attach(url, place)
    assert one.do(NEXT)[0] == 0
    report = place.parent / "report"
    one.do(f"""
import time
view = memoryview(step.slices[0])
child = os.fork()
if child == 0:
    told = []
    try:
        reader.next(1)
    except batchweave.Refused as refusal:
        told.append(refusal.code)
    try:
        step.tensors()
    except batchweave.Refused:
        told.append("inert")
    view = step = None
    reader.close()
    with open({str(report)!r} + ".new", "w") as file:
        file.write(" ".join(told))
    os.rename({str(report)!r} + ".new", {str(report)!r})
    time.sleep(60)
    os._exit(0)
""")
    until(report.exists, "the child has reported")
    assert report.read_text() == "FORKED inert"
    [name] = abi.readers(place)
    data = abi.readers(place)[name]
    assert set(abi.field(data, abi.READER, "ack")) == {0}, "the child acked nothing"
    assert one.do("bytes(view[:8]) == bytes(memoryview(step.slices[0])[:8])")
    child = one.do("child")
    try:
        with open(place / name, "rb") as file:
            assert file and locked(place / name)
            one.kill()
            os.kill(child, 0)
            until(
                lambda: not (place / name).exists() or not locked(place / name),
                "the lock went with the parent, though its child lives",
            )
    finally:
        os.kill(child, signal.SIGKILL)


def test_should_crash_rather_than_show_a_later_step_to_a_forked_child(stream, serve, rank, place):
    """Case U37: a view touched in the child has no memory behind it."""
    url = stream()
    serve(url, memory_bytes=4 * 8192)
    one = rank()
    one.attach(url, place)
    assert one.do(NEXT)[0] == 0
    one.do("""
import ctypes
view = memoryview(step.slices[0])
address = ctypes.addressof(ctypes.c_char.from_buffer(view))
go, went = os.pipe()
child = os.fork()
if child == 0:
    os.read(go, 1)
    ctypes.string_at(address, 1)
    os._exit(0)
del view, step
""")
    for step in range(1, 10):
        assert one.do(NEXT)[0] == step
    ended = one.do("os.write(went, b'x'); os.waitpid(child, 0)[1]")
    assert os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGSEGV


def test_should_end_quietly_with_everything_still_held(stream, serve, rank, place):
    url = stream(dp=2)
    serve(url)
    going, staying = rank(), rank()
    for index, each in enumerate((going, staying)):
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=2, dp={index}, dp_size=2)\nreader.next_step"
        )
    assert [going.answer(), staying.answer()] == [0, 0]
    going.do(KEEP + "\nsys.kept = kept\nfor _ in range(2): keep(reader.next())")
    going.send("raise SystemExit(0)")
    assert going.end() == 0
    assert going.errors == []
    for step in range(STEPS):
        assert staying.do(NEXT) == [step, [[1, 0, 1000, 0]]]


def test_should_attach_from_a_thread_while_another_runs(stream, serve, rank, place):
    """Waiting releases the GIL: two readers of one process, each on its own thread."""
    url = stream()
    serve(url, rings=2)
    one = rank()
    told = one.do(
        f"""
import threading
told = {{}}
def read(session):
    with batchweave.attach({url!r}, directory={str(place)!r}, group=session, session=session) as reader:
        told[session] = [seen(step) for step in reader]
threads = [threading.Thread(target=read, args=(name,)) for name in ("a", "b")]
for thread in threads: thread.start()
for thread in threads: thread.join(60)
[[len(told.get(name, [])) for name in ("a", "b")], told.get("a") == told.get("b")]
""",
        90,
    )
    assert told == [[STEPS, STEPS], True]
