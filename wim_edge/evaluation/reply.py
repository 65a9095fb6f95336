"""The reply to one question, in the form that metrics take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from wim_edge.documents import Document
from wim_edge.reading import events
from wim_edge.reading.resolved_settings import PATTERNS
from wim_edge.settings import Settings

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
