"""Asks every example under every condition, and records the results.

An example is asked under all conditions before the next example. So a machine that becomes slower slows all conditions
alike. Each question has a new KV cache. The measured time does not include opening and closing the cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from wim_edge.batch.ray_cluster import Cluster, place, threads
from wim_edge.errors import ContextOverflowError, DocumentError, InvalidRequestError, WimEdgeError
from wim_edge.evaluation.baselines import require_embedder
from wim_edge.evaluation.conditions import EMBED, MARGINS_ALONE, SOURCE, Condition, ConditionAsker
from wim_edge.evaluation.example import Example
from wim_edge.evaluation.records import Record, RecordStore, Reply, ask, fingerprint, read_records
from wim_edge.evaluation.report import write_report
from wim_edge.evaluation.summary import summarize
from wim_edge.evaluation.tasks import GENERATED, Task, TaskOptions, task_named
from wim_edge.evaluation.tasks.documents import data_files
from wim_edge.loaded_models import Identity, check_same, model_identity, portable_settings
from wim_edge.runtime import Runtime
from wim_edge.settings import Settings
from wim_edge.system.atomic_files import write_json
from wim_edge.system.journal import Watcher, settings_identity
from wim_edge.worker import Worker

Job = tuple[Example, Condition]


_ANYWHERE = ("model", "seed", "save", "readings_bytes")


def run_task(
    task: Task, patterns: Sequence[Condition], options: TaskOptions, settings: Settings, folder: Path, command: str,
    watcher: Watcher[Record], *, report: bool, cluster: Cluster | None,
) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Asks the examples that have no answer in ``folder`` yet. Returns (summary, True if Ctrl-C stopped the run)."""
    with Runtime(settings) as runtime:
        model = runtime.open()
        examples = task.examples(options, lambda text: len(model.tokenize(text)))
        stopped = evaluate(runtime, task, examples, patterns, folder, options, watcher, cluster)
    records = read_records(folder)
    summary = summarize(task, model.info.name, command, records, [pattern.label for pattern in patterns])
    write_json(folder / "summary.json", summary)
    if report:
        click.echo(f"report: {write_report(folder, summary, records)}", err=True)
    return summary, stopped


def evaluate(
    runtime: Runtime, task: Task, examples: Sequence[Example], conditions: Sequence[Condition], out_dir: Path,
    options: TaskOptions, watcher: Watcher[Record] = lambda rows, total: None, cluster: Cluster | None = None,
) -> bool:  # fmt: skip
    """Asks all examples without a record in ``out_dir``, on this machine or a cluster. Returns True if Ctrl-C stopped
    it, but before the first question Ctrl-C raises KeyboardInterrupt.

    A failed example gets a record with its error; a continued run asks it again. Raises InvalidRequestError before the
    first question if the folder contains another run, or if a condition cannot be asked.
    """
    runtime.open()  # its settings are then those of the model
    jobs = plan(task, examples, conditions, runtime.settings)
    _check(runtime, task, examples, conditions, cluster)
    with RecordStore(out_dir, _identity(runtime, task, options, conditions)) as store:
        keyed = {(condition.label, example.id): (example, condition) for example, condition in jobs}
        return store.run(keyed, partial(_ask_all, runtime, task, cluster), watcher)


def plan(task: Task, examples: Iterable[Example], conditions: Sequence[Condition], settings: Settings) -> list[Job]:
    """Returns (example, condition) pairs in the order of asking. If the swept value cannot change a condition's
    answers, the condition gets only the first example of each question."""
    once = {c.label for c in conditions if c.is_control or (task.reorders and c.ignores_order(settings))}
    jobs: list[Job] = []
    groups: set[str] = set()
    for example in examples:
        jobs += [(example, one) for one in conditions if not (one.label in once and example.group in groups)]
        groups.add(example.group)
    return jobs


def _ask_all(
    runtime: Runtime, task: Task, cluster: Cluster | None, jobs: Sequence[Job]
) -> Generator[Record, None, None]:
    """Yields a record for each job. On a cluster, one machine gets all jobs of an example, or of consecutive examples
    that share their documents."""
    if cluster is None:
        seen: set[tuple[str, str | None]] = set()
        with ConditionAsker(runtime, task) as asker:
            for example, condition in jobs:
                key = (condition.label, example.shelf)
                is_first = None if example.shelf is None else key not in seen
                seen.add(key)
                yield _record(task, example, condition, runtime.settings, is_first, partial(asker.ask, condition))
        return
    of_one = [list(found) for _, found in itertools.groupby(jobs, key=lambda job: job[0].shelf or job[0].id)]
    settings = portable_settings(runtime.settings)
    runtime.close()  # an actor needs the model's memory
    actor = partial(_Actor, settings, task.name, model_identity(settings))
    yield from cluster.run(of_one, list, actor)  # nothing is to be loaded; a lambda could not be sent to an actor


class _Actor:
    """Asks the jobs that a cluster gives to one machine. The model runs in a worker process there."""

    def __init__(self, settings: Settings, task_name: str, model: Identity) -> None:
        check_same(model, settings, place())
        self.settings, self.task = settings.with_changes(n_threads=threads(settings)), task_named(task_name)
        self.worker = Worker(**self.settings.to_dict())

    def __call__(self, jobs: Sequence[Job]) -> Iterator[Record]:
        return (
            _record(self.task, example, condition, self.settings, None, partial(self._ask, condition))
            for example, condition in jobs
        )

    def _ask(self, condition: Condition, example: Example) -> Reply:
        settings = self.settings.with_changes(**condition.changes, save=False)
        documents = condition.documents(example)
        return ask(self.worker.stream(documents, example.question, settings=settings.to_dict()), documents)


def _record(
    task: Task, example: Example, condition: Condition, settings: Settings, is_first: bool | None,
    ask: Callable[[Example], Reply],
) -> Record:  # fmt: skip
    """Returns the record of an example under a condition. Does not call ``ask`` unless the example `is_asked`."""
    reply, error = None, None
    if example.is_asked:
        try:
            reply = ask(example)
        except WimEdgeError as failed:
            error = f"{type(failed).__name__}: {failed}"
    scores = task.score(example, reply) if example.is_asked else {}
    if "recall" in example.facts and not condition.is_control:
        scores = {**scores, "recall": example.facts["recall"]}
    sweeps = not (condition.is_control or (task.reorders and condition.ignores_order(settings)))
    return Record(
        id=example.id,
        group=example.group,
        pattern=condition.label,
        x=example.x if sweeps else None,
        question=example.question,
        answers=example.answers,
        error=error,
        scores=scores,
        unanswerable=example.unanswerable,
        gold_rank=None if condition.is_control or reply is None else _gold_rank(example, reply),
        is_first=is_first,
        facts=example.facts,
        **(reply.outcome() if reply else {}),
    )


def _gold_rank(example: Example, reply: Reply) -> int | None:
    if reply.ranking is None or not example.gold:
        return None
    gold = {example.documents[index].name for index in example.gold}
    start, end = example.gold_chars or (0, float("inf"))
    places = enumerate(reply.ranking, 1)
    return next((n for n, (name, chars) in places if name in gold and chars[0] < end and chars[1] > start), 0)


def _check(
    runtime: Runtime, task: Task, examples: Sequence[Example], conditions: Sequence[Condition], cluster: Cluster | None
) -> None:
    """Begins to ask the first example under each condition, so that errors of all examples are raised at once."""
    for condition in conditions:
        if condition.name == EMBED:
            require_embedder()
        if cluster is not None and condition.name in (EMBED, SOURCE, MARGINS_ALONE):
            raise InvalidRequestError(f"{condition.label} is asked on this machine alone", "Leave --ray away.")
    first = [example for example in examples if example.is_asked][:1]
    for example, condition in plan(task, first, conditions, runtime.settings):
        changed = runtime.with_changes(**condition.changes, save=False)
        with changed as asked, suppress(ContextOverflowError, DocumentError):
            asked.stream(condition.documents(example), example.question).close()  # type: ignore[attr-defined]
    without = [example for example in examples if not example.gold]
    if without and any(condition.name == "oracle" for condition in conditions):
        raise InvalidRequestError(
            f"{len(without)} of {len(examples)} examples have no gold document for the pattern oracle",
            "Leave oracle away.",
        )


def _identity(runtime: Runtime, task: Task, options: TaskOptions, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Returns the values that a continued run must have in common with the stopped one (but see `RecordStore`)."""
    model = runtime.open()
    return {
        "task": task.name,
        "model": model.info.name,
        "model_file": model.fingerprint,
        "data": fingerprint(options.data, data_files(options.data) if options.data and options.data.is_dir() else ()),
        "library": fingerprint(options.library),
        "part": options.part or "all",
        "limit": options.limit if options.data or options.limit else GENERATED,
        "documents": options.documents,
        "positions": options.positions,
        "order": options.order,
        "length": options.length,
        "seed": options.seed,
        "patterns": [condition.label for condition in conditions],
        "settings": settings_identity(runtime.settings, _ANYWHERE),
    }
