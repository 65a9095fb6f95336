"""Hostile files of what a page shows otherwise than its letters stand: struck out, hidden, filled in, turned, from the
right, over a page's end, quoted. Each is small or repeats one thing many times, and is read in seconds or refused."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.attack import office
from tests.documents.make import archive, docx, pdf, rezip

Input = tuple[str, str, bytes]
MANY = 20_000
_SHEET = "xl/worksheets/sheet1.xml"
_SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_HEBREW = "\u05d0\u05d1\u05d2\u05d3"


def inputs() -> Iterator[Input]:
    """Yields (description, file name, content) of all of them."""
    yield from _markup()
    yield from _plain()
    yield from _office()
    yield from _sheets()
    yield from _forms()
    yield from _pages()


def _markup() -> Iterator[Input]:
    many = 5 * MANY
    for what, css in (
        ("rules in rules", "@media screen{" * many + "}" * many), ("rules of one class", ".a{top:0}" * many),
        ("a long word", "a{" + "x" * 20 * many), ("words without values", "p{" + "x " * 10 * many + "}"),
        ("selectors", "p{" + ",".join(f".a{n}" for n in range(many)) + "{display:none}"),
        ("open comments", "/*" * 10 * many), ("far places", "a{position:fixed;clip:rect(" + "0 " * 10 * many),
    ):
        body = "".join(f'<p class="a" id="n{n}">x</p>' for n in range(MANY))
        yield f"a style sheet of {what}", "a.html", f"<style>{css}</style>{body}".encode()
        yield f"a style of {what}", "a.html", f'<p class="a" style="{css}">x</p>{body}'.encode()
    yield "style sheets by the thousand", "a.html", b"<style>p{top:0}</style>" * MANY + b"<p>x"
    yield "style sheets without end", "a.html", b"<style><p>x" * many
    yield "a class of many", "a.html", b'<p class="' + b"a " * 10 * many + b'">x</p>'
    for what, each in (
        ("raised letters", "<sup>1</sup>a"), ("decorations", "<b aria-hidden=true>a</b>a "), ("links", "<sup><a>1</a>"),
        ("struck letters", "<s>a</s>b "), ("hidden cells", "<table><td hidden>a</table>"), ("boxes", "<input checked>"),
    ):  # fmt: skip
        yield f"many {what} in HTML", "a.html", f"<p>{each * many}".encode()
    for tag in ("sup", "s", "b aria-hidden=true", "b hidden", "table><td", "blockquote", "select", "textarea", "label"):
        yield f"<{tag}> 9,000 deep", "a.html", (f"<{tag}>a " * 9000).encode()
    lines = "".join(">" * (n % 500) + f" a {n}\n" for n in range(2 * MANY))
    yield "quotations 500 deep", "a.eml", b"Subject: x\n\n" + lines.encode()
    people = ", ".join(f"a{n}@b.c" for n in range(1500))
    head = "a: b\nc: 2024\nd: e\n"
    yield "heads of mails by the thousand", "a.eml", f"To: {people}\nSubject: x\n\n{head * many}".encode()
    for what, line in (("signs", "<" * 10 * many), ("stars", "*_" * 5 * many), ("colons", "a:" * 5 * many)):
        yield f"the head of a mail of {what}", "a.eml", f"Subject: x\n\n---\na: {line}\nb: 2024\nc: x\nd: y\n".encode()


def _plain() -> Iterator[Input]:
    many = 5 * MANY
    for what, text in (
        ("open strikes", "~~a " * many), ("open elements", "<s>a " * many), ("struck letters", "~~a~~ b " * many),
        ("code", "".join("`" * n + "a" for n in range(1500))), ("open code and strikes", "`~~a ``b~" * many),
        ("blanks", "~~" + " " * 10 * many), ("tildes", "~" * 10 * many), ("paragraphs", "~~a\n\nb~~\n\n" * MANY),
    ):
        yield f"Markdown of {what}", "a.md", text.encode()
    for what, text in (
        ("private letters", r"\u57344?" * many), ("open strikes", r"\strike a " * many),
        ("strikes and ends", r"\strike a\strike0 b" * many), ("hidden groups", r"{\v a}" * many),
        ("raised letters", r"a{\super 1}" * many), ("footnotes", r"a{\footnote b}" * many),
        ("footnotes in footnotes", r"a{\footnote b" * 5000),
    ):
        yield f"an RTF of {what}", "a.rtf", rf"{{\rtf1 {text}}}".encode()
    yield "lines in turns of encoding", "a.txt", ("fährt\n".encode() + "fährt\n".encode("cp1252")) * many
    yield "one line of two encodings", "a.txt", ("fährt".encode() + "fährt".encode("cp1252")) * 10 * many
    for name, size in (("utf-16-le", 2), ("utf-16-be", 2), ("utf-32-le", 4), ("utf-32-be", 4)):
        raw = ("The ferry sails. " * MANY).encode(name)
        for less in range(1, size):
            yield f"{name} without a mark, {less} bytes short", "a.txt", raw[:-less]
        yield f"{name} of half characters", "a.txt", ("a" * 100 + "\ud800").encode(name, "surrogatepass") * MANY
    yield "zeros and letters", "a.txt", b"a\0\0a" * 10 * many
    event = "BEGIN:VEVENT\nSUMMARY:a\n"
    for what, text in (("open events", event * many), ("folds", "SUMMARY:a\n" + " b\n" * 5 * many),
                       ("parameters", "DTSTART" + ";A=" * 5 * many + ":x"), ("no colon", "a" * 20 * many)):  # fmt: skip
        yield f"a calendar of {what}", "a.ics", f"BEGIN:VCALENDAR\n{text}\nEND:VCALENDAR".encode()


def _office() -> Iterator[Input]:
    run, style = '<w:r><w:rPr>{}</w:rPr><w:t>1</w:t></w:r>', '<w:style w:styleId="{}"><w:basedOn w:val="{}"/></w:style>'
    for what, look in (("raised", '<w:vertAlign w:val="superscript"/>'), ("struck", "<w:strike/>"),
                       ("odd", '<w:strike w:val="?"/><w:position w:val=""/><w:vertAlign/><w:rStyle/>')):  # fmt: skip
        runs = (run.format(look) + run.format("")) * MANY
        yield f"a DOCX of {what} letters", "a.docx", docx(f"<w:p>{runs}</w:p>")
    chain = "".join(style.format(n, n + 1) for n in range(MANY)) + style.format(MANY, 0)
    paragraph = '<w:p><w:pPr><w:pStyle w:val="{}"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>'
    yield "a circle of styles in a DOCX", "a.docx", docx(paragraph.format(0) * 9, styles=chain)
    level = '<w:lvl w:ilvl="0"><w:numFmt w:val="lowerLetter"/><w:start w:val="{}"/><w:lvlText w:val="{}"/></w:lvl>'
    numbered = '<w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>' * MANY
    for what, levels in (("long numbers", level.format(1, "%1" * MANY)), ("levels", level.format(1, "%1") * MANY),
                         ("large numbers", level.format("9" * 5000, "%1"))):  # fmt: skip
        lists = f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        lists += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        yield f"a DOCX of {what}", "a.docx", docx(numbered, numbering=lists)
    names = " ".join(f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"'
                     for one in ("office", "text", "table", "style"))  # fmt: skip
    cell = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>"
    hidden, row = 'table:visibility="collapse"', f"<table:table-row>{cell.format('', 'a')}</table:table-row>"
    styles = "".join(f'<style:style style:family="paragraph" style:name="{n}" style:parent-style-name="{n + 1}"/>'
                     for n in range(MANY))  # fmt: skip
    for what, table in (
        ("hidden columns", f'<table:table-column {hidden} table:number-columns-repeated="999"/>' + row * 2 * MANY),
        ("long rows again and again", '<table:table-row table:number-rows-repeated="999999999">'
         f'{cell.format("", "a" * 100_000)}</table:table-row>'),
        ("wide rows again and again", '<table:table-row table:number-rows-repeated="999999999">'
         f'{cell.format(chr(32).join(["table:number-columns-repeated=", ""]).strip() + chr(34) + "999" + chr(34), "a")}'
         "</table:table-row>"),
        ("hidden rows", f"<table:table-row {hidden}>{cell.format('', 'a')}</table:table-row>" * 2 * MANY),
        ("circles of styles", row.replace("<text:p>", '<text:p text:style-name="0">')),
    ):
        content = f"<office:spreadsheet><table:table>{table}</table:table></office:spreadsheet>"
        yield f"an ODS of {what}", "a.ods", archive({
            "content.xml": f"<office:document-content {names}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body>{content}</office:body></office:document-content>"
        })  # fmt: skip


def _sheets() -> Iterator[Input]:
    book = office.good()["a.xlsx"]
    row, far = '<row r="{0}"><c r="A{0}"><v>1</v></c></row>', '<row r="1048576"><c r="A1048576"><v>1</v></c></row>'
    rows = "".join(map(row.format, range(1, MANY)))
    column, merge = '<col min="{}" max="{}" hidden="1"/>', '<mergeCell ref="A1:A1048576"/>'
    for what, before, data, behind in (
        ("columns before the first", column.format(-(10**9), 9), rows, ""),
        ("columns of no number", column.format("x", "9" * 5000), rows, ""),
        ("hidden columns, again and again", column.format(1, 10**9) * MANY, rows, ""),
        ("hidden columns of empty rows", column.format(2, 999), rows + far, ""),
        ("cells merged again and again", "", rows + far, merge * 9999),
        ("cells merged over none", "", rows, '<mergeCell ref="XFD9999999:A0"/><mergeCell ref=":"/>' * 99),
        ("hidden rows", "", rows.replace("<row ", '<row hidden="1" '), ""),
    ):
        sheet = f'<worksheet xmlns="{_SPREADSHEET}"><cols>{before}</cols><sheetData>{data}</sheetData>{behind}'
        yield f"an XLSX of {what}", "a.xlsx", rezip(book, {_SHEET: f"{sheet}</worksheet>"})
    cells = "".join(f'<row r="{n}"><c r="A{n}" s="1"><v>{n}</v></c></row>' for n in range(1, MANY))
    for what, form in (("commas", "0" + "," * 500), ("long words", "0&quot;" + "x" * 1_000_000), ("zeros", "0" * 5000),
                       ("digits", "0." + "0" * 5000), ("exponents", "0." + "0" * 5000 + "E+0"),
                       ("dates", "yyyy" * MANY), ("brackets", "[$" * MANY), ("blanks", "_" * MANY)):  # fmt: skip
        styles = f'<numFmts><numFmt numFmtId="200" formatCode="{form}"/></numFmts><cellXfs><xf/><xf numFmtId="200"/>'
        yield f"an XLSX of formats of {what}", "a.xlsx", rezip(book, {
            _SHEET: f'<worksheet xmlns="{_SPREADSHEET}"><sheetData>{cells}</sheetData></worksheet>',
            "xl/styles.xml": f'<styleSheet xmlns="{_SPREADSHEET}">{styles}</cellXfs></styleSheet>',
        })  # fmt: skip
    for what, value in (("infinite", "1e999"), ("no", "nan"), ("negative", "-1e300"), ("long", "9" * 5000)):
        for form in (9, 14, 22, 46, 11):
            styles = f'<cellXfs><xf/><xf numFmtId="{form}"/></cellXfs>'
            yield f"an XLSX of {what} numbers in format {form}", "a.xlsx", rezip(book, {
                _SHEET: f'<worksheet xmlns="{_SPREADSHEET}"><sheetData><row r="1"><c r="A1" s="1"><v>{value}</v></c>'
                "</row></sheetData></worksheet>",
                "xl/styles.xml": f'<styleSheet xmlns="{_SPREADSHEET}">{styles}</styleSheet>',
            })  # fmt: skip
    link = '<row r="1"><c r="A1"><f>HYPERLINK({})</f></c></row>'
    for what, text in (("quotes", "&quot;" * 100_000), ("brackets", "(" * 100_000), ("nothing", "")):
        data = f'<worksheet xmlns="{_SPREADSHEET}"><sheetData>{link.format(text)}</sheetData></worksheet>'
        yield f"a link of {what}", "a.xlsx", rezip(book, {_SHEET: data})


def form(content: bytes, *fields: bytes, more: bytes = b"", catalog: bytes = b"", page: bytes = b"") -> bytes:
    """Returns a PDF of a page with these fields or other notes; ``more``: objects from number 10,000 on."""
    names = b" ".join(b"%d 0 R" % number for number in range(100, 100 + len(fields)))
    made = pdf(content).replace(b"/Contents", b"/Annots[" + names + b"]" + page + b"/Contents")
    made = made.replace(b"/Catalog", b"/Catalog/AcroForm<</Fields[" + names + b"]/DA(/F1 9 Tf)>>" + catalog, 1)
    objects = b"".join(b"%d 0 obj\n<<%s>>\nendobj\n" % (100 + at, one) for at, one in enumerate(fields))
    return made.replace(b"%PDF-1.4\n", b"%PDF-1.4\n" + objects + more, 1)


def _forms() -> Iterator[Input]:
    field = b"/Subtype/Widget/T(f%d)/FT/Tx/V(value %d)/Rect[%d %d %d %d]"
    rows = [(60 + 40 * (n % 12), 780 - n // 12) for n in range(6000)]
    fields = [field % (n, n, x, y, x + 20, y + 9) for n, (x, y) in enumerate(rows)]
    text = b" ".join(b"1 0 0 1 %d %d Tm (text%d) Tj" % (x - 20, y, n) for n, (x, y) in enumerate(rows))
    yield "6,000 fields", "a.pdf", form(b"0 0 Td " + text, *fields)
    yield "6,000 fields in one place", "a.pdf", form(b"text", *[field % (n, n, 60, 700, 99, 710) for n in range(6000)])
    box = b"/Subtype/Widget/T(r)/FT/Btn/Ff 32768/AS/On/Rect[%d %d %d %d]"
    yield "3,000 radio buttons", "a.pdf", form(b"0 0 Td " + text, *[box % (x, y, x + 5, y + 5) for x, y in rows[:3000]])
    large = b"9" * 60
    for what, place in (("infinite", b"[0 0 %s %s]" % (large, large)), ("reversed", b"[99 99 0 0]"), ("no", b"[]"),
                        ("far", b"[-%s -%s %s %s]" % ((large,) * 4)),
                        ("odd", b"[/A (b) null 1e9]")):  # fmt: skip
        for kind in (b"/FT/Tx/V(a)", b"/FT/Btn/Ff 32768/AS/On", b"/FT/Btn/AS/On"):
            one = b"/Subtype/Widget/T(f)" + kind + b"/Rect" + place
            yield f"a field {kind.decode()} in a place that is {what}", "a.pdf", form(b"text", one, one)
    parent = b"/Subtype/Widget/FT/Tx/V(a)/T(f)/Parent %d 0 R/Kids[%d 0 R]/Rect[60 700 99 710]"
    yield "a field that is its own parent", "a.pdf", form(b"text", parent % (100, 100))
    yield "a circle of fields", "a.pdf", form(b"text", parent % (101, 101), parent % (100, 100))
    deep = b"".join(b"%d 0 obj<</T(p)/Parent %d 0 R>>endobj\n" % (n, n + 1) for n in range(10_000, 30_000))
    yield "fields 20,000 deep", "a.pdf", form(b"text", parent % (10_000, 100), more=deep)
    value = b"10000 0 obj<</T(p)/FT/Tx/V(" + b"long value " * 20_000 + b")>>endobj\n"
    heir = b"/Subtype/Widget/Parent 10000 0 R/Rect[60 %d 99 %d]"
    yield "a long value of many fields", "a.pdf", form(b"text", *[heir % (n, n + 9) for n in range(20)], more=value)
    options = b"/Opt[" + b"(option)" * 20_000 + b"]/I[" + b" ".join(b"%d" % n for n in range(100)) + b"]"
    choice = b"/Subtype/Widget/T(c)/FT/Ch/Ff 2097152/Rect[60 700 99 710]" + options
    yield "fields of 20,000 options", "a.pdf", form(b"text", *[choice] * 5)
    turned = b"\xfe\xff" + "\u202e\u2066\u200f\ud800\u0000a".encode("utf-16-be", "surrogatepass")
    odd = b"/Subtype/Widget/T(%s)/TU(%s)/FT/Tx/V(%s)/Rect[60 700 99 710]" % (turned, turned, turned)
    yield "a field of signs of direction", "a.pdf", form(b"text", odd)
    for what, ff in (("flags", b"-1"), ("no flags", b"(x)")):
        for kind in (b"Tx", b"Btn", b"Ch", b"Sig", b"Xx"):
            one = b"/Subtype/Widget/T(f)/FT/%s/Ff %s/V<<>>/AS 7/MK[]/AP 1/Rect[60 700 99 710]" % (kind, ff)
            yield f"a field {kind.decode()} of odd {what}", "a.pdf", form(b"text", one)
    strike = b"/Subtype/StrikeOut/Rect[50 740 600 760]/QuadPoints[%s]"
    points = b"50 760 600 760 50 740 600 740 " * 2000
    yield "strikes by the thousand", "a.pdf", form(b"text", *[strike % points] * 10)
    for what, given in (("of seven numbers", b"1 2 3 4 5 6 7"), ("infinite", large * 8), ("of words", b"/A " * 8)):
        yield f"a strike {what}", "a.pdf", form(b"text", strike % given)
    notes = [b"/Subtype/FreeText/Contents(a)/DA(/F1 9 Tf)/Rect[60 %d 99 %d]" % (n, n + 9) for n in range(5000)]
    yield "5,000 notes", "a.pdf", form(b"text", *notes)


def _pages() -> Iterator[Input]:
    rng = random.Random(3)
    cell = b"1 0 0 1 %d %d Tm (%s) Tj"
    for what, rows in (
        ("list of contents", [(x, -12 * n, t) for n in range(3000) for x, t in ((50, b"%d." % n), (300, b"Text"))]),
        ("table", [(150 * x, -12 * n, b"cell %d" % n) for n in range(3000) for x in range(4)]),
        ("titles in a table", [(150 * x, -12 * n, b"Cell") for n in range(3000) for x in range(1 + 2 * (n % 3 == 0))]),
        ("blocks", [(50, -40 * n, b"A line of text that is long enough to be one of prose") for n in range(3000)]),
        ("columns", [(50 * (n % 40), -9 * n, b"some words") for n in range(6000)]),
        ("stairs", [(3 * n, -9 * n, b"A line of text that is long enough for prose") for n in range(4000)]),
        ("words anywhere", [(rng.randrange(600), rng.randrange(800), b"a%d" % n) for n in range(MANY)]),
        ("one row", [(rng.randrange(10**6), 700, b"a%d" % n) for n in range(MANY)]),
        ("raised letters", [(5 * n, 700 + 4 * (n % 2), b"1a"[n % 2 : n % 2 + 1]) for n in range(MANY)]),
    ):
        yield f"a page of {what}", "a.pdf", pdf(b"0 0 Td " + b" ".join(cell % row for row in rows))
    rules = b" ".join(b"%d %d 50 0.5 re f" % (rng.randrange(600), rng.randrange(800)) for _ in range(MANY))
    words = b" ".join(cell % (rng.randrange(600), rng.randrange(800), b"some words") for _ in range(9000))
    yield "20,000 lines through 9,000 words", "a.pdf", pdf(b"0 0 Td " + words + b" ET " + rules + b" BT")
    for what, line in (("full stops", b"." * 50_000), ("blanks", b"a" + b" " * 50_000), ("dashes", b"-" * 50_000)):
        yield f"a line of {what} in a PDF", "a.pdf", pdf(line, line)
    huge = b"9" * 60
    for what, matrix in (
        ("infinite", b"%s 0 0 %s 0 0" % (huge, huge)), ("no", b"0 0 0 0 0 0"), ("far", b"1 0 0 1 %s 0" % huge),
        ("skewed", b"0 1 -1 0 -%s %s" % (huge, huge)), ("tiny", b"1e-30 .%s1 .1 .1 0 0" % (b"0" * 50)),
        ("turned, infinite", b"0 %s -%s 0 50 50" % (huge, huge)), ("half infinite", b"1 %s 0 1 0 0" % huge),
    ):  # fmt: skip
        shown = b"0 0 Td %s Tm (some words, turned) Tj 14 TL T* (and more) Tj" % matrix
        yield f"letters that are {what}", "a.pdf", pdf(shown)
        yield f"letters that are {what}, and a field", "a.pdf", form(
            shown, b"/Subtype/Widget/T(f)/FT/Tx/V(a)/Rect[60 700 99 710]")  # fmt: skip
    turns = b" ".join(b"%s Tm (a%d) Tj" % (rng.choice((b"0 1 -1 0 %d 50", b"1 0 0 1 %d 50", b"-1 0 0 -1 %d 9")) % n, n)
                      for n in range(9000))  # fmt: skip
    yield "words in turns of direction", "a.pdf", pdf(b"0 0 Td " + turns)
    yield from _from_right()
    labels = b"/PageLabels<</Nums[%s]>>"
    page = [b"text"] * 300
    for what, given in (
        ("large", b"0<</S/r/St 2147483647>>"), ("negative", b"0<</S/A/St -5>>"), ("of no style", b"0<</S/Q/P 7>>"),
        ("long", b"0<</P(" + b"long " * 200_000 + b")>>"), ("odd", b"/A (b) null -1 []"),
        ("turned", b"0<</P<FEFF202E200F>>>"),
        ("many", b" ".join(b"%d<</S/D/P(%d-)>>" % (n, n) for n in range(50_000))),
    ):  # fmt: skip
        made = pdf(*page).replace(b"/Catalog", b"/Catalog" + labels % given, 1)
        yield f"numbers of pages that are {what}", "a.pdf", made
    titles = tuple((b"Title %d of a section that is not on the page" % n, 0) for n in range(4900))
    yield "4,900 bookmarks of a page", "a.pdf", pdf(b"\n".join([b"a line of text"] * 9000), bookmarks=titles)
    yield "bookmarks of a novel", "a.pdf", pdf(b"text", bookmarks=((b"word " * 20_000, 0),) * 500)
    table = b" ".join(cell % (200 * x, 800 - 12 * n, b"some cell") for n in range(60) for x in range(3))
    yield "a table over 300 pages", "a.pdf", pdf(*[b"0 0 Td " + table] * 300)


def _from_right() -> Iterator[Input]:
    """Yields PDFs whose glyphs mean Hebrew or Arabic letters, and signs."""
    for what, letters in (
        ("words", _HEBREW), ("signs", "\u05d0%%%%"), ("turns", "\u05d0a\u05d1b"), ("brackets", "\u05d0([{<"),
        ("vowels", "\u05d0\u05b0\u05b1\u05b2"), ("Arabic", "\u0627\ufefb1\u06612%"),
        ("control", "\u202e\u2067\u05d0\u200f"), ("half characters", "\u05d0\ud835\udc00"),
    ):  # fmt: skip
        units = letters.encode("utf-16-be", "surrogatepass")
        codes = [units[at : at + 2].hex().encode() for at in range(0, len(units), 2)]
        pairs = b"".join(b"<%02x><%s>\n" % (65 + at, code) for at, code in enumerate(codes))
        unicode_ = (b"/CIDInit/ProcSet findresource begin begincmap 1 begincodespacerange<00><ff>endcodespacerange "
                    b"%d beginbfchar\n%sendbfchar endcmap end" % (len(codes), pairs))  # fmt: skip
        line = bytes(65 + at % len(codes) for at in range(MANY))
        for how, shown in (("in a row", b"(%s) Tj" % line), ("one by one", b" ".join(b"(%c) Tj" % one for one in line)),
                           ("backwards", b" ".join(b"1 0 0 1 %d 700 Tm (%c) Tj" % (5 * (MANY - n), one)
                                                   for n, one in enumerate(line)))):  # fmt: skip
            made = pdf(b"0 700 Td " + shown).replace(b"/Encoding/WinAnsiEncoding", b"/ToUnicode 900 0 R")
            more = b"900 0 obj<</Length %d>>stream\n%s\nendstream endobj\n" % (len(unicode_), unicode_)
            yield f"{what} from the right, {how}", "a.pdf", made.replace(b"%PDF-1.4\n", b"%PDF-1.4\n" + more)
