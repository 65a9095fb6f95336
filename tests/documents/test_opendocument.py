from __future__ import annotations

import pytest

from tests.documents.make import archive, claiming, place_of, rezip

pytest.importorskip("lxml")
opendocument = pytest.importorskip("wim_edge.documents.opendocument")
NAMES = " ".join(
    f'xmlns:{name.removesuffix("ing")}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "drawing", "presentation")
)
STYLES = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-prefix="("  '
    'style:num-suffix=")" text:start-value="2"/></text:list-style>'
)


def file(kind: str, body: str, title: str = "", styles: str = "") -> bytes:
    content = (
        f"<office:document-content {NAMES}><office:automatic-styles>{STYLES}{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    meta = f'<m {NAMES} xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></m>'
    return archive({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content, "meta.xml": meta})


def cells(*texts: str, times: int = 1) -> str:
    repeated = f' table:number-rows-repeated="{times}"' if times > 1 else ""
    made = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in texts)
    return f"<table:table-row{repeated}>{made}</table:table-row>"


def test_a_text_with_lists_tables_and_notes(read) -> None:
    deep = "<text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list>"
    items = f"<text:list-item><text:p>one</text:p>{deep}"
    body = (
        "<text:tracked-changes><text:p>old</text:p></text:tracked-changes><text:h>Rent</text:h>"
        '<text:p>It is<text:s text:c="2"/>400<text:tab/>a <text:span>month</text:span><text:note>'
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>net</text:p></text:note-body></text:note>.<office:annotation><text:p>hm</text:p></office:annotation></text:p>"
        f'<text:list text:style-name="L1">{items}</text:list-item><text:list-item><text:p>two</text:p></text:list-item>'
        "</text:list><text:list><text:list-item><text:p>dot</text:p></text:list-item></text:list>"
        f"<table:table>{cells('Item', 'Price')}{cells('Door', '12')}</table:table>"
        "<text:p><draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>around</text:p>"
    )
    document = read("a.odt", file("text", body, "The lease", "<style:header><text:p>No. 4711</text:p></style:header>"))
    assert document.text == (
        "Rent\n\nIt is  400\ta month [1]. [a]\n\n1. one\n\n(b) deep\n\n2. two\n\n- dot\n\n"
        "| Item | Price\nDoor | 12\n\naround\n\nbox\n\n[1] net\n\n[a] hm\n\nNo. 4711"
    )
    assert [mark.section for mark in document.marks] == ["Rent", "Notes", "Comments", "Headers and footers"]
    assert document.title == "The lease"


def test_sheets_and_slides(read) -> None:
    empty = '<table:table-cell table:number-columns-repeated="16000"/>'
    rest = f'<table:table-row table:number-rows-repeated="1048576">{empty}</table:table-row>'
    gap = f'<table:table-row table:number-rows-repeated="5">{empty}</table:table-row>'
    tables = {"Staff": cells("Name", "Room") + cells("Anna", "12", times=2) + rest, "More": gap + cells("x", "y")}
    sheets = (f'<table:table table:name="{name}">{rows}</table:table>' for name, rows in tables.items())
    said = "<office:annotation><text:p>ill</text:p></office:annotation>"
    document = read("a.ods", file("spreadsheet", "".join(sheets).replace("y</text:p>", f"y</text:p>{said}")))
    assert document.text == "| Name | Room\nAnna | 12\nAnna | 12\n\nx | y\n\ny: ill"
    assert [(mark.section, mark.row) for mark in document.marks] == [("Staff", 1), ("More", 6), ("Comments", None)]
    assert place_of(document, "Anna").row == 2
    assert document.title == "a"
    pages = "".join(f"<draw:page><draw:frame><text:p>slide {n}</text:p></draw:frame></draw:page>" for n in (1, 2))
    document = read("a.odp", file("presentation", pages))
    assert [(mark.page, document.text[mark.start :][:7]) for mark in document.marks] == [(1, "slide 1"), (2, "slide 2")]


def test_what_a_speaker_notes_belongs_to_the_slide(read) -> None:
    notes = "<presentation:notes><text:p>Say it slowly</text:p><text:p>7</text:p></presentation:notes>"
    pages = f"<draw:page><text:p>One</text:p>{notes}</draw:page><draw:page><text:p>Two</text:p></draw:page>"
    document = read("a.odp", file("presentation", pages))
    assert document.text == "One\n\nNotes: Say it slowly\n\nTwo"
    assert place_of(document, "slowly").page == 1


def test_a_long_sheet_is_read_to_its_end_and_what_is_cut_is_told(read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opendocument, "_REPEATED", 10_000)
    rows = "".join(cells("x", str(number)) for number in range(10_100))
    document = read("a.ods", file("spreadsheet", f'<table:table table:name="S">{rows}</table:table>'))
    assert document.text.endswith("x | 10099")
    assert document.notes == ()
    rows = cells("y", times=20_000) + cells("z", *["v"] * 1_000)
    document = read("a.ods", file("spreadsheet", f'<table:table table:name="S">{rows}</table:table>'))
    assert document.text.split("\n")[-1].startswith("z | v")
    assert document.notes == (
        "table S: a row is repeated more than 10,001 times, and was read so often",
        "table S: what stands right of 1,000 columns was not read",
    )


def test_one_with_a_password_says_so(refuse) -> None:
    manifest = '<manifest:file-entry><manifest:encryption-data manifest:checksum="x"/></manifest:file-entry>'
    error = refuse("a.ods", archive({"content.xml": b"\x8a\x01", "META-INF/manifest.xml": manifest}))
    assert "encrypted" in str(error)


def test_hostile_ones_are_bounded(read, refuse) -> None:
    many = '<table:table-cell table:number-columns-repeated="999999999"><text:p>x</text:p></table:table-cell>'
    wide = f'<table:table><table:table-row table:number-rows-repeated="50">{many}</table:table-row></table:table>'
    assert len(read("a.ods", file("spreadsheet", wide)).text) < 50 * 1000 * 5
    for deep, text in ((100, "x"), (3000, "damaged")):
        data = file("text", "<text:section>" * deep + "<text:p>x</text:p>" + "</text:section>" * deep)
        assert text in (read("b.odt", data).text if deep == 100 else str(refuse("b.odt", data)))
    assert "damaged" in str(refuse("c.odt", archive({"content.xml": "<x"})))
    assert "damaged" in str(refuse("d.odt", archive({"content.xml": "<x/>"})))
    assert "empty" in str(refuse("e.odt", file("text", "")))
    assert "unpacks to" in str(refuse("f.odt", claiming(file("text", "<text:p>x</text:p>"), 2**31)))
    assert "x" in read("g.odt", file("text", '<text:p>x<text:s text:c="999999999"/></text:p>')).text


def style(family: str, name: str, properties: str, of: str = "text", parent: str = "") -> str:
    return (
        f'<style:style style:family="{family}" style:name="{name}" style:parent-style-name="{parent}">'
        f"<!-- c --><style:{of}-properties {properties}/></style:style>"
    )


LOOKS = (
    style("text", "S", 'style:text-line-through-style="solid"') + style("text", "T", "", parent="S")
    + style("text", "U", 'style:text-position="super 58%"') + style("text", "L", 'style:text-position="-33% 58%"')
    + style("paragraph", "P", 'style:text-line-through-type="double"') + style("paragraph", "H", 'text:display="none"')
    + style("text", "N", 'style:text-line-through-style="none"') + style("table", "X", 'table:display="false"', "table")
    + style("drawing-page", "D", 'presentation:visibility="hidden"', "drawing-page")
    + style("table-cell", "C", 'style:text-line-through-style="solid"')
)  # fmt: skip


@pytest.mark.parametrize(("markup", "text", "notes"), [
    ("<text:p>EUR <text:span text:style-name='S'>1</text:span> <text:span text:style-name='T'>2</text:span> 3</text:p>",
     "EUR 3", ("2 struck-out passages were left out",)),
    ("<text:p text:style-name='P'>gone <text:span text:style-name='N'>kept</text:span></text:p>", "kept",
     ("1 struck-out passage was left out",)),
    ("<text:p text:style-name='H'>gone</text:p><text:p>kept</text:p>", "kept", ("1 hidden passage was left out",)),
    ("<text:section text:display='none'><text:p>gone</text:p></text:section><text:p>kept</text:p>", "kept",
     ("1 hidden passage was left out",)),
    ("<text:p>$450<text:span text:style-name='U'>1</text:span> for 36 m<text:span text:style-name='U'>2</text:span>, "
     "H<text:span text:style-name='L'>2</text:span>O</text:p>", "$450 [1] for 36 m², H₂O", ()),
    ("<text:p><text:ruby>b<text:ruby-text>a</text:ruby-text></text:ruby></text:p>", "b(a)", ()),
    ("<text:p>Name:<l:content-control xmlns:l='urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0' "
     "l:showing-place-holder='true'> Click</l:content-control></text:p>", "Name:", ("1 unfilled field was left out",)),
    ("<text:p>wo<office:annotation/>rd</text:p>", "word [a]\n\n[a] ", ()),
])  # fmt: skip
def test_letters_that_are_struck_out_hidden_raised_or_lowered(read, markup: str, text: str, notes: tuple) -> None:
    document = read("a.odt", file("text", markup, styles=LOOKS))
    assert (document.text, document.notes) == (text, notes)


def test_hidden_rows_columns_sheets_and_slides(read) -> None:
    columns = "<table:table-column/><table:table-column table:visibility='collapse'/><table:table-column/>"
    hidden = cells("Old", "s", "1").replace("<table:table-row", "<table:table-row table:visibility='filter'")
    struck = cells("Fee", "s", "3").replace("cell><text:p>3", "cell table:style-name='C'><text:p>3")
    rows = cells("Place", "Secret", "Rate") + hidden + cells("North", "s", "2") + struck
    hidden = f"<table:table table:name='B' table:style-name='X'>{rows}</table:table>"
    sheets = f"<table:table table:name='A'>{columns}{rows}</table:table>{hidden}"
    document = read("a.ods", file("spreadsheet", sheets, styles=LOOKS))
    assert document.text == "Place | Rate\nNorth | 2\nFee |"
    assert document.notes == (
        "1 hidden row was left out (A, row 2)", "1 struck-out passage was left out (A)",
        "1 hidden column was left out (A, B)", "1 hidden sheet was left out (B)",
    )  # fmt: skip
    place = place_of(document, "North")
    assert (place.row, place.cells) == (3, None)
    pages = "".join(f"<draw:page {one}</text:p></draw:page>" for one in (
        "draw:style-name='D'><text:p>gone", "><text:p>kept"))  # fmt: skip
    document = read("a.odp", file("presentation", pages, styles=LOOKS))
    assert (document.text, document.marks[0].page, document.notes) == ("kept", 2, ("1 hidden slide was left out",))


def test_a_table_that_places_text_is_text(read) -> None:
    inner = f"<table:table>{cells('a', 'b')}</table:table>"
    row = f"<table:table-row><table:table-cell>{inner}<text:p>c</text:p></table:table-cell></table:table-row>"
    outer = f"<table:table>{row}"
    one = "<table:table-row><table:table-cell><text:p>d</text:p><text:p>e</text:p></table:table-cell></table:table-row>"
    body = f"{outer}</table:table><table:table>{one}</table:table>"
    assert read("a.odt", file("text", body)).text == "a | b\n\nc\n\nd\n\ne"


def test_numbers_of_lists_and_chapters(read) -> None:
    levels = ('1" style:num-suffix="."', '2" text:display-levels="2"')
    numbers = "".join(f'<text:list-level-style-number style:num-format="1" text:level="{level}/>' for level in levels)
    chapters = numbers.replace("list-level-style-number", "outline-level-style")
    styles = f'<text:list-style style:name="N">{numbers}</text:list-style><text:outline-style>{chapters}'
    styles += "</text:outline-style><style:style style:family='paragraph' style:name='P' style:list-style-name=''/>"

    def listed(texts: str, how: str = "", more: str = "") -> str:
        items = "".join(f"<text:list-item><text:p>{text}</text:p>{more}</text:list-item>" for text in texts)
        return f'<text:list text:style-name="N" {how}>{items}</text:list>'

    body = listed("ab", 'xml:id="l"', listed("cd")) + listed("e", 'text:continue-numbering="true"') + listed("f")
    body += listed("g", 'text:continue-list="l"') + listed("h").replace("item>", 'item text:start-value="8">', 1)
    body += listed("i").replace("item>", "header>") + '<text:h text:style-name="P" text:outline-level="1">J</text:h>'
    for depth, text in ((2, "K"), (1, "L"), (999_999_999, "M")):
        body += f'<text:h text:outline-level="{depth}"><text:number>9</text:number>{text}</text:h>'
    lines = "1. a|1.1 c|1.2 d|2. b|2.1 c|2.2 d|3. e|1. f|4. g|8. h|i|J|1.1 K|2. L|9 M"
    assert read("a.odt", file("text", body, styles=styles)).text.split("\n\n") == lines.split("|")


def test_merged_cells_notes_boxes_and_formulas(read) -> None:
    note = "<text:note><text:note-citation>1</text:note-citation><text:p>net</text:p></text:note>"
    rows = cells("Kiel", f"700{note}").replace("cell>", 'cell table:number-rows-spanned="2">', 1)
    rows += cells("", "900").replace("table:table-cell", "table:covered-table-cell", 2)
    box = "<draw:frame><draw:text-box><text:p>Closed</text:p></draw:text-box></draw:frame>"
    table = f'<table:table table:name="T">{rows}</table:table>'.replace("900</text:p>", f"900</text:p>{box}")
    assert read("a.ods", file("spreadsheet", table)).text == "Kiel | 700 [1]\nKiel | 900\n\nClosed\n\n[1] net"
    headed = f"<table:table-header-rows>{cells('quit', 'leave')}</table:table-header-rows>{cells('help', 'read')}"
    headed = f"<table:table>{headed}</table:table>"
    assert read("d.ods", file("spreadsheet", headed)).text == "| quit | leave\nhelp | read"
    bare = "".join(f"<table:table-cell office:value-type='{kind}' office:{value}/>" for kind, value in (
        ("date", "date-value='2024-05-03T10:00'"), ("percentage", "value='0.125'"), ("time", "time-value='PT9H30M0S'"),
        ("currency", "value='5' office:currency='EUR'"), ("boolean", "boolean-value='true'")))  # fmt: skip
    table = f"<table:table><table:table-row>{bare}</table:table-row></table:table>"
    assert read("c.ods", file("spreadsheet", table)).text == "2024-05-03 10:00 | 12.5% | 9:30 | 5 EUR | TRUE"
    formula = '<draw:object xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./Object 1"/>'
    data = file("text", f"<text:p>It is <draw:frame>{formula}</draw:frame> of it</text:p>")
    data = rezip(data, {"Object 1/content.xml": "<math><mfrac><mn>3</mn><mn>4</mn></mfrac></math>"})
    assert read("b.odt", data).text == "It is 3/4 of it"
