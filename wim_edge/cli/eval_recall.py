"""`wim-edge eval recall`: measures how well retrievers find the pages of a library that answer."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.engine.protocols import Model
    from wim_edge.evaluation.split import Part
    from wim_edge.settings import Settings


@dataclass(frozen=True)
class RecallRequest:
    """The options of `wim-edge eval recall`."""

    retrievers: str
    data: Path | None
    library: Path | None
    part: Part | None
    limit: int | None
    size: int | None
    prefix: int
    titles: int
    out: Path | None
    report: bool


def run(request: RecallRequest, settings: Settings, command: str) -> tuple[dict[str, Any], bool]:
    """Asks, and sums up; returns the summary, and whether Ctrl-C stopped the run."""
    from wim_edge.cli.progress import Scores, progress
    from wim_edge.evaluation import recall
    from wim_edge.evaluation.queries import load_queries
    from wim_edge.evaluation.records import RecordStore, read_records
    from wim_edge.evaluation.report import write_recall_report
    from wim_edge.evaluation.split import take_part
    from wim_edge.library.ingest import rows_of
    from wim_edge.library.library import Library
    from wim_edge.reading.chat import chat_format
    from wim_edge.reading.prompts import Prompts
    from wim_edge.recall.index import load_or_build_index
    from wim_edge.runtime import Runtime
    from wim_edge.settings import Paths
    from wim_edge.system.atomic_files import write_json

    if request.data is None or request.library is None:
        raise InvalidRequestError("recall needs queries and passages", "Add --data FILE and --library FILE.")
    rows = take_part(load_queries(request.data), request.part or "all", key=lambda row: row.question)
    retrievers, queries = recall.parse_retrievers(request.retrievers), rows[: request.limit]
    limits, stopped = recall.SearchLimits(request.prefix, request.titles), False
    with ExitStack() as stack:
        runtime = stack.enter_context(Runtime(settings))
        model = runtime.open()
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wim-edge-eval-")))
        folder = request.out or made / "run"
        identity = _identity(request, settings, model) | {"patterns": retrievers, "widths": asdict(limits)}
        passages = recall.of_size(rows_of(request.library), queries, request.size, settings.seed)
        if request.size is not None:  # which ones depends on the queries and the seed
            titles = "\n".join(title for title, _ in passages)
            identity["passages"] = hashlib.sha256(titles.encode("utf-8", "replace")).hexdigest()[:16]
        with RecordStore(folder, identity) as store:
            library = Library("passages", Paths(made, made, made, made), create=True)
            library.put(str(request.library), 0, 0, passages)
            held = {title for title, _ in passages}
            if missing := sum(not held.issuperset(query.titles) for query in queries):
                click.echo(f"warning: of {missing} of {len(queries)} queries the library lacks a gold title", err=True)
            bar = click.progressbar(length=len(library), label=f"indexing for {model.info.name}", file=sys.stderr)
            with bar:
                index = load_or_build_index(library, model, lambda done, _of: bar.update(done - bar.pos))
            chat, _ = chat_format(model)
            prompts = Prompts(settings.templates, chat=chat.is_chat)
            comparison = recall.RetrieverComparison(model, chat, prompts, library, index, limits)
            stack.enter_context(closing(comparison))
            try:
                with progress(Scores("recall_at_1")) as watcher:
                    recall.evaluate(comparison, library, queries, retrievers, store, watcher)
            except KeyboardInterrupt:
                stopped = True
        summary = recall.summarize(model.info.name, command, read_records(folder), retrievers)
        summary |= {"documents": len(library), "index_bytes": index.nbytes}
        if request.out is not None:
            write_json(folder / "summary.json", summary)
        if request.report:
            click.echo(f"report: {write_recall_report(folder, summary, recall.table_of(summary))}", err=True)
    return summary, stopped


def _identity(request: RecallRequest, settings: Settings, model: Model) -> dict[str, Any]:
    """Returns the facts that must be the same for a stopped run to go on."""
    from wim_edge.documents.data_files import fingerprint
    from wim_edge.system.journal import templates_digest

    return {
        "task": "recall", "model": model.info.name, "model_file": model.fingerprint, "limit": request.limit,
        "data": fingerprint(request.data), "library": fingerprint(request.library), "size": request.size,
        "part": request.part or "all", "templates": templates_digest(settings.templates) if settings.templates else "",
    }  # fmt: skip


def show(summary: dict[str, Any], as_json: bool) -> None:
    """Prints the summary as JSON, or as a table."""
    if as_json:
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from wim_edge.evaluation.recall import table_of

    head, *rows = table_of(summary)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), caption="shares in percent")
    for heading in head:
        table.add_column(heading, justify="left" if heading == "retriever" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table, markup=False)
    for found in summary["retrievers"]:
        if found["errors"]:
            many, first = len(found["errors"]), found["errors"][0]
            click.echo(f"warning: {found['retriever']} failed on {many} of {found['n']}, which count as not found; "
                       f"the first, query {first['id']}: {first['error']}", err=True)  # fmt: skip
