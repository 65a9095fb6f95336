"""`wim-edge ask`: reads documents, shows the margins, gives an answer."""

from __future__ import annotations

import os.path
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from wim_edge.cli.interrupt import Interruptible, ask_to_read_on, is_terminal, may_read_on
from wim_edge.cli.library import check_library, library_options
from wim_edge.cli.options import (
    asking_options,
    check_display,
    display_options,
    open_runtime,
    settings_from,
)
from wim_edge.errors import InvalidRequestError

if TYPE_CHECKING:
    from wim_edge.reading.events import AnswerFinished


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
    no_margins: bool, explain: bool, **options: Any,
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
            last = reading.show(display_for(as_json=as_json, quiet=quiet, margins=not no_margins))
            if not (on_screen and library is None and may_read_on(last) and ask_to_read_on()):
                break
            read_on = True
    if explain and not as_json and last is not None and last.type == "answer.finished":
        finished = cast("AnswerFinished", last)
        entry = Catalog.load().entries.get(finished.judge or finished.model)
        weights = SupportWeights.from_mapping(entry.support if entry else {})
        click.echo("\n".join(format_candidates(finished, weights)))
    if code := reading.exit_code(last):
        sys.exit(code)
