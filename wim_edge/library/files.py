"""A sequence's state on disk: one file, whole or not there, and never trusted before it is checked.

    state     as llama.cpp writes a sequence into a file, and reads it: it never passes through our memory
    parts     one after the other: tokens int32, logits float32 after the last token (or none), and mark.P
              uint8, the partial state at position P, for memories without history
    header    JSON: ``about`` (what it belongs to) and ``parts`` (name, type, count, CRC-32), state first
    b"wim-edge reading"   16 bytes
    uint32 x 3            format, length of the header, CRC-32 of the header; little-endian
"""

from __future__ import annotations

import json
import os
import struct
import uuid
import zlib
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.api import Sequence, Snapshot, StateFile

ENDING, PART = ".reading", ".part"
_MAGIC, _FORMAT = b"wim-edge reading", 2
_TAIL = struct.Struct("<16s3I")
_CHUNK = 1 << 20  # bytes read at once to be checked


class DamagedError(Exception):
    """The file is not what was written: cut, changed, of another format, or another reading's."""


def write(folder: Path, about: Mapping[str, Any], sequence: Sequence) -> tuple[Path, int]:
    """Write what a sequence holds to a new file of ``folder``; its path and its bytes. Raises OSError.

    The file appears under its name only when all of it is on the disk.
    """
    path = folder / (uuid.uuid4().hex + ENDING)
    part_path = path.with_suffix(PART)
    try:
        os.close(os.open(part_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        snapshot = sequence.snapshot(part_path)
        parts: dict[str, NDArray[Any]] = {
            "tokens": np.array(snapshot.tokens, np.int32),
            "logits": np.zeros(0, np.float32) if snapshot.logits is None else snapshot.logits,
        }
        parts |= {f"mark.{position}": state for position, state in snapshot.marks.items()}
        with open(part_path, "r+b", buffering=0) as file:
            nbytes = os.fstat(file.fileno()).st_size
            listed = [("state", "|u1", nbytes, _checksum(file, nbytes))]
            for name, part in parts.items():
                listed.append((name, part.dtype.str, part.size, zlib.crc32(part.data)))
                _write_all(file, part.data.cast("B") if part.size else b"")
            header = json.dumps({"about": about, "parts": listed}).encode()
            _write_all(file, header + _TAIL.pack(_MAGIC, _FORMAT, len(header), zlib.crc32(header)))
            os.fsync(file.fileno())
            size = file.tell()
        part_path.replace(path)
    except BaseException:
        part_path.unlink(missing_ok=True)
        raise
    return path, size


def read(path: Path, about: Mapping[str, Any]) -> Snapshot:
    """The snapshot of a file that should be about this; its state stays there. Raises DamagedError, OSError."""
    if not path.is_file() and path.exists():
        raise DamagedError("it is no file")
    with open(path, "rb", buffering=0) as file:
        listed = _listed(file, about)
        file.seek(0)
        parts: dict[str, NDArray[Any]] = {}
        for name, dtype, count, crc in listed:
            nbytes = count * np.dtype(dtype).itemsize
            data = b"" if name == "state" else file.read(nbytes)
            if (_checksum(file, nbytes) if name == "state" else zlib.crc32(data)) != crc:
                raise DamagedError(f"{name} is damaged")
            parts[name] = np.frombuffer(data, dtype)
    try:
        tokens, logits, _ = (parts.pop(name) for name in ("tokens", "logits", "state"))
        marks = {int(name.removeprefix("mark.")): part for name, part in parts.items()}
    except (KeyError, ValueError) as error:
        raise DamagedError("parts are missing") from error
    state = StateFile(path, listed[0][2])
    return Snapshot(tuple(tokens.tolist()), state, marks, logits if logits.size else None)


def _listed(file: FileIO, about: Mapping[str, Any]) -> list[tuple[str, str, int, int]]:
    """The parts that the file should have; together they are as long as what precedes the header."""
    size = os.fstat(file.fileno()).st_size
    if size < _TAIL.size:
        raise DamagedError("cut short")
    file.seek(size - _TAIL.size)
    magic, version, length, crc = _TAIL.unpack(file.read(_TAIL.size))
    if magic != _MAGIC:
        raise DamagedError("its end is missing")
    if version != _FORMAT:
        raise DamagedError("another format")
    begin = max(0, size - _TAIL.size - length)
    file.seek(begin)
    header = file.read(size - _TAIL.size - begin)
    if len(header) != length or zlib.crc32(header) != crc:
        raise DamagedError("its header is damaged")
    found = json.loads(header)  # what its checksum vouches for is what we wrote
    if found["about"] != about:
        raise DamagedError("it belongs to another reading")
    if sum(count * np.dtype(dtype).itemsize for _, dtype, count, _ in found["parts"]) != begin:
        raise DamagedError("it has not the length it should have")
    return [tuple(part) for part in found["parts"]]


def _checksum(file: FileIO, nbytes: int) -> int:
    """CRC-32 of so many bytes, read from where the file stands; fewer, if it ends before."""
    crc, buffer = 0, memoryview(bytearray(min(_CHUNK, max(1, nbytes))))
    while nbytes > 0 and (got := file.readinto(buffer[: min(len(buffer), nbytes)])):
        crc = zlib.crc32(buffer[:got], crc)
        nbytes -= got
    return crc


def _write_all(file: FileIO, data: memoryview | bytes) -> None:
    """A single `write` takes at most 2 GiB."""
    view = memoryview(data)
    while view:
        view = view[os.write(file.fileno(), view[: 1 << 28]) :]
