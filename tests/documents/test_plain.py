"""Text that is a page's markup under another name."""

import json
import sys
from pathlib import Path

import pytest

from wim_edge.documents.plain import is_markup, plain
from wim_edge.library.ingest import rows_of

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


@pytest.mark.parametrize(
    "text",
    [
        "A <p> begins a paragraph, and </p> ends it; <td> is a cell. " * 9,  # about tags: more of them than pairs
        "<p>One.</p>\n" * 9,  # few
        "<p>One.</p>\n" * 15 + "x" * 50_000,  # and far apart
        "<item><name>One</name><price>2</price></item>\n" * 50,  # another language's
        "if (a<b && c>d) { return vector<p>(); }\n" * 50,
    ],
)
def test_a_text_with_tags_is_a_text(text: str) -> None:
    assert not is_markup(text)
    assert plain("a", text).text == text


def test_nothing_is_lost_where_there_is_nothing_else() -> None:
    tags = "<p></p>" * 40
    assert plain("a", tags).text == tags


def test_without_the_extra_it_is_read_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml.etree", None)
    document = plain("a", PAGE)
    assert document.text == PAGE
    (note,) = document.notes
    assert "with its tags" in note
    assert "lxml" in note


def test_rows_of_pages(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text(json.dumps({"title": "Lighthouses", "text": PAGE}))
    ((title, document),) = rows_of(path)
    assert (title, document.path) == ("Lighthouses", path)
    assert "Lamp 7 | lit in 1807" in document.text
