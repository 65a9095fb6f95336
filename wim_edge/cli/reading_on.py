"""The reader's choice, after an answer from part of a text, to have the rest read too."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from wim_edge.reading.events import Event


def is_terminal() -> bool:
    """Returns True if standard input and output are both a terminal."""
    return all(end is not None and end.isatty() for end in (sys.stdin, sys.stdout))


def may_read_on(last: Event | None) -> bool:
    """Returns True if the text that was not read for this answer may hold a better passage."""
    from wim_edge.reading.events import AnswerFinished

    if not isinstance(last, AnswerFinished) or last.finish_reason == "cancelled":
        return False
    return last.unread_probability is not None and last.read_segments < last.segments


def ask_to_read_on() -> bool:
    """Prompts the reader; returns True for Enter, False for other text, the end of the input or an interrupt."""
    try:
        return not input("\nEnter reads on, Ctrl-D ends ").strip()
    except (EOFError, KeyboardInterrupt):
        click.echo()
        return False
