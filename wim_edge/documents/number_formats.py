"""Values as a sheet shows them, by the number formats of ECMA-376, part 1, 18.8.31 ('#,##0.00 "EUR";[Red]-0')."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

_FORM = 255  # most characters of a number format
_EXACT = Context(prec=2000, rounding=ROUND_HALF_UP)  # 308 digits, and what 255 characters of a format can add
_PART = re.compile(
    r'"(?P<said>[^"]*)"?|\\(?P<sign>.)|_.|\*(?P<fill>.)|\[\$(?P<currency>[^\]-]*+)[^\]]*+\]'
    r"|\[(?P<condition>[<>=]{1,2}-?\d+(?:\.\d*)?)\]|\[(?P<total>h+|m+|s+)\]|\[[^\]]*+(?P<colour>)\]"
    r"|(?P<general>general|@)|(?P<half>am/pm|a/p)|(?P<code>y+|m+|d+|h+|s+)|(?P<power>e[+-]0+)"
    r"|(?P<ratio>[0#?]++ */)|(?P<places>[0#?](?:[0#?,]*[0#?])?)|(?<=[0#?])(?P<scale>,+)|(?P<other>.)", re.IGNORECASE,
)  # fmt: skip
_PLAIN, _POINT, _SHARE = ("general", "@"), ("other", "."), ("other", "%")
_BLANKS = {"0": "0", "#": "", "?": " "}  # what a place shows if the number has no digit there
_COPIED = ("general", "said", "sign", "currency", "other")
_CONDITIONS = {1: ("",), 2: (">=0", ""), 3: (">0", "<0", "")}  # of sections without their own, by how many there are
_THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_DATE_CODES = {
    "yy": "%y", "yyyy": "%Y", "m": "%m", "mm": "%m", "mmm": "%b", "mmmm": "%B", "d": "%d", "dd": "%d", "ddd": "%a",
    "dddd": "%A", "h": "%H", "hh": "%H", "n": "%M", "nn": "%M", "s": "%S", "ss": "%S",
}  # fmt: skip
"""The strftime codes for the parts of a date format; "n" is a minute, as "m" is a month."""
_LOCAL = re.compile(r"\[\$-(?!\w{0,2}09\]|en\b)(?:F[48]00|x-|\w{5}|[^\]]*\].*(?:mmm|ddd))", re.IGNORECASE)
"""Date formats that depend on the system, or whose names of months and days are not English."""
_SECONDS = {"h": 3600, "m": 60, "s": 1}
Parts = list[tuple[str, str]]  # (kind, text) of a section's parts: the kinds are the groups of ``_PART``


def shown(value: float | str | date | time | timedelta, form: str = "") -> str:
    """Returns a cell's value about as its sheet shows it. ``form``: its number format ("0.0%", '#,##0.00 "EUR"')."""
    form = form[:_FORM]
    if isinstance(value, str):
        *_, last = sections = _sections(form)[:4]
        is_of_text = len(sections) == 4 or _PLAIN in last
        parts = [part for part in (last if is_of_text else [_PLAIN]) if part[0] in _COPIED]
        return "".join(value if kind == "general" else text for kind, text in parts)
    if isinstance(value, date | time | timedelta):
        is_day = not isinstance(value, datetime) or value.time() == time()
        plain = "[h]:mm" if isinstance(value, timedelta) else "hh:mm" if isinstance(value, time) else "yyyy-mm-dd"
        return _dated(value, form) or _dated(value, plain if is_day else f"{plain} hh:mm") or str(value)
    if form in ("", "General") or not math.isfinite(value):
        return _general(value)
    conditions = _numeric(form)
    condition, parts = next((one for one in conditions if _is_met(one[0], value)), conditions[-1])
    text = _number(abs(value), parts)
    has_minus = value < 0 and (not condition or _is_met(condition, 0.01))  # else the section has its own sign
    return f"-{text}" if has_minus and text else text


def _general(value: float) -> str:
    return f"{value:.10g}" if abs(value) < 1e10 else f"{value:.0f}"


@lru_cache(maxsize=1000)
def _sections(form: str) -> list[Parts]:
    """Returns the parts of each section of a number format."""
    sections: list[Parts] = [[]]
    for one in _PART.finditer(form):
        if one["other"] == ";":
            sections.append([])
        elif kind := one.lastgroup:
            sections[-1].append((kind, one[kind]))
    return sections


@lru_cache(maxsize=1000)
def _numeric(form: str) -> list[tuple[str, Parts]]:
    """Returns the sections of a number format for numbers, each with its condition; the last has all that are left."""
    sections = _sections(form)
    if _PLAIN in sections[-1]:
        sections = sections[:-1] or [[_PLAIN]]
    found: list[tuple[str, Parts]] = []
    for parts, default in zip(sections, _CONDITIONS[min(len(sections), 3)], strict=False):
        if len(sections) == 2 and found and found[0][0] in (">0", ">=0"):
            default = "<0"
        kinds = {kind for kind, _ in parts}
        is_plain = kinds == {"colour"} or kinds & {"code", "half", "ratio"}
        found.append((dict(parts).get("condition", default), [_PLAIN] if is_plain else parts))
    return found


def _is_met(condition: str, value: float) -> bool:
    limit = float(condition.lstrip("<>=") or 0)
    return ("<" if value < limit else ">" if value > limit else "=") in condition


def _number(value: float, parts: Parts) -> str:
    """Returns a number, which is not negative, as a section of a format shows it."""
    places = "".join(text for kind, text in parts if kind == "places" or (kind, text) == _POINT).replace(",", "")
    n_whole, n_decimals = (len(side) for side in places.partition(".")[::2])
    shift = 2 * parts.count(_SHARE) - 3 * sum(len(text) for kind, text in parts if kind == "scale")
    number, power = Decimal(f"{value:.15g}").scaleb(shift), 0
    if "power" in dict(parts) and number:
        number = Decimal(f"{number:.{n_decimals}E}")
        power, number = number.adjusted(), number.scaleb(-number.adjusted())
    whole, _, decimals = f"{_EXACT.quantize(number, Decimal(1).scaleb(-n_decimals)):f}".partition(".")
    digits = f"{whole.lstrip('0'):>{n_whole}}{decimals.rstrip('0'):<{n_decimals}}"  # blank where a place needs none
    more = len(digits) - n_whole - n_decimals  # the first place shows all digits that are left of it too
    texts = [""]
    for kind, text in parts:
        if kind == "places":
            places = "#" * more + text.replace(",", "")
            pairs = zip(places, digits, strict=False)
            filled = "".join(_BLANKS[place] if digit == " " else digit for place, digit in pairs)
            digits, more = digits[len(places) :], 0
            text = _THOUSANDS.sub(",", filled) if "," in text else filled
            texts[-1] = "" if texts[-1] == "." and not text else texts[-1]
        elif (kind, text) == _POINT and more:  # no place is before it
            text, digits, more = f"{digits[:more]}.", digits[more:], 0
        elif kind == "power":
            text = f"{text[0]}{'-' if power < 0 else text[1].strip('-')}{abs(power):0{len(text) - 2}}"
        elif kind == "fill":  # most often blanks between a currency and its number
            text = " " * texts[-1][-1:].isalnum()
        elif kind not in _COPIED:
            text = ""
        texts.append(_general(value) if kind == "general" else text)
    return "".join(texts).strip()


def _dated(value: date | time | timedelta, form: str) -> str:
    """Returns a date, time or length of time in a cell's format; empty if the format does not define its look."""
    length = value if isinstance(value, timedelta) else timedelta()
    if isinstance(value, time):
        value = datetime.combine(date(1900, 1, 1), value)
    moment = datetime(1900, 1, 1) + value if isinstance(value, timedelta) else value
    parts = _sections(form)[0]
    order = "".join(text[0].lower() if kind in ("code", "total") else " " for kind, text in parts)
    if _LOCAL.search(form) or not order.strip() or length < timedelta():
        return ""
    made, is_half = "", "half" in dict(parts)
    for at, (kind, text) in enumerate(parts):
        code = text.lower()
        if kind == "code":
            if code in ("m", "mm") and (order[:at].rstrip()[-1:] == "h" or order[at + 1 :].lstrip()[:1] == "s"):
                code = "n" * len(code)
            look = "%I" if is_half and code[0] == "h" else _DATE_CODES.get(code)
            text = f"{moment:{look}}" if look else ""
            text = (text.lstrip("0") or "0") if len(code) == 1 else text
        elif kind == "total":
            text = str(int(length.total_seconds()) // _SECONDS[code[0]])
        elif kind == "places":  # of a second
            text = f"{moment:%f}"[: len(text)]
        elif kind in ("half", "fill"):
            text = f"{moment:%p}" if kind == "half" else ""
        if (kind == "code" and not look) or (kind == "other" and text.isalpha()):
            return ""
        made += text
    return made.strip()
