"""A batch from its questions to its results: what is not answered yet is asked, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from wim_edge.batch.answerer import Loaded, answers, load
from wim_edge.batch.questions import Group, Question, grouped
from wim_edge.batch.result import Result, parse, write_parquet
from wim_edge.catalog import resolve
from wim_edge.cluster import Cluster, place
from wim_edge.journal import Journal, described
from wim_edge.loaded import Identity, check_same
from wim_edge.settings import Limits, Paths, Settings
from wim_edge.worker import Worker

RESULTS, PARQUET = "results.jsonl", "results.parquet"
_ANYWHERE = ("model", "save", "readings", "library_bytes", "n_threads", "n_gpu_layers", "rpc", "n_batch",
             *Limits.__dataclass_fields__)  # fmt: skip
"""Settings that make no other answers: a run may go on with others."""

Executor = Callable[[Sequence[Group]], Iterator[Result]]


class Watcher(Protocol):
    """Is told how a batch goes on."""

    def begin(self, kept: Sequence[Result], total: int) -> None: ...

    def add(self, row: Result) -> None: ...


def run(
    questions: Sequence[Question], settings: Settings, model: Identity, folder: Path, execute: Executor, *,
    parquet: bool = False, watcher: Watcher | None = None,
) -> tuple[list[Result], bool]:  # fmt: skip
    """Ask what is not yet in ``folder``; the results of these questions, and whether Ctrl-C stopped it.

    A question that fails is a row with its error, and asked again next time. When all are asked, or it is stopped,
    the rows stand in the order of the questions. Raises InvalidRequestError, before anything is asked, if the folder
    holds another batch, and ModelError, CapacityError, EngineError where nothing can be asked.
    """
    keys = [question.key for question in questions]
    identity = {"model": model.name, "model_file": model.fingerprint, "settings": described(settings, _ANYWHERE)}
    with Journal(folder, RESULTS, parse, identity, lambda *_: False) as journal:
        done = {row.key: row for row in journal.rows if row.error is None}
        kept = [done[key] for key in keys if key in done]
        if watcher:
            watcher.begin(kept, len(questions))
        stopped, left = False, grouped(question for question in questions if question.key not in done)
        try:
            for row in execute(left) if left else ():
                if row.key not in done:  # a machine that was lost may have told before it was
                    journal.add(row)
                    if row.error is None:
                        done[row.key] = row
                    if watcher:
                        watcher.add(row)
        except KeyboardInterrupt:
            stopped = True
        finally:
            journal.put_in_order(keys)
        found = {row.key: row for row in journal.rows}
        results = [found[key] for key in keys if key in found]
        if parquet:
            write_parquet(folder / PARQUET, results)
    return results, stopped


def settled(settings: Settings) -> Settings:
    """With the model by name or path: which is best may differ from machine to machine. Raises ModelError."""
    found = resolve(settings.model, Paths.from_environment())
    return settings.but(model=found.name if found.entry else str(found.path.absolute()))


def here(settings: Settings) -> Executor:
    """One document after the other, in a process of this machine."""

    def execute(groups: Sequence[Group]) -> Iterator[Result]:
        with Worker(**settings.given()) as worker:
            for group in groups:
                yield from answers(worker, load(group, settings), settings, "local")

    return execute


def spread(
    settings: Settings, model: Identity, cluster: Cluster, told: Callable[[str], None] = lambda _: None
) -> Executor:
    """On the machines of a cluster, each document where one of them is free."""

    def execute(groups: Sequence[Group]) -> Iterator[Result]:
        read = partial(load, limits=settings)
        return cluster.run(groups, read, partial(_Actor, settings, model), told)

    return execute


class _Actor:
    """Answers on one machine of a cluster."""

    def __init__(self, settings: Settings, model: Identity) -> None:
        check_same(model, settings, place())
        self.settings, self.worker = settings, Worker(**settings.given())

    def __call__(self, given: Loaded) -> Iterable[Result]:
        return answers(self.worker, given, self.settings, place())
