"""The reading: segments are read and scored. A segment that may matter gets a margin on a fork of the sequence (Writing
in the Margins, section 3.2, algorithm 1). docs/how-it-works.md shows the cache over time.

Shallow reading has windows of one segment, in the order of ranking.py. Before each window, the cache returns to the
opening. The beginning of a window may be restored from a saved reading; restored segments are all scored before any
margin is written. A segment gets a margin if an answer given now would draw on the segment. The method `verdict` scores
margins, so every segment needs one first, as in the paper."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence as Seq
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace

from wim_edge.documents.units import Row
from wim_edge.engine.protocols import Context, Interrupted, Model, Sequence, Snapshot
from wim_edge.engine.sampling import Sampler
from wim_edge.library import SavedReading
from wim_edge.reading import events
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.control import Control, Decision, Policy
from wim_edge.reading.margins import Margin, MarginWriter
from wim_edge.reading.plan import Plan, PlannedSegment
from wim_edge.reading.pointing import Pointed, RowRead
from wim_edge.reading.prompt_cache import PromptCache
from wim_edge.reading.ranking import Ranking, Similarity
from wim_edge.reading.relevance import Relevance
from wim_edge.reading.resolved_settings import ResolvedSettings
from wim_edge.reading.timings import Timings
from wim_edge.settings import SHORT, Within
from wim_edge.support import SupportWeights

_NEAREST = 2  # the most passages if no segment is relevant
_AT_ONCE = 2  # texts read alone in one batch: the reading and the beams need sequences too
_OF_A_LIST = 6  # the most passages for a list that is pointed at, unless `max_passages` is more


@dataclass
class Reading:
    """A pass over the documents. Iterate `run`; then ``cache``, ``ranking`` and ``margins`` hold the outcome."""

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
    """The states of this text on disk; None: nothing is restored or saved."""
    support: SupportWeights = field(default_factory=SupportWeights)
    similarity: Similarity | None = None
    """The scout, with the segments' similarities to the question; None: only words in common order the segments."""
    margins: dict[int, events.MarginJudged] = field(default_factory=dict)
    pointed: dict[int, Pointed] = field(default_factory=dict)
    """{segment: the runs of words at which the model points}."""
    snapshots: dict[int, Snapshot] = field(default_factory=dict)
    """{segment: its state}, for segments that an answer or a pending margin needs; only in shallow reading."""
    n_read: int = 0
    is_spent: bool = False
    """True if the reading ended at its limit, not at the text's end or on request."""
    reads_on: bool = False
    """True if the reading continues after an answer, until another segment is the best or all are read."""
    _done_tokens: int = 0
    _at: int = -1
    """The number of the segment that is being assessed, with which the sequence ends; -1: none."""
    _pending: dict[int, int] = field(default_factory=dict)
    """{segment: position in the sequence where it ends}, for segments whose margin is not written yet."""

    def __post_init__(self) -> None:
        may_be_killed = self.resolved.settings.rpc is not None
        self.cache = PromptCache(self.context, self.plan, self.clock, self.saved, may_be_killed)
        self.writer = MarginWriter(
            self.model, self.context, self.plan, self.resolved, self.sampler, self.chat.stops, self.clock
        )
        self._within, self._begun = Within.parse(self.resolved.settings.within), time.monotonic()
        if self._within.unread is not None and (self.kind == "list" or len(self.plan.segments) <= SHORT):
            self._within = replace(self._within, unread=0.0)  # list items may be in any segment
        self._method = self.relevance or Relevance()
        ahead = self.plan.outlook
        self._outlook = ahead and replace(ahead, adapted=self._asks_adapter)
        self._left, self._best = deque(self.plan.order), -1
        prior = self._outlook if self._method.uses_outlook else None
        each = self._asks_adapter and 1 < len(self.plan.documents) <= self._max_passages
        documents = tuple(piece.segment.document for piece in self.plan.segments) if each and prior else ()
        self.ranking = Ranking(len(self.plan.segments), self._method.scores_margins, outlook=prior, documents=documents)

    def run(self) -> Iterator[events.Event]:
        """Reads to the text's end or to the limit (`Settings.within`), and yields the events. If a stop is requested,
        saves what was read and raises Interrupted."""
        self._begun, self._best, self.is_spent = time.monotonic(), next(iter(self.chosen()), -1), False
        try:
            while self._left and not self.is_spent:
                if self.similarity is not None and self.similarity.is_due(self._left[0], self.n_read):
                    yield from self._look_ahead(self.similarity)
                if of := self.ranking.documents:  # first the document in which an unread segment may be best
                    unread = self.ranking.unread_in()
                    self._left = deque(sorted(self._left, key=lambda number: -unread[of[number]]))
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
        """Embeds the read segments and the most promising unread ones, and reorders the unread ones. Yields events."""
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
        cache, has_own_model = self.cache, self._method.own_model is not None
        for index, piece in enumerate(cache.pieces, self.plan.first[cache.number]):
            known = cache.is_cached(piece)
            if not known:
                yield from self._write_waiting()
            if self._needs_reading:
                yield from cache.read(piece)
            if self._needs_reading or has_own_model:
                yield self._segment_read(index, piece)
            self._at = index
            if self.relevance is not None:
                yield from self._assess(index, piece, known)
            self._at = -1
            self.n_read += 1
            self._done_tokens += len(piece.segment.tokens)
            if has_own_model and not self._needs_reading:
                yield events.ReadingProgress(self._done_tokens, self.plan.tokens)
            cache.save_when_due()
            self.control.check()
            if self.is_enough():
                break
        if self.resolved.pattern.deep:
            yield from self._write_waiting()

    def is_enough(self) -> bool:
        """Returns whether the limit is reached before the text's end. Sets ``is_spent`` unless all are read."""
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
    def is_stopped(self) -> bool:
        """Returns whether the reading ended at the user's request, before the text's end and before the limit."""
        return self.n_read != len(self.plan.segments) and not self.is_spent

    @property
    def unread(self) -> float | None:
        """P(an unread segment answers better than those that are read); 0 if all are read; None: unknown."""
        return 0.0 if self.n_read == len(self.plan.segments) else self.ranking.unread()

    @property
    def kind(self) -> str:
        """The kind of answer, one of `wim_edge.settings.ANSWERS`."""
        return self.resolved.settings.answer

    @property
    def may_read_on(self) -> bool:
        """Returns whether the reading can go on after an answer: a shallow reading with scores and segments left."""
        return self.relevance is not None and not self.resolved.pattern.deep and bool(self._left)

    def chosen(self) -> list[int]:
        """Returns the segments that an answer given now would draw on, most relevant first."""
        chosen = self._relevant()
        # Without a writer, "not found" shows the nearest passage even if it does not answer
        return chosen if chosen or self.resolved.prose else self.ranking.without_verdict()[:1]

    def nearest(self) -> list[int]:
        """Returns the segments to answer from if `chosen` is empty, most relevant first."""
        return self.ranking.without_verdict()[: min(_NEAREST, self.resolved.max_passages)]

    def _relevant(self) -> list[int]:
        return self.ranking.chosen(self._max_passages, self.resolved.settings.relevance_threshold)

    @property
    def _max_passages(self) -> int:
        most = self.resolved.max_passages
        return max(most, _OF_A_LIST) if self.kind == "list" and not self.resolved.prose else most

    def pointed_at(self, segments: Seq[int]) -> dict[int, Pointed]:
        """Returns {segment: its `Pointed`}, for those of ``segments`` whose margin is a quotation."""
        return {index: self.pointed[index] for index in segments if index in self.pointed}

    @property
    def free_cells(self) -> int:
        """The number of the context's cells beside the reading's sequence."""
        return self.context.n_ctx - len(self.cache.sequence)

    def alone(self, texts: Seq[list[int]]) -> Iterator[Sequence]:
        """Yields, for each text (tokens), a sequence of the opening, this text and the prompt for a margin. Use each
        sequence before you take the next. Stops if the context has no room for more texts. Raises Interrupted."""
        plan = self.plan
        room = self.free_cells - len(plan.prefix)
        for at in range(0, len(texts), _AT_ONCE):
            some = texts[at : at + _AT_ONCE]
            if 2 * sum(len(one) + len(plan.margin_prompt) for one in some) > room:
                return
            self.control.check()
            with ExitStack() as stack, self.clock.stage("answer"):
                opening = stack.enter_context(self.context.sequence())
                opening.append(plan.prefix)
                forks = [stack.enter_context(opening.fork()) for _ in some]
                self.context.append_each(list(zip(forks, some, strict=True)))
                stack.enter_context(self.context.adapted())
                self.context.append_each([(fork, plan.margin_prompt) for fork in forks])
                yield from forks

    def read_rows(self, rows: Seq[tuple[int, Row]], longest: int) -> Iterator[RowRead]:
        """Reads rows (segment number, row) alone, up to ``longest`` characters of each, and yields the results. Stops
        early if the context has no room for more rows. Raises Interrupted."""
        heads = (self.plan.segments[index].heading_tokens for index, _ in rows)
        texts = [[*head, *self.model.tokenize(row.text[:longest])] for head, (_, row) in zip(heads, rows, strict=True)]
        for fork, (_, row) in zip(self.alone(texts), rows, strict=False):
            yield self.writer.pointer.read_row(fork, row)

    def close(self) -> None:
        if self.relevance is not None:
            self.relevance.close()
        self.cache.close()

    @property
    def _needs_reading(self) -> bool:
        """Returns whether every segment must be evaluated in the reading's sequence, not only chosen ones."""
        pattern = self.resolved.pattern
        if pattern.deep or self.relevance is None:
            return True
        return self._method.needs_sequence or (pattern.margins and self._method.scores_margins)

    @property
    def _asks_adapter(self) -> bool:
        """Returns whether an adapter rates each segment: in shallow reading with quotations as margins."""
        pattern = self.resolved.pattern
        alone = pattern.margins and not pattern.deep and not self._method.scores_margins and self._needs_reading
        return self.model.has_adapter and self.resolved.margins_are_pointed_at and alone

    def _assess(self, index: int, piece: PlannedSegment, known: bool) -> Iterator[events.Event]:
        """Scores the segment at the sequence's end. Writes the margin that it should get, or queues it if ``known``."""
        margins = self.resolved.pattern.margins
        if margins and self._method.scores_margins:
            self._pending[index] = len(self.cache.sequence)
            yield from self._write_waiting()
            return
        yield from self._score(index, piece, None)
        if index in self.chosen() and margins:
            if not self._needs_reading:
                self.cache.restore()
                for _ in self.cache.read(piece):  # SegmentScored shows the progress
                    self.control.check()
                self._keep_snapshot(index)
            self._pending[index] = len(self.cache.sequence)
            if not known:
                yield from self._write_waiting()

    def _score(self, index: int, piece: PlannedSegment, margin: Margin | None) -> Iterator[events.Event]:
        with self.clock.stage("relevance"):
            before = self._method.evaluated_tokens
            first = True
            if self._asks_adapter:  # it ranks the segments; only the first ones need a score, as evidence
                self.ranking.answers[index] = self.writer.log_odds(self.cache.sequence)
                first = self.ranking.is_first(index, self._max_passages)
            text = margin.text if margin else piece.segment.text
            score = self._method.score(index, self.cache.sequence, text) if first else None
        if score is not None:
            self.ranking.scores[index] = score
        if margin is None and self._method.evaluated_tokens > before:  # it evaluated the segment in its own sequence
            if self._needs_reading:
                self.cache.reread_tokens += len(piece.segment.tokens)
            else:
                self.cache.read_tokens += len(piece.segment.tokens)
                yield events.ReadingProgress(self.cache.read_tokens, self.plan.tokens)
        rank = self.ranking.order().index(index) + 1 if index in self.ranking.known else None
        yield events.SegmentScored(index, self.ranking.relevance(index), rank, self.ranking.unread())
        if not self.resolved.pattern.deep and self._needs_reading and index in self._wanted():
            self._keep_snapshot(index)

    def _wanted(self) -> list[int]:
        return self.chosen() or self.nearest()

    def _keep_snapshot(self, index: int) -> None:
        """Keeps a snapshot of the segment, and drops snapshots that neither an answer nor a pending margin needs."""
        wanted = {*self._wanted(), *self._pending}
        self.snapshots = {segment: state for segment, state in self.snapshots.items() if segment in wanted}
        self.snapshots[index] = self.cache.sequence.snapshot()

    def _write_waiting(self) -> Iterator[events.Event]:
        """Writes the pending margins and yields the events. If a stop is requested, raises Interrupted instead."""
        with closing(self.write_waiting_margins()) as written:
            for event in written:
                self.control.check()
                yield event

    def write_waiting_margins(self) -> Generator[events.Event, None, None]:
        """Writes the pending margins of segments that are still chosen, most relevant first. Yields the events."""
        wanted = [*self._pending] if self._method.scores_margins else self.chosen()
        due = [(index, self._pending[index]) for index in wanted if index in self._pending]
        self._pending = {}  # if stopped, the remaining margins are dropped
        for index, end in due:
            piece = self.plan.segments[index]
            with self._branch(index, end) as branch:
                for written in self.writer.write(index, branch):
                    if isinstance(written, str):
                        yield events.MarginDelta(index, written)
                        continue
                    if self._method.scores_margins:
                        yield from self._score(index, piece, written)
                    yield from self._judged(index, piece, written)

    @contextmanager
    def _branch(self, index: int, end: int) -> Iterator[Sequence]:
        """Yields a fork that ends with the segment at position ``end``; of its snapshot if others were read since."""
        sequence = self.cache.sequence
        others = not self.resolved.pattern.deep and index != self._at  # other segments were read since
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
        document = self.plan.document_of(index)
        place = document.place(*(margin.quote or piece.chars))
        pointed, short = margin.pointed, None
        if pointed is not None:
            self.pointed[index] = pointed
            short = (pointed.runs[0].start, pointed.runs[0].end) if pointed.runs else None
        judged = events.MarginJudged(
            index, document.name, place.page, place.section, piece.chars, margin.text, margin.quote,
            self.ranking.relevance(index), bool(margin.text) and index in self._relevant(), margin.header, short,
            place.line, place.page_label,
        )  # fmt: skip
        self.margins[index] = judged
        yield judged
        if self.policy is not None:
            self.control.request(self.policy(judged) or Decision.CONTINUE)

    def _segment_read(self, index: int, piece: PlannedSegment) -> events.SegmentRead:
        document = self.plan.document_of(index)
        place = document.place(*piece.chars)
        return events.SegmentRead(
            index, len(self.plan.segments), document.name, place.page, place.section, place.chars,
            len(piece.segment.tokens), place.line, place.page_label,
        )  # fmt: skip
