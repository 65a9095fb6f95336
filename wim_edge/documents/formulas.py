"""Formulas (Word's OMML, and MathML) on one line: "3/4", "v=s/(t+2)", "10⁶", "x_i", "√(a+b)", "∑_(i=1)^n"."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from wim_edge.documents.document import require
from wim_edge.documents.runs import ABOVE, BELOW

_FORMULA = re.compile(r"(<span\b[^<>]*>\s*)?<((?:\w+:)?math)\b([^<>]*)>((?:(?!<(?:\w+:)?math).)*?)</\2>", re.I | re.S)
_DEEP = 60  # most levels of a formula; what is below them is plain text
_ROLES = {"mfrac": "num den", "mroot": "e deg", "msup": "e sup", "msub": "e sub", "msubsup": "e sub sup"}
_ROLES |= {"mover": "e sup", "munder": "e sub", "munderover": "e sub sup"}
"""The names that OMML gives to the children of these MathML elements, in order."""
_JOINTS = {"mr": " ", "mtr": " ", "func": "\u2064", "m": "; ", "mtable": "; ", "eqArr": "; ", "oMathPara": "\n"}
_LEFT_OUT = re.compile(r"annotation(?:-xml)?|mphantom|del|moveFrom|\w+Pr")
_SPACED = frozenset({"t", "mtext", "ms"})  # their blanks at the ends are shown
_GAP = "\u2064"  # becomes a blank between letters or digits, as in "2 3/4", and nothing elsewhere
_GAPS = re.compile(f"(?<=[^\\W_]){_GAP}+(?=[^\\W_])")
_INVISIBLE = re.compile("[\u2062-\u2064]")
_WORD = re.compile(r"\s*[^\W\d_]{3}")  # no variable, and no chemical element
_SIGNED = re.compile(r"[+−–-]?\d+[+−–-]?|[+−–-]")
_PART = re.compile(r"[+−–-]?[\w.,'′%°^⁺⁻₊₋]+|\([^()]*\)")
_FACTOR = re.compile(r"∞|\d[\d.,]*[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻'′%°]*|(?:[^\W\d_]|[⁺⁻₊₋'′%°])+(?:_\w)?|\([^()]*\)")
_ACCENTS = frozenset("'′″‴°∘*†^ˆ~˜¯‾→˙¨")
_ROOTS = {"3": "∛", "4": "∜"}


def linear(element: Any) -> str:
    """Returns the formula in an OMML or MathML element as one line of text, with brackets where needed: "(a+b)/c"."""
    return _INVISIBLE.sub("", _GAPS.sub(" ", _written(element, 0))).strip()


def with_formulas(markup: str) -> str:
    """Returns HTML markup with its MathML as text. A `<span>` around a formula loses attributes that may hide it."""

    def as_text(found: re.Match[str]) -> str:
        blank = " " * ("block" in found[3])  # it is on a line of its own
        text = escape(linear(require("lxml.etree", "MathML").HTML(f"<math>{found[4]}</math>")))
        return f"{'<span>' * bool(found[1])}<math{found[3]}>{blank}{text}{blank}</math>"

    return _FORMULA.sub(as_text, markup) if "math>" in markup else markup


def _written(element: Any, depth: int) -> str:
    if depth == _DEEP:
        return "".join(element.itertext())
    name = _name(element)
    inner = [one for one in element if isinstance(one.tag, str) and not _LEFT_OUT.fullmatch(_name(one))]
    parts = [_written(one, depth + 1) for one in inner]
    if name in ("d", "mfenced"):
        begin, end = _set(element, "begChr", "open", "("), _set(element, "endChr", "close", ")")
        return begin + _set(element, "sepChr", "separators", "|" if name == "d" else ",")[:1].join(parts) + end
    roles = dict(zip(_ROLES[name].split() if name in _ROLES else map(_name, inner), parts, strict=False))
    if "den" in roles:
        has_bar = _set(element, "type", "linethickness", "") not in ("noBar", "0", "0px", "0pt")
        above = _in_brackets(roles.get("num", ""), _PART)
        return f"{_GAP}{above}{'/' if has_bar else '¦'}{_in_brackets(roles['den'], _FACTOR)}{_GAP}"
    if name in ("rad", "mroot", "msqrt"):
        degree = roles.get("deg", "").strip(_GAP)
        base = _in_brackets(roles.get("e", "") if name != "msqrt" else "".join(parts), _FACTOR)
        return f"{_GAP}{_ROOTS.get(degree) or _script(degree, '^', ABOVE) + '√'}{base}{_GAP}"
    if roles.keys() & {"sub", "sup", "lim"}:
        base, scripts = roles.get("e", ""), _script(roles.get("sub") or roles.get("lim", ""), "_", BELOW)
        scripts += _script(roles.get("sup", ""), "^", ABOVE)
        if name in ("nary", "sPre"):  # before what they belong to
            return f"{_set(element, 'chr', 'chr', '∫') if name == 'nary' else ''}{scripts}{_GAP}{base}"
        return (_in_brackets(base, _FACTOR) if "/" in base[1:] else base) + scripts
    own = (element.text or "").replace("\u2061", _GAP)  # applies a function
    own = own if name in _SPACED else own.strip()
    near = (element, element.getprevious()) if name == "mi" else ()
    if any(one is not None and _WORD.match(one.text or "") for one in near):
        own = _GAP + own
    text = own + _JOINTS.get(name, "").join(parts)
    return text + _set(element, "chr", "chr", "\u0302") if name == "acc" else text


def _script(text: str, sign: str, signs: dict[int, int]) -> str:
    """Returns a superscript or subscript: a number in small ``signs``, "′" unchanged, other text after ``sign``."""
    text = text.strip(_GAP)
    if _SIGNED.fullmatch(text):
        return text.translate(signs)
    return text if _ACCENTS.issuperset(text) else f"{sign}{_in_brackets(text, _FACTOR)}{_GAP}"


def _in_brackets(text: str, bare: re.Pattern[str]) -> str:
    text = text.strip(_GAP + " ")
    return text if not text or bare.fullmatch(text) else f"({text})"


def _name(element: Any) -> str:
    """Returns an element's tag without its namespace."""
    return str(element.tag).rpartition("}")[2].rpartition(":")[2]


def _set(element: Any, name: str, attribute: str, default: str) -> str:
    """Returns an element's OMML property ``name``, or else its MathML ``attribute``, or else ``default``."""
    if (found := element.find(f"{{*}}{_name(element)}Pr/{{*}}{name}")) is not None:
        return next((str(value) for key, value in found.attrib.items() if key.endswith("val")), "")
    return str(element.get(attribute, default))
