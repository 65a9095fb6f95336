"""Documents in the passages that a library finds them by."""

from __future__ import annotations

from wim_edge.documents import Document, Mark
from wim_edge.library.library import Library
from wim_edge.library.passages import passages


def test_a_heading_stays_with_what_follows_it(library: Library) -> None:
    parts = [f"Room {n}\n\nThe keeper of it is called N{n}. " + "It is dusted at noon. " * 34 for n in range(9)]
    starts = [sum(map(len, parts[:n])) for n in range(9)]
    marks = tuple(Mark(start, section=f"Room {n}") for n, start in enumerate(starts))
    text = "".join(parts)
    library.put("rooms", 0, 0, [("Rooms", Document("Rooms", text, marks))])
    for n in (3, 7):
        best = library.search(f"keeper of room {n}", 1)[0]
        assert text[best.start : best.end].startswith(f"Room {n}\n")
    spans = sorted((hit.start, hit.end) for hit in library.search("keeper dusted", 99))
    assert "".join(text[start:end] for start, end in spans) == text


def test_passages_are_the_whole_text(library: Library) -> None:
    text = "Short. " + "A sentence about the harbour and its pilots. " * 200 + "unbroken" * 400
    library.put("long", 0, 0, [("Long", Document("Long", text))])
    hits = sorted(library.search("harbour unbroken short", 1000), key=lambda hit: hit.start)
    assert all(hit.end - hit.start <= 1000 for hit in hits)
    assert "".join(text[hit.start : hit.end] for hit in hits[:2]) == text[: hits[1].end]


def test_a_section_that_is_hardly_more_than_a_heading_shares_its_passage() -> None:
    text = "Part I\n\n" + "Chapter 1\n\n" + "The harbour is deep. " * 12 + "Chapter 2\n\n" + "The pilots are few. " * 12
    starts = [0, text.index("Chapter 1"), text.index("Chapter 2")]
    document = Document("d", text, tuple(Mark(at, section=str(at)) for at in starts))
    assert [text[start : start + 9] for start, _ in passages(document)] == ["Part I\n\nC", "Chapter 2"]


def test_pages_part_no_passages() -> None:
    text = "A sentence of the harbour. " * 20
    document = Document("d", text, (Mark(0, page=1), Mark(270, page=2)))
    assert list(passages(document)) == [(0, len(text))]
    assert list(passages(Document("d", ""))) == []
