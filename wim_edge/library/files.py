"""A sequence's state on disk: one file, whole or not there, and never trusted before it is checked.

    b"wim-edge reading"   16 bytes
    uint32 x 3            format, length of the header, CRC-32 of the header; little-endian
    header                JSON: ``about`` (what it belongs to) and ``parts`` (name, type, count, CRC-32)
    parts                 one after the other: tokens int32, logits float32 after the last token (or none),
                          state uint8 as llama.cpp writes a sequence, and mark.P uint8, the partial state at
                          position P, for memories without history

(NumPy's own ``.npz`` took ten times as long to read.)
"""

from __future__ import annotations

import json
import os
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.api import Snapshot

ENDING, PART = ".reading", ".part"
_MAGIC, _FORMAT = b"wim-edge reading", 1
_HEAD = struct.Struct("<16s3I")


class DamagedError(Exception):
    """The file is not what was written: cut, changed, of another format, or another reading's."""


def write(folder: Path, about: Mapping[str, Any], snapshot: Snapshot) -> tuple[Path, int]:
    """Write a snapshot to a new file of ``folder``; its path and its bytes. Raises OSError.

    The file appears under its name only when all of it is on the disk.
    """
    parts: dict[str, NDArray[Any]] = {
        "tokens": np.array(snapshot.tokens, np.int32),
        "logits": np.zeros(0, np.float32) if snapshot.logits is None else snapshot.logits,
        "state": snapshot.state,
    }
    parts |= {f"mark.{position}": state for position, state in snapshot.marks.items()}
    listed = [(name, part.dtype.str, part.size, zlib.crc32(part.data)) for name, part in parts.items()]
    header = json.dumps({"about": about, "parts": listed}).encode()
    path = folder / (uuid.uuid4().hex + ENDING)
    part_path = path.with_suffix(PART)
    try:
        with open(os.open(part_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0) as file:
            file.write(_HEAD.pack(_MAGIC, _FORMAT, len(header), zlib.crc32(header)) + header)
            for part in parts.values():
                _write_all(file.fileno(), part.data.cast("B") if part.size else b"")
            os.fsync(file.fileno())
            size = file.tell()
        part_path.replace(path)
    except BaseException:
        part_path.unlink(missing_ok=True)
        raise
    return path, size


def read(path: Path, about: Mapping[str, Any]) -> Snapshot:
    """The snapshot of a file that should be about this. Raises DamagedError, OSError."""
    data = np.fromfile(path, np.uint8)
    parts = dict(_parts(data, about))
    try:
        tokens, logits, state = (parts.pop(name) for name in ("tokens", "logits", "state"))
        marks = {int(name.removeprefix("mark.")): part for name, part in parts.items()}
    except (KeyError, ValueError) as error:
        raise DamagedError("parts are missing") from error
    return Snapshot(tuple(tokens.tolist()), state, marks, logits if logits.size else None)


def _parts(data: NDArray[np.uint8], about: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Names and contents, each checked."""
    if data.size < _HEAD.size:
        raise DamagedError("cut short")
    magic, version, length, crc = _HEAD.unpack(data[: _HEAD.size].tobytes())
    if magic != _MAGIC or version != _FORMAT:
        raise DamagedError("another format")
    at = _HEAD.size + length
    header = data[_HEAD.size : at].tobytes()
    if len(header) != length or zlib.crc32(header) != crc:
        raise DamagedError("its header is damaged")
    found = json.loads(header)  # what its checksum vouches for is what we wrote
    if found["about"] != about:
        raise DamagedError("another reading's")
    for name, dtype, count, crc in found["parts"]:
        raw = data[at : at + count * np.dtype(dtype).itemsize]
        at += raw.size
        if raw.size != count * np.dtype(dtype).itemsize or zlib.crc32(raw.data) != crc:
            raise DamagedError(f"{name} is damaged")
        # A copy where the element size asks for alignment; the large parts are bytes, and views
        yield name, raw if dtype == "|u1" else np.frombuffer(raw.tobytes(), dtype)
    if at != data.size:
        raise DamagedError("longer than it should be")


def _write_all(descriptor: int, data: memoryview | bytes) -> None:
    """A single `write` takes at most 2 GiB."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[: 1 << 28]) :]
