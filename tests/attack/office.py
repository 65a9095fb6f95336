"""Hostile sheets, slides, OpenDocument, RTF, CSV and e-mail."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from email.message import EmailMessage
from functools import lru_cache

from tests.documents.make import archive, members_of, rezip, saved

Input = tuple[str, str, bytes]
SPACES = b" " * 200_000_000
LAUGHS = "<!DOCTYPE x [<!ENTITY l0 'lol'>" + "".join(
    f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 12)) + "]>"  # fmt: skip
OUTER = '<!DOCTYPE x [<!ENTITY l11 SYSTEM "file:///etc/passwd">]>'
_CHART = '<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart">{}</c:chartSpace>'
_STRINGS = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>{}</t></si></sst>'


@lru_cache
def good() -> dict[str, bytes]:
    """Returns a file of each format."""
    import openpyxl
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE

    book, deck = openpyxl.Workbook(), pptx.Presentation()
    for row in (["Name", "Price"], ["Rope", 24.5], ["Sum", "=SUM(B2:B3)"]):
        book.active.append(row)
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "The title", "Some text."
    data = CategoryChartData()
    data.categories = ["North", "South"]
    data.add_series("2023", (19.2, 21.4))
    slide.shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, 100, 100, data)
    return {
        "a.xlsx": saved(book), "a.pptx": saved(deck), "a.odt": odt("<text:p>Some text.</text:p>"),
        "a.rtf": rtf("Some text."), "a.eml": mail("Some text."), "a.csv": b"Name,Price\nRope,24.5\nSail,80\n",
        "a.mbox": b"From a@b Tue Mar  5 10:00:00 2024\n" + mail("Some text."),
    }  # fmt: skip


def odt(body: str, before: str = "") -> bytes:
    """Returns an OpenDocument text of these elements."""
    names = " ".join(f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "text"))
    content = f"<office:body><office:text>{body}</office:text></office:body>"
    return archive({"content.xml": f"{before}<office:document-content {names}>{content}</office:document-content>"})


def rtf(text: str) -> bytes:
    escaped = "".join(one if " " <= one < "\x7f" and one not in "\\{}" else f"\\u{ord(one) % 65536}?" for one in text)
    return f"{{\\rtf1\\ansi {escaped}}}".encode()


def mail(text: str, **attached: bytes) -> bytes:
    made = EmailMessage()
    made["Subject"] = "A mail"
    made.set_content(text.encode("utf-8", "replace").decode())
    for name, data in attached.items():
        made.add_attachment(data, maintype="application", subtype="x", filename=name.replace("_", "."))
    return bytes(made)


def in_formats(what: str, text: str) -> Iterator[Input]:
    """Yields the text in each format."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").encode("utf-8", "xmlcharrefreplace").decode()
    yield f"{what}, in an ODT", "a.odt", odt(f"<text:p>{escaped}</text:p>")
    yield f"{what}, in an XLSX", "a.xlsx", rezip(good()["a.xlsx"], {"xl/sharedStrings.xml": _STRINGS.format(escaped)})
    yield f"{what}, as RTF", "a.rtf", rtf(text)
    yield f"{what}, as a mail", "a.eml", mail(text)
    yield f"{what}, as CSV", "a.csv", b"Name,Text\nx," + text.encode("utf-8", "surrogatepass") + b"\ny,z\n"


def bombs() -> Iterator[Input]:
    """Yields small files that expand, and large ones."""
    sheet, slide = "xl/worksheets/sheet1.xml", "ppt/slides/slide1.xml"
    book, deck = good()["a.xlsx"], good()["a.pptx"]
    yield "an XLSX of 200 MB of spaces", "a.xlsx", rezip(book, {"xl/sharedStrings.xml": SPACES})
    yield "a PPTX of 200 MB of spaces", "a.pptx", rezip(deck, {slide: SPACES})
    yield "an ODT of 200 MB of spaces", "a.odt", archive({"content.xml": SPACES})
    chart = next(name for name in members_of(deck) if re.fullmatch(r"ppt/charts/chart\d*\.xml", name))
    points = "".join(f'<c:pt idx="{n}"><c:v>{n}</c:v></c:pt>' for n in (*range(300_000), 9**99, "x", -1))
    nested = "<c:ser><c:cat>" * 60 + points[: points.index('<c:pt', 100_000)] + "</c:cat></c:ser>" * 60
    for what, held in (("300,000 points", f"<c:ser><c:val>{points}</c:val></c:ser>"), ("series in series", nested)):
        yield f"a chart of {what}", "a.pptx", rezip(deck, {chart: _CHART.format(held)})
    yield "a chart of a billion laughs", "a.pptx", rezip(deck, {chart: LAUGHS + _CHART.format("&l11;")})
    far = '<c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c>'
    start = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    end = "</sheetData></worksheet>"
    yield "cells that stand far apart", "a.xlsx", rezip(book, {sheet: f'{start}<row r="1048576">{far}</row>{end}'})
    wide = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(1, 100_000, 7))
    yield "rows as wide as a sheet", "a.xlsx", rezip(book, {sheet: f"{start}{wide}{end}"})
    rows = "".join(f'<row r="{n}"><c r="A{n}"><f>A{n + 1}</f><v>{n}</v></c></row>' for n in range(1, 300_000))
    yield "300,000 formulas", "a.xlsx", rezip(book, {sheet: f"{start}{rows}{end}"})
    yield "a row before the first", "a.xlsx", rezip(book, {sheet: f'{start}<row r="-5"><c r="A-5"/></row>{end}'})
    for what, before in (("a billion laughs", LAUGHS), ("an entity of another file", OUTER)):
        yield f"{what}, in an XLSX", "a.xlsx", rezip(book, {"xl/sharedStrings.xml": before + _STRINGS.format("&l11;")})
        yield f"{what}, in a PPTX", "a.pptx", rezip(deck, {slide: f"{before}<x>&l11;</x>"})
        yield f"{what}, in an ODT", "a.odt", odt("<text:p>text &l11;</text:p>", before)
    for deep in (200, 100_000):
        nested = "<text:list><text:list-item>" * deep + "<text:p>text</text:p>" + "</text:list-item></text:list>" * deep
        yield f"lists {deep} deep in an ODT", "a.odt", odt(nested)
        yield f"groups {deep} deep in an RTF", "a.rtf", b"{\\rtf1 text" + b"{\\b x" * deep + b"}" * deep + b"}"
    yield "an RTF of 20 MB of words of control", "a.rtf", b"{\\rtf1 text" + b"\\b\\i0 " * 3_000_000 + b"}"
    yield "an RTF of 20 MB of pictures", "a.rtf", b"{\\rtf1 text{\\pict\\bin20000000 " + b"0a" * 10_000_000 + b"}}"
    yield "a CSV of a million quotes", "a.csv", b"a,b\nc,d\n" + b'"' * 1_000_000
    yield "a CSV of a million columns", "a.csv", (b"x," * 1_000_000 + b"\n") * 3
    yield "a CSV of a million rows", "a.csv", b"name,1\n" * 1_000_000
    nested_mail = mail("deepest")
    for _ in range(30):
        nested_mail = mail("a level", a_eml=nested_mail)
    yield "mails in mails", "a.eml", nested_mail
    parts = b"--b\nContent-Type: text/plain\n\ntext\n" * 10_000
    choices = b"Content-Type: multipart/alternative; boundary=b\n\n--b\n" * 150 + b"text\n"
    yield "choices in choices in a mail", "a.eml", choices
    yield "a mail of 10,000 parts", "a.eml", b"Content-Type: multipart/mixed; boundary=b\n\n" + parts
    yield "a mail of parts in parts", "a.eml", b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * 20_000 + b"text"
    bomb = archive({"META-INF/container.xml": SPACES[:60_000_000]})
    yield "a mail that attaches bombs", "a.eml", mail("text", **{f"a{n}_epub": bomb for n in range(20)})
    yield "a mail of a header of 10 MB", "a.eml", b"Subject: " + b"=?utf-8?q?x?= " * 700_000 + b"\n\ntext"
    yield "a mailbox of 20,000 mails", "a.mbox", b"From a@b Tue Mar  5 10:00:00 2024\nSubject: x\n\ntext\n\n" * 20_000


def damaged(choose: random.Random) -> Iterator[Input]:
    """Yields good files, cut and with changed bytes."""
    for name, raw in good().items():
        yield from variants(name, raw, choose, (0.1, 0.5, 0.9, 0.99), 8)
        yield f"{name} twice", name, raw + raw


def variants(name: str, raw: bytes, choose: random.Random, shares: tuple[float, ...], times: int) -> Iterator[Input]:
    """Yields a file cut at these shares of it, and so many times with bytes changed."""
    for share in shares:
        yield f"{name} cut at {share:.0%}", name, raw[: int(len(raw) * share)]
    for number in range(times):
        changed = bytearray(raw)
        for _ in range(choose.choice((1, 4, 40))):
            changed[choose.randrange(len(raw))] = choose.randrange(256)
        yield f"{name} damaged, {number}", name, bytes(changed)
