"""The kinds of question, told by their words: what is asked for decides how it is answered.

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

_TEXT = r"(?:text|document|book|file|page|article|paper|report|letter|guide|manual|story|program|thing)"
_SUMMARY = re.compile(
    r"(?:please |can you |could you )?"
    r"(?:summar[iy][sz]e\b|(?:a |short |brief )*summary\b(?! of the \w+ (?:of|in)\b)|tl;?dr\b"
    r"|(?:give|write|make|show|provide|i (?:want|need))\b.*\b(?:summary|overview|(?:main|key) (?:points|takeaways))\b"
    r"|(?:what are |list |name )?the (?:main|key) (?:points|takeaways)\b|(?:main|key) (?:points|takeaways)\b"
    r"|what(?:'s| is| are| was| were| does| do) (?:it|this|that|(?:the|this|that|these)(?: \w+){1,2}) (?:all )?"
    r"(?:about|deal with|cover)\W*$"
    rf"|what(?:'s| is) (?:it|this|this \w+|the {_TEXT}) for\W*$"
    rf"|what(?:'s| is) (?:this|the) {_TEXT}(?: and what\b.*)?\W*$|what(?:'s| is) this\W*$"
    r"|(?:eine? |kurze )*zusammenfassung\b|fass\w* .*\bzusammen\b|worum geht (?:es|das)(?: hier)?\W*$"
    r"|(?:faire? |un )*résum\w+\b|de quoi (?:parle|s'agit|traite)\b|(?:un )?resum\w+\b|de qué (?:trata|va)\b)",
    re.IGNORECASE,
)
_YESNO = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|may|might|must|should|shall|has|have|had|will|would"
    r"|isn't|aren't|don't|doesn't|didn't|can't|won't"
    r"|ist|sind|war|hat|haben|darf|dürfen|kann|können|muss|müssen|wird|gibt es|est-ce qu\w*|y a-t-il)\b",
    re.IGNORECASE,
)
_WAS = re.compile(
    r"was (?:alles|am|bei|bedeutet|bekomm\w+|brauch\w+|darf|für|genau|gesch[aie]h\w*|gibt|hat|haben|heißt|kann|kommt"
    r"|koste\w*|mach\w+|muss|müssen|passiert\w*|sagt|sind|soll\w*|st[ae]nd|steht|tun|tut|verdien\w*|wiegt|zahl\w*"
    r"|\w+ (?:die|du|er|es|ich|wir))\b"
    r"|was\b.*\b(?:das|dem|den|der|des|durch|eine?[mnrs]?|für|ihre?[mnrs]?|im|ist|mit|nach|nicht|seine?[mnrs]?|sich|sie"
    r"|und|vo[mn]|werden|wird|wurden?|zu[mr]?)\b",
    re.IGNORECASE,
)
"""The beginning, or a word, of a question in German, which asks what."""
_CHOICE = re.compile(r"\b(?:or|oder|ou|o)\b", re.IGNORECASE)
_OPEN = re.compile(r"(?:can|could|will|would) you (?:tell|say|list|name|explain|find|give)\b", re.IGNORECASE)
_LIST = re.compile(
    r"(?:please )?(?:list|name|enumerate|give)\b.*\b(?:all|every|each|the \w+s)\b|list\b"
    r"|(?:what|which) (?:are|were) (?:all|the \w+(?: \w+)*s)\b|who (?:are|were)\b"
    r"|(?:which|what) (?:\w+ )?(?!is\b|was\b|this\b|class\b|bus\b|process\b|clause\b|house\b)\w+[^s\s]s"
    r" (?:are|were|have|had|do|does|did|can|could|should|will|would|must|may|need|belong|come|has)\b"
    r"|(?:which|what) (?:kinds|types|sorts|forms|parts) of\b|all (?:the )?\w+s\b",
    re.IGNORECASE,
)
_FREE = re.compile(
    r"(?:why|explain|write|draft|compose|translate|rewrite|rephrase|invent|imagine"
    r"|describe|compare|how (?:come|does|do|did|would)\b.*\b(?:work|differ|happen|affect))", re.IGNORECASE
)


def kind_of(question: str) -> Kind:
    """Returns the kind of answer that a question asks for."""
    plain = question.strip().lstrip("¿¡\"'“« ")
    if _SUMMARY.match(plain):
        return "summary"
    if _LIST.match(plain):
        return "list"
    if _YESNO.match(plain) and not _WAS.match(plain) and not _CHOICE.search(plain) and not _OPEN.match(plain):
        return "yesno"
    return "free" if _FREE.match(plain) else "fact"


def settle(chosen: str | None, question: str) -> Kind:
    """Returns the kind that was chosen, or, if that is left open (None, auto), the one that the question asks for."""
    return kind_of(question) if chosen in (None, "auto") else cast(Kind, chosen)
