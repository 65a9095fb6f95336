"""The style sheets of an HTML page: which elements they strike out, hide, raise or lower, and how they number lists.
The selectors `p`, `.old`, `#note`, `p.old` and lists of these are read; others, and rules for print, are ignored."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache

from wim_edge.documents.numbering import KINDS
from wim_edge.documents.runs import BESIDE, HIDDEN, LOWERED, RAISED, STRUCK

_STYLE = re.compile(r"""<style\b(?:[^<>]*?\smedia\s*=\s*["']?([^<>"']*+))?+[^<>]*+>(.*)""", re.IGNORECASE | re.S)
_FRAMED = re.compile(r"""\bsrcdoc\s*=\s*(?:"[^"]*"|'[^']*')""", re.IGNORECASE)  # a page in the page
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.S)
_PIECE = re.compile(r"[{}]|[^{}]+")
_SCREEN, _EM = 1280, 16  # the assumed width of a screen and height of its letters, in pixels
_WIDTH = re.compile(r"\( ?(?:(min|max)-(?:device-)?width ?:|width ?([<>])=?) ?(?=\.?\d)(\d*+\.?+\d*+)(px|r?em) ?\)")
_LEAST = re.compile(r"\(\s*([\d.]+[a-z]+)\s*<=?\s*(?=width\s*[<)])")  # of "(30em < width < 50em)"
_SELECTOR = re.compile(r"([a-z][a-z0-9]*)?(?:([.#])(-?[_a-z][\w-]*))?", re.I)
_DECLARATION = re.compile(r"(?<![\w-])([\w-]++)\s*+:\s*([^;]+)")
_PROPERTIES = frozenset({
    "display", "visibility", "text-decoration", "text-decoration-line", "vertical-align", "position", "clip",
    "clip-path", "flex-direction", "flex-flow", "width", "height", "left", "top", "text-indent", "list-style",
})  # fmt: skip
_TINY, _FAR = re.compile(r"[01](?:px)?"), re.compile(r"-\d{3,}(?:px|r?em)?|-\d{2,}r?em")
_CLIPPED = re.compile(r"rect\(\s*[01](?:px)?\b.*|inset\(\s*(?:[5-9]\d|100)%.*", re.S)
_OF_TAGS = {"s": STRUCK, "del": STRUCK, "strike": STRUCK, "sup": RAISED, "sub": LOWERED, "rt": BESIDE}
_KINDS = frozenset({*KINDS.values(), "none"})
_NAMED, _EMPTY = ("class", "id", "style"), ("", "", "")
_MOST = 10_000  # most entries in the cache of looks
_OWN = (3, False, 0)  # the rank of a style attribute, above that of any selector
Style = dict[str, tuple[bool, tuple[int, bool, int], str]]
"""CSS properties by name: (is `!important`, (specificity, names a tag, rule number), value). The greatest wins."""


class StyleSheet:
    """The rules of a page's style sheets that hide, strike out, raise or lower text, or that number lists."""

    def __init__(self, css: str) -> None:
        self._rules: dict[str, Style] = defaultdict(dict)  # by selector
        self._look = lru_cache(maxsize=_MOST)(self._look_by)
        for number, (selectors, declarations) in enumerate(_rules(_COMMENT.sub(" ", css))):
            for one in map(str.strip, selectors.split(",")):
                if one and (found := _SELECTOR.fullmatch(one)):
                    tag, sign, name = (found[1] or "").lower(), found[2] or "", found[3] or ""
                    rank = len(sign) + (sign == "#"), bool(tag), number
                    _add(self._rules[f"{tag}{sign}{name}"], _declared(declarations, rank))

    def look(self, tag: str, attributes: Mapping[str, str]) -> tuple[str, str]:
        """Returns (look, display) of an element. The look is a constant of `runs`, or "" for plain text. The CSS
        `display` is "" if not set, "table-cell" for an inline block with a width, "block" for a column flex box."""
        if tag in ("html", "body"):  # often hidden until a script has run
            return "", ""
        is_hidden = tag == "dialog" and "open" not in attributes
        if not attributes and tag not in self._rules:
            return HIDDEN if is_hidden else _OF_TAGS.get(tag, ""), ""
        is_hidden |= "hidden" in attributes or "popover" in attributes
        look, display, _ = self._look(tag, *map(attributes.get, _NAMED, _EMPTY), is_hidden)
        is_note = tag == "a" and "noteref" in attributes.get("epub:type", attributes.get("role", ""))
        return look or RAISED * is_note, display  # book readers raise the marks of notes

    def list_kind(self, tag: str, attributes: Mapping[str, str], default: str) -> str:
        """Returns Word's name of a list's or item's number format ("lowerRoman"), or ``default``; "" for bullets."""
        said = self._look(tag, *map(attributes.get, _NAMED, _EMPTY), False)[2].split() or [attributes.get("type", "")]
        kinds = (KINDS.get(one, re.sub("-alpha|-latin", "Letter", one.replace("-roman", "Roman"))) for one in said)
        kind = next(filter(_KINDS.__contains__, kinds), default)
        return kind if default else kind.removeprefix("none")  # a bullet says nothing, and divides the items

    def _look_by(self, tag: str, names: str, name: str, own: str, is_hidden: bool) -> tuple[str, str, str]:
        """Returns (look, display, list style) of a tag with classes ``names``, id ``name`` and CSS text ``own``."""
        signs = ["", *(f".{one}" for one in names.split()), f"#{name}"]
        style = _declared("display:none" * is_hidden, (-1, False, 0))
        for selector in (f"{of}{sign}" for sign in signs for of in ("", tag)):
            _add(style, self._rules.get(selector, {}))
        _add(style, _declared(own, _OWN))
        values = {key: value for key, (_, _, value) in style.items()}
        is_column = values.get("display") == "inline-block" and values.get("width", "auto") != "auto"
        display = "table-cell" if is_column else values.get("display", "")
        display = "block" if "column" in values.get("flex-direction", values.get("flex-flow", "")) else display
        return _look_of(values, _OF_TAGS.get(tag, "")), display, values.get("list-style", "")


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Yields (selectors, declarations), both as text, for each CSS rule that applies on a screen."""
    open_blocks: list[tuple[str, bool]] = []  # the text before each, and whether it is an at-rule that fits a screen
    n_unseen = 0  # open blocks other than at-rules for a screen
    text = ""
    for piece in _PIECE.findall(css):
        if piece == "{":
            head = text.rpartition(";")[2].strip()
            kind, is_media, queries = head.lower().partition("@media")
            applies = kind.startswith(("@layer", "@supports")) or (bool(is_media) and _fits_screen(queries))
            open_blocks.append((head, applies))
            n_unseen += not applies
        elif piece == "}" and open_blocks:
            selectors, applies = open_blocks.pop()
            n_unseen -= not applies
            if not selectors.startswith("@") and not n_unseen:
                yield selectors, text
        text = "" if piece in ("{", "}") else piece


def sheet_of(page: str, css: str = "") -> StyleSheet:
    """Returns one style sheet: ``css`` (the text of external ones), then each `<style>` in the markup ``page``."""
    parts = map(_STYLE.search, re.split("</style", _FRAMED.sub("", page), flags=re.IGNORECASE)[:-1])
    return StyleSheet("\n".join([css, *(found[2] for found in parts if found and _fits_screen(found[1] or ""))]))


def _fits_screen(queries: str) -> bool:
    """Returns whether any of these comma-separated media queries fits a screen. Unknown features do not fit."""
    return any(map(_is_met, queries.lower().split(",")))


def _is_met(query: str) -> bool:
    query, is_met = _LEAST.sub(r"(width>=\1) and (", " ".join(query.split())), True
    for term in re.split(r" ?\band\b ?", re.sub(r"\A(?:not|only)\b ?", "", query)):
        if bound := _WIDTH.fullmatch(term):
            width = float(bound[3]) * (1 if bound[4] == "px" else _EM)
            is_met &= width <= _SCREEN if "min" in bound[0] or ">" in bound[0] else width >= _SCREEN
        elif term not in ("", "screen", "all", "print"):
            return False
        is_met &= term != "print"
    return is_met != query.startswith("not")


def _declared(text: str, rank: tuple[int, bool, int]) -> Style:
    """Returns the CSS declarations in ``text`` of the properties in `_PROPERTIES`, each with ``rank`` (see `Style`)."""
    style: Style = {}
    for key, value in _DECLARATION.findall(text):
        if (name := key.lower().removesuffix("-type")) in _PROPERTIES:  # the shorthand sets `list-style-type`, too
            said, mark, _ = value.lower().partition("!")
            one = bool(mark), rank, said.strip()
            style[name] = max(one, style.get(name, one), key=lambda known: known[0])
    return style


def _add(style: Style, more: Style) -> None:
    style |= {key: one for key, one in more.items() if key not in style or style[key] <= one}


def _look_of(style: Mapping[str, str], of_tag: str) -> str:
    """Returns an element's look, a constant of `runs` or "", from its CSS. ``of_tag``: its tag's default look."""
    is_apart = style.get("position") in ("absolute", "fixed")
    is_clipped = any(_CLIPPED.fullmatch(style.get(key, "")) for key in ("clip", "clip-path"))
    is_tiny = all(_TINY.fullmatch(style.get(key, "")) for key in ("width", "height"))
    is_away = any(_FAR.fullmatch(style.get(key, "")) for key in ("left", "top"))
    if (
        style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse")
        or (is_apart and (is_clipped or is_tiny or is_away)) or _FAR.fullmatch(style.get("text-indent", ""))
    ):  # fmt: skip
        return HIDDEN
    decoration = " ".join(style.get(key, "") for key in ("text-decoration", "text-decoration-line"))
    if "line-through" in decoration or (of_tag == STRUCK and not decoration.strip()):
        return STRUCK
    return {"super": RAISED, "sub": LOWERED}.get(style.get("vertical-align", ""), "" if of_tag == STRUCK else of_tag)
