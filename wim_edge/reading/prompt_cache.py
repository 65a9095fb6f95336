"""The prompt cache: windows of text, restored from a saved reading or evaluated and saved. The restored part of a
window is a sequence of its own; until this part is read, the reading's sequence is its fork."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from wim_edge.engine.batches import batches
from wim_edge.engine.protocols import Context, Sequence, Snapshot
from wim_edge.errors import EngineError
from wim_edge.library import SavedReading, common_prefix_length
from wim_edge.reading import events
from wim_edge.reading.plan import Plan, PlannedSegment
from wim_edge.reading.timings import Timings

_SAVE_EVERY, _SAVE_OFTEN = 60.0, 10.0  # seconds between saves; the second in a process that may be killed
_SAVE_SHARE = 20  # saving takes at most a twentieth of the time
_EVALUATED = 16  # first tokens of a joined passage to evaluate again: much attended to, they must see the text before


@dataclass
class PromptCache:
    """Puts a window of the text into the context: `open` it, `restore` what was saved of it, `read` its segments."""

    context: Context
    plan: Plan
    clock: Timings
    saved: SavedReading | None
    """The states of this text on disk; None: nothing is restored or saved."""
    may_be_killed: bool
    """True if the process may be killed, as when other machines take part (RPC). States are then saved more often."""
    number: int = -1
    """The number of the window that is being read; -1: none yet."""
    read_tokens: int = 0
    """The number of document tokens that were evaluated for the first time."""
    reread_tokens: int = 0
    """The number of document tokens that were evaluated again, to score a segment alone or to answer from it."""
    reused_tokens: int = 0
    """The number of document tokens that were restored from the saved reading."""
    _sequence: Sequence | None = None
    _held: Sequence | None = None
    """A sequence with the restored part of the current window; None without one, or if `sequence` is as long."""
    _grown: bool = False
    """True if tokens of the current window were evaluated since the last save."""
    _save_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._save_every = _SAVE_OFTEN if self.may_be_killed else _SAVE_EVERY
        self._save_at = time.monotonic() + self._save_every

    @property
    def sequence(self) -> Sequence:
        """The reading's sequence: the opening, and the current window as far as it is read."""
        assert self._sequence is not None
        return self._sequence

    @property
    def pieces(self) -> tuple[PlannedSegment, ...]:
        return self.plan.windows[self.number]

    def open(self, number: int) -> None:
        """Begins window ``number``: truncates the sequence to the opening, which is evaluated once for all windows."""
        self.number, self._grown = number, False
        with self.clock.stage("prefill"):
            self.release_restored()
            if self._sequence is None:
                self._begin()
            else:
                self._sequence.truncate(len(self.plan.prefix))

    def restore(self) -> None:
        """Restores the part of the current window that is saved, so that `read` need not evaluate this part."""
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
        """Returns whether ``piece``, the next segment, is restored as a whole, so that `read` evaluates nothing."""
        return self._held is not None and len(self.sequence) + piece.size <= len(self._held)

    def read(self, piece: PlannedSegment) -> Iterator[events.Event]:
        """Appends the segment ``piece`` to the sequence; evaluates what is not restored. Yields ReadingProgress."""
        begin, held = len(self.sequence), self._held
        tokens, lead = piece.tokens, len(piece.heading_tokens)
        if held is not None:
            restored, last = min(len(held) - begin, piece.size), begin + piece.size >= len(held)
            longer = held if last else held.fork(begin + piece.size)  # may raise Interrupted
            self.sequence.close()
            self._sequence, self._held = longer, None if last else held
            self.reused_tokens += max(0, restored - lead)
            yield self._progress()
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
        """Saves the state of the current window on disk, if tokens were evaluated since the last save."""
        if self.saved is not None and self._grown and len(self.sequence) > len(self.plan.prefix):
            begun = time.monotonic()
            with self.clock.stage("save"):
                self.saved.save(self.sequence, self._ends(self.number))
            self._grown, now = False, time.monotonic()
            self._save_at = now + max(self._save_every, _SAVE_SHARE * (now - begun))

    def retain(self, left: Iterable[int]) -> int:
        """Keeps other windows' states on disk. Returns how many document tokens of windows ``left`` are saved."""
        if self.saved is None:
            return 0
        later = {number for number in left if number != self.number}
        # This reading may have saved a longer state of a window with several segments: the old one is not needed
        numbers = [number for number, pieces in enumerate(self.plan.windows) if len(pieces) == 1 or number in later]
        windows = ((number, self._tokens(number), self._ends(number)) for number in numbers)
        return sum(
            len(piece.segment.tokens)
            for number, known in self.saved.retain(windows).items() if number in later
            for piece, end in zip(self.plan.windows[number], self._ends(number), strict=True) if end <= known
        )  # fmt: skip

    def save_when_due(self) -> None:
        """Saves the current window if the last save was long ago, so that a killed process loses little."""
        if time.monotonic() > self._save_at:
            self.save()

    def release_restored(self) -> None:
        """Closes the sequence with the restored part of the window. The reading's own sequence remains."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def filled(
        self, passages: Mapping[int, list[int]], kept: Mapping[int, Snapshot], n_blank: int, room: int, *, beside: bool
    ) -> Sequence:
        """Returns a sequence with the opening and ``passages`` (tokens by segment), the first without its ``n_blank``
        tokens of a blank line. Those with a snapshot in ``kept`` are restored or joined. ``beside``: True
        for a fork of the reading's sequence, if there is room. ``room``: tokens to keep free. Raises Interrupted."""
        plan, sequence, used = self.plan, self.sequence, list(passages)
        n_tokens = len(plan.prefix) + sum(map(len, passages.values())) + room + plan.reserved
        if beside and len(sequence) + n_tokens <= self.context.n_ctx:
            sequence = sequence.fork(len(plan.prefix))
        elif used and used[0] in kept:
            sequence.restore(kept[used.pop(0)])
        else:
            sequence.truncate(len(plan.prefix))
        for index in used:
            passage = passages[index][n_blank if len(sequence) == len(plan.prefix) else 0 :]
            length = len(plan.segments[index].segment.tokens)
            rest = max(0, length - _EVALUATED)
            again = len(passage) - rest
            sequence.append(passage[:again])
            self.reread_tokens += length - rest
            if rest and not _joined(sequence, kept.get(index), passage[again:]):
                sequence.append(passage[again:])
                self.reread_tokens += rest
        return sequence

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
        """Returns the tokens of the opening and of window ``number``."""
        return [*self.plan.prefix, *(token for piece in self.plan.windows[number] for token in piece.tokens)]

    def _ends(self, number: int) -> list[int]:
        """Returns the positions, in tokens of the sequence, where the segments of window ``number`` end."""
        sizes = (piece.size for piece in self.plan.windows[number])
        return list(itertools.accumulate(sizes, initial=len(self.plan.prefix)))[1:]


def _joined(sequence: Sequence, kept: Snapshot | None, rest: list[int]) -> bool:
    """Appends a passage's last tokens, ``rest``, from its snapshot, without evaluating them. If that is not possible,
    appends nothing and returns False."""
    at = len(kept.tokens) - len(rest) if kept else 0
    return kept is not None and kept.tokens[at:] == tuple(rest) and sequence.append_kept(kept, at)
