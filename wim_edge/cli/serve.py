"""The commands that serve browsers and API clients (`serve`), an assistant (`mcp`), a parent process (`worker`), or a
model on another machine (`rpc-serve`)."""

from __future__ import annotations

import io
import ipaddress
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from wim_edge.cli.library import library_names
from wim_edge.cli.options import debug_option, question_options, rpc_option, settings_from
from wim_edge.cli.terminal import print_json
from wim_edge.errors import InvalidRequestError, required
from wim_edge.settings import TOKEN_VARIABLE
from wim_edge.system.addresses import is_loopback

_WARNING = """\
WARNING: {host} can be reached from other machines. llama.cpp's RPC asks for no password, encrypts nothing, and
anyone who connects can take over this process. Use it only on a network of your own, or through an SSH tunnel
(docs/more-than-one-machine.md)."""


@click.command(short_help="Serve the page to read with, and an API.")
@click.argument("folders", nargs=-1, metavar="[FOLDER...]", type=click.Path(exists=True, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0: any free one.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="A further name of this machine in URLs.")
@click.option("--token", envvar=TOKEN_VARIABLE, metavar="TOKEN",
              help="The token that each request must carry. Default on other addresses than loopback: a new one.")
@click.option("--waiting", type=click.IntRange(1, 1000), default=8, show_default=True,
              help="Requests that may wait for the model; further ones are refused and may retry.")
@click.option("--read-on", is_flag=True,
              help="After an answer, read on while nobody waits, and answer again if better passages are found.")
@question_options
def serve(
    folders: tuple[str, ...], host: str, port: int, names: tuple[str, ...], token: str | None, waiting: int,
    read_on: bool, **options: Any,
) -> None:  # fmt: skip
    """Serve a web page for reading documents, and the API that the page uses, by default to this machine only.

    The server reads uploaded documents and files in the FOLDERs, and no other file. Options are the defaults for
    requests. Ctrl-C ends the server. If --host is not a loopback address, each request must carry a token.

    \b
      wim-edge serve                                # then open http://127.0.0.1:8321
      wim-edge serve ~/papers --port 9000
      wim-edge serve --host 0.0.0.0 --name reader.local
    """
    settings = settings_from(options)
    with required("the server needs {}", "pip install 'wim-edge[server]'"):
        import uvicorn

        from wim_edge.server.app import create_app
        from wim_edge.server.guard import DrainingServer, HeaderTimeoutProtocol, new_token

    if token is None and not is_loopback(host):
        token = new_token()
    app = create_app(
        settings, folders=[Path(folder) for folder in folders], host=host, names=names, token=token,
        most_waiting=waiting, read_on=read_on,
    )  # fmt: skip
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, timeout_keep_alive=5,
        timeout_graceful_shutdown=2, limit_concurrency=256, server_header=False, http=HeaderTimeoutProtocol,
    )  # fmt: skip
    logging.getLogger("wim_edge").setLevel(logging.WARNING)
    try:
        sock = config.bind_socket()
    except SystemExit:  # uvicorn has printed why
        hint = "Choose another one with --port; 0: any free one."
        raise InvalidRequestError(f"port {port} of {host} cannot be used", hint) from None
    shown = f"[{host}]" if ":" in host else host
    suffix = f"/?token={token}" if token else "/"
    click.echo(f"wim-edge serves http://{shown}:{sock.getsockname()[1]}{suffix}", err=True)
    with suppress(KeyboardInterrupt):
        DrainingServer(config, app.state.service.close).run(sockets=[sock])


@click.command(short_help="Serve documents to an assistant (Model Context Protocol).")
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(exists=True, file_okay=False))
@click.option("--library", "libraries", multiple=True, metavar="NAME", shell_complete=library_names,
              help="Serve this library too (`wim-edge library add`); may be given several times.")
@question_options
def mcp(folders: tuple[str, ...], libraries: tuple[str, ...], **options: Any) -> None:
    """Speak the Model Context Protocol on standard input and output, for an assistant that starts this command.

    The tools list, read and answer from files in the named FOLDERs and libraries, and no others.
    """
    if not (folders or libraries):
        raise InvalidRequestError("nothing is named to serve", "Name a folder, or --library NAME.")
    settings = settings_from(options)
    with required("this needs {}", "pip install 'wim-edge[mcp]'"):
        from wim_edge.server.mcp_server import make_server
    make_server(settings, [Path(folder) for folder in folders], libraries).run()


@click.command(short_help="Serve a parent process over standard input and output.")
@question_options
@rpc_option
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the lines and exit.")
def worker(schema: bool, **options: Any) -> None:
    """Take requests as JSON lines on standard input, and answer with events as JSON lines on standard output.

    The command is for applications that keep the model in a process of its own. In Python, wim_edge.worker.Worker
    starts the process and talks to it. docs/worker.md describes the lines.
    """
    if schema:
        from wim_edge.server.worker_protocol import worker_schema

        print_json(worker_schema())
        return
    settings = settings_from(options)
    from wim_edge.engine import rpc
    from wim_edge.server.worker_protocol import serve as serve_lines

    rpc.allow_rpc()

    # Output of a native library goes to standard error, so that it does not mix with the JSON lines
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")
        serve_lines(iter(sys.stdin.readline, ""), out, settings)


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
    from wim_edge.engine.bindings import physical_cores

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
