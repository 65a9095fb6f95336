"""`wim-edge bundle`: a folder from which wim-edge can be installed without a network.

    DIR/install.py     `wim_edge.offline_install`, which needs only Python: python3 install.py [FOLDER]
    DIR/wheels/        wim-edge and its dependencies, in the versions installed here, for this kind of machine
    DIR/models/        the models' files, in the layout of wim-edge's folder of models
    DIR/bundle.json    pip's ``requirement`` for wim-edge, and the names of the ``models``
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution, distributions
from pathlib import Path

import click

from wim_edge.catalog import Catalog, ModelEntry, PathSource, companions, fetch, own_copy, resolve
from wim_edge.catalog.model_files import megabytes, write_error
from wim_edge.cli.options import model_names
from wim_edge.errors import DownloadError, InvalidRequestError
from wim_edge.settings import check_online
from wim_edge.system import subprocesses

_NAME = "wim-edge"


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


def make_bundle(target: Path, models: Iterable[ModelEntry], extras: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Fills a new or empty folder; yields (name of each finished step, bytes that the step added). Raises
    DownloadError, and InvalidRequestError if the folder has contents or a model is the user's own file."""
    from wim_edge import offline_install

    models, extras = list(models), list(extras)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidRequestError(f"{target} exists, and is not an empty folder", "Name a new folder.")
    if own := next((one for one in models if isinstance(one.sources[0], PathSource)), None):
        raise InvalidRequestError(
            f"{own.name} is a file of your own", "Copy it, and add it on the other machine: wim-edge models add FILE."
        )
    check_online("wheels come from a package index")
    try:
        (target / "wheels").mkdir(parents=True)
        yield "wheels", _gather_wheels(target / "wheels", extras)
        for entry in models:
            found, place = fetch(entry), own_copy(entry, models=target / "models")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, place)
            yield entry.name, place.stat().st_size
        shutil.copyfile(offline_install.__file__, target / "install.py")
        wanted = {"requirement": _requirement(extras, version=True), "models": [one.name for one in models]}
        (target / "bundle.json").write_text(json.dumps(wanted), encoding="utf-8")
    except OSError as error:
        raise write_error(error, target, sum(one.bytes for one in models)) from error


def _requirement(extras: Iterable[str], *, version: bool) -> str:
    """Returns pip's requirement for wim-edge: this version or, if ``version`` is False, the local source, if any."""
    found, named = distribution(_NAME), ",".join(extras)
    what = f"{_NAME}[{named}]" if named else _NAME
    url = json.loads(found.read_text("direct_url.json") or "{}").get("url", "")
    return f"{what}=={found.version}" if version or not url.startswith("file:") else f"{what} @ {url}"


def _gather_wheels(wheels: Path, extras: Iterable[str]) -> int:
    """Fetches or builds the wheels of this installation with pip, in the installed versions; returns their bytes."""
    bounds = (f"{one.metadata['Name']}=={one.version}\n" for one in distributions() if one.metadata["Name"] != _NAME)
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch, "constraints.txt")
        constraints.write_text("".join(bounds), encoding="utf-8")
        folders = ("--wheel-dir", str(wheels), "--constraint", str(constraints))
        done = subprocesses.run_pip("wheel", *folders, _requirement(extras, version=False))
    if done.returncode:
        why = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        raise DownloadError(f"pip could not gather the wheels: {why[-1]}", "Check pip and the network.")
    return sum(one.stat().st_size for one in wheels.iterdir())
