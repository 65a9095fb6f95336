"""A sequence's state on disk, in a file of arrays (see `array_file.py`).

    state     a sequence as llama.cpp writes and reads it, without a copy in our memory
    tokens    int32
    logits    float32 after the last token, or none
    mark.P    uint8, the partial state at position P, for memories without history
"""

from __future__ import annotations

import os
import re
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.protocols import Sequence, Snapshot, StateFile
from wim_edge.library.array_file import DamagedError, append_parts, checksum, open_regular_file, parts_of
from wim_edge.system.atomic_files import PART, replace_file

ENDING = ".reading"
_NAME = re.compile(rf"[0-9a-f]{{32}}({re.escape(ENDING)}|{re.escape(PART)})")
_KIND = (b"wim-edge reading", 2)


def is_ours(name: object) -> bool:
    """Returns True for a name that `write` gives: other programs may use the folder, and the index may be foreign."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def write(folder: Path, about: Mapping[str, Any], sequence: Sequence) -> tuple[Path, int]:
    """Writes what a sequence holds to a new file of ``folder``; returns its path and its bytes. Raises OSError."""
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


def read(path: Path, about: Mapping[str, Any]) -> Snapshot:
    """Reads a file that should be ``about`` this; the snapshot's state stays there. Raises DamagedError, OSError."""
    with open_regular_file(path) as file:
        listed = parts_of(file, _KIND, about)
        parts: dict[str, NDArray[Any]] = {}
        for name, dtype, count, crc in listed:
            nbytes = count * np.dtype(dtype).itemsize
            data = b"" if name == "state" else file.read(nbytes)
            if (checksum(file, nbytes) if name == "state" else zlib.crc32(data)) != crc:
                raise DamagedError(f"{name} is damaged")
            parts[name] = np.frombuffer(data, dtype)
    try:
        tokens, logits, _ = (parts.pop(name) for name in ("tokens", "logits", "state"))
        marks = {int(name.removeprefix("mark.")): part for name, part in parts.items()}
    except (KeyError, ValueError) as error:
        raise DamagedError("parts are missing") from error
    state = StateFile(path, listed[0][2])
    return Snapshot(tuple(tokens.tolist()), state, marks, logits if logits.size else None)
