"""What the displays say of events, in a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wim_edge.cli.event_lines import format_place, format_scan, format_sources
from wim_edge.reading import events


def test_places() -> None:
    margin = events.MarginJudged(0, "a.md", None, "Costs", (3, 9), "", None, 0.0, False, line=14)
    assert format_place(margin, several=True) == "a.md, Costs, line 14"
    paged = events.MarginJudged(0, "a.pdf", 12, "Costs", (3, 9), "", None, 0.0, False)
    assert format_place(paged, several=False) == "page 12"


def test_sources_are_told_once_with_what_opens_them() -> None:
    source = events.Source(0, "a.md", None, "Costs", (3, 9), 0.4, "", None, "a b.md", 14, None, "a b.md:14")
    page = events.Source(1, "r.pdf", 2, None, (3, 9), 0.9, "", None, "r.pdf", None, None, "r.pdf#page=2")
    row = events.Source(2, "p.xlsx", None, "Prices", (3, 9), 0.9, "", None, None, None, 7, None)
    sources = (source, replace(source, relevance=0.6), page, row)
    usage = events.Usage(0, 0, 0, {"total": 1.0}, 0)
    finished = events.AnswerFinished("", "stop", "wim", "m", sources, usage, 1, 1, None, "answered")
    found = [(one.where, one.relevance, one.opens) for one in format_sources(finished, several=False)]
    assert found == [
        ("Costs, line 14", 0.6, "a b.md:14"), ("page 2", 0.9, "r.pdf#page=2"), ("Prices, row 7", 0.9, ""),
    ]  # fmt: skip
    scanned = replace(finished, sources=(replace(page, confidence=0.934),))
    assert format_sources(scanned, several=False)[0].where == "page 2, recognised with 0.93"
    links = [one.link for one in format_sources(finished, several=False)]
    assert links == [Path("a b.md").absolute().as_uri(), f"{Path('r.pdf').absolute().as_uri()}#page=2", ""]
    absent = replace(finished, status="not_found")
    assert format_sources(absent, several=False) == []
    quote = events.Quote("quoted", "a.md", None, "Costs", (3, 9))
    nearest = format_sources(replace(absent, quotes=(quote,)), several=False)
    assert [one.where for one in nearest] == ["Costs, line 14"]


def test_scans() -> None:
    begun = events.PagesRecognised("a.pdf", 0, 12, None)
    assert format_scan(begun) == "a.pdf: recognising the text of pictures, 0 of 12 pages done"
    second = replace(begun, pages=2, confidence=0.934)
    assert format_scan(second).endswith("2 of 12 pages done, the last with confidence 0.93")
    assert format_scan(replace(begun, of=None)) == "a.pdf: recognising the text of pictures, 0 done"
