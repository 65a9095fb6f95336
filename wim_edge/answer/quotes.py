"""Quotations that carry an answer, and their form for a person."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge.documents import Document
from wim_edge.documents.tables import ROW, labelled
from wim_edge.reading import events
from wim_edge.reading.plan import source_label
from wim_edge.reading.quotation import on_one_line
from wim_edge.reading.reading import Reading

_ENDS = frozenset(".!?:;。！？…\n\t|)]\"”’»›*_")
"""A quotation that ends with one of these, or follows one, is whole there."""


def quote(document: Document, start: int, end: int, header: str = "") -> events.Quote:
    """Returns characters ``[start, end)`` of a document as a quotation with its place."""
    place = document.place(start, end)
    text = document.text[start:end]
    chars, label = (start, end), place.page_label
    return events.Quote(text, document.name, place.page, place.section, chars, header, place.line, label)


def quote_at(reading: Reading, index: int, start: int, end: int) -> events.Quote:
    """Returns the quotation around characters ``[start, end)`` of the document, in segment ``index``."""
    found = reading.writer.quotation(index, start, end)
    return quote(reading.plan.document_of(index), found.start, found.end, found.header)


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
    for one in quotes:
        document = next(document for document in reading.plan.documents if document.name == one.document)
        place = source_label(document, *one.chars, len(reading.plan.documents) > 1, lines=True)
        row = labelled(one.header, one.text) if one.header else ""
        # If its cells don't match the table's labels: the row's text, without the pipes
        cells = " · ".join(cell for part in one.text.split("|") if (cell := on_one_line(part)))
        text = row or (cells if one.header else f"“{_with_cuts(document.text, one)}”")
        shown.append(f"{text}{f' ({place})' if place else ''}")
    return "\n".join(shown)


def _with_cuts(text: str, one: events.Quote) -> str:
    """Returns a quotation on one line, with an ellipsis where it begins or ends within a sentence."""
    before, after = text[: one.chars[0]].rstrip(" ")[-1:], text[one.chars[1] :].lstrip(" ")[:1]
    begins = not before or before in _ENDS or ROW.search(one.text)
    ends = not after or after in "\n|" or one.text[-1:] in _ENDS or ROW.search(one.text)
    return f"{'' if begins else '… '}{on_one_line(one.text)}{'' if ends else ' …'}"
