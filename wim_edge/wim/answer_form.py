"""The form of an answer, as far as the question's words tell it: a number, say, and not those words alone.

A model that points well in one language may miss in another that "wie hoch" asks for a number. The form is told by
rules, which can be read and tested; an answer of another form is not excluded.
"""

from __future__ import annotations

import re

from wim_edge.documents.segments import MONTH
from wim_edge.kinds import kind_of

NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_WORD = re.compile(r"\w+")
_CHOICE = re.compile(r"\b(?:or|oder|ou|o)\b", re.IGNORECASE)
_COUNT = re.compile(
    r"(?:(?:in|on|at|by|from|for|to|within|about|auf|um|für|à|en|de|por)\s+)?"
    r"(?:how (?:many|much|far|old|tall|deep|heavy|big|wide|thick)|wie ?viele?|wie (?:alt|hoch|lang|schwer|teuer|weit)"
    r"|combien|cu[aá]nt[oa]s?|كم)\b|.*\bhow (?:many|much)\W*$|.*(?:多少|多大|几[个名次人岁位]|何[人個回歳]|いくつ)",
    re.IGNORECASE,
)
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        "a an and as at but by for from if in into it its of on or than that the their them then they this to was were "
        "with which who he she his her him we us our you your i me my "
        "aber als am an auf aus bei das dass dem den der des die durch ein eine einem einen einer er es für gegen ihr "
        "ihre im in ist mit nach oder sein seine sich sie so über um und unter vom von vor war was wie wir zu zum zur "
        "à au aux avec ce ces cette dans de des du elle en est et il ils la le les leur lui mais ou par pour que qui "
        "sa se ses son sur un une al con del el ella es las lo los para pero por sin su sus y ya "
        "che da di e gli il nel o per una com do dos em na os een het van voor met op"
    )
)
"""Articles, prepositions, pronouns and the like of some languages, which are no answer alone."""
_VERSION = re.compile(r"(?:(?:in|since|from|with|until) )?(?:which|what) (?:version|port)\b(?! of)", re.IGNORECASE)
_HOW_MANY = re.compile(r"(?:(?:in|on|at|by|from|for|to)\s+)?how many\b|.*\bhow many\W*$", re.IGNORECASE)
_ARTICLE = re.compile(
    r"(?:an?|each|every|the) (?!dozen|hundred|thousand|million|couple|few|single|pair)[^\d]*", re.IGNORECASE
)
"""An article and a noun, which are no count: "a year"."""
_HOW_LONG = re.compile(
    r"(?:for |within )?(?:how long (?:does|do|did|is|are|was|were|will|can|may|must|should|has|have|had|after|before"
    r"|until|it|i|we|you)\b(?!.*\b(?:river|road"
    r"|bridge|wall|rope|cable|boat|ship|tunnel|street|trail|path|table|room)\b)"
    r"|wie lange\b|combien de temps\b|cuánto tiempo\b)",
    re.IGNORECASE,
)
_LASTS = re.compile(
    rf"\d|\b(?:{MONTH}|\w*time|long|permanent\w*|indefinite\w*|for ?ever|life\w*|as long|throughout|generations?|all"
    r"|until|immediate\w*|unlimited|temporar\w*|brief\w*|short\w*|several|many|few|eighteen|hundreds?|thousands?|lange?\w*"
    r"|dauer\w*|toujours|siempre)\b"
    r"|\b(?:second|minute|hour|night|day|week|month|year|decade|centur|season|stunde|tage?\b|woche|monat|jahr|heure"
    r"|jour|semaine|mois|année|ans?\b|hora|día|semana|mes(?:es)?\b|año)",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"(?:what(?:'s|\s+(?:is|was|are|were))\s+)?(?:the\s+)?(?:\w+\s+){0,2}"
    r"(?:price|cost|fee|rent|deposit|amount|total|salary|wage|rate|percentage|age|height|weight|length|width|depth"
    r"|thickness|distance|duration|temperature|speed|capacity|number(?= of\b))s?"
    r"(?:\s+(?:due|owed|owing|payable|outstanding|to pay|of|for|per|with|without|including|excluding|before|after)\b"
    r"|\W*$)",
    re.IGNORECASE,
)
"""A quantity by its name: "unit price of the harness"."""
_COST = re.compile(
    r"how much\b.*\b(?:costs?|pay|paid|charged?|charges|price)\b|was kostet\w*\b|wie teuer\b|combien coûte\w*\b"
    r"|cuánto cuesta\w*\b|wie hoch (?:ist|sind|war|waren)\b.*(?:gebühr|preis|miete|kaution|betrag|kosten|entgelt|summe)"
    r"|what (?:do|does|did|would|will|must|should)\b.*\b(?:cost|pay|charge|come to)\b(?! (?:for|with)\W*$)"
    r"|(?:what(?:'s|\s+(?:is|was))\s+)?(?:the\s+)?(?:\w+\s+){0,2}"
    r"(?:(?:price|cost|fee)\b|(?:amount|total|balance)\s+(?:due|owed|owing|payable|outstanding|to pay)\b)",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r"(?<!per )(?<!an )(?<!a )(?<!each )(?<!every )"
    r"\b(?:second|minute|hour|day|week|month|year|decade|metre|meter|mile|litre|liter|gram)s?\W*$"
    r"|(?:%|\bper ?cent)\W*$",
    re.IGNORECASE,
)
"""An amount of something other than money."""
_MONEY = re.compile(
    r"(?<![^\W_])\d|[£€$]|\b(?:free|nothing|none|no (?:charge|fee)|included?|hundred"
    r"|thousand|million|half|quarter|third"
    r"|pounds?|euros?|dollars?|pence|cents?|marks?|francs?|same|kostenlos|umsonst|frei|gratis|gratuit\w*)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"(?:(?:since|until|till|from|by|ab|seit|bis|depuis|desde|منذ) )?(?:when|wann|quand|cuándo|متى)\b"
    r"|.*(?:什么时候|何时|哪一?年|哪天|いつ)"
    r"|(?:(?:in|on|at|by) )?(?:which|what) (?:date|day|month|year|time)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?<!\d)(?:1\d|20)\d\d(?!\d)|[年月日时期]|世纪|\b(?:ال)?(?:عام|سنة|يوم|شهر|قرن|قبل|بعد|منذ|عندما)\b"
    r"|\d(?:[:.h/]\d| ?(?:[ap]\.?m\b|uhr\b|h\b|st\b|nd\b|rd\b|th\b|o'clock))"
    rf"|\b(?:{MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:mon|tue|wed|thu|fri|sat|sun)\b"
    r"|when|after|before|during|while|until|till|since|as soon as|once|every|ago|then|in advance"
    r"|(?:up)?on \w+(?:al|ing|ure|ion|ery|ment)|at (?:the|its) (?:\w+ )?(?:end|beginning|start|close|latest)"
    r"|always|never|daily|weekly|monthly|yearly|immediately|soon|later|earlier|today|tomorrow|yesterday|now|noon"
    r"|midnight|easter|christmas|lent|ramadan|\w*tags?|nach|vor|bis|seit|am|im|um|ab|heute|morgen|wochen?|monate?"
    r"|jahre?|ostern|weihnachten|quand|après|avant|dès|pendant|jours?|semaines?|mois|années?|lundi|mardi|mercredi"
    r"|jeudi|vendredi|samedi|dimanche|noël|cuando|después|antes|hoy|mañana|días?|semanas?|mes(?:es)?|años?|lunes|martes"
    r"|miércoles|jueves|viernes|sábado|domingo|navidad)\b"
    r"|\b(?:second|minute|hour|day|night|morning|afternoon|evening|week|month|year|decade|century|centuries|season"
    r"|spring|summer|autumn|winter|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twel|thirt|twent"
    r"|first|third|fourth|fifth)",
    re.IGNORECASE,
)
"""Words said of a time; the list is wide, as a text without any of them is no time at all."""
_ASKS_CLOCK = re.compile(
    r"(?:\w+ )?(?:what|which) time\b(?! of)|.*\b(?:what|which) time\W*$|how (?:late|early)\b|um wie ?viel uhr\b"
    r"|à quelle heure\b|a qué hora\b|.*(?:几点|何時)", re.IGNORECASE,
)  # fmt: skip
_CLOCK = re.compile(
    r"\d ?[:.h] ?\d\d|\d ?(?:[ap]\.?m\b|uhr\b|h\b|o'clock)|\d[点時时]"
    r"|\b(?:noon|midday|midnight|mittags?|mitternacht|midi|minuit|mediodía|medianoche|dusk|dawn|sunset|sunrise"
    r"|before|after|when|while|as soon as|any ?time|half past|quarter (?:past|to)|o'clock"
    rf"|(?:at|by|from|until|till) (?:{NUMBERS}|\d{{1,2}}))\b",
    re.IGNORECASE,
)
_WEEKDAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|tue|wed|thu|fri|sat|sun)\b|(?:mon|diens|donners|frei|sams"
    r"|sonn)tags?|mittwochs?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes"
    r"|sábados?|domingos?"
)
_ON_A_DAY = re.compile(
    rf"\b(?:on|every|each|am|jeden|le|el|los)\s+(?:an?\s+)?(?:the\s+\d{{1,2}}(?:st|nd|rd|th)"
    rf"|(?:the\s+)?(?:{_WEEKDAY}|\d{{1,2}}\.? {MONTH}|{MONTH} \d))", re.IGNORECASE
)
_DAYS = re.compile(
    rf"\b(?:{_WEEKDAY}|{MONTH}(?:\.?,? \d{{4}})?|the|of|to|and|from|on|every|each|first|second|third|fourth|last"
    r"|\d{1,2}(?:st|nd|rd|th)?)\b|\W", re.IGNORECASE,
)  # fmt: skip
"""Days, which are no answer where the question names one."""
_DECIMAL = re.compile(r"\W{0,3}(\d{1,9})[.,](\d{1,9})\W{0,3}")
_DATES = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of |de )?{MONTH}(?:\.?,? (?:de )?\d{{4}})?"
    rf"|\b{MONTH} \d{{1,2}}\b(?:,? \d{{4}})?|\b{MONTH},? \d{{4}}\b"
    r"|\b\d{1,2}([./-])\d{1,2}\1\d{2,4}\b|\b\d{4}-\d\d-\d\d\b"
)
_CODES = re.compile(r"\b(?!(?:GBP|USD|EUR|CHF)\b)[A-Z]{1,6}[-_/]?\d[\w/-]*")
_PROGRAM = re.compile(r"\b[^\W\d]\w*_\w*")
_DIGITS = 3
_MONEY_OR_SHARE = re.compile(r"[£€$%]")
_UNIT = (
    r"(?:per ?cent(?:age)?|seconds?|minutes?|mins?|hours?|days?|nights?|weeks?|months?|years?|pounds?|euros?|dollars?"
    r"|pence|cents?|(?:centi|milli|kilo)?(?:met(?:re|er)|gram|lit(?:re|er))s?|miles?|feet|inch(?:es)?|kWh|[kmc]?m|k?g|m?l)"
)
_HOW_MUCH = re.compile(r"how much\b", re.IGNORECASE)
_LASTING_WORD = re.compile(
    r"\b(?:time|notice|leave|holiday|vacation|sick|longer|later|earlier|delay|warning)\b", re.IGNORECASE
)
_LASTING = re.compile(
    rf"(?:\d[\d.,]*|{NUMBERS})[\s-]*(?:second|minute|hour|day|night|week|month|year)s?", re.IGNORECASE
)
_UNITS = re.compile(rf"\b{_UNIT}\b|[%£€$]", re.IGNORECASE)
_MEASURED = re.compile(
    rf"[£€$]\s*\d[\d.,]*|(?:\d[\d.,]*|an?|{NUMBERS})[\s-]*(?:{_UNIT}|%|GBP|USD|EUR)",
    re.IGNORECASE,
)
"""A number with its unit, alone."""
_WHERE = re.compile(r"(?:(?:from|to) )?(?:where|wo|woher|wohin|où|d[oó]nde)\b", re.IGNORECASE)
_ITS = r"(?:what(?:'s|\s+is)\s+)?(?:(?:the|my|your|his|her|its|our|their|[\w’']+['’]s)\s+)?(?:\w+\s+){0,2}"
_MAIL = re.compile(rf"{_ITS}e-?mail(?:\s+address\b|\W*$)", re.IGNORECASE)
_PHONE = re.compile(
    rf"{_ITS}(?:(?:telephone|phone|mobile|fax)(?:\s+number\b|\W*$)"
    r"|number\s+(?:to|(?:do|can|should|must)\s+\w+)\s+(?:ring|call|phone|dial)\b)",
    re.IGNORECASE,
)
_BARE = (
    rf"[\W\d]*(?:{MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|[ap]\.?m|{NUMBERS}"
    r"|GBP|USD|EUR)?[\W\d]*"
)
"""A date, a time or a number alone."""
_WHO = re.compile(r"(?:(?:by|to|with|for|from|of) )?(?:who|whom|wer|wen|wem|qui|quién(?:es)?)\b", re.IGNORECASE)
_NOBODY = re.compile(
    r"(?:as|when|while|if|after|before|during|because|since|although|between|until|till|in|on|at|zwischen|als|wenn|nach|weil|im|am|quand|après"
    r"|pendant|dans|cuando|después|durante|en)\b.*"
    rf"|{_BARE}",
    re.IGNORECASE | re.DOTALL,
)
"""A text that begins as no person's name does, or that is a date or number alone."""
_NUMBER = re.compile(
    r"(?<![^\W_\u3000-\u9fff])\d|[一二两三四五六七八九十百千万亿零半]"
    r"|(?:واحد|اثن|ثلاث|أربع|خمس|ست[ةون]|سبع|ثمان|تسع|عشر|مئ[ةات]|مائة|ألف|مليون|نصف)|\b(?:zero|no|none|nothing|nobody|free|one|both|each|a|an|once|all|half"
    r"|at once|daily|weekly|monthly|yearly|ein|eine[nmrs]?|jede\w?"
    r"|une?|deux|dix|cent|mille|chaque|gratuit|uno?|una|dos|tres|diez|cien|mil|cada|gratis)\b"
    r"|\b(?:two|twi|thr|four|five|fift|six|seven|eight|nine|ten(?!\w)|eleven|twel|thirt|twent|fort|hundred|thousand|million"
    r"|billion|dozen|quarter|every|annual|unlimited|several|many|few|mehrere|viele|plusieurs|much[oa]s|vari[oa]s|immediately|zwei|drei|vier|fünf|sechs|sieb|acht|neun|zehn|elf"
    r"|zwölf|hundert|tausend|täglich|sofort|kostenlos|trois|quatre|quatorze|cinq|sept|huit|neuf|onze|douze|treize|vingt"
    r"|cuatro|cinco|seis|siete|ocho|nueve|once|doce|trece|catorce|quince|veint)",
    re.IGNORECASE,
)


def fits(question: str, answer: str) -> bool:
    """Tells whether an answer has the form that the question asks for; True if it asks for none in particular. Words
    like "of the" alone have none, nor has one of the question's own words, unless the question offers a choice."""
    # "IT" and "A" are names of something
    if all(word.casefold() in _FUNCTION_WORDS and not word.isupper() for word in _WORD.findall(answer)):
        return False
    said = set(_WORD.findall(answer.casefold()))
    if said <= set(_WORD.findall(question.casefold())) and kind_of(question) == "fact" and not _CHOICE.search(question):
        return False
    asked = question.strip().lstrip("¿")
    if _ASKS_CLOCK.match(asked):
        return _CLOCK.search(answer) is not None and not _is_decimal(answer)
    if _WHEN.match(asked):
        is_named = _ON_A_DAY.search(asked) and not _DAYS.sub("", answer) and not _CLOCK.search(answer)
        return _TIME.search(answer) is not None and not _is_decimal(answer) and not is_named
    if _WHO.match(asked):
        return _NOBODY.fullmatch(answer) is None and _MEASURED.fullmatch(answer) is None
    if _WHERE.match(asked):
        return re.fullmatch(_BARE, answer, re.IGNORECASE) is None and _MEASURED.fullmatch(answer) is None
    if _VERSION.match(asked):
        return re.search(r"\d", answer) is not None
    if _MAIL.match(asked):
        return "@" in answer
    if _PHONE.match(asked):
        return len(re.findall(r"\d", answer)) >= _DIGITS
    if _HOW_MANY.match(asked) and (_ARTICLE.fullmatch(answer.strip()) or _of_another_unit(asked, answer)):
        return False
    if _HOW_MUCH.match(asked) and _LASTING.fullmatch(answer.strip()) and not _LASTING_WORD.search(asked):
        return False
    if _HOW_LONG.match(asked):
        return _LASTS.search(answer) is not None and not _MONEY_OR_SHARE.search(answer)
    if _COST.match(asked) and (_SPAN.search(answer) or not _MONEY.search(_without_names(answer))):
        return False
    counts = _COUNT.match(asked) or _QUANTITY.match(asked)
    return counts is None or _NUMBER.search(_without_names(answer)) is not None


def _without_names(answer: str) -> str:
    """Returns an answer without dates, codes and names of a program's parts, whose numbers count nothing."""
    return _CODES.sub("", _DATES.sub("", _PROGRAM.sub("", answer)))


def _of_another_unit(question: str, answer: str) -> bool:
    """Tells whether an answer is measured in a unit that a question for a number of something does not name: "two
    weeks" of tiles, "£45" of people."""
    measured = _MEASURED.fullmatch(answer.strip())
    return measured is not None and _UNITS.search(question) is None


def _is_decimal(answer: str) -> bool:
    """Tells whether an answer is a decimal number that is no time of the day: "88.40", and not "8.40"."""
    found = _DECIMAL.fullmatch(answer)
    return found is not None and not (int(found[1]) <= 24 and len(found[2]) == 2 and int(found[2]) < 60)
