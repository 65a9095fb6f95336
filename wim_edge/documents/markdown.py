"""Markdown: the text as it is, its headings as section marks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from wim_edge.documents.document import Document, Mark, require, short
from wim_edge.documents.runs import STRUCK, Omissions
from wim_edge.settings import Limits

_FRONT_MATTER = re.compile(r"---\n(?:.*\n)*?(?:---|\.\.\.)(?:\n|\Z)")
_BEGIN = re.compile(r"`+|(?<![~\\])~~(?=[^\s~])|<(?:del|s|strike)>")
_END = re.compile(r"`+|(?<=[^\s~\\])~~(?!~)|</(?:del|s|strike)>")
"""The signs of code, and of what a pair of tildes or an element strikes out."""
_TITLE = re.compile(r"""^title:\s*["']?(.*?)["']?\s*$""", re.M)


def markdown(name: str, text: str, limits: Limits) -> Document:
    """Returns the text, verbatim, with a mark at each heading that is not inside a code block."""
    front = _FRONT_MATTER.match(text)
    titled = _TITLE.search(front.group()) if front else None
    title = short(titled[1]) if titled else ""
    if text.count("\n") > limits.markdown_lines:  # the parser takes up to 40 microseconds for one
        note = f"more than {limits.markdown_lines:,} lines: its headings are not looked for"
        return Document(name, text, title=title, notes=(note,))
    parser = require("markdown_it", name).MarkdownIt("commonmark")
    # Blocks are enough to find the headings; inline parsing is for the headings' own text.
    parser.core.ruler.enableOnly(["normalize", "block"])
    body = front.end() if front else 0
    omissions = Omissions()
    text = _without_struck(text, body, parser, omissions) if any(_struck(text)) else text
    starts = [body, *(match.end() for match in re.finditer("\n", text[body:]))]
    starts[1:] = [body + start for start in starts[1:]]
    tokens = parser.parse(text[body:])
    marks = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and inline.content:
            words: list[Any] = []
            parser.inline.parse(inline.content, parser, {}, words)
            heading = "".join("\n" if word.type.endswith("break") else word.content for word in words)
            marks.append(Mark(starts[opening.map[0]], section=short(heading or inline.content)))
    return Document(name, text, tuple(marks), title=title, notes=tuple(omissions.notes()))


def _without_struck(text: str, body: int, parser: Any, omissions: Omissions) -> str:
    """Returns the text without what is struck out, of which the line ends stay; code is as it was."""
    lines, heading = text[body:].split("\n"), ""

    tokens = parser.parse(text[body:])
    done = 0
    for before, token in pairwise(tokens):
        if token.type == "inline" and token.map[0] >= done:
            heading = short(token.content) if before.type == "heading_open" else heading
            first, done = token.map
            said, kept = "\n".join(lines[first:done]), 0
            parts = []
            for start, end in _struck(said):
                omissions.add(STRUCK, heading)
                is_open = said[end : end + 1].strip(" \n.,;:!?")
                before = said[kept:start] if is_open else said[kept:start].removesuffix(" ")
                parts += [before, "\n" * said.count("\n", start, end)]
                kept = end
            lines[first:done] = "".join([*parts, said[kept:]]).split("\n")
    return text[:body] + "\n".join(lines)


def _struck(text: str) -> Iterator[tuple[int, int]]:
    """Yields where something is struck out that is not code, in one pass: each sign's next end is looked up."""
    ends: dict[str, list[int]] = defaultdict(list)
    for one in _END.finditer(text):
        ends[one[0]].append(one.start())
    done = 0
    for one in _BEGIN.finditer(text):
        places = ends[one[0].replace("<", "</")]
        at = bisect_left(places, one.end() + (one[0][0] != "<"))
        if one.start() >= done and at < len(places):
            done = places[at] + len(one[0].replace("<", "</"))
            if one[0][0] != "`":
                yield one.start(), done
