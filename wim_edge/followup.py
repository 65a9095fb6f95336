"""Follow-up questions: one of a few words stands behind the question and the answer before it.

A question is scored against a text word by word, so that "and in 2022?" finds nothing. One of at most three words that
ends with a question mark goes on from the one before it; words without a mark ("notice period") are a search. Which
words they are does not matter, so that it holds in every language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

WHY = "it goes on from the question before"
"""The reason, as it is shown, why a follow-up question is not asked as it was put."""
_FEW = 3
"""The most words of a question that goes on from the one before."""
_MARKS = ("?", "？", "؟")
_REMEMBERED = 2
"""The most turns that a question is completed by."""
_SHORT = 200
"""The most characters of an answer that is shown in a question."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:['’]\w+)?")
"""A word; of scripts without blanks two characters."""


@dataclass(frozen=True)
class Turn:
    """A question that was asked, as it was put, and its answer in a few words; empty if there is none."""

    question: str
    short: str = ""


@dataclass
class Conversation:
    """The turns that the next question may go on from."""

    turns: list[Turn] = field(default_factory=list)

    def complete(self, question: str) -> str:
        """Returns the question to ask, completed where it goes on from the turns before it."""
        return completed(question, self.turns)

    def add(self, question: str, short: str) -> None:
        """Remembers a question, as it was put and not completed, and its answer."""
        # In a chain of such questions the first one says what all of them are about
        earlier = self.turns[: _REMEMBERED - 1] if goes_on(question) else []
        self.turns = [*earlier, Turn(question, short)]


def completed(question: str, turns: Sequence[Turn]) -> str:
    """Returns a question behind the turns before it, if it goes on from them."""
    if not turns or not goes_on(question):
        return question
    return " ".join([*map(_shown, turns[-_REMEMBERED:]), question.strip()])


def goes_on(question: str) -> bool:
    """Tells whether a question goes on from the one before: it has few words, and a question mark."""
    return question.rstrip().endswith(_MARKS) and len(_WORD.findall(question)) <= _FEW


def _shown(turn: Turn) -> str:
    short = " ".join(turn.short.split())
    return f"{turn.question.strip()} ({short})" if short and len(short) <= _SHORT else turn.question.strip()
