"""A sequence of tokens in a context's cache."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from wim_edge.engine import state
from wim_edge.engine.batches import N_OUTPUTS, batches
from wim_edge.engine.protocols import Logits, SequenceState, Snapshot
from wim_edge.errors import EngineError

if TYPE_CHECKING:
    from wim_edge.engine.context import Context


class Sequence:
    """Implements `wim_edge.engine.protocols.Sequence`. Made by `Context.sequence` and `fork`."""

    def __init__(self, context: Context, seq_id: int) -> None:
        self.context, self.id = context, seq_id
        self.tokens: list[int] = []
        self.marks: dict[int, SequenceState] = {}
        """Partial states by position, for memories that cannot go back by position."""
        self.recovery: tuple[int, SequenceState | None] = (0, None)
        """The position that an interrupted batch returns to, and the partial state there."""
        self._logits: Logits | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def logits(self) -> Logits:
        if self._logits is None:
            last = self.tokens[-1]
            self.truncate(len(self) - 1)
            self.append([last])
        assert self._logits is not None
        return self._logits

    def append(self, tokens: Seq[int], rows: int = 1) -> Logits:
        """Implements `protocols.Sequence.append`, in batches of ``n_batch``."""
        n = len(tokens)
        if not 1 <= rows <= n:
            raise ValueError(f"{rows} rows of {n} tokens")
        self._check_open()
        chunks = batches(n, self.context.n_batch)
        if rows > N_OUTPUTS:  # no batch yields more rows
            plain = n - rows
            chunks = [*batches(plain, self.context.n_batch),
                      *((plain + start, plain + end) for start, end in batches(rows, N_OUTPUTS))]  # fmt: skip
        return np.concatenate([
            self.context.evaluate([(self, tokens[start:end], max(0, min(end - start, end - n + rows)))])
            for start, end in chunks
        ])  # fmt: skip

    def accept(self, tokens: Seq[int], logits: Logits | None) -> None:
        """Records that the cache now holds these tokens too."""
        start = len(self)
        self.tokens.extend(tokens)
        self._logits = logits
        self.context.rollback.after_decode(self, start)

    def fork(self, at: int | None = None) -> Self:
        at = self._position("fork at", len(self) if at is None else at)
        branch = type(self)(self.context, self.context.take_id())
        try:
            self.context.rollback.fork(self, branch, at)
        except BaseException:
            branch.close()
            raise
        if at == len(self):
            branch._logits = self._logits
        return branch

    def truncate(self, to: int) -> None:
        if self._position("truncate to", to) < len(self):
            self._logits = None
            self.context.rollback.truncate(self, to)

    def checkpoint(self) -> None:
        self.context.rollback.checkpoint(self)

    @property
    def nbytes(self) -> int:
        return state.size(self) + sum(mark.nbytes for mark in self.marks.values())

    def snapshot(self, into: Path | None = None) -> Snapshot:
        saved = state.get(self) if into is None else state.write(self, into)
        return Snapshot(tuple(self.tokens), saved, dict(self.marks), self._logits)

    def restore(self, snapshot: Snapshot) -> None:
        self.context.rollback.restore(self, snapshot)
        self._logits = snapshot.logits

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        self._check_open()
        return self.context.rollback.append_kept(self, snapshot, at)

    def forget(self, to: int) -> None:
        """Drops the record of tokens and marks from position ``to`` on; the caller clears the cache."""
        del self.tokens[to:]
        self.marks = {position: state for position, state in self.marks.items() if position <= to}
        self._logits = None

    def _position(self, what: str, at: int) -> int:
        if not 0 <= at <= len(self):
            raise ValueError(f"{what} {at} of {len(self)} tokens")
        self._check_open()
        return at

    def _check_open(self) -> None:
        """Raises EngineError if it is closed: llama.cpp would abort over its id."""
        if self.id < 0:
            raise EngineError("the sequence is closed", "Please report this.")

    def close(self) -> None:
        """Frees the cells; harmless if closed already."""
        if self.id >= 0 and not self.context.is_closed:
            self.context.rollback.erase(self)
            self.context.give_id(self.id)
        self.id = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
