"""Arrays in one file, checked before use.

    parts     one after the other
    header    JSON: ``about`` (what the file belongs to) and ``parts`` (name, type, count, CRC-32)
    kind      16 bytes
    uint32 x 3            format, length of the header, CRC-32 of the header; little-endian

The header is at the end, so that another program (llama.cpp) can write the first part itself.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TAIL = struct.Struct("<16s3I")
_CHUNK = 1 << 20  # bytes read at once to be checked

Listed = tuple[str, str, int, int]
"""A part: name, numpy's name of its type, count, CRC-32."""


class DamagedError(Exception):
    """The file is not what was written: cut, changed, of another format, or it belongs to something else."""


def append_parts(
    path: Path, kind: tuple[bytes, int], about: Mapping[str, Any], parts: Mapping[str, NDArray[Any]],
    listed: Sequence[Listed] = (),
) -> int:  # fmt: skip
    """Completes a file that may already contain the ``listed`` parts; returns its size in bytes. Raises OSError."""
    all_listed = list(listed)
    with open(path, "r+b", buffering=0) as file:
        file.seek(0, os.SEEK_END)
        for name, part in parts.items():
            data = np.ascontiguousarray(part)
            all_listed.append((name, data.dtype.str, data.size, zlib.crc32(data.data)))
            _write_all(file, data.data.cast("B") if data.size else b"")
        header = json.dumps({"about": about, "parts": all_listed}).encode()
        _write_all(file, header + _TAIL.pack(*kind, len(header), zlib.crc32(header)))
        return file.tell()


def open_regular_file(path: Path) -> FileIO:
    """Opens a file to read. Raises DamagedError for a path that is no file (a pipe would never open), OSError."""
    if not path.is_file() and path.exists():
        raise DamagedError("it is no file")
    return open(path, "rb", buffering=0)


def parts_of(file: FileIO, kind: tuple[bytes, int], about: Mapping[str, Any] | None) -> list[Listed]:
    """Returns the parts that the file should have; together they are as long as what precedes the header. ``about``
    None: the file may belong to anything. Raises DamagedError, OSError."""
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
    found = json.loads(header)  # what its checksum vouches for is what we wrote
    if about is not None and found["about"] != about:
        raise DamagedError("it belongs to something else")
    if sum(count * np.dtype(dtype).itemsize for _, dtype, count, _ in found["parts"]) != begin:
        raise DamagedError("it has not the length it should have")
    file.seek(0)
    return [tuple(part) for part in found["parts"]]


def open_mapped(path: Path, kind: tuple[bytes, int], about: Mapping[str, Any] | None) -> dict[str, NDArray[Any]]:
    """Returns the arrays of a file, checked (see `parts_of`) and mapped into memory; on Windows read, because a mapped
    file cannot be replaced or deleted. Raises DamagedError, OSError."""
    with open_regular_file(path) as file:
        found: dict[str, NDArray[Any]] = {}
        offset = 0
        for name, dtype, count, crc in parts_of(file, kind, about):
            nbytes = count * np.dtype(dtype).itemsize
            if checksum(file, nbytes) != crc:
                raise DamagedError(f"{name} is damaged")
            if os.name == "nt" or not count:
                found[name] = np.fromfile(path, dtype, count, offset=offset)
                found[name].setflags(write=False)
            else:
                found[name] = np.memmap(path, dtype, "r", offset, (count,))
            offset += nbytes
    return found


def checksum(file: FileIO, nbytes: int) -> int:
    """Returns the CRC-32 of the next ``nbytes`` bytes, or of fewer if the file ends before."""
    crc, buffer = 0, memoryview(bytearray(min(_CHUNK, max(1, nbytes))))
    while nbytes > 0 and (got := file.readinto(buffer[: min(len(buffer), nbytes)])):
        crc = zlib.crc32(buffer[:got], crc)
        nbytes -= got
    return crc


def _write_all(file: FileIO, data: memoryview | bytes) -> None:
    """Writes all of the data: a single `write` takes at most 2 GiB."""
    view = memoryview(data)
    while view:
        view = view[os.write(file.fileno(), view[: 1 << 28]) :]
