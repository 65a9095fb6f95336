"""The wording of an answer: the judge points at words of a passage (a run), and the writer makes a sentence of the run.

    judged     the judge's run, the quotation around it, and the support
    confirmed  the support, changed by the writer's own log-odds if these may change the status
    worded     the writer's sentence, written without seeing the run. If the sentence contains the run, the run becomes
               likelier. Else the writer sees the run and writes again, and the answer is unsure. The run replaces a
               sentence with a value or name that is in no passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence as Seq
from dataclasses import dataclass, replace

from wim_edge.answer.judged import UNSURE, Answer, Judged, answer_of, judge, not_found, pointed_answer
from wim_edge.answer.quotes import format_quotes, margin_quotes, quote, quote_at
from wim_edge.answer.writer import LoadsModel, Writing, agrees, said
from wim_edge.documents import sentences
from wim_edge.documents.units import lists_within
from wim_edge.reading import events
from wim_edge.reading.generate import Grounding, unsupported
from wim_edge.reading.reading import Reading
from wim_edge.support import ANSWERED, NOT_FOUND, Confirmation, logit, sigmoid
from wim_edge.words import best_holder, without_endings

_OPEN = ("list", "summary", "free")  # kinds of answers of any length
_ITS_OWN_JUDGE = Confirmation(writer=0.0)  # a model that judged itself is not asked again whether there is an answer
SENTENCE = 96  # the most tokens of an answer of fact
_SURE = 1.5  # the least log-odds, in nats, of a sure verdict, summed over both readings


@dataclass
class Wording:
    """The wording of one answer in a model's words. Iterate `run`; afterwards ``answer`` holds the answer.

    Args:
        writing: the model and the prefilled passages.
        used: the segment numbers of the passages.
        judged: the judgement; None if nothing was scored.
        prompt: the prompt for an answer of any length.
        writer: the model that writes, if it is not the reader.
        may_be_absent: True if low support means that there is no answer.
    """

    reading: Reading
    writing: Writing
    used: Seq[int]
    judged: Judged | None
    prompt: str
    writer: LoadsModel | None
    may_be_absent: bool
    answer: Answer | None = None

    def __post_init__(self) -> None:
        self._confirmation = self.writer.confirmation if self.writer else _ITS_OWN_JUDGE
        self.writing.grounding = Grounding(self.writing.model, _known(self.reading, self.used))
        self.writing.labels = self.reading.plan.labels

    def run(self, *, from_passages: bool) -> Iterator[events.Event]:
        """Yields the answer as it is written. The answer to a question of fact is checked, then yielded whole.

        ``from_passages``: True if the judge points into passages; False: a model answers alone. Raises Interrupted.
        """
        reading, judged = self.reading, self.judged
        if not from_passages or judged is None or judged.support is None:
            yield from self._write(judged)
            return
        judged = self._confirmed(judged)
        if (judged.support or 0.0) < NOT_FOUND and self.may_be_absent:
            self.answer = not_found(reading, judged)
        elif reading.kind in _OPEN:
            yield from self._write(judged)
            return
        else:
            self.answer = self._worded(judged)
        yield events.AnswerDelta(self.answer.text)

    def _confirmed(self, judged: Judged) -> Judged:
        """Returns the judgement. The writer's log-odds change its support, if they may thereby change the status."""
        confirmation, support = self._confirmation, judged.support or 0.0
        if judged.evidence is None or not confirmation.matters(support):
            return judged
        with self.reading.clock.stage("answer"):
            says = self.writing.yes("answerable", self.reading.plan.query)
        if says is None:
            return judged
        evidence = replace(judged.evidence, writer=says, judge=logit(support))
        least = min(support, NOT_FOUND) if judged.verdict else 0.0  # its no may be the answer itself
        return replace(judged, support=max(least, confirmation.support(support, says)), evidence=evidence)

    def _worded(self, judged: Judged) -> Answer:
        """Returns the answer in the writer's sentence, written without seeing the judge's run. If the sentence lacks
        the run, the writer sees it and writes again. A writer that `comes_first` gives its own short answer instead."""
        if judged.verdict:
            return self._verdict(judged)
        if judged.other and judged.other.share > judged.candidates[0].share:  # it has changed, as the quotation says
            return pointed_answer(self.reading, judged)
        reading, query = self.reading, self.reading.plan.query
        prompts, own = self.writing.prompts, ""
        with reading.clock.stage("answer"):
            text = self._sentence(prompts.worded(query), judged.short)
            is_agreed = agrees(judged.short, text)
            if not is_agreed and comes_first(reading, self.writer):
                own = self._sentence(prompts.ask("quotation", query), "").rstrip(".")
            elif not is_agreed and judged.short:
                text = self._sentence(prompts.worded(query, *quoted(reading, judged)), judged.short)
                text = text if agrees(judged.short, text) else ""  # empty: the run replaces it
        if judged.short and judged.evidence:
            evidence = replace(judged.evidence, agreed=float(is_agreed))
            share = self._confirmation.share(judged.share, is_agreed=is_agreed)
            judged = replace(judged, evidence=evidence, share=share)
        return worded_answer(reading, self.used, judged, text, own, is_agreed=is_agreed)

    def _verdict(self, judged: Judged) -> Answer:
        """Returns the writer's yes or no, from the passages and from the quotation alone, with this quotation. It is
        sure if both are the same, and together clear."""
        query, text = self.reading.plan.query, judged.quotes[0].text
        with self.reading.clock.stage("answer"):
            odds = self.writing.yes("verdict", query), self.writing.yes("verdict", query, text, alone=True)
        if odds[0] is not None and odds[1] is not None:
            total, verdict = odds[0] + odds[1], "Yes" if odds[0] + odds[1] > 0 else "No"
            evidence = replace(judged.evidence, agreed=float(verdict == judged.verdict)) if judged.evidence else None
            is_sure, share = odds[0] * odds[1] > 0 and abs(total) >= _SURE, sigmoid(abs(total))
            judged = replace(judged, verdict=verdict, is_confirmed=is_sure, share=share, evidence=evidence)
        return pointed_answer(self.reading, judged)

    def _sentence(self, prompt: str, run: str) -> str:
        return self.writing.sentence(prompt, run, min(self.reading.resolved.settings.answer_tokens, SENTENCE))

    def _write(self, judged: Judged | None) -> Iterator[events.Event]:
        reading, text = self.reading, ""
        written = self.writing.pieces(self.prompt, reading.resolved.settings.answer_tokens)
        try:
            for piece in reading.clock.each("answer", written):
                text += piece
                yield events.AnswerDelta(piece)
        finally:
            self.answer = written_answer(reading, self.used, text.strip(), judged)


def comes_first(reading: Reading, writer: LoadsModel | None) -> bool:
    """Returns whether the writer's short answer is shown before the judge's (`Settings.short_answer`)."""
    resolved = writer.resolved() if writer else reading.resolved
    return resolved.settings.short_answer == "writer"


def quoted(reading: Reading, judged: Judged | None) -> tuple[str, str]:
    """Returns (quotation, run) of the judge, to show to a writer that disagrees. Both are empty without a judgement."""
    return (format_quotes(reading, judged.quotes[:1]), judged.short) if judged else ("", "")


def provisional_answer(reading: Reading) -> Answer | None:
    """Returns the answer from the text read so far; None if it is unsure, or not words of the text. Runs no model."""
    if reading.kind not in ("auto", "fact"):
        return None
    judged = judge(reading, reading.chosen(), alone=False)
    is_run = judged.candidates and judged.support is not None and not judged.verdict and not judged.items
    return answer_of(judged) if is_run and judged.status == "answered" else None


def worded_answer(
    reading: Reading, used: Seq[int], judged: Judged, text: str, own: str = "", *, is_agreed: bool
) -> Answer:
    """Returns the answer from a writer's sentence, ``text``; sure only if the judge is sure and the writer agrees.

    If the sentence has a value or name that is in no passage, the judge's run replaces it. ``own``: the writer's short
    answer, if it differs and comes first. ``is_agreed``: True if the writer wrote the run before seeing it.
    """
    loose = unsupported(f"{text}\n{own}", _known(reading, used))
    answer = answer_of(judged)
    short, span, quotes = answer.short, answer.span, answer.quotes
    status = "unsure" if loose or not is_agreed else answer.status
    if (loose or not text) and short:
        text, own, loose = short, "", ()
    if own:
        text, short, span = text if said(own, text) else own, own, None
    n_shown = 2 if judged.other else 1
    if not is_agreed and text != judged.short and (carries := _carrying(reading, used, text)):
        quotes = tuple(dict.fromkeys((carries, *quotes) if own else (*quotes[:1], carries, *quotes[1:])))
        n_shown = 2
    carried = format_quotes(reading, quotes[:n_shown])
    shown = f"{UNSURE}{text}" if status == "unsure" else text
    return replace(
        answer, text=f"{shown}\n\n{carried}" if carried else shown, status=status, short=short, span=span,
        quotes=quotes, unsupported=loose, confidence=None if own else judged.confidence, is_written=True,
    )  # fmt: skip


def _carrying(reading: Reading, used: Seq[int], text: str) -> events.Quote | None:
    """Returns, as a quotation, the sentence or list in the passages ``used`` that best supports ``text``, or None."""
    plan, spans = reading.plan, list[tuple[int, int, int, bool]]()
    for index in used:
        document, own = plan.document_of(index), plan.segments[index].segment
        spans += [(index, own.start + start, own.start + end, False) for start, end in sentences(own.text)]
        below = lists_within(document, own.start, own.end)
        spans += [(index, items[0][0], items[-1][1], True) for _, items in below]
    best = best_holder(text, [without_endings(plan.document_of(at).text[start:end]) for at, start, end, _ in spans])
    if best is None:
        return None
    index, start, end, is_list = spans[best]
    document = plan.document_of(index)
    at = end - len(document.text[start:end].lstrip())
    return quote(document, start, end) if is_list else quote_at(reading, index, at, at + 1)


def written_answer(reading: Reading, used: Seq[int], text: str, judged: Judged | None) -> Answer:
    """Returns an answer of any length in a model's own words. ``judged``: None if nothing was scored."""
    if not text and judged is not None and judged.short:  # the model wrote only echoes, which are cut
        return pointed_answer(reading, judged)
    loose = unsupported(text, _known(reading, used))
    support = judged.support if judged else None
    is_sure = not loose and (support is None or support >= ANSWERED)
    own = answer_of(judged) if judged else Answer(quotes=margin_quotes(reading, used))
    own = replace(own, short="", span=None) if reading.kind in _OPEN and not said(own.short, text) else own
    status: events.AnswerStatus = "answered" if is_sure else "unsure"
    return replace(own, text=text, status=status, unsupported=loose, is_written=True)


def _known(reading: Reading, used: Seq[int]) -> list[str]:
    """Returns the texts whose values an answer may contain: the passages (if none, all documents), and the question."""
    passages = [reading.plan.segments[index].text for index in used]
    return [*(passages or [document.text for document in reading.plan.documents]), reading.plan.query]
