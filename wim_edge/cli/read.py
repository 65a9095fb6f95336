"""`wim-edge read`: reads documents ahead, so that the first question need not wait."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from wim_edge.cli.interrupt import EXIT_CANCELLED, Interruptible
from wim_edge.cli.options import events_option, open_runtime, question_options, rpc_option, settings_from


@click.command(short_help="Read documents ahead, without a question.")
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENT...", type=click.Path())
@click.option("--together", is_flag=True, help="Read all as the context of one question, not each alone.")
@question_options
@rpc_option
@events_option
def read(documents: tuple[str, ...], together: bool, as_json: bool, **options: Any) -> None:
    """Read each DOCUMENT in advance, for example overnight, and save the reading. `ask` then need not read it.

    A saved reading serves questions with the same model, segment size and way of reading (--pattern). Ctrl-C saves what
    was read and stops; the same command continues from there.

    \b
      wim-edge read thesis.pdf
      wim-edge ask thesis.pdf "Which data were used?"
    """
    settings = settings_from(options)
    from wim_edge.cli.display import display_for

    with open_runtime(settings) as runtime:
        for group in [documents] if together else [(document,) for document in documents]:
            reading = Interruptible(runtime, partial(runtime.read, group), "stopping; what was read is saved")
            reading.show(display_for(as_json=as_json, quiet=False, margins=False, stop="stops; what was read is saved"))
            if reading.presses:
                sys.exit(EXIT_CANCELLED)
