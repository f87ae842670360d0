"""The shared-memory layout as literals, for tests that look at what daemon and ranks wrote.

Compared with ``native-include/batchweave_abi.h`` by ``test_abi.py``.
"""

from __future__ import annotations

import mmap
import pathlib
import struct

# name: (length, {field: (offset, struct format)})
CONTROL = (
    4096,
    {
        "magic": (0, "Q"),
        "abi_version": (8, "I"),
        "page_size": (12, "I"),
        "file_length": (16, "Q"),
        "ring_length": (24, "Q"),
        "ring_inode": (32, "Q"),
        "generation": (40, "Q"),
        "generation_id": (48, "2Q"),
        "first_step": (64, "Q"),
        "ring_number": (72, "I"),
        "descriptor_count": (76, "I"),
        "hold": (80, "I"),
        "local_readers": (84, "I"),
        "stream_id": (88, "2Q"),
        "session_version": (104, "Q"),
        "dp_size": (112, "I"),
        "cp_size": (116, "I"),
        "coordinate_count": (120, "I"),
        "group": (128, "64s"),
        "session": (192, "64s"),
        "state": (256, "I"),
        "wake": (384, "I"),
        "status_seq": (512, "I"),
        "trouble_length": (516, "I"),
        "blocked_bytes": (520, "Q"),
        "blocked_step": (528, "Q"),
        "blocked_reader": (536, "2Q"),
        "blocked_reader_steps": (552, "Q"),
        "published_count": (560, "Q"),
        "allocated_count": (568, "Q"),
        "used_bytes": (576, "Q"),
        "unfinished_fetches": (584, "I"),
        "failure_length": (588, "I"),
        "trouble_text": (640, "1024s"),
        "failure_text": (1664, "1024s"),
    },
)
DESCRIPTOR = (
    128,
    {
        "seq": (0, "Q"),
        "step": (8, "Q"),
        "next_step": (16, "Q"),
        "offset": (24, "Q"),
        "length": (32, "Q"),
        "kind": (40, "I"),
        "reason": (44, "I"),
    },
)
COORDINATE = (8, {"dp": (0, "I"), "cp": (4, "I")})
READER = (
    8704,
    {
        "magic": (0, "Q"),
        "abi_version": (8, "I"),
        "pid": (12, "I"),
        "file_length": (16, "Q"),
        "reader_id": (24, "2Q"),
        "previous_id": (40, "2Q"),
        "dp": (56, "I"),
        "cp": (60, "I"),
        "dp_size": (64, "I"),
        "cp_size": (68, "I"),
        "local_readers": (72, "I"),
        "ack_capacity": (76, "I"),
        "rank": (80, "I"),
        "attached": (128, "I"),
        "ring_number": (132, "I"),
        "generation": (136, "Q"),
        "generation_id": (144, "2Q"),
        "first_n": (160, "Q"),
        "taken": (256, "Q"),
        "waiting": (384, "Q"),
        "pulse": (392, "Q"),
        "ack": (512, "1024Q"),
    },
)
DOORBELL = (256, {"magic": (0, "Q"), "abi_version": (8, "I"), "word": (128, "I")})
TABLE = (
    64,
    {
        "magic": (0, "Q"),
        "step": (8, "Q"),
        "entry_count": (16, "I"),
        "table_length": (20, "I"),
        "region_length": (24, "Q"),
    },
)
TABLE_ENTRY = (
    64,
    {
        "dp": (0, "I"),
        "cp": (4, "I"),
        "offset": (8, "Q"),
        "length": (16, "Q"),
        "crc32c": (24, "I"),
        "micro_batches": (28, "I"),
        "samples": (32, "Q"),
        "tokens": (40, "Q"),
    },
)
STRUCTURES = {
    "bw_control": CONTROL,
    "bw_descriptor": DESCRIPTOR,
    "bw_coordinate": COORDINATE,
    "bw_reader": READER,
    "bw_doorbell": DOORBELL,
    "bw_table": TABLE,
    "bw_table_entry": TABLE_ENTRY,
}


def field(data: bytes | mmap.mmap, structure: tuple, name: str, at: int = 0) -> int | tuple:
    """One field of a structure that begins at ``at``; a tuple where it is an array."""
    offset, form = structure[1][name]
    values = struct.unpack_from("<" + form, data, at + offset)
    return values[0] if len(values) == 1 else values


def readers(directory: pathlib.Path) -> dict[str, bytes]:
    """The reader files that lie in a daemon directory, by name."""
    found = {}
    for path in directory.glob("*.reader"):
        try:
            found[path.name] = path.read_bytes()
        except FileNotFoundError:
            continue
    return {name: data for name, data in found.items() if len(data) == READER[0]}


def control(directory: pathlib.Path, ring: int = 0) -> bytes:
    """The newest control file of a ring."""
    files = directory.glob(f"ring-{ring}.*.ctl")
    newest = max(files, key=lambda path: int(path.name.split(".")[1]))
    return newest.read_bytes()
