"""The reply to one question, and the records of a run: ``examples.jsonl`` has a line for each finished example.

A failed example is asked again, and its later record counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from wim_edge.documents import Document
from wim_edge.documents.data_files import bytes_of_file
from wim_edge.reading import events
from wim_edge.reading.resolved_settings import PATTERNS
from wim_edge.system.journal import Journal, read_rows

_FILE = "examples.jsonl"


Span = tuple[str, tuple[int, int]]
"""A document's name, and the offsets [start, end) of characters in its text."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer with its quotations, passages and cost. A field is None if the condition does not provide it."""

    text: str
    pattern: str
    """The pattern that answered, with its relevance."""
    finish_reason: str | None = None
    short: str | None = None
    """The short answer."""
    status: str | None = None
    """answered, unsure or not_found."""
    quotes: tuple[str, ...] | None = None
    """The quotations that carry the answer."""
    passages: tuple[str, ...] | None = None
    """The texts that the answer was given from; None: the whole context."""
    ranking: tuple[Span, ...] | None = None
    """The scored segments or chunks, the best first."""
    evidence: dict[str, float] | None = None
    """The evidence for its support (`wim_edge.support.Evidence`)."""
    confidence: float | None = None
    """A score that is higher if the documents are likelier to contain an answer; comparable within one pattern only."""
    seconds: float = 0.0
    """Wall time without opening the model and its context."""
    prefilled_tokens: int = 0
    """Prefilled tokens of the documents, including those read again for the answer; all tokens of a plain prompt."""
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
        """Returns the fields of a `Record` that this reply sets, by name."""
        names = {field.name for field in fields(Record)} & {field.name for field in fields(self)} - {"pattern"}
        return {"answer": self.text, "resolved_pattern": self.pattern, **{name: getattr(self, name) for name in names}}


def ask(stream: Iterator[events.Event], documents: Sequence[Document]) -> Reply:
    """Asks by taking the events of ``stream``, a reading of these documents for a question. Returns the reply. Raises
    KeyboardInterrupt if the reading was cancelled."""
    relevance, ranking = None, None
    finished: events.AnswerFinished | None = None
    with closing(stream):  # type: ignore[type-var]
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
    """Returns the answer's quotations; only the first one if the answer was pointed at or not found."""
    alone = finished.span is not None or finished.status == "not_found"
    return tuple(quote.text for quote in (finished.quotes[:1] if alone else finished.quotes))


@dataclass(frozen=True, kw_only=True)
class Record:
    """The outcome of one example with one pattern: a line of ``examples.jsonl``."""

    id: str
    group: str
    pattern: str
    """The pattern's name on the command line."""
    resolved_pattern: str | None = None
    """The pattern that was used, with its relevance; None if the example failed or was not asked."""
    x: int | None
    """The swept value (`Example.x`); None if the pattern's answer does not depend on it."""
    question: str
    answers: tuple[str, ...]
    answer: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    scores: dict[str, float]
    """Scores by name, 0 to 1; ``recall`` is the retriever's. Without the task's scores if the model was not asked."""
    unanswerable: bool = False
    confidence: float | None = None
    """See `Reply.confidence`."""
    evidence: dict[str, float] | None = None
    """See `Reply.evidence`."""
    gold_rank: int | None = None
    """The best rank, from 1, of a segment with gold text; 0: none was ranked; None: no gold text or no ranking."""
    seconds: float | None = None
    """Wall time without opening the model and its context."""
    is_first: bool | None = None
    """True for the first question on a document, False for later ones; None if every question reads it again."""
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
    """The folder of a run. The run may continue with more ``patterns`` or a higher ``limit`` in its ``identity``."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        super().__init__(folder, _FILE, Record, identity, _may_change)


def read_records(folder: Path) -> list[Record]:
    return list(read_rows(folder / _FILE, Record)[0].values())


def _may_change(name: str, was: Any, now: Any) -> bool:
    if name == "patterns":
        return isinstance(was, list) and all(name in now for name in was)
    if name == "limit":
        return now is None or (isinstance(was, int) and now >= was)
    return False


def fingerprint(path: Path | None, files: Iterable[Path] = ()) -> dict[str, str] | None:
    """Returns the name and SHA-256 of a data file; None without one. The hash of a folder covers the names and contents
    of ``files`` in it."""
    if path is None:
        return None
    if not path.is_dir():
        return {"name": path.name, "sha256": hashlib.sha256(bytes_of_file(path)).hexdigest()}
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        name = os.fsencode(file.relative_to(path))
        digest.update(name + b"\0" + hashlib.sha256(bytes_of_file(file)).digest())
    return {"name": path.name, "sha256": digest.hexdigest()}
