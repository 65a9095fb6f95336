"""`wim-edge read`: reads documents ahead, so that the first question need not wait."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

import click

from wim_edge.cli.interrupt import EXIT_CANCELLED, Interruptible
from wim_edge.cli.options import (
    configure_logging,
    engine_options,
    open_runtime,
    pattern_options,
    reading_options,
    rpc_option,
    settings_from,
)


@click.command(short_help="Read documents ahead, without a question.")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...", type=click.Path())
@click.option("--together", is_flag=True, help="All of them as the context of one question, not each alone.")
@pattern_options
@reading_options
@engine_options
@rpc_option
@click.option("--json", "as_json", is_flag=True, help="One event a line on standard output (docs/events.md).")
@click.pass_context
def read(
    ctx: click.Context, /, documents: tuple[str, ...], together: bool, as_json: bool, **options: Any
) -> None:
    """Read each DOCUMENT and keep the reading: overnight, before a flight. `ask` then need not read it.

    What is kept serves questions with the same model, segment size and way of reading (--pattern). Ctrl-C
    stops; what was read is kept, and the same command goes on from there.

    \b
      wim-edge read thesis.pdf
      wim-edge ask thesis.pdf "Which data were used?"
    """
    settings = settings_from(options)
    configure_logging(ctx)
    from wim_edge.cli.display import display_for

    groups = [documents] if together else [(document,) for document in documents]
    with open_runtime(settings) as runtime:
        for group in groups:
            display = display_for(as_json=as_json, quiet=False, margins=False, stop="stops; what was read is kept")
            reading = Interruptible(runtime, lambda: runtime.read(group), "stopping; what was read is kept")  # noqa: B023
            with display, closing(reading.events()) as found:
                for event in found:
                    display.show(event)
            if reading.pressed:
                sys.exit(EXIT_CANCELLED)
