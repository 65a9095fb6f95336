"""The text of a PDF's pages as it was meant: a paragraph on one line, and no running heads and page numbers within.

PDFium tells a page's lines as they were set. What is a paragraph is told from their lengths alone: a line that is about
as wide as the page goes on in the next one, where neither is an item of a list, a row of figures or one of a list of
contents.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_ITEM = re.compile(r"\s*(?:[-*•‣◦–]|\(?\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3})+[.)]?|\(?[a-z][.)])\s")
_OF_CONTENTS = re.compile(r"(?:\.\s?){4,}\s*(?:\d+|[ivxl]+)\s*$")
_PAGE_NUMBER = re.compile(
    r"[-–—|\s]*(?:(?:page|seite|página|pagina|p\.|s\.)\s*)?(?:\d{1,4}|[ivxlc]{1,6})"
    r"(?:\s*(?:/|of|von|de|sur|di)\s*\d{1,4})?[-–—|\s]*", re.IGNORECASE,
)  # fmt: skip
_HYPHEN = re.compile(r"[^\W\d_A-ZÀ-Þ]-$")
_EDGE = 2
"""The lines at a page's top and at its bottom among which running heads are looked for."""
_WORDS = 4
"""The words that must stand beside a page number: "Delivery note no. 17" may say what a page is."""
_TIMES = 3
"""The pages on which a line stands at the edge, from which it is a running head."""
_SHORT, _FEW = 20, 5
_NARROWEST = 40
"""The characters of a full line from which a text is one of paragraphs, and no form."""
_FULL = 0.8  # the share of lines that are no wider than a full one
_WRAPPED, _ENDS = 0.7, 0.85


def reflow(pages: Sequence[str]) -> list[str]:
    """Returns the pages' texts, each with as many words as before but for running heads after their first time, and
    page numbers. What is no text of paragraphs, but a form or a list, stays as it stands: there each line may tell what
    a page is."""
    lines = [[line.rstrip() for line in page.split("\n")] for page in pages]
    widths = sorted(len(line) for page in lines for line in page if len(line) > _SHORT)
    full = widths[int(_FULL * (len(widths) - 1))] if len(widths) >= _FEW else 0
    if full < _NARROWEST:
        return list(pages)
    return ["\n".join(_paragraphs(page, full)) for page in _without_heads(lines)]


def _without_heads(pages: Sequence[list[str]]) -> list[list[str]]:
    edges = [_edges(page) for page in pages]
    heads = [{number: _head(page[number], at) for number in edges[at]} for at, page in enumerate(pages)]
    times = Counter(head for page in heads for head in set(page.values()))
    seen: set[str | tuple[str, int]] = set()
    kept = []
    for page, edge, named in zip(pages, edges, heads, strict=True):
        dropped = {number for number, head in named.items() if head in seen or _is_number(page, number, edge)}
        seen.update(head for head in named.values() if times[head] >= _TIMES)
        kept.append([line for number, line in enumerate(page) if number not in dropped])
    return kept


def _head(line: str, page: int) -> str | tuple[str, int]:
    """Returns the sign by which a running head is known on other pages: the line, and if a page number ends or begins
    it and four words at least stand beside that, these and how far the number is from that of the page."""
    words = line.split()
    for at in (-1, 0):
        if len(words) > _WORDS and re.fullmatch(r"\d{1,4}", words[at]):
            return " ".join(words[:-1] if at else words[1:]), int(words[at]) - page
    return " ".join(words)


def _edges(page: list[str]) -> list[int]:
    """Returns the numbers of the lines at the page's top and bottom; of a page with few lines the outer ones alone."""
    filled = [number for number, line in enumerate(page) if line.strip()]
    reach = _EDGE if len(filled) > 4 * _EDGE else 1
    return filled if len(filled) <= 1 else sorted({*filled[:reach], *filled[-reach:]})


def _is_number(page: list[str], number: int, edges: list[int]) -> bool:
    """Tells whether a page's first or last line is its number; a page that holds nothing else keeps it."""
    return number in (edges[0], edges[-1]) and len(edges) > 1 and _PAGE_NUMBER.fullmatch(page[number]) is not None


def _paragraphs(page: list[str], full: int) -> list[str]:
    made: list[str] = []
    goes_on = False
    for number, line in enumerate(page):
        if not goes_on:
            made.append(line)
        elif _HYPHEN.search(made[-1]) and line[:1].islower():  # PDFium has taken out those that only broke a word
            made[-1] += line
        else:
            made[-1] = f"{made[-1]} {line.lstrip()}"
        following = page[number + 1] if number + 1 < len(page) else ""
        goes_on = _goes_on(line, following, full)
    return made


def _goes_on(line: str, following: str, full: int) -> bool:
    if len(line) < _WRAPPED * full or not following.strip() or _ITEM.match(following):
        return False
    if line.endswith((".", "!", "?", ":")) and len(line) < _ENDS * full and not following[0].islower():
        return False
    return not _is_row(line) and not _is_row(following)


def _is_row(line: str) -> bool:
    """Tells whether a line is one of a list of contents, or of a table: of its words half have a digit."""
    words = line.split()
    figures = sum(any(character.isdigit() for character in word) for word in words)
    return _OF_CONTENTS.search(line) is not None or (len(words) > 2 and 2 * figures >= len(words))
