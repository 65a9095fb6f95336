"""`wim-edge doctor`: what this machine and build offer, what would be used, and how fast it is."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from wim_edge.cli.options import engine_options, settings_from, show_llama_log


@click.command(short_help="Show what this machine offers and how fast it is.")
@engine_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def doctor(ctx: click.Context, /, as_json: bool, **options: Any) -> None:
    """Show what this machine and this build of llama.cpp offer, what `ask` would use with the same
    options, and the measured prefill and decode speed (under 20 seconds)."""
    show_llama_log(ctx)
    settings = settings_from(options)
    from wim_edge.catalog import resolve
    from wim_edge.engine import memory, probe
    from wim_edge.engine.context import Context
    from wim_edge.engine.model import Model
    from wim_edge.settings import Paths

    paths = Paths.from_environment()
    facts = probe.machine()
    found = resolve(settings.model, paths)
    with Model(found.path, settings, found.name) as model:
        n_ctx = min(settings.n_ctx or model.largest_n_ctx(), model.info.n_ctx_train)
        need = memory.estimate(
            model.header, n_ctx, settings.n_batch, settings.kv_type, True, Context.N_SEQUENCES
        )
        speed = probe.measure(model)
        use = {
            "model": model.info.name,
            "file": str(model.info.path),
            "architecture": model.info.architecture,
            "memory": model.info.memory.value,
            "chat_template": model.info.chat_template is not None,
            "threads": model.n_threads,
            "gpu_layers": model.n_gpu_layers,
            "kv_type": settings.kv_type,
            "flash_attention": _flash(settings.flash_attn, model.n_gpu_layers),
            "largest_context": n_ctx,
            "memory_at_that_context": {**asdict(need), "total": need.total},
        }
    if as_json:
        click.echo(json.dumps({"machine": asdict(facts), "use": use, "speed": asdict(speed)}, indent=2))
        return
    click.echo("This machine")
    _line("system", f"{facts.system}, Python {facts.python}")
    _line("llama-cpp-python", facts.llama_cpp_python)
    _line("processor", facts.cpu_features)
    _line("physical cores", str(facts.physical_cores))
    _line("memory available", memory.mib(facts.memory_available))
    _line("GPU in this build", "yes" if facts.gpu_offload else "no")
    for device in facts.devices:
        size = f", {memory.mib(device.free)} of {memory.mib(device.total)} free" if device.total else ""
        _line("device", f"{device.name}: {device.description}{size}")
    _line("files in", f"{paths.models}, {paths.config}")
    click.echo("Would be used")
    _line("model", f"{use['model']} ({use['architecture']}, {use['memory']} memory)")
    _line("file", f"{use['file']}")
    _line("chat template", "the model's own" if use["chat_template"] else "none: plain few-shot prompts")
    _line("threads", str(use["threads"]))
    _line("layers on the GPU", "all" if use["gpu_layers"] == -1 else str(use["gpu_layers"]))
    _line("KV cache", f"{use['kv_type']}, flash attention {use['flash_attention']}")
    _line("largest context", f"{n_ctx:,} tokens: {memory.mib(need.total)} (weights {memory.mib(need.weights)}, "
                             f"KV cache {memory.mib(need.kv)}, compute {memory.mib(need.compute)})")  # fmt: skip
    click.echo("Speed")
    _line("prefill", f"{speed.prefill:,.0f} tokens/s (over {speed.prefill_tokens})")
    _line("decode", f"{speed.decode:,.1f} tokens/s (over {speed.decode_tokens})")


def _flash(wanted: bool | None, n_gpu_layers: int) -> str:
    if wanted is not None:
        return "on" if wanted else "off"
    return "llama.cpp's choice" if n_gpu_layers else "off"


def _line(name: str, value: str) -> None:
    click.echo(f"  {name:<18} {value}")
