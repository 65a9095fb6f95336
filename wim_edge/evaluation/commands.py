"""The runs of `wim-edge eval`: `run_task` asks a task's examples, `run_recall` compares retrievers."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from wim_edge.batch.ray_cluster import Cluster
from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation import recall
from wim_edge.evaluation.conditions import Condition
from wim_edge.evaluation.example import load_queries, take_part
from wim_edge.evaluation.records import Record, RecordStore, fingerprint, read_records
from wim_edge.evaluation.report import write_recall_report, write_report
from wim_edge.evaluation.runner import StoppedRun, evaluate
from wim_edge.evaluation.summary import summarize
from wim_edge.evaluation.tasks import Task, TaskOptions
from wim_edge.library.ingest import documents_in
from wim_edge.library.library import Library
from wim_edge.reading.chat import chat_format
from wim_edge.reading.prompts import Prompts
from wim_edge.recall.index import load_or_build_index
from wim_edge.runtime import Runtime
from wim_edge.settings import Paths, Settings
from wim_edge.system.atomic_files import write_json
from wim_edge.system.journal import Watcher, templates_digest


def run_task(
    task: Task, patterns: Sequence[Condition], options: TaskOptions, settings: Settings, folder: Path, command: str,
    watcher: Watcher[Record], *, report: bool, cluster: Cluster | None,
) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Asks the examples that have no answer in ``folder`` yet. Returns (summary, True if Ctrl-C stopped the run)."""
    stopped = False
    with Runtime(settings) as runtime:
        model = runtime.open()
        examples = task.examples(options, lambda text: len(model.tokenize(text)))
        try:
            evaluate(runtime, task.name, examples, patterns, folder, options=options, watcher=watcher, cluster=cluster)
        except StoppedRun:
            stopped = True
    records = read_records(folder)
    summary = summarize(task, model.info.name, command, records, [pattern.label for pattern in patterns])
    write_json(folder / "summary.json", summary)
    if report:
        click.echo(f"report: {write_report(folder, summary, records)}", err=True)
    return summary, stopped


def run_recall(
    retrievers: Sequence[str], options: TaskOptions, size: int | None, limits: recall.SearchLimits, settings: Settings,
    folder: Path, command: str, watcher: Watcher[Record], on_index: Callable[[int, int], None], *, report: bool,
) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Compares retrievers. Returns (summary, True if Ctrl-C stopped the run). ``size``: the number of passages in the
    library; None: all. ``on_index`` is called with (number of indexed passages, number of all passages)."""
    if options.data is None or options.library is None:
        raise InvalidRequestError("recall needs queries and passages", "Add --data FILE and --library FILE.")
    queries = take_part(load_queries(options.data), options.part or "all", key=lambda row: row.question)
    queries, stopped = queries[: options.limit], False
    with ExitStack() as stack:
        runtime = stack.enter_context(Runtime(settings))
        model = runtime.open()
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wim-edge-eval-")))
        identity = {  # the facts that must be the same for a stopped run to continue
            "task": "recall", "model": model.info.name, "model_file": model.fingerprint, "limit": options.limit,
            "data": fingerprint(options.data), "library": fingerprint(options.library), "size": size,
            "part": options.part or "all",
            "templates": templates_digest(settings.templates) if settings.templates else "",
            "patterns": retrievers, "widths": asdict(limits),
        }  # fmt: skip
        passages = recall.of_size(documents_in(options.library)[0], queries, size, settings.seed)
        if size is not None:  # the choice depends on the queries and the seed
            titles = "\n".join(title for title, _ in passages)
            identity["passages"] = hashlib.sha256(titles.encode("utf-8", "replace")).hexdigest()[:16]
        store = stack.enter_context(RecordStore(folder, identity))
        library = Library("passages", Paths(made, made, made, made), create=True)
        library.put(str(options.library), passages)
        held = {title for title, _ in passages}
        if missing := sum(not held.issuperset(query.titles) for query in queries):
            click.echo(f"warning: the library lacks a gold title of {missing} of {len(queries)} queries", err=True)
        index = load_or_build_index(library, model, on_index)
        chat, _ = chat_format(model)
        prompts = Prompts(settings.templates, chat=chat.is_chat)
        comparison = recall.RetrieverComparison(model, chat, prompts, library, index, limits)
        stack.enter_context(closing(comparison))
        try:
            recall.evaluate(comparison, library, queries, retrievers, store, watcher)
        except KeyboardInterrupt:
            stopped = True
        summary = recall.summarize(model.info.name, command, read_records(folder), retrievers)
        summary |= {"documents": len(library), "index_bytes": sum(one.nbytes for one in index.arrays.values())}
        write_json(folder / "summary.json", summary)
        if report:
            click.echo(f"report: {write_recall_report(folder, summary, recall.table_of(summary))}", err=True)
    return summary, stopped
