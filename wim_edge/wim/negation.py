"""The yes or no that a sentence's wording means: a small model takes "cars are not carried" for a yes to "are they?".

Rules in four languages find negation, which can be read and tested; the words after a "but" or a semicolon, or in
another cell, are another matter. A cell that says no, or 0, and a limit that a number exceeds, are told as well. A no
that no word of the sentence says, and an answer on a condition ("on plots 30 to 42 only"), are none to be sure of.
"""

from __future__ import annotations

import re

from wim_edge import words

_LOSS, _GAIN = 2.5, 0.5
"""The nats that a yes loses if the sentence has a negation, and gains if none of its words says no."""
_NEGATION = re.compile(
    r"\b(?:(?:not|no)(?!\.?\s*\S{0,20}\d)(?!\s+(?:(?:\w+er|more|less)\s+than|only|minimum|maximum|limit)\b)"
    r"|never|none|nobody|nothing|neither|nor|cannot|forbidden|prohibited"
    r"|nicht|nie|niemals|kein\w*|niemand|nichts|weder|verboten|untersagt"
    r"|pas|jamais|aucune?|personne|rien|interdite?s?|nunca|ningun\w*|ningún|nadie|nada|prohibid[oa]s?)\b|n['’]t\b"
    r"|\bn(?:e\s|['’])\w+(?:\s\w+){0,2}\splus\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"[;|\t]|\b(?:but|except|unless|although|though|while|aber|außer|sondern|obwohl|mais|sauf|pero|salvo|sino)\b",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:closed|shut|removed|cancell?ed|excluded|rejected|refused|declined|discontinued|abolished|banned|ended|exempt"
    r"|expired|stopped|lost|broken|separately|without|instead"
    r"|geschlossen|abgesagt|abgelehnt|ausgeschlossen|entfällt|ohne|stattdessen"
    r"|fermée?s?|annulée?s?|refusée?s?|supprimée?s?|sans|cerrad[oa]s?|cancelad[oa]s?|rechazad[oa]s?"
    r"|suprimid[oa]s?|sin)\b",
    re.IGNORECASE,
)
"""Words that say no to some question or other."""
_ASKS_DENIAL = re.compile(
    r"\b(?:clos|shut|remov|cancel|exclu|reject|refus|declin|discontinu|abolish|bann?(?:ed|ing)?\b|end(?:s|ed)?\b|exempt"
    r"|expir|stop|los[ets]|br[eo]ak|separate|without|instead|forbid|prohibit"
    r"|zu\W*$|(?:ge)?schl[io][eo]?[sß]|ab(?:ge)?sag|ablehn|abgelehnt"
    r"|entf[aä]ll|ohne|ferm|annul|supprim|interdit|sans\b|cerra|cancela|rechaz|suprim|prohib|sin\b)",
    re.IGNORECASE,
)
"""A question that asks for such a thing: "Is it shut?"."""
_CONDITION = re.compile(
    r"\b(?:(?<!not )(?<!the )only|alone|unless|provided (?:that|you|your|the)|except\w*|otherwise|up to(?! date)"
    r"|at most|subject to|on request|by arrangement|permission|under supervision|depend\w*|nur|sofern|falls|außer"
    r"|höchstens|bis zu|auf anfrage|seulement|uniquement|sauf|à condition|sur demande"
    r"|s[oó]lo|solamente|salvo|excepto|a menos|previa)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_IF = re.compile(r"\b(?:if|wenn|si|s['’]ils?)\b", re.IGNORECASE)
"""A condition, whatever the question's own "if" is ("Is it all right if ...?")."""


def clause_around(marks: re.Pattern[str], sentence: str, start: int, end: int) -> tuple[int, int]:
    """Returns the bounds of what stands around the characters ``[start, end)``, up to the next marks."""
    left = max((mark.end() for mark in marks.finditer(sentence, 0, max(start, 0))), default=0)
    right = next((mark.start() for mark in marks.finditer(sentence, min(end, len(sentence)))), len(sentence))
    return left, right


def is_literal(sentence: str) -> bool:
    """Tells whether a sentence begins with a yes or a no."""
    return _LITERAL.match(sentence) is not None


def is_negation(text: str) -> bool:
    """Tells whether a text has a word that says no."""
    return _NEGATION.search(text) is not None


def negates(question: str, sentence: str, start: int, end: int) -> bool:
    """Tells whether a sentence is negated around its characters ``[start, end)``, and the question is not."""
    around = sentence[slice(*clause_around(_OTHERWISE, sentence, start, end))]
    return is_negation(around) and not is_negation(question)


def yes_or_no(question: str, sentence: str, start: int, end: int, log_odds: float) -> tuple[bool, bool]:
    """Returns whether the answer is yes, and whether the wording bears that: of the clause with most of the question's
    words, or around the sentence's characters ``[start, end)``, on no condition that only the sentence names.

    ``log_odds``: the model's, in nats, of Yes against No. It takes many a plain statement for a no.
    """
    around = sentence[slice(*clause_around(_OTHERWISE, sentence, start, end))]
    clause, is_clear = _meant(question, sentence, around)
    is_negated = is_negation(clause) and not is_negation(question)
    is_denied, asks_denial = _DENIAL.search(clause) is not None, _ASKS_DENIAL.search(question) is not None
    is_bare = is_clear and not is_conditional(question, sentence)
    if is_negated and (is_denied or asks_denial):  # twice no: "no longer closed"
        return log_odds > 0, False
    if is_negated or (is_denied and not asks_denial):
        is_yes = log_odds > (_LOSS if is_negated else 0)
        return is_yes, is_bare and not is_yes
    is_yes = log_odds > -_GAIN
    return is_yes, is_yes and is_bare and set(_FIGURE.findall(question)) <= set(_FIGURE.findall(sentence))


def _meant(question: str, sentence: str, around: str) -> tuple[str, bool]:
    """Returns the clause with most of the question's words, ``around`` if none has more than another, and whether no
    clause that says no where that one does not, or the other way, has a word of the question that it lacks."""
    asked = words.without_endings(question)
    clauses = [clause for clause in _OTHERWISE.split(sentence) if clause.strip()]
    shared = [asked & words.without_endings(clause) for clause in clauses]
    most = max(map(len, shared), default=0)
    best = [clause for clause, words_of in zip(clauses, shared, strict=True) if len(words_of) == most]
    meant = best[0] if len(best) == 1 else around
    own, says_no = words.without_endings(meant), _says_no(meant)
    return meant, all(of <= own or _says_no(clause) is says_no for clause, of in zip(clauses, shared, strict=True))


def _says_no(clause: str) -> bool:
    return is_negation(clause) or _DENIAL.search(clause) is not None


def is_conditional(question: str, sentence: str) -> bool:
    """Tells whether a sentence names a condition that the question does not; a limit in numbers is none."""
    sentence = _AT_MOST.sub("", sentence)
    asked = {word.casefold() for word in _CONDITION.findall(question)}
    others = {word.casefold() for word in _CONDITION.findall(sentence)} - asked
    return bool(others) or _IF.search(sentence) is not None


_TRUE = re.compile(r"yes|ja|oui|sí|true|on|enabled|included|available|✓", re.IGNORECASE)
_FALSE = re.compile(
    r"no|nein|non|false|off|disabled|none|nil|0(?:[.,]0+)?(?: [^\W\d]+)?|sold out|out of stock"
    r"|not (?:included|available)|ausverkauft|épuisé|agotado|✗",
    re.IGNORECASE,
)
_LITERAL = re.compile(r"\W*(?:(?P<yes>yes|ja|oui|sí)|no|nein|non)\s*[.,:;!–—]", re.IGNORECASE)
"""A sentence that begins with its answer, as those below a question do."""
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
    """Returns the yes or no that a sentence begins with, that the value around its characters ``[start, end)`` is, or
    that its upper limit gives to a number in the question; None if none is there."""
    if literal := _LITERAL.match(sentence):
        return literal["yes"] is not None
    left, right = clause_around(_VALUE_ENDS, sentence, start, end)
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
