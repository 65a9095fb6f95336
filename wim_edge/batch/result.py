"""The result of one question of a batch: a line of ``results.jsonl``, a row of ``results.parquet``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from wim_edge.batch.questions import BatchQuestion
from wim_edge.errors import EngineError, InvalidRequestError
from wim_edge.reading import events
from wim_edge.system.atomic_files import replace_file

_COUNTS = ("prefilled_tokens", "reused_tokens", "decoded_tokens", "peak_rss_bytes")
_OF_ANSWER = ("status", "short", "support", "confidence", "finish_reason", "pattern", "model", "judge",
              "read_segments", "segments", "unread_probability")  # fmt: skip
"""The fields that a result has from `events.AnswerFinished` as they are."""
_ROWS = {"quotes": events.Quote, "margins": events.MarginJudged, "sources": events.Source}
"""The fields that are lists of rows, with the events' classes."""
_OF_DOCUMENT = ("document", "path")
"""The fields that rows of a result leave out, because it has one document."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One row. Margins, sources and usage have the fields of their events (docs/events.md)."""

    id: str
    document: str
    question: str
    answer: str | None = None
    """The answer's text; None if the question failed."""
    status: str | None = None
    """The answer's status: answered, unsure or not_found; None if the question failed."""
    short: str | None = None
    """The answer in a few words."""
    support: float | None = None
    """The support, 0 to 1: how likely the document holds an answer; None also if nothing was scored."""
    confidence: float | None = None
    """The probability, 0 to 1, that the short answer is right; None if unknown."""
    unsupported: list[str] = field(default_factory=list)
    """Numbers, codes and addresses of the answer that are in no passage."""
    quotes: list[dict[str, Any]] = field(default_factory=list)
    """The quotations that support the answer, the best first."""
    finish_reason: str | None = None
    error: str | None = None
    """The error's kind and message; None if it was answered."""
    warnings: list[str] = field(default_factory=list)
    margins: list[dict[str, Any]] = field(default_factory=list)
    """The margins, in the order in which they were written, with their relevance at that time."""
    sources: list[dict[str, Any]] = field(default_factory=list)
    """The sources, the most relevant first."""
    pattern: str | None = None
    relevance: str | None = None
    model: str | None = None
    judge: str | None = None
    """The model that judged which passages answer; None: the same."""
    usage: dict[str, Any] | None = None
    read_segments: int | None = None
    segments: int | None = None
    unread_probability: float | None = None
    """See `events.AnswerFinished`."""
    worker: str = ""
    """The process, and the machine that it runs on."""

    def __post_init__(self) -> None:
        """Raises ValueError for a row that cannot be the result of a question."""
        if (self.answer is None) == (self.error is None):
            raise ValueError("neither answered nor failed")
        if any(type((self.usage or {}).get(name, 0)) is not int for name in _COUNTS):
            raise ValueError("a count is no whole number")

    @property
    def key(self) -> tuple[str, str]:
        return self.document, self.question


def failed(question: BatchQuestion, error: Exception, worker: str) -> Result:
    """Returns the result of a question that was not answered."""
    why = f"{type(error).__name__}: {error}"
    return Result(id=question.id, document=question.document, question=question.question, error=why, worker=worker)


def observed(question: BatchQuestion, found: Iterable[events.Event], worker: str) -> Result:
    """Returns the result of a question from its events. Raises the errors of reading."""
    margins, warnings, relevance, last = [], [], None, None
    for event in found:
        if isinstance(event, events.MarginJudged):
            margins.append(event)
        elif isinstance(event, events.Warning):
            warnings.append(event.text)
        elif isinstance(event, events.ReadingStarted):
            relevance = event.relevance
        last = event
    assert isinstance(last, events.AnswerFinished)
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
    """Writes all of the file or none of it. Raises InvalidRequestError without pyarrow."""
    arrow = require_pyarrow()
    import pyarrow.parquet

    table = arrow.Table.from_pylist(list(map(asdict, results)), schema=_schema(arrow))
    with replace_file(path) as part:
        pyarrow.parquet.write_table(table, part)


def require_pyarrow() -> Any:
    """Returns the package pyarrow. Raises InvalidRequestError with the command that installs it."""
    try:
        import pyarrow
    except ImportError:
        raise InvalidRequestError("Parquet needs the package pyarrow", "pip install 'wim-edge[parquet]'") from None
    return pyarrow


def _schema(arrow: Any) -> Any:
    """Returns the schema by the fields' types: rows that all failed, or have no margins, do not show it."""
    hints: dict[str, Any] = {**get_type_hints(Result), "usage": events.Usage}
    hints |= {name: list[kind] for name, kind in _ROWS.items()}  # type: ignore[valid-type]
    return arrow.schema([(one.name, _arrow_type(arrow, hints[one.name])) for one in fields(Result)])


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
