"""Text that is a page's markup under another name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import written
from tests.documents.make import place_of
from wim_edge.documents import read_document
from wim_edge.documents.plain import is_markup, plain
from wim_edge.library.ingest import documents_in
from wim_edge.settings import Limits

ROWS = "".join(f'<Tr> <Td_colspan="2"> Lamp {n} </Td> <Td> lit in 18{n:02} </Td> </Tr> ' for n in range(20))
PAGE = f"Lighthouses - a lexicon <H1> Lighthouses </H1> <P> Many. </P> <H2> The lamps </H2> <Table> {ROWS}</Table>"


@pytest.mark.parametrize("name", ["a.txt", "page", "a.text"])
def test_a_page_saved_as_text(read, name: str) -> None:
    document = read(name, PAGE)
    assert "Lamp 7 | lit in 1807\nLamp 8 | lit in 1808\n" in document.text
    assert "<" not in document.text
    assert [mark.section for mark in document.marks] == ["Lighthouses", "The lamps"]
    assert document.notes == ("its text is HTML, and was read as such",)


@pytest.mark.parametrize("name", ["a.md", "a.py", "a.xml", "a.vue"])
def test_other_formats_keep_their_tags(read, name: str) -> None:
    assert read(name, PAGE).text == PAGE


@pytest.mark.parametrize("text", [
    "A <p> begins a paragraph, and </p> ends it; <td> is a cell. " * 9,  # about tags: more of them than pairs
    "<p>One.</p>\n" * 9,  # few
    "<p>One.</p>\n" * 15 + "x" * 50_000,  # and far apart
    "<item><name>One</name><price>2</price></item>\n" * 50,  # another language's
    "if (a<b && c>d) { return vector<p>(); }\n" * 50,
])  # fmt: skip
def test_a_text_with_tags_is_a_text(text: str) -> None:
    assert not is_markup(text)
    assert plain("a", text).text == text


def test_without_text_or_the_extra_it_is_read_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = "<p></p>" * 40
    assert plain("a", tags).text == tags
    monkeypatch.setitem(sys.modules, "lxml.etree", None)
    document = plain("a", PAGE)
    assert document.text == PAGE
    (note,) = document.notes
    assert "with its tags" in note
    assert "lxml" in note


def test_rows_of_pages(tmp_path: Path) -> None:
    path = written(tmp_path / "pages.jsonl", json.dumps({"title": "Lighthouses", "text": PAGE}))
    ((title, document),), _ = documents_in(path)
    assert (title, document.path) == ("Lighthouses", path)
    assert "Lamp 7 | lit in 1807" in document.text


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
    assert place_of(document, "not one").section == "One big x"


def test_titles_of_a_plain_text_are_sections(read) -> None:
    clauses = "1. Rent\nIt is 890 euros a month.\n\n2. Pets of 2024\nSmall animals in cages only.\nNO DOGS\n"
    items = "3. Sign this.\nNow, please.\n\n1. Buy one\n2. Sell it again\n\nTOTAL 3\nis due"
    document = read("a.txt", f"LEASE OF A FLAT\n\n{clauses}\n{items}")
    assert [mark.section for mark in document.marks] == ["LEASE OF A FLAT", "1. Rent", "2. Pets of 2024"]


def test_headings_of_an_endless_text_are_not_looked_for(read) -> None:
    document = read("a.md", b"# a\n" * 300_000)
    assert document.marks == ()
    assert document.notes == ("more than 200,000 lines: its headings are not looked for",)
    assert len(document.text) == 1_200_000


def test_long_markdown_keeps_its_title_but_no_headings(tmp_path: Path) -> None:
    path = written(tmp_path / "a.md", "---\ntitle: Minutes\n---\n# One\n\ntext\n")
    assert [(mark.start, mark.section) for mark in read_document(path).marks] == [(23, "One")], "front matter is none"
    short = read_document(path, limits=Limits(markdown_lines=3))
    assert (short.title, short.marks) == ("Minutes", ())
    assert "more than 3 lines" in short.notes[0]


@pytest.mark.parametrize(("source", "text", "count"), [
    ("# Rent\n\nIt is ~~EUR 1~~ EUR 2, ~~or~~.\n", "# Rent\n\nIt is EUR 2,.\n", 2), ("x ~~a\nb~~ y\n", "x\n y\n", 1),
    ("`~~a~~` and ``~~ ` ~~``\n\n```\n~~b~~\n```\n", None, 0), ("H~2~O, ~5 to ~6, ~~ a ~~ and \\~~b\n", None, 0),
    ("<del>old</del>new\n", "new\n", 1), ("| a | ~~1~~ 2 |\n|---|---|\n", "| a | 2 |\n|---|---|\n", 1),
    ("~~a\n\nb~~\n", None, 0), ("<!-- a\n\nb -->\nc <!-- d --> e\n", "\n\n\nc e\n", 2),
    ("# H\n\n[//]: # (a)\n[x]: <> 'b\nc'\n[//]: # (d)\n[y]: u 'z'\n", "# H\n\n\n\n\n\n[y]: u 'z'\n", 3),
    ("`<!-- a -->` \\<!-- b -->\n\n```\n<!-- c -->\n[//]: # (d)\n```\n[x]: #\n", None, 0),
])  # fmt: skip
def test_struck_out_text_and_comments_are_left_out(read, source: str, text: str | None, count: int) -> None:
    document = read("a.md", source)
    assert document.text == (text or source)
    assert [note.split()[0] for note in document.notes] == [str(count)] * bool(count)
    assert document.text.count("\n") == source.count("\n"), "lines stay where an editor shows them"


SAMPLE = """{
  "network": {
    "mqtt": {"port": 8883},
    "dns": [
      "9.9.9.9"
    ]
  },
  "rooms": [
    {
      "id": 4,
      "name": "Lab, \\u00e4",
      "seats": 12
    },
    {
      "seats": 30
    }
  ],
  "version": 3
}
"""


def test_values_stand_in_sections(read) -> None:
    document = read("a.json", SAMPLE.replace("\n", "\r\n"))
    assert (document.text, document.title) == (SAMPLE, "a")
    found = {}
    for value in ("8883", "9.9.9.9", "12", "30", "3\n"):
        at = document.text.rindex(value)
        place = document.place(at, at + len(value))
        found[value] = (place.section or "", place.line)
    assert found == {
        "8883": ("network", 3), "9.9.9.9": ("network > dns", 5), "12": ("rooms > Lab, ä", 12), "30": ("rooms > 2", 15),
        "3\n": ("", 18),
    }  # fmt: skip


@pytest.mark.parametrize("text", [
    "{nothing", '"a text"', "[" * 5000 + "]" * 5000, "12", json.dumps(json.loads(SAMPLE)), '{"a": {"b": [\n1]}\n}',
])  # fmt: skip
def test_what_has_no_bracket_a_line_has_no_sections(read, text: str) -> None:
    document = read("a.json", text)
    assert (document.text, document.marks) == (text, ())


@pytest.mark.parametrize(("text", "section"), [
    ('{"%s": {' % ("k" * 500), "k" * 60), (r'{"\ud800 b\nc": {', "\ufffd b c"), ('{"a:": [{"id": 7,\n', "a: > 7"),
    ("[" * 40, " > ".join("1" * 6)),
])  # fmt: skip
def test_odd_names(read, text: str, section: str) -> None:
    opened = [one for one in text if one in "[{"]
    closing = "\n".join("]" if one == "[" else "}" for one in reversed(opened))
    value = '"x": 1' if opened[-1] == "{" else "1"
    laid_out = text.replace("[", "[\n").replace("{", "{\n") + f"{value}\n{closing}"
    (mark,) = read("a.json", laid_out).marks
    assert mark.section == section
