from __future__ import annotations

import pytest

from tests.documents.make import claiming, encryption, epub, place_of

pytest.importorskip("lxml")
ONE = "<html><head><title/></head><body><h1>One</h1><p>First.</p></body></html>"
TWO = '<?xml version="1.0" encoding="utf-8"?><html><head><title>Two</title></head><body><p>Zweité.</p></body></html>'


def test_chapters_in_the_order_of_the_spine(read) -> None:
    document = read("a.epub", epub({"b.xhtml": ONE, "a%20x.xhtml": "", "c.xhtml": TWO, "d.xhtml": "<p>Rest."}))
    assert document.text == "One\n\nFirst.\n\nZweité.\n\nRest."
    assert [mark.section for mark in document.marks] == ["One", "Two", "chapter 4"]
    assert document.notes == ("chapter 2 is missing",)
    assert place_of(document, "Zwei").section == "Two"


def test_rights_management(read, refuse) -> None:
    book = {"a.xhtml": ONE, "b.xhtml": TWO}
    assert "rights management" in str(refuse("a.epub", epub(book, encryption("OEBPS/b.xhtml"))))
    assert read("a.epub", epub(book, encryption("OEBPS/font.otf"))).text.startswith("One")


def test_nothing_outside_the_book_is_read(read, refuse, tmp_path) -> None:
    (tmp_path / "secret.xhtml").write_text("SECRET")
    for href in ("../../secret.xhtml", str(tmp_path / "secret.xhtml"), "file:///etc/passwd"):
        package = f'<package><manifest><item id="i" href="{href}" media-type="text/html"/></manifest>'
        package += '<spine><itemref idref="i"/></spine></package>'
        assert "empty" in str(refuse("a.epub", epub({}, {"OEBPS/book.opf": package})))
    entity = f'<!DOCTYPE p [<!ENTITY x SYSTEM "{(tmp_path / "secret.xhtml").as_uri()}">]>'
    assert "SECRET" not in read("a.epub", epub({"a.xhtml": entity + "<p>x &x;</p>"})).text


def test_bombs_and_a_corrupted_member(refuse) -> None:
    assert "unpacks to" in str(refuse("a.epub", claiming(epub({"a.xhtml": "<p>a"}), 65 << 20)))
    lol = "<!DOCTYPE l [<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 12))
    assert "damaged" in str(refuse("a.epub", epub({}, {"OEBPS/book.opf": lol + "]><l>&a11;</l>"})))
    data = bytearray(epub({"a.xhtml": ONE * 5}))
    at = bytes(data).index(b"OEBPS/a.xhtml") + len("OEBPS/a.xhtml")
    data[at + 5 : at + 25] = b"\xff" * 20
    assert "damaged" in str(refuse("a.epub", bytes(data)))


@pytest.mark.parametrize("member", ["META-INF/container.xml", "OEBPS/book.opf"])
@pytest.mark.parametrize("content", ["", "<", "<x/>", b"\0\xff" * 99, "<a>" * 5000])
def test_damaged(refuse, member: str, content: str | bytes) -> None:
    assert "damaged" in str(refuse("a.epub", epub({"a.xhtml": ONE}, {member: content})))


def test_a_chapter_has_the_style_sheets_that_it_links(read) -> None:
    links = '<link rel="stylesheet" href="s.css"/><link href="p.css" media="print" rel="stylesheet"/>'
    chapter = "<p>It is $450<a epub:type='noteref'>1</a> <span class='old'>EUR 1</span> EUR 2 <i class='p'>p</i></p>"
    sheets = {"OEBPS/s.css": "@import url('c/i.css');", "OEBPS/p.css": ".p{display:none}"}
    sheets |= {"OEBPS/c/i.css": "@import '../s.css'; @import \"o.css\" ;@import 'p.css' print;"}
    sheets |= {"OEBPS/c/o.css": ".old {text-decoration: line-through}", "OEBPS/c/p.css": ".p{display:none}"}
    book = {"a.xhtml": f"<html><head>{links}</head><body>{chapter}", "b.xhtml": chapter}
    document = read("a.epub", epub(book, sheets))
    assert document.text == "It is $450 [1] EUR 2 p\n\nIt is $450 [1] EUR 1 EUR 2 p"
