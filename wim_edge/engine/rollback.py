"""The ways of forking a sequence and cutting it back, by kind of memory. One is chosen for each context.

ByPosition      plain attention: cells are shared and freed by token position.
ByHeldPosition  sliding windows with a cache of full size: the same, and every sequence has a second
                id that holds its cells, because llama.cpp reuses out-of-window cells of one owner.
                After a restore, which brings only the last window, it works as ByState.
ByState         recurrent and hybrid memories, and window-sized caches: the attention part goes by
                position, the rest is put back from a saved partial state; between two saved states
                the tokens are evaluated again.

llama.cpp does not reject a bad fork, it answers wrongly; so positions are checked after every one.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence as Seq
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from wim_edge.engine import available_memory
from wim_edge.engine.bindings import last_errors, lib
from wim_edge.engine.memory_estimate import readable
from wim_edge.engine.protocols import MemoryKind, SequenceState, Snapshot, StateFile
from wim_edge.errors import EngineError, MemoryBudgetError

if TYPE_CHECKING:
    from wim_edge.engine.context import Context
    from wim_edge.engine.sequence import Sequence

_LARGE = 1 << 26  # bytes: for less the free memory is not looked up


def choose(kind: MemoryKind, swa_full: bool, n_swa: int) -> ByPosition:
    """Returns the way of rollback for a kind of memory."""
    if kind is MemoryKind.ATTENTION:
        return ByPosition()
    if kind is MemoryKind.WINDOW and swa_full:
        return ByHeldPosition(n_swa)
    return ByState()


class ByPosition:
    """Forks by `seq_cp` and cuts by `seq_rm`: only metadata changes, no cell is copied."""

    ids_per_sequence = 1

    def before_prefill(self, seq: Sequence) -> None:
        """Prepares for a batch of several tokens."""

    def after_decode(self, seq: Sequence, start: int) -> None:
        """Deals with the cells from ``start`` on, which have been filled."""

    def branch(self, source: Sequence, target: Sequence, at: int) -> None:
        """Gives the empty ``target`` the first ``at`` tokens of ``source``."""
        if at:
            lib.llama_memory_seq_cp(source.context.memory, source.id, target.id, 0, at)
        target.tokens = source.tokens[:at]
        self.verify(target)

    def cut(self, seq: Sequence, to: int) -> None:
        """Removes the tokens from position ``to`` on."""
        _remove(seq.context, seq.id, to)
        seq.forget(to)
        self.verify(seq)

    def mark(self, seq: Sequence) -> None:
        """Makes this position cheap to come back to."""

    def recover(self, seq: Sequence, tokens: Seq[int]) -> None:
        """Recovers from an interrupted batch; the part of ``tokens`` that was evaluated stays."""
        held = lib.llama_memory_seq_pos_max(seq.context.memory, seq.id) + 1
        evaluated = held - len(seq)
        if evaluated > 0:
            seq.accept(tokens[:evaluated], None)
        self.verify(seq)

    def erase(self, seq: Sequence) -> None:
        _remove(seq.context, seq.id, 0)

    def state_size(self, seq: Sequence) -> int:
        return _state_size(seq.context, seq.id, 0)

    def get_state(self, seq: Sequence) -> SequenceState:
        return _get_state(seq.context, seq.id, 0)

    def write_state(self, seq: Sequence, path: Path) -> StateFile:
        return _write_state(seq.context, seq.id, path)

    def set_state(self, seq: Sequence, snapshot: Snapshot) -> None:
        self.erase(seq)
        seq.forget(0)
        try:
            if isinstance(snapshot.state, StateFile):
                _read_state(seq.context, seq.id, snapshot.state)
            else:
                _set_state(seq.context, seq.id, snapshot.state, 0)
        except EngineError:
            self.erase(seq)
            raise
        seq.marks = dict(snapshot.marks)
        seq.accept(snapshot.tokens, None)
        self.verify(seq)

    def join(self, seq: Sequence, snapshot: Snapshot, at: int) -> bool:
        """Implements `protocols.Sequence.append_kept`. The next batch rotates the keys to their new positions."""
        memory, end = seq.context.memory, len(seq)
        if not lib.llama_memory_can_shift(memory):
            return False
        try:
            with seq.context.sequence() as other:
                other.restore(snapshot)
                lib.llama_memory_seq_rm(memory, other.id, 0, at)
                lib.llama_memory_seq_add(memory, other.id, at, -1, end - at)
                lib.llama_memory_seq_cp(memory, other.id, seq.id, end, -1)
        except EngineError:  # no room beside
            return False
        seq.accept(snapshot.tokens[at:], None)
        self.verify(seq)
        return True

    def verify(self, seq: Sequence) -> None:
        """Raises EngineError unless the cache holds what the sequence believes."""
        last = lib.llama_memory_seq_pos_max(seq.context.memory, seq.id)
        if last != len(seq) - 1:
            raise EngineError(
                f"the cache ends at position {last} where {len(seq) - 1} was expected",
                "Please report this with the model's name.",
            )


class ByState(ByPosition):
    """Forks and cuts by saved partial states (the recurrent part, or the window)."""

    _PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY

    def before_prefill(self, seq: Sequence) -> None:
        # An interrupted batch leaves a recurrent state beyond repair: keep a way back
        seq.recovery = (len(seq), _get_state(seq.context, seq.id, self._PARTIAL) if len(seq) else None)

    def branch(self, source: Sequence, target: Sequence, at: int) -> None:
        base = self._nearest(source, at)
        if base:
            state = source.marks.get(base)
            if state is None:
                state = _get_state(source.context, source.id, self._PARTIAL)
            lib.llama_memory_seq_cp(source.context.memory, source.id, target.id, 0, base)
            _set_state(source.context, target.id, state, self._PARTIAL)
            target.tokens = source.tokens[:base]
            target.marks = {p: s for p, s in source.marks.items() if p <= base}
            target.marks[base] = state
        self.verify(target)
        if base < at:
            target.append(source.tokens[base:at])

    def cut(self, seq: Sequence, to: int) -> None:
        base = self._nearest(seq, to)
        again = seq.tokens[base:to]
        self._return_to(seq, base, seq.marks.get(base))
        if again:
            seq.append(again)

    def mark(self, seq: Sequence) -> None:
        if len(seq):
            seq.marks[len(seq)] = _get_state(seq.context, seq.id, self._PARTIAL)

    def join(self, seq: Sequence, snapshot: Snapshot, at: int) -> bool:
        return False  # what a recurrent state has seen, or a window lost, cannot be moved

    def recover(self, seq: Sequence, tokens: Seq[int]) -> None:
        position, state = seq.recovery
        for base, mark in seq.marks.items():
            if position < base <= len(seq):
                position, state = base, mark
        self._return_to(seq, position, state)

    def _return_to(self, seq: Sequence, position: int, state: SequenceState | None) -> None:
        if not position or state is None:
            self.erase(seq)
            seq.forget(0)
        else:
            # The state first: a recurrent memory refuses to remove what its state has seen
            _set_state(seq.context, seq.id, state, self._PARTIAL)
            _remove(seq.context, seq.id, position)
            seq.forget(position)
        # What was kept to recover from may lie beyond this position
        seq.recovery = (len(seq), state)
        self.verify(seq)

    def _nearest(self, seq: Sequence, at: int) -> int:
        if at == len(seq):
            return at
        return max((p for p in seq.marks if p <= at), default=0)


class ByHeldPosition(ByState):
    """Forks and cuts as ByPosition does; id + n_sequences holds the same cells, so that none is ever reused.

    A restored state holds only the last window: where the history is missing, it works as ByState does.
    """

    ids_per_sequence = 2

    def __init__(self, n_swa: int) -> None:
        self.n_swa = n_swa

    def before_prefill(self, seq: Sequence) -> None:
        pass

    def after_decode(self, seq: Sequence, start: int) -> None:
        lib.llama_memory_seq_cp(seq.context.memory, seq.id, _holder(seq), start, -1)

    def branch(self, source: Sequence, target: Sequence, at: int) -> None:
        if self._has_window(source, at):
            ByPosition.branch(self, source, target, at)
        else:
            super().branch(source, target, at)
        if len(target):
            self.after_decode(target, 0)

    def cut(self, seq: Sequence, to: int) -> None:
        if self._has_window(seq, to):
            _remove(seq.context, _holder(seq), to)
            ByPosition.cut(self, seq, to)
            return
        _remove(seq.context, _holder(seq), 0)
        super().cut(seq, to)
        if len(seq):
            self.after_decode(seq, 0)

    def recover(self, seq: Sequence, tokens: Seq[int]) -> None:
        ByPosition.recover(self, seq, tokens)

    def erase(self, seq: Sequence) -> None:
        _remove(seq.context, _holder(seq), 0)
        super().erase(seq)

    def _has_window(self, seq: Sequence, at: int) -> bool:
        """Tells whether the cache holds all that a token at this position looks back to."""
        first = lib.llama_memory_seq_pos_min(seq.context.memory, seq.id)
        return bool(first <= max(0, at - self.n_swa + 1))


def _holder(seq: Sequence) -> int:
    return seq.id + seq.context.n_sequences


def _remove(context: Context, seq_id: int, start: int) -> None:
    if not lib.llama_memory_seq_rm(context.memory, seq_id, start, -1):
        raise EngineError(
            f"llama.cpp refused to remove positions from {start} on", "Please report this with the model's name."
        )


def _state_size(context: Context, seq_id: int, flags: int) -> int:
    assert context.memory  # raises when closed
    return int(lib.llama_state_seq_get_size_ext(context.handle, seq_id, flags))


def _get_state(context: Context, seq_id: int, flags: int) -> SequenceState:
    size = _state_size(context, seq_id, flags)
    if size > _LARGE and size > available_memory.available():
        raise MemoryBudgetError(
            f"a sequence's state takes {readable(size)}, {readable(available_memory.available())} are free",
            f"Use a smaller context, or {available_memory.memory_hint()}.",
        )
    state = np.empty(size, np.uint8)
    if lib.llama_state_seq_get_data_ext(context.handle, _pointer(state), size, seq_id, flags) != size:
        raise EngineError("llama.cpp could not save a sequence's state", "Please report this with the model's name.")
    return state


def _set_state(context: Context, seq_id: int, state: SequenceState, flags: int) -> None:
    assert context.memory  # raises when closed
    if lib.llama_state_seq_set_data_ext(context.handle, _pointer(state), state.size, seq_id, flags) != state.size:
        _refuse(context, seq_id)


def _write_state(context: Context, seq_id: int, path: Path) -> StateFile:
    """Has llama.cpp write the state to the file, layer by layer. Raises OSError."""
    assert context.memory  # raises when closed
    last_errors()
    size = lib.llama_state_seq_save_file(context.handle, _file_name(path), seq_id, None, 0)
    # What its last flush could not write goes unnoticed there
    if not size or path.stat().st_size != size:
        raise OSError(last_errors() or "the disk does not take all of it")
    return StateFile(path, size)


def _read_state(context: Context, seq_id: int, file: StateFile) -> None:
    assert context.memory  # raises when closed
    try:
        whole = file.path.stat().st_size >= file.nbytes  # a file cut short is one of the damages that abort
    except OSError:
        whole = False
    tokens, n_tokens = (ctypes.c_int32 * 1)(), ctypes.c_size_t()  # none, but without an array it reads nothing
    if not whole or not lib.llama_state_seq_load_file(
        context.handle, _file_name(file.path), seq_id, tokens, 1, ctypes.byref(n_tokens)
    ):
        _refuse(context, seq_id)


def _file_name(path: Path) -> bytes:
    """Returns a path in the encoding with which llama.cpp opens files."""
    return str(path).encode() if os.name == "nt" else os.fsencode(path)


def _refuse(context: Context, seq_id: int) -> NoReturn:
    lib.llama_memory_seq_rm(context.memory, seq_id, -1, -1)
    raise EngineError(
        "llama.cpp could not restore a sequence's state: another model, other cache types, or too few free cells",
        "Read the document again.",
    )


def _pointer(state: SequenceState) -> object:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
