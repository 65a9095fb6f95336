"""The answer stage: a model points at the answer in the chosen passages, or writes it from passages and margins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence as Seq
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp

from wim_edge.answer.computed import computed_answer, table_of
from wim_edge.answer.judged import Answer, Judged, judge, not_found, pointed_answer
from wim_edge.answer.summary import summary
from wim_edge.answer.wording import Wording, comes_first, quoted
from wim_edge.answer.writer import LoadsModel, Writing, read_passages
from wim_edge.engine.protocols import Sequence
from wim_edge.reading import events
from wim_edge.reading.plan import BLANK_LINE, source_label, source_of
from wim_edge.reading.prompts import MarginNote, Prompts
from wim_edge.reading.reading import Reading
from wim_edge.settings import AUTO

_OTHER_TOKENIZER = 1.5  # the most tokens of the writer for one token of the reader
_SUMMED_UP = 6_000  # the most characters of an extract that a model sums up
_WANTED = 0.65  # nats: of 646 questions for something else, none was above this (docs/choices.md)


@dataclass
class AnswerStage:
    """Answers the question from the text that was read. Iterate `run`; afterwards the fields hold the outcome.

    ``before``: the stage that answered before the reading continued. If both use the same segments, its answer stays.
    """

    reading: Reading
    prompts: Prompts
    before: AnswerStage | None = None
    writer: LoadsModel | None = None
    """The model that words the answer; None: the reader does, if any."""
    used: list[int] = field(default_factory=list)
    """The segments in the final prompt: margins in the document's order, passages with the most relevant last
    ("Lost in the Middle", section 6)."""
    answer: Answer | None = None
    n_tokens: int = 0
    """The tokens decoded for the answer, not counting margins."""
    finish_reason: events.FinishReason = "stop"
    is_unchanged: bool = False
    """True if the answer of ``before`` was kept."""
    _focus: bool = False
    """True if the answer comes from passages, False if from the whole context."""
    _beside: dict[int, float] = field(default_factory=dict)
    """{segment: relevance} of the best candidate, if it is a row of a segment that is not in ``used``."""
    of_whole: Answer | None = field(init=False)
    """The summary that is extracted from the whole text, without a reading; None: the answer is no extract."""

    def __post_init__(self) -> None:
        # A pattern without margins is only a prompt; a writer that has the whole context needs no extract
        pattern = self.reading.resolved.pattern
        sums_up = self.reading.kind == "summary" and pattern.margins and not (pattern.deep and self._is_written)
        self.of_whole = summary(self.reading.plan.documents, self.reading.plan.query) if sums_up else None

    def run(self) -> Iterator[events.Event]:
        """Answers the question and yields the events. Raises Interrupted, ContextOverflowError."""
        reading = self.reading
        if self.of_whole is not None:
            yield from self._sum_up(self.of_whole)
            return
        yield from reading.write_waiting_margins()  # pending if restored segments were still being scored
        from_passages = reading.resolved.pattern.answers_from_passages or reading.cache.number > 0
        self._focus = bool(reading.ranking.known) and from_passages
        if reading.relevance is not None:
            yield from self._choose()
        if self.before is not None:
            if sorted(self.before.used) == sorted(self.used):
                self.keep_before()
                return
            yield events.AnswerRevised(tuple(self.used))
        if self._wants_summary():
            self.of_whole = summary(self.reading.plan.documents, self.reading.plan.query)
            yield from self._sum_up(self.of_whole)
            return
        self.answer = self._computed() or self._answer_without_writing()
        if self.answer is not None:
            yield events.AnswerDelta(self.answer.text)
            return
        used = self._that_fit([*self._beside, *reversed(self.used)]) if self._beside else self.used
        with self._turn(used) as turn:
            yield from self._write(turn, used, self._judged)

    def _wants_summary(self) -> bool:
        """Returns whether the writer takes the question for a request to sum up. False if the judge is sure."""
        judged, reading = self._judged, self.reading
        if not self._may_help or reading.kind != "auto" or judged is None or judged.status == "answered":
            return False
        with self._turn(()) as turn:
            return (turn.yes("wants_summary", reading.plan.query) or 0.0) > _WANTED

    def _computed(self) -> Answer | None:
        """Returns the answer that the writer's query on a table finds. None if two passages differ, or the judge is
        sure, but not of several cells: whether these are all, a query tells better."""
        judged, can_ask = self._judged, self._may_help and self.reading.kind in ("auto", "fact", "list")
        if judged is None or judged.verdict or judged.other or not can_ask:
            return None
        are_cells = len(judged.items) > 1 and judged.quotes[0].header
        if (judged.status == "answered" and not are_cells) or (found := table_of(judged)) is None:
            return None
        cell, table = found
        prompt = self.prompts.ask("table_query", self.reading.plan.query)
        with self._turn((), table.schema, prompt) as turn, self.reading.clock.stage("answer"):
            result = table.run(turn.query(prompt))
            answer = computed_answer(self.reading, judged, cell, table, result, turn) if result else None
        self.n_tokens += turn.n_tokens
        return answer

    @property
    def _may_help(self) -> bool:
        """Returns whether to ask the writer what the judge can't tell. Only one that `comes_first` judges well."""
        return self.writer is not None and comes_first(self.reading, self.writer) and self._points

    def _sum_up(self, extract: Answer) -> Iterator[events.Event]:
        """Yields the events of an answer: the extract itself or, if a model writes, its summary of the extract."""
        self.answer = extract
        if self._is_written and extract.quotes:
            if len(extract.text) > _SUMMED_UP:
                yield events.Warning(f"the summary uses only the first {_SUMMED_UP:,} characters of the extract")
            with self._turn((), extract.text[:_SUMMED_UP]) as turn:
                yield from self._write(turn, (), None)
            self.answer = extract if self.finish_reason == "repeated" else replace(self.answer, quotes=extract.quotes)
        else:
            yield events.AnswerDelta(extract.text)

    def _write(self, turn: Writing, used: Seq[int], judged: Judged | None) -> Iterator[events.Event]:
        wording = Wording(self.reading, turn, used, judged, self._final_prompt(used), self.writer, self._may_be_absent)
        try:
            yield from wording.run(from_passages=self._points)
        finally:
            self.answer, self.finish_reason = wording.answer, turn.finish_reason
            self.n_tokens += turn.n_tokens

    @contextmanager
    def _turn(self, used: Seq[int], extract: str = "", prompt: str = "") -> Iterator[Writing]:
        """Yields the model that writes, its sequence filled with the passages, the extract or the whole context.
        ``prompt``: the prompt to keep room for; if empty, the one that asks for the answer."""
        reading = self.reading
        if self.writer is not None:
            with closing((turn := self._writers_turn(self.writer, used, extract, prompt)).sequence):
                yield turn
            return
        if extract:
            held = len(reading.cache.sequence) if reading.cache.number >= 0 else 0
            beside = held + len(reading.plan.prefix) + len(self._question(())) + reading.resolved.settings.answer_tokens
            room = reading.context.n_ctx - reading.plan.reserved - beside
            sequence = reading.context.sequence()
            sequence.append([*reading.plan.prefix, *reading.model.tokenize(extract)[: max(1, room)]])
        else:  # a fork, because the question may be answered again
            sequence = self._passages(used) if self._focus else reading.cache.sequence.fork()
        try:
            stops = (*reading.chat.stops, *reading.resolved.settings.stop)
            at = len(reading.plan.prefix)
            yield Writing(reading.model, reading.chat, self.prompts, reading.sampler, sequence, stops, n_opening=at)
        finally:
            if extract or sequence is not reading.cache.sequence:
                sequence.close()

    def _writers_turn(self, writer: LoadsModel, used: Seq[int], extract: str, prompt: str) -> Writing:
        """Returns ``writer``, which is not the reader, with the passages or the extract prefilled. Keeps room for
        ``prompt``; if ``prompt`` is empty, for the prompt that asks for the answer."""
        reading, longest = self.reading, prompt or self._final_prompt(used)
        if not prompt and reading.kind in ("auto", "fact", "yesno"):
            used = used[-writer.resolved().max_passages :]
            longest = self.prompts.worded(reading.plan.query, *quoted(reading, self._judged))
        passages = [extract] if extract else [reading.plan.segments[index].text for index in used]
        room = round(_OTHER_TOKENIZER * len(reading.model.tokenize(longest)))
        room += reading.resolved.settings.answer_tokens
        with reading.clock.stage("load"):
            writer.model()
        with reading.clock.stage("answer"):
            return read_passages(writer, passages, reading.sampler, reading.control, room)

    def keep_before(self) -> None:
        if (before := self.before) is not None:
            self.used, self._beside, self.answer = before.used, before._beside, before.answer
            self.finish_reason, self.is_unchanged = before.finish_reason, True

    def _answer_without_writing(self) -> Answer | None:
        """Returns the answer that the judge alone gives; None if a model must write the answer."""
        reading, judged = self.reading, self._judged
        if self._is_written:
            if judged is None or judged.support is None:
                return None
            if judged.status == "not_found" and judged.quotes and self._may_be_absent:
                is_final = self.writer is None or not self.writer.confirmation.matters(judged.support)
                return not_found(reading, judged) if is_final else None
            is_judges_own = judged.items or (judged.verdict and not comes_first(reading, self.writer))
            return pointed_answer(reading, judged) if is_judges_own and self._points else None
        if self.used and not reading.pointed_at(self.used):
            return None
        return pointed_answer(reading, judged or judge(reading, self.used, alone=False))

    @property
    def _points(self) -> bool:
        """Returns whether the judge points at the answer in passages. If not, a model answers from its prompt."""
        resolved = self.reading.resolved
        return self._focus and resolved.margins_are_pointed_at and resolved.pattern.margins

    @property
    def _may_be_absent(self) -> bool:
        """Returns whether low support means "not found". False for a summary, and if a scout chose the passages for a
        reader without an adapter: such passages probably paraphrase the question, which lowers the support."""
        reading = self.reading
        return reading.kind != "summary" and (reading.similarity is None or reading.model.has_adapter)

    @cached_property
    def _judged(self) -> Judged | None:
        """The judgement on ``used``; None if no segment was scored, or if the method scores margins (`verdict`)."""
        ranking = self.reading.ranking
        if not ranking.known or ranking.independent:
            return None
        judged, reading = judge(self.reading, self.used, alone=self._points), self.reading
        self._beside = {at.index: exp(at.terms.passage) for at in judged.candidates[:1] if at.index not in self.used}
        # Ended by the user, an unread segment may be the one that answers
        is_early = reading.is_stopped or reading.resolved.settings.within not in (None, AUTO)
        return replace(judged, share=judged.share * (1 - (reading.unread or 0.0))) if is_early else judged

    @property
    def _is_written(self) -> bool:
        """Returns whether a model words the answer."""
        return self.writer is not None or self.reading.resolved.prose

    def sources(self) -> tuple[events.Source, ...]:
        """Returns the answer's sources: first the one where the first quotation begins, then others by relevance."""
        plan, ranking, quotes = self.reading.plan, self.reading.ranking, self.answer.quotes if self.answer else ()
        order, found = {index: place for place, index in enumerate(ranking.order())}, list[events.Source]()

        def rank(index: int) -> tuple[bool, int, int]:
            return not any(self._holds(index, one) for one in quotes[:1]), order.get(index, len(order)), index

        for index in sorted({*self.used, *self._beside}, key=rank):
            margin = self.reading.margins.get(index)
            text, quote = (margin.text, margin.quote) if margin else ("", None)
            shown = next((one for one in quotes if self._holds(index, one)), None)
            if shown is not None:  # the quotation may differ from the margin
                text, quote = shown.text, shown.chars
            relevance = 1.0 if self.of_whole else self._beside.get(index, ranking.relevance(index))
            found.append(source_of(plan.document_of(index), index, plan.segments[index].chars, relevance, text, quote))
        return tuple(found)

    def _holds(self, index: int, quote: events.Quote) -> bool:
        """Returns whether a quotation begins in segment ``index``."""
        start, end = self.reading.plan.segments[index].chars
        return self.reading.plan.document_of(index).name == quote.document and start <= quote.chars[0] < end

    # The passages

    def _choose(self) -> Iterator[events.Event]:
        reading, plan, focus = self.reading, self.reading.plan, self._focus
        chosen = reading.chosen()
        if not focus:
            chosen = [index for index in chosen if index in reading.margins]
        if not chosen and reading.chosen():
            yield events.Warning("stopped before a margin was written; answering from the context alone")
        elif not chosen and reading.ranking.known:
            chosen = reading.nearest() if focus else []
            rest = f"the {len(chosen)} most relevant passages" if focus else "the context alone"
            text = f"nothing was judged relevant; answering from {rest}"
            yield events.Warning(text if chosen or not focus else "no passage is left to answer from")
        self.used = self._that_fit(chosen)
        if len(self.used) < len(chosen):
            yield events.Warning(
                f"{len(chosen) - len(self.used)} of {len(chosen)} relevant {'passages' if focus else 'margins'} "
                "do not fit the context and are left out"
            )
        if focus and not reading.resolved.pattern.answers_from_passages:
            yield events.Warning(
                f"documents, prompts and answer together exceed the context of {plan.n_ctx:,} tokens, so they were "
                f"read in {len(plan.windows)} windows; answering from {len(self.used)} passages"
            )
        yield events.ReadingRanked(tuple(map(self._ranked, reading.ranking.order())))

    def _ranked(self, index: int) -> events.RankedSegment:
        plan, ranking = self.reading.plan, self.reading.ranking
        name, chars, score = plan.document_of(index).name, plan.segments[index].chars, ranking.scores.get(index)
        return events.RankedSegment(index, name, chars, ranking.relevance(index), index in self.used, score)

    def _that_fit(self, chosen: Seq[int]) -> list[int]:
        """Returns the segments that fit the final prompt, in the prompt's order. ``chosen``: most relevant first."""
        reading, plan, focus = self.reading, self.reading.plan, self._focus
        held = len(plan.prefix) if focus else len(reading.cache.sequence)
        room = plan.n_ctx - plan.reserved - held - reading.resolved.settings.answer_tokens
        fitting: list[int] = []
        for index in chosen:
            trial = [index, *fitting] if focus else sorted([*fitting, index])
            passages = sum(len(self._passage(one)) for one in trial) if focus else 0
            if len(self._question(trial)) + passages <= room:
                fitting = trial
        return fitting

    # The prompt

    def _question(self, used: Seq[int]) -> list[int]:
        return [*self.reading.model.tokenize(self._final_prompt(used)), *self.reading.chat.after_user]

    def _final_prompt(self, used: Seq[int]) -> str:
        reading, plan = self.reading, self.reading.plan
        # The examples in a base model's prompt have no quotations
        shown = used if reading.chat.is_chat or not reading.resolved.margins_are_pointed_at else ()
        margins = [(plan.document_of(index), reading.margins[index]) for index in shown if index in reading.margins]
        labels = (source_label(at, *(one.quote or one.chars), len(plan.documents) > 1) for at, one in margins)
        notes = [MarginNote(at, one.text) for at, (_, one) in zip(labels, margins, strict=True) if one.text]
        return self.prompts.answer(plan.query, notes, read=bool(plan.documents))

    def _passage(self, index: int) -> list[int]:
        tokenize, piece = self.reading.model.tokenize, self.reading.plan.segments[index]
        return [*tokenize(BLANK_LINE), *tokenize(piece.heading), *piece.segment.tokens]

    def _passages(self, used: Seq[int]) -> Sequence:
        """Returns a sequence with the prompt's opening and the passages ``used``."""
        reading, passages = self.reading, {index: self._passage(index) for index in used}
        room = len(self._question(used)) + reading.resolved.settings.answer_tokens
        n_blank, is_deep = len(reading.model.tokenize(BLANK_LINE)), reading.resolved.pattern.deep
        with reading.clock.stage("answer"):
            return reading.cache.filled(passages, reading.snapshots, n_blank, room, beside=is_deep)
