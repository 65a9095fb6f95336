"""Runs that may answer, the quotations that carry them, and the text that shows those to a person."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass

from wim_edge.documents import Document
from wim_edge.documents.tables import ROW, labelled
from wim_edge.wim import events
from wim_edge.wim.likely_cells import cell_of_row, is_of_tables, likely_cell, rows_of
from wim_edge.wim.likely_rows import MOST, likely_rows
from wim_edge.wim.plan import source_label
from wim_edge.wim.quotation import on_one_line
from wim_edge.wim.reading import Reading

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
    for index in reading.ranking.order():
        segment = plan.segments[index].segment
        if segment.document not in numbers or not left:
            continue
        document = plan.documents[segment.document]
        rows = [row for row in rows_of(document) if segment.start <= row.cells[0][0] < segment.end][:left]
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
