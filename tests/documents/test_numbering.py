"""The numbers and bullets of lists in Word's files, which no paragraph's text holds."""

from __future__ import annotations

import pytest

from tests.documents.make import saved
from tests.documents.test_docx import body as file, docx, run
from wim_edge.documents.numbering import written


def level(number: int, form: str, text: str, more: str = "") -> str:
    return (f'<w:lvl w:ilvl="{number}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}'
            f'<w:lvlText w:val="{text}"/></w:lvl>')  # fmt: skip


CLAUSES = level(0, "decimal", "%1.") + level(1, "decimal", "%1.%2") + level(2, "lowerLetter", "(%3)")
ARTICLES = level(0, "upperRoman", "Article %1") + level(1, "decimalZero", "Section %1.%2", "<w:isLgl/>")
PARTS = level(0, "decimal", "Part %1") + level(1, "decimal", "§ %2", '<w:lvlRestart w:val="0"/>')
LISTS = (
    f'<w:abstractNum w:abstractNumId="0">{CLAUSES}</w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="1">{ARTICLES}</w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="2">{level(0, "bullet", "&#xF0B7;")}</w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="0"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>'
    '<w:num w:numId="5"><w:abstractNumId w:val="99"/></w:num>'
    '<w:abstractNum w:abstractNumId="3"><w:numStyleLink w:val="Legal"/></w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="4"><w:styleLink w:val="Legal"/>{PARTS}</w:abstractNum>'
    '<w:num w:numId="6"><w:abstractNumId w:val="3"/></w:num><w:num w:numId="7"><w:abstractNumId w:val="3"/>'
    f'<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/>{level(0, "upperLetter", "Annex %1")}</w:lvlOverride>'
    "</w:num>"
)


def listed(*paragraphs: tuple[str, int | None, int | None]) -> bytes:
    """A file of these paragraphs: the text, its list and its level."""
    body = ""
    for text, number, depth in paragraphs:
        named = "" if number is None else (
            f'<w:pPr><w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr></w:pPr>'
        )  # fmt: skip
        body += f"<w:p>{named}{run(text)}</w:p>"
    return file(body, numbering=LISTS)


@pytest.mark.parametrize(("given", "shown"), [
    ([("Term", 1, 0), ("Start", 1, 1), ("Ends", 1, 1), ("early", 1, 2), ("late", 1, 2), ("Costs", 1, 0), ("Fee", 1, 1)],
     "1. Term / 1.1 Start / 1.2 Ends / (a) early / (b) late / 2. Costs / 2.1 Fee"),
    ([("One", 1, 0), ("plain", None, None), ("Two", 1, 0)], "1. One / plain / 2. Two"),
    ([("Scope", 2, 0), ("Words", 2, 1), ("Duties", 2, 0), ("Of one", 2, 1)],
     "Article I Scope / Section 1.01 Words / Article II Duties / Section 2.01 Of one"),
    ([("milk", 3, 0), ("bread", 3, 0)], "- milk / - bread"),
    ([("One", 6, 0), ("a", 6, 1), ("Two", 6, 0), ("b", 6, 1), ("Map", 7, 0), ("Plan", 7, 0)],
     "Part 1 One / § 1 a / Part 2 Two / § 2 b / Annex A Map / Annex B Plan"),
    ([("One", 1, 0), ("Seven", 4, 0), ("Eight", 4, 0)], "1. One / 7. Seven / 8. Eight"),
    ([("deep", 1, 2), ("", 1, 0), ("Two", 1, 0)], "(a) deep / 3. Two"),  # one that is empty counts
    ([("none", 0, 0), ("no such list", 5, 0), ("no such level", 1, 8), ("odd", 1, -1)],
     "none / no such list / no such level / odd"),
])  # fmt: skip
def test_lists_are_counted(read, given: list[tuple[str, int | None, int | None]], shown: str) -> None:
    assert read("a.docx", listed(*given)).text.split("\n\n") == shown.split(" / ")


def test_styles_name_lists_and_headings_bear_their_numbers(read) -> None:
    word = docx.Document()
    word.add_paragraph("first", style="List Number")
    word.add_paragraph("second", style="List Number")
    word.add_paragraph("point", style="List Bullet")
    data = saved(word)
    assert read("a.docx", data).text == "1. first\n\n2. second\n\n- point"


def test_a_level_may_name_its_style(read) -> None:
    deeper = level(1, "decimal", "%1.%2", '<w:pStyle w:val="Part2"/>')
    lists = LISTS.replace(level(1, "decimal", "%1.%2"), deeper)
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{shown}"/>{based}'
        f"<w:pPr>{named}</w:pPr></w:style>"
        for name, shown, based, named in (
            ("Part1", "heading 1", "", '<w:numPr><w:numId w:val="1"/></w:numPr>'),
            ("Part2", "heading 2", '<w:basedOn w:val="Part1"/>', '<w:numPr><w:numId w:val="1"/></w:numPr>'),
            ("Like1", "other", '<w:basedOn w:val="Part1"/>', ""),
            ("Round", "round", '<w:basedOn w:val="Round"/>', ""),
        )
    )
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{run(text)}</w:p>'
        for style, text in (("Part1", "Rent"), ("Part2", "Due"), ("Like1", "Heat"), ("Round", "x"), ("Gone", "y"))
    )
    document = read("a.docx", file(body, styles=styles, numbering=lists))
    assert document.text == "1. Rent\n\n1.1 Due\n\n2. Heat\n\nx\n\ny"
    assert [mark.section for mark in document.marks] == ["1. Rent", "1.1 Due"]


@pytest.mark.parametrize(("number", "kind", "shown"), [
    (4, "lowerRoman", "iv"), (1994, "upperRoman", "MCMXCIV"), (27, "lowerLetter", "aa"), (26, "upperLetter", "Z"),
    (3, "decimalZero", "03"), (5, "ordinalText", "5"), (5, "none", ""), (0, "lowerLetter", "0"),
    (5000, "lowerRoman", "5000"),
    (10**8, "lowerLetter", written(10**8, "lowerLetter")),
])  # fmt: skip
def test_numbers_are_written_as_lists_show_them(number: int, kind: str, shown: str) -> None:
    assert written(number, kind) == shown
    assert len(written(number, kind)) < 30
