"""`wim-edge batch` and `eval`: ask many questions, in a run that can be stopped and continued."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wim_edge.cli.interrupt import EXIT_CANCELLED, EXIT_FAILED, exit_on_signals
from wim_edge.cli.options import (
    asking_options,
    check_rpc,
    cluster_from,
    cluster_options,
    engine_options,
    json_option,
    reading_options,
    settings_from,
)
from wim_edge.cli.terminal import Progress, one_line, print_json, print_table
from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.batch.rows import BatchQuestion, Result

_MAX_SHOWN = 5
"""The maximum number of failures to print; results.jsonl contains all failures."""
ANSWER_TOKENS = 100  # as in "Lost in the Middle", section 2.2
PARTS = ("all", "choose", "report")  # those of evaluation/example.py, which --help does not import
_HELP = """Ask the examples of TASK with one or more patterns; show accuracy, its interval, and cost.

\b
documents    whole documents with questions of their own
multidoc     one of K documents answers, at each position   Lost in the Middle 3
kv           the value of one of K UUID keys                Lost in the Middle 4
reader       BM25 finds k passages, the model answers       Lost in the Middle 6
hotpotqa, musique, multihoprag, squad                       at a chosen length
cwe          the ten most common words of a list            RULER
recall       retrievers find the pages of a library         KILT, MindRef
babilong     facts scattered in a book                      BABILong

Data sets are read in their public formats. Each example is asked with every pattern before the next
example. Ctrl-C stops, and with --out the same command continues. A failed example counts as wrong.
With --ray the examples are asked on the machines of a Ray cluster.
Answers have at most 100 tokens by default (--answer-tokens); --seed also shuffles the examples.

\b
  wim-edge eval multidoc --data nq.jsonl.gz --positions 0,4,9 --pattern llm,rag:bm25,default,oracle
  wim-edge eval documents --data docs --pattern default,rag:bm25,rag:embed --part report --limit 100
  wim-edge eval kv --documents 75 --limit 20 --out runs/kv --report
"""
_FILE = click.Path(path_type=Path, dir_okay=False)


class RunProgress(Progress):
    """Shows how many questions of a run were asked. ``tally``: turns the results so far into a text to show."""

    def __init__(self, tally: Callable[[Sequence[Any]], str]) -> None:
        super().__init__(after=" asked")
        self._tally, self._has_begun = tally, False

    def watch(self, rows: Sequence[Any], total: int) -> None:
        """Shows the progress. ``rows``: the results so far; ``total``: the number of questions (a `Watcher`)."""
        if not self._has_begun:
            self._has_begun = True
            if rows:
                click.echo(f"{len(rows)} of {total} asked before", err=True)
            self.start(len(rows))
        self(len(rows), total, self._tally(rows))


def tally_failures(rows: Sequence[Result]) -> str:
    """Returns a text with the number of failed questions, and the number of workers if there are several."""
    n_workers = len({row.worker for row in rows})
    places = f", {n_workers} workers" if n_workers > 1 else ""
    return f"{sum(row.error is not None for row in rows)} failed{places}"


# Questions on documents


@click.command(short_help="Ask many questions of many documents.")
@click.argument("questions", required=False, metavar="[FILE]", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--each-document", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Instead of FILE: ask each document in DIR.")
@click.option("--question", "asked", multiple=True, metavar="TEXT",
              help="What to ask each; may be given several times.")
@click.option("--out", type=click.Path(file_okay=False), required=True, metavar="DIR",
              help="The folder of results.jsonl and run.json; a stopped run continues there.")
@click.option("--parquet", is_flag=True, help="Write DIR/results.parquet too (needs wim-edge[parquet]).")
@cluster_options
@asking_options
def batch(
    questions: Path | None, each_document: Path | None, asked: tuple[str, ...], out: str, parquet: bool, **options: Any
) -> None:
    """Answer the questions in FILE: JSON lines or CSV with the fields document, question and optionally id.

    Questions on the same document are asked together, so that the document is read once. Each result has the answer,
    margins, sources and usage, or an error. A failed question does not stop the others. After Ctrl-C the same command
    continues, and asks failed questions again. At the end the results are in the order of the questions.

    \b
      wim-edge batch questions.csv --out answers
      wim-edge batch --each-document contracts/ --question "Who may end it?" --out answers
      wim-edge batch questions.jsonl --out answers --parquet --ray auto
    """
    cluster = cluster_from(options)
    settings, folder = settings_from(options), Path(out)
    if not out:
        raise InvalidRequestError("--out names no folder", "Give --out DIR.")
    found = _questions(questions, each_document, asked)
    from wim_edge.batch.rows import require_pyarrow
    from wim_edge.batch.run import run, run_local, run_on_cluster
    from wim_edge.engine import rpc
    from wim_edge.loaded_models import model_identity, portable_settings

    if parquet:
        require_pyarrow()
    settings = portable_settings(settings)
    model = model_identity(settings)
    check_rpc(settings)
    if cluster is None:
        execute = partial(run_local, settings, partial(rpc.check, settings.rpc))
    else:
        execute = partial(run_on_cluster, settings, model, cluster, partial(click.echo, err=True))
    with exit_on_signals(), RunProgress(tally_failures) as progress:
        results, stopped = run(found, settings, model, folder, execute, parquet=parquet, watcher=progress.watch)
    _show_results(results, len(found), folder)
    if stopped:
        click.echo("stopped; the same command continues", err=True)
        sys.exit(EXIT_CANCELLED)
    if any(result.error for result in results):
        sys.exit(EXIT_FAILED)


def _questions(file: Path | None, folder: Path | None, asked: tuple[str, ...]) -> list[BatchQuestion]:
    from wim_edge.batch.rows import questions_of_each, read_questions

    if (file is None) == (folder is None) or bool(asked) != (folder is not None):
        raise InvalidRequestError(
            "a batch is a file of questions, or a folder of documents and what to ask each",
            "Give FILE, or --each-document DIR with --question TEXT.",
        )
    return read_questions(file) if file is not None else questions_of_each(folder or Path(), asked)


def _show_results(results: list[Result], total: int, out: Path) -> None:
    bad = [result for result in results if result.error]
    used = [result.usage for result in {result.key: result for result in results}.values() if result.usage]
    read, known = (sum(usage[name] for usage in used) for name in ("prefilled_tokens", "reused_tokens"))
    click.echo(f"{len(results) - len(bad)} of {total} answered, {len(bad)} failed: {out / 'results.jsonl'}")
    click.echo(f"{len({result.document for result in results})} documents, {read:,} tokens read, {known:,} known")
    for result in bad[:_MAX_SHOWN]:
        which = result.id if result.id.startswith(result.document) else f"{result.id}, {result.document}"
        click.echo(one_line(f"failed: {which:.200}: {result.error}"), err=True)
    if len(bad) > _MAX_SHOWN:
        click.echo(f"and {len(bad) - _MAX_SHOWN} more; the same command asks them again", err=True)


# Tasks


def _numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Returns the integers in a comma-separated list; () for None. Raises click.BadParameter for any other text."""
    least = 0 if param.name == "positions" else 1
    try:
        numbers = tuple(int(part) for part in value.split(",")) if value else ()
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 1,5,10", ctx, param) from None
    if numbers and min(numbers) < least:
        raise click.BadParameter(f"{min(numbers)} is less than {least}", ctx, param)
    return numbers


def _task_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from wim_edge.evaluation.tasks import TASKS

    return [name for name in TASKS if name.startswith(incomplete)]


@click.command("eval", short_help="Measure accuracy and cost on a task.", help=_HELP)
@click.argument("task_name", metavar="TASK", shell_complete=_task_names)
@click.option("-p", "--pattern", metavar="P[,P...]",
              help="llm, rag, wim, wim-focus, wim-shallow, each as NAME[:RELEVANCE]; default is what `ask` does; "
                   "rag:embed: chunks and an embedding model; llm:source: the publication's own prompt; "
                   "margins-alone; oracle shows the gold documents alone, closed-book none. Default: llm,default.")
@click.option("--data", type=click.Path(path_type=Path), metavar="PATH",
              help="The task's rows, .json or .jsonl, gzip-compressed or not; for documents, a folder of them.")
@click.option("--part", type=click.Choice(PARTS),
              help="choose: the first third of the data, to choose settings on; report: the rest. Default: all.")
@click.option("--library", type=_FILE, metavar="FILE", help="Passages of {title, text} (reader, recall, multihoprag).")
@click.option("--retriever", metavar="C[,C...]",
              help="recall: bm25, recall, hybrid (default: all three), and their variants (docs/evaluation.md).")
@click.option("--size", type=click.IntRange(min=1), metavar="N", help="recall: passages in the library. Default: all.")
@click.option("--prefix", type=click.IntRange(1, 63), metavar="TOKENS",
              help="recall: most tokens of a passage that are decoded. Default: 16.")
@click.option("--titles", type=click.IntRange(1, 15), metavar="K",
              help="recall: titles whose passages are searched. Default: 5.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N",
              help="The first N questions; for documents, N sampled evenly. Default: all; 50 of generated tasks (kv, "
                   "cwe).")
@click.option("--documents", callback=_numbers, metavar="K[,K...]",
              help="Documents in the context; several for reader. Default: 10; kv 75; reader 1,5,10,20.")
@click.option("--positions", callback=_numbers, metavar="I[,I...]",
              help="Positions of the gold document, from 0 (multidoc, kv). Default: first, middle, last.")
@click.option("--order", type=click.Choice(("relevance", "random")),
              help="Order of the documents that do not answer (multidoc). Default: relevance.")
@click.option("--length", callback=_numbers, metavar="TOKENS[,TOKENS...]",
              help="Length of the context (hotpotqa, musique, multihoprag, squad, cwe). Default: 4000.")
@reading_options
@engine_options
@cluster_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Keep run.json, examples.jsonl and summary.json here; a stopped run continues there.")
@json_option
@click.option("--report", is_flag=True, help="Write DIR/report.html and its plots (needs matplotlib).")
def eval_command(task_name: str, out: Path | None, as_json: bool, report: bool, **options: Any) -> None:
    from wim_edge.evaluation import recall
    from wim_edge.evaluation.conditions import parse_conditions
    from wim_edge.evaluation.report import failures, fitted, require_matplotlib, rows
    from wim_edge.evaluation.runner import run_task
    from wim_edge.evaluation.summary import tally_scores
    from wim_edge.evaluation.tasks import TaskOptions, task_named

    of_task = {one.name: options.pop(one.name) for one in fields(TaskOptions) if one.name != "seed"}
    cluster = cluster_from(options)
    if report:  # raises now what would raise at the end
        if out is None:
            raise InvalidRequestError("--report needs a folder", "Add --out DIR.")
        require_matplotlib()
    is_recall = task_name == "recall"
    if not is_recall:
        options["answer_tokens"] = options["answer_tokens"] or ANSWER_TOKENS
    elif cluster is not None:
        raise InvalidRequestError("recall runs on one machine", "Leave out --ray.")
    settings = settings_from(options)
    wanted, command = TaskOptions(**of_task, seed=settings.seed), shlex.join(["wim-edge", *sys.argv[1:]])
    with exit_on_signals(), ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wim-edge-eval-")))
        if is_recall:
            progress = stack.enter_context(RunProgress(partial(tally_scores, "recall_at_1")))
            on_index = stack.enter_context(Progress("indexing: "))
            summary, stopped = recall.run_recall(
                wanted, settings, folder, command, progress.watch, on_index, report=report
            )
        else:
            task = task_named(task_name)
            chosen = parse_conditions("llm,default" if wanted.pattern is None else wanted.pattern)
            progress = stack.enter_context(RunProgress(partial(tally_scores, task.metric)))
            summary, stopped = run_task(
                task, chosen, wanted, settings, folder, command, progress.watch, report=report, cluster=cluster
            )
    click.echo("".join(f"{line}\n" for line in failures(summary)), err=True, nl=False)
    if as_json:
        print_json(summary)
    else:
        head, *body = recall.table_of(summary) if is_recall else rows(summary)
        print_table(head, body, head[1:], title=f"{summary['task']}, {summary['model']}")
        click.echo("".join(f"{line}\n" for line in fitted(summary)), nl=False)
    if out is None:
        click.echo("the examples are not kept; with --out DIR they are, and a stopped run can continue", err=True)
    if stopped:
        click.echo("stopped; the same command continues" if out else "stopped", err=True)
        sys.exit(EXIT_CANCELLED)
