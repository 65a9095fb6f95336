"""Markdown: verbatim, with its headings as sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge.documents import read_document
from wim_edge.settings import Limits


def test_markdown_is_verbatim_and_its_headings_are_sections(read) -> None:
    source = "intro\n\n# One *big* `x`\ntext\n```\n# not one\n```\n    # nor this\nTwo\nlines\n===\n> ## Three ##\n"
    document = read("a.md", source)
    assert document.text == source
    assert [(source[mark.start :].split()[0], mark.section) for mark in document.marks] == [
        ("#", "One big x"),
        ("Two", "Two lines"),
        (">", "Three"),
    ]
    assert document.place(0, 5).section is None
    assert document.place(source.index("not one"), len(source)).section == "One big x"


def test_front_matter_is_no_heading(read) -> None:
    document = read("a.markdown", "---\ntitle: x\n---\n# H\n")
    assert [(mark.start, mark.section) for mark in document.marks] == [(17, "H")]


def test_headings_of_an_endless_text_are_not_looked_for(read) -> None:
    document = read("a.md", b"# a\n" * 300_000)
    assert document.marks == ()
    assert document.notes == ("more than 200,000 lines: its headings are not looked for",)
    assert len(document.text) == 1_200_000


def test_long_markdown_keeps_its_title_but_no_headings(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("---\ntitle: Minutes\n---\n# One\n\ntext\n")
    assert [mark.section for mark in read_document(path).marks] == ["One"]
    short = read_document(path, limits=Limits(markdown_lines=3))
    assert (short.title, short.marks) == ("Minutes", ())
    assert "more than 3 lines" in short.notes[0]


@pytest.mark.parametrize(("source", "text", "count"), [
    ("# Rent\n\nIt is ~~EUR 1~~ EUR 2, ~~or~~.\n", "# Rent\n\nIt is EUR 2,.\n", 2), ("x ~~a\nb~~ y\n", "x\n y\n", 1),
    ("`~~a~~` and ``~~ ` ~~``\n\n```\n~~b~~\n```\n", None, 0), ("H~2~O, ~5 to ~6, ~~ a ~~ and \\~~b\n", None, 0),
    ("<del>old</del>new\n", "new\n", 1), ("| a | ~~1~~ 2 |\n|---|---|\n", "| a | 2 |\n|---|---|\n", 1),
    ("~~a\n\nb~~\n", None, 0),
])  # fmt: skip
def test_struck_out_text_is_left_out(read, source: str, text: str | None, count: int) -> None:
    document = read("a.md", source)
    assert document.text == (text or source)
    assert [note.split()[0] for note in document.notes] == [str(count)] * bool(count)
    assert document.text.count("\n") == source.count("\n"), "lines stay where an editor shows them"
