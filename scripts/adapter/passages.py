"""The passage with its questions, which every source of training data yields."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

NONE, YES, NO = "none", "Yes", "No"
MAX_QUESTIONS = 16
"""The most questions of a passage, which are trained on together."""
_MAX_ANSWER = 120
"""The most characters of an answer. Questions with longer answers are left out."""


@dataclass(frozen=True)
class Question:
    """A question and its target: a run of the passage's text, or ``NONE``, ``YES`` or ``NO``."""

    text: str
    target: str

    @property
    def is_span(self) -> bool:
        return self.target not in (NONE, YES, NO)


@dataclass(frozen=True)
class Passage:
    """A segment of a document, as wim-edge reads it alone, with questions.

    Attributes:
        heading: the lines above the text: the headings of the document and of the section.
    """

    source: str
    heading: str
    text: str
    questions: tuple[Question, ...]


def heading(title: str = "", section: str = "") -> str:
    """Returns the lines that the templates put above a segment (templates/document.jinja)."""
    above = f'Document "{title}":\n' if title else "Document:\n"
    return above + (f"{section}\n\n" if section else "")


def contains(text: str, answer: str) -> bool:
    """Returns whether the text contains the answer as whole words, ignoring case."""
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) is not None


def fill(
    rng: random.Random, answerable: Iterable[Question], absent: Iterable[Question], share: float = 0.45
) -> tuple[Question, ...]:
    """Returns at most ``MAX_QUESTIONS`` questions, about ``share`` of them without an answer, as users write them.

    A quarter is in lower case without a question mark, and an eighth consists of keywords if possible. Some more only
    lack the question mark.
    """
    answered, without = _distinct(answerable), _distinct(absent)
    rng.shuffle(answered)
    rng.shuffle(without)
    most = round(MAX_QUESTIONS * (1 - share))
    answered = answered[: max(most, MAX_QUESTIONS - len(without))]
    without = without[: max(1, round(len(answered) * share / (1 - share)))]
    questions = [*answered, *without]
    rng.shuffle(questions)
    return tuple(_typed(rng, question) for question in questions)


def _distinct(questions: Iterable[Question]) -> list[Question]:
    found = {question.text: question for question in questions if len(question.target) <= _MAX_ANSWER}
    return list(found.values())


_ASKS = re.compile(
    r"^(?:(?:by|at|on|in|from|to|until|since) )?(?:what|which|who|whom|how (?:much|many|high|large|long|old|often)|when"
    r"|where)(?: number| date| time)?(?: (?:is|are|was|were|does|do|did|has|have|must|can|will|should))?\b",
    re.IGNORECASE,
)
_SMALL = re.compile(r"\b(?:the|a|an|is|are|was|were|does|do|did|has|have|been|be|it|its|there|i|my|we|they)\b ?")


def keywords(question: str) -> str:
    """Returns a question as typed into a search box ("parking space number"); empty if its form is unknown."""
    asked = _ASKS.match(question)
    rest = _SMALL.sub("", question[asked.end() :].lower()) if asked else ""
    return rest.rstrip("?. ").strip()


def _typed(rng: random.Random, question: Question) -> Question:
    chance = rng.random()
    if chance > 0.87 and question.target not in (YES, NO) and len(keywords(question.text).split()) > 1:
        return replace(question, text=keywords(question.text))
    if chance < 0.25:
        return replace(question, text=question.text.lower().rstrip("?. "))
    if chance < 0.3:
        return replace(question, text=question.text.rstrip("?. "))
    return question
