"""`wim-edge eval`: asks a task's examples with several patterns and compares accuracy and cost."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from wim_edge.cli.eval_recall import RecallRequest
from wim_edge.cli.eval_recall import run as run_recall
from wim_edge.cli.eval_recall import show as show_recall
from wim_edge.cli.interrupt import EXIT_CANCELLED, exit_on_signals
from wim_edge.cli.options import (
    cluster_from,
    cluster_options,
    configure_logging,
    engine_options,
    reading_options,
    settings_from,
)
from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wim_edge.batch.ray_cluster import Cluster
    from wim_edge.evaluation.conditions import Condition
    from wim_edge.evaluation.split import Part
    from wim_edge.evaluation.tasks import Task, TaskOptions
    from wim_edge.evaluation.tasks.task import Order
    from wim_edge.settings import Settings

ANSWER_TOKENS = 100  # as in "Lost in the Middle", section 2.2
PARTS = ("all", "choose", "report")  # as in evaluation/split.py, which --help need not load
_HELP = """Ask the examples of TASK with one or more patterns; show accuracy, its interval, and cost.

\b
documents    whole documents with questions of their own
multidoc     one of K documents answers, at each position   Lost in the Middle 3
kv           the value of one of K UUID keys                Lost in the Middle 4
reader       BM25 finds k passages, the model answers       Lost in the Middle 6
hotpotqa, musique, multihoprag, squad                       at a wanted length
cwe          the ten most common words of a list            RULER
recall       retrievers find the pages of a library         KILT, MindRef
babilong     facts strewn over a book                       BABILong

Data sets are read in their public formats. Example by example, every pattern is asked before the
next; Ctrl-C stops, and with --out the same command goes on. A failed example counts as wrong.
With --ray the examples are asked on the machines of a Ray cluster.
Answers have at most 100 tokens unless --answer-tokens says otherwise; --seed orders the examples too.

\b
  wim-edge eval multidoc --data nq.jsonl.gz --positions 0,4,9 --pattern llm,rag:bm25,default,oracle
  wim-edge eval documents --data docs --pattern default,rag:bm25,rag:embed --part report --limit 100
  wim-edge eval kv --documents 75 --limit 20 --out runs/kv --report
"""
_FILE = click.Path(path_type=Path, dir_okay=False)


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Parses whole numbers with commas between them."""
    least = 0 if param.name == "positions" else 1
    try:
        numbers = tuple(int(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 1,5,10", ctx, param) from None
    if numbers and min(numbers) < least:
        raise click.BadParameter(f"{min(numbers)} is less than {least}", ctx, param)
    return numbers


def _task_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from wim_edge.evaluation.tasks import TASKS

    return [CompletionItem(name) for name in TASKS if name.startswith(incomplete)]


@click.command("eval", short_help="Measure accuracy and cost on a task.", help=_HELP)
@click.argument("task_name", metavar="TASK", shell_complete=_task_names)
@click.option("-p", "--pattern", "patterns", default="llm,default", show_default=True, metavar="P[,P...]",
              help="llm, rag, wim, wim-focus, wim-shallow, each as NAME[:RELEVANCE]; default is what `ask` does; "
                   "rag:embed: chunks and an embedding model; llm:source: the publication's own prompt; "
                   "margins-alone; oracle shows the gold documents alone, closed-book none.")
@click.option("--data", type=click.Path(path_type=Path), metavar="PATH",
              help="The task's rows, .json or .jsonl, gzip-compressed or not; of documents a folder of them.")
@click.option("--part", type=click.Choice(PARTS),
              help="Of the data: the first third, to choose settings on, or the rest, to report. Default: all.")
@click.option("--library", type=_FILE, metavar="FILE", help="Passages of {title, text} (reader, recall, multihoprag).")
@click.option("--retriever", "retrievers", default="bm25,recall,hybrid", show_default=True, metavar="C[,C...]",
              help="recall: bm25, recall, hybrid, and their variants (docs/evaluation.md).")
@click.option("--size", type=click.IntRange(min=1), metavar="N", help="recall: passages in the library. Default: all.")
@click.option("--prefix", type=click.IntRange(1, 63), default=16, show_default=True, metavar="TOKENS",
              help="recall: of a passage, decoded at most.")
@click.option("--titles", type=click.IntRange(1, 15), default=5, show_default=True, metavar="K",
              help="recall: titles whose passages are searched.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N",
              help="The first N questions; of documents N drawn evenly from them. "
                   "Default: all; 50 of what is made (kv, cwe).")
@click.option("--documents", callback=_numbers, metavar="K[,K...]",
              help="Documents in the context; several for reader. Default: 10; kv 75; reader 1,5,10,20.")
@click.option("--positions", callback=_numbers, metavar="I[,I...]",
              help="Where gold stands, from 0 (multidoc, kv). Default: first, middle, last.")
@click.option("--order", type=click.Choice(("relevance", "random")),
              help="Of the documents that do not answer (multidoc). Default: relevance.")
@click.option("--length", callback=_numbers, metavar="TOKENS[,TOKENS...]",
              help="Length of the context (hotpotqa, musique, multihoprag, squad, cwe). Default: 4000.")
@reading_options
@engine_options
@cluster_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Keep run.json, examples.jsonl and summary.json here; a stopped run goes on from there.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON on standard output.")
@click.option("--report", is_flag=True, help="Write DIR/report.html and its plots (needs matplotlib).")
@click.pass_context
def eval_command(
    ctx: click.Context,
    /,
    task_name: str,
    patterns: str,
    retrievers: str,
    size: int | None,
    prefix: int,
    titles: int,
    out: Path | None,
    as_json: bool,
    report: bool,
    data: Path | None,
    part: Part | None,
    library: Path | None,
    limit: int | None,
    documents: tuple[int, ...],
    positions: tuple[int, ...],
    order: Order | None,
    length: tuple[int, ...],
    **options: Any,
) -> None:
    """Asks the examples of a task with one or more patterns; `_HELP` says how."""
    from wim_edge.evaluation.conditions import parse_conditions
    from wim_edge.evaluation.tasks import TaskOptions, task_named

    cluster = cluster_from(options)
    if report:
        _check_report(out)
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    if task_name == "recall":
        if cluster is not None:
            raise InvalidRequestError("recall runs on one machine", "Leave --ray away.")
        if foreign := sorted(given & {"patterns", "documents", "positions", "order", "length"}):
            raise InvalidRequestError(f"recall takes no {', '.join(foreign)}", "They are options of other tasks.")
        request = RecallRequest(retrievers, data, library, part, limit, size, prefix, titles, out, report)
        _recall(ctx, request, settings_from(options), as_json)
        return
    for name in ("retrievers", "size", "prefix", "titles"):
        if name in given:
            option = name.removesuffix("s") if name == "retrievers" else name
            raise InvalidRequestError(f"{task_name} takes no --{option}", "It is an option of recall.")
    task, chosen = task_named(task_name), parse_conditions(patterns)
    settings = settings_from({**options, "answer_tokens": options["answer_tokens"] or ANSWER_TOKENS})
    wanted = TaskOptions(data=data, library=library, part=part, limit=limit, documents=documents, positions=positions,
                     order=order, length=length, seed=settings.seed)  # fmt: skip
    configure_logging(ctx)
    with exit_on_signals(), ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wim-edge-eval-")))
        summary, stopped = _run(task, chosen, wanted, settings, folder, _command(ctx), report, cluster)
    _show(summary, as_json)
    if out is None:
        click.echo("the examples are not kept; --out DIR keeps them, and a stopped run can go on", err=True)
    if stopped:
        click.echo("stopped; the same command goes on" if out else "stopped", err=True)
        sys.exit(EXIT_CANCELLED)


def _recall(ctx: click.Context, request: RecallRequest, settings: Settings, as_json: bool) -> None:
    """Compares retrievers; exits with the code for a stopped run if it was stopped."""
    configure_logging(ctx)
    with exit_on_signals():
        found, stopped = run_recall(request, settings, _command(ctx))
    show_recall(found, as_json)
    if stopped:
        sys.exit(EXIT_CANCELLED)


def _run(
    task: Task, patterns: Sequence[Condition], options: TaskOptions, settings: Settings, folder: Path, command: str,
    report: bool, cluster: Cluster | None,
) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Asks, and sums up the examples in the folder; returns the summary, and whether Ctrl-C stopped the run."""
    from wim_edge.cli.progress import Scores, progress
    from wim_edge.evaluation.records import read_records
    from wim_edge.evaluation.runner import StoppedRun, evaluate
    from wim_edge.evaluation.summary import summarize
    from wim_edge.runtime import Runtime
    from wim_edge.system.atomic_files import write_json

    stopped = False
    with Runtime(settings) as runtime:
        model = runtime.open()
        examples = task.examples(options, lambda text: len(model.tokenize(text)))
        try:
            with progress(Scores(task.metric)) as watcher:
                evaluate(
                    runtime, task.name, examples, patterns, folder, options=options, watcher=watcher, cluster=cluster
                )
        except StoppedRun:
            stopped = True
    records = read_records(folder)
    summary = summarize(task, model.info.name, command, records, [pattern.label for pattern in patterns])
    write_json(folder / "summary.json", summary)
    if report:
        from wim_edge.evaluation.report import write_report

        click.echo(f"report: {write_report(folder, summary, records)}", err=True)
    return summary, stopped


def _check_report(out: Path | None) -> None:
    """Raises before the work what would otherwise be raised after it."""
    from wim_edge.evaluation.plots import require_matplotlib

    if out is None:
        raise InvalidRequestError("--report needs a folder", "Add --out DIR.")
    require_matplotlib()


def _command(ctx: click.Context) -> str:
    """Returns the command line that repeats this run: what was given, without defaults and environment variables."""
    words = ["wim-edge", "eval"]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name not in ctx.params:
            continue
        value = ctx.params[name]
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts)[-1])
        else:
            given = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += [parameter.opts[-1], given]
    return shlex.join(words)


def _show(summary: dict[str, Any], as_json: bool) -> None:
    for found in summary["patterns"]:
        if found["errors"]:
            first = found["errors"][0]
            click.echo(f"{found['pattern']}: {len(found['errors'])} failed and count as wrong; "
                       f"{first['id']}: {first['error']}", err=True)  # fmt: skip
    if as_json:
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from wim_edge.evaluation.table import rows

    head, *body = rows(summary)
    table = Table(title=f"{summary['task']}, {summary['model']}", box=box.SIMPLE)
    for number, name in enumerate(head):
        table.add_column(name, justify="right" if number else "left")
    for row in body:
        table.add_row(*row)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 1000  # no line is cut: a table is as wide as it needs to be
    console.print(table)
    for found in summary["patterns"]:
        if "support" in found:
            click.echo(f'# {found["pattern"]}: AUROC {found["support_auroc"]:.2f} on questions it was not fitted on')
            click.echo(f'[models."{summary["model"]}".support]')
            click.echo("".join(f"{name} = {value}\n" for name, value in found["support"].items()))
