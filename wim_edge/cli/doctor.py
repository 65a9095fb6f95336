"""`wim-edge doctor`: shows what this machine and build offer, what would be used, and how fast it is."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from wim_edge import errors
from wim_edge.catalog import SCOUT
from wim_edge.catalog.entry import USUAL_CONTEXT
from wim_edge.catalog.model_files import megabytes
from wim_edge.cli.explain import setting_line
from wim_edge.cli.options import check_rpc, configure_logging, engine_options, rpc_option, settings_from
from wim_edge.errors import EngineError, WimEdgeError
from wim_edge.settings import Paths, Settings, from_dict
from wim_edge.system import subprocesses

if TYPE_CHECKING:
    from wim_edge.engine.probe import Machine
    from wim_edge.roles import Roles


@click.command(short_help="Show what this machine offers and how fast it is.")
@engine_options
@rpc_option
@click.option("--as", "machine_name", metavar="MACHINE", help="Show instead which models another machine holds: "
              "raspberry-pi-4 (4 GB), raspberry-pi-5 (8 GB), or its memory (16GB).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def doctor(ctx: click.Context, /, machine_name: str | None, as_json: bool, **options: Any) -> None:
    """Show what this machine and this build of llama.cpp offer, what `ask` would use with the same
    options, and the prefill and decode speed, measured in some ten seconds."""
    configure_logging(ctx)
    if machine_name is not None:
        _show_held(machine_name, as_json)
        return
    settings, paths = settings_from(options), Paths.from_environment()
    from wim_edge.engine import probe

    machine = probe.machine()
    if not as_json:
        _show_machine(machine, paths)
    report: dict[str, Any] = {"machine": asdict(machine), "recommended": _recommended(paths)}
    if not as_json:
        _show_recommended(**report["recommended"])
    try:
        report |= _use(settings, paths) if settings.rpc is None else _with_others(settings)
    except WimEdgeError:
        if as_json:
            click.echo(json.dumps(report, indent=2))
        raise
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        for device in report.get("remote", ()):
            _show_device("remote device", **device)
        _show_use(**report["use"])
        _show_roles(**report["roles"])
        click.echo("Settings")
        for name, setting in report["settings"].items():
            click.echo(f"  {name:<20} {setting_line(**setting)}")
        _show_speed(**report["speed"])


def _show_held(machine_name: str, as_json: bool) -> None:
    """Shows which models of the catalog a machine holds, the best first."""
    from wim_edge.catalog.catalog import Catalog
    from wim_edge.catalog.machines import held_by, memory_of

    memory = memory_of(machine_name)
    held = held_by(memory, Catalog.load(Paths.from_environment()))
    if as_json:
        click.echo(json.dumps({"memory": memory, "models": [asdict(one) for one in held]}, indent=2))
        return
    click.echo(f"{machine_name}: {megabytes(memory)} of memory; by the files' headers, none was run there")
    click.echo("Beside a model that writes there is room for the judge.")
    for one in held:
        click.echo(f"  {one.name:<24} {megabytes(one.nbytes):>8}  {one.context:>9,} tokens of context at least")


def _recommended(paths: Paths) -> dict[str, Any]:
    """The catalog's best model that fits in this machine's memory with its judge, fetched or not."""
    from wim_edge.catalog.catalog import Catalog, facts, recommended
    from wim_edge.catalog.entry import USUAL_CONTEXT
    from wim_edge.engine import available_memory

    models = Catalog.load(paths)
    told = facts(recommended(models, paths), models, paths)
    kept = {name: told[name] for name in ("name", "judge", "bytes", "memory_bytes", "fits", "path")}
    return {**kept, "context": min(told["context"], USUAL_CONTEXT), "memory_total": available_memory.total()}


def _use(settings: Settings, paths: Paths) -> dict[str, Any]:
    """Returns the models and the settings that `ask` would use, and the measured speed of the model."""
    from wim_edge.catalog import resolve
    from wim_edge.engine.benchmark import measure_speed
    from wim_edge.loaded_models import LoadedModels, open_model
    from wim_edge.roles import resolved_settings, roles_for

    found, asked = resolve(settings.model, paths), settings
    with open_model(found, settings) as model:
        settings = model.settings
        n_ctx = min(settings.n_ctx or model.largest_n_ctx(), model.info.n_ctx_train)
        need = model.need(n_ctx)
        flash = {None: "llama.cpp's choice" if model.n_gpu_layers else "off", True: "on", False: "off"}
        use = {
            "model": model.info.name,
            "file": str(model.info.path),
            "architecture": model.info.architecture,
            "memory": model.info.memory.value,
            "chat_template": model.info.chat_template is not None,
            "threads": model.n_threads,
            "gpu_layers": model.n_gpu_layers,
            "kv_type": settings.kv_type,
            "flash_attention": flash[settings.flash_attn],
            "largest_context": n_ctx,
            "bytes_at_that_context": {**asdict(need), "total": need.total},
        }
        speed = measure_speed(model, 512)
        roles = _roles(roles_for(LoadedModels(asked), ()))
        explained = resolved_settings(asked).explained()
        return {"use": use, "roles": roles, "settings": explained, "speed": asdict(speed)}


def _roles(roles: Roles) -> dict[str, Any]:
    """Returns the scout, and judge and writer, each with an estimate of its memory, and the sum of these."""
    from wim_edge.catalog.entry import WORKING_SPACE

    needs = {one.name: one.memory_bytes() for one in roles.used}
    writer = roles.writer or (roles.reader if roles.resolved.prose else None)
    shown = {"judge": (roles.judge or roles.reader).name, "writer": writer.name if writer else None}
    return {
        "scout": roles.model.embedder_name,
        **{role: name and {"model": name, "memory_bytes": needs[name]} for role, name in shown.items()},
        "memory_bytes": sum(needs.values()) + WORKING_SPACE,
    }


def _with_others(settings: Settings) -> dict[str, Any]:
    """Does the same as `_use` with the devices of other machines, in a process of its own: they may end it."""
    check_rpc(settings)
    command = subprocesses.command("wim_edge.cli.doctor", json.dumps(settings.to_dict()))
    # Python warns of a module that its package has imported before it is run
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


def _apart(given: dict[str, Any]) -> dict[str, Any]:
    """Does the work of `_with_others` in its process."""
    from wim_edge.engine import bindings, rpc

    rpc.allow_rpc()
    settings = Settings(**from_dict(given))
    own = {device.name for device in bindings.devices()}
    try:
        rpc.register(settings.rpc)
        remote = [asdict(device) for device in bindings.devices() if device.name not in own]
        return {"remote": remote, **_use(settings, Paths.from_environment())}
    except WimEdgeError as error:
        return error.to_dict()


def _show_machine(machine: Machine, paths: Paths) -> None:
    from wim_edge.engine.memory_estimate import readable

    click.echo("This machine")
    _line("system", f"{machine.system}, Python {machine.python}")
    _line("llama-cpp-python", machine.llama_cpp_python)
    _line("built for", ", ".join((*machine.build.features, *machine.build.libraries)))
    for what, command in machine.build.unused:
        _line("not used", f"{what}: {command}")
    _line("physical cores", str(machine.physical_cores))
    _line("memory available", readable(machine.memory_available))
    _line("GPU in this build", ", ".join(machine.build.backends) or ("yes" if machine.gpu_offload else "no"))
    for device in machine.devices:
        _show_device("device", **asdict(device))
    _line("files in", f"{paths.models}, {paths.config}")


def _show_device(kind: str, name: str, description: str, is_gpu: bool, free: int, total: int, **_: object) -> None:
    from wim_edge.engine.memory_estimate import readable

    size = f", {readable(free)} of {readable(total)} free" if total else ""
    _line(kind, f"{name}: {description}{size}")


def _show_recommended(
    name: str, judge: str | None, bytes: int, memory_bytes: int, fits: bool, path: str | None, context: int,
    memory_total: int,
) -> None:  # fmt: skip
    from wim_edge.engine.memory_estimate import readable

    click.echo("Recommended")
    _line("model", f"{name}, {'on this disk' if path else f'wim-edge models pull {name} ({megabytes(bytes)})'}")
    tight = "" if fits else ": no model of the catalog fits, this is the smallest"
    room = f"{context:,} tokens of context" + (f" and its judge, {judge}" if judge else "")
    _line("memory", f"{readable(memory_bytes)} of {readable(memory_total)}, with {room}{tight}")


def _show_use(
    model: str,
    file: str,
    architecture: str,
    memory: str,
    chat_template: bool,
    threads: int,
    gpu_layers: int,
    kv_type: str,
    flash_attention: str,
    largest_context: int,
    bytes_at_that_context: dict[str, int],
) -> None:
    from wim_edge.engine.memory_estimate import readable

    sizes = {name: readable(n) for name, n in bytes_at_that_context.items()}
    click.echo("Would be used")
    _line("model", f"{model} ({architecture}, {memory} memory)")
    _line("file", file)
    _line("chat template", "the model's own" if chat_template else "none: plain few-shot prompts")
    _line("threads", str(threads))
    _line("layers on the GPU", "all" if gpu_layers == -1 else str(gpu_layers))
    _line("KV cache", f"{kv_type}, flash attention {flash_attention}")
    _line(
        "largest context",
        f"{largest_context:,} tokens: {sizes['total']} (weights {sizes['weights']}, KV cache {sizes['kv']}, "
        f"compute {sizes['compute']}, host {sizes['host']})",
    )


def _show_roles(
    scout: str | None, judge: dict[str, Any], writer: dict[str, Any] | None, memory_bytes: int
) -> None:
    from wim_edge.engine.memory_estimate import readable

    click.echo("Roles")
    _line("scout", scout or f"none: words tell where to begin (wim-edge models pull {SCOUT})")
    _line("judge", f"{judge['model']}, {readable(judge['memory_bytes'])}")
    if writer is None:
        _line("writer", "none: the answer is the judge's quotation")
    else:
        same = writer["model"] == judge["model"]
        _line("writer", "the judge itself" if same else f"{writer['model']}, {readable(writer['memory_bytes'])}")
    _line("memory of all", f"{readable(memory_bytes)}, with {USUAL_CONTEXT:,} tokens of context each at most")


def _show_speed(prefill: float, prefill_tokens: int, decode: float, decode_tokens: int) -> None:
    click.echo("Speed")
    _line("prefill", f"{prefill:,.0f} tokens/s (over {prefill_tokens} tokens)")
    _line("decode", f"{decode:,.1f} tokens/s (over {decode_tokens} tokens)")


def _line(name: str, value: str) -> None:
    click.echo(f"  {name:<18} {value}")


if __name__ == "__main__":
    click.echo(json.dumps(_apart(json.loads(sys.argv[1]))))
