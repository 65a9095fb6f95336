"""A sequence of tokens in a context's cache."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from wim_edge.engine.batches import batches
from wim_edge.engine.protocols import Interrupted, Logits, SequenceState, Snapshot
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
        """The position that an interrupted batch may return to, and the partial state there."""
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
        if not 1 <= rows <= len(tokens):
            raise ValueError(f"{rows} rows of {len(tokens)} tokens")
        self._check_open()
        kept = []
        for start, end in _chunks(len(tokens), rows, self.context.n_batch, self.context.N_OUTPUTS):
            chunk = tokens[start:end]
            wanted = max(0, min(len(chunk), end - (len(tokens) - rows)))
            if len(chunk) > 1:
                self.context.rollback.before_prefill(self)
            try:
                logits = self.context.decode([(self.id, len(self), chunk, wanted)])
            except Interrupted:
                self.context.rollback.recover(self, chunk)
                raise
            self.accept(chunk, logits[-1] if wanted else None)
            kept.append(logits)
        return np.concatenate(kept)

    def accept(self, tokens: Seq[int], logits: Logits | None) -> None:
        """Notes that the cache now holds these tokens too."""
        start = len(self)
        self.tokens.extend(tokens)
        self._logits = logits
        self.context.rollback.after_decode(self, start)

    def fork(self, at: int | None = None) -> Self:
        at = len(self) if at is None else at
        if not 0 <= at <= len(self):
            raise ValueError(f"fork at {at} of {len(self)} tokens")
        self._check_open()
        branch = type(self)(self.context, self.context.take_id())
        try:
            self.context.rollback.branch(self, branch, at)
        except BaseException:
            branch.close()
            raise
        if at == len(self):
            branch._logits = self._logits
        return branch

    def truncate(self, to: int) -> None:
        if not 0 <= to <= len(self):
            raise ValueError(f"truncate to {to} of {len(self)} tokens")
        self._check_open()
        if to == len(self):
            return
        self._logits = None
        self.context.rollback.cut(self, to)

    def checkpoint(self) -> None:
        self.context.rollback.mark(self)

    @property
    def nbytes(self) -> int:
        return self.context.rollback.state_size(self) + sum(mark.nbytes for mark in self.marks.values())

    def snapshot(self, into: Path | None = None) -> Snapshot:
        rollback = self.context.rollback
        state = rollback.get_state(self) if into is None else rollback.write_state(self, into)
        return Snapshot(tuple(self.tokens), state, dict(self.marks), self._logits)

    def restore(self, snapshot: Snapshot) -> None:
        self.context.rollback.set_state(self, snapshot)
        self._logits = snapshot.logits

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        self._check_open()
        return self.context.rollback.join(self, snapshot, at)

    def forget(self, to: int) -> None:
        """Drops the record of tokens and marks from position ``to`` on; the cache is the caller's business."""
        del self.tokens[to:]
        self.marks = {position: state for position, state in self.marks.items() if position <= to}
        self._logits = None

    def _check_open(self) -> None:
        """Raises EngineError if it is closed: llama.cpp would end the process over its id."""
        if self.id < 0:
            raise EngineError("the sequence is closed", "Please report this.")

    def close(self) -> None:
        """Frees the cells; harmless when closed already."""
        if self.id >= 0 and self.context.handle:
            self.context.rollback.erase(self)
            self.context.give_id(self.id)
        self.id = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _chunks(n: int, rows: int, n_batch: int, n_outputs: int) -> list[tuple[int, int]]:
    """Cuts n tokens into batches, so that no batch yields more than ``n_outputs`` rows of logits."""
    if rows <= n_outputs:
        return batches(n, n_batch)
    plain = n - rows
    return [*batches(plain, n_batch), *((plain + start, plain + end) for start, end in batches(rows, n_outputs))]
