"""Negation in a sentence: a small model reads "cars are not carried" as a yes to "are cars carried".

Rules in four languages find it, which can be read and tested. The words behind a "but" or a semicolon, or in another
cell, are another matter.
"""

from __future__ import annotations

import re

LOSS = 2.5
"""The nats that a yes loses if the sentence has a negation and the question none."""
_NEGATION = re.compile(
    r"\b(?:(?:not|no)(?!\.?\s*\S*\d)(?! (?:later|earlier|more|less|fewer|longer|only)\b)"
    r"|never|none|nobody|nothing|neither|nor|cannot|forbidden|prohibited"
    r"|nicht|nie|niemals|kein\w*|niemand|nichts|weder|verboten|untersagt"
    r"|pas|jamais|aucune?|personne|rien|interdite?s?|nunca|ningun\w*|ningún|nadie|nada|prohibid[oa]s?)\b|n['’]t\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"[;|\t]|\b(?:but|except|unless|although|though|while|aber|außer|sondern|obwohl|mais|sauf|pero|salvo|sino)\b",
    re.IGNORECASE,
)


def is_negation(text: str) -> bool:
    """Tells whether a text has a word that says no."""
    return _NEGATION.search(text) is not None


def negates(question: str, sentence: str, start: int, end: int) -> bool:
    """Tells whether a sentence is negated around its characters ``[start, end)``, and the question is not."""
    left = max((match.end() for match in _OTHERWISE.finditer(sentence, 0, max(start, 0))), default=0)
    right = next((match.start() for match in _OTHERWISE.finditer(sentence, min(end, len(sentence)))), len(sentence))
    return _NEGATION.search(sentence, left, right) is not None and _NEGATION.search(question) is None
