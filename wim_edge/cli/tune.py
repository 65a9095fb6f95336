"""`wim-edge tune`: measures how a model runs fastest here, and saves that for later runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.options import debug_option, json_option, model_names
from wim_edge.cli.terminal import print_json
from wim_edge.errors import LibraryError
from wim_edge.settings import Paths, Settings

if TYPE_CHECKING:
    from wim_edge.engine.tune import RunConfig


@click.command(short_help="Find how a model runs fastest on this machine.")
@click.argument("model", metavar="NAME|FILE", shell_complete=model_names)
@click.option("--copies/--no-copies", default=True, show_default=True,
              help="Try copies in other weight types: some processors compute with one much faster than with another.")
@click.option("--forget", is_flag=True, help="Forget what was found, and delete the copies.")
@json_option
@debug_option
def tune(model: str, copies: bool, forget: bool, as_json: bool) -> None:
    """Measure threads, flash attention, batch sizes, KV types and weight types of MODEL; save the fastest.

    Each configuration is judged by the seconds that it takes to read 4,096 tokens and write 150. Every later command
    uses the winner for this model on this machine, unless an option overrides it. For a copy in another weight type,
    the change in predictions is shown: the mean divergence (KL, in nats) and how often the likeliest token is the
    same; a copy above 0.01 nats is rejected. Takes some minutes; copies take disk space until they lose. Tune the
    judge by its own name, smollm2-135m; the result applies with every model that writes.
    """
    from wim_edge import tuned
    from wim_edge.catalog import resolve

    paths = Paths.from_environment()
    found = resolve(model, paths)
    folder = tuned.copies(paths, found.path)
    if forget:
        tuned.save(paths, found.path, None)
        click.echo(f"{found.path.name} runs with the defaults again; {megabytes(_delete(folder, None))} freed")
        return
    from wim_edge.engine import tune as engine

    measured: list[RunConfig] = []
    if not as_json:
        click.echo(f"{'tokens a second':24}{'prefill':>9}{'decode':>9}{'seconds':>9}  predictions")
    for way, fastest in engine.search(found.path, Settings.from_environment(), folder if copies else None):
        measured.append(way)
        best = fastest
        if not as_json:
            click.echo(_row(way))
    kept = best.path if best.weights else None
    chosen = tuned.Tuned(tuned.changes(best.settings), str(kept) if kept else None)
    try:
        tuned.save(paths, found.path, chosen)
    except LibraryError:
        kept = None  # nothing refers to the copy
        raise
    finally:
        _delete(folder, kept)
    if as_json:
        print_json({"ways": [_facts(way) for way in measured], "chosen": asdict(chosen)})
        return
    parts = [f"{name} {value}" for name, value in chosen.settings.items()]
    if kept:
        parts.append(f"weights {best.weights} ({kept}, {megabytes(kept.stat().st_size)})")
    if not parts:
        click.echo("chosen: as it is; nothing else was faster")
        return
    times = engine.speedup(measured[0], best)
    click.echo(f"chosen: {', '.join(parts)}; {times:.2f} times as fast as before, both measured once more")
    again = " Saved readings are read again." if kept or {"kv_type", "flash_attn"} & set(chosen.settings) else ""
    click.echo(f"It is used from now on; wim-edge tune --forget {model} undoes it.{again}")


def _delete(folder: Path, but: Path | None) -> int:
    """Deletes a model's copies except one (``but``), and returns the bytes freed."""
    freed = 0
    for path in folder.glob("*"):
        with suppress(OSError):  # a disk that is read-only, or a copy in use (Windows)
            size = path.stat().st_size
            if path != but:
                path.unlink()
                freed += size
    return freed


def _row(way: RunConfig) -> str:
    if way.error:
        return f"{way.label:24}{way.error}"
    predictions = ""
    if way.divergence is not None and way.agreement is not None:
        rejected = "" if way.is_acceptable else ": rejected"
        predictions = f"  KL {way.divergence:.4f}, same token {way.agreement:.0%}{rejected}"
    return f"{way.label:24}{way.prefill:9,.0f}{way.decode:9,.1f}{way.cost:9,.1f}{predictions}"


def _facts(way: RunConfig) -> dict[str, Any]:
    facts = asdict(way)
    del facts["settings"]
    return {**facts, "path": str(way.path), "cost": way.cost if way.error is None else None}
