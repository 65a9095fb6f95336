"""Everyday documents with tables, in six formats, with questions that one row of a table answers.

python scripts/table_documents.py DIR    writes a folder for each format, for `wim-edge eval documents --data`
"""

from __future__ import annotations

import csv
import html
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Rows = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class TableDocument:
    """Paragraphs, a table, paragraphs. The first row is the header, unless the table has only two columns."""

    name: str
    title: str
    before: tuple[str, ...]
    rows: Rows
    after: tuple[str, ...]
    questions: tuple[tuple[str, str, str], ...]
    """(question, words of the answer, a cell that identifies the row with the answer)."""


def _rows(text: str) -> Rows:
    return tuple(tuple(cell.strip() for cell in line.split("|")) for line in text.strip().split("\n"))


INVOICE = TableDocument(
    "invoice", "Invoice 2024-0871",
    ("Hallgarten Joinery Ltd, 14 Mill Lane, Ashbourne DE6 1AQ. Invoice to: Pemberton Primary School, 2 Church Walk, "
     "Wirksworth DE4 4ET.",
     "Invoice date: 14 March 2024. Your order: PO-55120 of 2 February 2024. Payment is due within 30 days; after "
     "that interest of 8 percent a year is charged."),
    _rows("""
Pos | Description | Qty | Unit price | Amount
1 | Oak worktop, 38 mm, oiled | 4 | £186.00 | £744.00
2 | Base cabinet, 600 mm, white | 9 | £112.50 | £1,012.50
3 | Wall cabinet, 800 mm, white | 6 | £94.00 | £564.00
4 | Drawer runner, soft close, pair | 24 | £11.75 | £282.00
5 | Door handle, brushed steel | 31 | £3.40 | £105.40
6 | Splashback panel, slate grey | 7 | £58.20 | £407.40
7 | Corner carousel, chrome | 2 | £139.00 | £278.00
8 | Plinth, 2.4 m, white | 8 | £14.60 | £116.80
9 | Fitting, two joiners | 22 | £46.00 | £1,012.00
10 | Removal of old units | 1 | £320.00 | £320.00
 | Subtotal | | | £4,842.10
 | VAT 20% | | | £968.42
 | Total due | | | £5,810.52
"""),
    ("Please pay to Hallgarten Joinery Ltd, sort code 20-45-11, account 73920184, and quote the invoice's number. "
     "Goods stay ours until they are paid in full.",),
    (("What is the unit price of the splashback panel?", "58.20", "Splashback panel, slate grey"),
     ("How many door handles were invoiced?", "31", "Door handle, brushed steel"),
     ("What is the total due?", "5,810.52", "Total due"),
     ("How much VAT is charged?", "968.42", "VAT 20%"),
     ("What is the amount for the base cabinets?", "1,012.50", "Base cabinet, 600 mm, white"),
     ("How much does the removal of the old units cost?", "320.00", "Removal of old units"),
     ("What is the quantity of drawer runners?", "24", "Drawer runner, soft close, pair"),
     ("How much is one corner carousel?", "139.00", "Corner carousel, chrome")),
)  # fmt: skip

PRICES = TableDocument(
    "prices", "Price list of Lindqvist Garden Nursery, spring 2025",
    ("All prices are in euros and include 9% VAT. Plants are sold in pots unless the list says otherwise; the size is "
     "that of the pot in litres.",
     "Orders above 150 euros are delivered free of charge within 30 km. Opening hours: Tuesday to Saturday, 9:00 to "
     "17:30."),
    _rows("""
Article | Plant | Pot | Height | Price | Price from 10
A-101 | Common lavender | 2 l | 30 cm | 6.90 | 6.20
A-102 | French lavender | 2 l | 35 cm | 7.90 | 7.10
A-115 | Rosemary | 2 l | 30 cm | 5.50 | 4.95
A-118 | Lemon thyme | 1 l | 15 cm | 3.80 | 3.40
A-120 | Garden sage | 1 l | 20 cm | 4.10 | 3.70
B-204 | Hydrangea Annabelle | 5 l | 60 cm | 24.50 | 22.00
B-207 | Panicle hydrangea | 7.5 l | 80 cm | 32.00 | 28.80
B-210 | Butterfly bush, white | 5 l | 70 cm | 18.90 | 17.00
B-214 | Mock orange | 5 l | 60 cm | 19.50 | 17.50
B-219 | Smoke tree | 10 l | 120 cm | 48.00 | 43.20
C-301 | Apple, Cox Orange, half standard | bare root | 160 cm | 39.00 | 35.00
C-302 | Apple, Boskoop, half standard | bare root | 160 cm | 41.00 | 37.00
C-308 | Pear, Conference, half standard | bare root | 170 cm | 42.50 | 38.00
C-311 | Plum, Victoria, half standard | bare root | 150 cm | 37.50 | 33.50
C-320 | Quince, Vranja | 15 l | 180 cm | 69.00 | 62.00
D-402 | Beech hedge | bare root | 100 cm | 2.95 | 2.40
D-405 | Hornbeam hedge | bare root | 125 cm | 3.60 | 2.95
D-409 | Yew | 3 l | 50 cm | 14.20 | 12.50
D-411 | Cherry laurel | 5 l | 80 cm | 16.80 | 14.90
E-503 | Climbing rose, New Dawn | 4 l | 90 cm | 21.50 | 19.50
E-507 | Clematis, Jackmanii | 2 l | 70 cm | 15.40 | 13.80
E-512 | Wisteria, blue | 7.5 l | 150 cm | 54.00 | 48.50
E-515 | Honeysuckle | 2 l | 60 cm | 11.90 | 10.60
"""),
    ("Bare-root plants are sold from November to March alone. We give a growing guarantee of one year on hedges that "
     "we have planted ourselves.",),
    (("What does the smoke tree cost?", "48.00", "Smoke tree"),
     ("What is the price of a beech hedge from 10 pieces?", "2.40", "Beech hedge"),
     ("How tall is the wisteria?", "150 cm", "Wisteria, blue"),
     ("In what size of pot is the quince sold?", "15 l", "Quince, Vranja"),
     ("What is the article number of the mock orange?", "B-214", "Mock orange"),
     ("Which plant is article D-411?", "Cherry laurel", "D-411"),
     ("How much is French lavender?", "7.90", "French lavender"),
     ("What is the price from 10 of the climbing rose New Dawn?", "19.50", "Climbing rose, New Dawn")),
)  # fmt: skip

STAFF = TableDocument(
    "staff", "Staff of the Harbour Museum",
    ("The museum has its offices in the old customs house. From outside, dial 0471 5520 and the extension.",
     "Keys are given out at the porter's lodge against a signature. Whoever changes rooms tells the administration."),
    _rows("""
Name | Position | Department | Room | Ext. | Since
Ingrid Solberg | Director | Management | 301 | 100 | 2016
Tomas Weller | Deputy director | Management | 302 | 102 | 2019
Aisha Rahman | Head of collections | Collections | 214 | 140 | 2012
Pieter de Boer | Conservator, paintings | Collections | 012 | 143 | 2008
Lucia Ferrante | Conservator, paper | Collections | 013 | 144 | 2021
Malte Brandt | Registrar | Collections | 216 | 146 | 2018
Joanna Kowalska | Head of education | Education | 108 | 160 | 2014
Samuel Okoro | Museum teacher | Education | 109 | 161 | 2022
Hanna Lindgren | Museum teacher | Education | 109 | 162 | 2020
Greta Obermann | Librarian | Library | 225 | 180 | 2005
Yusuf Demir | Archivist | Library | 226 | 181 | 2017
Claire Duval | Head of exhibitions | Exhibitions | 310 | 120 | 2015
Ravi Menon | Exhibition designer | Exhibitions | 311 | 121 | 2023
Eva Novotna | Press officer | Communication | 305 | 110 | 2019
Oskar Lund | Photographer | Communication | 017 | 113 | 2011
Birgit Hansen | Accountant | Administration | 320 | 190 | 2009
Daniel Prior | Personnel officer | Administration | 321 | 192 | 2020
Mirko Vidal | Head of security | Building | 002 | 200 | 2013
Sofia Lindahl | Porter | Building | 001 | 201 | 2024
Karl Heinz Roth | Caretaker | Building | 003 | 205 | 1999
"""),
    ("In an emergency call 200 first; the head of security informs the management. The list is of 1 September 2024.",),
    (("In which room is Yusuf Demir?", "226", "Yusuf Demir"),
     ("What is Eva Novotna's extension?", "110", "Eva Novotna"),
     ("Who is the registrar?", "Malte Brandt", "Registrar"),
     ("Since when has Greta Obermann worked there?", "2005", "Greta Obermann"),
     ("What is the position of Lucia Ferrante?", "Conservator, paper", "Lucia Ferrante"),
     ("To which department does Ravi Menon belong?", "Exhibitions", "Ravi Menon"),
     ("What extension does the accountant have?", "190", "Accountant"),
     ("Who has been there the longest?", "Karl Heinz Roth", "Karl Heinz Roth")),
)  # fmt: skip

SPECS = TableDocument(
    "specs", "Aeris 240 dehumidifier: technical data",
    ("The Aeris 240 dries cellars and laundry rooms up to 60 square metres. It must stand upright for two hours "
     "before it is switched on for the first time.",
     "The filter is washed every two weeks, and replaced once a year."),
    _rows("""
Dehumidification at 30 °C, 80% | 24 l a day
Dehumidification at 20 °C, 60% | 11 l a day
Water tank | 4.5 l
Power consumption, normal mode | 310 W
Power consumption, standby | 0.4 W
Supply voltage | 220–240 V, 50 Hz
Fuse | 2.5 A, slow
Refrigerant | R290, 95 g
Noise, normal mode | 42 dB(A)
Noise, silent mode | 34 dB(A)
Air flow | 180 m³/h
Operating temperature | 5 to 35 °C
Dimensions (W × H × D) | 350 × 570 × 245 mm
Weight | 13.8 kg
Length of the cord | 1.9 m
Drain hose | 12 mm, 1 m, included
Warranty | 3 years; compressor 5 years
Order number | AER-240-EU
"""),
    ("The device is not meant for bathrooms, nor for rooms in which people with certain illnesses sleep. Old devices "
     "are taken back free of charge.",),
    (("How large is the water tank?", "4.5 l", "Water tank"),
     ("How heavy is the dehumidifier?", "13.8 kg", "Weight"),
     ("Which refrigerant does it use?", "R290", "Refrigerant"),
     ("How loud is it in silent mode?", "34 dB", "Noise, silent mode"),
     ("What is the power consumption on standby?", "0.4 W", "Power consumption, standby"),
     ("What is the order number?", "AER-240-EU", "Order number"),
     ("How long is the cord?", "1.9 m", "Length of the cord"),
     ("How much does it dry at 20 °C and 60%?", "11 l", "Dehumidification at 20 °C, 60%")),
)  # fmt: skip

BALANCE = TableDocument(
    "balance", "Balance sheet of Meridian Ferries plc at 31 December 2023",
    ("All amounts are in thousands of pounds. The accounts were approved by the board on 26 April 2024 and audited by "
     "Calder & Finch LLP.",
     "The increase in property was due to the new terminal at Port Ellen, which opened in October."),
    _rows("""
 | Note | 2023 | 2022
Property, plant and equipment | 11 | 84,210 | 71,655
Intangible assets | 12 | 3,480 | 3,912
Investments in associates | 13 | 6,075 | 5,840
Deferred tax assets | 9 | 1,122 | 964
Total non-current assets | | 94,887 | 82,371
Inventories | 15 | 2,318 | 2,106
Trade and other receivables | 16 | 9,744 | 8,890
Cash and cash equivalents | 17 | 12,563 | 15,027
Total current assets | | 24,625 | 26,023
Total assets | | 119,512 | 108,394
Share capital | 20 | 15,000 | 15,000
Retained earnings | 21 | 41,308 | 36,950
Total equity | | 56,308 | 51,950
Bank loans | 18 | 38,600 | 33,200
Pension obligations | 23 | 7,914 | 8,405
Trade and other payables | 19 | 14,237 | 12,716
Current tax liabilities | 9 | 2,453 | 2,123
Total liabilities | | 63,204 | 56,444
"""),
    ("A dividend of 4.2 pence a share was proposed. The next general meeting is on 18 June 2024.",),
    (("What were the inventories in 2022?", "2,106", "Inventories"),
     ("How much cash and cash equivalents did the company have in 2023?", "12,563", "Cash and cash equivalents"),
     ("What were total assets in 2023?", "119,512", "Total assets"),
     ("How high were the pension obligations in 2022?", "8,405", "Pension obligations"),
     ("What were bank loans in 2023?", "38,600", "Bank loans"),
     ("Which note explains the share capital?", "20", "Share capital"),
     ("What were the retained earnings in 2022?", "36,950", "Retained earnings"),
     ("What was total equity in 2023?", "56,308", "Total equity")),
)  # fmt: skip

DOCUMENTS = (INVOICE, PRICES, STAFF, SPECS, BALANCE)


def as_markdown(document: TableDocument) -> bytes:
    width = max(map(len, document.rows))
    line = "| " + " | ".join(["---"] * width) + " |"
    head, *body = document.rows if _has_header(document) else ((("",) * width), *document.rows)
    table = [f"| {' | '.join(row)} |" for row in (head, *body)]
    text = [f"# {document.title}", *document.before, "\n".join([table[0], line, *table[1:]]), *document.after]
    return "\n\n".join(text).encode()


def as_html(document: TableDocument) -> bytes:
    shown = [f"<p>{html.escape(one)}</p>" for one in document.before]
    rows = []
    for number, row in enumerate(document.rows):
        tag = "th" if number == 0 and _has_header(document) else "td"
        rows.append("<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>")
    shown += ["<table>", *rows, "</table>", *(f"<p>{html.escape(one)}</p>" for one in document.after)]
    title = html.escape(document.title)
    style = "<style>td,th{padding:2px 10px;text-align:left}</style>"
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>{style}<h1>{title}</h1>'
    return (page + "\n".join(shown)).encode()


def as_csv(document: TableDocument) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(document.rows)
    return out.getvalue().encode()


def as_xlsx(document: TableDocument) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = document.name.capitalize()
    for row in ((document.title,), (), *((one,) for one in document.before), (), *document.rows, (),
                *((one,) for one in document.after)):  # fmt: skip
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def as_docx(document: TableDocument) -> bytes:
    from docx import Document

    word = Document()
    word.add_heading(document.title, 0)
    for one in document.before:
        word.add_paragraph(one)
    table = word.add_table(len(document.rows), max(map(len, document.rows)))
    for row, cells in zip(document.rows, table.rows, strict=True):
        for text, cell in zip(row, cells.cells, strict=False):
            cell.text = text
    for one in document.after:
        word.add_paragraph(one)
    out = io.BytesIO()
    word.save(out)
    return out.getvalue()


def as_pdf(document: TableDocument) -> bytes:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table

    style = getSampleStyleSheet()
    parts: list[Flowable] = [Paragraph(html.escape(document.title), style["Title"])]
    parts += [Paragraph(html.escape(one), style["BodyText"]) for one in document.before]
    parts += [Spacer(1, 8), Table([list(row) for row in document.rows], repeatRows=int(_has_header(document)))]
    parts += [Spacer(1, 8), *(Paragraph(html.escape(one), style["BodyText"]) for one in document.after)]
    out = io.BytesIO()
    SimpleDocTemplate(out, title=document.title).build(parts)
    return out.getvalue()


def _has_header(document: TableDocument) -> bool:
    return len(document.rows[0]) > 2


FORMATS: dict[str, Callable[[TableDocument], bytes]] = {
    "md": as_markdown, "html": as_html, "csv": as_csv, "xlsx": as_xlsx, "docx": as_docx, "pdf": as_pdf,
}  # fmt: skip


def write(folder: Path, endings: Sequence[str] = tuple(FORMATS)) -> None:
    """Writes a folder of documents with questions for each format."""
    for ending in endings:
        own = folder / ending
        own.mkdir(parents=True, exist_ok=True)
        documents, questions = [], []
        for document in DOCUMENTS:
            path = own / f"{document.name}.{ending}"
            path.write_bytes(FORMATS[ending](document))
            documents.append({"id": document.name, "path": path.name})
            for number, (question, answer, _) in enumerate(document.questions):
                key = f"{document.name}-{number}"
                questions.append({"id": key, "document": document.name, "question": question, "answers": [answer]})
        for name, rows in (("documents", documents), ("questions", questions)):
            (own / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
