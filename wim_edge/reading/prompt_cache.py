"""The text in the cache, window by window: restored where a saved reading has it, else evaluated, and saved.

In a deep reading the known part is held beside the sequence, which is a fork of it at each segment's end:
nothing has to be evaluated to get there.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wim_edge.engine.batches import batches
from wim_edge.engine.protocols import Context, Sequence
from wim_edge.errors import EngineError
from wim_edge.library import SavedReading, common_prefix_length
from wim_edge.reading import events
from wim_edge.reading.plan import Plan, PlannedSegment
from wim_edge.reading.timings import Timings

_SAVE_EVERY = 60.0  # seconds: what a killed process loses at most, and the segment it was in,
_SAVE_OFTEN = 10.0  # where the process is at risk,
_SAVE_SHARE = 20  # unless saving takes more than a twentieth of the time


@dataclass
class PromptCache:
    """The text being read, in the cache. `open` a window, `restore` its known part, `read` its pieces."""

    context: Context
    plan: Plan
    clock: Timings
    saved: SavedReading | None = None
    """The saved reading that states come from and go to; None: nothing is saved."""
    may_be_killed: bool = False
    """True if other machines may end this process: the reading is saved more often then."""
    number: int = -1
    """The window being read, by its number in the plan; -1: none yet."""
    read_tokens: int = 0
    """The document tokens evaluated, each counted once."""
    reread_tokens: int = 0
    """The document tokens evaluated again: to score a segment alone, or to answer from it."""
    reused_tokens: int = 0
    """The document tokens that were restored."""
    _sequence: Sequence | None = None
    _held: Sequence | None = None
    """The restored part of this window, while it reaches further than the sequence."""
    _grown: bool = False
    """True if any part of this window was evaluated, and so is worth saving."""
    _save_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._save_at = time.monotonic() + self._save_every

    @property
    def _save_every(self) -> float:
        return _SAVE_OFTEN if self.may_be_killed else _SAVE_EVERY

    @property
    def sequence(self) -> Sequence:
        """The system text and the part of this window that has been read."""
        assert self._sequence is not None
        return self._sequence

    @property
    def pieces(self) -> tuple[PlannedSegment, ...]:
        return self.plan.windows[self.number]

    def open(self, number: int) -> None:
        """Makes the sequence hold the opening alone, which is evaluated once and kept across windows."""
        self.number, self._grown = number, False
        with self.clock.stage("prefill"):
            self.release_restored()
            if self._sequence is None:
                self._begin()
            else:
                self._sequence.truncate(len(self.plan.prefix))

    def restore(self) -> None:
        """Restores the beginning of the window as far as a saved reading has it, and holds it."""
        if self.saved is None:
            return
        with self.clock.stage("restore"):
            tokens, sequence = self._tokens(self.number), self.sequence
            known = self.saved.find(tokens, self._ends(self.number), self.plan.n_ctx - self.plan.reserved)
            if known is None:
                return
            try:
                sequence.restore(known)
                sequence.truncate(common_prefix_length(known.tokens, tokens))
                self._held, self._sequence = sequence, sequence.fork(len(self.plan.prefix))
            except EngineError as error:
                self.saved.refused(error)
                sequence.close()
                self._begin()

    def is_cached(self, piece: PlannedSegment) -> bool:
        """Tells whether no token of the piece, which is next, has to be evaluated."""
        return self._held is not None and len(self.sequence) + piece.size <= len(self._held)

    def read(self, piece: PlannedSegment) -> Iterator[events.Event]:
        """Brings the sequence to the segment's end; yields the progress."""
        begin, held = len(self.sequence), self._held
        if held is not None:
            restored, last = min(len(held) - begin, piece.size), begin + piece.size >= len(held)
            longer = held if last else held.fork(begin + piece.size)  # which may be interrupted
            self.sequence.close()
            self._sequence, self._held = longer, None if last else held
            self.reused_tokens += max(0, restored - len(piece.heading_tokens))
            yield self._progress()
        tokens, lead = [*piece.heading_tokens, *piece.segment.tokens], len(piece.heading_tokens)
        sequence = self.sequence
        done = len(sequence) - begin
        for first, end in batches(len(tokens) - done, self.context.n_batch):
            start, before = done + first, len(sequence)
            self._grown = True
            try:
                with self.clock.stage("prefill"):
                    sequence.append(tokens[start : done + end])
            finally:
                evaluated = len(sequence) - before
                self.read_tokens += max(0, start + evaluated - max(start, lead)) if evaluated > 0 else 0
            yield self._progress()
        if self.saved is not None:
            sequence.checkpoint()

    def save(self) -> None:
        """Saves the evaluated part of this window as a reading."""
        if self.saved is not None and self._grown and len(self.sequence) > len(self.plan.prefix):
            begun = time.monotonic()
            with self.clock.stage("save"):
                self.saved.save(self.sequence, self._ends(self.number))
            self._grown, now = False, time.monotonic()
            self._save_at = now + max(self._save_every, _SAVE_SHARE * (now - begun))

    def retain(self, left: Iterable[int]) -> int:
        """Keeps what saved readings have of windows that were not restored; returns the document tokens known of those
        that are ``left``, by their numbers."""
        if self.saved is None:
            return 0
        later = {number for number in left if number != self.number}
        # A state of a window in several segments may have been continued: it is needed no more
        numbers = [number for number, pieces in enumerate(self.plan.windows) if len(pieces) == 1 or number in later]
        windows = ((number, self._tokens(number), self._ends(number)) for number in numbers)
        return sum(
            len(piece.segment.tokens)
            for number, known in self.saved.retain(windows).items() if number in later
            for piece, end in zip(self.plan.windows[number], self._ends(number), strict=True) if end <= known
        )  # fmt: skip

    def save_when_due(self) -> None:
        """Saves once enough time has passed, so that a killed process loses little."""
        if time.monotonic() > self._save_at:
            self.save()

    def release_restored(self) -> None:
        """Frees the held part of the text that is still to come; the part in the sequence remains."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def close(self) -> None:
        self.release_restored()
        if self._sequence is not None:
            self._sequence.close()

    def _begin(self) -> None:
        self._sequence = self.context.sequence()
        self._sequence.append(self.plan.prefix)
        self._sequence.checkpoint()

    def _progress(self) -> events.Event:
        return events.ReadingProgress(self.read_tokens + self.reused_tokens, self.plan.tokens)

    def _tokens(self, number: int) -> list[int]:
        """Returns the tokens of a whole window, from the opening on."""
        pieces = self.plan.windows[number]
        text = (token for piece in pieces for token in (*piece.heading_tokens, *piece.segment.tokens))
        return [*self.plan.prefix, *text]

    def _ends(self, number: int) -> list[int]:
        """Returns the positions of the ends of a window's segments."""
        sizes = (piece.size for piece in self.plan.windows[number])
        return list(itertools.accumulate(sizes, initial=len(self.plan.prefix)))[1:]
