"""Strategies to fork and truncate sequences, one per kind of memory; and the saved states that they use.

ByPosition      plain attention: cells are shared and freed by token position
ByHeldPosition  sliding window in a full-size cache: the same. A second sequence id owns the same cells, because
                llama.cpp reuses cells outside the window that have only one owner
ByState         recurrent and hybrid memories, and window-sized caches: the attention part by position; the rest is
                restored from a saved partial state, and the tokens after it are evaluated again

llama.cpp does not reject a bad fork, but computes wrong logits. So `verify` checks a sequence's end after a change.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence as Seq
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from wim_edge.engine import available_memory
from wim_edge.engine.bindings import REPORT, last_errors, lib
from wim_edge.engine.memory_estimate import readable
from wim_edge.engine.protocols import MemoryKind, SequenceState, Snapshot, StateFile
from wim_edge.errors import EngineError, MemoryBudgetError

if TYPE_CHECKING:
    from wim_edge.engine.context import Sequence


def choose(kind: MemoryKind, swa_full: bool, n_swa: int) -> ByPosition:
    """Returns the strategy for a kind of memory. ``swa_full`` True: cells outside a window (``n_swa`` tokens) stay."""
    if kind is MemoryKind.ATTENTION:
        return ByPosition()
    return ByHeldPosition(n_swa) if kind is MemoryKind.WINDOW and swa_full else ByState()


class ByPosition:
    """A strategy that forks by `llama_memory_seq_cp` and truncates by `llama_memory_seq_rm`; neither copies a cell."""

    ids_per_sequence = 1

    def before_prefill(self, seq: Sequence) -> None:
        """Saves what `recover` will need, before a batch of several tokens. Does nothing in this class."""

    def after_decode(self, seq: Sequence, start: int) -> None:
        """Protects the cells from position ``start`` on against reuse by llama.cpp. Does nothing in this class."""

    def fork(self, source: Sequence, target: Sequence, at: int) -> None:
        """Appends the first ``at`` tokens of ``source`` to the empty sequence ``target``, with their cells."""
        if at:
            lib.llama_memory_seq_cp(source.context.memory, source.id, target.id, 0, at)
        target.tokens = source.tokens[:at]
        verify(target)

    def truncate(self, seq: Sequence, to: int) -> None:
        _remove(seq, seq.id, to)
        seq.forget(to)
        verify(seq)

    def checkpoint(self, seq: Sequence) -> None:
        """Saves a state at the sequence's end, for later forks and truncations there. Does nothing in this class."""

    def recover(self, seq: Sequence, tokens: Seq[int]) -> None:
        """Makes the sequence usable after an interrupted batch of ``tokens``; keeps evaluated tokens if possible."""
        evaluated = lib.llama_memory_seq_pos_max(seq.context.memory, seq.id) + 1 - len(seq)
        if evaluated > 0:
            seq.accept(tokens[:evaluated], None)
        verify(seq)

    def erase(self, seq: Sequence) -> None:
        _remove(seq, seq.id, 0)

    def restore(self, seq: Sequence, snapshot: Snapshot) -> None:
        self.erase(seq)
        seq.forget(0)
        try:
            if isinstance(snapshot.state, StateFile):
                read_state(seq, snapshot.state)
            else:
                put_state(seq, snapshot.state)
        except EngineError:
            self.erase(seq)
            raise
        seq.marks = dict(snapshot.marks)
        seq.accept(snapshot.tokens, None)
        verify(seq)

    def append_kept(self, seq: Sequence, snapshot: Snapshot, at: int) -> bool:
        """Appends a snapshot's tokens from ``at`` on (see `protocols.Sequence`). The next batch rotates their keys."""
        memory, end = seq.context.memory, len(seq)
        if not lib.llama_memory_can_shift(memory):
            return False
        try:
            with seq.context.sequence() as other:
                other.restore(snapshot)
                lib.llama_memory_seq_rm(memory, other.id, 0, at)
                lib.llama_memory_seq_add(memory, other.id, at, -1, end - at)
                lib.llama_memory_seq_cp(memory, other.id, seq.id, end, -1)
        except EngineError:  # no room
            return False
        seq.accept(snapshot.tokens[at:], None)
        verify(seq)
        return True


class ByState(ByPosition):
    """A strategy that forks and truncates by saved partial states (the recurrent part, or the window)."""

    def before_prefill(self, seq: Sequence) -> None:
        # An interrupted batch damages a recurrent state for good, so a copy is kept to return to
        seq.recovery = (len(seq), get_state(seq, partial=True) if len(seq) else None)

    def fork(self, source: Sequence, target: Sequence, at: int) -> None:
        base = _nearest(source, at)
        if base:
            saved = source.marks.get(base)
            if saved is None:
                saved = get_state(source, partial=True)
            lib.llama_memory_seq_cp(source.context.memory, source.id, target.id, 0, base)
            put_state(target, saved, partial=True)
            target.tokens = source.tokens[:base]
            target.marks = {p: s for p, s in source.marks.items() if p <= base} | {base: saved}
        verify(target)
        if base < at:
            target.append(source.tokens[base:at])

    def truncate(self, seq: Sequence, to: int) -> None:
        base = _nearest(seq, to)
        again = seq.tokens[base:to]
        self._return_to(seq, base, seq.marks.get(base))
        if again:
            seq.append(again)

    def checkpoint(self, seq: Sequence) -> None:
        if len(seq):
            seq.marks[len(seq)] = get_state(seq, partial=True)

    def append_kept(self, seq: Sequence, snapshot: Snapshot, at: int) -> bool:
        return False  # a recurrent state, or a window that lost its history, cannot be moved

    def recover(self, seq: Sequence, tokens: Seq[int]) -> None:
        position, saved = seq.recovery
        for base, mark in seq.marks.items():
            if position < base <= len(seq):
                position, saved = base, mark
        self._return_to(seq, position, saved)

    def _return_to(self, seq: Sequence, position: int, saved: SequenceState | None) -> None:
        if not position or saved is None:
            self.erase(seq)
            seq.forget(0)
        else:
            # The state comes first: a recurrent memory refuses to remove tokens that its state contains
            put_state(seq, saved, partial=True)
            _remove(seq, seq.id, position)
            seq.forget(position)
        # The previous recovery state may belong to a later position
        seq.recovery = (len(seq), saved)
        verify(seq)


class ByHeldPosition(ByState):
    """A strategy that forks and truncates by position. A second sequence id (id + n_sequences) owns the same cells, so
    llama.cpp keeps them. A restore brings only the last window; where earlier cells are needed, it works as ByState."""

    ids_per_sequence = 2

    def __init__(self, n_swa: int) -> None:
        self.n_swa = n_swa

    def before_prefill(self, seq: Sequence) -> None:
        pass

    def after_decode(self, seq: Sequence, start: int) -> None:
        lib.llama_memory_seq_cp(seq.context.memory, seq.id, _holder(seq), start, -1)

    def fork(self, source: Sequence, target: Sequence, at: int) -> None:
        (ByPosition if self._has_window(source, at) else ByState).fork(self, source, target, at)
        if len(target):
            self.after_decode(target, 0)

    def truncate(self, seq: Sequence, to: int) -> None:
        if self._has_window(seq, to):
            _remove(seq, _holder(seq), to)
            ByPosition.truncate(self, seq, to)
            return
        _remove(seq, _holder(seq), 0)
        super().truncate(seq, to)
        if len(seq):
            self.after_decode(seq, 0)

    def recover(self, seq: Sequence, tokens: Seq[int]) -> None:
        ByPosition.recover(self, seq, tokens)

    def erase(self, seq: Sequence) -> None:
        _remove(seq, _holder(seq), 0)
        super().erase(seq)

    def _has_window(self, seq: Sequence, at: int) -> bool:
        """Returns whether the cache holds all positions to which a token at position ``at`` attends."""
        first = lib.llama_memory_seq_pos_min(seq.context.memory, seq.id)
        return bool(first <= max(0, at - self.n_swa + 1))


def verify(seq: Sequence) -> None:
    """Raises EngineError unless the cache ends at the last token that the sequence has recorded."""
    last = lib.llama_memory_seq_pos_max(seq.context.memory, seq.id)
    if last != len(seq) - 1:
        raise EngineError(f"the cache ends at position {last} where {len(seq) - 1} was expected", REPORT)


def _nearest(seq: Sequence, at: int) -> int:
    """Returns ``at`` if the sequence ends there; else the last position up to ``at`` with a saved state, or 0."""
    if at == len(seq):
        return at
    return max((p for p in seq.marks if p <= at), default=0)


def _holder(seq: Sequence) -> int:
    return seq.id + seq.context.n_sequences


def _remove(seq: Sequence, seq_id: int, start: int) -> None:
    if not lib.llama_memory_seq_rm(seq.context.memory, seq_id, start, -1):
        raise EngineError(f"llama.cpp refused to remove positions from {start} on", REPORT)


_LARGE = 1 << 26  # bytes: a smaller state is saved without checking the free memory


def state_size(seq: Sequence, *, partial: bool = False) -> int:
    """Returns the size of a sequence's state in bytes. ``partial``: only of the part that has no positions, the
    recurrent state or the sliding-window cache (LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)."""
    return int(lib.llama_state_seq_get_size_ext(seq.context.handle, seq.id, int(partial)))


def get_state(seq: Sequence, *, partial: bool = False) -> SequenceState:
    """Returns a copy of the sequence's state. ``partial``: see `state_size`. Raises MemoryBudgetError, EngineError."""
    n = state_size(seq, partial=partial)
    if n > _LARGE and n > available_memory.available():
        raise MemoryBudgetError(
            f"a sequence's state takes {readable(n)}, {readable(available_memory.available())} are free",
            f"Use a smaller context, or {available_memory.memory_hint()}.",
        )
    state = np.empty(n, np.uint8)
    if lib.llama_state_seq_get_data_ext(seq.context.handle, _pointer(state), n, seq.id, int(partial)) != n:
        raise EngineError("llama.cpp could not save a sequence's state", REPORT)
    return state


def put_state(seq: Sequence, state: SequenceState, *, partial: bool = False) -> None:
    """Replaces the sequence's state with ``state``. ``partial``: see `state_size`. Raises EngineError."""
    n = state.size
    if lib.llama_state_seq_set_data_ext(seq.context.handle, _pointer(state), n, seq.id, int(partial)) != n:
        _refuse(seq)


def write_state(seq: Sequence, path: Path) -> StateFile:
    """Replaces the content of the file ``path`` with the sequence's state, written layer by layer. Raises OSError."""
    last_errors()
    n = lib.llama_state_seq_save_file(seq.context.handle, _file_name(path), seq.id, None, 0)
    # llama.cpp does not notice if its last flush fails
    if not n or path.stat().st_size != n:
        raise OSError(last_errors() or "the disk does not take all of it")
    return StateFile(path, n)


def read_state(seq: Sequence, file: StateFile) -> None:
    """Replaces the sequence's state with the state in a file. Raises EngineError."""
    try:
        whole = file.path.stat().st_size >= file.nbytes  # llama.cpp may abort on a file that was cut short
    except OSError:
        whole = False
    tokens, n_tokens = (ctypes.c_int32 * 1)(), ctypes.c_size_t()  # the file has none, but llama.cpp requires an array
    if not whole or not lib.llama_state_seq_load_file(
        seq.context.handle, _file_name(file.path), seq.id, tokens, 1, ctypes.byref(n_tokens)
    ):
        _refuse(seq)


def _file_name(path: Path) -> bytes:
    """Returns a path as bytes, in the encoding that llama.cpp expects."""
    return str(path).encode() if os.name == "nt" else os.fsencode(path)


def _pointer(state: SequenceState) -> object:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def _refuse(seq: Sequence) -> NoReturn:
    lib.llama_memory_seq_rm(seq.context.memory, seq.id, -1, -1)
    raise EngineError(
        "llama.cpp could not restore a sequence's state: another model, other cache types, or too few free cells",
        "Read the document again.",
    )
