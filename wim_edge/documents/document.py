"""A document: one text, with the page, section, line and sheet row of each place in it.
Offsets are in characters of ``Document.text``; spans are half-open: ``text[start:end]``."""

from __future__ import annotations

import gzip
import importlib
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import IO

from wim_edge.documents.formats import FORMATS, PICTURE
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

DEFAULTS = Limits()
INSTALL_HINT = "pip install charset-normalizer lxml openpyxl pypdfium2 striprtf"

MARGINS = "Headers and footers"
_SECTION_CHARS = 200
_PLACES = 5  # most places in a note
_BLOCK = 1 << 20
_CONVERTED = (".jsonl", ".gz", *(end for one in (*FORMATS, PICTURE) if not one.has_lines for end in one.endings))
"""The endings of files whose lines differ from the lines of the document's text, so that a place has no line number."""
_OF_ROWS = (".jsonl", ".ndjson", ".json", ".gz")
"""The endings of files with one document per row: such a file's name says nothing about a single document."""
_NO_HEADING = re.compile(r"chapter \d+")  # the EPUB reader's name for an untitled chapter
_INK, _PIPE = re.compile(r"\S"), re.compile(r"(?<!\\)\|")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Place:
    """The place of a passage in a document. Pages, lines and rows count from 1. A field without a value is None."""

    chars: tuple[int, int]
    """The span (start, end) in the document's text."""
    page: int | None
    section: str | None
    line: int | None
    """The line number in the file. None if the file's lines differ from the lines of the document's text."""
    row: int | None = None
    """The row number in a CSV file, or in the sheet that ``section`` names."""
    confidence: float | None = None
    """The confidence of text recognition (OCR) on the page, 0 to 1; None if the page is no recognised picture."""
    cells: str | None = None
    """The sheet cells that contain the passage: "B7:E9", or "B7"."""
    page_label: str | None = None
    """The page number that the file states ("iv"), if it differs from ``page``; else None."""


@dataclass(frozen=True)
class Mark:
    """A page, section or row begins at character ``start``. A None field continues; a section ends the rows above."""

    start: int
    page: int | None = None
    section: str | None = None
    row: int | None = None
    """The row (see `Place`) of the line at ``start``. Each line after that is one row further."""
    confidence: float | None = None
    column: int | None = None
    """The column (from 1; None is 1) of each line's first cell; 0 if hidden columns leave the cells without names."""
    page_label: str | None = None

    def values(self) -> tuple[int | float | str | None, ...]:
        """Returns the values of the fields in order, without None at the end, but at least the first three."""
        every = (self.start, self.page, self.section, self.row, self.confidence, self.column, self.page_label)
        return every[: max(3, *(at for at, value in enumerate(every, 1) if value is not None))]


@dataclass(frozen=True)
class Document:
    """A document: its text, without lone surrogates (`well_formed`), and its marks in ascending order of ``start``."""

    name: str
    text: str
    marks: tuple[Mark, ...] = ()
    path: Path | None = None
    notes: tuple[str, ...] = ()
    """Warnings about the conversion to text, such as a guessed encoding or a page without text."""
    title: str = ""
    """The title that the file states. Without one, `load_documents` sets the title that `title_of` returns."""
    parts: tuple[tuple[int, int], ...] = ()
    """The (start, end) spans of the text to which a model's reading is limited, ascending; empty for the whole text."""
    is_converted: bool = False
    """True if the text's lines differ from the file's. If False, they differ only for the file endings `_CONVERTED`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", well_formed(self.name))
        object.__setattr__(self, "text", well_formed(self.text))

    def place(self, start: int, end: int) -> Place:
        """Returns the place of ``text[start:end]``: page, section, line and row are its first non-blank character's."""
        ink = _INK.search(self.text, start, end)
        at = ink.start() if ink else start
        line = bisect_right(self._line_starts, at) if self._has_lines else None
        page, section, rows = self._known(at)
        row = None if rows.row is None else rows.row + self.text.count("\n", rows.start, at)
        cells = _cells(self.text, at, end, row, rows.column or 1) if row and rows.column != 0 else None
        return Place((start, end), page.page, section, line, row, page.confidence, cells, page.page_label)

    def section(self, at: int) -> str | None:
        """Returns the title of the section that contains the character at ``at``, or None; faster than `place`."""
        return self._known(at)[1]

    @property
    def own_title(self) -> str:
        """The document's title; empty if it is only the file's name without its ending."""
        return "" if self.path is not None and self.title == self.path.stem else self.title

    @property
    def heading(self) -> str:
        """The heading that a model sees above the document: its title and file name; empty if there is neither."""
        return with_file_name(self.title, self.path)

    @cached_property
    def _has_lines(self) -> bool:
        return not self.is_converted and (self.path or Path(self.name)).suffix.lower() not in _CONVERTED

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def _known(self, at: int) -> tuple[Mark, str | None, Mark]:
        """Returns (page mark, section title, row mark), each the last that begins at or before the character ``at``."""
        return self._known_from[bisect_right(self.marks, at, key=lambda mark: mark.start)]

    @cached_property
    def _known_from(self) -> list[tuple[Mark, str | None, Mark]]:
        """The results of `_known`: item 0 for text before the first mark, item n for text from the n-th mark on."""
        page = row = Mark(0)
        section: str | None = None
        known = [(page, section, row)]
        for mark in self.marks:
            page = page if mark.page is None and mark.confidence is None else mark
            section = section if mark.section is None else mark.section
            row = row if mark.row is None and mark.section is None else mark  # a section without rows ends those above
            known.append((page, section, row))
        return known


def _cells(text: str, at: int, end: int, row: int, column: int) -> str:
    """Returns the sheet cells of ``text[at:end]``, as "B7:E9". The span begins in row ``row``, and each line's first
    cell is in column ``column``. A pipe that begins a line separates no cells: a header or an empty cell follows."""
    line = text.rfind("\n", 0, at) + 1
    before, *more = text[line : line + len(text[line:end].rstrip("| \n"))].split("\n")
    first = 0 if more else len(_PIPE.findall(text, line + text.startswith("|", line), at))
    last = max(len(_PIPE.findall(one, one.startswith("|"))) for one in (before, *more))
    here, there = f"{letters(column + first)}{row}", f"{letters(column + last)}{row + len(more)}"
    return here if here == there else f"{here}:{there}"


def letters(column: int) -> str:
    """Returns the letters of a sheet's column, which counts from 1: 28 is "AB"."""
    return (letters((column - 1) // 26) if column > 26 else "") + chr(ord("A") + (column - 1) % 26)


class DocumentBuilder:
    """Builds a document from paragraphs. A page or section given to `mark` begins with the next paragraph."""

    def __init__(self, notes: Iterable[str] = ()) -> None:
        self.notes = [*notes]
        self._omitted: dict[str, list[str]] = {}  # by kind of content, the places of each omission
        self._parts: list[str] = []
        self._length = self.quoted = 0  # quoted: how many quotations the next paragraph is nested in
        self._marks: list[Mark] = []
        self._next = Mark(0)
        self.title = self._in_section = ""

    @property
    def empty(self) -> bool:
        return not self._parts

    def mark(
        self, page: int | None = None, section: str | None = None, confidence: float | None = None,
        page_label: str | None = None,
    ) -> None:  # fmt: skip
        """Begins a page, a section or both with the next paragraph. ``confidence``, ``page_label``: as in `Place`."""
        section = short(section) if section else self._next.section
        self._next = Mark(0, page or self._next.page, section, None, confidence, None, page_label)
        self._in_section = section or self._in_section

    def omit(self, what: str, where: str | None = None) -> None:
        """Records an omission: the content's kind ``what`` ("hidden row") and its place, by default the section."""
        self._omitted.setdefault(what, []).append(self._in_section if where is None else where)

    def omissions(self) -> list[str]:
        """Returns a note for each kind of omitted content: how often it was left out, and where."""
        notes = []
        for what, places in self._omitted.items():
            named = [place for place in dict.fromkeys(places) if place]
            where = "; ".join(named[:_PLACES]) + "; …" * (len(named) > _PLACES)
            many = f"{what}s were" if len(places) > 1 else f"{what} was"
            notes.append(f"{len(places):,} {many} left out{f' ({where})' * bool(where)}")
        return notes

    def paragraph(
        self, text: str, sections: Iterable[tuple[int, str]] = (), rows: Iterable[tuple[int, int]] = (),
        column: int = 1, joins: bool = False,
    ) -> None:  # fmt: skip
        """Adds ``text``, unless it is blank, as a paragraph after a blank line, or on the next line if it ``joins``.
        ``sections``: (offset, title) of each section that begins in ``text``, ascending. ``rows``: (offset, row number)
        of the first line, and of each line whose row does not follow the row above. ``column``: see `Mark`."""
        if not text.strip():
            return
        if self._parts:
            self._append("\n" if joins else "\n\n")
        given = [*rows]
        row, more = given[0][1] if given else None, given[1:]
        first = column if row and column != 1 else None
        if self._next.page or self._next.section or row or self._next.confidence:
            self._marks.append(replace(self._next, start=self._length, row=row, column=first))
            self._next = Mark(0)
        self._marks += [Mark(self._length + at, row=number, column=first) for at, number in more]
        self._marks += [Mark(self._length + at, None, short(title)) for at, title in sections]
        self._append(text)

    def margins(self, lines: Iterable[str]) -> None:
        """Adds the lines of headers and footers, each once, as a section. Some text, such as a date, is only there."""
        self.mark(section=MARGINS)
        self.paragraph("\n".join(dict.fromkeys(filter(None, map(str.strip, lines)))))

    def document(self, name: str) -> Document:
        return Document(
            name, "".join(self._parts), tuple(self._marks), notes=(*self.notes, *self.omissions()),
            title=short(self.title), is_converted=True,
        )  # fmt: skip

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def short(title: str) -> str:
    """Returns a section's title on one line. A title of over 200 characters is cut, and ends with an ellipsis."""
    line = " ".join(well_formed(title).split())
    return line if len(line) <= _SECTION_CHARS else line[: _SECTION_CHARS - 1] + "…"


def well_formed(text: str) -> str:
    """Returns the text with U+FFFD in place of lone surrogates, which tokenizers and terminals cannot encode."""
    return _SURROGATE.sub("\ufffd", text)


def deduplicate(names: Iterable[str]) -> list[str]:
    """Returns the names, with " (2)", " (3)" and so on added to repeated ones."""
    wanted = list(names)
    given, used = set(wanted), dict[str, None]()
    for name in wanted:
        own, number = name, 1
        while own in used or (number > 1 and own in given):
            number += 1
            own = f"{name} ({number})"
        used[own] = None
    return list(used)


def with_unique_names(documents: Iterable[Document]) -> list[Document]:
    """Returns the documents with unique names: a repeated name gets a number, as in "report.pdf (2)"."""
    documents = list(documents)
    names = deduplicate(document.name for document in documents)
    return [replace(document, name=name) for document, name in zip(documents, names, strict=True)]


def require(module: str, name: str) -> ModuleType:
    """Imports and returns an optional library. Raises DocumentError for the document ``name`` if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise DocumentError(f"{name}: reading this format needs the package {module}", INSTALL_HINT) from None


def above(name: str, what: str, limit: str) -> DocumentError:
    """Returns the DocumentError "name: what" for a document above ``limit``, the name of a field of `Limits`."""
    return DocumentError(f"{name}: {what}", f"Split it and give the parts, or set WIM_EDGE_{limit.upper()} higher.")


def check_size(name: str, size: int, limits: Limits, limit: str, what: str = "larger than") -> None:
    """Raises DocumentError "name: what 50 MiB" if ``size`` bytes exceed the field ``limit`` of ``limits``."""
    if size > (most := getattr(limits, limit)):
        raise above(name, f"{what} {mebibytes(most)}", limit)


def read_whole(name: str, file: IO[bytes] | gzip.GzipFile, limits: Limits) -> bytes:
    """Reads an open file to its end and returns the bytes. Raises DocumentError above ``limits.document_bytes``."""
    blocks, size = [], 0
    while block := file.read(_BLOCK):  # in blocks: one large read would allocate the whole limit
        blocks.append(block)
        size += len(block)
        check_size(name, size, limits, "document_bytes")
    return b"".join(blocks)


def mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size:,} bytes"


def with_file_name(title: str, path: str | Path | None) -> str:
    """Returns "title (file name)"; only the title if it contains the file name, or if the file's rows are documents."""
    stem = "" if path is None or Path(path).suffix.lower() in _OF_ROWS else short(Path(path).stem)
    if not any(map(str.isalnum, stem)) or stem.casefold() in title.casefold():
        return title
    return f"{title} ({stem})" if title else stem


def title_of(document: Document) -> str:
    """Returns the document's title, or else the section title at its first mark, or else its file's name."""
    # The first mark of a PDF has a page but no section: no bookmark becomes the title
    heading = document.marks[0].section if document.marks else None
    if not heading or _NO_HEADING.fullmatch(heading):
        heading = document.path.stem if document.path else document.name
    return short(document.title) or short(heading) or "untitled"
