from __future__ import annotations

import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.documents.make import ENCRYPTED, pdf, place_of, placed
from tests.documents.scanned import said, scripted
from wim_edge.documents import scans
from wim_edge.documents.pdf import read_page
from wim_edge.documents.pdf_lines import Line, headings, line_of
from wim_edge.documents.pdf_words import Word

pdfium = pytest.importorskip("pypdfium2")
TEXT = "The works on the mains went on all year, and were paid from the reserve."


def test_pages(read) -> None:
    document = read("a.pdf", pdf(b"Hello world. An exam-\nple is here.\nThird line", b"Second page"))
    assert document.text == "Hello world. An example is here.\nThird line\n\nSecond page"
    assert document.notes == ()
    start = document.text.index("Second")
    assert document.place(0, 5).page == 1
    assert document.place(start - 2, start + 3).page == 2
    assert document.place(start - 4, start + 3).page == 1
    assert read("a.txt", pdf(b"Page")).text == "Page"  # content goes before the name


@pytest.mark.parametrize(("given", "title"), [
    (b"The ferry", "The ferry"), (b"about:blank", ""), (b"https://ferry.example/x", ""), (b"Untitled", ""),
    (b"Microsoft Word - ferry", ""), (b"ferry.docx", ""), (b"Ferries: a story", "Ferries: a story"),
])  # fmt: skip
def test_what_programs_write_for_want_of_a_title_is_none(read, given: bytes, title: str) -> None:
    assert read("a.pdf", pdf(b"Hello.", title=given)).title == title


def test_bookmarks_name_sections(read) -> None:
    bookmarks = (b"Care", 1), (b"Light and shade", 1), (b"not there", 2), (b"nowhere", 9), (b" ", 1), (b"END", 3)
    second = b"running head\n7\n1 Care\nWater it.\n2 Light and  shade\nMuch."
    document = read("a.pdf", pdf(b"Cover\nSee Care below", second, b"go on", b"The end", bookmarks=bookmarks))
    found = [(mark.section, document.text[mark.start :][:7]) for mark in document.marks if mark.section]
    assert found == [
        ("Care", "1 Care\n"), ("Light and shade", "2 Light"), ("not there", "go on\n\n"), ("END", "The end"),
    ]  # fmt: skip
    place = place_of(document, "Much")
    assert (place.page, place.section) == (2, "Light and shade")
    assert document.place(0, 3).section is None
    assert [mark.page for mark in document.marks if mark.page] == [1, 2, 3, 4]


def test_pages_have_the_numbers_that_they_print(read) -> None:
    data = pdf(*[b"Page %d" % number for number in range(1, 6)])
    document = read("a.pdf", data.replace(b"/Pages 2", b"/PageLabels<</Nums[0<</S/r>>2<</S/D>>]>>/Pages 2", 1))
    labels = ["i", "ii", "1", "2", "3"]
    assert [(mark.page, mark.page_label) for mark in document.marks] == [*enumerate(labels, start=1)]
    assert (place_of(document, "Page 4").page, place_of(document, "Page 4").page_label) == (4, "2")
    assert {mark.page_label for mark in read("b.pdf", data).marks} == {None}


def test_pages_without_text_and_pages_that_do_not_exist_are_noted(read) -> None:
    document = read("a.pdf", pdf(b"", b"two", b""))
    assert document.place(0, 3).page == 2
    assert document.notes == ("pages 1, 3 have no text layer",)
    assert read("b.pdf", pdf(b"one", b"")).notes == ("page 2 has no text layer",)
    assert read("d.pdf", pdf(b"x", count=3)).notes == ("pages 2, 3 have damage, and could not be read",)
    assert read("c.pdf", pdf(b"one", *[b""] * 9)).notes == ("pages 2, 3, 4, 5, 6 and 4 more have no text layer",)


@pytest.mark.parametrize(("shape", "turned", "below"), [
    (b"", b"", 700), (b"/Rotate 90", b"0 1 -1 0 50 50 Tm ", 540), (b"/CropBox[30 130 600 780]", b"", 590),
])  # fmt: skip
def test_a_running_foot_stays_once_and_the_last_words_of_a_page_stay(read, shape: bytes, turned: bytes, below: int):
    text = [(0, 14 * row, TEXT) for row in range(20)]
    page = turned + placed(*text, (0, 14 * 22, "The deposit is 450 euros."), (0, below, "Harbour Company, Alder"))
    found = read("a.pdf", pdf(page, page, page).replace(b"/MediaBox", shape + b"/MediaBox")).text
    assert (found.count("deposit"), found.count("Harbour")) == (3, 1)


def test_what_was_filled_in_is_text(read) -> None:
    canvas = Canvas("")
    for number, name in enumerate(["Alice Lee", ""]):
        canvas.drawString(72, 700, "Tenant:")
        canvas.acroForm.textfield(name=f"field {number}", value=name, x=150, y=696, width=200, height=14, fontSize=10)
        canvas.linkURL("https://example.org", (72, 600, 200, 620))
        canvas.showPage()
    document = read("form.pdf", canvas.getpdfdata())
    assert document.text.split() == ["Tenant:", "Alice", "Lee", "Tenant:"]
    assert place_of(document, "Alice").page == 1


NAMELESS = b"/Encoding<</Differences[1/g1/g2]>>"
LOST = pdf(b"The o\x01cial \x02ling fee is 84").replace(b"/Encoding/WinAnsiEncoding", NAMELESS)
ZERO = b"1 begincodespacerange <00><ff> endcodespacerange 2 beginbfchar <01> <0000> <02> <0000> endbfchar"


def test_letters_without_a_meaning_are_noted_and_the_page_is_recognised(read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "engine", lambda: "")
    named = LOST.replace(NAMELESS, b"/Encoding<</Differences[1/M/N]>>/ToUnicode 9 0 R")
    named = named.replace(b"trailer", b"9 0 obj<</Length %d>>stream\n%s\nendstream endobj trailer" % (len(ZERO), ZERO))
    assert read("a.pdf", named).text == read("a.pdf", LOST).text
    document = read("a.pdf", LOST)
    assert document.text == "The o\ufffdcial \ufffdling fee is 84"
    assert document.notes == ("page 1 has some letters that cannot be read: its fonts do not say what they are",)
    scripted(monkeypatch).append([said(1, ("The official filing fee is 84", 40, 40, 200, 60, 0.9))])
    document = read("a.pdf", LOST)
    assert document.text == "The official filing fee is 84"
    assert document.notes[0].endswith("The text was recognised, with confidence 0.90")


BOX = b"40 730 300 16 re "  # around the second line of a page
PICTURE = b"q 300 0 0 16 40 730 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q "
AGAIN = b"BT /F1 12 Tf 50 736 Td "
CLIP = b"ET q %b re W n " + AGAIN + b"(Two) Tj ET Q BT"


def in_form(data: bytes) -> bytes:
    """Returns the PDF with all that is on its page in a form, which is drawn in half the size."""
    data = data.replace(b"<</Length", b"<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources 8 0 R/Length", 1)
    data = data.replace(b"/Contents 4", b"/Contents 9").replace(b"/Resources<<", b"/Resources<</XObject<</f 4 0 R>>", 1)
    more = b"8 0 obj<</Font<</F1 3 0 R>>>>endobj 9 0 obj<</Length 23>>stream\n.5 0 0 .5 9 9 cm /f Do\nendstream endobj"
    return data.replace(b"trailer", more + b" trailer")


@pytest.mark.parametrize("placed_in", [bytes, in_form])
@pytest.mark.parametrize(("drawn", "is_shown"), [
    (b"0 900 Td (Two) Tj", False), (b"T* 1 g (Two) Tj", False), (b"T* (Two) Tj ET " + PICTURE + b"BT", False),
    (b"T* (Two) Tj ET " + BOX + b"f .5 g 50 751 40 5 re f BT", False), (b"T* 1 g 3 Tr (Two) Tj", True),
    (b"ET .5 g " + BOX + b"f " + AGAIN + b"(Two) Tj", False), (b"ET 1 g " + BOX + b"f " + AGAIN + b"(Two) Tj", False),
    (b"ET 0 g " + BOX + b"f 1 g " + AGAIN + b"(Two) Tj", True), (b"T* (Two) Tj ET " + BOX + b"S BT", True),
    (b"ET " + PICTURE + b"1 g " + AGAIN + b"(Two) Tj", True), (b"T* (Two) Tj ET .5 g 50 737 50 5 re f BT", True),
    (CLIP % b"0 0 99 99", False), (CLIP % b"0 0 9 9 re 9 9 9 9", False), (CLIP % b"0 0 60 740", True),
])  # fmt: skip
def test_text_that_a_page_does_not_show_is_left_out(read, drawn: bytes, is_shown: bool, placed_in) -> None:
    document = read("a.pdf", placed_in(pdf(b"(One) Tj " + drawn + b" 0 0 Td")))
    assert document.text.split() == ["One", "Two"][: 1 + is_shown]
    assert document.notes == ("1 hidden passage was left out (page 1)",)[is_shown:]


@pytest.mark.parametrize("placed_in", [bytes, in_form])
def test_struck_out_words_are_noted(read, placed_in) -> None:
    document = read("a.pdf", placed_in(pdf(b"(no more) Tj ET 50 754 13 1 re f BT 0 0 Td")))
    assert (document.text, document.notes) == ("more", ("1 struck-out word was left out (page 1)",))


def test_refused(refuse) -> None:
    assert "scanned" in str(refuse("a.pdf", pdf(b"", b"")))
    assert "encrypted" in str(refuse("a.pdf", pdf(b"x", trailer=ENCRYPTED)))
    assert "encrypted" in str(refuse("a.pdf", pdf(b"x", trailer=b"/Encrypt<</Filter/Weird/V 9>>")))
    assert "damaged" in str(refuse("a.pdf", b"%PDF-1.4\n" + b"[" * 100_000))
    assert "damaged" in str(refuse("a.pdf", pdf(b"x")[:300]))
    assert "1,000,000 pages" in str(refuse("a.pdf", pdf(b"x", count=1_000_000)))


def line(text: str, height: float = 10, weight: int = 400, gap: float = 4) -> Line:
    words, at = [], 0.0
    for word in text.split():
        words.append(Word(word, at, at + 5 * len(word)))
        at += 5 * len(word) + gap
    return line_of(words, 0, height)._replace(weight=weight)


def test_larger_letters_above_text_name_a_section(read) -> None:
    body = b" T* ".join(b"(%s) Tj" % TEXT.encode() for _ in range(4))
    titles = (b" 0 -40 Td /F1 18 Tf (%s) Tj 0 -30 Td /F1 12 Tf " % title for title in (b"2 Supply", b"Money"))
    page = b"".join(title + body for title in titles)
    document = read("a.pdf", pdf(b"/F1 30 Tf (The cover) Tj 0 -30 Td", page))
    found = [(mark.section, document.text[mark.start :].split("\n")[0]) for mark in document.marks if mark.section]
    assert found == [("2 Supply", "2 Supply"), ("Money", "Money")]
    assert document.place(document.text.rindex("paid"), len(document.text)).section == "Money"
    marked = read("b.pdf", pdf(b"x", page, bookmarks=((b"Supply", 1),)))
    assert {mark.section for mark in marked.marks} == {None, "Supply"}


@pytest.mark.parametrize(("given", "is_title"), [
    (line("2.1 Mains and leakage", weight=700), True),
    (line("Mains and leakage", 13), True),
    (line("供水", 13), True),
    (line("Mains and leakage"), False),
    (line("Take care of the mains.", weight=700), False),
    (line("Total: 4,000", weight=700), False),
    (line("Source 2022 2023", weight=700, gap=60), False),
    (line("Supply . . . . . . . 12", 13), False),
    (line("17", 20), False),
    (line("Mains and leakage", 7, weight=700), False),
])  # fmt: skip
def test_a_title_is_short_and_set_apart(given: Line, is_title: bool) -> None:
    assert headings([[given, line(TEXT), line(TEXT)]]) == [[given.text] if is_title else []]


def test_a_title_has_text_below_it_and_is_no_running_head() -> None:
    head, text = line("Annual report", 13), line(TEXT)
    assert headings([[head, line("Anna Berg", 13)], [text] * 9]) == [[], []]
    assert headings([[text] * 9 + [head], [text]])[0] == ["Annual report"]
    assert not any(headings([[head, text]] * 3))
    parts = line("A title that goes", 13), line("over two lines", 13)
    assert headings([[*parts, text]]) == [["A title that goes over two lines"]]
    apart = [line("Annual report", 13)._replace(bottom=100, top=113), line("1 Overview", 13), text]
    assert headings([apart]) == [["Annual report", "1 Overview"]]
    assert headings([]) == []


def test_what_a_reader_strikes_out_is_left_out() -> None:
    canvas = Canvas("", pagesize=(595, 842))
    canvas.drawString(72, 700, "The fee is 35 40 euros")
    left = 72 + canvas.stringWidth("The fee is ")
    right = left + canvas.stringWidth("35")
    corners = [left, 711, right, 711, left, 697, right, 697]
    canvas.highlightAnnotation("", [left, 697, right, 711], QuadPoints=corners)
    made = canvas.getpdfdata().replace(b"/Highlight", b"/StrikeOut")
    page = read_page(pdfium.PdfDocument(made), 0)
    assert [line.text for line in page.lines] == ["The fee is 40 euros"]
    assert (page.left_out["struck-out word"], page.n_lost) == (1, 0)


def test_text_in_layers_that_are_off_is_left_out(read) -> None:
    data = pdf(b"0 0 Td /OC/on BDC (The door is 120 cm wide) Tj /OC/off BDC (or 90) Tj EMC EMC /OC/off BDC ( ) Tj EMC")
    data = data.replace(b"/Pages 2", b"/OCProperties<</OCGs[8 0 R 9 0 R]/D<</BaseState/OFF/ON[8 0 R]>>>>/Pages 2", 1)
    data = data.replace(b"/Resources<<", b"/Resources<</Properties<</on 8 0 R/off 9 0 R>>")
    document = read("a.pdf", data.replace(b"trailer", b"8 0 obj<</Type/OCG>>endobj 9 0 obj<<>>endobj trailer"))
    assert document.text == "The door is 120 cm wide"
    assert document.notes == ("1 hidden passage was left out (page 1)",)
