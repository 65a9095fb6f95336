"""`wim-edge doctor`: shows this machine, this build of llama.cpp, the speed, and the models and settings of `ask`.
`wim-edge tune`: finds the settings with which a model runs fastest on this machine, and saves them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from wim_edge import errors
from wim_edge.catalog import SCOUT
from wim_edge.catalog.entry import USUAL_CONTEXT, WORKING_SPACE
from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.options import (
    check_rpc,
    debug_option,
    engine_options,
    json_option,
    model_names,
    rpc_option,
    settings_from,
)
from wim_edge.cli.terminal import one_line, print_json, print_lines
from wim_edge.errors import EngineError, WimEdgeError
from wim_edge.settings import Paths, Settings, from_dict
from wim_edge.system import subprocesses

if TYPE_CHECKING:
    from wim_edge.roles import Roles
    from wim_edge.tuned import RunConfig


@click.command(short_help="Show what this machine offers and how fast it is.")
@engine_options
@rpc_option
@click.option("--as", "machine_name", metavar="MACHINE",
              help="Show instead which models fit another machine: raspberry-pi-4 (4 GB), raspberry-pi-5 (8 GB), or "
                   "its memory (16GB).")  # fmt: skip
@json_option
def doctor(machine_name: str | None, as_json: bool, **options: Any) -> None:
    """Show this machine and this build of llama.cpp, and the models and settings that `ask` would use with the same
    options. Measure the speed of prefill and of decoding, for about ten seconds."""
    if machine_name is not None:
        _show_held(machine_name, as_json)
        return
    settings = settings_from(options)
    from wim_edge.engine import bindings

    report: dict[str, Any] = {"machine": bindings.machine(), "recommended": _recommended()}
    if not as_json:
        _show_machine(report["machine"])
        _show_recommended(report["recommended"])
    try:
        report |= _use(settings) if settings.rpc is None else _with_rpc(settings)
    finally:
        if as_json:
            print_json(report)
    if not as_json:
        for device in report.get("remote", ()):
            _show_device("remote device", device)
        _show_use(report["use"])
        _show_roles(report["roles"])
        click.echo("Settings")
        for name, setting in report["settings"].items():
            shown = "-" if setting["value"] in (None, []) else one_line(str(setting["value"]))
            click.echo(f"  {name:<20} {shown:<16} {setting['origin']}")
        speed = report["speed"]
        _section(
            "Speed",
            ("prefill", f"{speed['prefill']:,.0f} tokens/s (over {speed['prefill_tokens']} tokens)"),
            ("decode", f"{speed['decode']:,.1f} tokens/s (over {speed['decode_tokens']} tokens)"),
        )


def _show_held(machine_name: str, as_json: bool) -> None:
    """Prints the catalog's models that fit the machine ``machine_name``, the best first."""
    from wim_edge.catalog.catalog import Catalog, held_by, memory_of

    memory = memory_of(machine_name)
    held = held_by(memory, Catalog.load())
    lines = (
        f"{machine_name}: {megabytes(memory)} of memory; computed from the files' headers, none was run there",
        "Each model that writes leaves room for the judge.",
        *(f"  {one.name:<24} {megabytes(one.nbytes):>8}  {one.context:>9,} tokens of context at least" for one in held),
    )
    print_lines({"memory": memory, "models": [asdict(one) for one in held]}, lines, as_json)


def _recommended() -> dict[str, Any]:
    """Returns JSON values about the best model that fits this machine with its judge, whether on this disk or not."""
    from wim_edge.catalog.catalog import Catalog, facts, recommended
    from wim_edge.engine import available_memory

    models = Catalog.load()
    known = facts(recommended(models), models)
    kept = {name: known[name] for name in ("name", "judge", "bytes", "memory_bytes", "fits", "path")}
    return {**kept, "context": min(known["context"], USUAL_CONTEXT), "memory_total": available_memory.total()}


def _use(settings: Settings) -> dict[str, Any]:
    """Returns JSON values: ``use`` (the model that `ask` would use), ``roles``, ``settings``, ``speed`` (measured)."""
    from wim_edge.catalog import resolve
    from wim_edge.loaded_models import LoadedModels, open_model
    from wim_edge.roles import resolved_settings, roles_for
    from wim_edge.tuned import measure_speed

    with open_model(resolve(settings.model), settings) as model:
        used, info = model.settings, model.info
        n_ctx = min(used.n_ctx or model.largest_n_ctx(), info.n_ctx_train)
        need = model.need(n_ctx)
        flash = {None: "llama.cpp's choice" if model.n_gpu_layers else "off", True: "on", False: "off"}
        use = {
            "model": info.name, "file": str(info.path), "architecture": info.architecture, "memory": info.memory.value,
            "chat_template": info.chat_template is not None, "threads": model.n_threads,
            "gpu_layers": model.n_gpu_layers, "kv_type": used.kv_type, "flash_attention": flash[used.flash_attn],
            "largest_context": n_ctx, "bytes_at_that_context": {**asdict(need), "total": need.total},
        }  # fmt: skip
        speed = measure_speed(model, 512)
        roles = _roles(roles_for(LoadedModels(settings), ()))
        return {"use": use, "roles": roles, "settings": resolved_settings(settings).explained(), "speed": asdict(speed)}


def _roles(roles: Roles) -> dict[str, Any]:
    """Returns the names of scout, judge and writer, the memory of judge and writer (bytes), and that of all models."""
    needs = {one.name: one.memory_bytes() for one in roles.used}
    writer = roles.writer or (roles.reader if roles.resolved.prose else None)
    shown = {"judge": (roles.judge or roles.reader).name, "writer": writer.name if writer else None}
    return {
        "scout": roles.model.embedder_name,
        **{role: name and {"model": name, "memory_bytes": needs[name]} for role, name in shown.items()},
        "memory_bytes": sum(needs.values()) + WORKING_SPACE,
    }


def _with_rpc(settings: Settings) -> dict[str, Any]:
    """Returns the remote devices and `_use`'s result, from a child process: a lost RPC server ends only the child."""
    check_rpc(settings)
    command = subprocesses.command("wim_edge.cli.machine", json.dumps(settings.to_dict()))
    # runpy warns because wim_edge.cli has already imported the module that it runs
    environment = {**subprocesses.environment(), "PYTHONWARNINGS": "ignore::RuntimeWarning:runpy"}
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False, env=environment)
    try:
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
    except ValueError:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise EngineError(
            f"llama.cpp ended while it used {settings.rpc} ({how})",
            "Both machines need the same llama-cpp-python; see `wim-edge rpc-serve` there.",
        ) from None
    if "error" in found:
        raise errors.from_dict(found)
    return found


def _in_child(given: dict[str, Any]) -> dict[str, Any]:
    """Computes what `_with_rpc` returns, in its child process; returns that or an error. ``given``: the settings."""
    from wim_edge.engine import bindings, rpc

    rpc.allow_rpc()
    settings = Settings(**from_dict(given))
    own = {device.name for device in bindings.devices()}
    try:
        rpc.register(settings.rpc)
        remote = [asdict(device) for device in bindings.devices() if device.name not in own]
        return {"remote": remote, **_use(settings)}
    except WimEdgeError as error:
        return error.to_dict()


def _show_machine(machine: dict[str, Any]) -> None:
    build = machine["build"]
    _section(
        "This machine",
        ("system", f"{machine['system']}, Python {machine['python']}"),
        ("llama-cpp-python", machine["llama_cpp_python"]),
        ("built for", ", ".join((*build["features"], *build["libraries"]))),
        *(("not used", f"{what}: {command}") for what, command in build["unused"]),
        ("physical cores", str(machine["physical_cores"])),
        ("memory available", _size(machine["memory_available"])),
        ("GPU in this build", ", ".join(build["backends"]) or ("yes" if machine["gpu_offload"] else "no")),
    )
    for device in machine["devices"]:
        _show_device("device", device)
    paths = Paths.from_environment()
    _line("files in", f"{paths.models}, {paths.config}")


def _show_device(kind: str, device: dict[str, Any]) -> None:
    size = f", {_size(device['free'])} of {_size(device['total'])} free" if device["total"] else ""
    _line(kind, f"{device['name']}: {device['description']}{size}")


def _show_recommended(best: dict[str, Any]) -> None:
    name, judge = best["name"], best["judge"]
    where = "on this disk" if best["path"] else f"wim-edge models pull {name} ({megabytes(best['bytes'])})"
    tight = "" if best["fits"] else ": no model of the catalog fits, this is the smallest"
    room = f"{best['context']:,} tokens of context" + (f" and its judge, {judge}" if judge else "")
    memory = f"{_size(best['memory_bytes'])} of {_size(best['memory_total'])}"
    _section("Recommended", ("model", f"{name}, {where}"), ("memory", f"{memory}, with {room}{tight}"))


def _show_use(use: dict[str, Any]) -> None:
    sizes = {name: _size(n) for name, n in use["bytes_at_that_context"].items()}
    _section(
        "Would be used",
        ("model", f"{use['model']} ({use['architecture']}, {use['memory']} memory)"),
        ("file", use["file"]),
        ("chat template", "the model's own" if use["chat_template"] else "none: plain few-shot prompts"),
        ("threads", str(use["threads"])),
        ("layers on the GPU", "all" if use["gpu_layers"] == -1 else str(use["gpu_layers"])),
        ("KV cache", f"{use['kv_type']}, flash attention {use['flash_attention']}"),
        ("largest context", f"{use['largest_context']:,} tokens: {sizes['total']} (weights {sizes['weights']}, "
         f"KV cache {sizes['kv']}, compute {sizes['compute']}, host {sizes['host']})"),
    )  # fmt: skip


def _show_roles(roles: dict[str, Any]) -> None:
    judge, writer = roles["judge"], roles["writer"]
    shown = "none: the answer is the judge's quotation"
    if writer is not None:
        same = writer["model"] == judge["model"]
        shown = "the judge itself" if same else f"{writer['model']}, {_size(writer['memory_bytes'])}"
    _section(
        "Roles",
        ("scout", roles["scout"] or f"none: common words choose where to begin (wim-edge models pull {SCOUT})"),
        ("judge", f"{judge['model']}, {_size(judge['memory_bytes'])}"),
        ("writer", shown),
        ("memory of all", f"{_size(roles['memory_bytes'])}, with {USUAL_CONTEXT:,} tokens of context each at most"),
    )


def _size(nbytes: int) -> str:
    from wim_edge.engine.memory_estimate import readable

    return readable(nbytes)


def _section(title: str, *lines: tuple[str, str]) -> None:
    click.echo(title)
    for name, value in lines:
        _line(name, value)


def _line(name: str, value: str) -> None:
    click.echo(f"  {name:<18} {value}")


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
    measured: list[RunConfig] = []
    if not as_json:
        click.echo(f"{'tokens a second':24}{'prefill':>9}{'decode':>9}{'seconds':>9}")
    for way, fastest in tuned.search(found.path, Settings.from_environment()):
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
    times = tuned.speedup(measured[0], best)
    click.echo(f"chosen: {', '.join(parts)}; {times:.2f} times as fast as before, both measured once more")
    again = " Saved readings are read again." if {"kv_type", "flash_attn"} & set(chosen) else ""
    click.echo(f"It is used from now on; wim-edge tune --forget {model} undoes it.{again}")


def _facts(way: RunConfig) -> dict[str, Any]:
    facts = asdict(way)
    del facts["settings"]
    return {**facts, "path": str(way.path), "cost": way.cost if way.error is None else None}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_in_child(json.loads(sys.argv[1]))))
