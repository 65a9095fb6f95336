"""Kinds of question, told by their words: what is asked for decides how it is answered.

    fact     a name, number, date, place or clause: pointed at in the best passages
    yesno    a yes or a no, and the quotation that it rests on
    list     all of something: the items of the list or table, or one run of each passage
    summary  what the whole is about: its beginning and its headings
    free     an explanation, in the model's own words where it writes well enough
"""

from __future__ import annotations

import re
from typing import Literal, cast

Kind = Literal["fact", "yesno", "list", "summary", "free"]
KINDS = ("auto", "fact", "yesno", "list", "summary", "free")

_SUMMARY = re.compile(
    r"\b(?:summar(?:y|ise|ize)|tl;?dr|overview of (?:this|the)|main (?:points|topics)|key (?:points|takeaways)"
    r"|what (?:is|are|was|does) (?:it|th(?:is|e)(?: \w+){0,2}) (?:all )?(?:about|deal with|for\?*$)"
    r"|what(?: is|'s) (?:this|the) (?:text|document|book|file|page|program|article)\b"
    r"|zusammenfass\w*|worum geht|résum\w*|de quoi (?:parle|s'agit|traite)|resum\w+|de qué (?:trata|va))",
    re.IGNORECASE,
)
_YESNO = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|may|might|must|should|shall|has|have|had|will|would"
    r"|isn't|aren't|don't|doesn't|didn't|can't|won't"
    r"|ist|sind|war|hat|haben|darf|dürfen|kann|können|muss|müssen|wird|gibt es|est-ce qu\w*|y a-t-il)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\b(?:or|oder|ou|o)\b", re.IGNORECASE)
_OPEN = re.compile(r"(?:can|could|will|would) you (?:tell|say|list|name|explain|find|give)\b", re.IGNORECASE)
_LIST = re.compile(
    r"(?:please )?(?:list|name|enumerate|give)\b.*\b(?:all|every|each|the \w+s)\b|list\b"
    r"|(?:what|which) (?:are|were) (?:all|the \w+(?: \w+)*s)\b|who (?:are|were)\b"
    r"|(?:which|what) (?:\w+ )?(?!is\b|was\b|this\b|class\b|bus\b|process\b|clause\b|house\b)\w+[^s\s]s"
    r" (?:are|were|have|had|do|did|can|must|may|need|belong|come|has)\b"
    r"|all (?:the )?\w+s\b|what (?:are|were) the .*\bmost (?:common|frequent)\b",
    re.IGNORECASE,
)
_FREE = re.compile(
    r"(?:why|explain|describe|compare|how (?:come|does|do|did|would)\b.*\b(?:work|differ|happen|affect))", re.IGNORECASE
)


def kind_of(question: str) -> Kind:
    """Returns what a question asks for."""
    plain = question.strip().lstrip("¿¡\"'“« ")
    if _SUMMARY.search(plain):
        return "summary"
    if _LIST.match(plain):
        return "list"
    if _YESNO.match(plain) and not _CHOICE.search(plain) and not _OPEN.match(plain):
        return "yesno"
    return "free" if _FREE.match(plain) else "fact"


def settle(chosen: str | None, question: str) -> Kind:
    """Returns the kind that was chosen, or where that is left open (None, auto) what the question asks for."""
    return kind_of(question) if chosen in (None, "auto") else cast(Kind, chosen)
