"""The states of sequences: llama.cpp saves them to memory or to a file, and restores them."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from wim_edge.engine import available_memory
from wim_edge.engine.bindings import last_errors, lib
from wim_edge.engine.memory_estimate import readable
from wim_edge.engine.protocols import SequenceState, StateFile
from wim_edge.errors import EngineError, MemoryBudgetError

if TYPE_CHECKING:
    from wim_edge.engine.sequence import Sequence

_LARGE = 1 << 26  # bytes: a smaller state is saved without a look at the free memory


def size(seq: Sequence, *, partial: bool = False) -> int:
    """Returns the bytes of the state. ``partial``: of the recurrent part or the window alone, here and below
    (LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)."""
    return int(lib.llama_state_seq_get_size_ext(seq.context.handle, seq.id, int(partial)))


def get(seq: Sequence, *, partial: bool = False) -> SequenceState:
    """Returns the state. Raises MemoryBudgetError, EngineError."""
    n = size(seq, partial=partial)
    if n > _LARGE and n > available_memory.available():
        raise MemoryBudgetError(
            f"a sequence's state takes {readable(n)}, {readable(available_memory.available())} are free",
            f"Use a smaller context, or {available_memory.memory_hint()}.",
        )
    state = np.empty(n, np.uint8)
    if lib.llama_state_seq_get_data_ext(seq.context.handle, _pointer(state), n, seq.id, int(partial)) != n:
        raise EngineError("llama.cpp could not save a sequence's state", "Please report this with the model's name.")
    return state


def put(seq: Sequence, state: SequenceState, *, partial: bool = False) -> None:
    """Replaces the sequence's state. Raises EngineError."""
    n = state.size
    if lib.llama_state_seq_set_data_ext(seq.context.handle, _pointer(state), n, seq.id, int(partial)) != n:
        _refuse(seq)


def write(seq: Sequence, path: Path) -> StateFile:
    """Writes the state over a file, layer by layer. Raises OSError."""
    last_errors()
    n = lib.llama_state_seq_save_file(seq.context.handle, _file_name(path), seq.id, None, 0)
    # llama.cpp misses what its last flush could not write
    if not n or path.stat().st_size != n:
        raise OSError(last_errors() or "the disk does not take all of it")
    return StateFile(path, n)


def read(seq: Sequence, file: StateFile) -> None:
    """Replaces the sequence's state by that in a file. Raises EngineError."""
    try:
        whole = file.path.stat().st_size >= file.nbytes  # llama.cpp may abort on a file that was cut short
    except OSError:
        whole = False
    tokens, n_tokens = (ctypes.c_int32 * 1)(), ctypes.c_size_t()  # there are none, but it needs the array
    if not whole or not lib.llama_state_seq_load_file(
        seq.context.handle, _file_name(file.path), seq.id, tokens, 1, ctypes.byref(n_tokens)
    ):
        _refuse(seq)


def _file_name(path: Path) -> bytes:
    """Returns a path in the encoding with which llama.cpp opens files."""
    return str(path).encode() if os.name == "nt" else os.fsencode(path)


def _pointer(state: SequenceState) -> object:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def _refuse(seq: Sequence) -> NoReturn:
    lib.llama_memory_seq_rm(seq.context.memory, seq.id, -1, -1)
    raise EngineError(
        "llama.cpp could not restore a sequence's state: another model, other cache types, or too few free cells",
        "Read the document again.",
    )
