"""Follow-up questions: one that does not stand on its own is completed by the question and the answer before it.

A question is scored against a text word by word, so that "and in 2022?" finds nothing. Rules, which can be read and
tested, tell which questions are of that kind:

    it has no words of its own          "Why?", "And who else?", "How much?"
    it is a fragment                    "in 2022?", "what about the pump?", "and the deposit?"
    a pronoun has nothing to refer to   "when did she leave it?", "Is that allowed?"

A fragment takes the place of what it clearly replaces (a year of a year, a name of a name, a thing of a thing), and a
phrase with a preposition first is added; otherwise the questions follow each other, with the short answers between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from wim_edge.kinds import kind_of

WHY = "it goes on from the question before"
"""The reason, as it is shown, why a follow-up question is not asked as it was put."""
_REMEMBERED = 2
"""The most turns that a question is completed by."""
_ENOUGH = 3
"""The number of words of its own from which a question finds its passage, whatever "it" or "they" may mean in it."""
_SHORT = 200
"""The most characters of an answer that is shown in a question."""
_OPENING = re.compile(
    r"\s*(?:(?:and|but|or|so|also|then|und|aber|oder|et|mais|ou|y|pero)\b[\s,]*)?"
    r"(?:(?:what|how) about\b|was ist mit\b|wie ist es mit\b|qu'en est-il d[eu]\b|qué hay de\b)?\s*",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|am|do|does|did|can|could|may|might|must|shall"
    r"|should|will|would|has|have|had|wer|wen|wem|was|wann|wo|welche\w*|warum|wie|wieviel|ist|sind|war|hat|haben|darf"
    r"|kann|muss|qui|que|quoi|quand|où|quel\w*|pourquoi|comment|combien|est-ce|quién|qué|cuándo|dónde|cuál|cómo|cuánto"
    r"|list|name|give|tell|show|find|explain|describe|summari[sz]e|compare|count|enumerate|please)\b",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(
    r"(?:in|on|at|for|from|by|with|without|during|before|after|since|until|under|over|between|per|im|für|von|mit|bei"
    r"|nach|vor|seit|ab|pour|avec|dans|en|depuis|avant|après|para|con|desde)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_EMPTY = frozenset(
    _WORD.findall(
        "a i me we us you your my our about again all also an and any are as at be been but by can could did do does "
        "else ever exactly for from "
        "had has have how in into is it its just long many may might more most much must no not of often on one or "
        "other others out over please shall should so such than that the then there these they thing things this those "
        "to too up was were what when where which who whom whose why will with would yes "
        "wer wen wem wann wo warum wie und quand où pourquoi comment cuándo dónde cómo"
    )
)
_NOUN = re.compile(r"\b(?:the|an?|this|that|each|every|any|my|our|your|no)\s+(?!same\b)\w|(?<=\w )[A-ZÀ-ÖØ-Þ]\w|\d{2,}")
_IMPERSONAL = re.compile(
    r"\bit (?:possible|necessary|allowed|required|true|say|mention|state|give|list)\b|\bis it\b.*\b(?:to|that)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:the|an?)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_NAME = re.compile(r"(?<=\w )(?:[A-ZÀ-ÖØ-Þ][\w'’.-]*)(?: (?:de|van|von|der|du|da|of)\b)?(?: [A-ZÀ-ÖØ-Þ][\w'’-]*)*")
_THING = re.compile(
    r"\b(?:the|an?) \w+(?=\W*$| (?:be|is|are|was|were|has|have|had|do|does|can|may|must|should|will|in|on|at|for|to|by"
    r"|from|with|during|before|after|since|until|cost|start|end|begin|happen|take|open|close|last|weigh|work)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Turn:
    """A question that was asked, in its completed form, and its answer in a few words; empty if there is none."""

    question: str
    short: str = ""


@dataclass
class Conversation:
    """The turns that the next question may refer to."""

    turns: list[Turn] = field(default_factory=list)

    def complete(self, question: str) -> str:
        """Returns the question to ask, completed where it refers to the turns before it."""
        return completed(question, self.turns)

    def add(self, question: str, short: str) -> None:
        """Remembers a question, as it was put and not completed, and its answer."""
        joined = _joins(question, self.turns)
        # In a chain of such questions the first one says what all of them are about
        earlier = self.turns[: _REMEMBERED - 1] if joined else []
        own = question if joined else completed(question, self.turns)
        self.turns = [*earlier, Turn(own, short)]


def completed(question: str, turns: Sequence[Turn]) -> str:
    """Returns a question, completed by the turns before it if it does not stand on its own."""
    if not turns or stands_for_itself(question):
        return question
    replaced = _replaced(question, turns[-1].question)
    if replaced is not None:
        return replaced
    return " ".join([*map(_shown, turns[-_REMEMBERED:]), question.strip()])


def stands_for_itself(question: str) -> bool:
    """Tells whether a question can be asked without the one before it."""
    plain = question.strip()
    rest = _rest(plain)
    opened = rest != plain
    if kind_of(plain) == "summary":
        return True
    content = _content(rest)
    if not content:
        return False
    if not _ASKS.match(rest):  # a fragment, or a sentence; keywords without a question mark are neither
        few = len(_WORD.findall(rest)) <= 6
        return not (few and (opened or _PREPOSITION.match(rest) or (rest.endswith("?") and len(content) < 3)))
    if _is_left_open(rest):
        return False
    return not opened or bool(_NOUN.search(rest)) or len(content) > 1


def _is_left_open(question: str) -> bool:
    """Tells whether a pronoun comes before anything that it could refer to."""
    found = _PRONOUN.search(question)
    if found is None or _IMPERSONAL.search(question) or _NOUN.search(question[: found.start()]):
        return False
    return bool(_PERSON.search(question)) or len(_content(question)) < _ENOUGH


def _joins(question: str, turns: Sequence[Turn]) -> bool:
    """Tells whether a question is completed by putting the questions before it in front of it."""
    return bool(turns) and not stands_for_itself(question) and _replaced(question, turns[-1].question) is None


_NOUN = re.compile(r"(?:the|my|our|your|his|her|its|their|der|die|das)(?: [\w’'-]+){1,3}", re.IGNORECASE)
_SUBJECT = re.compile(rf"(?P<asks>.*\b(?:is|are|was|were|ist|sind|war|waren)\s+){_NOUN.pattern}\W*", re.IGNORECASE)
"""A question that ends with what it asks about: "When is the next meeting?"."""
_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|himself|herself|itself|themselves)\b"
    r"|(?<!are )(?<!is )(?<!were )\bthere(?=\W*$)|\bthen(?=\W*$)"
    r"|\b(?:is|was|are|were|does|do|did|can|of|about|for|with|by|after|before|like|on|mean)\s+(?:this|that|these|those)"
    r"(?=\W*$|\s+(?:is|was|mean\w*|appl\w+|cost\w*|happen\w*|work\w*|take\w*|allowed|possible|true|correct|right)\b)"
    r"|^(?:this|that|these|those)(?=\s+(?:is|was|are|were)\b)",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
def _replaced(question: str, last: str) -> str | None:
    """Returns the last question with the fragment in the place of what it replaces; None if that is not clear."""
    rest = _rest(question).strip(" ?!.,")
    if not rest or _ASKS.match(rest) or _PRONOUN.search(rest):
        return None
    years = _YEAR.findall(rest)
    if len(years) == 1 and len(_YEAR.findall(last)) == 1 and _content(rest) == years:
        return _YEAR.sub(years[0], last)
    if _PREPOSITION.match(rest):
        same = re.search(rf"\b{re.escape(rest.split()[0])}\b", last, re.IGNORECASE)
        return None if same else f"{last.rstrip(' ?!.')} {rest}?"
    for kind in (_NAME, _THING) if len(_ARTICLE.findall(last)) < 2 else (_NAME,):
        # The one that is named now stands as if in a sentence, so that its first word counts as a name too
        if kind.fullmatch(f"x {rest}", 2) and len(found := list(kind.finditer(last))) == 1:
            return last[: found[0].start()] + rest + last[found[0].end() :]
    subject = _SUBJECT.fullmatch(last.strip())
    if subject and _NOUN.fullmatch(rest):
        return f"{subject['asks']}{rest}?"
    return None


def _rest(question: str) -> str:
    """Returns the question without the words that only join it to the last one."""
    found = _OPENING.match(question)
    return question[found.end() :].strip() if found else question.strip()


def _content(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.casefold() not in _EMPTY and not _PREPOSITION.fullmatch(word)]


def _shown(turn: Turn) -> str:
    short = " ".join(turn.short.split())
    return f"{turn.question.strip()} ({short})" if short and len(short) <= _SHORT else turn.question.strip()
