"""Runs that may answer, the quotations that carry them, and the text that shows those to a person."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from math import exp

from wim_edge.documents import Document
from wim_edge.documents.tables import ROW, labelled
from wim_edge.wim import events
from wim_edge.wim.likely_cells import cell_of_row, coded_rows, is_of_tables, likely_cell, rows_of
from wim_edge.wim.likely_rows import MOST, likely_rows, question_likelihoods
from wim_edge.wim.negation import stated
from wim_edge.wim.pairs import changed_value, labelled_value, nearest_value, paired_value
from wim_edge.wim.plan import source_label
from wim_edge.wim.pointing import AnswerRun, Pointed
from wim_edge.wim.quotation import on_one_line, quotation, whole_value
from wim_edge.wim.reading import Reading
from wim_edge.wim.tables import cell_of_column, extreme_cells, table_cell

_WORD = re.compile(r"\w+")
_UNIT = re.compile(
    r"(?:(?:giga|mega|kilo|milli|centi)?(?:bit|byte|watt|volt|met(?:er|re)|lit(?:er|re)|gram|ton(?:ne)?|inch(?:es)?|feet|foot"
    r"|mile|second|minute|hour|day|week|month|year|euro|pound|dollar|penny|pence|cent|crown|percent|degree|page|person"
    r"|people|time|piece|point)s?|per cent|[kmc]?m|[mc]?l|k?g|k?[WVAJ]|[kMGT]i?B|Hz|dB|°C|%|h|min)",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"[£€$]?\d[\d.,]*\s\Z")
_IS = re.compile(r"(?:is|are|was|were)\s+(?=\w)")
"""The verb that leads from a sentence's subject to an answer, and is no part of the answer."""
_CARRIERS, _NEAR = 8, 0.05
"""The runs whose carriers are compared, and the nats a token of the question by which two are told apart."""
_BEST = 3
"""The likeliest rows of which one may answer."""
_ENDS = frozenset(".!?:;。！？…\n\t|)]\"”’»›*_")
"""The characters before or at the end of a quotation that show that it is not cut there."""


@dataclass(frozen=True)
class AnswerCandidate:
    """A run of one of the passages, as characters of its document."""

    index: int
    document: Document
    start: int
    end: int
    share: float
    """The probability that this run in this passage is the answer, given the passages."""

    @property
    def text(self) -> str:
        return " ".join(self.document.text[self.start : self.end].split())


def candidates_of(reading: Reading, found: dict[int, Pointed]) -> list[AnswerCandidate]:
    """Returns the runs of all passages, the likeliest first: a passage's relevance times the run's probability in it. A
    run that several passages have counts once for each."""
    own = [
        _candidate(reading, index, run, reading.ranking.relevance(index))
        for index, pointed in found.items()
        for run in pointed.runs
    ]
    total: dict[str, float] = defaultdict(float)
    for one in own:
        total[key(one.text)] += one.share
    return sorted(own, key=lambda one: (-total[key(one.text)], -one.share))


def likelier(reading: Reading, candidates: Seq[AnswerCandidate], question: str) -> AnswerCandidate | None:
    """Returns the run whose carrier makes the question likeliest, if that of the first one does not: it may be what is
    asked about. The model weighs runs after all of a passage, this each carrier alone."""
    of: dict[str, AnswerCandidate] = {}
    for one in candidates[:_CARRIERS]:
        quote = carrier(reading, one)
        of.setdefault(labelled(quote.header, quote.text) or quote.text, one)
    scores = question_likelihoods(reading, list(of), question) if len(of) > 1 else []
    if not scores or scores[0] >= max(scores) - _NEAR * len(reading.model.tokenize(question)):
        return None
    return list(of.values())[scores.index(max(scores))]


def looked_up(reading: Reading, found: Iterable[int], question: str) -> list[AnswerCandidate]:
    """Returns the cell of a table that the question names by its row and its column, or by a superlative (several cells
    if their rows have the same value). To a question for yes or no it must be one of these."""
    for index in sorted(found, key=lambda index: -reading.ranking.relevance(index)):
        segment = reading.plan.segments[index].segment
        document = reading.plan.documents[segment.document]
        cell = table_cell(document, segment, question) if reading.kind in ("fact", "list", "yesno") else None
        if cell and reading.kind == "yesno" and stated(question, document.text, *cell) is None:
            cell = None
        cells = [cell] if cell else []
        if reading.kind == "fact" and not cells:
            cells = extreme_cells(document, segment, question)
        if cells:
            return [AnswerCandidate(index, document, *cell, 1.0) for cell in cells]
    return []


def _candidate(reading: Reading, index: int, run: AnswerRun, relevance: float) -> AnswerCandidate:
    document = reading.plan.documents[reading.plan.segments[index].segment.document]
    start, end = whole_value(document.text, run.start, run.end)
    is_said = _IS.match(document.text, start, end)
    start = is_said.end() if is_said else start
    return AnswerCandidate(index, document, start, end, relevance * exp(run.logprob))


def odds(pointed: Pointed) -> float:
    """Returns the probability that a passage answers at all, as an adapter tells it."""
    return 1 / (1 + exp(-pointed.answers))


def key(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def aligned(reading: Reading, run: AnswerCandidate, question: str) -> AnswerCandidate:
    """Returns the run, the value or cell beside it that the question names, or the run with the number before it."""
    text = run.document.text
    segment = reading.plan.segments[run.index].segment
    around = quotation(run.document, segment, run.start, run.end, len(segment.text))
    value = paired_value(text, around.start, around.end, run.start, question)
    found = value or labelled_value(text, run.start, run.end, question) or cell_of_column(text, run.start, question)
    number = _BEFORE.search(text, around.start, run.start)
    if found is None and number and _UNIT.fullmatch(run.text):
        found = number.start(), run.end  # "euros" of "2 euros"
    if found is None and not is_in_table(run):
        bounds = around.start, around.end, (run.start, run.end)
        found = changed_value(text, *bounds, question) or nearest_value(text, *bounds, question)
    return replace(run, start=found[0], end=found[1]) if found else run


def guess(reading: Reading, question: str, best: AnswerCandidate | None) -> AnswerCandidate | None:
    """Returns the likeliest cell of the documents' tables: by its words (`wim_edge.wim.likely_cells`), if one document
    has one, else of the row that makes the question likeliest. Where the best run is none of a table, that document
    must be one of tables."""
    plan = reading.plan
    found = [
        (number, likely_cell(document, question)) for number, document in enumerate(plan.documents)
        if (best is not None and is_in_table(best)) or is_of_tables(document)
    ]  # fmt: skip
    cells = [(number, cell) for number, cell in found if cell is not None]
    if not cells and found:
        cells = _of_likely_row(reading, question, [number for number, _ in found])
    if len(cells) != 1:
        return None
    number, (start, end) = cells[0]
    index = next(
        (at for at, piece in enumerate(plan.segments)
         if piece.segment.document == number and piece.segment.start <= start and end <= piece.segment.end), None,
    )  # fmt: skip
    return None if index is None else AnswerCandidate(index, plan.documents[number], start, end, 1.0)


def _of_likely_row(reading: Reading, question: str, numbers: Seq[int]) -> list[tuple[int, events.Chars]]:
    """Returns the document's number and the cell of the likeliest row of those in the passages that are drawn on, the
    most relevant first."""
    plan = reading.plan
    scored = []
    left = MOST
    coded = {number: own for number in numbers if (own := coded_rows(plan.documents[number], question))}
    for index in reading.ranking.order():
        segment = plan.segments[index].segment
        if segment.document not in (coded or numbers) or not left:
            continue
        document = plan.documents[segment.document]
        own = coded.get(segment.document) or rows_of(document)
        rows = [row for row in own if segment.start <= row.cells[0][0] < segment.end][:left]
        left -= len(rows)
        scored += [(score, segment.document, row) for score, row in likely_rows(reading, rows, question)]
    # A row without a cell that may be an answer is none
    cells = ((number, cell_of_row(row, question)) for _, number, row in sorted(scored, key=lambda one: -one[0])[:_BEST])
    return [(number, cell) for number, cell in cells if cell is not None][:1]


def is_in_table(run: AnswerCandidate) -> bool:
    """Tells whether a run stands in a row."""
    text = run.document.text
    line = text[text.rfind("\n", 0, run.start) + 1 : run.end]
    return ROW.search(line) is not None or "|" in text[run.end : run.end + 3]


def carrier(reading: Reading, run: AnswerCandidate) -> events.Quote:
    """Returns the quotation that carries a run."""
    found = reading.writer.quotation(run.index, run.start, run.end)
    place = run.document.place(found.start, found.end)
    text = run.document.text[found.start : found.end]
    chars = (found.start, found.end)
    return events.Quote(text, run.document.name, place.page, place.section, chars, found.header, place.line)


def margin_quotes(reading: Reading, order: Seq[int]) -> tuple[events.Quote, ...]:
    """Returns the margins of these segments that are quotations."""
    quotes = []
    for index in order:
        margin = reading.margins.get(index)
        if margin is not None and margin.quote is not None and margin.text:
            quotes.append(
                events.Quote(
                    margin.text, margin.document, margin.page, margin.section, margin.quote, margin.header,
                    margin.line,
                )
            )
    return tuple(quotes)


def _with_cuts(text: str, quote: events.Quote) -> str:
    """Returns a quotation on one line, with an ellipsis where it begins or ends within a sentence."""
    before, after = text[: quote.chars[0]].rstrip(" ")[-1:], text[quote.chars[1] :].lstrip(" ")[:1]
    begins = not before or before in _ENDS or ROW.search(quote.text)
    ends = not after or after in "\n|" or quote.text[-1:] in _ENDS or ROW.search(quote.text)
    return f"{'' if begins else '… '}{on_one_line(quote.text)}{'' if ends else ' …'}"


def format_quotes(reading: Reading, quotes: Seq[events.Quote]) -> str:
    """Returns quotations with their places, in the form for a person."""
    shown = []
    for quote in quotes:
        document = next(one for one in reading.plan.documents if one.name == quote.document)
        place = source_label(document, *quote.chars, len(reading.plan.documents) > 1, lines=True)
        row = labelled(quote.header, quote.text) if quote.header else ""
        # A row whose cells do not match the table's labels: its text, without the pipes
        cells = " · ".join(cell for part in quote.text.split("|") if (cell := on_one_line(part)))
        text = row or (cells if quote.header else f"“{_with_cuts(document.text, quote)}”")
        shown.append(f"{text}{f' ({place})' if place else ''}")
    return "\n".join(shown)
