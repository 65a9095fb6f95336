"""The questions and results of a batch. Questions are the rows of a file, or the same questions for each document of a
folder. A result is a line of ``results.jsonl`` and a row of ``results.parquet``."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from wim_edge.documents.data_files import Row, read_rows, text_of, text_of_file
from wim_edge.documents.formats import ALL_OF_THEM
from wim_edge.errors import DocumentError, EngineError, InvalidRequestError, required
from wim_edge.library.ingest import ROWS, files_of
from wim_edge.reading import events
from wim_edge.system.atomic_files import replace_file

_LAYOUT = "{document, question, id}; the id may be left out"
_HEADINGS = "The first line of a CSV file has the headings document,question and perhaps id."
_QUOTES = "Put a field in double quotes if it contains the delimiter or a line break"
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_DELIMITERS = ",;\t"
_MAX_FIELD = 2**31 - 1  # characters; the csv module's default is 131,072
_COUNTS = ("prefilled_tokens", "reused_tokens", "decoded_tokens", "peak_rss_bytes")
_OF_ANSWER = ("status", "short", "support", "confidence", "finish_reason", "pattern", "model", "judge",
              "read_segments", "segments", "unread_probability")  # fmt: skip
"""The fields that a result copies from `events.AnswerFinished`."""
_ROWS = {"quotes": events.Quote, "margins": events.MarginJudged, "sources": events.Source}
"""The fields of a result that are lists of dicts, each with the class of event that its dicts copy."""
_OF_DOCUMENT = ("document", "path")
"""The fields of events that the dicts in `_ROWS` leave out, because a result is about one document."""


@dataclass(frozen=True)
class BatchQuestion:
    """A question on a document. ``document``: the document's path as given; ``path``: its absolute path."""

    id: str
    document: str
    question: str
    path: Path
    folder: Path = Path()
    """The folder that ``document`` is relative to."""

    @property
    def key(self) -> tuple[str, str]:
        """The pair (document, question), which identifies a result: ids may change when rows are added."""
        return self.document, self.question


@dataclass(frozen=True)
class DocumentGroup:
    """A document with all questions on it, so that the document is read only once."""

    path: Path
    questions: tuple[BatchQuestion, ...]
    data: bytes = b""
    """The bytes of the document's file, which `run.fetch` reads. ``error``: the error if they could not be read."""
    error: DocumentError | None = None


def read_questions(path: Path) -> list[BatchQuestion]:
    """Returns the questions in a file: CSV (by its ending), JSON lines or a JSON list. Document paths are relative to
    the file's folder. A row without an id gets its row number, from 1. Raises InvalidRequestError."""
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
    """Returns each question on each document in a folder and its subfolders. Takes the files that `library add` takes,
    but no files of rows. An id is the document's path in the folder; for several questions, "#" and a number follow."""
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
    # Results contain only valid UTF-8, so questions must too
    texts = [question.strip().encode("utf-8", "replace").decode() for question in questions]
    for path in files:
        # Escapes keep two names apart that differ only in bytes that are not UTF-8
        name = os.fsencode(path.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace")
        for number, text in enumerate(texts, 1):
            own = f"{name}#{number}" if len(texts) > 1 else name
            asked.append(BatchQuestion(own, name, text, path, folder))
    return asked


def grouped(questions: Iterable[BatchQuestion]) -> list[DocumentGroup]:
    """Groups questions by document. The groups are in the order in which their documents first occur."""
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
    """Returns the question in a row. ``number``: the row's number. Raises KeyError, TypeError, ValueError."""
    given, document, question = row.get("id"), text_of(row["document"]), text_of(row["question"]).strip()
    if isinstance(given, bool) or not isinstance(given, str | int | None):
        raise TypeError(f"{given!r:.40} is no id")
    if not document.strip() or "\0" in document:
        raise ValueError("it names no document")
    if not question:
        raise ValueError("the question is empty")
    name = str(number) if given in (None, "") else str(given)
    return BatchQuestion(name, document, question, folder / document, folder)


# Results


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a question: fields of `events.AnswerFinished`, and what was told before it. If the question failed,
    ``error`` (the error's class and message) takes their place."""

    id: str
    document: str
    question: str
    answer: str | None = None
    status: str | None = None
    short: str | None = None
    support: float | None = None
    confidence: float | None = None
    unsupported: list[str] = field(default_factory=list)
    quotes: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None
    error: str | None = None
    warnings: list[str] = field(default_factory=list)
    margins: list[dict[str, Any]] = field(default_factory=list)
    """The margins in the order of writing, with their relevance at that time."""
    sources: list[dict[str, Any]] = field(default_factory=list)
    pattern: str | None = None
    relevance: str | None = None
    model: str | None = None
    judge: str | None = None
    usage: dict[str, Any] | None = None
    read_segments: int | None = None
    segments: int | None = None
    unread_probability: float | None = None
    worker: str = ""
    """The process that answered: machine, Ray node and process id, or ``local``."""

    def __post_init__(self) -> None:
        """Raises ValueError unless exactly one of ``answer`` and ``error`` is set, and all counts are integers."""
        if (self.answer is None) == (self.error is None):
            raise ValueError("neither answered nor failed")
        if any(type((self.usage or {}).get(name, 0)) is not int for name in _COUNTS):
            raise ValueError("a count is no whole number")

    @property
    def key(self) -> tuple[str, str]:
        return self.document, self.question


def failed(question: BatchQuestion, error: Exception, worker: str) -> Result:
    """Returns the result of a question that failed with ``error``. ``worker``: the name of the process that asked."""
    why = f"{type(error).__name__}: {error}"
    return Result(id=question.id, document=question.document, question=question.question, error=why, worker=worker)


def observed(question: BatchQuestion, found: Iterable[events.Event], worker: str) -> Result:
    """Runs a reading (``found``: its events); returns the result. Raises its errors, and EngineError if cancelled."""
    told = list(found)
    last = told[-1]
    assert isinstance(last, events.AnswerFinished)
    margins = [one for one in told if isinstance(one, events.MarginJudged)]
    warnings = [one.text for one in told if isinstance(one, events.Warning)]
    relevance = next((one.relevance for one in told if isinstance(one, events.ReadingStarted)), None)
    if last.finish_reason == "cancelled":
        raise EngineError("cancelled")
    of_answer: dict[str, Any] = {name: getattr(last, name) for name in _OF_ANSWER}
    events_of = {"quotes": last.quotes, "margins": margins, "sources": last.sources}
    rows: dict[str, Any] = {name: list(map(_row, some)) for name, some in events_of.items()}
    return Result(
        id=question.id, document=question.document, question=question.question, answer=last.text, warnings=warnings,
        unsupported=list(last.unsupported), relevance=relevance, usage=asdict(last.usage), worker=worker, **of_answer,
        **rows,
    )  # fmt: skip


def _row(one: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if name not in _OF_DOCUMENT}


def write_parquet(path: Path, results: Iterable[Result]) -> None:
    """Writes the results to a Parquet file, atomically. Raises InvalidRequestError if pyarrow is not installed."""
    arrow = require_pyarrow()
    import pyarrow.parquet

    # The schema is that of the fields' types: rows cannot show it if all failed or none has margins
    hints: dict[str, Any] = {**get_type_hints(Result), "usage": events.Usage}
    hints |= {name: list[kind] for name, kind in _ROWS.items()}  # type: ignore[valid-type]
    schema = arrow.schema([(one.name, _arrow_type(arrow, hints[one.name])) for one in fields(Result)])
    table = arrow.Table.from_pylist(list(map(asdict, results)), schema=schema)
    with replace_file(path) as part:
        pyarrow.parquet.write_table(table, part)


def require_pyarrow() -> Any:
    """Imports and returns pyarrow. If it is missing, raises InvalidRequestError with the command that installs it."""
    with required("Parquet needs the package pyarrow", "pip install 'wim-edge[parquet]'"):
        import pyarrow
    return pyarrow


def _arrow_type(arrow: Any, hint: Any) -> Any:
    inner = [one for one in get_args(hint) if one is not NoneType]
    if isinstance(hint, UnionType):
        return _arrow_type(arrow, inner[0])
    if hint == events.Chars:
        return arrow.list_(arrow.int64(), 2)
    if get_origin(hint) is list:
        return arrow.list_(_arrow_type(arrow, inner[0]))
    if get_origin(hint) is dict:
        return arrow.map_(*(_arrow_type(arrow, one) for one in inner))
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        names = [one.name for one in fields(hint) if one.name not in _OF_DOCUMENT]
        return arrow.struct([(name, _arrow_type(arrow, hints[name])) for name in names])
    return {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}[hint]
