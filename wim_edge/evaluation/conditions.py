"""The conditions under which a run asks its examples: the runtime's patterns, controls, and baselines.

    NAME             a pattern of `wim_edge.settings.PATTERNS`, with the model's default relevance method
    NAME:RELEVANCE   the pattern with another relevance method, for example rag:bm25
    default          what `wim-edge ask` does with this model
    margins-alone    the margins that default writes, as the only text: the model does not see their passages
    llm:source       the whole context in a prompt of "Lost in the Middle" (figure 2; for the task kv, figure 7)
    rag:embed        the three chunks of 1,000 characters that an embedding model ranks first, in a common prompt
    oracle           the gold documents alone, pattern llm: the upper bound ("Lost in the Middle", section 2.3)
    closed-book      no documents, pattern llm: the model's own knowledge (also section 2.3)
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Self

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.baselines import BEST, Chunks, embed_documents, rag_prompt
from wim_edge.evaluation.example import Example
from wim_edge.evaluation.records import Reply, ask
from wim_edge.evaluation.tasks import Task
from wim_edge.library.readings_db import kept_meanwhile
from wim_edge.reading import events
from wim_edge.reading.resolved_settings import resolve
from wim_edge.reading.timings import peak_rss_bytes
from wim_edge.runtime import Runtime
from wim_edge.settings import PATTERNS, RELEVANCES, Settings

CONTROLS = ("oracle", "closed-book")
MARGINS_ALONE, SOURCE, EMBED = "margins-alone", "llm:source", "rag:embed"
NAMES = (*PATTERNS, "default", *CONTROLS, MARGINS_ALONE, SOURCE, EMBED)
_SCORELESS = ("llm", MARGINS_ALONE, *CONTROLS)
_HINT = f"A pattern is {', '.join(NAMES)}; {', '.join(PATTERNS[1:])} and default may be followed by :RELEVANCE."


@dataclass(frozen=True)
class Condition:
    """A way to ask examples. ``label``: e.g. rag:bm25; ``relevance``: its method, if any (bm25); ``name``: the rest."""

    label: str
    name: str
    relevance: str | None = None

    @property
    def is_control(self) -> bool:
        """Returns True for oracle and closed-book. Under these, a question is asked once, not for each swept value."""
        return self.name in CONTROLS

    @property
    def changes(self) -> dict[str, str]:
        """Returns the settings that the condition changes, by name: ``pattern``, ``relevance``, both or none."""
        pattern = "llm" if self.is_control or self.name == SOURCE else self.name
        named = {"pattern": pattern} if pattern in PATTERNS else {}
        return named | ({"relevance": self.relevance} if self.relevance else {})

    def ignores_order(self, settings: Settings) -> bool:
        """Returns True if the order of documents cannot change the answer: controls, rag:embed, shallow patterns."""
        if self.name == EMBED:
            return True
        return self.is_control or not resolve(settings.with_changes(**self.changes)).pattern.deep

    def documents(self, example: Example) -> tuple[Document, ...]:
        """Returns the documents that the model gets: all, only the gold ones (oracle), or none (closed-book)."""
        if self.name == "closed-book":
            return ()
        if self.name == "oracle":
            return example.gold_documents
        return example.documents


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Returns the conditions named in a comma-separated list. Raises InvalidRequestError for no or unknown names."""
    labels = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
    if not labels:
        raise InvalidRequestError("no pattern is named", _HINT)
    return tuple(map(_parse, labels))


def _parse(label: str) -> Condition:
    if label in (SOURCE, EMBED):
        return Condition(label, label)
    name, colon, relevance = label.partition(":")
    if name not in NAMES:
        raise InvalidRequestError(f"{name} is no pattern", _HINT)
    if colon and (name in _SCORELESS or relevance not in RELEVANCES):
        raise InvalidRequestError(f"{label} is no pattern", f"{_HINT} A relevance is {', '.join(RELEVANCES)}.")
    return Condition(label, name, relevance or None)


_BASE_STOPS = ("\n\n", "\nQuestion:", "\nNote:", "\nKey:")


@dataclass
class ConditionAsker:
    """Asks examples of a task, each with a new KV cache. The measured time does not include opening the cache.

    A context manager. Until its end it saves the readings of examples with a shelf (`Example.shelf`), and of no others.
    Each condition has a folder of its own for them: conditions do not share readings.
    """

    runtime: Runtime
    task: Task
    _stack: ExitStack = field(default_factory=ExitStack)
    _folders: dict[str, dict[str, object]] = field(default_factory=dict)
    _chunks: dict[str, Chunks] = field(default_factory=dict)
    """The chunks of the shelf that was asked last, by the shelf's name."""

    def ask(self, condition: Condition, example: Example) -> Reply:
        """Returns the reply to an example. Raises WimEdgeError, and KeyboardInterrupt if the reading was cancelled."""
        documents, question = condition.documents(example), example.question
        with self.opened(condition, example) as runtime:
            if condition.name == SOURCE:
                return _complete(runtime, self.task.source_prompt(example), SOURCE)
            if condition.name == EMBED:
                return self._ask_embedded(runtime, example)
            reply = ask(runtime.stream(documents, question), documents)
        if condition.name == MARGINS_ALONE:
            with self.runtime.with_changes(pattern="llm", save=False) as runtime:
                return _ask_margins(runtime, reply, question)
        return reply

    def opened(self, condition: Condition, example: Example) -> Runtime:
        """Returns a runtime with the condition's settings. The runtime shares the loaded model."""
        kept = {"save": False} if example.shelf is None else self._kept(condition)
        return self.runtime.with_changes(**condition.changes, **kept)

    def _kept(self, condition: Condition) -> dict[str, object]:
        if condition.label not in self._folders:
            settings = self._stack.enter_context(kept_meanwhile(self.runtime.settings.with_changes(save=False)))
            self._folders[condition.label] = {"save": True, "readings": settings.readings}
        return self._folders[condition.label]

    def _ask_embedded(self, runtime: Runtime, example: Example) -> Reply:
        """Asks with the three chunks nearest to the question as context. A shelf's chunks are embedded once."""
        chunks, indexing = self._chunks.get(example.shelf or ""), 0.0
        if chunks is None:
            chunks = embed_documents(example.documents, runtime.settings.n_threads)
            indexing = chunks.seconds
            self._chunks = {example.shelf: chunks} if example.shelf is not None else {}
        begun = time.perf_counter()
        nearest = chunks.nearest(example.question)
        searching = time.perf_counter() - begun
        best = [number for _, number in nearest[:BEST]]
        texts = tuple(chunks.texts[number] for number in best)
        reply = _complete(runtime, rag_prompt(texts, example.question), EMBED)
        return replace(
            reply, passages=texts, ranking=tuple(chunks.spans[number] for _, number in nearest),
            confidence=nearest[0][0] if nearest else None, seconds=reply.seconds + indexing + searching,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()


def _ask_margins(runtime: Runtime, reply: Reply, question: str) -> Reply:
    """Asks again with the margins of ``reply`` as the only document. The returned cost is that of both replies."""
    text = "\n\n".join(reply.quotes or ())
    if not text:
        return replace(reply, text="", pattern=MARGINS_ALONE, passages=None)
    margins = [Document("margins", text)]
    alone = ask(runtime.stream(margins, question), margins).after(reply)
    return replace(
        alone, pattern=MARGINS_ALONE, quotes=reply.quotes, ranking=reply.ranking, confidence=reply.confidence
    )


def _complete(runtime: Runtime, prompt: str, pattern: str) -> Reply:
    """Returns the reply to a whole prompt, sent as one chat turn; a base model gets plain text and more stop texts."""
    is_chat = runtime.open().info.chat_template is not None
    finished = None
    with runtime.with_changes(stop=(*runtime.settings.stop, *(() if is_chat else _BASE_STOPS))) as other:
        for event in other.complete([("user", prompt)] if is_chat else prompt):
            finished = event
    assert isinstance(finished, events.CompletionFinished)
    if finished.finish_reason == "cancelled":
        raise KeyboardInterrupt
    return Reply(
        text=finished.text.strip(), pattern=pattern, finish_reason=finished.finish_reason,
        seconds=finished.seconds["total"], prefilled_tokens=finished.prompt_tokens,
        decoded_tokens=finished.completion_tokens, peak_rss_bytes=peak_rss_bytes(),
    )  # fmt: skip
