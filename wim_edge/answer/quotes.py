"""Quotations that carry an answer, and the text that shows them to a person."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge.documents.tables import ROW, labelled
from wim_edge.reading import events
from wim_edge.reading.plan import source_label
from wim_edge.reading.quotation import on_one_line
from wim_edge.reading.reading import Reading

_ENDS = frozenset(".!?:;。！？…\n\t|)]\"”’»›*_")
"""The characters before or at the end of a quotation that show that it is not cut there."""


def quote_at(reading: Reading, index: int, start: int, end: int) -> events.Quote:
    """Returns the quotation around characters ``[start, end)`` of the document of a segment, in which they stand."""
    document = reading.plan.documents[reading.plan.segments[index].segment.document]
    found = reading.writer.quotation(index, start, end)
    place = document.place(found.start, found.end)
    text, chars = document.text[found.start : found.end], (found.start, found.end)
    return events.Quote(
        text, document.name, place.page, place.section, chars, found.header, place.line, place.page_label
    )


def margin_quotes(reading: Reading, order: Seq[int]) -> tuple[events.Quote, ...]:
    """Returns the margins of these segments that are quotations."""
    margins = (reading.margins[index] for index in order if index in reading.margins)
    return tuple(
        events.Quote(one.text, one.document, one.page, one.section, one.quote, one.header, one.line, one.page_label)
        for one in margins
        if one.quote is not None and one.text
    )


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


def _with_cuts(text: str, quote: events.Quote) -> str:
    """Returns a quotation on one line, with an ellipsis where it begins or ends within a sentence."""
    before, after = text[: quote.chars[0]].rstrip(" ")[-1:], text[quote.chars[1] :].lstrip(" ")[:1]
    begins = not before or before in _ENDS or ROW.search(quote.text)
    ends = not after or after in "\n|" or quote.text[-1:] in _ENDS or ROW.search(quote.text)
    return f"{'' if begins else '… '}{on_one_line(quote.text)}{'' if ends else ' …'}"
