"""The reader of HTML: paragraphs, in one pass over the parser's events.

No tree is built, so neither deep nesting nor a large page costs more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from wim_edge.documents.decode import decode_markup
from wim_edge.documents.document import Document, DocumentBuilder, require
from wim_edge.documents.limits import DEFAULTS, above
from wim_edge.documents.numbering import KINDS, written
from wim_edge.documents.rows import names_columns
from wim_edge.documents.spans import Span, lines_of, span_of
from wim_edge.settings import Limits

_DROPPED = frozenset({"script", "style", "nav", "noscript", "template"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_INDENTS = 8
_ITEMS = frozenset({"ol", "ul", "menu", "dir"})
_LINES = frozenset({"li", "tr", "dt", "dd", "option"})
_CELLS = frozenset({"td", "th"})
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "center", "details", "dialog", "dir",
        "div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend",
        "main", "menu", "ol", "p", "section", "summary", "table", "ul",
    }
)
_LINE, _PARAGRAPH = 1, 2
_LISTED = re.compile(r"[-*•‣◦–]|\(?\w{1,3}[.)]")
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")
# An HTML parser may take an XHTML `<title/>` for an opening tag, and all that follows for the title.
_EMPTY_ELEMENT = re.compile(r"<(title|script|style|textarea|iframe)\b([^<>]*)/>", re.IGNORECASE)


@dataclass
class _List:
    """A list that is open: how its items are numbered (empty: they are not), and the last one's number."""

    kind: str
    number: int


def read_html(name: str, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the text of an HTML page. Headings become sections; scripts, styles and navigation are left out."""
    markup, notes = decode_markup(name, data)
    draft = DocumentBuilder()
    draft.notes.extend(notes)
    add_html(draft, name, markup, limits)
    return draft.document(name)


def add_html(draft: DocumentBuilder, name: str, markup: str, limits: Limits) -> None:
    """Appends the text of this HTML or XHTML to the draft."""
    etree = require("lxml.etree", name)
    declaration = _XML_DECLARATION.match(markup)
    markup = markup[declaration.end() :] if declaration else markup
    markup = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", markup)
    parser = etree.HTMLParser(target=_Writer(draft, name, limits.html_depth), encoding="utf-8", huge_tree=True)
    try:
        # Bytes in a stated encoding, so that no declaration in the markup can overrule it.
        parser.feed(markup.encode())
        parser.close()
    except etree.LxmlError:  # raised for a page with no element at all; there is nothing to read then
        return


class _Writer:
    """Receives the parser's events. A gap (of a line or a paragraph) is noted, and made before the next text."""

    def __init__(self, draft: DocumentBuilder, name: str, most_deep: int) -> None:
        self._draft = draft
        self._name = name
        self._most_deep = most_deep
        self._pieces: list[str] = []
        self._gap = 0
        self._space = False
        self._depth = self._dropped = self._pre = 0
        self._title: list[str] = []
        self._in_title = self._titled = self._in_heading = False
        self._first_cell = True
        self._cell_start = False
        self._lists: list[_List] = []
        self._item = ""
        """The sign that stands before the text of the item that has just begun."""
        self._cells: list[tuple[str, Span]] = []
        """The tags and the spans of this row's cells so far."""
        self._row_at: int | None = None
        """The piece that this row begins with."""
        self._rows: list[tuple[int, list[tuple[str, Span]]]] = []
        """The pieces that the table's rows begin with, and their cells."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._most_deep:
            raise above(self._name, f"HTML nested more than {self._most_deep:,} deep", "html_depth")
        if tag in _DROPPED:
            self._dropped += 1
        elif tag == "title":
            self._in_title = True
        elif tag in _HEADINGS or tag == "pre":
            self._flush()
            self._in_heading = tag != "pre"
            self._pre += tag == "pre"
        elif tag in _CELLS:
            self._cell(tag, span_of(attributes.get("rowspan", ""), attributes.get("colspan", "")))
        elif tag == "br":
            self._line_break()
        else:
            self._first_cell = tag == "tr" or self._first_cell
            if tag == "table":
                self._cells, self._row_at, self._rows = [], None, []
            elif tag in _ITEMS:
                first = attributes.get("start", "")
                first = first if first.isdecimal() and len(first) < 10 else "1"
                kind = KINDS.get(attributes.get("type", ""), "decimal") if tag == "ol" else ""
                self._lists.append(_List(kind, int(first) - 1))
            elif tag == "li":
                self._begin_item()
            self._boundary(tag)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag in _DROPPED:
            self._dropped -= 1
        elif tag == "title":
            self._end_title()
        elif tag in _HEADINGS or tag == "pre":
            self._flush()
            self._in_heading = False
            self._pre -= tag == "pre"
        elif tag in _CELLS:
            if not self._cell_start:  # an empty one changes nothing
                self._gap = 0
            self._cell_start = False
        else:
            if tag == "tr":
                self._end_row()
            elif tag == "table":
                self._end_table()
            elif tag == "li":
                self._item = ""
            elif tag in _ITEMS and self._lists:
                self._lists.pop()
            self._boundary(tag)

    def data(self, text: str) -> None:
        if self._in_title:
            self._title.append(text)
        elif self._dropped:
            return
        elif self._pre:
            self._write(text)
        elif words := " ".join(text.split()):
            self._space = self._space or text[0].isspace()
            self._write(words)
            self._space = text[-1].isspace()
        else:
            self._space = True

    def close(self) -> None:
        self._flush()

    def comment(self, text: str) -> None: ...

    def pi(self, target: str, data: str | None = None) -> None: ...

    def _boundary(self, tag: str) -> None:
        # The first paragraph of a cell belongs to the cell's row, not below it.
        if not self._cell_start:
            self._gap = max(self._gap, _PARAGRAPH if tag in _BLOCKS else _LINE if tag in _LINES else 0)

    def _begin_item(self) -> None:
        self._item = "-"
        if self._lists:
            last = self._lists[-1]
            last.number += 1
            indent = "  " * min(len(self._lists) - 1, _INDENTS)
            self._item = f"{indent}{written(last.number, last.kind)}." if last.kind else f"{indent}-"

    def _end_row(self) -> None:
        if self._row_at is not None:
            self._rows.append((self._row_at, self._cells))
        self._cells, self._row_at = [], None

    def _end_table(self) -> None:
        rows, self._rows = self._rows, []
        starts = [at for at, _ in rows]
        # What was flushed meanwhile is text with paragraphs, and no table
        if not rows or starts[-1] >= len(self._pieces) or starts != sorted(set(starts)):
            return
        ends = [*starts[1:], len(self._pieces)]
        lines = ["".join(self._pieces[at:end]).strip() for at, end in zip(starts, ends, strict=True)]
        cells = [[cell.strip() for cell in line.split("|")] for line in lines]
        tags = [[tag for tag, _ in row] for _, row in rows]
        is_headed = set(tags[0]) == {"th"}
        if any(span != (1, 1) for _, row in rows for _, span in row) and list(map(len, cells)) == list(map(len, tags)):
            is_second = len(tags) > 1 and set(tags[1]) == {"th"}
            spans = [[span for _, span in row] for _, row in rows]
            made = lines_of(cells, spans, is_headed=is_headed, is_second_headed=is_second)
            self._pieces[starts[0] :] = ["\n".join(" ".join(line.split()) for line in made)]
        elif len(tags[0]) > 1 and (is_headed or (not any("th" in row for row in tags) and names_columns(cells))):
            self._pieces.insert(starts[0], "| ")

    def _cell(self, tag: str, span: Span) -> None:
        self._cells.append((tag, span))
        if not self._first_cell:
            self._space = True
            self._write("|")
            self._space = True
        self._first_cell = False
        self._cell_start = True

    def _line_break(self) -> None:
        if self._pieces and not self._dropped and self._gap == 0:
            self._pieces.append("\n")

    def _write(self, text: str) -> None:
        if self._dropped:
            return
        if self._gap == _PARAGRAPH:
            self._flush()
        elif self._pieces and self._gap == _LINE:
            self._pieces.append("\n")
        elif self._pieces and self._space and not self._pieces[-1].endswith("\n"):
            self._pieces.append(" ")
        self._gap = 0
        self._space = self._cell_start = False
        if self._cells and self._row_at is None:
            self._row_at = len(self._pieces)
        if self._item and not self._in_heading and not _LISTED.match(text):
            text = f"{self._item} {text}"
        self._item = ""
        self._pieces.append(text)

    def _flush(self) -> None:
        text = "".join(self._pieces).replace("\u00ad", "").strip("\n").rstrip()
        self._pieces.clear()
        self._gap = 0
        self._space = self._cell_start = False
        if not text:
            return
        if self._in_heading:
            self._draft.mark(section=text)
            self._in_heading = False  # what follows in an unclosed heading is no heading
        self._draft.paragraph(text if self._pre else re.sub(r"\n{3,}", "\n\n", text))

    def _end_title(self) -> None:
        # The page's own; a drawing further down may have one too.
        if not self._titled and not self._dropped:
            self._draft.title = "".join(self._title)
            self._draft.mark(section=self._draft.title)
            self._titled = True
        self._in_title = False
