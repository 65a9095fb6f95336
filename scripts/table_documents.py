"""Everyday documents with tables, in six formats, with questions that one row of a table answers.

python scripts/table_documents.py DIR    writes a folder for each format, for `wim-edge eval documents --data`
"""

from __future__ import annotations

import csv
import html
import io
import json
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TableDocument:
    """Paragraphs, a table, paragraphs. The first row is the header, unless the table has only two columns."""

    name: str
    title: str
    before: list[str]
    rows: list[list[str]]
    after: list[str]
    questions: list[list[str]]
    """(question, words of the answer, a cell that identifies the row with the answer)."""


def load() -> tuple[TableDocument, ...]:
    """Returns the documents of table_documents.toml."""
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["document"]
    return tuple(TableDocument(**{**one, "rows": _rows(one["rows"])}) for one in found)


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.strip("\n").split("\n")]


DOCUMENTS = load()


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
