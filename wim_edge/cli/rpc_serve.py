"""`wim-edge rpc-serve`: lends this machine's devices to a model on another machine."""

from __future__ import annotations

import ipaddress
import signal
from pathlib import Path

import click

from wim_edge.cli.options import debug_option
from wim_edge.errors import InvalidRequestError

_WARNING = """\
WARNING: {host} can be reached from other machines. llama.cpp's RPC asks for no password, encrypts nothing, and
anyone who connects can take over this process. Use it only on a network of your own, or through an SSH tunnel
(docs/more-than-one-machine.md)."""


@click.command("rpc-serve", short_help="Lend this machine's GPU or CPU to a model on another machine.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=50052, show_default=True)
@click.option("--threads", "n_threads", type=click.IntRange(1, 1024), metavar="N", help="Default: the physical cores.")
@click.option("--cache", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Keep weights here, so that they are sent only once.")
@click.option("--expose", is_flag=True, help="Listen on an address that other machines reach, without any protection.")
@debug_option
def rpc_serve(host: str, port: int, n_threads: int | None, cache: Path | None, expose: bool) -> None:
    """Lend this machine's GPUs, or else its CPU, to `wim-edge ask --rpc HOST:PORT` on another machine.

    One client can connect at a time. Both machines need the same llama-cpp-python, built with GGML_RPC. Anyone who can
    connect can run code here. So by default only this machine can connect; other machines need an SSH tunnel.

    \b
      here:   wim-edge rpc-serve
      there:  ssh -o ServerAliveInterval=10 -N -L 50052:127.0.0.1:50052 this-machine &
              wim-edge ask --rpc 127.0.0.1:50052 report.pdf "What were the costs?"
    """
    from wim_edge.engine import rpc
    from wim_edge.engine.model import physical_cores

    try:
        host = str(ipaddress.IPv4Address("127.0.0.1" if host == "localhost" else host))
    except ValueError:
        hint = "llama.cpp listens on IPv4 addresses only."
        raise InvalidRequestError(f"{host} is no IPv4 address", hint) from None
    if rpc.remote_endpoints([f"{host}:{port}"]):
        if not expose:
            raise InvalidRequestError(
                f"{host} can be reached from other machines, and RPC has no protection",
                "Leave out --host and use an SSH tunnel; or, on a network of your own, add --expose.",
            )
        click.echo(_WARNING.format(host=host), err=True)
    rpc.require()
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # llama.cpp's loop never returns to Python's handler
    rpc.serve(host, port, n_threads or physical_cores(), cache)
