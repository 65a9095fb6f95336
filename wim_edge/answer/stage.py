"""The answer: pointed at in the chosen passages, or written after them, their margins and the question."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Seq
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from wim_edge.answer.judged import Judged, judge
from wim_edge.answer.pointed import Answer, not_found, pointed_answer
from wim_edge.answer.summary import summary
from wim_edge.answer.wording import Wording, quoted
from wim_edge.answer.writer import Writer, Writing
from wim_edge.documents import Document
from wim_edge.documents.place_links import opens
from wim_edge.engine.protocols import Sequence
from wim_edge.reading import events
from wim_edge.reading.plan import BLANK_LINE, PlannedSegment, source_label
from wim_edge.reading.prompts import MarginNote, Prompts
from wim_edge.reading.reading import Reading

_OTHER_TOKENIZER = 1.5
"""The most tokens that a prompt has for the writer, for one that it has for the reader, with some to spare."""
_SUMMED_UP = 6_000
"""The characters of an extract that a model makes a summary of."""
_EVALUATED = 16
"""The first tokens of a joined passage, evaluated again to see the text before it: attention comes back to them."""


def source_of(
    document: Document, segment: int, chars: events.Chars, relevance: float, text: str, quote: events.Chars | None
) -> events.Source:
    """Returns the source that a segment is, with its margin's text and where that stands word for word."""
    place, path = document.place(*(quote or chars)), document.path
    return events.Source(
        segment, document.name, place.page, place.section, chars, relevance, text, quote, str(path) if path else None,
        place.line, place.row, opens(path, place) if path else None, place.confidence,
        place.page_label,
    )  # fmt: skip


@dataclass
class AnswerStage:
    """Puts the question to the text that was read. Iterate `run`; afterwards the fields hold the outcome.

    ``before``: the answer that was given before the reading went on; it stands if the best segments are the same.
    """

    reading: Reading
    prompts: Prompts
    before: AnswerStage | None = None
    writer: Writer | None = None
    """The model that words the answer; None: the one that has read, or nobody does."""
    used: list[int] = field(default_factory=list)
    """The segments that the final prompt draws on, in its order: margins as in the document; passages with
    the most relevant last, where small models look ("Lost in the Middle", section 6)."""
    answer: Answer | None = None
    n_tokens: int = 0
    """The tokens decoded for the answer, besides those of margins."""
    finish_reason: events.FinishReason = "stop"
    stands: bool = False
    """True if it is the answer of ``before``."""
    _focus: bool = False
    """True if the answer is given from passages, False if from the context that was read."""
    _beside: list[int] = field(default_factory=list)
    """The segments beside ``used`` that hold the answer: a row of another passage."""
    _of_whole: Answer | None = field(init=False)

    def __post_init__(self) -> None:
        # A pattern without margins is the prompt by itself, and a model that reads the whole context sums that up
        pattern = self.reading.resolved.pattern
        sums_up = self.reading.kind == "summary" and pattern.margins and not (pattern.deep and self._is_written)
        self._of_whole = summary(self.reading.plan.documents) if sums_up else None

    @property
    def is_of_whole(self) -> bool:
        """Tells whether the answer needs no passage: the text is summed up by sentences of it."""
        return self._of_whole is not None

    def run(self) -> Iterator[events.Event]:
        """Prefills the final prompt and decodes the answer. Raises Interrupted, ContextOverflowError."""
        reading = self.reading
        if self._of_whole is not None:
            yield from self._sum_up(self._of_whole)
            return
        yield from reading.write_waiting_margins()  # they still wait if it stopped while known segments were scored
        from_passages = reading.resolved.pattern.answers_from_passages or reading.cache.number > 0
        self._focus = focus = bool(reading.ranking.known) and from_passages
        yield from self._choose(focus)
        if self.before is not None:
            if sorted(self.before.used) == sorted(self.used):
                self.keep_before()
                return
            yield events.AnswerRevised(tuple(self.used))
        self.answer = self._answer_without_writing()
        if self.answer is not None:
            yield events.AnswerDelta(self.answer.text)
            return
        used = self._that_fit([*self._beside, *reversed(self.used)], focus) if self._beside else self.used
        with self._turn(used) as turn:
            yield from self._write(turn, used, self._judged)

    def _sum_up(self, extract: Answer) -> Iterator[events.Event]:
        """Yields the summary: the sentences of the text, or what a model makes of them."""
        self.answer = extract
        if self._is_written and extract.quotes:
            if len(extract.text) > _SUMMED_UP:
                yield events.Warning(f"summed up from the first {_SUMMED_UP:,} characters of its sections' sentences")
            with self._turn((), extract.text[:_SUMMED_UP]) as turn:
                yield from self._write(turn, (), None)
            self.answer = replace(self.answer, quotes=extract.quotes)
        else:
            yield events.AnswerDelta(extract.text)

    def _write(self, turn: Writing, used: Seq[int], judged: Judged | None) -> Iterator[events.Event]:
        prompt = self._final_prompt(used)
        wording = Wording(self.reading, turn, used, judged, prompt, self.writer, self._may_be_absent)
        try:
            yield from wording.run(from_passages=self._points)
        finally:
            self.answer, self.n_tokens, self.finish_reason = wording.answer, turn.n_tokens, turn.finish_reason

    @contextmanager
    def _turn(self, used: Seq[int], extract: str = "") -> Iterator[Writing]:
        """Yields the passages, an extract of the text, or the context that was read, in a sequence of the model that
        writes."""
        reading = self.reading
        if self.writer is not None:
            longest = self._final_prompt(used)
            if reading.kind in ("auto", "fact"):
                used = used[-self.writer.resolved.max_passages :]
                longest = self.prompts.worded(reading.plan.query, *quoted(reading, self._judged))
            passages = [extract] if extract else [reading.plan.segments[index].text for index in used]
            room = round(_OTHER_TOKENIZER * len(reading.model.tokenize(longest)))
            room += reading.resolved.settings.answer_tokens
            with reading.clock.stage("load"):
                self.writer.load()
            with reading.clock.stage("answer"):
                turn = self.writer.read(passages, reading.sampler, reading.control, room)
            with closing(turn.sequence):
                yield turn
            return
        if extract:
            held = len(reading.cache.sequence) if reading.cache.number >= 0 else 0
            beside = held + len(reading.plan.prefix) + len(self._question(())) + reading.resolved.settings.answer_tokens
            room = reading.context.n_ctx - reading.plan.reserved - beside
            sequence = reading.context.sequence()
            sequence.append([*reading.plan.prefix, *reading.model.tokenize(extract)[: max(1, room)]])
        else:  # it may be answered again
            sequence = self._passages(used) if self._focus else reading.cache.sequence.fork()
        try:
            stops = (*reading.chat.stops, *reading.resolved.settings.stop)
            yield Writing(reading.model, reading.chat, self.prompts, reading.sampler, sequence, stops)
        finally:
            if extract or sequence is not reading.cache.sequence:
                sequence.close()

    def keep_before(self) -> None:
        """Lets the answer of ``before`` stand, if there is one."""
        if self.before is not None:
            self.used, self._beside = self.before.used, self.before._beside
            self.answer, self.stands = self.before.answer, True
            self.finish_reason = self.before.finish_reason

    def _answer_without_writing(self) -> Answer | None:
        """Returns the answer if its margins point at it in the text, so that nothing need be written; else None."""
        reading, judged = self.reading, self._judged
        if self._is_written:
            if judged is None or judged.support is None:
                return None
            if judged.status == "not_found" and judged.quotes and self._may_be_absent:
                return not_found(reading, judged)
            is_judges_own = bool(judged.verdict or judged.items) and self._points
            return pointed_answer(reading, judged) if is_judges_own else None
        points = any(index in reading.pointed for index in self.used) or not self.used
        if not points:
            return None
        return pointed_answer(reading, judged or judge(reading, self.used, alone=False))

    @property
    def _points(self) -> bool:
        """Tells whether runs are pointed at in passages that the answer is given from; else it is of the context."""
        resolved = self.reading.resolved
        return self._focus and resolved.margins_are_pointed_at and resolved.pattern.margins

    @property
    def _may_be_absent(self) -> bool:
        """Tells whether the support decides that there is no answer: not for a summary, nor without an adapter where an
        embedding model chose the passages, as what is asked in other words may be there all the same."""
        reading = self.reading
        return reading.kind != "summary" and (reading.similarity is None or reading.model.has_adapter)

    @cached_property
    def _judged(self) -> Judged | None:
        """The judge's outcome; None if nothing was scored, or each by itself."""
        ranking = self.reading.ranking
        if not ranking.known or ranking.independent:
            return None
        judged = judge(self.reading, self.used, alone=self._points)
        self._beside = [one.index for one in judged.candidates[:1] if one.index not in self.used]
        return judged

    @property
    def _is_written(self) -> bool:
        """Tells whether a model words the answer."""
        return self.writer is not None or self.reading.resolved.prose

    def sources(self) -> tuple[events.Source, ...]:
        """Returns the places that the answer draws on: those with its first quotation, then the most relevant ones."""
        ranking, found = self.reading.ranking, list[events.Source]()
        first = self._holding(self.answer.quotes[:1] if self.answer else ())
        order = {index: place for place, index in enumerate(ranking.order())}
        drawn = {*self.used, *self._beside}
        for index in sorted(drawn, key=lambda one: (one not in first, order.get(one, len(order)), one)):
            segment = self.reading.plan.segments[index].segment
            document = self.reading.plan.documents[segment.document]
            margin, chars = self.reading.margins.get(index), (segment.start, segment.end)
            text, quote = (margin.text, margin.quote) if margin else ("", None)
            shown = next((one for one in self.answer.quotes if self._holds(index, one)), None) if self.answer else None
            if shown is not None:  # the answer's quotation, which may be another sentence than the margin
                text, quote = shown.text, shown.chars
            relevance = 1.0 if self.is_of_whole else ranking.relevance(index)  # no other is the record asked for
            found.append(source_of(document, index, chars, relevance, text, quote))
        return tuple(found)

    def _holding(self, quotes: Seq[events.Quote]) -> list[int]:
        """Returns the segments that hold one of the quotations."""
        segments = range(len(self.reading.plan.segments)) if quotes else ()
        return [index for index in segments if any(self._holds(index, one) for one in quotes)]

    def _holds(self, index: int, quote: events.Quote) -> bool:
        """Tells whether a segment holds a quotation, or at least its beginning."""
        plan = self.reading.plan
        segment = plan.segments[index].segment
        is_of = plan.documents[segment.document].name == quote.document
        return is_of and segment.start <= quote.chars[0] < segment.end

    # What to draw on

    def _choose(self, focus: bool) -> Iterator[events.Event]:
        reading, plan = self.reading, self.reading.plan
        if reading.relevance is None:
            return
        chosen = reading.chosen()
        if not focus:
            chosen = [index for index in chosen if index in reading.margins]
        if not chosen and reading.chosen():
            yield events.Warning("stopped before a margin was written; answering from the context alone")
        elif not chosen and reading.ranking.known:
            chosen = reading.nearest() if focus else []
            rest = f"the {len(chosen)} most relevant passages" if focus else "the context alone"
            told = f"nothing was judged relevant; answering from {rest}"
            yield events.Warning(told if chosen or not focus else "no passage is left to answer from")
        self.used = self._that_fit(chosen, focus)
        if len(self.used) < len(chosen):
            yield events.Warning(
                f"{len(chosen) - len(self.used)} of {len(chosen)} relevant {'passages' if focus else 'margins'} "
                "do not fit the context and are left out"
            )
        if focus and not reading.resolved.pattern.answers_from_passages:
            yield events.Warning(
                f"documents, prompts and answer together exceed the context of {plan.n_ctx:,} tokens, so the "
                f"reading went in {len(plan.windows)} windows; answering from {len(self.used)} passages"
            )
        yield events.ReadingRanked(tuple(map(self._ranked, reading.ranking.order())))

    def _ranked(self, index: int) -> events.RankedSegment:
        plan = self.reading.plan
        segment = plan.segments[index].segment
        name, chars = plan.documents[segment.document].name, (segment.start, segment.end)
        ranking, chosen = self.reading.ranking, index in self.used
        return events.RankedSegment(index, name, chars, ranking.relevance(index), chosen, ranking.scores.get(index))

    def _that_fit(self, chosen: Seq[int], focus: bool) -> list[int]:
        """Returns as many of the chosen segments, most relevant first, as the final prompt holds; in its order."""
        reading, plan = self.reading, self.reading.plan
        held = len(plan.prefix) if focus else len(reading.cache.sequence)
        room = plan.n_ctx - plan.reserved - held - reading.resolved.settings.answer_tokens
        fitting: list[int] = []
        for index in chosen:
            trial = [index, *fitting] if focus else sorted([*fitting, index])
            need = len(self._question(trial))
            need += sum(len(self._passage(plan.segments[one])) for one in trial) if focus else 0
            if need <= room:
                fitting = trial
        return fitting

    # The prompt

    def _question(self, used: Seq[int]) -> list[int]:
        return [*self.reading.model.tokenize(self._final_prompt(used)), *self.reading.chat.after_user]

    def _final_prompt(self, used: Seq[int]) -> str:
        reading, plan = self.reading, self.reading.plan
        notes = []
        # A base model's examples answer from the text, without the quotation beside it
        shown = used if reading.chat.is_chat or not reading.resolved.margins_are_pointed_at else ()
        for index in shown:
            margin = reading.margins.get(index)
            if margin is not None and margin.text:
                segment = plan.segments[index].segment
                start, end = margin.quote or (segment.start, segment.end)
                place = source_label(plan.documents[segment.document], start, end, len(plan.documents) > 1)
                notes.append(MarginNote(place, margin.text))
        return self.prompts.answer(plan.query, notes, read=bool(plan.documents))

    def _passage(self, piece: PlannedSegment) -> list[int]:
        tokenize = self.reading.model.tokenize
        return [*tokenize(BLANK_LINE), *tokenize(piece.heading), *piece.segment.tokens]

    def _passages(self, used: Seq[int]) -> Sequence:
        """Returns a sequence that holds the opening and these passages.

        If the cache has room for both, the context stays in it. In shallow reading the passages come from their
        kept states: the first as it is, the others behind it.
        """
        reading, plan = self.reading, self.reading.plan
        sequence = reading.cache.sequence
        passages = [self._passage(plan.segments[index]) for index in used]
        answer_tokens = reading.resolved.settings.answer_tokens
        lengths = [len(plan.prefix), *map(len, passages), len(self._question(used)), answer_tokens]
        with reading.clock.stage("answer"):
            if reading.resolved.pattern.deep and len(sequence) + sum(lengths) + plan.reserved <= reading.context.n_ctx:
                sequence = sequence.fork(len(plan.prefix))
            elif used and used[0] in reading.snapshots:
                sequence.restore(reading.snapshots[used[0]])
                used, passages = used[1:], passages[1:]
            else:
                sequence.truncate(len(plan.prefix))
            if len(sequence) == len(plan.prefix) and passages:
                passages[0] = passages[0][len(reading.model.tokenize(BLANK_LINE)) :]
            for index, passage in zip(used, passages, strict=True):
                rest = max(0, len(plan.segments[index].segment.tokens) - _EVALUATED)
                again = len(passage) - rest
                sequence.append(passage[:again])
                reading.cache.reread_tokens += len(plan.segments[index].segment.tokens) - rest
                if rest and not self._joined(sequence, index, passage[again:]):
                    sequence.append(passage[again:])
                    reading.cache.reread_tokens += rest
        return sequence

    def _joined(self, sequence: Sequence, index: int, rest: list[int]) -> bool:
        """Appends the rest of a passage from its kept state, not evaluated again; tells whether that was possible."""
        kept = self.reading.snapshots.get(index)
        at = len(kept.tokens) - len(rest) if kept else 0
        return kept is not None and kept.tokens[at:] == tuple(rest) and sequence.append_kept(kept, at)
