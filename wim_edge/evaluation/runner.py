"""Asks every example with every pattern and writes down what came of it.

Example by example, all patterns of one before the next: a machine that grows slower, or warmer, slows all
patterns alike. Each asking has a cache of its own, opened and closed outside of the time that counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from wim_edge.cluster import Cluster, place, same, threads
from wim_edge.documents import Document
from wim_edge.documents.rows import fingerprint
from wim_edge.errors import ContextOverflowError, DocumentError, InvalidRequestError, WimEdgeError
from wim_edge.evaluation.example import Example
from wim_edge.evaluation.patterns import Pattern
from wim_edge.evaluation.store import Record, Store
from wim_edge.evaluation.tasks import GENERATED, Options, Task, task_named
from wim_edge.journal import described
from wim_edge.loaded import Identity, check_same, identify, settled
from wim_edge.runtime import Runtime
from wim_edge.settings import Settings
from wim_edge.wim import events
from wim_edge.wim.pattern import Choices
from wim_edge.worker import Worker

Job = tuple[Example, Pattern]
_ANYWHERE = ("model", "seed", "save", "library_bytes")


class Watcher(Protocol):
    """Is told how a run goes on."""

    def begin(self, kept: Sequence[Record], total: int) -> None:
        """Before the first question: the records that are there, and how many there will be."""

    def add(self, record: Record) -> None:
        """A question was asked, or failed."""


def evaluate(
    runtime: Runtime,
    task_name: str,
    examples: Sequence[Example],
    patterns: Sequence[Pattern],
    out_dir: Path,
    *,
    options: Options | None = None,
    watcher: Watcher | None = None,
    cluster: Cluster | None = None,
) -> list[Record]:
    """Ask what is not yet in ``out_dir``, here or on a cluster; the records of the whole run, old and new.

    An example that fails is a record with its error, and asked again next time. Raises InvalidRequestError,
    before anything is asked, if the folder holds another run or a pattern cannot be asked; KeyboardInterrupt
    leaves the folder whole.
    """
    task = task_named(task_name)
    _check(runtime, examples, patterns)
    jobs = plan(examples, patterns)
    with Store(out_dir, _identity(runtime, task, options or Options(), patterns)) as store:
        kept = [record for record in store.rows if not record.error]
        done = {record.key for record in kept}
        if watcher:
            watcher.begin(kept, len(done | {(pattern.label, example.id) for example, pattern in jobs}))
        left = [(example, pattern) for example, pattern in jobs if (pattern.label, example.id) not in done]
        with closing(_asked(runtime, task, left, cluster)) as found:
            for record in found:
                if record.key in done:  # a machine that was lost may have told before it was
                    continue
                done |= set() if record.error else {record.key}
                store.add(record)
                if watcher:
                    watcher.add(record)
        return store.rows


def _asked(
    runtime: Runtime, task: Task, jobs: Sequence[Job], cluster: Cluster | None
) -> Generator[Record, None, None]:
    """Job by job; on a cluster all of an example on one machine."""
    if cluster is None:
        yield from (ask(partial(_asking, runtime, pattern), task, example, pattern) for example, pattern in jobs)
        return
    of_one = [list(found) for _, found in itertools.groupby(jobs, key=lambda job: job[0].id)]
    settings = settled(runtime.settings)
    runtime.close()  # its memory is an actor's
    actor = partial(_Actor, settings, task.name, identify(settings))
    yield from cluster.run(of_one, same, actor)


class _Actor:
    """Asks on one machine of a cluster."""

    def __init__(self, settings: Settings, task_name: str, model: Identity) -> None:
        check_same(model, settings, place())
        self.settings, self.task = settings.but(n_threads=threads(settings)), task_named(task_name)
        self.worker = Worker(**self.settings.given())

    def __call__(self, jobs: Sequence[Job]) -> Iterator[Record]:
        return (ask(partial(self._asking, pattern), self.task, example, pattern) for example, pattern in jobs)

    @contextmanager
    def _asking(self, pattern: Pattern) -> Iterator[Asker]:
        yield _InWorker(self.worker, self.settings.but(**pattern.settings, save=False))


@dataclass(frozen=True)
class _InWorker:
    worker: Worker
    settings: Settings

    def stream(self, documents: Sequence[Document], question: str) -> Iterator[events.Event]:
        return self.worker.stream(documents, question, settings=self.settings.given())


def plan(examples: Iterable[Example], patterns: Sequence[Pattern]) -> list[Job]:
    """What to ask, in order. A control is asked once a question, for its first example."""
    jobs: list[Job] = []
    groups: set[str] = set()
    for example in examples:
        jobs += [(example, pattern) for pattern in patterns if not (pattern.control and example.group in groups)]
        groups.add(example.group)
    return jobs


class Asker(Protocol):
    """What answers with these settings: a runtime, or one in a process of its own."""

    @property
    def settings(self) -> Settings: ...

    def stream(self, documents: Sequence[Document], question: str) -> Iterator[events.Event]: ...


def ask(
    opened: Callable[[], AbstractContextManager[Asker]], task: Task, example: Example, pattern: Pattern
) -> Record:
    """Ask one example with one pattern. One without right answers is not asked: its facts alone count."""
    found, error = _Observed(), None
    if example.answers:
        try:
            with opened() as asked:
                _observe(asked, pattern.documents(example), example.question, found)
        except WimEdgeError as failed:
            found, error = _Observed(), f"{type(failed).__name__}: {failed}"
    finished = found.finished
    scores = task.score(example, finished.text if finished else "") if example.answers else {}
    if "recall" in example.facts and not pattern.control:
        scores = {**scores, "recall": example.facts["recall"]}
    return Record(
        id=example.id,
        group=example.group,
        pattern=pattern.label,
        resolved_pattern=found.pattern,
        x=None if pattern.control else example.x,
        question=example.question,
        answers=example.answers,
        answer=finished.text if finished else None,
        finish_reason=finished.finish_reason if finished else None,
        error=error,
        scores=scores,
        gold_rank=None if pattern.control else _gold_rank(example, found.ranking),
        margins_located=found.located,
        seconds=found.seconds,
        prefilled_tokens=finished.usage.prefilled_tokens if finished else None,
        decoded_tokens=finished.usage.decoded_tokens if finished else None,
        peak_rss_bytes=finished.usage.peak_rss_bytes if finished else None,
        facts=example.facts,
    )


def _asking(runtime: Runtime, pattern: Pattern) -> Runtime:
    """A runtime of the pattern, which reads everything as if for the first time."""
    return runtime.but(**pattern.settings, save=False)


@dataclass
class _Observed:
    """What the events of one reading told."""

    finished: events.AnswerFinished | None = None
    relevance: str | None = None
    ranking: Sequence[Any] | None = None
    seconds: float | None = None
    located: tuple[int, int] | None = None

    @property
    def pattern(self) -> str | None:
        """The pattern that was used, with its relevance."""
        if self.finished is None:
            return None
        return f"{self.finished.pattern}:{self.relevance}" if self.relevance else self.finished.pattern


def _observe(asker: Asker, documents: Sequence[Document], question: str, found: _Observed) -> None:
    """Ask, and note what the events tell. The seconds are its own, less those of loading."""
    margins: list[Any] = []
    with closing(asker.stream(documents, question)) as stream:  # type: ignore[type-var]
        for event in stream:
            if event.type == "reading.started":
                found.relevance = getattr(event, "relevance", None)
            elif event.type == "reading.ranked":
                found.ranking = event.ranking  # type: ignore[attr-defined]
            elif event.type == "margin.judged":
                margins.append(event)
            elif isinstance(event, events.AnswerFinished):
                found.finished = event
    assert found.finished is not None
    seconds = found.finished.usage.seconds
    found.seconds = seconds["total"] - seconds.get("load", 0.0)
    if found.finished.finish_reason == "cancelled":
        raise KeyboardInterrupt
    found.located = _located(margins, {document.name: document.text for document in documents}, asker.settings)


def _located(margins: Iterable[Any], texts: dict[str, str], settings: Settings) -> tuple[int, int] | None:
    """(quoted margins that stand in the document where they say, all quoted ones); None without any.

    A margin that should be a quotation and names no place counts as not found.
    """
    verbatim = Choices.of(settings).verbatim
    quoted = [m for m in margins if m.text and (m.quote is not None or verbatim)]
    right = sum(m.quote is not None and _stands(m, texts[m.document]) for m in quoted)
    return (right, len(quoted)) if quoted else None


def _stands(margin: Any, text: str) -> bool:
    (start, end), (first, last) = margin.quote, margin.chars
    return bool(first <= start < end <= last and text[start:end] == margin.text)


def _gold_rank(example: Example, ranking: Sequence[Any] | None) -> int | None:
    if ranking is None or not example.gold:
        return None
    gold = {example.documents[index].name for index in example.gold}
    start, end = example.gold_chars or (0, float("inf"))
    places = enumerate(ranking, 1)
    return next((n for n, r in places if r.document in gold and r.chars[0] < end and r.chars[1] > start), 0)


def _check(runtime: Runtime, examples: Sequence[Example], patterns: Sequence[Pattern]) -> None:
    """Raise now what every single example would raise: the first one is begun with each pattern."""
    first = [example for example in examples if example.answers][:1]
    for example, pattern in plan(first, patterns):
        with _asking(runtime, pattern) as asked, suppress(ContextOverflowError, DocumentError):
            asked.stream(pattern.documents(example), example.question).close()  # type: ignore[attr-defined]
    without = [example for example in examples if not example.gold]
    if without and any(pattern.name == "oracle" for pattern in patterns):
        raise InvalidRequestError(
            f"{len(without)} of {len(examples)} examples have no gold document for the pattern oracle",
            "Leave oracle away.",
        )


def _identity(runtime: Runtime, task: Task, options: Options, patterns: Sequence[Pattern]) -> dict[str, Any]:
    """What makes two runs the same one."""
    model = runtime.open()
    return {
        "task": task.name,
        "model": model.info.name,
        "model_file": model.fingerprint,
        "data": fingerprint(options.data),
        "library": fingerprint(options.library),
        "limit": options.limit if options.data or options.limit else GENERATED,
        "documents": options.documents,
        "positions": options.positions,
        "length": options.length,
        "seed": options.seed,
        "patterns": [pattern.label for pattern in patterns],
        "settings": described(runtime.settings, _ANYWHERE),
    }
