"""Runs a batch: asks the questions that have no answer yet, on this machine or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from wim_edge.batch.ray_cluster import Cluster, place, threads
from wim_edge.batch.rows import BatchQuestion, DocumentGroup, Result, failed, grouped, observed, write_parquet
from wim_edge.documents import document_of
from wim_edge.documents.readers import bytes_of
from wim_edge.errors import DocumentError, EngineError, ModelError, WimEdgeError
from wim_edge.library.readings_db import kept_meanwhile, sweep
from wim_edge.loaded_models import Identity, check_same
from wim_edge.settings import Limits, Settings
from wim_edge.system.journal import Journal, Watcher, settings_identity
from wim_edge.worker import Worker

RESULTS, PARQUET = "results.jsonl", "results.parquet"
_MAX_ALIKE = 5
"""A batch stops after this number of documents in a row if they all fail with the same error of the machine."""
_OF_MACHINE = ("EngineError", "MemoryBudgetError")
"""The classes of errors that the machine causes, not a question or a document."""
_ANYWHERE = ("model", "save", "readings", "readings_bytes", "n_threads", "n_gpu_layers", "rpc", "n_batch",
             *Limits.__dataclass_fields__)  # fmt: skip
"""The settings that do not change the answers. A run may be continued with other values of these."""

Executor = Callable[[Sequence[DocumentGroup]], Generator[Result, None, None]]
"""A function that asks the questions of document groups: `run_local` or `run_on_cluster`, with the settings bound."""


def run(
    questions: Sequence[BatchQuestion], settings: Settings, model: Identity, folder: Path, execute: Executor, *,
    parquet: bool = False, watcher: Watcher[Result] = lambda rows, total: None,
) -> tuple[list[Result], bool]:  # fmt: skip
    """Asks the questions that have no result in ``folder`` or failed before. Returns (results in the questions' order,
    True if Ctrl-C stopped the run). Raises InvalidRequestError if the folder holds another batch, ModelError or
    EngineError if none can be asked."""
    identity = {
        "model": model.name, "model_file": model.fingerprint, "scores_file": model.scores,
        "documents": str(questions[0].folder), "settings": settings_identity(settings, _ANYWHERE),
    }  # fmt: skip
    asked = {question.key: question for question in questions}
    with Journal(folder, RESULTS, Result, identity, lambda *_: False) as journal:
        bad = {row.key for row in journal.rows if row.error is not None}

        def work(left: list[BatchQuestion]) -> Generator[Result, None, None]:
            left.sort(key=lambda question: question.key in bad)  # failed ones last: they may fail again
            with closing(execute(grouped(left))) as found:  # ends the workers too
                yield from _while_not_all_fail(found)

        try:
            stopped = journal.run(asked, work, watcher)
        finally:
            results = _in_order(journal, questions)
        if parquet:
            write_parquet(folder / PARQUET, results)
    return results, stopped


def _while_not_all_fail(found: Iterable[Result]) -> Iterator[Result]:
    """Yields the results. Raises EngineError if five documents in a row fail with the same error of the machine."""
    last: str | None = None
    alike: set[str] = set()
    for row in found:
        yield row
        alike = alike | {row.document} if row.error == last else {row.document}
        last = row.error
        if last is not None and len(alike) == _MAX_ALIKE and last.startswith(_OF_MACHINE):
            hint = "The same command continues."
            raise EngineError(f"{_MAX_ALIKE} documents in a row failed alike: {last}", hint)


def _in_order(journal: Journal[Result], questions: Sequence[BatchQuestion]) -> list[Result]:
    """Returns the results in the order of ``questions``. Writes the journal in this order, other results last."""
    found = {row.key: row for row in journal.rows}
    results = [replace(found[one.key], id=one.id) for one in questions if one.key in found]
    keys = {one.key for one in questions}
    journal.write([*results, *(row for row in journal.rows if row.key not in keys)])
    return results


def fetch(group: DocumentGroup, limits: Limits) -> DocumentGroup:
    """Returns the group with the bytes of its document's file, or with the error if the file cannot be read."""
    try:
        if os.path.exists(group.path) and not os.path.isfile(group.path):  # reading a pipe may block forever
            raise DocumentError(f"{group.path.name}: not a file", "Name a file.")
        return replace(group, data=bytes_of(group.path, limits))
    except DocumentError as error:
        return replace(group, error=error)


def answers(asker: Any, given: DocumentGroup, limits: Limits, worker: str) -> Iterator[Result]:
    """Yields each question's result from ``asker``, a `Runtime` or a `Worker`. Raises ModelError, which affects all."""
    try:
        if given.error is not None:
            raise given.error
        document = document_of(given.path, given.data, limits)
    except DocumentError as error:
        yield from (failed(question, error, worker) for question in given.questions)
        return
    for question in given.questions:
        try:
            yield observed(question, asker.stream([document], question.question), worker)
        except ModelError:
            raise
        except WimEdgeError as error:
            yield failed(question, error, worker)


def run_local(
    settings: Settings, check: Callable[[], None], groups: Sequence[DocumentGroup]
) -> Generator[Result, None, None]:
    """Asks the questions, document by document, in a child process; yields the results. ``check`` is called if the
    child process has ended; it may raise an error to stop the batch."""
    with kept_meanwhile(settings) as used, Worker(**used.to_dict()) as worker:
        for group in groups:
            for result in answers(worker, fetch(group, settings), settings, "local"):
                if result.error is not None and not worker.running:
                    check()
                yield result


def run_on_cluster(
    settings: Settings, model: Identity, cluster: Cluster, log: Callable[[str], None], groups: Sequence[DocumentGroup]
) -> Generator[Result, None, None]:
    """Asks the questions on a cluster, those of one document together on any free machine; yields the results."""
    try:
        yield from cluster.run(groups, partial(fetch, limits=settings), partial(_BatchActor, settings, model), log)
    finally:
        sweep()  # an actor that Ray kills cannot clean up


class _BatchActor:
    """An actor of the cluster, which answers the questions of a batch in a worker process."""

    def __init__(self, settings: Settings, model: Identity) -> None:
        check_same(model, settings, place())
        self.settings, self._open = settings, ExitStack()
        used = self._open.enter_context(kept_meanwhile(settings.with_changes(n_threads=threads(settings))))
        self.worker = self._open.enter_context(Worker(**used.to_dict()))

    def __call__(self, given: DocumentGroup) -> Iterable[Result]:
        return answers(self.worker, given, self.settings, place())
