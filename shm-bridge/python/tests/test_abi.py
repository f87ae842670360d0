"""Python's literals of the shared-memory layout against the C header."""

from __future__ import annotations

import pathlib
import re
import struct
import subprocess

from abi import STRUCTURES
from conftest import HEADERS, compiler


def test_should_agree_with_the_header_on_every_offset(tmp_path: pathlib.Path):
    lines = []
    for name, (_, fields) in STRUCTURES.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field in fields:
            where = f"offsetof({name}, {field}), sizeof((({name}*)0)->{field})"
            lines.append(f'printf("{name}.{field} %zu %zu\\n", {where});')
    source = tmp_path / "offsets.c"
    source.write_text(
        '#include "batchweave_abi.h"\n#include <stdio.h>\nint main(void) {\n'
        + "\n".join(lines)
        + "\nreturn 0;\n}\n"
    )
    program = tmp_path / "offsets"
    subprocess.run(
        [*compiler(), "-std=c11", f"-I{HEADERS}", str(source), "-o", str(program)], check=True
    )
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    expected = []
    for name, (length, fields) in STRUCTURES.items():
        expected.append(f"{name} {length}")
        expected += [
            f"{name}.{field} {offset} {struct.calcsize('<' + form)}"
            for field, (offset, form) in fields.items()
        ]
    assert printed.splitlines() == expected


def test_should_name_every_field_of_the_header():
    header = (HEADERS / "batchweave_abi.h").read_text()
    found = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", header, re.S):
        fields = re.findall(r"^\s+uint\d+_t\s+(\w+)(?:\[\d+\])?;", body, re.M)
        found[name] = {field for field in fields if not field.startswith("reserved")}
    assert found == {name: set(fields) for name, (_, fields) in STRUCTURES.items()}
