"""What a batch asks: rows of a file, or the same questions of each document of a folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wim_edge.documents.rows import Row, read_rows, text_of
from wim_edge.errors import InvalidRequestError
from wim_edge.library.adding import ROWS, files_of

_LAYOUT = "{document, question, id}; the id may be left out"
_DELIMITERS = ",;\t"
_MOST_FIELD = 2**31 - 1  # characters; the csv module takes 131,072 unless told otherwise


@dataclass(frozen=True)
class Question:
    """One row. ``document`` is the path as it was given, ``path`` where it lies, on whatever machine asks."""

    id: str
    document: str
    question: str
    path: Path

    @property
    def key(self) -> tuple[str, str]:
        """What it asks; ids may shift when rows are added."""
        return self.document, self.question


@dataclass(frozen=True)
class Group:
    """A document and all that is asked of it: it is read once, where all of that is asked."""

    path: Path
    questions: tuple[Question, ...]


def read_questions(path: Path) -> list[Question]:
    """The rows of a file: CSV by its name's ending (with a line of headings), else JSON lines or a list. Paths of
    documents are relative to the file's folder; a row without an id has its number, from 1.

    Raises InvalidRequestError for a file that cannot be read, another layout, or an id that is there twice.
    """
    rows = _csv_rows(path) if path.suffix.lower() in (".csv", ".tsv") else read_rows(path)
    found: dict[str, Question] = {}
    for number, row in enumerate(rows, 1):
        try:
            question = _question(row, number, path.parent.absolute())
            if question.id in found:
                raise ValueError(f"the id {question.id!r} is there twice")
        except (KeyError, TypeError, ValueError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InvalidRequestError(f"{path.name}, row {number}: {what}", f"A row is {_LAYOUT}.") from error
        found[question.id] = question
    return list(found.values())


def questions_of_each(folder: Path, questions: Sequence[str]) -> list[Question]:
    """Each question of each document in a folder and those in it (as `library add` takes them, but for files of rows);
    the id is the document's path in the folder and, where there are several questions, the question's number."""
    if not all(map(str.strip, questions)):
        raise InvalidRequestError("the question is empty", "Give a question with --question.")
    if not folder.is_dir():
        raise InvalidRequestError(f"{folder}: no such folder", "Name the folder that holds the documents.")
    files = []
    for path in files_of(folder.absolute()):
        if isinstance(path, Path):
            files += [] if path.name.lower().endswith(ROWS) else [path]
        elif path.state == "failed":
            raise InvalidRequestError(f"{path.path}: {path.note}", "Make it readable, or take it out of the folder.")
    if not files:
        raise InvalidRequestError(f"{folder} holds no documents", "It takes text, Markdown, HTML, PDF, DOCX and EPUB.")
    asked = []
    for path in files:
        name = _well_formed(path.relative_to(folder.absolute()).as_posix())
        for number, question in enumerate(questions, 1):
            asked.append(Question(f"{name}#{number}" if len(questions) > 1 else name, name, question.strip(), path))
    return asked


def grouped(questions: Iterable[Question]) -> list[Group]:
    """By document, in the order in which the documents come first."""
    groups: dict[Path, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.path, []).append(question)
    return [Group(path, tuple(found)) for path, found in groups.items()]


def _csv_rows(path: Path) -> list[Row]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidRequestError(f"{path}: {error.strerror or error}", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error}", "It takes UTF-8 text.") from error
    head = text.split("\n", 1)[0]
    csv.field_size_limit(_MOST_FIELD)
    try:
        reader = csv.DictReader(io.StringIO(text), delimiter=max(_DELIMITERS, key=head.count), strict=True)
        rows: list[Row] = list(reader)
    except csv.Error as error:
        raise InvalidRequestError(f"{path}: {error}", "It takes CSV with a line of headings.") from error
    if not rows:
        raise InvalidRequestError(f"{path} holds no rows", "It takes the headings document,question,id, and rows.")
    return rows


def _question(row: Row, number: int, folder: Path) -> Question:
    """Raises KeyError, TypeError, ValueError."""
    given, document = row.get("id"), text_of(row["document"])
    if isinstance(given, bool) or not isinstance(given, str | int | None):
        raise TypeError(f"{given!r:.40} where an id should be")
    if not document.strip() or "\0" in document:
        raise ValueError("it names no document")
    name = str(number) if given in (None, "") else str(given)
    return Question(name, document, _asked(text_of(row["question"])), folder / document)


def _asked(question: str) -> str:
    if not question.strip():
        raise ValueError("the question is empty")
    return question.strip()


def _well_formed(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
