"""What is shipped: README, types, the stable ABI, warnings, and where it refuses to run."""

from __future__ import annotations

import ast
import doctest
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import types
import zipfile
from typing import Callable

import pytest
from conftest import HEADERS, PACKAGE, STRICT, compiler

import batchweave

NATIVE = sorted((PACKAGE / "native").glob("*.c"))


def test_should_run_what_the_readme_shows():
    failed, attempted = doctest.testfile(str(PACKAGE / "README.md"), module_relative=False)
    assert attempted > 0 and failed == 0


def test_should_be_a_stable_abi_extension():
    from batchweave import _native

    assert _native.__file__.endswith(".abi3.so")


@pytest.mark.parametrize("source", NATIVE, ids=lambda path: path.name)
def test_should_compile_without_warnings(source: pathlib.Path):
    command = [
        *compiler(),
        *STRICT,
        "-O2",
        "-Wconversion",
        "-Wno-sign-conversion",
        "-c",
        "-o",
        os.devnull,
        "-DPy_LIMITED_API=0x030B0000",
        f"-isystem{sysconfig.get_paths()['include']}",
        f"-isystem{HEADERS}",
        f"-I{PACKAGE / 'native'}",
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("language", ["-std=c11", "-std=c++17"])
def test_should_offer_the_parser_as_a_clean_header(language: str, tmp_path: pathlib.Path):
    source = tmp_path / ("t.cc" if "++" in language else "t.c")
    source.write_text('#include "batchweave_safetensors.h"\n')
    command = [
        *compiler(),
        language,
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wconversion",
        "-Werror",
        "-fsyntax-only",
        f"-I{HEADERS}",
        str(source),
    ]
    if "++" in language and shutil.which("c++") is None:
        pytest.skip("no C++ compiler here")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_should_import_without_torch_and_numpy():
    script = (
        "import sys; sys.modules['torch'] = sys.modules['numpy'] = None; import batchweave; "
        "print(batchweave.attach.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "attach\n", "")


def test_should_refuse_a_free_threaded_python_by_name():
    script = (
        "import sysconfig; real = sysconfig.get_config_var\n"
        "sysconfig.get_config_var = lambda n: 1 if n == 'Py_GIL_DISABLED' else real(n)\n"
        "import batchweave"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "free-threaded" in done.stderr


def test_should_refuse_a_subinterpreter_by_name():
    if sys.version_info >= (3, 13):
        module = "_interpreters"
    else:
        module = "_xxsubinterpreters"
    script = f"""
import {module} as interpreters
one = interpreters.create()
try:
    failed = interpreters.run_string(one, "import batchweave")
except interpreters.RunFailedError as error:
    failed = error
print(failed)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert "subinterpreters" in done.stdout, done.stderr


def stub_signature(function: ast.FunctionDef) -> list:
    """Name, kind and whether there is a default, for each parameter but ``self``."""
    arguments = function.args
    kinds = inspect.Parameter
    named = [(a.arg, kinds.POSITIONAL_ONLY) for a in arguments.posonlyargs]
    named += [(a.arg, kinds.POSITIONAL_OR_KEYWORD) for a in arguments.args]
    given = [i >= len(named) - len(arguments.defaults) for i in range(len(named))]
    told = [(name, kind, default) for (name, kind), default in zip(named, given)]
    told += [
        (a.arg, kinds.KEYWORD_ONLY, default is not None)
        for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults)
    ]
    return [each for each in told if each[0] != "self"]


def real_signature(function: Callable) -> list:
    parameters = inspect.signature(function).parameters.values()
    told = [(p.name, p.kind, p.default is not inspect.Parameter.empty) for p in parameters]
    return [each for each in told if each[0] not in ("self", "$self")]


def test_should_describe_the_extension_in_its_stub():
    """Every public name of the extension is in the stub and the other way round, call by call."""
    from batchweave import _native

    tree = ast.parse((PACKAGE / "src/batchweave/_native.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(_native) if name[0] != "_"}
    assert public == classes.keys() | functions.keys()
    for name, node in functions.items():
        assert real_signature(getattr(_native, name)) == stub_signature(node), name
    for kind, body in classes.items():
        members = {node.name: node for node in body.body if isinstance(node, ast.FunctionDef)}
        real = vars(getattr(_native, kind))
        shown = {name for name in real if name[0] != "_" or name.startswith("__dlpack")}
        assert shown == {n for n in members if n[0] != "_" or n.startswith("__dlpack")}, kind
        for name in members:
            attribute = getattr(getattr(_native, kind), name)
            decorated = [d.id for d in members[name].decorator_list if isinstance(d, ast.Name)]
            assert ("property" in decorated) == isinstance(attribute, types.GetSetDescriptorType)
            if name in shown and "property" not in decorated:
                assert real_signature(attribute) == stub_signature(members[name]), f"{kind}.{name}"


def test_should_document_everything_public():
    for name in batchweave.__all__:
        assert getattr(batchweave, name).__doc__, name
    for kind in (batchweave.Reader, batchweave.Step, batchweave.Slice, batchweave.Tensor):
        for name, member in vars(kind).items():
            if name[0] != "_" and name not in ("step", "next_step", "slices"):
                assert member.__doc__, f"{kind.__name__}.{name}"


@pytest.mark.timeout(300)
def test_should_build_a_wheel_from_its_own_source_distribution(tmp_path: pathlib.Path):
    """The sdist carries the headers: it builds outside of the repository."""
    tree = tmp_path / "tree"
    shutil.copytree(
        PACKAGE,
        tree / "shm-bridge/python",
        ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "*.so", "__pycache__"),
    )
    shutil.copytree(HEADERS, tree / "native-include", ignore=shutil.ignore_patterns("test"))

    def build(kind: str, folder: pathlib.Path) -> pathlib.Path:
        call = "import sys; from setuptools import build_meta as b; "
        call += f"print('made', getattr(b, 'build_{kind}')({str(tmp_path)!r}))"
        done = subprocess.run(
            [sys.executable, "-c", call], cwd=folder, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return tmp_path / done.stdout.rsplit("made ", 1)[1].strip()

    sdist = build("sdist", tree / "shm-bridge/python")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [source] = (tmp_path / "unpacked").iterdir()
    assert (source / "native-include/batchweave_abi.h").is_file()
    wheel = build("wheel", source)
    assert "-cp311-abi3-linux_" in wheel.name
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"batchweave/_native.abi3.so", "batchweave/py.typed", "batchweave/_native.pyi"} <= names
    run_in_an_environment_of_its_own(wheel, tmp_path / "environment")


def run_in_an_environment_of_its_own(wheel: pathlib.Path, folder: pathlib.Path) -> None:
    """What is installed from the wheel alone imports, is typed, and reaches the C client."""
    python = folder / "bin/python"
    smoke = """
import importlib.resources, batchweave
from batchweave import _native
assert _native.__file__.startswith(__import__("sys").prefix), _native.__file__
assert (importlib.resources.files("batchweave") / "py.typed").is_file()
try:
    batchweave.attach("corpus", directory="/nonexistent", session="s", deadline_s=0.1)
except batchweave.DaemonLost as error:
    print(error.stream)
"""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(folder)],
        [*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [str(python), "-I", "-c", smoke], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "corpus\n", "")
