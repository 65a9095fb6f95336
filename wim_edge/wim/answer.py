"""The final prompt: context (or the passages that margins came from), relevant margins, question."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

from wim_edge.wim import events
from wim_edge.wim.generate import Generation
from wim_edge.wim.plan import place_of
from wim_edge.wim.prompts import Note, Prompts
from wim_edge.wim.reading import Reading

_BEST_WITHOUT_VERDICT = 2  # passages to answer from when no margin was judged relevant


@dataclass
class Answering:
    """Puts the question to what was read. Iterate `run`; afterwards the fields hold the outcome."""

    reading: Reading
    prompts: Prompts
    used: list[events.MarginJudged] = field(default_factory=list)
    """The margins that stand in the final prompt, in the order of the document."""
    from_passages: bool = False
    """Whether the context has left the cache (windows), so that the passages are read again."""
    generation: Generation | None = None

    def run(self) -> Iterator[events.Event]:
        """Prefill the final prompt and decode the answer. Raises Interrupted, ContextOverflowError."""
        reading, plan = self.reading, self.reading.plan
        sequence = reading.context_sequence
        assert sequence is not None
        self.from_passages = reading.window > 0
        if self.from_passages:
            with reading.clock.stage("answer"):
                sequence.truncate(len(plan.opening))
            yield from self._choose_passages()
        else:
            yield from self._choose_margins()
        with reading.clock.stage("answer"):
            for tokens in self._final_prompt():
                sequence.append(tokens)
        self.generation = Generation(
            reading.model, sequence, reading.sampler, reading.settings.answer_tokens, reading.chat.stops
        )
        for text in reading.clock.each("answer", self.generation.pieces()):
            yield events.AnswerDelta(text)

    def _final_prompt(self) -> Iterator[list[int]]:
        """Token runs: passages where the context is not in the cache, then the prompt and the turn's end."""
        reading = self.reading
        if self.from_passages:
            for margin in self.used:
                yield self._passage(margin)
        yield [*reading.model.tokenize(self._question(self.used)), *reading.chat.after_user]

    def _question(self, margins: Seq[events.MarginJudged]) -> str:
        plan = self.reading.plan
        several = len(plan.documents) > 1
        notes = []
        for margin in margins:
            segment = plan.segments[margin.segment].segment
            place = place_of(plan.documents[segment.document], segment.start, segment.end, several)
            notes.append(Note(place, margin.text))
        return self.prompts.answer(plan.query, notes, windowed=self.from_passages)

    def _passage(self, margin: events.MarginJudged) -> list[int]:
        plan, model = self.reading.plan, self.reading.model
        segment = plan.segments[margin.segment].segment
        name = self.prompts.document(margin.document, several=len(plan.documents) > 1)
        return [*model.tokenize(name), *segment.tokens, *model.tokenize("\n\n")]

    def _choose_margins(self) -> Iterator[events.Event]:
        relevant = [margin for margin in self.reading.margins if margin.relevant]
        if self.reading.margins and not relevant:
            yield events.Warning("no margin was judged relevant; answering from the context alone")
        self.used = self._that_fit(relevant)
        if len(self.used) < len(relevant):
            yield events.Warning(
                f"{len(relevant) - len(self.used)} of {len(relevant)} relevant margins, the least relevant, "
                "do not fit beside the context and are left out"
            )

    def _choose_passages(self) -> Iterator[events.Event]:
        margins = self.reading.margins
        relevant = [margin for margin in margins if margin.relevant]
        if not relevant:
            relevant = sorted(margins, key=lambda margin: -margin.relevance)[:_BEST_WITHOUT_VERDICT]
            yield events.Warning(
                f"no margin was judged relevant; answering from the {len(relevant)} most relevant passages"
            )
        self.used = self._that_fit(relevant)
        yield events.Warning(
            f"documents, prompts and answer together exceed the context of {self.reading.plan.n_ctx:,} tokens, "
            f"so the reading went in {len(self.reading.plan.windows)} windows; answering from {len(self.used)} "
            f"of {len(relevant)} passages with their margins"
        )

    def _that_fit(self, margins: Seq[events.MarginJudged]) -> list[events.MarginJudged]:
        """The most relevant that the final prompt holds, in the order of the document."""
        reading = self.reading
        assert reading.context_sequence is not None
        room = reading.plan.n_ctx - reading.plan.reserved - len(reading.context_sequence)
        room -= reading.settings.answer_tokens + len(reading.chat.after_user)
        chosen: list[events.MarginJudged] = []
        for margin in sorted(margins, key=lambda margin: (-margin.relevance, margin.segment)):
            trial = sorted([*chosen, margin], key=lambda margin: margin.segment)
            need = len(reading.model.tokenize(self._question(trial)))
            if self.from_passages:
                need += sum(len(self._passage(one)) for one in trial)
            if need <= room:
                chosen = trial
        return chosen

