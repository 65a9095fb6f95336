"""Quotations that carry an answer, their printed form, and citations: which passage contains a sentence's words."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from wim_edge.documents import Document, sentences
from wim_edge.documents.tables import ROW, labelled
from wim_edge.reading import events
from wim_edge.reading.plan import source_label
from wim_edge.reading.quotation import on_one_line
from wim_edge.reading.reading import Reading
from wim_edge.words import best_holder, without_endings

_ENDS = frozenset(".!?:;。！？…\n\t|)]\"”’»›*_")  # a quotation that ends with or follows these is whole


def quote(document: Document, start: int, end: int, header: str = "") -> events.Quote:
    """Returns characters ``[start, end)`` of a document as a `Quote`. ``header``: the table's header, for a row."""
    at, chars = document.place(start, end), (start, end)
    place = (at.page, at.section, chars, header, at.line, at.page_label, at.row)
    return events.Quote(document.text[start:end], document.name, *place)


def quote_at(reading: Reading, index: int, start: int, end: int) -> events.Quote:
    """Returns the quotation, within segment ``index``, around characters ``[start, end)`` of the document."""
    found = reading.writer.quotation(index, start, end)
    return quote(reading.plan.document_of(index), found.start, found.end, found.header)


def margin_quotes(reading: Reading, order: Seq[int]) -> tuple[events.Quote, ...]:
    """Returns the margins of segments as quotations. ``order``: segment numbers. Leaves out free margins."""
    margins = [(reading.plan.document_of(index), reading.margins[index]) for index in order if index in reading.margins]
    return tuple(quote(document, *one.quote, one.header) for document, one in margins if one.quote and one.text)


def format_quotes(reading: Reading, quotes: Seq[events.Quote]) -> str:
    """Returns quotations with their places in words, one a line, to show to a person."""
    shown = []
    for one in quotes:
        document = next(document for document in reading.plan.documents if document.name == one.document)
        place = source_label(document, *one.chars, len(reading.plan.documents) > 1, lines=True)
        row = labelled(one.header, one.text) if one.header else ""
        # If a row's cells don't match the table's labels, show its text without the pipes
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


def cite(text: str, passages: Seq[str]) -> tuple[tuple[int, int], ...]:
    """Returns (end offset, index of the `best_holder`) for each sentence of ``text`` that a passage supports."""
    held, found = [without_endings(passage) for passage in passages], []
    for start, end in sentences(text):
        holder = best_holder(text[start:end], held)
        if holder is not None:
            found.append((start + len(text[start:end].rstrip()), holder))
    return tuple(found)
