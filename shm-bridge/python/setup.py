"""Builds batchweave._native, one stable-ABI extension, on the headers of native-include.

In the repository the headers are two floors up; a source distribution carries its own copy.
"""

import os
import shutil
import sysconfig

from setuptools import Extension, setup
from setuptools.command.sdist import sdist

SOURCES = ("module", "client", "holds", "lease", "pin", "slices")
HERE = os.path.dirname(os.path.abspath(__file__))
CARRIED = os.path.join(HERE, "native-include")
REPOSITORY = os.path.normpath(os.path.join(HERE, "..", "..", "native-include"))
HEADERS = CARRIED if os.path.isdir(CARRIED) else REPOSITORY

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit("batchweave does not support free-threaded builds of Python: use a GIL build")
if not os.path.isfile(os.path.join(HEADERS, "batchweave_abi.h")):
    raise SystemExit(
        f"batchweave: no headers at {HEADERS}: build in the repository or from the sdist"
    )


def headers() -> list:
    """Every C header below native-include, relative to it."""
    found = []
    for folder, folders, names in os.walk(HEADERS):
        folders[:] = [name for name in folders if name != "test"]
        found += [
            os.path.relpath(os.path.join(folder, name), HEADERS)
            for name in names
            if name.endswith(".h")
        ]
    return sorted(found)


class SdistWithHeaders(sdist):
    """A source distribution that builds without the repository."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for header in headers():
            target = os.path.join(base_dir, "native-include", header)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(os.path.join(HEADERS, header), target)


setup(
    cmdclass={"sdist": SdistWithHeaders},
    ext_modules=[
        Extension(
            "batchweave._native",
            sources=[f"native/{name}.c" for name in SOURCES],
            depends=[f"native/{name}.h" for name in ("dlpack", *SOURCES[1:])]
            + [os.path.relpath(os.path.join(HEADERS, header), HERE) for header in headers()],
            include_dirs=["native", os.path.relpath(HEADERS, HERE)],
            define_macros=[("Py_LIMITED_API", "0x030B0000"), ("_GNU_SOURCE", "1")],
            extra_compile_args=["-std=c11", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra"],
            py_limited_api=True,
        )
    ],
)
