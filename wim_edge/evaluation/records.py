"""The reply to one question, and the records of a run: a line of ``examples.jsonl`` for each example and pattern.

A run that continues asks failed examples again. The later of two records of an example counts.
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
    """The pattern that answered, and its relevance method if it has one: ``rag:bm25``."""
    finish_reason: str | None = None
    short: str | None = None
    """The answer in a few words."""
    status: str | None = None
    """``answered``, ``unsure`` or ``not_found``."""
    quotes: tuple[str, ...] | None = None
    """The quotations that contain or support the answer."""
    passages: tuple[str, ...] | None = None
    """The texts from which the model answered; None: it answered from the whole context."""
    ranking: tuple[Span, ...] | None = None
    """The scored segments or chunks, the best first."""
    evidence: dict[str, float] | None = None
    """The evidence for the answer's support, by the names of `wim_edge.support.Evidence`."""
    confidence: float | None = None
    """The answer's support; without it, the best segment's score. Values of different patterns are not comparable."""
    seconds: float = 0.0
    """Wall time in seconds, without the time to open the model and the context."""
    prefilled_tokens: int = 0
    """The prefilled document tokens, also those read again for the answer. For a plain prompt: all its tokens."""
    decoded_tokens: int = 0
    peak_rss_bytes: int = 0

    def after(self, earlier: Reply) -> Reply:
        """Returns this reply with the seconds and tokens of ``earlier`` added."""
        return replace(
            self,
            seconds=self.seconds + earlier.seconds,
            prefilled_tokens=self.prefilled_tokens + earlier.prefilled_tokens,
            decoded_tokens=self.decoded_tokens + earlier.decoded_tokens,
        )

    def outcome(self) -> dict[str, Any]:
        """Returns the fields of `Record` that this reply determines, by name."""
        names = {field.name for field in fields(Record)} & {field.name for field in fields(self)} - {"pattern"}
        return {"answer": self.text, "resolved_pattern": self.pattern, **{name: getattr(self, name) for name in names}}


def ask(stream: Iterator[events.Event], documents: Sequence[Document]) -> Reply:
    """Runs a reading to its end, and returns the reply. ``stream``: the events of a question on ``documents``. Raises
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
    """Returns the texts of the quotations; only the first text if ``span`` is set or the status is not_found."""
    alone = finished.span is not None or finished.status == "not_found"
    return tuple(quote.text for quote in (finished.quotes[:1] if alone else finished.quotes))


@dataclass(frozen=True, kw_only=True)
class Record:
    """The outcome of asking one example with one pattern: a line of ``examples.jsonl``."""

    id: str
    group: str
    pattern: str
    """The pattern's name on the command line."""
    resolved_pattern: str | None = None
    """The pattern that answered (`Reply.pattern`); None if the example failed or was not asked."""
    x: int | None
    """The swept value (`Example.x`); None if it cannot change this pattern's answer."""
    question: str
    answers: tuple[str, ...]
    answer: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    scores: dict[str, float]
    """Scores by name, 0 to 1. ``recall`` is the retriever's score; if the model was not asked, it is the only one."""
    unanswerable: bool = False
    confidence: float | None = None
    """The answer's support, or the best segment's score (`Reply.confidence`)."""
    evidence: dict[str, float] | None = None
    """The evidence for the answer's support, by name (`Reply.evidence`)."""
    gold_rank: int | None = None
    """The best rank (from 1) of a segment with gold text; 0: none is ranked; None: no gold text or no ranking."""
    seconds: float | None = None
    """The wall time of the reply, in seconds (`Reply.seconds`)."""
    is_first: bool | None = None
    """True for the first question on a document, False for later ones; None if each question reads it again."""
    prefilled_tokens: int | None = None
    decoded_tokens: int | None = None
    peak_rss_bytes: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    quotes: tuple[str, ...] | None = None
    passages: tuple[str, ...] | None = None
    """The texts from which the model answered (`Reply.passages`). ``quotes``: its quotations (`Reply.quotes`)."""

    @property
    def key(self) -> tuple[str, str]:
        return self.pattern, self.id


class RecordStore(Journal[Record]):
    """The records of a run, in its folder. A continued run may have more ``patterns`` and a higher ``limit``."""

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
    """Returns the ``name`` and ``sha256`` of a data file or folder; None if ``path`` is None. A folder's hash covers
    the names and contents of ``files``, which are in the folder."""
    if path is None:
        return None
    if not path.is_dir():
        return {"name": path.name, "sha256": hashlib.sha256(bytes_of_file(path)).hexdigest()}
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        name = os.fsencode(file.relative_to(path))
        digest.update(name + b"\0" + hashlib.sha256(bytes_of_file(file)).digest())
    return {"name": path.name, "sha256": digest.hexdigest()}
