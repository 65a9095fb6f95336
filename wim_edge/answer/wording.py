"""The wording of an answer: a judge has pointed at the words that answer, and a model says them in a sentence.

    judged     the run that the judge points at, its quotation, and the support by the judge's evidence alone
    confirmed  the support where the judge is unsure, once the model has said whether it would answer at all
    worded     a sentence of the model's that says the run without having been told it: judge and writer agree; else one
               that was told, and is unsure; the run itself, if the sentence has a value or name that no passage has
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace

from wim_edge.answer.citations import best_holder
from wim_edge.answer.judged import Judged, judge, status_of
from wim_edge.answer.pointed import Answer, answer_of, not_found, pointed_answer
from wim_edge.answer.quotes import format_quotes, margin_quotes, quote_at
from wim_edge.answer.writer import Writer, Writing, agrees, said
from wim_edge.documents import sentences
from wim_edge.reading import events
from wim_edge.reading.grounding import VALUE, Grounding
from wim_edge.reading.reading import Reading
from wim_edge.support import ANSWERED, NOT_FOUND, Confirmation, logit
from wim_edge.words import without_endings

_THOUSANDS = re.compile(r"(?<=\d)[,.\s'\u2019](?=\d{3}(?!\d))")
"""A mark between thousands."""
_NUMBERING = re.compile(r"^[ \t]*\d{1,2}[.)]\s", re.MULTILINE)
_WORD = re.compile(r"\w+")
_NAMES_AT_MOST = 0.3
"""The share of words within sentences that begin with a capital from which on these are not taken for names."""
_OPEN = ("list", "summary", "free")
"""The kinds of answer that may have any length."""
_ITS_OWN_JUDGE = Confirmation(writer=0.0)
"""A model that has judged is not asked again."""
_SENTENCE = 96
"""The most tokens of an answer to a question of fact."""


@dataclass
class Wording:
    """One answer in a model's words. Iterate `run`; afterwards ``answer`` holds it.

    Args:
        writing: the model, in whose sequence the passages are.
        used: the segments that they are, by number.
        judged: the judge's outcome; None if nothing was scored.
        prompt: the one that asks for an answer of any length.
        writer: the model beside the one that read, if that is not the one that writes.
        may_be_absent: True if the support decides whether there is an answer.
    """

    reading: Reading
    writing: Writing
    used: Seq[int]
    judged: Judged | None
    prompt: str
    writer: Writer | None = None
    may_be_absent: bool = True
    answer: Answer | None = None

    def run(self, *, from_passages: bool) -> Iterator[events.Event]:
        """Yields the answer as it is written; one to a question of fact at once, when it is checked.

        ``from_passages``: a run was pointed at in passages; False: the whole context is asked. Raises Interrupted.
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
        """Returns what the judge found with the support that the model leaves it, which is asked where the judge is
        unsure."""
        confirmation = self.writer.confirmation if self.writer else _ITS_OWN_JUDGE
        if not confirmation.writer or judged.evidence is None or status_of(judged.support or 0.0) != "unsure":
            return judged
        with self.reading.clock.stage("answer"):
            says = self.writing.log_odds(self.reading.plan.query)
        if says is None:
            return judged
        evidence = replace(judged.evidence, writer=says, judge=logit(judged.support or 0.0))
        return replace(judged, support=confirmation.support(judged.support or 0.0, says), evidence=evidence)

    def _worded(self, judged: Judged) -> Answer:
        """Returns the answer in a sentence of the model's, which is asked without being told the judge's run. Where
        its sentence says another one, it is told the run, or asked for its own short answer if that comes first."""
        reading, query = self.reading, self.reading.plan.query
        prompts, own = self.writing.prompts, ""
        with reading.clock.stage("answer"):
            text = self._sentence(prompts.worded(query), judged.short)
            is_agreed = agrees(judged.short, text)
            if not is_agreed and self._answers_first:
                own = self._sentence(prompts.quotation(query), "").rstrip(".")
            elif not is_agreed and judged.short:
                told = self._sentence(prompts.worded(query, *quoted(reading, judged)), judged.short)
                text = told if agrees(judged.short, told) else ""  # which leaves the run
        return worded_answer(reading, self.used, judged, text, own, is_agreed=is_agreed)

    def _sentence(self, prompt: str, run: str) -> str:
        most = min(self.reading.resolved.settings.answer_tokens, _SENTENCE)
        return self.writing.sentence(prompt, run, most, *self._held)

    @property
    def _answers_first(self) -> bool:
        """Tells whether the model's own answer comes before what the judge points at."""
        resolved = self.writer.resolved if self.writer else self.reading.resolved
        return resolved.settings.short_answer == "writer"

    def _write(self, judged: Judged | None) -> Iterator[events.Event]:
        reading, text = self.reading, ""
        written = self.writing.pieces(self.prompt, reading.resolved.settings.answer_tokens, *self._held)
        try:
            for piece in reading.clock.each("answer", written):
                text += piece
                yield events.AnswerDelta(piece)
        finally:
            self.answer = written_answer(reading, self.used, text.strip(), judged)

    @property
    def _held(self) -> tuple[Grounding, tuple[str, ...]]:
        """The values that the text is held to, and the labels that are echoes of a prompt."""
        known = [*passages_of(self.reading, self.used), self.reading.plan.query]
        return Grounding(self.writing.model, known), self.reading.plan.labels


def quoted(reading: Reading, judged: Judged | None) -> tuple[str, str]:
    """Returns what a writer is told that says another run: the judge's quotation, and its run."""
    return (format_quotes(reading, judged.quotes[:1]), judged.short) if judged else ("", "")


def provisional_answer(reading: Reading) -> Answer | None:
    """Returns the likeliest run of what has been read so far, if its support is that of a sure answer; else None.
    Nothing is evaluated for it."""
    if reading.kind not in ("auto", "fact"):
        return None
    judged = judge(reading, reading.chosen(), alone=False)
    is_run = judged.candidates and judged.support is not None and not judged.verdict and not judged.items
    return answer_of(judged) if is_run and judged.status == "answered" else None


def worded_answer(
    reading: Reading, used: Seq[int], judged: Judged, text: str, own: str = "", *, is_agreed: bool
) -> Answer:
    """Returns a writer's answer to a question of fact, with the quotation that carries it.

    A text with a value or name that no passage has gives way to the run. The answer is sure only where the judge is,
    and the writer has said the same without being told.

    Args:
        judged: the run that the judge points at (``short``), its quotations, and the support.
        text: the writer's sentence.
        own: the writer's short answer, where that comes first and is another one.
        is_agreed: True if the writer's sentence says the run, of which it was not told.
    """
    loose = unsupported(f"{text}\n{own}", [*passages_of(reading, used), reading.plan.query])
    status, short, span, quotes = judged.status, judged.short, judged.span, judged.quotes
    if loose or not is_agreed:
        status = "unsure"
    if (loose or not text) and short:
        text, own, loose = short, "", ()
    if own:
        text, short, span = text if said(own, text) else own, own, None
    n_shown = 1
    if not is_agreed and text != judged.short and (carries := _carrying(reading, used, text)):
        quotes = tuple(dict.fromkeys((carries, *quotes) if own else (*quotes[:1], carries, *quotes[1:])))
        n_shown = 2
    carried = format_quotes(reading, quotes[:n_shown])
    shown = f"Perhaps: {text}" if status == "unsure" else text
    return replace(
        answer_of(judged), text=f"{shown}\n\n{carried}" if carried else shown, status=status, short=short, span=span,
        quotes=quotes, unsupported=loose, is_written=True,
    )  # fmt: skip


def _carrying(reading: Reading, used: Seq[int], text: str) -> events.Quote | None:
    """Returns the quotation of the passages that has most of a text's words, rare ones counting more; None if it has
    less than half of them."""
    plan = reading.plan
    spans = [(index, *span) for index in used for span in sentences(plan.segments[index].segment.text)]
    units = [without_endings(plan.segments[index].segment.text[start:end]) for index, start, end in spans]
    best = best_holder(text, units)
    if best is None:
        return None
    index, start, end = spans[best]
    segment = plan.segments[index].segment
    at = segment.start + end - len(segment.text[start:end].lstrip())
    return quote_at(reading, index, at, at + 1)


def written_answer(reading: Reading, used: Seq[int], text: str, judged: Judged | None) -> Answer:
    """Returns the parts of an answer in a model's own words. ``judged``: the run that the reader points at, with its
    support; None: nothing was scored."""
    if not text and judged is not None and judged.short:  # it said nothing but what was cut as an echo
        return pointed_answer(reading, judged)
    loose = unsupported(text, [*passages_of(reading, used), reading.plan.query])
    support = judged.support if judged else None
    is_sure = not loose and (support is None or support >= ANSWERED)
    own = answer_of(judged) if judged else Answer(quotes=margin_quotes(reading, used))
    status: events.AnswerStatus = "answered" if is_sure else "unsure"
    return replace(own, text=text, status=status, unsupported=loose, is_written=True)


def passages_of(reading: Reading, used: Seq[int]) -> list[str]:
    """Returns the texts that an answer can be taken from: the chosen passages, or all documents if none was chosen."""
    passages = [reading.plan.segments[index].text for index in used]
    return passages or [document.text for document in reading.plan.documents]


def unsupported(text: str, known: Seq[str]) -> tuple[str, ...]:
    """Returns the numbers, codes, addresses and names of a text that no known text has as a whole, whatever their case
    and the marks between thousands. The numbers of a list's items are none."""
    plain = "\n".join(known).casefold()
    plain += f"\n{_THOUSANDS.sub('', plain)}"
    found = dict.fromkeys(match.group().rstrip(".,:;") for match in VALUE.finditer(_NUMBERING.sub("", text)))
    values = [one for one in found if not any(_stands_in(form, plain) for form in (one, _THOUSANDS.sub("", one)))]
    return (*values, *(name for name in _names(text, known) if not _stands_in(name, plain)))


def _names(text: str, known: Seq[str]) -> list[str]:
    """Returns the words of a text that begin with a capital within a sentence; none where the known texts write so many
    of theirs so that they cannot all be names, as German does."""
    inner = [word for one in known for word in _inner_words(one)]
    if sum(word[0].isupper() for word in inner) > _NAMES_AT_MOST * len(inner):
        return []
    return [word for word in dict.fromkeys(_inner_words(text)) if word[0].isupper()]


def _inner_words(text: str) -> Iterator[str]:
    """Yields the words of letters behind the first word of their sentence."""
    for start, end in sentences(text):
        words = _WORD.findall(text, start, end)
        yield from (word for word in words[1:] if len(word) > 1 and word.isalpha())


def _stands_in(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(value.casefold())}(?!\w|[.,]\d)", text) is not None
