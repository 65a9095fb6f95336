"""The conditions that a run compares: the runtime's patterns, controls, and baselines.

    NAME             a pattern of `wim_edge.settings.PATTERNS`, with the model's default relevance
    NAME:RELEVANCE   the same with another relevance, for example rag:bm25
    default          what `wim-edge ask` does with this model
    margins-alone    the margins of default as the only text, without their passages
    llm:source       the whole context in the prompt of the task's own publication ("Lost in the Middle", figure 2)
    rag:embed        chunks of 1,000 characters, an embedding model, the best three, the usual prompt
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
    """One condition. ``label``: its name on the command line; ``relevance``: None for the model's default."""

    label: str
    name: str
    relevance: str | None = None

    @property
    def is_control(self) -> bool:
        """Returns True if the answer does not depend on the swept value. Each question is then asked once."""
        return self.name in CONTROLS

    @property
    def changes(self) -> dict[str, str]:
        """Returns the settings that the condition changes, by name."""
        pattern = "llm" if self.is_control or self.name == SOURCE else self.name
        named = {"pattern": pattern} if pattern in PATTERNS else {}
        return named | ({"relevance": self.relevance} if self.relevance else {})

    def ignores_order(self, settings: Settings) -> bool:
        """Returns True if the order of documents cannot change the answer, because each segment is read alone."""
        if self.name == EMBED:
            return True
        return self.is_control or not resolve(settings.with_changes(**self.changes)).pattern.deep

    def documents(self, example: Example) -> tuple[Document, ...]:
        """Returns the documents that the condition shows of an example."""
        if self.name == "closed-book":
            return ()
        if self.name == "oracle":
            return example.gold_documents
        return example.documents


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Returns the conditions named in a comma-separated list. Raises InvalidRequestError for an unknown name."""
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
    """Asks a runtime's model, with a new cache for each example. The time to open the cache does not count.

    A context manager. Readings of examples with a shelf are kept until its end, in a folder for each condition, so that
    conditions do not share readings. Readings of other examples are not kept.
    """

    runtime: Runtime
    task: Task
    _stack: ExitStack = field(default_factory=ExitStack)
    _folders: dict[str, dict[str, object]] = field(default_factory=dict)
    _chunks: dict[str, Chunks] = field(default_factory=dict)
    """The chunks of the last shelf, by the shelf's name."""

    def ask(self, condition: Condition, example: Example) -> Reply:
        """Asks an example. Raises WimEdgeError, and KeyboardInterrupt if the reading was cancelled."""
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
        """Returns a runtime with the condition's settings and the same model."""
        kept = {"save": False} if example.shelf is None else self._kept(condition)
        return self.runtime.with_changes(**condition.changes, **kept)

    def _kept(self, condition: Condition) -> dict[str, object]:
        if condition.label not in self._folders:
            settings = self._stack.enter_context(kept_meanwhile(self.runtime.settings.with_changes(save=False)))
            self._folders[condition.label] = {"save": True, "readings": settings.readings}
        return self._folders[condition.label]

    def _ask_embedded(self, runtime: Runtime, example: Example) -> Reply:
        """Asks with the chunks nearest to the question. Chunks are embedded once per shelf."""
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
    """Asks again with the reply's margins as the only document. The cost is that of both replies."""
    text = "\n\n".join(reply.quotes or ())
    if not text:
        return replace(reply, text="", pattern=MARGINS_ALONE, passages=None)
    margins = [Document("margins", text)]
    alone = ask(runtime.stream(margins, question), margins).after(reply)
    return replace(
        alone, pattern=MARGINS_ALONE, quotes=reply.quotes, ranking=reply.ranking, confidence=reply.confidence
    )


def _complete(runtime: Runtime, prompt: str, pattern: str) -> Reply:
    """Asks with a whole prompt: as one chat turn, or for a base model as text, until it begins another question."""
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
