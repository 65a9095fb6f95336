"""Small files of every format, made in memory."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from wim_edge.documents import Document, Place

ENCRYPTED = b"/Encrypt<</Filter/Standard/V 1/R 2/O<%s>/U<%s>/P -4>>/ID[<00><00>]" % (b"00" * 32, b"11" * 32)


def pdf(*pages: bytes, count: int | None = None, trailer: bytes = b"", title: bytes = b"",
        bookmarks: tuple[tuple[bytes, int], ...] = ()) -> bytes:  # fmt: skip
    """A PDF of these pages, a line of Helvetica for each line of bytes. ``bookmarks``: titles, pages from 0."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    kids = []
    for page in pages:
        shown = b" ".join(b"(%s) Tj T*" % line for line in page.split(b"\n")) if b"Td" not in page else page
        stream = b"BT /F1 12 Tf 50 750 Td 14 TL %s ET" % shown if page else b""
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(kids), count or len(kids))
    if bookmarks:
        first = len(objects) + 2
        last = first + len(bookmarks) - 1
        objects.append(b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>" % (first, last, len(bookmarks)))
        objects[0] = b"<</Type/Catalog/Pages 2 0 R/Outlines %d 0 R>>" % (first - 1)
        for at, (name, page) in enumerate(bookmarks):
            follows = b"/Next %d 0 R" % (first + at + 1) if at + 1 < len(bookmarks) else b""
            target = kids[page] if page < len(kids) else b"999 0 R"
            objects.append(b"<</Title(%s)/Parent %d 0 R/Dest[%s/Fit]%s>>" % (name, first - 1, target, follows))
    objects.append(b"<</Title(%s)>>" % title)
    trailer += b"/Info %d 0 R" % len(objects)
    out = bytearray(b"%PDF-1.4\n")
    table = b"0000000000 65535 f \n"
    for number, body in enumerate(objects, start=1):
        table += b"%010d 00000 n \n" % len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    size = len(objects) + 1
    end = b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, len(out))
    return bytes(out + b"xref\n0 %d\n%s" % (size, table) + end)


def placed(*rows: tuple[float, float, str]) -> bytes:
    """A page for `pdf`: texts at points to the right and below the upper left corner of what is printed."""
    x, y, shown = 0.0, 0.0, []
    for right, below, text in rows:
        escaped = text.encode("cp1252").replace(b"(", rb"\(").replace(b")", rb"\)")
        shown.append(b"%g %g Td (%s) Tj" % (right - x, y - below, escaped))
        x, y = right, below
    return b" ".join(shown)


def saved(made: Any, *kind: str, **how: Any) -> bytes:
    """What a library saves: a workbook, a text, a presentation, a picture of this kind."""
    buffer = io.BytesIO()
    made.save(buffer, *kind, **how)
    return buffer.getvalue()


def place_of(document: Document, text: str) -> Place:
    """The place of a text where it is first in a document."""
    at = document.text.index(text)
    return document.place(at, at + len(text))


def archive(members: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def claiming(data: bytes, size: int) -> bytes:
    """The archive, of whose last member its directory says that it unpacks to so many bytes."""
    entry = data.rindex(b"PK\x01\x02")
    return data[: entry + 24] + size.to_bytes(4, "little") + data[entry + 28 :]


def rezip(data: bytes, changes: dict[str, str | bytes]) -> bytes:
    """The archive with some members replaced or added."""
    return archive({**members_of(data), **changes})


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def epub(chapters: dict[str, str | bytes], more: dict[str, str | bytes] | None = None) -> bytes:
    """An EPUB whose spine is these chapters, by file name; the manifest lists them the other way round."""
    items = "".join(
        f'<item id="i{i}" href="{name}" media-type="application/xhtml+xml"/>'
        for i, name in reversed(list(enumerate(chapters)))
    )
    spine = "".join(f'<itemref idref="i{i}"/>' for i in range(len(chapters)))
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest>'
        f"<spine>{spine}</spine></package>",
    }
    members |= {f"OEBPS/{name}": content for name, content in chapters.items()}
    return archive(members | (more or {}))


def encryption(uri: str) -> dict[str, str | bytes]:
    return {
        "META-INF/encryption.xml": '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData>'
        f'<enc:CipherData><enc:CipherReference URI="{uri}"/></enc:CipherData></enc:EncryptedData></encryption>'
    }


def docx(body: str | bytes, **parts: str) -> bytes:
    """A DOCX of this body, and of other parts by their kinds."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "".join(f'<Relationship Id="{one}" Type="{office}/{one}" Target="{one}.xml"/>' for one in parts)
    content = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    members: dict[str, str | bytes] = {
        "word/document.xml": f"<w:document {space}><w:body>".encode() + content + b"</w:body></w:document>",
        "word/_rels/document.xml.rels": f"<Relationships>{relations}</Relationships>",
    }
    return archive(members | {f"word/{one}.xml": f"<w:{one} {space}>{text}</w:{one}>" for one, text in parts.items()})


def deck() -> bytes:
    """Returns a presentation of two slides."""
    import pptx

    made = pptx.Presentation()
    made.core_properties.title = "The deck"
    slide = made.slides.add_slide(made.slide_layouts[1])
    box = slide.shapes.add_textbox(0, 0, 100, 100)
    box.text_frame.text = "at the top"
    slide.shapes.title.text = "Budget"
    slide.placeholders[1].text = "The crane costs 41.\n\nIt is paid."
    slide.notes_slide.notes_text_frame.text = "Thank them."
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 6_500_000, 100, 100).text_frame.text = "in a group"
    slide = made.slides.add_slide(made.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, 0, 0, 100, 100).table
    for at, text in enumerate(("Berth", "Depth", "North", "3.2 m")):
        table.cell(*divmod(at, 2)).text = text
    return saved(made)
