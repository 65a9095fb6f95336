from __future__ import annotations

import random

import pytest

from tests.conftest import written
from tests.documents.make import archive, claiming, docx as body, members_of, place_of, rezip, saved
from wim_edge.documents import read_document
from wim_edge.errors import DocumentError

docx = pytest.importorskip("docx")
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def sample() -> bytes:
    word = docx.Document()
    word.add_heading("The Title", 0)
    word.add_paragraph("First.")
    word.add_heading("Part", 1)
    table = word.add_table(2, 2)
    for cell, text in zip((c for row in table.rows for c in row.cells), "ABCD", strict=True):
        cell.text = text
    word.add_paragraph("Last\tone")
    return saved(word)


def test_a_picture_that_is_not_there_and_a_style_of_no_kind_hide_no_text(read) -> None:
    image = f'<Relationship Id="rId1" Type="{R[9:-1]}/image" Target="media/gone.jpeg"/>'
    relations = {"word/_rels/document.xml.rels": f"<Relationships>{image}</Relationships>"}
    styles = f'<w:styles {W}><w:style w:styleId="X"><w:name w:val="heading 1"/></w:style></w:styles>'
    assert "First." in read("a.docx", rezip(sample(), relations)).text
    assert "First." in read("a.docx", rezip(sample(), {"word/styles.xml": styles})).text


def test_headers_and_footers_come_last_and_once(read) -> None:
    word = docx.Document()
    word.add_paragraph("The work is done in May.")
    for part in (word.sections[0].footer, word.sections[0].first_page_footer, word.sections[0].header):
        part.paragraphs[0].text = "Contract number KA-2024-031"
    document = read("a.docx", saved(word))
    assert document.text == "The work is done in May.\n\nContract number KA-2024-031"
    assert document.place(30, 40).section == "Headers and footers"


def test_paragraphs_tables_and_headings_in_their_order(read) -> None:
    document = read("a.docx", sample())
    assert document.text == "The Title\n\nFirst.\n\nPart\n\nA | B\nC | D\n\nLast\tone"
    assert [mark.section for mark in document.marks] == ["The Title", "Part"]
    assert place_of(document, "A |").section == "Part"


def test_what_python_docx_leaves_out(read) -> None:
    content = (
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:br/><w:t>text</w:t><w:pict><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>"
    )
    assert read("a.docx", body(content)).text == "control\n\nnew\ntext\n\nbox"


@pytest.mark.parametrize(("notes", "mark"), [("footnotes", "[1]"), ("endnotes", "[i]"), ("comments", "[a]")])
def test_notes_and_comments_come_last_with_their_marks(read, notes: str, mark: str) -> None:
    kind = f"w:{notes[:-1]}"
    paragraph = f"<w:p>{run('First')}<w:r><{kind}Reference/></w:r>{run(' of all.')}</w:p>"
    note = f"<{kind}><w:p>{run('A note.')}</w:p></{kind}>"
    document = read("a.docx", body(f"{paragraph}<w:p>{run('Last')}</w:p>", **{notes: note}))
    assert document.text == f"First {mark} of all.\n\nLast\n\n{mark} A note."
    assert document.marks[-1].section == notes.capitalize()


def test_refused(refuse) -> None:
    assert "empty" in str(refuse("a.docx", saved(docx.Document())))
    assert "damaged" in str(refuse("a.docx", sample()[:2000]))
    assert "damaged" in str(refuse("a.docx", archive({"word/document.xml": "<x/>"})))
    assert "damaged" in str(refuse("a.docx", body("<w:p>")))
    assert "damaged" in str(refuse("a.docx", body("<w:p>" * 5000 + "</w:p>" * 5000)))
    assert "unpacks to" in str(refuse("a.docx", claiming(rezip(sample(), {"word/x.xml": "x"}), 65 << 20)))
    assert "unpacks to" in str(refuse("a.docx", claiming(rezip(sample(), {"word/x.png": "x"}), 513 << 20)))


def test_entities_are_not_expanded(read, tmp_path) -> None:
    secret = written(tmp_path / "secret", "SECRET")
    document = (
        f'<!DOCTYPE d [<!ENTITY a "boom"><!ENTITY f SYSTEM "{secret.as_uri()}">]>'
        f"<w:document {W}><w:body><w:p><w:r><w:t>x &a; &f;</w:t></w:r></w:p></w:body></w:document>"
    )
    text = read("a.docx", rezip(sample(), {"word/document.xml": document})).text
    assert text.startswith("x")
    assert "SECRET" not in text
    assert "boom" not in text


def test_damage_is_a_document_error_or_costs_no_text(tmp_path) -> None:
    chance = random.Random(7)
    good = sample()
    path = written(tmp_path / "a.docx", good)
    whole, refused, read_whole = read_document(path).text, list[str](), 0
    members = members_of(good)
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
    assert len(refused) > 50
    assert all("damaged" in said or "Office file that is not supported" in said for said in refused)
    assert read_whole > 10


LOOKS = {
    "Old": ("character", "<w:strike/>", ""), "Older": ("character", "<w:b/>", "Old"),
    "Round": ("character", "", "Round"),
    "Up": ("character", '<w:vertAlign w:val="superscript"/>', ""), "Gone": ("paragraph", '<w:dstrike w:val="1"/>', ""),
    "Hid": ("paragraph", "<w:vanish/>", ""),
}  # fmt: skip


def looking(content: str) -> bytes:
    styles = "".join(
        f'<w:style w:type="{kind}" w:styleId="{name}"><w:name w:val="{name}"/><w:basedOn w:val="{base}"/>'
        f"<w:rPr>{properties}</w:rPr></w:style>"
        for name, (kind, properties, base) in LOOKS.items()
    )
    return body(content, styles=styles)


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


@pytest.mark.parametrize("properties", [
    "<w:strike/>", '<w:dstrike w:val="true"/>', '<w:rStyle w:val="Older"/>', "<w:vanish/>", '<w:rStyle w:val="Hid"/>',
])  # fmt: skip
def test_struck_out_and_hidden_text_is_left_out_with_a_note(read, refuse, properties: str) -> None:
    paragraph = f"<w:p>{run('The rent is ')}{run('EUR 1,200', properties)}{run(' EUR 1,350.')}</w:p>"
    document = read("a.docx", looking(paragraph))
    what = "hidden" if "vanish" in properties or "Hid" in properties else "struck-out"
    assert (document.text, document.notes) == ("The rent is EUR 1,350.", (f"1 {what} passage was left out",))
    error = refuse("a.docx", looking(f"<w:p>{run('x', properties)}</w:p>"))
    assert f"empty (1 {what} passage was left out)" in str(error)


def test_what_a_style_strikes_out_a_run_may_not(read) -> None:
    off, paragraph = '<w:strike w:val="0"/><w:dstrike w:val="0"/>', '<w:pPr><w:pStyle w:val="Gone"/></w:pPr>'
    circle = run("x", '<w:rStyle w:val="Round"/>')
    content = f"<w:p>{paragraph}{run('gone ')}{run('kept', off)}</w:p><w:p>{circle}</w:p>"
    assert read("a.docx", looking(content)).text == "kept\n\nx"
    deleted = f"<w:p>{run('new')}<w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>"
    assert read("a.docx", body(deleted)).notes == ("1 deleted passage was left out",)


@pytest.mark.parametrize("up", ['<w:vertAlign w:val="superscript"/>', '<w:rStyle w:val="Up"/>'])
def test_raised_and_lowered_letters(read, up: str) -> None:
    low = '<w:vertAlign w:val="subscript"/>'
    runs = [run("It is $450"), run("1", up), run(" for 36 m"), run("2", up), run(", H"), run("2", low), run("O")]
    assert read("a.docx", looking(f"<w:p>{''.join(runs)}</w:p>")).text == "It is $450 [1] for 36 m², H₂O"


def test_ticked_boxes_and_signs(read) -> None:
    fonts = {"Wingdings": "F0FE", "Symbol": "F0B3", "X": "D800", "Y": "zz", "Segoe UI Symbol": "2612"}
    signs = "".join(f'<w:sym w:font="{font}" w:char="{code}"/>' for font, code in fonts.items())
    boxes = "".join(
        f'<w:fldChar><w:ffData><w:checkBox><w:default w:val="{first}"/>{now}</w:checkBox></w:ffData></w:fldChar>'
        for first, now in ((0, ""), (0, "<w:checked/>"), (1, ""), (1, '<w:checked w:val="0"/>'))
    )
    for chosen in ("", '<w:default w:val="1"/>', '<w:result w:val="1"/><w:default/>', '<w:result w:val="2"/>'):
        menu = f'<w:ddList>{chosen}<w:listEntry w:val="A"/><w:listEntry w:val="B"/></w:ddList>'
        boxes += f"<w:fldChar><w:ffData>{menu}</w:ffData></w:fldChar>"
    greek = '<w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>m\uf06d2</w:t></w:r>'
    document = read("a.docx", body(f"<w:p><w:r>{signs}<w:t>5</w:t>{boxes}</w:r>{greek}</w:p>"))
    assert document.text == "☑≥☒5☐☒☒☐ABBμμ2"


def test_a_table_that_places_text_is_text(read) -> None:
    def table(*cells: str) -> str:
        return f"<w:tbl><w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr></w:tbl>"

    a, b = (f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in "ab")
    assert read("a.docx", body(table(a + b))).text == "a\n\nb"
    assert read("a.docx", body(table(table(a, b), b))).text == "a | b\n\nb"
    assert read("a.docx", body(table(a, b))).text == "a | b"
    rows = "".join(f"<w:tr><w:trPr><w:hidden{how}/></w:trPr><w:tc>{a}</w:tc></w:tr>" for how in ("", ' w:val="0"'))
    document = read("a.docx", body(table(a, b).replace("</w:tbl>", f"{rows}</w:tbl>")))
    assert (document.text, document.notes) == ("a | b\na", ("1 hidden row was left out",))


def test_an_unfilled_field_has_no_value(read) -> None:
    control = "<w:sdt><w:sdtPr>{}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>".format
    field, cell = control("<w:showingPlcHdr/>", run("Click here")), f"<w:tc><w:p>{run('Click here')}</w:p></w:tc>"
    row = f"<w:tr><w:tc><w:p>{run('Date')}</w:p></w:tc>{control('<w:showingPlcHdr/>', cell)}{cell}</w:tr>"
    content = f"<w:p>{run('Name:')}{field}{control('', run(' Anna'))}</w:p><w:tbl>{row}</w:tbl>"
    document = read("a.docx", body(content))
    assert document.text == "Name: Anna\n\nDate | | Click here"
    assert document.notes == ("2 unfilled fields were left out",)


def field(code: str, result: str) -> str:
    begin, middle, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    return f"{begin}<w:r><w:instrText>IF</w:instrText></w:r>{code}{middle}{run(result)}{end}"


def table(*rows: tuple[str, ...], width: int = 0) -> str:
    cells = ["".join(f"<w:tc>{one if '<' in one else f'<w:p>{run(one)}</w:p>'}</w:tc>" for one in row) for row in rows]
    late = '<w:trPr><w:gridBefore w:val="1"/></w:trPr>' * bool(width)
    grid = f'<w:tblGrid><w:gridCol w:w="{width}"/></w:tblGrid>'
    return f"<w:tbl>{grid}<w:tr>{f'</w:tr><w:tr>{late}'.join(cells)}</w:tr></w:tbl>"


BOX = f"<w:r><w:pict><w:txbxContent>{table(('a', 'b'))}</w:txbxContent></w:pict></w:r>"
COMMENT = '<w:r><w:commentReference w:id="1"/></w:r>'
THREE_QUARTERS = f"<m:oMath {M}><m:f><m:num><m:t>3</m:t></m:num><m:den><m:t>4</m:t></m:den></m:f></m:oMath>"


@pytest.mark.parametrize(("content", "text"), [
    (f"<w:p>{run('Pay ')}{field(field('', '40'), '5')}{run('.')}</w:p>", "Pay 5."),
    (f"<w:p>{field('', '5').rpartition('<w:r>')[0]}{run('.')}</w:p>", "5."),
    (f'<w:p>{THREE_QUARTERS}{run(" m")}</w:p>', "3/4 m"),
    (f"<w:p><w:r><w:ruby><w:rt>{run('a')}</w:rt><w:rubyBase>{run('b')}</w:rubyBase></w:ruby></w:r></w:p>", "b(a)"),
    (f"<w:p>{run('te')}{COMMENT}{run('st')}{COMMENT} {run('東')}{COMMENT}{run('京')}</w:p>", "test [a] [a] 東 [a] 京"),
    (table(("a", "b"), ("c", table(("d", "e"), ("f", "g")))), "a | b\nc | d e; f g"),
    (table((table(("d", "e")), "b"), ("c", "f")), "d | e\n\nb\n\nc\n\nf"),
    (table(("a", "b"), ("c",), width=2000) + table(("a", "b"), ("c",), width=99), "a | b\n| | c |\n\na | b\nc"),
    (f"<w:p>{run('x')}{BOX}</w:p>", "x\n\na | b"),
])  # fmt: skip
def test_fields_formulas_and_tables_as_a_page_shows_them(read, content: str, text: str) -> None:
    document = read("a.docx", body(f"{content}<w:altChunk/>"))
    assert (document.text, document.notes) == (text, ("1 embedded file was left out",))


def test_embedded_files_stand_at_their_places_each_once(read) -> None:
    chunk = f"<w:altChunk {R} r:id='r{{}}'/>".format
    cell = f"<w:tbl><w:tr><w:tc>{chunk(2)}</w:tc><w:tc>{chunk(3)}</w:tc></w:tr></w:tbl>"
    files = {"1.html": "<h1>Fee</h1><p>250", "2.txt": "A", "3.rtf": r"{\rtf1 B}", "4.mht": "x", "5.docx": b""}
    named = (f'<Relationship Id="r{name[0]}" Type="{R[9:-1]}/aFChunk" Target="{name}"/>' for name in files)
    relations = {"word/_rels/document.xml.rels": f"<Relationships>{''.join(named)}</Relationships>"}
    files["5.docx"] = rezip(body(f"{chunk(5)}<w:p><w:r><w:t>Nested</w:t></w:r></w:p>"), relations)
    data = rezip(body(chunk(1) + cell + "".join(map(chunk, (5, 4, 1, 9)))), relations)
    document = read("a.docx", rezip(data, {f"word/{name}": content for name, content in files.items()}))
    assert document.text == "Fee\n\n250\n\nA | B\n\nNested"
    assert document.notes == ("1 embedded file was left out", "3 embedded files were left out")
    assert [mark.section for mark in document.marks] == ["Fee"]
