"""Real processes for the system tests: streams, daemons, ranks. Nothing here waits for ever."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Optional

import java_tools

WAIT_S = 30.0
STEPS = 64
SMALL = "1000"
RING = 4 * 8192  # of such steps
_F_OFD_GETLK = 36
_RANK = pathlib.Path(__file__).with_name("rank_process.py")


def until(condition: Callable[[], Any], what: str, seconds: float = WAIT_S) -> Any:
    """Polls until the condition holds and returns what it gave; fails after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.005)


def write_stream(
    url: str, *, dp: int, cp: int, first: int, steps: int, lengths: str, seal: bool
) -> None:
    """Steps as tests/java/WriteStream.java describes them, from a Java producer."""
    arguments: list = [url, dp, cp, first, steps, lengths]
    java_tools.run("WriteStream", *arguments, *(["seal"] if seal else []))


def locked(path: pathlib.Path) -> bool:
    """Whether somebody holds the lock of a file."""
    with open(path, "rb") as file:
        probe = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = fcntl.fcntl(file, _F_OFD_GETLK, probe)
    return struct.unpack("hhqqi4x", answer)[0] != fcntl.F_UNLCK


class Process:
    """A child whose output is read all the time, so that it never blocks on it."""

    def __init__(self, command: list, environment: Optional[dict] = None) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.lines: queue.Queue = queue.Queue()
        self.errors: list = []
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.lines.put)),
            threading.Thread(target=self._read, args=(self.process.stderr, self.errors.append)),
        ]
        for reader in self._readers:
            reader.daemon = True
            reader.start()

    def _read(self, pipe: Any, give: Callable[[str], object]) -> None:
        for line in pipe:
            give(line.rstrip("\n"))

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self, seconds: float = WAIT_S) -> str:
        """The next line it prints; fails with what it said on stderr."""
        end = time.monotonic() + seconds
        while True:
            try:
                return self.lines.get(timeout=0.05)
            except queue.Empty:
                alive = self.process.poll() is None
                if alive and time.monotonic() < end:
                    continue
                said = "\n".join(self.errors)
                state = "silent" if alive else f"ended with {self.process.returncode}"
                raise AssertionError(f"{state}: {said}") from None

    def end(self, seconds: float = WAIT_S) -> int:
        """Waits for its end and returns the exit code; the whole of stderr is there then."""
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(seconds)
        return code

    def kill(self) -> None:
        """SIGKILL, and waits until it is gone; a child of it may live on."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(WAIT_S)


class Daemon(Process):
    """A node daemon of its own on a directory."""

    def __init__(
        self,
        directory: pathlib.Path,
        *urls: str,
        memory_bytes: int = 4 << 20,
        rings: int = 1,
        hold: int = 1,
        local_ranks_timeout_s: float = 20,
    ) -> None:
        millis = int(local_ranks_timeout_s * 1000)
        super().__init__(
            java_tools.command("Serve", directory, memory_bytes, rings, hold, millis, *urls)
        )
        self.directory = directory
        self.said: list = []
        while not self.said or not self.said[-1].startswith("serving:"):
            self.said.append(self.line())


class RankFailed(Exception):
    """What a rank raised: the name of its class is in ``kind``, its attributes in ``facts``."""

    def __init__(self, kind: str, text: str, facts: dict) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
        self.facts = facts


class Rank(Process):
    """A Python process that runs what it is told; ``batchweave`` and ``os`` are there as names."""

    def __init__(self, **environment: str) -> None:
        env = {
            k: v for k, v in os.environ.items() if not k.startswith(("BATCHWEAVE_", "TORCHELASTIC"))
        }
        super().__init__([sys.executable, "-u", str(_RANK)], {**env, **environment})

    def send(self, code: str) -> None:
        """Tells it to run ``code``, without waiting."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()

    def answer(self, seconds: float = WAIT_S) -> Any:
        """What the last expression of the code sent before gave."""
        told = json.loads(self.line(seconds))
        if "error" in told:
            raise RankFailed(told["error"], told["text"], told["facts"])
        return told["value"]

    def do(self, code: str, seconds: float = WAIT_S) -> Any:
        """Runs ``code`` there and returns the value of its last expression."""
        self.send(code)
        return self.answer(seconds)

    def attach(self, stream: str, directory: pathlib.Path, **options: Any) -> int:
        """Makes ``reader`` there and returns the step it will serve."""
        options = {"session": "s-1", "deadline_s": 20, **options}
        told = (
            f"reader = batchweave.attach({stream!r}, directory={str(directory)!r}, **{options!r})"
        )
        return int(self.do(f"{told}\nreader.next_step"))

    def loop(self, stream: str, directory: pathlib.Path, **options: Any) -> int:
        """Makes ``loader`` there, a StepLoader, and returns the step it will serve."""
        options = {"session": "s-1", "deadline_s": 20, **options}
        told = f"from batchweave.torch import StepLoader; import torch\nloader = StepLoader({stream!r}, "
        told += f"directory={str(directory)!r}, **{options!r})"
        return int(self.do(f"{told}\nloader.reader.next_step", 60))
