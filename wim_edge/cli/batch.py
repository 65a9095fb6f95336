"""`wim-edge batch`: asks many questions of many documents, on this machine or on a Ray cluster."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wim_edge.cli.interrupt import EXIT_CANCELLED, EXIT_FAILED, exit_on_signals
from wim_edge.cli.options import asking_options, check_rpc, cluster_from, cluster_options, settings_from
from wim_edge.cli.terminal import RunProgress, one_line, tally_failures
from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.batch.rows import BatchQuestion, Result

_MAX_SHOWN = 5
"""The maximum number of failures to print; results.jsonl contains all failures."""


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
    _show(results, len(found), folder)
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


def _show(results: list[Result], total: int, out: Path) -> None:
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
