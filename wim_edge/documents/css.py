"""The style sheets of a page, as far as they have its elements struck out, hidden, raised or lowered.

Simple selectors count (`p`, `.old`, `#note`, `p.old`, and lists of them); what depends on an element's neighbours or on
the medium does not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from wim_edge.documents.runs import HIDDEN, LOWERED, RAISED, STRUCK

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.S)
_PIECE = re.compile(r"[{}]|[^{}]+")
_SHOWN = re.compile(r"@(?:media\s+(?:only\s+)?(?:screen|all)|layer\b.*|supports\b.*)", re.S | re.I)
"""The blocks of rules that a browser applies to a page on a screen."""
_SELECTOR = re.compile(r"([a-z][a-z0-9]*)?(?:([.#])(-?[_a-z][\w-]*))?", re.I)
_DECLARATION = re.compile(r"([\w-]+)\s*:\s*([^;]+)")
_PROPERTIES = frozenset(
    {
        "display", "visibility", "text-decoration", "text-decoration-line", "vertical-align",
        "position", "clip", "clip-path", "width", "height", "left", "top", "text-indent",
    }
)  # fmt: skip
_TINY, _FAR = re.compile(r"[01](?:px)?"), re.compile(r"-\d{3,}(?:px|r?em)?|-\d{2,}r?em")
_CLIPPED = re.compile(r"rect\(\s*[01](?:px)?\b.*|inset\(\s*(?:[5-9]\d|100)%.*", re.S)
_OF_TAGS = {"s": STRUCK, "del": STRUCK, "strike": STRUCK, "sup": RAISED, "sub": LOWERED}
_MOST = 10_000  # the most looks that are kept, by an element's tag and attributes
Style = dict[str, str]


class StyleSheet:
    """The rules of a page's style sheets that show something otherwise than as plain text."""

    def __init__(self, css: str) -> None:
        self._rules: dict[str, list[tuple[int, Style]]] = defaultdict(list)
        self._looks: dict[tuple[str, ...], str] = {}
        for number, (selectors, declarations) in enumerate(_rules(_COMMENT.sub(" ", css))):
            if style := _declared(declarations):
                for one in map(str.strip, selectors.split(",")):
                    if one and (found := _SELECTOR.fullmatch(one)):
                        tag, sign, name = (found[1] or "").lower(), found[2] or "", found[3] or ""
                        rank = 1_000_000 * (sign == "#") + 100_000 * (sign == ".") + 10_000 * bool(tag)
                        self._rules[f"{tag}{sign}{name}"].append((rank + min(number, 9_999), style))

    def look(self, tag: str, attributes: Mapping[str, str]) -> str:
        """Returns how an element looks, by itself."""
        if tag in ("html", "body"):  # which a script shows, once it runs
            return ""
        if not attributes and tag not in self._rules:
            return _OF_TAGS.get(tag, "")
        names = (attributes.get(name, "") for name in ("class", "id", "style"))
        key = (tag, *names, "hidden" * ("hidden" in attributes))
        if key not in self._looks:
            if len(self._looks) > _MOST:
                self._looks.clear()
            self._looks[key] = self._look(*key)
        return self._looks[key]

    def _look(self, tag: str, names: str, name: str, own: str, hidden: str) -> str:
        signs = ["", *(f".{one}" for one in names.split()), f"#{name}"]
        rules = [rule for sign in signs for of in ("", tag) for rule in self._rules.get(f"{of}{sign}", ())]
        style: Style = {"display": "none"} if hidden else {}
        every = [*(one for _, one in sorted(rules, key=lambda rule: rule[0])), _declared(own)]
        for important in (False, True):
            for one in every:
                style |= {key: value for key, value in one.items() if ("!" in value) is important}
        return _look_of({key: value.partition("!")[0].strip() for key, value in style.items()}, _OF_TAGS.get(tag, ""))


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Yields the selectors and the declarations of each rule for a screen, in one pass."""
    open_blocks: list[str] = []
    text = ""
    for piece in _PIECE.findall(css):
        if piece == "{":
            open_blocks.append(text.rpartition(";")[2].strip())
        elif piece == "}":
            selectors = open_blocks.pop() if open_blocks else ""
            if not selectors.startswith("@") and all(map(_SHOWN.fullmatch, open_blocks)):
                yield selectors, text
        text = "" if piece in ("{", "}") else piece


def _declared(text: str) -> Style:
    found = ((key.lower(), value.strip().lower()) for key, value in _DECLARATION.findall(text))
    return {key: value for key, value in found if key in _PROPERTIES}


def _look_of(style: Style, of_tag: str) -> str:
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
