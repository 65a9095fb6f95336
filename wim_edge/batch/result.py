"""The result of one question of a batch: a line of ``results.jsonl``, a row of ``results.parquet``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from wim_edge.batch.questions import BatchQuestion
from wim_edge.errors import EngineError, InvalidRequestError
from wim_edge.reading import events
from wim_edge.system.atomic_files import replace_file

_COUNTS = ("prefilled_tokens", "reused_tokens", "decoded_tokens", "peak_rss_bytes")
INSTALL_HINT = "pip install 'wim-edge[parquet]'"


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
    """The support, 0 to 1: how likely the document holds an answer; None also where nothing was scored."""
    unsupported: list[str] = field(default_factory=list)
    """Numbers, codes and addresses of the answer that stand in no passage."""
    quotes: list[dict[str, Any]] = field(default_factory=list)
    """The quotations that carry the answer, the best first."""
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
            raise ValueError("a count that is none")

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
    return Result(
        id=question.id,
        document=question.document,
        question=question.question,
        answer=last.text,
        status=last.status,
        short=last.short,
        support=last.support,
        unsupported=list(last.unsupported),
        quotes=[_without_document(asdict(quote)) for quote in last.quotes],
        finish_reason=last.finish_reason,
        warnings=warnings,
        margins=[_without_document(asdict(margin)) for margin in margins],
        sources=[_without_document(asdict(source)) for source in last.sources],
        pattern=last.pattern,
        relevance=relevance,
        model=last.model,
        judge=last.judge,
        usage=asdict(last.usage),
        read_segments=last.read_segments,
        segments=last.segments,
        unread_probability=last.unread_probability,
        worker=worker,
    )


def write_parquet(path: Path, results: Iterable[Result]) -> None:
    """Writes all of the file or none of it. Raises InvalidRequestError without pyarrow."""
    arrow = require_pyarrow()
    import pyarrow.parquet

    table = arrow.Table.from_pylist(list(map(asdict, results)), schema=_schema(arrow))
    with replace_file(path) as part:
        pyarrow.parquet.write_table(table, part)


def require_pyarrow() -> Any:
    """Returns the package pyarrow. Raises InvalidRequestError that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise InvalidRequestError("Parquet needs the package pyarrow", INSTALL_HINT) from None
    return pyarrow


def _without_document(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row without its document: each result has only one."""
    return {name: value for name, value in row.items() if name not in ("document", "path")}


def _schema(arrow: Any) -> Any:
    """Returns the schema, spelled out: rows that all failed, or have no margins, would otherwise make another file."""
    text, whole, real = arrow.string(), arrow.int64(), arrow.float64()
    span = arrow.list_(whole, 2)
    place = [("segment", whole), ("page", whole), ("page_label", text), ("section", text), ("line", whole),
             ("chars", span)]  # fmt: skip
    margin = [*place, ("text", text), ("quote", span), ("relevance", real), ("relevant", arrow.bool_()),
              ("header", text), ("short", span)]  # fmt: skip
    source = [*place, ("relevance", real), ("margin", text), ("quote", span), ("row", whole), ("opens", text),
              ("confidence", real)]  # fmt: skip
    quote = [("text", text), *place[1:], ("header", text)]
    usage = [*((name, whole) for name in _COUNTS), ("seconds", arrow.map_(text, real))]
    texts = ("pattern", "relevance", "model", "judge")
    return arrow.schema([
        *((name, text) for name in ("id", "document", "question", "answer", "status", "short")),
        ("support", real),
        ("unsupported", arrow.list_(text)),
        ("quotes", arrow.list_(arrow.struct(quote))),
        *((name, text) for name in ("finish_reason", "error")),
        ("warnings", arrow.list_(text)),
        ("margins", arrow.list_(arrow.struct(margin))),
        ("sources", arrow.list_(arrow.struct(source))),
        *((name, text) for name in texts),
        ("usage", arrow.struct(usage)),
        ("read_segments", whole),
        ("segments", whole),
        ("unread_probability", real),
        ("worker", text),
    ])  # fmt: skip
