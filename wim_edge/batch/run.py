"""A batch from its questions to its results: questions not answered yet are asked, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from wim_edge.batch.ask import FetchedDocument, answers, fetch
from wim_edge.batch.questions import BatchQuestion, DocumentGroup, grouped
from wim_edge.batch.ray_cluster import Cluster, place, threads
from wim_edge.batch.result import Result, write_parquet
from wim_edge.errors import EngineError
from wim_edge.library.temporary import kept_meanwhile, sweep
from wim_edge.loaded_models import Identity, check_same
from wim_edge.settings import Limits, Settings
from wim_edge.system.journal import Journal, Watcher, settings_identity
from wim_edge.worker import Worker

RESULTS, PARQUET = "results.jsonl", "results.parquet"
_ALIKE = 5  # documents after which nothing else is expected
_OF_ALL = ("EngineError", "MemoryBudgetError")  # and no fault of a question or a document
_ANYWHERE = ("model", "save", "readings", "readings_bytes", "n_threads", "n_gpu_layers", "rpc", "n_batch",
             *Limits.__dataclass_fields__)  # fmt: skip
"""Settings that do not change the answers: a run may go on with others."""

Executor = Callable[[Sequence[DocumentGroup]], Generator[Result, None, None]]


def run(
    questions: Sequence[BatchQuestion], settings: Settings, model: Identity, folder: Path, execute: Executor, *,
    parquet: bool = False, watcher: Watcher[Result] | None = None,
) -> tuple[list[Result], bool]:  # fmt: skip
    """Asks what is not yet in ``folder``; returns the results of these questions, and whether Ctrl-C stopped the run.

    A question that fails is a row with its error, and asked again next time. When all are asked, or the run is stopped,
    the rows stand in the order of the questions. Raises InvalidRequestError, before anything is asked, if the folder
    holds another batch, and ModelError, EngineError where nothing can be asked.
    """
    identity = {
        "model": model.name, "model_file": model.fingerprint, "scores_file": model.scores,
        "documents": str(questions[0].folder), "settings": settings_identity(settings, _ANYWHERE),
    }  # fmt: skip
    asked = {question.key: question for question in questions}
    with Journal(folder, RESULTS, Result, identity, lambda *_: False) as journal:
        failed = {row.key for row in journal.rows if row.error is not None}

        def work(left: list[BatchQuestion]) -> Generator[Result, None, None]:
            left.sort(key=lambda question: question.key in failed)  # which come last: they may fail again
            with closing(execute(grouped(left))) as found:  # whatever ends it here ends the workers too
                yield from _while_not_all_fail(found)

        stopped = False
        try:
            journal.run(asked, work, watcher)
        except KeyboardInterrupt:
            stopped = True
        finally:
            results = _in_order(journal, questions)
        if parquet:
            write_parquet(folder / PARQUET, results)
    return results, stopped


def _while_not_all_fail(found: Iterable[Result]) -> Iterator[Result]:
    """Yields the results. Raises EngineError where documents in a row fail alike, for no fault of theirs."""
    last: str | None = None
    alike: set[str] = set()
    for row in found:
        yield row
        alike = alike | {row.document} if row.error == last else {row.document}
        last = row.error
        if last is not None and len(alike) == _ALIKE and last.startswith(_OF_ALL):
            raise EngineError(f"{_ALIKE} documents in a row failed alike: {last}", "The same command goes on.")


def _in_order(journal: Journal[Result], questions: Sequence[BatchQuestion]) -> list[Result]:
    """Returns the results of the questions, each with its id; the file has them first, in this order."""
    found = {row.key: row for row in journal.rows}
    results = [replace(found[one.key], id=one.id) for one in questions if one.key in found]
    keys = {one.key for one in questions}
    journal.write([*results, *(row for row in journal.rows if row.key not in keys)])
    return results


def run_local(settings: Settings, check: Callable[[], None] = lambda: None) -> Executor:
    """Returns an executor for one document after the other, in a process of this machine. ``check``: called where that
    process ended; it may raise an error that concerns all."""

    def execute(groups: Sequence[DocumentGroup]) -> Generator[Result, None, None]:
        with kept_meanwhile(settings) as used, Worker(**used.to_dict()) as worker:
            for group in groups:
                for result in answers(worker, fetch(group, settings), settings, "local"):
                    if result.error is not None and not worker.running:
                        check()
                    yield result

    return execute


def run_on_cluster(
    settings: Settings, model: Identity, cluster: Cluster, told: Callable[[str], None] = lambda _: None
) -> Executor:
    """Returns an executor for the machines of a cluster, each document where one of them is free."""

    def execute(groups: Sequence[DocumentGroup]) -> Generator[Result, None, None]:
        try:
            yield from cluster.run(groups, partial(fetch, limits=settings), partial(_BatchActor, settings, model), told)
        finally:
            sweep()  # an actor that Ray kills cannot

    return execute


class _BatchActor:
    """Answers on one machine of a cluster."""

    def __init__(self, settings: Settings, model: Identity) -> None:
        check_same(model, settings, place())
        self.settings, self._open = settings, ExitStack()
        used = self._open.enter_context(kept_meanwhile(settings.with_changes(n_threads=threads(settings))))
        self.worker = self._open.enter_context(Worker(**used.to_dict()))

    def __call__(self, given: FetchedDocument) -> Iterable[Result]:
        return answers(self.worker, given, self.settings, place())
