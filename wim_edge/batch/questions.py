"""The questions of a batch: rows of a file, or the same questions on each document of a folder."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wim_edge.documents.data_files import Row, read_rows, text_of, text_of_file
from wim_edge.documents.formats import ALL_OF_THEM
from wim_edge.errors import InvalidRequestError
from wim_edge.library.ingest import ROWS, files_of

_LAYOUT = "{document, question, id}; the id may be left out"
_HEADINGS = "The first line of a CSV file has the headings document,question and perhaps id."
_QUOTES = "Put a field in double quotes if it contains the delimiter or a line break"
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_DELIMITERS = ",;\t"
_MAX_FIELD = 2**31 - 1  # characters; the csv module's default is 131,072


@dataclass(frozen=True)
class BatchQuestion:
    """One row. ``document`` is the path as given, ``path`` the file's absolute path."""

    id: str
    document: str
    question: str
    path: Path
    folder: Path = Path()
    """The folder that ``document`` is relative to."""

    @property
    def key(self) -> tuple[str, str]:
        """Returns the document and the question; ids may shift when rows are added."""
        return self.document, self.question


@dataclass(frozen=True)
class DocumentGroup:
    """A document and all questions on it, so that it is read once."""

    path: Path
    questions: tuple[BatchQuestion, ...]


def read_questions(path: Path) -> list[BatchQuestion]:
    """Returns the rows of a file: CSV by the file's extension (with a line of headings), else JSON lines or a list.
    Paths of documents are relative to the file's folder; a row without an id gets its number, from 1.

    Raises InvalidRequestError for a file that cannot be read, another layout, or an id that occurs twice.
    """
    rows = _csv_rows(path) if path.name.lower().endswith(_CSV) else read_rows(path)
    found: dict[str, BatchQuestion] = {}
    for number, row in enumerate(rows, 1):
        try:
            question = _question(row, number, path.parent.absolute())
            if question.id in found:
                raise ValueError(f"the id {question.id!r} occurs twice")
        except (KeyError, TypeError, ValueError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidRequestError(f"{path.name}, row {number}: {what}", f"A row is {_LAYOUT}.") from error
        found[question.id] = question
    return list(found.values())


def questions_of_each(folder: Path, questions: Sequence[str]) -> list[BatchQuestion]:
    """Returns each question on each document in a folder and its subfolders, chosen as `library add` does, without
    files of rows. The id is the document's path in the folder and, for several questions, the question's number."""
    if not all(map(str.strip, questions)):
        raise InvalidRequestError("the question is empty", "Give a question with --question.")
    if not folder.is_dir():
        raise InvalidRequestError(f"{folder}: no such folder", "Name the folder that holds the documents.")
    folder, files = folder.absolute(), []
    for path in files_of(folder):
        if isinstance(path, Path):
            files += [] if path.name.lower().endswith(ROWS) else [path]
        elif path.state == "failed":
            raise InvalidRequestError(f"{path.path}: {path.note}", "Make it readable, or move it out of the folder.")
    if not files:
        raise InvalidRequestError(f"{folder} holds no documents", f"It takes {ALL_OF_THEM}.")
    asked = []
    # As the results have it: no invalid UTF-8
    texts = [question.strip().encode("utf-8", "replace").decode() for question in questions]
    for path in files:
        # Escapes keep two names apart that differ in bytes that are no UTF-8
        name = os.fsencode(path.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace")
        for number, text in enumerate(texts, 1):
            own = f"{name}#{number}" if len(texts) > 1 else name
            asked.append(BatchQuestion(own, name, text, path, folder))
    return asked


def grouped(questions: Iterable[BatchQuestion]) -> list[DocumentGroup]:
    """Returns the questions grouped by document, in the order in which the documents first occur."""
    groups: dict[Path, list[BatchQuestion]] = {}
    for question in questions:
        groups.setdefault(question.path, []).append(question)
    return [DocumentGroup(path, tuple(found)) for path, found in groups.items()]


def _csv_rows(path: Path) -> list[Row]:
    text = text_of_file(path)
    csv.field_size_limit(_MAX_FIELD)
    try:
        delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
        found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        lines = [list(map(str.strip, line)) for line in found if any(map(str.strip, line))]
    except csv.Error as error:
        raise InvalidRequestError(f"{path.name}: {error}", f"{_QUOTES}, and close each quote.") from error
    headings = [heading.strip().lower() for heading in lines[0]] if lines else []
    if not {"document", "question"} <= set(headings) or len(set(headings)) < len(headings):
        raise InvalidRequestError(f"{path.name} has the headings {', '.join(headings) or 'none'}"[:200], _HEADINGS)
    if len(lines) == 1:
        raise InvalidRequestError(f"{path.name} holds no rows", _HEADINGS)
    for number, line in enumerate(lines[1:], 1):
        if len(line) != len(headings):
            what = f"{len(line)} fields under {len(headings)} headings"
            raise InvalidRequestError(f"{path.name}, row {number}: {what}", f"{_QUOTES}.")
    return [dict(zip(headings, line, strict=True)) for line in lines[1:]]


def _question(row: Row, number: int, folder: Path) -> BatchQuestion:
    """Parses a row. Raises KeyError, TypeError, ValueError."""
    given, document, question = row.get("id"), text_of(row["document"]), text_of(row["question"]).strip()
    if isinstance(given, bool) or not isinstance(given, str | int | None):
        raise TypeError(f"{given!r:.40} is no id")
    if not document.strip() or "\0" in document:
        raise ValueError("it names no document")
    if not question:
        raise ValueError("the question is empty")
    name = str(number) if given in (None, "") else str(given)
    return BatchQuestion(name, document, question, folder / document, folder)
