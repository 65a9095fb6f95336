"""`wim-edge ask` and `chat`: read documents, show the margins, answer one question or one after the other."""

from __future__ import annotations

import os.path
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from wim_edge.cli.interrupt import Interruptible, exit_on_signals
from wim_edge.cli.library import check_library, library_options
from wim_edge.cli.options import (
    asking_options,
    check_display,
    display_options,
    open_runtime,
    question_options,
    save_option,
    settings_from,
)
from wim_edge.cli.terminal import show_error
from wim_edge.errors import InvalidRequestError, WimEdgeError

if TYPE_CHECKING:
    from wim_edge.reading.events import AnswerFinished, Event

_ENDS = ("/quit", "/exit", "/q", "quit", "exit")
_FIRST = "Type a question and press Enter. /help lists the commands, /quit ends."
_HELP = """Each question is answered from the documents. "And in 2022?" or "why?" continue from the last question.
  /help     this
  /quit     ends; so do /exit and Ctrl-D
  Ctrl-C    answers with what has been read; twice, it cancels the question
  Enter     alone reads on, if part of the text is unread; otherwise it ends"""


@click.command(short_help="Ask a question of documents.")
@click.argument("documents", nargs=-1, metavar="[DOCUMENT...]", type=click.Path())
@click.argument("question")
@library_options
@asking_options
@click.option("--stop-after", type=click.IntRange(min=1), metavar="N",
              help="Answer after N margins that were relevant so far. The first ones may be weak.")
@click.option("--explain", is_flag=True, help="Print the candidate answers, with the terms of their scores.")
@display_options
def ask(
    documents: tuple[str, ...], question: str, library: str | None, stop_after: int | None, as_json: bool, quiet: bool,
    explain: bool, **options: Any,
) -> None:  # fmt: skip
    """Ask QUESTION of one or more DOCUMENTs (text, Markdown, HTML, PDF, DOCX, XLSX, PPTX, OpenDocument, RTF, EPUB, CSV,
    e-mail; scans and pictures with the extra ocr; - is standard input).

    Ctrl-C once answers from what has been read so far; twice, it cancels. If only part of the text was read, Enter on a
    terminal continues the reading until a better passage is found. If standard output is not a terminal, it gets
    margins, answer and sources as plain lines. Progress and warnings then go to standard error.

    \b
      wim-edge ask report.pdf "What were the costs in 2023?"
      wim-edge ask --stop-after 2 a.txt b.md "Who signed?"
      curl -s https://example.org/long.html | wim-edge ask - "What is it about?"
      wim-edge ask --library papers "Which data were used?"
    """
    settings = settings_from(options)
    if os.path.isfile(question):
        hint = "Give the question as the last argument, in quotes."
        raise InvalidRequestError(f"the question is missing: the last argument, {question}, is a file", hint)
    check_library(documents, library, options)
    if stop_after is not None and settings.pattern in ("llm", "rag"):
        raise InvalidRequestError(f"the pattern {settings.pattern} writes no margins to stop at", "Use --pattern wim.")
    check_display(as_json, quiet)
    from wim_edge.catalog import Catalog
    from wim_edge.cli.display import display_for
    from wim_edge.cli.event_lines import format_candidates
    from wim_edge.reading import control
    from wim_edge.support import SupportWeights

    on_screen = not as_json and not quiet and is_terminal()
    policy, read_on = None if stop_after is None else control.stop_after(stop_after), False
    with open_runtime(settings) as runtime:
        while True:
            ask_it = partial(runtime.stream, documents, question, library=library, on_margin=policy, read_on=read_on)
            reading = Interruptible(runtime, ask_it)
            last = reading.show(display_for(as_json=as_json, quiet=quiet))
            if not (on_screen and library is None and _may_read_on(last) and _ask_to_read_on()):
                break
            read_on = True
    if explain and not as_json and last is not None and last.type == "answer.finished":
        finished = cast("AnswerFinished", last)
        entry = Catalog.load().entries.get(finished.judge or finished.model)
        weights = SupportWeights.from_mapping(entry.support if entry else {})
        click.echo("\n".join(format_candidates(finished, weights)))
    if code := reading.exit_code(last):
        sys.exit(code)


@click.command(short_help="Ask question after question of documents.")
@click.argument("documents", nargs=-1, metavar="[DOCUMENT...]", type=click.Path())
@library_options
@question_options
@save_option
@display_options
def chat(
    documents: tuple[str, ...], library: str | None, as_json: bool, quiet: bool, **options: Any
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
            if (read_on := not line) and (library is not None or not _may_read_on(last)):
                break
            if not (as_json or quiet or typed):
                click.echo(f"question: {line}")
            question, after = (asked, None) if read_on else (line, before)
            stream = partial(runtime.stream, read, question, library=library, after=after, read_on=read_on)
            reading = Interruptible(runtime, stream)
            last = None
            try:
                last = reading.show(display_for(as_json=as_json, quiet=quiet))
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


def is_terminal() -> bool:
    """Returns True if standard input and output are both a terminal."""
    return all(end is not None and end.isatty() for end in (sys.stdin, sys.stdout))


def _may_read_on(last: Event | None) -> bool:
    """Returns True if ``last`` is an answer that left segments unread, and was not cancelled."""
    return getattr(last, "has_more", False) and getattr(last, "finish_reason", "") != "cancelled"


def _ask_to_read_on() -> bool:
    """Asks on the terminal whether to read on. Returns True for Enter alone, False for text, Ctrl-D or Ctrl-C."""
    try:
        return not input("\nEnter reads on, Ctrl-D ends ").strip()
    except (EOFError, KeyboardInterrupt):
        click.echo()
        return False
