"""After an answer from a part of a text: whether the reader wants the rest read too."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from wim_edge.wim.events import Event


def is_terminal() -> bool:
    """Returns whether a person sits at both ends."""
    return all(end is not None and end.isatty() for end in (sys.stdin, sys.stdout))


def may_read_on(last: Event | None) -> bool:
    """Returns whether a better passage may stand in what was not read for this answer."""
    from wim_edge.wim.events import AnswerFinished

    if not isinstance(last, AnswerFinished) or last.finish_reason == "cancelled":
        return False
    return last.unread_probability is not None and last.read_segments < last.segments


def ask_to_read_on() -> bool:
    """Returns whether Enter is pressed, and not the end of the input or an interrupt."""
    try:
        return not input("\nEnter reads on, Ctrl-D ends ").strip()
    except (EOFError, KeyboardInterrupt):
        click.echo()
        return False
