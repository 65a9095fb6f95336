from __future__ import annotations

import io

import pytest
from lxml import etree

from tests.documents.make import archive, deck, rezip, saved

pptx = pytest.importorskip("pptx")
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def test_slides_are_pages_and_read_from_the_top(read) -> None:
    document = read("a.pptx", deck())
    assert document.text == (
        "Budget\n\nat the top\n\n- The crane costs 41.\n- It is paid.\n\nin a group\n\nNotes: Thank them.\n\n"
        "| Berth | Depth\nNorth | 3.2 m"
    )
    assert [(mark.page, mark.section) for mark in document.marks] == [(1, "Budget"), (2, None)]
    assert document.title == "The deck"


def test_refused(refuse) -> None:
    data = deck()
    assert "damaged" in str(refuse("a.pptx", data[:3000]))
    assert "damaged" in str(refuse("a.pptx", archive({"ppt/presentation.xml": "<x/>"})))
    assert "damaged" in str(refuse("a.pptx", rezip(data, {"ppt/slides/slide1.xml": "<p:sld"})))
    assert "empty" in str(refuse("a.pptx", saved(pptx.Presentation())))


def test_what_a_slide_strikes_out_or_raises_and_hidden_slides(read) -> None:
    made = pptx.Presentation(io.BytesIO(deck()))
    made.slides[1]._element.set("show", "0")
    paragraph = made.slides[0].shapes.title.text_frame.paragraphs[0]
    for text, name, value in (("1", "baseline", "30000"), (" old", "strike", "sngStrike"), (" new", "i", "0")):
        run = paragraph.add_run()
        run.text = text
        run._r.get_or_add_rPr().set(name, value)
    parts, said = pptx.opc.package, f"<c><p:cm xmlns:p='{P}'><p:text>Dear?</p:text></p:cm></c>".encode()
    part = parts.Part(parts.PackURI("/ppt/c.xml"), "", made.part.package, said)
    made.slides[0].part.relate_to(part, "x/comments")
    document = read("a.pptx", saved(made))
    assert document.text.startswith("Budget [1] new\n\nat the top")
    assert document.text.endswith("Notes: Thank them.\n\nComment: Dear?")
    assert "Berth" not in document.text
    passage = "1 struck-out passage was left out (Budget [1] new)"
    assert document.notes == (passage, "1 hidden slide was left out (page 2)")


def test_what_a_slide_shows_in_the_order_of_its_columns(read) -> None:
    made = pptx.Presentation()
    shapes = made.slides.add_slide(made.slide_layouts[6]).shapes
    for at, (left, top) in enumerate([(1, 21), (1, 40), (50, 20), (50, 41), (-9, 1), (1, 1), (30, 1)]):
        box = shapes.add_textbox(left * 90_000, top * 90_000, 400_000, 400_000)
        box.text_frame.text = f"{at}\nx"
        for paragraph in box.text_frame.paragraphs if at == 3 else ():
            paragraph._p.get_or_add_pPr().append(etree.fromstring(f'<a:buAutoNum xmlns:a="{A}" type="alphaLcParenR"/>'))
    box._element._nvXxPr.cNvPr.set("hidden", "1")
    table = shapes.add_table(3, 2, 0, 5_000_000, 100, 100).table
    for at, text in enumerate("abcd e"):
        table.cell(*divmod(at, 2)).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    choice = etree.fromstring(f'<m:AlternateContent xmlns:m="{MC}"><m:Choice/><m:Fallback/></m:AlternateContent>')
    shapes[5]._element.addprevious(choice)
    choice[0].append(shapes[5]._element)
    document = read("a.pptx", saved(made))
    assert document.text == "5\nx\n\n0\nx\n\n1\nx\n\n2\nx\n\na) 3\nb) x\n\na | b\nc | d\nc | e"
    assert document.notes == ("2 hidden shapes were left out (page 1)",)


@pytest.mark.parametrize(("rows", "read_as"), [
    (["2019 2020 2021", "start moved merged"], "2019 start 2020 moved 2021 merged"),
    (["intro", "start moved merged", "", "2019 2020 2021", "x"], "intro 2019 start 2020 moved 2021 merged x"),
    (["start _ merged", "2019 2020 2021", "_ moved"], "2019 start 2020 moved 2021 merged"),
    (["one two", "2019 2020", "x"], "2019 one 2020 two x"),
    (["a b", "c d"], "a b c d"),
])  # fmt: skip
def test_each_date_of_a_timeline_stands_before_its_text(read, rows: list[str], read_as: str) -> None:
    made = pptx.Presentation()
    shapes = made.slides.add_slide(made.slide_layouts[6]).shapes
    for top, left, text in ((top, left, text) for top, row in enumerate(rows) for left, text in enumerate(row.split())):
        shapes.add_textbox(left * 900_000, top * 900_000, 500_000, 500_000).text_frame.text = text.strip("_")
    assert read("a.pptx", saved(made)).text.split() == read_as.split()
