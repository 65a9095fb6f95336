"""Cell values as a sheet shows them, by the number formats of ECMA-376, part 1, 18.8.31 ('#,##0.00 "EUR";[Red]-0')."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

MAX_FORM = 255  # most characters of a number format
_EXACT = Context(prec=2000, rounding=ROUND_HALF_UP)  # 308 digits, and what 255 characters of a format can add
_PART = re.compile(
    r'"(?P<said>[^"]*)"?|\\(?P<sign>.)|(?<=\w["\]])\*(?P<fill> )|[_*].|\[\$(?P<currency>[^\]-]*+)[^\]]*+\]'
    r"|\[(?P<condition>[<>=]{1,2}-?\d+(?:\.\d*)?)\]|\[(?P<total>h+|m+|s+)\]|\[[^\]]*+(?P<colour>)\]"
    r"|(?P<general>general|@)|(?P<half>am/pm|a/p)|(?P<code>y+|m+|d+|h+|s+)|(?P<power>e[+-]0+)"
    r"|(?P<ratio>[0#?]++ */)|(?P<places>[0#?](?:[0#?,]*[0#?])?)|(?<=[0#?])(?P<scale>,+)|(?P<other>.)", re.IGNORECASE,
)  # fmt: skip
_PLAIN, _POINT, _SHARE = ("general", "@"), ("other", "."), ("other", "%")
_SHOWN = ("said", "sign", "currency", "fill", "places", "other")
_BLANKS = {"0": "0", "#": "", "?": " "}  # what a place shows if the number has no digit there
_THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_DATE_CODES = {
    "yy": "%y", "yyyy": "%Y", "m": "%m", "mm": "%m", "mmm": "%b", "mmmm": "%B", "d": "%d", "dd": "%d", "ddd": "%a",
    "dddd": "%A", "h": "%H", "hh": "%H", "n": "%M", "nn": "%M", "s": "%S", "ss": "%S", "am/pm": "%p", "a/p": "%p",
}  # fmt: skip
"""The strftime codes for the parts of a date format. "n" stands for a minute, because "m" is a month."""
_LOCAL = re.compile(r"\[\$-(?!\w{0,2}09\]|en\b)(?:F[48]00|x-|\w{5}|[^\]]*\].*(?:mmm|ddd))", re.IGNORECASE)
"""Date formats that depend on the system, or whose names of months and days are not English."""
Parts = list[tuple[str, str]]  # (kind, text) of a section's parts: the kinds are the groups of ``_PART``


def shown(value: str | float | date | time | timedelta, form: str = "") -> str:
    """Returns a cell's value as text, about as the sheet shows it. ``form``: the number format ('#,##0.00 "EUR"').
    A string is a number in a file; any other string is returned as it is."""
    if isinstance(value, str):
        try:
            return shown(float(value), form)
        except ValueError:
            return value
    if isinstance(value, timedelta) and value < timedelta():
        return f"-{shown(-value, form)}"
    if isinstance(value, date | time | timedelta):
        is_day = not isinstance(value, datetime) or value.time() == time()
        plain = "[h]:mm" if isinstance(value, timedelta) else "hh:mm" if isinstance(value, time) else "yyyy-mm-dd"
        return _dated(value, form) or _dated(value, plain if is_day else f"{plain} hh:mm") or str(value)
    sections = _sections(form[:MAX_FORM]) if form not in ("", "General") else []
    sections = [parts for parts in sections if _PLAIN not in parts][:3] or [[_PLAIN]]
    conditions = [dict(parts).get("condition", "") for parts in sections]
    at = (0, value < 0, (value <= 0) + (value == 0))[len(sections) - 1]
    if any(conditions):
        at = next((number for number, one in enumerate(conditions) if _is_met(one, value)), len(sections) - 1)
    text = _number(abs(value), sections[at])
    has_minus = _is_met(conditions[at], 0.1) if conditions[at] else len(sections) == 1 or any(conditions)
    return f"-{text}" if value < 0 and text and has_minus else text  # a section for negative numbers has its own sign


@lru_cache(maxsize=1000)
def _sections(form: str) -> list[Parts]:
    """Returns the sections of a number format, which ";" separates, each as a list of its (kind, text) parts."""
    sections: list[Parts] = [[]]
    for one in _PART.finditer(form):
        if one["other"] == ";":
            sections.append([])
        elif kind := one.lastgroup:
            sections[-1].append((kind, one[kind]))
    return sections


def _is_met(condition: str, value: float) -> bool:
    limit = float(condition.lstrip("<>=") or 0)
    return ("<" if value < limit else ">" if value > limit else "=") in condition


def _number(value: float, parts: Parts) -> str:
    """Returns ``value`` (0 or more) as text. ``parts``: the section of the number format that applies to it."""
    plain, kinds = f"{value:.10g}" if value < 1e10 else f"{value:.0f}", {kind for kind, _ in parts}
    if parts == [_PLAIN] or kinds == {"colour"} or kinds & {"code", "half", "ratio"} or not math.isfinite(value):
        return plain
    places = "".join(text for kind, text in parts if kind == "places" or (kind, text) == _POINT).replace(",", "")
    n_whole, n_decimals = (len(side) for side in places.partition(".")[::2])
    if "power" in kinds:
        return f"{value:.{n_decimals}E}"
    shift = 2 * parts.count(_SHARE) - 3 * sum(len(text) for kind, text in parts if kind == "scale")
    number = Decimal(f"{value:.15g}").scaleb(shift)
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
        texts.append(plain if kind == "general" else text if kind in _SHOWN else "")
    return "".join(texts).strip()


def _dated(value: date | time | timedelta, form: str) -> str:
    """Returns a date, time or duration as text in the format ``form``; "" if ``form`` does not fully define it."""
    length = value if isinstance(value, timedelta) else timedelta()
    value = datetime.combine(date(1900, 1, 1), value) if isinstance(value, time) else value
    moment = datetime(1900, 1, 1) + value if isinstance(value, timedelta) else value
    parts, text = [part for part in _sections(form[:MAX_FORM])[0] if part[0] != "condition"], ""
    order = "".join(part[0].lower() if kind in ("code", "total") else " " for kind, part in parts)
    if _LOCAL.search(form) or not order.strip():
        return ""
    for at, (kind, part) in enumerate(parts):
        code = part.lower()
        is_minute = order[:at].rstrip()[-1:] == "h" or order[at + 1 :].lstrip()[:1] == "s"
        if kind == "code" and code in ("m", "mm") and is_minute:
            code = "n" * len(code)
        look = "%I" if code[:1] == "h" and any(kind == "half" for kind, _ in parts) else _DATE_CODES.get(code, "")
        if (kind in ("code", "half") and not look) or (kind == "other" and part.isalpha()):
            return ""
        if kind in ("code", "half"):
            part = f"{moment:{look}}".lstrip("0" * (len(code) == 1)) or "0"
        elif kind == "total":
            part = str(int(length.total_seconds()) // {"h": 3600, "m": 60, "s": 1}[code[0]]).zfill(len(code))
        elif kind == "places":  # of a second
            part = f"{moment:%f}"[: len(part)]
        text += part
    return text.strip()
