"""A binary file format for NumPy arrays with checksums, and the files of saved sequences (KV caches) in this format.

    parts                 the arrays' bytes, one array after the other
    header                JSON: ``about`` (what the file belongs to) and ``parts`` (name, type, count, CRC-32)
    kind                  16 bytes that name the kind of file
    uint32 x 3            format number, length of the header, CRC-32 of the header; little-endian

The header is at the end, so that another program (llama.cpp) can write the first part itself.
"""

from __future__ import annotations

import json
import os
import re
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence as Seq
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.protocols import Sequence, Snapshot, StateFile
from wim_edge.system.atomic_files import PART, replace_file

_TAIL = struct.Struct("<16s3I")
_CHUNK = 1 << 20  # bytes read at once for a checksum

Listed = tuple[str, str, int, int]
"""A part as the header lists it: (name, NumPy type string such as "<f4", number of elements, CRC-32 of the bytes)."""


class DamagedError(Exception):
    """The error for a file that is not regular, cut short, changed, or of another format or ``about`` than expected."""


def append_parts(
    path: Path, kind: tuple[bytes, int], about: Mapping[str, Any], parts: Mapping[str, NDArray[Any]],
    listed: Seq[Listed] = (),
) -> int:  # fmt: skip
    """Appends the arrays ``parts`` and a header to an existing file; returns the file's new size in bytes. ``listed``:
    the parts that the file already contains. ``kind``: (16 bytes, format number). Raises OSError."""
    all_listed = list(listed)
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        for name, part in parts.items():
            data = np.ascontiguousarray(part)
            all_listed.append((name, data.dtype.str, data.size, zlib.crc32(data.data)))
            file.write(data.data)
        header = json.dumps({"about": about, "parts": all_listed}).encode()
        file.write(header + _TAIL.pack(*kind, len(header), zlib.crc32(header)))
        return file.tell()


def open_regular_file(path: Path) -> FileIO:
    """Opens a file for reading. Raises DamagedError for a folder or a pipe, OSError if the file cannot be opened."""
    if not path.is_file() and path.exists():
        raise DamagedError("it is no file")
    return open(path, "rb", buffering=0)


def parts_of(file: FileIO, kind: tuple[bytes, int], about: Mapping[str, Any] | None) -> list[Listed]:
    """Checks a file's header and length, seeks to byte 0, and returns the parts that the header lists. ``about``: the
    value that the header must contain; None allows any value. Raises DamagedError, OSError."""
    size = os.fstat(file.fileno()).st_size
    if size < _TAIL.size:
        raise DamagedError("cut short")
    file.seek(size - _TAIL.size)
    magic, version, length, crc = _TAIL.unpack(file.read(_TAIL.size))
    if magic != kind[0]:
        raise DamagedError("its end is missing")
    if version != kind[1]:
        raise DamagedError("another format")
    begin = max(0, size - _TAIL.size - length)
    file.seek(begin)
    header = file.read(size - _TAIL.size - begin)
    if len(header) != length or zlib.crc32(header) != crc:
        raise DamagedError("its header is damaged")
    found = json.loads(header)  # its checksum is right, so we wrote it
    if about is not None and found["about"] != about:
        raise DamagedError("it belongs to something else")
    if sum(count * np.dtype(dtype).itemsize for _, dtype, count, _ in found["parts"]) != begin:
        raise DamagedError("its length is wrong")
    file.seek(0)
    return [tuple(part) for part in found["parts"]]


def open_mapped(
    path: Path, kind: tuple[bytes, int], about: Mapping[str, Any] | None, *, brief: str = ""
) -> dict[str, NDArray[Any]]:
    """Returns a file's arrays by name, checked and mapped into memory. On Windows, where a mapped file cannot be
    replaced or deleted, the arrays are read instead, except the array ``brief``: the caller drops this one at once.
    ``about``: see `parts_of`. Raises DamagedError, OSError."""
    with open_regular_file(path) as file:
        found: dict[str, NDArray[Any]] = {}
        offset = 0
        for name, dtype, count, crc in parts_of(file, kind, about):
            nbytes = count * np.dtype(dtype).itemsize
            if checksum(file, nbytes) != crc:
                raise DamagedError(f"{name} is damaged")
            if not count or (os.name == "nt" and name != brief):
                found[name] = np.fromfile(path, dtype, count, offset=offset)
                found[name].setflags(write=False)
            else:
                found[name] = np.memmap(path, dtype, "r", offset, (count,))
            offset += nbytes
    return found


def checksum(file: FileIO, nbytes: int) -> int:
    """Returns the CRC-32 of the next ``nbytes`` bytes, or of the rest if the file is shorter."""
    crc, buffer = 0, memoryview(bytearray(min(_CHUNK, max(1, nbytes))))
    while nbytes > 0 and (got := file.readinto(buffer[: min(len(buffer), nbytes)])):
        crc = zlib.crc32(buffer[:got], crc)
        nbytes -= got
    return crc


ENDING = ".reading"
_NAME = re.compile(rf"[0-9a-f]{{32}}({re.escape(ENDING)}|{re.escape(PART)})")
_KIND = (b"wim-edge reading", 2)


def is_state_file(name: object) -> bool:
    """Returns whether a file name has the form that `write_state` gives to its files, finished or unfinished."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def write_state(folder: Path, about: Mapping[str, Any], sequence: Sequence) -> tuple[Path, int]:
    """Saves a sequence and ``about`` in a new file in ``folder``; returns (path, size in bytes). Raises OSError."""
    path = folder / (uuid.uuid4().hex + ENDING)
    with replace_file(path, private=True) as part_path:
        snapshot = sequence.snapshot(part_path)
        parts: dict[str, NDArray[Any]] = {
            "tokens": np.array(snapshot.tokens, np.int32),
            "logits": np.zeros(0, np.float32) if snapshot.logits is None else snapshot.logits,
        }
        parts |= {f"mark.{position}": state for position, state in snapshot.marks.items()}
        with open(part_path, "rb", buffering=0) as file:
            nbytes = os.fstat(file.fileno()).st_size
            state = ("state", "|u1", nbytes, checksum(file, nbytes))
        size = append_parts(part_path, _KIND, about, parts, [state])
    return path, size


def read_state(path: Path, about: Mapping[str, Any]) -> Snapshot:
    """Returns the saved snapshot; its state stays on disk. ``about``: see `parts_of`. Raises DamagedError, OSError."""
    parts = open_mapped(path, _KIND, about, brief="state")
    tokens, logits, state = (parts.pop(name) for name in ("tokens", "logits", "state"))
    marks = {int(name.removeprefix("mark.")): part for name, part in parts.items()}
    file = StateFile(path, state.nbytes)
    return Snapshot(tuple(tokens.tolist()), file, marks, logits if logits.size else None)
