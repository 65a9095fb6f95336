"""`wim-edge tune`: finds the settings with which a model runs fastest on this machine, and saves them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from wim_edge.cli.options import debug_option, json_option, model_names
from wim_edge.cli.terminal import print_json
from wim_edge.settings import Settings

if TYPE_CHECKING:
    from wim_edge.engine.tune import RunConfig


@click.command(short_help="Find how a model runs fastest on this machine.")
@click.argument("model", metavar="NAME|FILE", shell_complete=model_names)
@click.option("--forget", is_flag=True, help="Forget what was found.")
@json_option
@debug_option
def tune(model: str, forget: bool, as_json: bool) -> None:
    """Measure MODEL with different threads, flash attention, batch sizes and KV types; save the fastest settings.

    A configuration's cost is the seconds that it takes to read 4,096 tokens and write 150. Later commands use the
    fastest one for this model on this machine, unless an option overrides it. Tuning takes some minutes. Tune the judge
    by its own name, smollm2-135m; the result applies with every model that writes.
    """
    from wim_edge import tuned
    from wim_edge.catalog import resolve

    found = resolve(model)
    if forget:
        tuned.save(found.path, None)
        click.echo(f"{found.path.name} runs with the defaults again")
        return
    from wim_edge.engine import tune as engine

    measured: list[RunConfig] = []
    if not as_json:
        click.echo(f"{'tokens a second':24}{'prefill':>9}{'decode':>9}{'seconds':>9}")
    for way, fastest in engine.search(found.path, Settings.from_environment()):
        measured.append(way)
        best = fastest
        if not as_json:
            speeds = way.error or f"{way.prefill:9,.0f}{way.decode:9,.1f}{way.cost:9,.1f}"
            click.echo(f"{way.label:24}{speeds}")
    chosen = tuned.changes(best.settings)
    tuned.save(found.path, chosen)
    if as_json:
        print_json({"ways": [_facts(way) for way in measured], "chosen": {"settings": chosen}})
        return
    parts = [f"{name} {value}" for name, value in chosen.items()]
    if not parts:
        click.echo("chosen: as it is; nothing else was faster")
        return
    times = engine.speedup(measured[0], best)
    click.echo(f"chosen: {', '.join(parts)}; {times:.2f} times as fast as before, both measured once more")
    again = " Saved readings are read again." if {"kv_type", "flash_attn"} & set(chosen) else ""
    click.echo(f"It is used from now on; wim-edge tune --forget {model} undoes it.{again}")


def _facts(way: RunConfig) -> dict[str, Any]:
    facts = asdict(way)
    del facts["settings"]
    return {**facts, "path": str(way.path), "cost": way.cost if way.error is None else None}
