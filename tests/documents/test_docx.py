from __future__ import annotations

import io
import random
import zipfile

import pytest

from tests.documents.make import archive, claiming, rezip
from wim_edge.documents import read_document
from wim_edge.errors import DocumentError

docx = pytest.importorskip("docx")
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def save(word) -> bytes:
    buffer = io.BytesIO()
    word.save(buffer)
    return buffer.getvalue()


def sample() -> bytes:
    word = docx.Document()
    word.add_heading("The Title", 0)
    word.add_paragraph("First.")
    word.add_heading("Part", 1)
    table = word.add_table(2, 2)
    for cell, text in zip((c for row in table.rows for c in row.cells), "ABCD", strict=True):
        cell.text = text
    word.add_paragraph("Last\tone")
    return save(word)


def body(content: str) -> bytes:
    return rezip(sample(), {"word/document.xml": f"<w:document {W}><w:body>{content}</w:body></w:document>"})


def test_a_picture_that_is_not_there_and_a_style_of_no_kind_hide_no_text(read) -> None:
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" Target="media/gone.jpeg"/>'
        "</Relationships>"
    )
    styles = f'<w:styles {W}><w:style w:styleId="X"><w:name w:val="heading 1"/></w:style></w:styles>'
    assert "First." in read("a.docx", rezip(sample(), {"word/_rels/document.xml.rels": relations})).text
    assert "First." in read("a.docx", rezip(sample(), {"word/styles.xml": styles})).text


def test_headers_and_footers_come_last_and_once(read) -> None:
    word = docx.Document()
    word.add_paragraph("The work is done in May.")
    for part in (word.sections[0].footer, word.sections[0].first_page_footer, word.sections[0].header):
        part.paragraphs[0].text = "Contract number KA-2024-031"
    document = read("a.docx", save(word))
    assert document.text == "The work is done in May.\n\nContract number KA-2024-031"
    assert document.place(30, 40).section == "Headers and footers"


def test_paragraphs_tables_and_headings_in_their_order(read) -> None:
    document = read("a.docx", sample())
    assert document.text == "The Title\n\nFirst.\n\nPart\n\nA | B\nC | D\n\nLast\tone"
    assert [mark.section for mark in document.marks] == ["The Title", "Part"]
    start = document.text.index("A |")
    assert document.place(start, start + 1).section == "Part"


def test_what_python_docx_leaves_out(read) -> None:
    content = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:br/><w:t>text</w:t><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></w:r></w:p>"
    )
    assert read("a.docx", body(content)).text == "control\n\nnew\ntext\n\nbox"


@pytest.mark.parametrize("notes", ["footnotes", "endnotes", "comments"])
def test_notes_and_comments_come_last(read, notes: str) -> None:
    data = sample()
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        relations = file.read("word/_rels/document.xml.rels").decode()
        types = file.read("[Content_Types].xml").decode()
    kind = f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{notes}"
    entry = f'<Relationship Id="rIdF" Type="{kind}" Target="{notes}.xml"/></Relationships>'
    part = f"application/vnd.openxmlformats-officedocument.wordprocessingml.{notes}+xml"
    override = f'<Override PartName="/word/{notes}.xml" ContentType="{part}"/></Types>'
    changed = {
        "word/_rels/document.xml.rels": relations.replace("</Relationships>", entry),
        "[Content_Types].xml": types.replace("</Types>", override),
        f"word/{notes}.xml": f"<w:{notes} {W}><w:x><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:x></w:{notes}>",
    }
    document = read("a.docx", rezip(data, changed))
    assert document.text.endswith("Last\tone\n\nA note.")
    assert document.marks[-1].section == notes.capitalize()


def test_refused(refuse) -> None:
    assert "empty" in str(refuse("a.docx", save(docx.Document())))
    assert "damaged" in str(refuse("a.docx", sample()[:2000]))
    assert "damaged" in str(refuse("a.docx", archive({"word/document.xml": "<x/>"})))
    assert "damaged" in str(refuse("a.docx", body("<w:p>")))
    assert "damaged" in str(refuse("a.docx", body("<w:p>" * 5000 + "</w:p>" * 5000)))
    assert "unpacks to" in str(refuse("a.docx", claiming(rezip(sample(), {"word/x.xml": "x"}), 65 << 20)))
    assert "unpacks to" in str(refuse("a.docx", claiming(rezip(sample(), {"word/x.png": "x"}), 513 << 20)))


def test_entities_are_not_expanded(read, tmp_path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    document = (
        f'<!DOCTYPE d [<!ENTITY a "boom"><!ENTITY f SYSTEM "{secret.as_uri()}">]>'
        f"<w:document {W}><w:body><w:p><w:r><w:t>x &a; &f;</w:t></w:r></w:p></w:body></w:document>"
    )
    text = read("a.docx", rezip(sample(), {"word/document.xml": document})).text
    assert text.startswith("x")
    assert "SECRET" not in text
    assert "boom" not in text


def test_a_long_chain_of_parts_does_not_escape(refuse) -> None:
    relation = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>'
    link = '<Relationship Id="r" Type="t/x" Target="p{}.xml"/>'
    chain = {f"word/p{i}.xml": "<x/>" for i in range(2000)}
    chain |= {f"word/_rels/p{i}.xml.rels": relation % link.format(i + 1) for i in range(1999)}
    chain["word/_rels/document.xml.rels"] = relation % link.format(0)
    assert "damaged" in str(refuse("a.docx", rezip(sample(), chain)))


def test_damage_is_a_document_error_or_costs_no_text(tmp_path) -> None:
    chance = random.Random(7)
    good = sample()
    path = tmp_path / "a.docx"
    path.write_bytes(good)
    whole, refused, read_whole = read_document(path).text, list[str](), 0
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    for _ in range(60):
        data = bytearray(good)
        for _ in range(chance.randint(1, 30)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        name = chance.choice(sorted(members))
        cut = members[name][: chance.randrange(len(members[name]))]
        without = {other: content for other, content in members.items() if other != name}
        for broken in (bytes(data), archive({**members, name: cut}), archive(without)):
            path.write_bytes(broken)
            try:
                found = read_document(path)
            except DocumentError as error:
                refused.append(str(error))
            else:  # a part that holds no text
                read_whole += 1
                assert found.text == whole
    assert len(refused) > 100
    assert all("damaged" in said or "Office file that is not supported" in said for said in refused)
    assert read_whole > 10


def test_a_merged_cell_stands_in_each_of_its_rows(read) -> None:
    word = docx.Document()
    table = word.add_table(6, 3)
    rows = ["Team Name Room", "Office Anna 12", "_ Ben 14", "Yard Cleo 2", "Total 3 _", "x y z"]
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts.split(), strict=True):
            cell.text = text.strip("_")
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(4, 1).merge(table.cell(4, 2))
    assert read("a.docx", save(word)).text == (
        "| Team | Name | Room\nOffice | Anna | 12\nOffice | Ben | 14\nYard | Cleo | 2\nTotal | 3 |\nx | y | z"
    )
