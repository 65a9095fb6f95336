"""The reply to one question, and an evaluation on disk: ``examples.jsonl`` has a line for each finished example.

Failed examples are asked again: the later record counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from wim_edge.documents import Document
from wim_edge.documents.data_files import bytes_of_file
from wim_edge.reading import events
from wim_edge.reading.resolved_settings import PATTERNS
from wim_edge.settings import Settings
from wim_edge.system.journal import Journal, read_rows

_FILE = "examples.jsonl"


Span = tuple[str, tuple[int, int]]
"""A document's name, and [start, end) in characters of it."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer with its quotations, passages and cost. None: unknown for this condition."""

    text: str
    pattern: str
    """The pattern that answered, with its relevance."""
    finish_reason: str | None = None
    short: str | None = None
    """The short answer."""
    status: str | None = None
    """answered, unsure or not_found."""
    quotes: tuple[str, ...] | None = None
    """The margins that the answer rests on."""
    passages: tuple[str, ...] | None = None
    """The texts that the answer was given from, if that is not the whole context."""
    ranking: tuple[Span, ...] | None = None
    """The scored pieces, the best first."""
    evidence: dict[str, float] | None = None
    """The evidence for its support (`wim_edge.support.Evidence`)."""
    confidence: float | None = None
    """The higher, the likelier the documents contain an answer; comparable only over questions of one pattern."""
    seconds: float = 0.0
    """Wall time without opening the model and its context."""
    prefilled_tokens: int = 0
    """Evaluated tokens of the documents, those evaluated again too; all tokens of a plain prompt."""
    decoded_tokens: int = 0
    peak_rss_bytes: int = 0

    def after(self, earlier: Reply) -> Reply:
        """Returns this reply plus the seconds and tokens of the earlier one."""
        return replace(
            self,
            seconds=self.seconds + earlier.seconds,
            prefilled_tokens=self.prefilled_tokens + earlier.prefilled_tokens,
            decoded_tokens=self.decoded_tokens + earlier.decoded_tokens,
        )

    def outcome(self) -> dict[str, Any]:
        """Returns the fields of its `Record`."""
        names = {field.name for field in fields(Record)} & {field.name for field in fields(self)} - {"pattern"}
        return {"answer": self.text, "resolved_pattern": self.pattern, **{name: getattr(self, name) for name in names}}


class Asker(Protocol):
    """A runtime with these settings, in this process or in one of its own."""

    @property
    def settings(self) -> Settings: ...

    def stream(self, documents: Sequence[Document], question: str) -> Iterable[events.Event]: ...


def ask(asker: Asker, documents: Sequence[Document], question: str) -> Reply:
    """Asks, and returns the reply from the events. Raises KeyboardInterrupt if the reading was cancelled."""
    relevance, ranking = None, None
    finished: events.AnswerFinished | None = None
    with closing(asker.stream(documents, question)) as stream:  # type: ignore[type-var]
        for event in stream:
            if isinstance(event, events.ReadingStarted):
                relevance = event.relevance
            elif isinstance(event, events.ReadingRanked):
                ranking = event.ranking
            elif isinstance(event, events.AnswerFinished):
                finished = event
    assert finished is not None
    if finished.finish_reason == "cancelled":
        raise KeyboardInterrupt
    return _reply(finished, relevance, ranking, {document.name: document.text for document in documents})


def _reply(
    finished: events.AnswerFinished, relevance: str | None, ranking: Sequence[events.RankedSegment] | None,
    texts: dict[str, str],
) -> Reply:  # fmt: skip
    pattern, sources, usage = PATTERNS[finished.pattern], finished.sources, finished.usage
    return Reply(
        text=finished.text,
        pattern=f"{finished.pattern}:{relevance}" if relevance else finished.pattern,
        finish_reason=finished.finish_reason,
        short=finished.short or None,
        evidence=finished.evidence,
        status=finished.status if finished.support is not None else None,
        quotes=_carrying(finished) if pattern.margins else None,
        passages=tuple(texts[s.document][slice(*s.chars)] for s in sources) if pattern.answers_from_passages else None,
        ranking=None if ranking is None else tuple((ranked.document, ranked.chars) for ranked in ranking),
        confidence=ranking[0].score if ranking and finished.support is None else finished.support,
        seconds=usage.seconds["total"] - usage.seconds.get("load", 0.0),
        prefilled_tokens=usage.prefilled_tokens,
        decoded_tokens=usage.decoded_tokens,
        peak_rss_bytes=usage.peak_rss_bytes,
    )


def _carrying(finished: events.AnswerFinished) -> tuple[str, ...]:
    """Returns the quotations of the answer; if it was pointed at, the first one."""
    alone = finished.span is not None or finished.status == "not_found"
    return tuple(quote.text for quote in (finished.quotes[:1] if alone else finished.quotes))


@dataclass(frozen=True, kw_only=True)
class Record:
    """One example, asked with one pattern, and the outcome. A line of ``examples.jsonl``."""

    id: str
    group: str
    pattern: str
    """The pattern as it was asked for."""
    resolved_pattern: str | None = None
    """The pattern that was used, with its relevance; None if it failed or was not asked."""
    x: int | None
    """The swept value; None if the pattern does not depend on it."""
    question: str
    answers: tuple[str, ...]
    answer: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    scores: dict[str, float]
    """Scores by name; recall is the retriever's. The task's own are missing if it was not asked."""
    unanswerable: bool = False
    confidence: float | None = None
    """See `Reply.confidence`."""
    evidence: dict[str, float] | None = None
    """See `Reply.evidence`."""
    gold_rank: int | None = None
    """The best rank of a segment with gold, from 1; 0: none was ranked. None: no gold or no ranking."""
    seconds: float | None = None
    """Wall time without opening the model and its context."""
    is_first: bool | None = None
    """True if it was the first question on its document; None if every question reads it again."""
    prefilled_tokens: int | None = None
    decoded_tokens: int | None = None
    peak_rss_bytes: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    quotes: tuple[str, ...] | None = None
    passages: tuple[str, ...] | None = None
    """See `Reply.passages`; ``quotes`` likewise."""

    @property
    def key(self) -> tuple[str, str]:
        return self.pattern, self.id


class RecordStore(Journal[Record]):
    """The folder of a run that can continue; ``patterns`` of its identity may grow and ``limit`` may rise."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        super().__init__(folder, _FILE, Record, identity, _may_change)


def read_records(folder: Path) -> list[Record]:
    """Returns the records of a run."""
    return read_rows(folder / _FILE, Record)


def _may_change(name: str, was: Any, now: Any) -> bool:
    if name == "patterns":
        return isinstance(was, list) and all(name in now for name in was)
    if name == "limit":
        return now is None or (isinstance(was, int) and now >= was)
    return False


def fingerprint(path: Path | None, files: Iterable[Path] = ()) -> dict[str, str] | None:
    """Returns name and SHA-256 of a data file, or of a folder by the names and contents of these files in it."""
    if path is None:
        return None
    if not path.is_dir():
        return {"name": path.name, "sha256": hashlib.sha256(bytes_of_file(path)).hexdigest()}
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        name = os.fsencode(file.relative_to(path))
        digest.update(name + b"\0" + hashlib.sha256(bytes_of_file(file)).digest())
    return {"name": path.name, "sha256": digest.hexdigest()}
