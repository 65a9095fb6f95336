"""The blocks of a document, with their kinds."""

from __future__ import annotations

from wim_edge.documents import Document, Mark
from wim_edge.documents.blocks import blocks


def kinds(text: str, *headings: str) -> list[tuple[str, str]]:
    document = Document("d", text, tuple(Mark(text.index(one), None, one) for one in headings))
    found = blocks(document)
    return [(one.kind, text[one.start : one.end]) for one in found]


def test_each_stretch_is_what_it_looks_like() -> None:
    text = (
        "Care\n\nA paragraph of\ntwo lines.\n- an item\n  that goes on\n- another\n\n## Light\nBright.\n"
        "```\n- no item\n\ncode\n```\nThe end"
    )
    assert kinds(text, "Care") == [
        ("heading", "Care"), ("paragraph", "A paragraph of\ntwo lines."), ("item", "- an item\n  that goes on"),
        ("item", "- another"), ("heading", "## Light"), ("paragraph", "Bright."),
        ("code", "```\n- no item\n\ncode\n```"), ("paragraph", "The end"),
    ]  # fmt: skip


def test_rows_know_their_header() -> None:
    text = "Prices:\n| Item | Price |\n| --- | --- |\n| Rope | 24.90 |\n\nWater tank | 4.5 l\nNoise | 42 dB\n\na | b"
    found = blocks(Document("d", text))
    assert [(one.kind, text[one.start : one.end], one.header and text[slice(*one.header)]) for one in found] == [
        ("paragraph", "Prices:", None), ("row", "| Item | Price |", "| Item | Price |"),
        ("row", "| Rope | 24.90 |", "| Item | Price |"), ("row", "Water tank | 4.5 l", None),
        ("row", "Noise | 42 dB", None), ("paragraph", "a | b", None),
    ]  # fmt: skip


def test_a_page_that_begins_in_a_section_begins_with_no_heading_for_that() -> None:
    assert kinds("Text of the page,\nwhich goes on.", "Text of the page") == [
        ("paragraph", "Text of the page,\nwhich goes on.")
    ]
    assert kinds("") == []
    assert kinds("```\nnever closed") == [("code", "```\nnever closed")]
