"""`wim-edge worker`: the runtime for a parent process, JSON lines on standard input and output."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import click

from wim_edge.cli.options import question_options, rpc_option, settings_from
from wim_edge.cli.terminal import print_json


@click.command(short_help="Serve a parent process over standard input and output.")
@question_options
@rpc_option
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the lines and exit.")
def worker(schema: bool, **options: Any) -> None:
    """Take requests as JSON lines on standard input, and answer with events as JSON lines on standard output.

    For applications that keep the model in a process of its own; in Python, wim_edge.worker.Worker starts it and
    talks to it. docs/worker.md describes the lines.
    """
    if schema:
        from wim_edge.server.worker_protocol import worker_schema

        print_json(worker_schema())
        return
    settings = settings_from(options)
    from wim_edge.engine import rpc
    from wim_edge.server.worker_protocol import serve

    rpc.allow_rpc()

    # Output of a native library goes to standard error, so that it does not mix with the JSON lines
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")
        serve(iter(sys.stdin.readline, ""), out, settings)
