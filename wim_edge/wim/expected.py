"""What form an answer has, as far as the question's first words tell: a number, or a time.

A model that points well in one language may miss in another that "wie hoch" asks for a number. Rules tell the form, so
that they can be read and tested; what has another form is not excluded.
"""

from __future__ import annotations

import re

_BEFORE = r"(?:(?:in|on|at|by|from|for|until|since|to|within|about|seit|bis|ab|im|für|à|en|depuis|desde|hasta)\s+)?"
_COUNT = re.compile(
    rf"{_BEFORE}(?:how (?:many|much|old|far|tall|deep|wide|heavy|high|fast|quickly|soon|often|long|large|big)"
    r"|wie ?viele?|wie (?:alt|hoch|lange|oft|weit|schnell|teuer|groß)|combien|cu[aá]nt[oa]s?)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    rf"{_BEFORE}(?:when|(?:what|which) (?:year|date|day|month|century)|what time|wann|quand|cu[aá]ndo)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\d|\b(?:zero|no|none|nothing|free|one|once|all|half|at once|daily|weekly|monthly|yearly|ein|eine[nmrs]?|jede\w?"
    r"|une?|deux|dix|cent|mille|chaque|gratuit|uno?|una|dos|tres|diez|cien|mil|cada|gratis)\b"
    r"|\b(?:two|twi|thr|four|five|fift|six|seven|eight|nine|ten|eleven|twel|thirt|twent|fort|hundred|thousand|million"
    r"|billion|dozen|quarter|every|annual|unlimited|several|immediately|zwei|drei|vier|fünf|sechs|sieb|acht|neun|zehn|elf"
    r"|zwölf|hundert|tausend|täglich|sofort|kostenlos|trois|quatre|quatorze|cinq|sept|huit|neuf|onze|douze|treize|vingt"
    r"|cuatro|cinco|seis|siete|ocho|nueve|once|doce|trece|catorce|quince|veint)",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\d|\b[^\W\d_a-zà-ÿ]\w*"
    r"|\b(?:days?|weeks?|months?|years?|noon|midnight|spring|summer|autumn|winter|century|dawn|once|always|never)\b"
)


def fits(question: str, answer: str) -> bool:
    """Returns whether an answer has the form that the question asks for; True where it asks for none in particular."""
    plain = question.strip().lstrip("¿")
    if _COUNT.match(plain):
        return _NUMBER.search(answer) is not None
    return not _TIME.match(plain) or _WHEN.search(answer) is not None
