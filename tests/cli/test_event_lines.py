"""What the displays say of events, in a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wim_edge.cli.event_lines import format_candidates, format_place, format_scan, format_sources
from wim_edge.reading import events
from wim_edge.support import SupportWeights


def test_places() -> None:
    margin = events.MarginJudged(0, "a.md", None, "Costs", (3, 9), "", None, 0.0, False, line=14)
    assert format_place(margin, several=True) == "a.md, Costs, line 14"
    paged = events.MarginJudged(0, "a.pdf", 12, "Costs", (3, 9), "", None, 0.0, False)
    assert format_place(paged, several=False) == "page 12"


def test_the_terms_make_up_the_score_and_the_reason_tells_the_status() -> None:
    terms = {"passage": -0.4, "words": -1.0, "run": -0.6, "echo": 0.0, "label": 0.0}
    one = events.ScoredWords("at noon", "a.md", (3, 10), 0.5, -1.0, terms, True, "a.md, line 2")
    finished = events.AnswerFinished(
        "At noon.", "stop", "wim", "m", (), events.Usage(0, 0, 0, {"total": 1.0}, 0), status="unsure", short="at noon",
        support=0.8, evidence={"likelihood": 9.0, "answers": 2.0}, candidates=(one,), confidence=0.4,
    )  # fmt: skip
    weights = SupportWeights(bias=-0.6, likelihood=0.1, answers=0.55, run=0.0, missing=0.0)
    assert format_candidates(finished, weights) == [
        "0.50  at noon  (score -1.00 = passage -0.40, words -0.30, run -0.30; cell, a.md, line 2)",
        "support 0.80: log-odds 1.40 = bias -0.60, likelihood 0.90, answers 1.10; from the evidence likelihood 9.00, "
        "answers 2.00",
        "unsure: confidence 0.40 = support 0.80 x share 0.50; sure from 0.5 on",
    ]
    for changed, reason in (
        ({"unsupported": ("1821",)}, "unsure: in no passage: 1821"),
        ({"evidence": {"agreed": 0.0}}, "unsure: the writer did not say “at noon” before it saw these words"),
        ({"short": "Yes"}, "unsure: confidence 0.40 = support 0.80 x share 0.50 of Yes; sure only if a writer is"),
        ({"status": "not_found", "short": ""}, "not_found: the support is below 0.3"),
        ({"support": None}, "unsure: nothing was scored"),
    ):
        assert format_candidates(replace(finished, **changed), weights)[-1] == reason


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
