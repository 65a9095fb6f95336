"""The reading: each segment is read and scored, and given a margin if it may matter, which is then taken out again.

Writing in the Margins, section 3.2 (algorithm 1). The cache over time, deep reading in one window:

    [opening][segment 0]                                  prefill
    [opening][segment 0][question]                        on a fork: its likelihood (likelihood.py)
    [opening][segment 0][extract][margin 0]               on a fork, closed as soon as the margin is there
    [opening][segment 0][segment 1]                       the forks have left no trace
    ...
    [opening][segment 0] ... [segment n][margins][query][answer]

Shallow reading is the same with windows of one segment, the promising ones first (outlook.py): the cache returns to the
opening before each.
If the library holds a window's beginning from an earlier reading, that is restored instead of
evaluated, and the sequence at each segment's end is a fork of it.
A margin is written if the segment would be chosen at this point; for a method that judges
margins (`verdict`) they are written first, everywhere, as in the paper. Known segments take no time to
read: all of them are scored first, and then the chosen ones get their margins.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator
from collections.abc import Sequence as Seq
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

from wim_edge.engine.protocols import Context, Interrupted, Model, Sequence, Snapshot
from wim_edge.engine.sampling import Sampler
from wim_edge.library import SavedReading
from wim_edge.reading import events
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.control import Control, Decision, Policy
from wim_edge.reading.margins import Margin, MarginWriter
from wim_edge.reading.plan import Plan, PlannedSegment
from wim_edge.reading.pointing import Pointed
from wim_edge.reading.prompt_cache import PromptCache
from wim_edge.reading.ranking import Ranking
from wim_edge.reading.relevance.relevance import Relevance
from wim_edge.reading.resolved_settings import ResolvedSettings
from wim_edge.reading.similarity import Similarity
from wim_edge.reading.timings import Timings
from wim_edge.support import SupportWeights
from wim_edge.within import Within

_NEAREST = 2
"""The most passages, if no segment was judged relevant."""
_OF_A_LIST = 6
"""The most passages in which the items of a list are looked for."""


@dataclass
class Reading:
    """A reading under way, with its ``relevance`` opened; iterate `run`. Afterwards ``cache``, ``ranking`` and
    ``margins`` hold the outcome."""

    model: Model
    context: Context
    chat: ChatFormat
    plan: Plan
    resolved: ResolvedSettings
    sampler: Sampler
    relevance: Relevance | None
    control: Control
    clock: Timings
    policy: Policy | None = None
    saved: SavedReading | None = None
    """The saved reading that states come from and go to; None: nothing is saved."""
    support: SupportWeights = field(default_factory=SupportWeights)
    """The weights of the evidence for an answer, for this model."""
    similarity: Similarity | None = None
    """The similarities that tell beforehand which segments are near to the question; None: their words alone do."""
    margins: dict[int, events.MarginJudged] = field(default_factory=dict)
    """The margins by segment."""
    pointed: dict[int, Pointed] = field(default_factory=dict)
    """The runs that the model points at, by segment, of the segments with a quotation."""
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    """The states of the segments that would be chosen, in shallow reading."""
    n_read: int = 0
    """The number of segments read, scored and, where it was due, given their margin."""
    is_spent: bool = False
    """True if the reading ended because its limit was reached."""
    reads_on: bool = False
    """True if the reading goes on where it ended, until another segment is the best or all are read."""
    _done_tokens: int = 0
    _at: int = -1
    """The segment that the sequence ends with, while that is looked at; -1: none."""
    _pending: dict[int, int] = field(default_factory=dict)
    """The known segments that wait for their margins, and the positions of their ends."""

    def __post_init__(self) -> None:
        may_be_killed = self.resolved.settings.rpc is not None
        self.cache = PromptCache(self.context, self.plan, self.clock, self.saved, may_be_killed)
        self.writer = MarginWriter(
            self.model, self.context, self.plan, self.resolved, self.sampler, self.chat.stops, self.clock
        )
        self._within, self._begun = Within.parse(self.resolved.settings.within), time.monotonic()
        if self.kind == "list" and self._within.unread is not None:
            self._within = replace(self._within, unread=0.0)  # that another segment is better does not tell of all
        ahead = self.plan.outlook
        self._outlook = ahead and replace(ahead, adapted=self._asks_adapter)
        self._left, self._best = deque(self.plan.order), -1
        n_segments = len(self.plan.segments)
        self.ranking = self.relevance.ranking(n_segments, self._outlook) if self.relevance else Ranking(n_segments)

    def run(self) -> Iterator[events.Event]:
        """Reads until the end, or until the reader or the policy asks for the answer.

        Raises Interrupted if the reader interrupts it; the text read until then is kept.
        """
        self._begun, self._best, self.is_spent = time.monotonic(), next(iter(self.chosen()), -1), False
        try:
            while self._left and not self.is_spent:
                if self.similarity is not None and self.similarity.is_due(self._left[0], self.n_read):
                    yield from self._look_ahead(self.similarity)
                self._open(self._left[0])
                try:
                    yield from self._read()
                except (Interrupted, GeneratorExit):
                    self.cache.save()
                    raise
                self.cache.save()
                self._left.popleft()
            yield from self._write_waiting()
        finally:
            self.cache.release_restored()
            if self.saved is not None:
                self.saved.close(self.cache.read_tokens + self.cache.reused_tokens + self.cache.retain(self._left))

    def _look_ahead(self, similarity: Similarity) -> Iterator[events.Event]:
        """Embeds what is read and the most promising segments not embedded yet, and orders the rest anew."""
        read = sorted(set(range(len(self.plan.segments))).difference(self._left))
        unknown = similarity.unknown([*read, *self._left])
        texts = {number: self.plan.segments[number].text for number in unknown}
        for done in self.clock.each("embed", similarity.measure(texts, self.control.check)):
            yield events.SegmentsEmbedded(done, len(unknown))
        if self._outlook is not None:
            self._outlook = self._outlook.nearer(similarity.found)
            left = set(self._left)
            self._left = deque(number for number in self._outlook.order if number in left)
            if self.ranking.outlook is not None:
                self.ranking.outlook = self._outlook
            yield events.ReadingOrder(self._outlook.order)

    def _open(self, number: int) -> None:
        self.cache.open(number)
        if self.relevance is not None:
            with self.clock.stage("relevance"):
                self.relevance.begin_window(self.cache.sequence)
        if self._needs_reading:
            self.cache.restore()

    def _read(self) -> Iterator[events.Event]:
        cache, relevance = self.cache, self.relevance
        for index, piece in enumerate(cache.pieces, self.plan.first[cache.number]):
            known = cache.is_cached(piece)
            if not known:
                yield from self._write_waiting()
            if self._needs_reading:
                yield from cache.read(piece)
            if self._needs_reading or (relevance is not None and relevance.uses_own_model):
                yield self._segment_read(index, piece)
            self._at = index
            if relevance is not None:
                yield from self._assess(index, piece, relevance, known)
            self._at = -1
            self.n_read += 1
            self._done_tokens += len(piece.segment.tokens)
            if relevance is not None and relevance.uses_own_model and not self._needs_reading:
                yield events.ReadingProgress(self._done_tokens, self.plan.tokens)
            cache.save_when_due()
            self.control.check()
            if self.is_enough():
                break
        if self.resolved.pattern.deep:
            yield from self._write_waiting()

    def is_enough(self) -> bool:
        """Tells whether segments are left although the limit of the reading is reached."""
        if self.n_read == len(self.plan.segments):
            return False
        if self.reads_on:
            self.is_spent = next(iter(self.chosen()), -1) != self._best
            return self.is_spent
        following = self.n_read if self.resolved.pattern.deep or len(self._left) < 2 else self._left[1]
        share = (self._done_tokens + len(self.plan.segments[following].segment.tokens)) / self.plan.tokens
        seconds = time.monotonic() - self._begun
        self.is_spent = self._within.is_spent(seconds, share, self.n_read, self.unread)
        return self.is_spent

    @property
    def unread(self) -> float | None:
        """The probability that a segment not read yet answers better; None: nothing is known of those."""
        return 0.0 if self.n_read == len(self.plan.segments) else self.ranking.unread()

    @property
    def kind(self) -> str:
        """The kind of answer that is wanted, one of `wim_edge.settings.ANSWERS`; auto: the model tells."""
        return self.resolved.settings.answer

    @property
    def may_read_on(self) -> bool:
        """Tells whether segments are left that can be read after the answer."""
        return self.relevance is not None and not self.resolved.pattern.deep and bool(self._left)

    def chosen(self) -> list[int]:
        """Returns the segments that the answer would draw on if the reading ended now, most relevant first."""
        chosen = self._relevant()
        # What is pointed at may turn out to be no answer, which is said: the nearest passage is wanted all the same
        return chosen if chosen or self.resolved.prose else self.ranking.without_verdict()[:1]

    def nearest(self) -> list[int]:
        """Returns the passages that the answer is given from if none is chosen, most relevant first."""
        return self.ranking.without_verdict()[: min(_NEAREST, self.resolved.max_passages)]

    def _relevant(self) -> list[int]:
        return self.ranking.chosen(self._max_passages, self.resolved.settings.relevance_threshold)

    @property
    def _max_passages(self) -> int:
        """The most passages that the answer is given from: more for a list that is pointed at, whose items may stand in
        several passages."""
        most = self.resolved.max_passages
        return max(most, _OF_A_LIST) if self.kind == "list" and not self.resolved.prose else most

    def pointed_at(self, segments: Seq[int]) -> dict[int, Pointed]:
        """Returns the runs that the model points at in those of these segments that have a quotation."""
        return {index: self.pointed[index] for index in segments if index in self.pointed}

    def close(self) -> None:
        if self.relevance is not None:
            self.relevance.close()
        self.cache.close()

    @property
    def _needs_reading(self) -> bool:
        """Tells whether each segment is read to be scored; else only the chosen ones are read."""
        pattern, relevance = self.resolved.pattern, self.relevance
        if pattern.deep or relevance is None:
            return True
        return relevance.needs_sequence or (pattern.margins and relevance.scores_margins)

    @property
    def _asks_adapter(self) -> bool:
        """Tells whether an adapter says of each segment if it answers: only of those read alone, to be scored."""
        pattern = self.resolved.pattern
        alone = pattern.margins and not pattern.deep and not self._scores_margins and self._needs_reading
        return self.model.has_adapter and self.resolved.margins_are_pointed_at and alone

    def _assess(self, index: int, piece: PlannedSegment, relevance: Relevance, known: bool) -> Iterator[events.Event]:
        """Scores the segment just read; writes its margin if one is due, or has it wait."""
        margins = self.resolved.pattern.margins
        if margins and relevance.scores_margins:
            self._pending[index] = len(self.cache.sequence)
            yield from self._write_waiting()
            return
        yield from self._score(index, piece, relevance, None)
        if index in self.chosen() and margins:
            if not self._needs_reading:
                self.cache.restore()
                for _ in self.cache.read(piece):  # how far the reading is, the scores tell
                    self.control.check()
                self._keep_snapshots(index)
            self._pending[index] = len(self.cache.sequence)
            if not known:
                yield from self._write_waiting()

    def _score(
        self, index: int, piece: PlannedSegment, relevance: Relevance, margin: Margin | None
    ) -> Iterator[events.Event]:
        with self.clock.stage("relevance"):
            before = relevance.evaluated_tokens
            first = True
            if self._asks_adapter:  # which tells the segments apart; the rest is evidence for what it finds
                self.ranking.answers[index] = self.writer.log_odds(self.cache.sequence)
                first = self.ranking.is_first(index, self._max_passages)
            text = margin.text if margin else piece.segment.text
            score = relevance.score(index, self.cache.sequence, text) if first else None
        if score is not None:
            self.ranking.scores[index] = score
        if margin is None and relevance.evaluated_tokens > before:
            yield from self._count_scored_tokens(piece)
        rank = self.ranking.order().index(index) + 1 if index in self.ranking.known else None
        yield events.SegmentScored(index, self.ranking.relevance(index), rank, self.ranking.unread())
        if not self.resolved.pattern.deep and self._needs_reading and index in self.wanted():
            self._keep_snapshots(index)

    def _count_scored_tokens(self, piece: PlannedSegment) -> Iterator[events.Event]:
        """Counts the tokens of a segment that the relevance method has put into a sequence of its own."""
        if self._needs_reading:
            self.cache.reread_tokens += len(piece.segment.tokens)
        else:
            self.cache.read_tokens += len(piece.segment.tokens)
            yield events.ReadingProgress(self.cache.read_tokens, self.plan.tokens)

    def wanted(self) -> list[int]:
        """Returns the segments that an answer would be given from now."""
        return self.chosen() or self.nearest()

    def _keep_snapshots(self, index: int) -> None:
        """Keeps the state of the segment, and of others those that an answer would be given from, or that wait."""
        wanted = {*self.wanted(), *self._pending}
        self.snapshots = {segment: state for segment, state in self.snapshots.items() if segment in wanted}
        self.snapshots[index] = self.cache.sequence.snapshot()

    def _write_waiting(self) -> Iterator[events.Event]:
        """Writes margins as `write_waiting_margins` does, until the reader or the policy stops it."""
        with closing(self.write_waiting_margins()) as written:
            for event in written:
                self.control.check()
                yield event

    def write_waiting_margins(self) -> Generator[events.Event, None, None]:
        """Writes the margins that wait, the most relevant first; those no longer chosen are dropped."""
        wanted = list(self._pending if self._scores_margins else filter(self._pending.__contains__, self.chosen()))
        due = [(index, self._pending[index]) for index in wanted]
        self._pending = {}  # who stops here wants no more of them
        for index, end in due:
            piece = self.plan.segments[index]
            with self._branch(index, end) as branch:
                for written in self.writer.write(index, branch):
                    if isinstance(written, str):
                        yield events.MarginDelta(index, written)
                        continue
                    if self._scores_margins and self.relevance is not None:
                        yield from self._score(index, piece, self.relevance, written)
                    yield from self._judged(index, piece, written)

    @property
    def _scores_margins(self) -> bool:
        """Tells whether relevance is that of margins."""
        return self.relevance is not None and self.relevance.scores_margins

    @contextmanager
    def _branch(self, index: int, end: int) -> Iterator[Sequence]:
        """Yields a sequence that ends with the segment, to be written to."""
        sequence = self.cache.sequence
        others = not self.resolved.pattern.deep and index != self._at  # were read since: put it back
        if others:
            with self.clock.stage("restore"):
                sequence.restore(self.snapshots[index])
        try:
            with sequence.fork(end) as branch:
                yield branch
        finally:
            if others:
                sequence.truncate(len(self.plan.prefix))

    def _judged(self, index: int, piece: PlannedSegment, margin: Margin) -> Iterator[events.Event]:
        document = self.plan.documents[piece.segment.document]
        chars = (piece.segment.start, piece.segment.end)
        place = document.place(*(margin.quote or chars))
        pointed, short = margin.pointed, None
        if pointed is not None:
            self.pointed[index] = pointed
            short = (pointed.runs[0].start, pointed.runs[0].end) if pointed.runs else None
        judged = events.MarginJudged(
            index, document.name, place.page, place.section, chars, margin.text, margin.quote,
            self.ranking.relevance(index), bool(margin.text) and index in self._relevant(), margin.header, short,
            place.line, place.page_label,
        )  # fmt: skip
        self.margins[index] = judged
        yield judged
        if self.policy is not None:
            self.control.request(self.policy(judged) or Decision.CONTINUE)

    def _segment_read(self, index: int, piece: PlannedSegment) -> events.SegmentRead:
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
            place.line,
            place.page_label,
        )
