"""Whether `scripts/check_quotations.py` can tell where a quotation stands, and where it does not."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.script import load
from wim_edge.documents import Document
from wim_edge.documents.document import Mark
from wim_edge.reading import events

PAGES = [
    "Costs rose by a third. The rea-\nson was the price of ﬁre\u2010wood, which",
    "nobody had foreseen.\nCosts rose by a third. A table: 1 2 3",
    "Nothing else happened.",
]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("check_quotations")


@pytest.mark.parametrize(
    ("page", "text", "where"),
    [
        (1, "The reason was\nthe price of firewood", {"kind": "on_page"}),
        (1, "firewood, which nobody had foreseen.", {"kind": "on_page"}),
        (2, "Costs rose by a third.", {"kind": "on_page"}),
        (2, "| A table: | 1 | 2 |", {"kind": "on_page"}),
        (1, "nobody had foreseen.", {"kind": "on_another_page", "why": "on 2"}),
        (3, "Costs rose by a third.", {"kind": "on_another_page", "why": "on 1, 2"}),
        (3, "Nothing elsehappened.", {"kind": "not_found", "why": "spaces differ"}),
        (2, "A table: 3 2 1", {"kind": "not_found", "why": "order differs"}),
        (3, "Nothing good happened.", {"kind": "not_found", "why": "text differs: good"}),
    ],
)
def test_where_a_quotation_stands(script: ModuleType, page: int, text: str, where: dict[str, str]) -> None:
    source = events.Source(0, "a.pdf", page, None, (0, 1), 1.0, text, (0, 1))
    assert script.locate(source, PAGES) == where


@pytest.mark.parametrize(("pages", "wanted"), [(2, [(2, 4)]), (4, [(0, 2), (4, 5)]), (9, [(0, 2), (2, 4), (4, 5)])])
def test_stretches_of_pages(script: ModuleType, pages: int, wanted: list[tuple[int, int]]) -> None:
    document = Document("a.pdf", "abcde", tuple(Mark(n, page=n + 1) for n in range(5)))
    assert script.spread(document, pages) == wanted


def test_the_figures_count_what_stands_elsewhere(script: ModuleType) -> None:
    def quotation(kind: str) -> dict[str, object]:
        return {"page": 1, "text": "t", "pypdf": {"kind": kind, "why": "w"}}

    files = [{"name": "a.pdf", "quotations": [quotation("on_page"), quotation("not_found")]}]
    figures = script.summarize("pypdf", "1.0", files)
    assert (figures["n"], figures["on_page"], figures["on_another_page"], figures["not_found"]) == (2, 1, 0, 1)
    assert figures["share_on_page"] == 0.5
    assert [(one["file"], one["kind"]) for one in figures["elsewhere"]] == [("a.pdf", "not_found")]
