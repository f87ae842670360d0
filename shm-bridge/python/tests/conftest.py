"""What the tests share: the probe extension, streams, daemons and ranks."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Iterator

import pytest

if TYPE_CHECKING:
    from system import Daemon, Rank

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
REPOSITORY = PACKAGE.parent.parent
HEADERS = REPOSITORY / "native-include"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-D_GNU_SOURCE"]


def compiler() -> list:
    """The C compiler of this environment, as the head of a command."""
    return os.environ.get("CC", "cc").split()


def compile_extension(target: pathlib.Path, *sources: pathlib.Path) -> None:
    """Compiles a stable-ABI extension from our sources, warnings refused."""
    command = [
        *compiler(),
        *STRICT,
        "-g",
        "-O1",
        "-fPIC",
        "-shared",
        "-DPy_LIMITED_API=0x030B0000",
        f"-I{sysconfig.get_paths()['include']}",
        f"-I{HEADERS}",
        f"-I{PACKAGE / 'native'}",
        *map(str, sources),
        "-o",
        str(target),
        "-lpthread",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def probe_file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The probe extension, compiled: slices of our own instead of a ring's."""
    target = tmp_path_factory.mktemp("probe") / "batchweave_probe.abi3.so"
    native = PACKAGE / "native"
    compile_extension(
        target, PACKAGE / "tests/native/probe.c", native / "slices.c", native / "lease.c"
    )
    return target


@pytest.fixture(scope="session")
def probe(probe_file: pathlib.Path) -> ModuleType:
    """The probe extension, imported."""
    spec = importlib.util.spec_from_file_location("batchweave_probe", probe_file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["batchweave_probe"] = module
    spec.loader.exec_module(module)
    return module


class Held:
    """How many leases the probe has given since the test began, and how many ended."""

    def __init__(self, probe: ModuleType) -> None:
        self._probe = probe
        self._taken, self._released, self._inert = probe.counts()

    @property
    def taken(self) -> int:
        return self._probe.counts()[0] - self._taken

    @property
    def released(self) -> int:
        return self._probe.counts()[1] - self._released

    @property
    def inert(self) -> int:
        return self._probe.counts()[2] - self._inert


@pytest.fixture
def held(probe: ModuleType) -> Held:
    """Counts of this test's leases."""
    return Held(probe)


@pytest.fixture(scope="session")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Streams by shape, each written once: sealed unless asked otherwise."""
    from system import SMALL, STEPS, write_stream

    root = tmp_path_factory.mktemp("streams")
    made: dict = {}

    def make(
        dp: int = 1, cp: int = 1, steps: int = STEPS, lengths: str = SMALL, seal: bool = True
    ) -> str:
        key = (dp, cp, steps, lengths, seal)
        if key not in made:
            made[key] = str(root / f"stream{len(made)}")
            write_stream(made[key], dp=dp, cp=cp, first=0, steps=steps, lengths=lengths, seal=seal)
        return made[key]

    return make


@pytest.fixture(scope="module")
def node(stream: Callable[..., str]) -> Iterator[tuple[str, pathlib.Path]]:
    """A stream and the directory of one daemon that serves all tests of a module."""
    from system import RING, Daemon

    root = pathlib.Path(tempfile.mkdtemp(prefix="batchweave-test-", dir="/dev/shm"))
    url = stream()
    daemon = Daemon(root / "d", url, memory_bytes=RING, rings=2)
    yield url, root / "d"
    daemon.kill()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def launch(request: pytest.FixtureRequest) -> str:
    """A session of this test's own, which supersedes that of the test before."""
    return re.sub("[^a-z0-9]+", "-", request.node.name)[-40:].strip("-")


@pytest.fixture
def place() -> Iterator[pathlib.Path]:
    """A daemon directory in shared memory."""
    root = tempfile.mkdtemp(prefix="batchweave-test-", dir="/dev/shm")
    yield pathlib.Path(root) / "d"
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def small(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A tmpfs of 32 MiB, to be filled to the last page; needs root."""
    root = tmp_path / "small"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "none", str(root)]
    if subprocess.run(mount, capture_output=True, timeout=30).returncode != 0:
        pytest.skip("mounting a tmpfs needs root")
    yield root
    subprocess.run(["umount", "--lazy", str(root)], check=True, timeout=30)


@pytest.fixture
def processes() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(processes: contextlib.ExitStack, place: pathlib.Path) -> Callable[..., Daemon]:
    """Starts a daemon on this test's directory; killed at the end."""

    def start(*urls: str, **options: Any) -> Daemon:
        from system import Daemon

        daemon = Daemon(place, *urls, **options)
        processes.callback(daemon.kill)
        return daemon

    return start


@pytest.fixture
def rank(processes: contextlib.ExitStack) -> Callable[..., Rank]:
    """Starts a rank process; killed at the end."""

    def start(**environment: str) -> Rank:
        from system import Rank

        started = Rank(**environment)
        processes.callback(started.kill)
        return started

    return start
