"""`wim-edge chat`: answers question after question on the same documents."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import click

from wim_edge.cli.interrupt import Interruptible, exit_on_signals, may_read_on
from wim_edge.cli.library import check_library, library_options
from wim_edge.cli.options import check_display, display_options, question_options, save_option, settings_from
from wim_edge.cli.terminal import show_error
from wim_edge.errors import InvalidRequestError, WimEdgeError

_ENDS = ("/quit", "/exit", "/q", "quit", "exit")
_FIRST = "Type a question and press Enter. /help lists the commands, /quit ends."
_HELP = """Each question is answered from the documents. "And in 2022?" or "why?" continue from the last question.
  /help     this
  /quit     ends; so do /exit and Ctrl-D
  Ctrl-C    answers with what has been read; twice, it cancels the question
  Enter     alone reads on, if part of the text is unread; otherwise it ends"""


@click.command(short_help="Ask question after question of documents.")
@click.argument("documents", nargs=-1, metavar="[DOCUMENT...]", type=click.Path())
@library_options
@question_options
@save_option
@display_options
def chat(
    documents: tuple[str, ...], library: str | None, as_json: bool, quiet: bool, no_margins: bool, **options: Any
) -> None:
    """Keep the model loaded, and answer questions on the DOCUMENTs, which are read once, or from a library.

    Each line of standard input is a question. A question may refer to the previous one: "and in 2022?", "why?". A model
    that writes then restates it; without such a model, the previous question and answer are put before it. The chat
    shows the new form. /help lists the commands; /quit, Ctrl-D, or Ctrl-C at the prompt ends. Ctrl-C while reading
    answers from what has been read; twice, it cancels the question. On a terminal an empty line continues the reading
    if part of the text is unread. With --no-save the reading is deleted when the chat ends.
    """
    if "-" in documents:
        raise InvalidRequestError("standard input brings the questions", "Give the document as a file.")
    check_library(documents, library, options)
    check_display(as_json, quiet)
    settings = settings_from(options)
    from wim_edge.cli.display import display_for
    from wim_edge.documents import read_documents
    from wim_edge.followup import Turn
    from wim_edge.library.library import Library
    from wim_edge.library.readings_db import kept_meanwhile
    from wim_edge.reading.events import AnswerFinished
    from wim_edge.runtime import Runtime

    if library is not None:
        Library(library)  # raises now, not with the first question
    with exit_on_signals(), kept_meanwhile(settings) as settings, Runtime(settings) as runtime:
        runtime.roles().reader.model()
        read = read_documents(documents, limits=settings)
        typed = bool(sys.stdin and sys.stdin.isatty())
        if typed and not as_json and not quiet:
            click.echo(_FIRST)
        before: Turn | None = None
        asked, last = "", None
        for line in _questions():
            if line in _ENDS:
                break
            if re.fullmatch(r"/\w*", line):
                click.echo(_HELP, err=as_json or quiet)
                continue
            if (read_on := not line) and (library is not None or not may_read_on(last)):
                break
            if not (as_json or quiet or typed):
                click.echo(f"question: {line}")
            question, after = (asked, None) if read_on else (line, before)
            stream = partial(runtime.stream, read, question, library=library, after=after, read_on=read_on)
            reading = Interruptible(runtime, stream)
            last = None
            try:
                last = reading.show(display_for(as_json=as_json, quiet=quiet, margins=not no_margins))
            except WimEdgeError as error:  # does not end the chat
                show_error(error)
            asked = reading.asked_as or question
            if isinstance(last, AnswerFinished) and last.finish_reason != "cancelled" and not read_on:
                before = Turn(asked, last.short if last.status != "not_found" else "")


def _questions() -> Iterator[str]:
    """Yields the non-empty lines of standard input; on a terminal, all lines, with a prompt for each."""
    if not (sys.stdin and sys.stdin.isatty()):
        yield from (line.strip() for line in sys.stdin or () if line.strip())
        return
    with suppress(ImportError):
        import readline  # noqa: F401 - gives input() its line editing
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            yield input("\n? ").strip()
