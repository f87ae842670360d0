"""Runs Java of this repository from the tests: the build in ``target`` and small programs here."""

from __future__ import annotations

import atexit
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from conftest import PACKAGE, REPOSITORY

TOOLS = PACKAGE / "tests/java"
_BRIDGE = REPOSITORY / "shm-bridge"


def _release(home: pathlib.Path) -> int:
    """The feature release of the JDK at ``home``; 0 where there is none."""
    try:
        text = (home / "release").read_text()
    except OSError:
        return 0
    found = re.search(r'^JAVA_VERSION="(\d+)', text, re.M)
    return int(found.group(1)) if found and (home / "bin/javac").exists() else 0


def _home() -> pathlib.Path | None:
    for name in ("BATCHWEAVE_JAVA_HOME", "JAVA_HOME"):
        if os.environ.get(name):
            return pathlib.Path(os.environ[name])
    javac = shutil.which("javac")
    homes = [pathlib.Path(javac).resolve().parent.parent] if javac else []
    homes += pathlib.Path("/usr/lib/jvm").glob("*")
    usable = [home for home in homes if _release(home) >= 22]
    return max(usable, key=_release, default=None)


@functools.cache
def _java() -> tuple[str, list]:
    """The java program and its flags, with the build and the compiled tools on the class path."""
    home = _home()
    if home is None:
        pytest.skip("no JDK >= 22 here: set JAVA_HOME")
    classes = _BRIDGE / "target/classes"
    if not classes.is_dir():
        pytest.skip("the Java part is not built: run ./batchweave build")
    tools = tempfile.mkdtemp(prefix="batchweave-tools-")
    atexit.register(shutil.rmtree, tools, ignore_errors=True)
    built = [classes, REPOSITORY / "core/target/classes", f"{_BRIDGE / 'target/lib'}/*"]
    path = ":".join(map(str, built))
    sources = map(str, TOOLS.glob("*.java"))
    done = subprocess.run(
        [str(home / "bin/javac"), "-d", tools, "-cp", path, *sources],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    flags = [
        f"@{_BRIDGE / 'jvm.flags'}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xmx256m",
        "-cp",
        f"{tools}:{path}",
    ]
    return str(home / "bin/java"), flags


def command(program: str, *arguments: object) -> list:
    """A command line that runs a class of the build or of ``tests/java``.

    Skips the test where there is no JDK >= 22 or nothing is built.
    """
    java, flags = _java()
    return [java, *flags, program, *map(str, arguments)]


def run(program: str, *arguments: object, timeout_s: float = 100) -> str:
    """Runs it to its end and returns what it printed; a failure shows what it said."""
    done = subprocess.run(
        command(program, *arguments), capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
    return done.stdout
