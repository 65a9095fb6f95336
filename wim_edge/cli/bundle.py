"""`wim-edge bundle`: gathers all that a machine without a network needs to install wim-edge and to answer questions."""

from __future__ import annotations

from pathlib import Path

import click

from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.options import model_names


@click.command(short_help="Gather wheels, models and an installer for a machine without a network.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--model", "models", multiple=True, metavar="NAME", shell_complete=model_names,
              help="A model to include; may be given several times. Default: the one that is used here.")  # fmt: skip
@click.option("--alone", is_flag=True, help="Leave out the models that work with it.")
@click.option("--extra", "extras", multiple=True, metavar="NAME", help="An extra of wim-edge, such as documents.")
def bundle(folder: Path, models: tuple[str, ...], alone: bool, extras: tuple[str, ...]) -> None:
    """Gather wheels, models and a script in FOLDER; on the other machine `python3 FOLDER/install.py` installs them.

    The other machine needs the same system, processor and version of Python. The wheel of llama.cpp is the one that pip
    builds or fetches here. For another processor, build it with CMAKE_ARGS="-DGGML_NATIVE=off".

    A model that writes answers is bundled with the judge, smollm2-135m, which finds the passages that answer. The judge
    is bundled with its scout, all-minilm-l6-v2, which chooses where to begin in a long text.
    """
    from wim_edge.bundle import make_bundle
    from wim_edge.catalog import Catalog, companions, resolve

    catalog = Catalog.load()
    named = [catalog.get(name) for name in models or (resolve(None).name,)]
    for other in [] if alone else [other for one in named for other in companions(one, catalog)]:
        if other not in named:
            click.echo(f"{other.name} is included ({megabytes(other.bytes)})", err=True)
            named.append(other)
    total = 0
    for what, nbytes in make_bundle(folder, named, extras):
        click.echo(f"{what}: {megabytes(nbytes)}", err=True)
        total += nbytes
    click.echo(f"{folder}: {megabytes(total)}; on the other machine: python3 {folder.name}/install.py")
