"""Options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from wim_edge.errors import InvalidRequestError
from wim_edge.settings import ANSWERS, KV_TYPES, MARGINS, PATTERNS, RELEVANCES, Settings

if TYPE_CHECKING:
    from wim_edge.batch.ray_cluster import Cluster
    from wim_edge.runtime import Runtime
    from wim_edge.worker import Worker

F = TypeVar("F", bound=Callable[..., Any])


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Returns one decorator that adds all ``options`` to a command, in this order."""
    return lambda command: reduce(lambda one, option: option(one), reversed(options), command)


def _debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Handles the option --debug: shows llama.cpp's log, and the tracebacks of errors, on standard error."""
    if value:
        import logging

        ctx.find_root().meta["debug"] = True
        logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
        for noisy in ("markdown_it", "asyncio"):
            logging.getLogger(noisy).setLevel(logging.INFO)


debug_option = click.option("--debug", is_flag=True, expose_value=False, callback=_debug,
                            help="Show tracebacks and llama.cpp's log.")  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
events_option = click.option("--json", "as_json", is_flag=True,
                             help="One event a line on standard output (docs/events.md).")  # fmt: skip
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def model_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from wim_edge.catalog import Catalog

    names = [entry.name for entry in Catalog.load()]
    files = [CompletionItem(incomplete, type="file")] if "/" in incomplete or "." in incomplete else []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)] + files


model_option = click.option("-m", "--model", metavar="NAME|FILE", shell_complete=model_names,
                            help="A name from `wim-edge models list` or a GGUF file. "
                                 "Default: the highest ranked one on this disk that fits.")  # fmt: skip

engine_options = together(
    model_option,
    click.option("--ctx", "n_ctx", type=int, metavar="TOKENS",
                 help="Context size. Default: what the document needs and the model and memory allow."),
    click.option("--threads", "n_threads", type=int, metavar="N", help="Default: the physical cores."),
    click.option("--gpu-layers", "n_gpu_layers", type=int, metavar="N",
                 help="Layers on the GPU; -1 all, 0 none. Default: as many as fit."),
    click.option("--kv-type", type=click.Choice(KV_TYPES),
                 help=f"Element type of the KV cache. Default: {Settings.kv_type}. q8_0 halves its memory and the disk "
                      "space of saved readings; it was slower on the CPU that was measured."),
    click.option("--flash-attn/--no-flash-attn", "flash_attn", default=None,
                 help="Default: off on a CPU, llama.cpp's choice on a GPU."),
    debug_option,
)  # fmt: skip

reading_options = together(
    click.option("--judge", metavar="NAME|FILE", shell_complete=model_names,
                 help="The model that decides which passages answer, and whether any does; self: the model itself. "
                      "Default: the embedded model for segments that are read alone, if it is on this disk."),
    click.option("--relevance-model", hidden=True, metavar="NAME|FILE"),
    click.option("--first", is_flag=True, default=None,
                 help="Stop reading at the first answer that the judge is sure of."),
    click.option("--embedding-model", metavar="NAME|FILE", shell_complete=model_names,
                 help="The scout: an embedding model that helps to choose which segments are read first. "
                      "Default: all-minilm-l6-v2, if it is on this disk; none: common words alone decide."),
    click.option("--threshold", "relevance_threshold", type=float, metavar="0..1",
                 help="Relevance from which a segment counts. Default: 0.5 for verdicts, else 0.1 of the best one's, "
                      "0.03 for segments that are read alone."),
    click.option("--within", metavar="TIME|SHARE",
                 help="Read no more than this: 20s, 5m, 10%, or all. Default for segments that are read alone: likely "
                      "ones first, until a better one is unlikely; else all."),
    click.option("--passages", "max_passages", type=int, metavar="N",
                 help="Most segments or margins to answer from. Default: by models.toml, else 4."),
    click.option("--margins", type=click.Choice(MARGINS),
                 help="verbatim: quotations, the default; free: the model's own words."),
    click.option("--query-first", is_flag=True, default=None,
                 help="Put the question before the context too."),
    click.option("--segment-tokens", type=int, metavar="N",
                 help="Longest segment. Default: by models.toml, else 256 for segments that are read alone, else "
                      "1024."),
    click.option("--margin-tokens", type=int, metavar="N",
                 help="Longest margin. Default: 128 for a quotation, 64 in the model's own words."),
    click.option("--answer", type=click.Choice(ANSWERS),
                 help="Kind of answer: words of the text (fact), yes or no, a list, a summary, an explanation (free). "
                      "Default: auto, where the model chooses between fact, yes or no, and items of a list."),
    click.option("--prose/--no-prose", "prose", default=None,
                 help="Let the model write the answer, or only point at it. Default: by models.toml, else it writes."),
    click.option("--adapter", metavar="NAME|FILE",
                 help="A LoRA adapter that points at answers, or none. Default: by models.toml."),
    click.option("--answer-tokens", type=int, metavar="N",
                 help=f"Longest answer. Default: {Settings.answer_tokens}; of eval 100."),
    click.option("--templates", type=click.Path(path_type=Path), metavar="DIR",
                 help="Prompt templates that replace the shipped ones of the same name."),
    click.option("--temperature", type=float, help="0 is greedy, the default."),
    click.option("--top-p", type=float, help="Default: 1 (off)."),
    click.option("--min-p", type=float, help="Default: 0 (off)."),
    click.option("--seed", type=int, help="Makes sampled answers reproducible. Default: 0."),
)  # fmt: skip

question_options = together(
    click.option("-p", "--pattern", type=click.Choice(PATTERNS),
                 help="How to read and what to answer from (docs/how-it-works.md). Default: by models.toml, else wim "
                      "if the whole text takes at most half a minute, wim-shallow for longer texts."),
    click.option("--relevance", type=click.Choice(RELEVANCES),
                 help="How segments are scored. Default: by models.toml, else by the pattern."),
    reading_options,
    engine_options,
)  # fmt: skip

display_options = together(
    events_option,
    click.option("-q", "--quiet", is_flag=True, help="The answer alone."),
)

save_option = click.option("--save/--no-save", "save", default=None,
                           help="Save the reading, so that the next question need not read the text again "
                                "(`wim-edge readings`). Default: save it.")  # fmt: skip
rpc_option = click.option("--rpc", metavar="HOST:PORT[,...]",
                          help="Put the model's layers on these machines, where `wim-edge rpc-serve` runs "
                               "(docs/more-than-one-machine.md).")  # fmt: skip

asking_options = together(question_options, save_option, rpc_option)

cluster_options = together(
    click.option("--ray", metavar="ADDRESS",
                 help="Run on a Ray cluster: auto is the one this machine belongs to, local a new one of this machine "
                      "alone, or HOST:PORT. Needs wim-edge[ray]; default: no cluster."),
    click.option("--ray-actors", type=click.IntRange(min=1), metavar="N",
                 help="Model instances. Default: as many as the machines hold."),
    click.option("--ray-cpus", type=click.FloatRange(min=0, min_open=True), metavar="N",
                 help="CPUs of each. Default: --threads, or all of the smallest machine."),
    click.option("--ray-gpus", type=click.FloatRange(min=0), default=0, metavar="N",
                 help="GPUs of each; below 1 they share one. Default: 0."),
)  # fmt: skip


def check_display(as_json: bool, quiet: bool) -> None:
    if as_json and quiet:
        raise InvalidRequestError("--json and --quiet exclude each other", "Use one of them.")


def open_runtime(settings: Settings) -> Runtime | Worker:
    """Returns a runtime with these settings; with --rpc, a child process: a lost RPC server ends only the child."""
    if settings.rpc is None:
        from wim_edge.runtime import Runtime

        return Runtime(settings)
    from wim_edge.worker import Worker

    check_rpc(settings)
    return Worker(**settings.to_dict())


def check_rpc(settings: Settings) -> None:
    """Raises an error if the RPC servers cannot be used; warns if text leaves this machine unencrypted."""
    if settings.rpc is None:
        return
    from wim_edge.engine import rpc

    rpc.check(settings.rpc)
    for endpoint in rpc.remote_endpoints(settings.rpc.split(",")):
        click.echo(f"warning: the text goes to {endpoint} unencrypted; an SSH tunnel protects it", err=True)


def cluster_from(options: dict[str, Any]) -> Cluster | None:
    """Removes the --ray options from ``options``. Returns the cluster that they describe; None without --ray."""
    address, actors, cpus, gpus = (options.pop(name) for name in ("ray", "ray_actors", "ray_cpus", "ray_gpus"))
    if address is None:
        if actors or cpus or gpus:
            raise InvalidRequestError("--ray-actors, --ray-cpus and --ray-gpus need a cluster", "Add --ray auto.")
        return None
    if not all(math.isfinite(one) for one in (cpus or 0, gpus)):
        raise InvalidRequestError("--ray-cpus and --ray-gpus take numbers", "Give 1, 2, 0.5 and so on.")
    from wim_edge.batch.ray_cluster import Cluster
    from wim_edge.roles import process_memory

    settings = settings_from(options)
    if settings.rpc is not None:
        raise InvalidRequestError("--ray and --rpc exclude each other", "A server of RPC has one client at a time.")
    return Cluster(address, cpus or settings.n_threads, gpus, process_memory(settings), actors)


def settings_from(options: dict[str, Any]) -> Settings:
    """Returns the settings from environment variables, overridden by the ``options`` that are not None."""
    return Settings.from_environment().with_changes(**options)
