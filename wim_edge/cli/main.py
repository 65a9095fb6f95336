"""The `wim-edge` command group, and the one place where errors become output and exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from contextlib import suppress
from typing import Any

import click

import wim_edge
from wim_edge.cli.ask import ask, chat
from wim_edge.cli.bundle import bundle
from wim_edge.cli.interrupt import EXIT_CANCELLED
from wim_edge.cli.library import library
from wim_edge.cli.machine import doctor, tune
from wim_edge.cli.models import models
from wim_edge.cli.options import debug_option
from wim_edge.cli.readings import read, readings
from wim_edge.cli.runs import batch, eval_command
from wim_edge.cli.serve import mcp, rpc_serve, serve, worker
from wim_edge.cli.terminal import show_error
from wim_edge.engine import available_memory
from wim_edge.errors import MemoryBudgetError, WimEdgeError
from wim_edge.settings import OFFLINE_VARIABLE

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # OpenBLAS's threads reserve address space, and gain nothing here

EPILOG = """\b
Exit codes: 0 answered, perhaps unsurely; 1 another failure; 2 wrong request; 3 document; 4 model;
5 does not fit; 6 engine; 7 download; 8 libraries and saved readings;
10 stopped early with Ctrl-C and answered; 11 not in the document; 130 cancelled.
\b
Environment: WIM_EDGE_HOME moves configuration, models and saved data to one
folder; WIM_EDGE_MODEL, WIM_EDGE_N_CTX and so on set defaults; WIM_EDGE_OFFLINE=yes
is --offline; NO_COLOR is honoured.
\b
Shell completion: eval "$(_WIM_EDGE_COMPLETE=bash_source wim-edge)"
(zsh_source and fish_source likewise)."""


class CommandGroup(click.Group):
    """A click group that prints the error of a command as a message and a hint, and exits with the error's code."""

    def invoke(self, ctx: click.Context) -> Any:
        _prepare_streams()
        try:
            available_memory.require_minimum()
            return super().invoke(ctx)
        except (WimEdgeError, OSError, MemoryError) as error:
            ours = _as_ours(error)
            if ctx.find_root().meta.get("debug"):
                traceback.print_exception(error)
            show_error(ours)
            sys.exit(ours.exit_code)
        except KeyboardInterrupt:
            click.echo("cancelled", err=True)
            sys.exit(EXIT_CANCELLED)


def _as_ours(error: WimEdgeError | OSError | MemoryError) -> WimEdgeError:
    """Converts an error to a WimEdgeError. Raises a broken pipe (nobody reads our output) again: click handles it."""
    if isinstance(error, WimEdgeError):
        return error
    if isinstance(error, MemoryError):
        hint = f"Take less at once, or {available_memory.memory_hint()}."
        return MemoryBudgetError("there is not enough memory", hint)
    if error.errno == errno.EPIPE:
        raise error
    if os.name == "nt" and error.errno == errno.EINVAL and error.filename is None:  # a broken pipe on Windows
        raise BrokenPipeError(errno.EPIPE, error.strerror) from error
    if error.filename is None:
        # Discards buffered output that a full disk refused: Python would write it again at exit, and exit with 120
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    where = error.filename or ("the working directory" if error.errno == errno.ENOENT else "while writing")
    return WimEdgeError(f"{error.strerror}: {where}", "Check the disk and the path.")


def _prepare_streams() -> None:
    """Opens the null device for closed standard streams. Makes streams replace characters that they cannot encode."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A host program may have replaced the stream. A stream that was read from raises UnsupportedOperation
        if isinstance(stream, io.TextIOWrapper):
            # On Windows, Python before 3.15 writes files and pipes in a code page without most characters
            is_poor = os.name == "nt" and "PYTHONIOENCODING" not in os.environ and not stream.isatty()
            with suppress(io.UnsupportedOperation):
                stream.reconfigure(encoding="utf-8" if is_poor else None, errors="replace")


def _offline(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        os.environ[OFFLINE_VARIABLE] = "yes"  # child processes inherit it


@click.group(cls=CommandGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(wim_edge.__version__, prog_name="wim-edge")
@debug_option
@click.option("--offline", is_flag=True, expose_value=False, callback=_offline,
              help="Fetch nothing; only serve, rpc-serve, --ray and --rpc then open network sockets.")
def main() -> None:
    """Ask long documents with small models on your own machine.

    The model reads a document segment by segment. Beside each segment that matters to the question it writes a margin:
    a quotation from the segment. You watch the margins, and may stop the reading early.

    \b
      wim-edge ask contract.pdf "Who may end the contract, and when?"
      wim-edge models list
      wim-edge doctor
    """


for _command in (ask, chat, read, batch, serve, mcp, worker, rpc_serve, library, readings, eval_command, models, bundle,
                 doctor, tune):  # fmt: skip
    main.add_command(_command)
