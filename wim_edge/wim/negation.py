"""The yes or no that a sentence's wording means: a small model takes "cars are not carried" for a yes to "are they?".

Rules in four languages find negation, which can be read and tested; the words after a "but" or a semicolon, or in
another cell, are another matter. A cell that says no, or 0, and a limit that a number exceeds, are told as well. A no
that no word of the sentence says, and an answer on a condition ("on plots 30 to 42 only"), are none to be sure of.
"""

from __future__ import annotations

import re

_LOSS, _LESS, _GAIN = 2.5, 0.5, 0.5
"""The nats that a yes loses if the sentence has a negation, loses if another of its words says no, gains else."""
_NEGATION = re.compile(
    r"\b(?:(?:not|no)(?!\.?\s*\S*\d)(?! (?:(?:later|earlier|more|less|fewer|longer) than|only)\b)"
    r"|never|none|nobody|nothing|neither|nor|cannot|forbidden|prohibited"
    r"|nicht|nie|niemals|kein\w*|niemand|nichts|weder|verboten|untersagt"
    r"|pas|jamais|aucune?|personne|rien|interdite?s?|nunca|ningun\w*|ningún|nadie|nada|prohibid[oa]s?)\b|n['’]t\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"[;|\t]|\b(?:but|except|unless|although|though|while|aber|außer|sondern|obwohl|mais|sauf|pero|salvo|sino)\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:closed|shut|removed|cancell?ed|excluded|rejected|refused|declined|discontinued|abolished|banned|ended|expired"
    r"|stopped|lost|broken|separately|without|instead|geschlossen|abgesagt|abgelehnt|ausgeschlossen|entfällt|ohne|stattdessen"
    r"|fermée?s?|annulée?s?|refusée?s?|supprimée?s?|sans|cerrad[oa]s?|cancelad[oa]s?|rechazad[oa]s?|suprimid[oa]s?|sin)\b",
    re.IGNORECASE,
)
"""Words that say no to some question or other."""
_CONDITION = re.compile(
    r"\b(?:only|alone|unless|if|provided (?:that|you|your|the)|except\w*|otherwise|up to|at most|subject to|on request"
    r"|by arrangement|permission|under supervision|depend\w*|nur|sofern|falls|wenn|außer|höchstens|bis zu|auf anfrage"
    r"|seulement|uniquement|sauf|à condition|sur demande|s[oó]lo|solamente|salvo|excepto|a menos|previa)\b",
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


def yes_or_no(question: str, sentence: str, start: int, end: int, log_odds: float) -> tuple[bool, bool]:
    """Returns whether the answer is yes, and whether the sentence's wording bears that without an if.

    ``log_odds``: the model's, in nats, of Yes against No. It takes many a plain statement for a no, and a yes or no
    stands on a condition where the sentence names one that the question does not.
    """
    is_bare = not _holds(_CONDITION, sentence, question)
    if negates(question, sentence, start, end):
        return log_odds > _LOSS, is_bare
    is_denied = _holds(_DENIAL, sentence, question)
    is_yes = log_odds > (_LESS if is_denied else -_GAIN)
    return is_yes, is_bare and is_yes is not is_denied


def _holds(pattern: re.Pattern[str], sentence: str, question: str) -> bool:
    """Tells whether a sentence has a word of the pattern that the question has not."""
    asked = {word.casefold() for word in pattern.findall(question)}
    return any(word.casefold() not in asked for word in pattern.findall(sentence))


_TRUE = re.compile(r"yes|ja|oui|sí|true|on|enabled|included|available|✓", re.IGNORECASE)
_FALSE = re.compile(
    r"no|nein|non|false|off|disabled|none|nil|0(?:[.,]0+)?(?: [^\W\d]+)?|sold out|out of stock"
    r"|not (?:included|available)|ausverkauft|épuisé|agotado|✗",
    re.IGNORECASE,
)
_STOCK = re.compile(r"\b(?:in stock|available|left|vorrätig|lieferbar|verfügbar|en stock|disponibles?)\b", re.I)
_ASKS_FALSE = re.compile(rf"(?<!\w)(?:{_FALSE.pattern})(?!\w)", re.IGNORECASE)
_VALUE_ENDS = re.compile(r"[|\t\n;·]|: |,\s")
_MAY = re.compile(
    r"(?:can|may|could|am i|are we|is it (?:ok|possible)|darf|dürfen|kann|können|puedo|se puede|puis-je|peut-on)\b",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"[.,](?=\d{3}\b)")
_AMOUNT = r"(?<![\d.,])(?P<number>\d{1,9}(?:[.,]\d{3})*(?:[.,]\d{1,9})?)(?![.,]?\d)[\s-]*(?P<unit>%|[^\W\d_]+)"
"""A number with its unit; neither a date nor a version, which have more points."""
_ASKED = re.compile(_AMOUNT)
_SOME = re.compile(rf"\d[\d.,]*|{_AMOUNT}")
_AT_MOST = re.compile(
    r"\b(?:up to|at most|max(?:imum|\.)?(?: of)?|not? (?:more|longer|heavier|larger|later) than"
    r"|(?:not|never) exceed(?:ing)?|limit(?:ed)?(?: of| to)?|bis zu|höchstens|maximal"
    r"|jusqu['’]à|au plus|hasta|como máximo)\s+" + _AMOUNT,
    re.IGNORECASE,
)


def stated(question: str, sentence: str, start: int, end: int) -> bool | None:
    """Returns the yes or no that the value around a sentence's characters ``[start, end)`` is, or that the sentence's
    upper limit gives to a number in the question; None if neither is there."""
    left = max((mark.end() for mark in _VALUE_ENDS.finditer(sentence, 0, max(start, 0))), default=0)
    right = next((mark.start() for mark in _VALUE_ENDS.finditer(sentence, min(end, len(sentence)))), len(sentence))
    value = sentence[left:right].strip(' .,"')
    is_some = _STOCK.search(question) and _SOME.fullmatch(value)
    if is_some or _TRUE.fullmatch(value) or _FALSE.fullmatch(value):
        return (_FALSE.fullmatch(value) is None) is (_ASKS_FALSE.search(question) is None)
    limit, asked = _AT_MOST.search(sentence), _ASKED.search(question)
    if not (limit and asked and _MAY.match(question) and not is_negation(question)):
        return None
    if limit["unit"].casefold()[:2] != asked["unit"].casefold()[:2]:
        return None
    return _number(asked["number"]) <= _number(limit["number"])


def _number(text: str) -> float:
    return float(_THOUSANDS.sub("", text).replace(",", "."))
