"""Runs Java of this repository from the tests: the build in ``target`` and small programs here."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

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


def command(program: str, *arguments: object) -> list:
    """A command line: a class of the build, or a source file of ``tests/java``.

    Skips the test where there is no JDK >= 22 or nothing is built.
    """
    home = _home()
    if home is None:
        pytest.skip("no JDK >= 22 here: set JAVA_HOME")
    classes = _BRIDGE / "target/classes"
    if not classes.is_dir():
        pytest.skip("the Java part is not built: run ./batchweave build")
    path = [classes, REPOSITORY / "core/target/classes", f"{_BRIDGE / 'target/lib'}/*"]
    flags = [
        f"@{_BRIDGE / 'jvm.flags'}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xmx256m",
        "-cp",
        ":".join(map(str, path)),
    ]
    main = str(TOOLS / program) if program.endswith(".java") else program
    return [str(home / "bin/java"), *flags, main, *map(str, arguments)]


def run(program: str, *arguments: object, timeout_s: float = 100) -> str:
    """Runs it to its end and returns what it printed; a failure shows what it said."""
    done = subprocess.run(
        command(program, *arguments), capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
    return done.stdout
