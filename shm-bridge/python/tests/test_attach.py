"""Attaching under fire: many ranks at once, in C and Python. Case U12, part of U4."""

from __future__ import annotations

import pathlib
import subprocess
import time

import pytest
from conftest import HEADERS, STRICT, compiler
from system import RING

PROMISE_S = 3
SLACK = 5
EACH = 32


@pytest.fixture(scope="module")
def attacher(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A C rank that attaches once and takes a step."""
    target = tmp_path_factory.mktemp("native") / "attach_rounds"
    source = HEADERS / "test/attach_rounds.c"
    done = subprocess.run(
        [*compiler(), *STRICT, "-O2", str(source), "-o", str(target)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return target


def test_should_attach_sixty_four_ranks_at_once(stream, serve, rank, place, attacher):
    """Half of them in C, half in Python, all of one session: nobody starts before all are there."""
    url = stream()
    serve(url, memory_bytes=RING, local_ranks_timeout_s=60)
    one = rank()
    one.do(f"""
import time
go, start = os.pipe()
reports, report = os.pipe()
def child(index):
    os.close(start)
    os.read(go, 1)
    began = time.monotonic()
    try:
        reader = batchweave.attach({url!r}, directory={str(place)!r}, group="train", session="many",
                                   local_readers={2 * EACH}, rank=index, deadline_s=60)
        step = reader.next().step
    except batchweave.BatchWeaveError as error:
        step = str(error)
    os.write(report, (repr([step, time.monotonic() - began]) + "\\n").encode())
children = []
for index in range({EACH}):
    pid = os.fork()
    if pid == 0:
        try:
            child(index)
        finally:
            os._exit(0)
    children.append(pid)
""")
    command = [str(attacher), str(place), url, "many", "1", str(2 * EACH)]
    one.send("os.close(start)\nfor pid in children: os.waitpid(pid, 0)\nos.read(reports, 1 << 16).decode()")
    began = time.monotonic()
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(EACH)
    ]
    try:
        said = [process.communicate(timeout=90)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * EACH, said
    told = [eval(line) for line in one.answer(90).splitlines()]
    assert [step for step, _ in told] == [0] * EACH
    assert time.monotonic() - began < PROMISE_S * SLACK
