"""The reading: segment by segment, score each, write a margin where it may matter, take it out again.

Writing in the Margins, section 3.2 (algorithm 1). The cache over time, deep reading in one window:

    [opening][segment 0]                                  prefill
    [opening][segment 0][question]                        on a fork: its likelihood (likelihood.py)
    [opening][segment 0][extract][margin 0]               on a fork, closed as soon as the margin is there
    [opening][segment 0][segment 1]                       the forks have left no trace
    ...
    [opening][segment 0] ... [segment n][margins][query][answer]

Shallow reading is the same with windows of one segment: the cache returns to the opening before each.
Where the library holds a window's beginning from an earlier reading, it is restored instead of
evaluated, and the sequence at each segment's end is a fork of it.
A margin is written where the segment would be chosen if the reading ended now; a method that judges
margins (`verdict`) has them written first, everywhere, as in the paper. Known segments take no time to
read: they are all scored first, and then those that are chosen get their margins together.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Iterator
from collections.abc import Sequence as Seq
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from wim_edge.engine.api import Context, Interrupted, Model, Sequence, Snapshot
from wim_edge.engine.batches import batches
from wim_edge.engine.sampling import Sampler
from wim_edge.errors import EngineError
from wim_edge.library import SavedReading, in_common
from wim_edge.settings import Settings
from wim_edge.wim import events
from wim_edge.wim.chat import ChatFormat
from wim_edge.wim.clock import Clock
from wim_edge.wim.control import Control, Decision, Policy
from wim_edge.wim.margins import TOGETHER, Margin, Writer
from wim_edge.wim.pattern import Choices
from wim_edge.wim.plan import Piece, Plan
from wim_edge.wim.relevance import Ranking, Relevance

_SAVE_EVERY = 60.0  # seconds: what a killed process loses at most, and the segment it was in,
_SAVE_SHARE = 20  # unless saving takes more than a twentieth of the time


@dataclass
class Reading:
    """One reading under way, its ``relevance`` opened; iterate `run`. Afterwards ``context_sequence``,
    ``ranking`` and ``margins`` hold what was read."""

    model: Model
    context: Context
    chat: ChatFormat
    plan: Plan
    settings: Settings
    choices: Choices
    sampler: Sampler
    relevance: Relevance | None
    control: Control
    clock: Clock
    policy: Policy | None = None
    saved: SavedReading | None = None
    """Where states come from and go to; None: nothing is saved."""
    margins: dict[int, events.MarginJudged] = field(default_factory=dict)
    """By segment."""
    kept: dict[int, Snapshot] = field(default_factory=dict)
    """Shallow reading: the states of the segments that would be chosen."""
    done: int = 0
    """Segments read, scored and, where it was due, given their margin."""
    read_tokens: int = 0
    """Document tokens evaluated, each counted once."""
    reread_tokens: int = 0
    """Document tokens evaluated again: to score a segment alone, or to answer from it."""
    reused_tokens: int = 0
    """Document tokens that were restored."""
    window: int = 0
    """The window being read."""
    context_sequence: Sequence | None = None
    """System text and what has been read of the last window; None before the first."""
    _held: Sequence | None = None
    """What was restored of this window, while it reaches further than ``context_sequence``."""
    _state: Snapshot | None = None
    """What `_held` was restored from, as long as nothing of this window was evaluated."""
    _grown: bool = False
    """Whether anything of this window was evaluated, and so is worth saving."""
    _looked: int = 0
    """Up to this position segments are measured already, and counted."""
    _due: dict[int, int] = field(default_factory=dict)
    """Known segments that wait for their margins, and the positions of their ends."""
    _save_at: float = field(default_factory=lambda: time.monotonic() + _SAVE_EVERY)

    def __post_init__(self) -> None:
        self.writer = Writer(
            self.model, self.context, self.plan, self.choices, self.sampler, self.chat.stops, self.clock
        )
        n_segments = len(self.plan.segments)
        self.ranking = self.relevance.ranking(n_segments) if self.relevance else Ranking(n_segments)

    def run(self) -> Iterator[events.Event]:
        """Read until the end, or until the reader or the policy asks for the answer.

        Raises Interrupted when the reader does; what was read until then is kept.
        """
        try:
            for number, window in enumerate(self.plan.windows):
                self.window = number
                self._open_window(window)
                try:
                    yield from self._read(window)
                except (Interrupted, GeneratorExit):
                    self._save(window)
                    raise
                self._save(window)
            yield from self._write_due()
        finally:
            self._close_held()
            if self.saved is not None:
                self.saved.close(self.read_tokens + self.reused_tokens)

    def _read(self, window: Seq[Piece]) -> Iterator[events.Event]:
        yield from self._look_back(window)
        for piece in window:
            index, known = self.done, self._is_known(piece)
            if not known:
                yield from self._write_due()
            if self._needs_reading:
                yield from self._prefill(piece)
                yield self._segment_read(index, piece)
            if self.relevance is not None:
                yield from self._judge(index, piece, self.relevance, known)
            self.done += 1
            if time.monotonic() > self._save_at:
                self._save(window)
            self.control.check()
        if self.choices.pattern.deep:
            yield from self._write_due()

    def chosen(self) -> list[int]:
        """Segments that the answer would draw on if the reading ended now, most relevant first."""
        return self.ranking.chosen(self.choices.max_passages, self.settings.relevance_threshold)

    def close(self) -> None:
        for sequence in (self._held, self.context_sequence):
            if sequence is not None:
                sequence.close()

    @property
    def _needs_reading(self) -> bool:
        pattern = self.choices.pattern
        return pattern.deep or pattern.margins or self.relevance is None or self.relevance.reads

    # The cache: restored where the text is known, else evaluated

    def _open_window(self, window: Seq[Piece]) -> None:
        """A sequence of the opening alone, which is evaluated once and kept across windows; and what the
        library knows of the window, held beside it."""
        with self.clock.stage("prefill"):
            self._close_held()
            if self.context_sequence is None:
                self.context_sequence = self.context.sequence()
                self.context_sequence.append(self.plan.opening)
                self.context_sequence.checkpoint()
            else:
                self.context_sequence.truncate(len(self.plan.opening))
        # Before anything is restored: what is measured here is then the same, to the last bit, as without it
        if self.relevance is not None:
            with self.clock.stage("relevance"):
                self.relevance.window(self.context_sequence)
        self._grown, self._state, self._looked = False, None, 0
        with self.clock.stage("restore"):
            self._restore(window)

    def _restore(self, window: Seq[Piece]) -> None:
        """Hold what the library knows of the window."""
        known, sequence = self._known(window), self._sequence
        if known is None or self.saved is None:
            return
        try:
            sequence.restore(known)
            sequence.truncate(in_common(known.tokens, self._tokens(window)))
            self._held, self.context_sequence = sequence, sequence.fork(len(self.plan.opening))
            self._state = known
        except EngineError as error:
            self.saved.refused(error)
            sequence.close()
            self.context_sequence = self.context.sequence()
            self.context_sequence.append(self.plan.opening)
            self.context_sequence.checkpoint()

    def _look_back(self, window: Seq[Piece]) -> Iterator[events.Event]:
        """Measure the segments that are known from the last to the first, and let go of each: then the question
        stands in the very cells where it stood when the text was read, and its sums round alike."""
        relevance, held = self.relevance, self._held
        if held is None or relevance is None or not (relevance.reads and self.choices.pattern.deep):
            return
        whole = len(held)
        known = [(piece, end) for piece, end in zip(window, self._ends(window), strict=True) if end <= whole]
        if not known:
            return
        self._looked = known[-1][1]
        reused = self.reused_tokens + sum(len(piece.segment.tokens) for piece, _ in known)
        try:
            for piece, end in reversed(known):
                held.truncate(end)
                with self.clock.stage("relevance"):
                    relevance.look(held)
                self.reused_tokens += len(piece.segment.tokens)
                yield self._progress()
                self.control.check()
        except Interrupted:
            self._put_back(self._looked)  # the answer may be given from all that is known
            self.reused_tokens = reused
            raise
        self._put_back(whole)
        self._held, self.context_sequence = self._sequence, self._sequence.fork(len(self.plan.opening))

    def _put_back(self, n: int) -> None:
        """Have the sequence hold the window's first ``n`` tokens again."""
        self.close()
        self._held, self.context_sequence = None, self.context.sequence()
        try:
            if self._state is None:
                raise EngineError("nothing was restored")
            with self.clock.stage("restore"):
                self._sequence.restore(self._state)
                self._sequence.truncate(n)
        except EngineError:  # another process has let go of the file meanwhile
            self._state = None
            self._sequence.close()
            self.context_sequence = self.context.sequence()
            with self.clock.stage("prefill"):
                self._sequence.append(self._tokens(self.plan.windows[self.window])[:n])
            self.reread_tokens += n - len(self.plan.opening)

    def _is_known(self, piece: Piece) -> bool:
        """Whether no token of it has to be evaluated."""
        return self._held is not None and len(self._sequence) + piece.size <= len(self._held)

    def _prefill(self, piece: Piece) -> Iterator[events.Event]:
        """Bring the sequence to the segment's end."""
        begin, held = len(self._sequence), self._held
        if held is not None:
            restored, last = min(len(held) - begin, piece.size), begin + piece.size >= len(held)
            restored = 0 if begin + piece.size <= self._looked else restored
            longer = held if last else held.fork(begin + piece.size)  # which may be interrupted
            self._sequence.close()
            self.context_sequence, self._held = longer, None if last else held
            self.reused_tokens += max(0, restored - len(piece.lead))
            yield self._progress()
        tokens, lead = [*piece.lead, *piece.segment.tokens], len(piece.lead)
        sequence = self._sequence
        done = len(sequence) - begin
        for first, end in batches(len(tokens) - done, self.context.n_batch):
            start, before = done + first, len(sequence)
            self._grown, self._state = True, None
            try:
                with self.clock.stage("prefill"):
                    sequence.append(tokens[start : done + end])
            finally:
                evaluated = len(sequence) - before
                self.read_tokens += max(0, start + evaluated - max(start, lead)) if evaluated > 0 else 0
            yield self._progress()
        if self.saved is not None:
            sequence.checkpoint()

    def _progress(self) -> events.Event:
        return events.ReadingProgress(self.read_tokens + self.reused_tokens, self.plan.tokens)

    def _known(self, window: Seq[Piece]) -> Snapshot | None:
        """What the library holds of this window's beginning."""
        if self.saved is None or not self._needs_reading:
            return None
        return self.saved.find(self._tokens(window), self._ends(window), self.plan.n_ctx - self.plan.reserved)

    def _save(self, window: Seq[Piece]) -> None:
        """Give the library what was evaluated of this window."""
        if self.saved is not None and self._grown and len(self._sequence) > len(self.plan.opening):
            begun = time.monotonic()
            with self.clock.stage("save"):
                self.saved.save(self._sequence, self._ends(window))
            self._grown, now = False, time.monotonic()
            self._save_at = now + max(_SAVE_EVERY, _SAVE_SHARE * (now - begun))

    def _close_held(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def _tokens(self, window: Seq[Piece]) -> list[int]:
        """All of a window, from the opening on."""
        return [*self.plan.opening, *(t for piece in window for t in (*piece.lead, *piece.segment.tokens))]

    def _ends(self, window: Seq[Piece]) -> list[int]:
        """The positions of its segments' ends."""
        return list(itertools.accumulate((piece.size for piece in window), initial=len(self.plan.opening)))[1:]

    # Relevance and margins

    def _judge(self, index: int, piece: Piece, relevance: Relevance, known: bool) -> Iterator[events.Event]:
        """Score the segment just read; write its margin where one is due, or have it wait."""
        margins, deep = self.choices.pattern.margins, self.choices.pattern.deep
        if margins and relevance.of_margins:
            self._due[index] = len(self._sequence)
            if not (known and deep) or len(self._due) == TOGETHER:
                yield from self._write_due()
            return
        yield from self._score(index, piece, relevance, None)
        if index in self.chosen() and margins:
            self._due[index] = len(self._sequence)
            if not known:
                yield from self._write_due()

    def _score(
        self, index: int, piece: Piece, relevance: Relevance, margin: Margin | None
    ) -> Iterator[events.Event]:
        with self.clock.stage("relevance"):
            before = relevance.evaluated_tokens
            score = relevance.score(index, self._sequence, margin.text if margin else piece.segment.text)
        if score is not None:
            self.ranking.scores[index] = score
        if margin is None and relevance.evaluated_tokens > before:
            yield from self._evaluated(piece)
        rank = None if score is None else self.ranking.order().index(index) + 1
        yield events.SegmentScored(index, self.ranking.relevance(index), rank)
        if not self.choices.pattern.deep and self._needs_reading and index in self.chosen():
            self._keep(index)

    def _evaluated(self, piece: Piece) -> Iterator[events.Event]:
        """The relevance has put the segment into a sequence of its own."""
        if self._needs_reading:
            self.reread_tokens += len(piece.segment.tokens)
        else:
            self.read_tokens += len(piece.segment.tokens)
            yield events.ReadingProgress(self.read_tokens, self.plan.tokens)

    def _keep(self, index: int) -> None:
        """The states of the segments that would be chosen now, and no others."""
        chosen = self.chosen()
        self.kept = {segment: state for segment, state in self.kept.items() if segment in chosen}
        self.kept[index] = self._sequence.snapshot()

    def _write_due(self) -> Iterator[events.Event]:
        """As `write_due`, until the reader or the policy stops it."""
        with closing(self.write_due()) as written:
            for event in written:
                self.control.check()
                yield event

    def write_due(self) -> Generator[events.Event, None, None]:
        """Write the margins that wait, the most relevant first, together where they fit; those no longer
        chosen are not wanted."""
        wanted = list(self._due) if self._judges else [index for index in self.chosen() if index in self._due]
        due, self._due = [(index, self._due[index]) for index in wanted], {}  # who stops here wants no more of them
        # Quotations of a known text are looked for where they were when it was read: with nothing after their segment
        deep = self.choices.pattern.deep and self._state is not None and self._held is None
        rewinds = bool(due) and deep and self.choices.verbatim
        with ExitStack() as rewound:
            if rewinds:
                rewound.callback(self._put_back, len(self._sequence))
            yield from self._write_each(due, rewinds)

    @property
    def _judges(self) -> bool:
        """Whether relevance is that of margins."""
        return self.relevance is not None and self.relevance.of_margins

    def _write_each(self, due: Seq[tuple[int, int]], rewinds: bool) -> Iterator[events.Event]:
        while due:
            group = due[: 1 if rewinds else self._at_once([index for index, _ in due])]
            due = due[len(group) :]
            if rewinds:
                end = group[0][1]
                if end > len(self._sequence):
                    self._put_back(end)
                self._sequence.truncate(end)
            with ExitStack() as stack:
                branches = self._branches(group, stack)
                for index, written in self.writer.write([index for index, _ in group], branches):
                    if isinstance(written, str):
                        yield events.MarginDelta(index, written)
                        continue
                    piece = self.plan.segments[index]
                    if self._judges and self.relevance is not None:
                        yield from self._score(index, piece, self.relevance, written)
                    yield from self._judged(index, piece, written)

    def _at_once(self, due: Seq[int]) -> int:
        """How many of these margins the cache takes beside each other; one always."""
        deep = self.choices.pattern.deep
        used = max(len(self._sequence), len(self._held or ())) if deep else 0
        for n, index in enumerate(due):
            state = 0 if deep else len(self.plan.opening) + self.plan.segments[index].size
            used += state + self.writer.cells
            if n == self.writer.at_once or (n and used > self.plan.n_ctx - self.plan.reserved):
                return n
        return len(due)

    def _branches(self, group: Seq[tuple[int, int]], stack: ExitStack) -> list[Sequence]:
        """For each segment a sequence that ends with it, to be written to; the stack closes them."""
        found: list[Sequence] = []
        for index, end in group:
            source = self._sequence
            if not self.choices.pattern.deep and index != self.done:  # others were read since: put it back
                if found:
                    source = stack.enter_context(self.context.sequence())
                else:
                    stack.callback(source.truncate, len(self.plan.opening))
                with self.clock.stage("restore"):
                    source.restore(self.kept[index])
            found.append(source if source is not self._sequence else stack.enter_context(source.fork(end)))
        return found

    def _judged(self, index: int, piece: Piece, margin: Margin) -> Iterator[events.Event]:
        document = self.plan.documents[piece.segment.document]
        chars = (piece.segment.start, piece.segment.end)
        place = document.place(*(margin.quote or chars))
        fields = (
            index, document.name, place.page, place.section, chars, margin.text, margin.quote,
            self.ranking.relevance(index), bool(margin.text) and index in self.chosen(),
        )  # fmt: skip
        yield events.MarginWritten(*fields)
        judged = events.MarginJudged(*fields)
        self.margins[index] = judged
        yield judged
        if self.policy is not None:
            self.control.ask_for(self.policy(judged) or Decision.GO_ON)

    def _segment_read(self, index: int, piece: Piece) -> events.SegmentRead:
        segment = piece.segment
        document = self.plan.documents[segment.document]
        place = document.place(segment.start, segment.end)
        return events.SegmentRead(
            index,
            len(self.plan.segments),
            document.name,
            place.page,
            place.section,
            place.chars,
            len(segment.tokens),
        )

    @property
    def _sequence(self) -> Sequence:
        assert self.context_sequence is not None
        return self.context_sequence
