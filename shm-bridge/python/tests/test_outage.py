"""A store that goes away under a daemon: a real S3 server, killed and started again."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import time
from typing import Any, Callable, Iterator, Optional

import pytest

import batchweave
from batchweave import DeadlineExceeded
from system import WAIT_S, until, write_stream

STEPS = 24
LENGTH = 100_000  # values of four bytes in each
RING = 8 * 409_600  # seven of such steps
WAIT_LONG_S = 60.0  # for a store that the daemon asks again after a pause
pytestmark = pytest.mark.timeout(400)


class Server:
    """versitygw over a directory; listens when this was made."""

    def __init__(self, directory: pathlib.Path) -> None:
        cache = pathlib.Path.home() / ".cache/batchweave/versitygw-1.8.0/versitygw"
        self.binary = pathlib.Path(os.environ.get("BATCHWEAVE_VERSITYGW", cache))
        if not os.access(self.binary, os.X_OK):
            pytest.skip(f"no versitygw: {self.binary}")
        self.directory = directory
        (directory / "s3/bucket").mkdir(parents=True)
        (directory / "sidecar").mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: Optional[subprocess.Popen] = None
        self.start()

    @property
    def url(self) -> str:
        return f"s3://bucket/run?endpoint=http://127.0.0.1:{self.port}&region=us-east-1"

    def start(self) -> None:
        access = [self.binary, "--access", "AK", "--secret", "SK"]
        backend = ["posix", "--sidecar", self.directory / "sidecar", self.directory / "s3"]
        self.process = subprocess.Popen(
            [*access, "--port", f"127.0.0.1:{self.port}", *backend],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._listens, "the S3 server listens")

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(WAIT_S)


@pytest.fixture
def server(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AK")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SK")
    started = Server(tmp_path)
    yield started
    started.kill()


def _number(step: Any) -> int:
    """The step's number, of which all its values tell."""
    tokens = step.slices[0].tensors()["tokens"]
    values = memoryview(tokens).cast("B").cast("i")
    assert values[0] == values[-1] == step.step * 10_000
    return int(step.step)


def _away(serve: Callable[..., Any], place: pathlib.Path, server: Server, seconds: float) -> None:
    write_stream(server.url, dp=1, cp=1, first=0, steps=STEPS, lengths=str(LENGTH), seal=True)
    serve(server.url, memory_bytes=RING)
    with batchweave.attach(
        server.url, directory=place, group="u43", session="s", rank=0, deadline_s=WAIT_S
    ) as reader:
        for number in range(4):
            with reader.next() as step:
                assert _number(step) == number
        server.kill()
        back = time.monotonic() + seconds
        number = 4
        told: Optional[DeadlineExceeded] = None
        while told is None or time.monotonic() < back:
            began = time.monotonic()
            try:
                with reader.next(deadline_s=2) as step:  # what was there before
                    assert told is None and _number(step) == number
                    number += 1
            except DeadlineExceeded as late:
                assert 2 <= time.monotonic() - began <= 2 + 1 + 10
                told = late
        assert (told.stream, told.step, told.rank) == (server.url, number, 0)
        assert told.object is not None and told.object.startswith("data/"), told
        assert told.attempts is not None and told.attempts >= 1, told
        assert "refused" in str(told), told
        server.start()
        for later in range(number, STEPS):
            with reader.next(deadline_s=WAIT_LONG_S) as step:
                assert _number(step) == later
        assert reader.next() is None


def test_should_serve_the_same_step_when_the_store_is_back(serve, place, server):
    """Case U43, in short."""
    _away(serve, place, server, 8)


@pytest.mark.full
def test_should_serve_the_same_step_after_two_minutes_without_the_store(serve, place, server):
    """Case U43: two minutes."""
    _away(serve, place, server, 120)
