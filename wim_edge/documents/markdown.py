"""Markdown: the text as it is, its headings as section marks."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from wim_edge.documents.document import Document, Mark, require, short
from wim_edge.documents.runs import STRUCK, Omissions
from wim_edge.settings import Limits

_FRONT_MATTER = re.compile(r"---\n(?:.*\n)*?(?:---|\.\.\.)(?:\n|\Z)")
_STRUCK = re.compile(
    r"(?P<code>(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))|(?P<before> ?)"
    r"(?:(?<![~\\])~~(?=[^\s~]).+?(?<=[^\s~\\])~~(?!~)|<(?P<tag>del|s|strike)>.*?</(?P=tag)>)",
    re.S,
)
"""Code, or what a pair of tildes or an element strikes out."""
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
    text = _without_struck(text, body, parser, omissions) if _STRUCK.search(text) else text
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

    def left_out(found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        omissions.add(STRUCK, heading)
        is_open = found.string[found.end() : found.end() + 1].strip(" \n.,;:!?")
        return found["before"] * bool(is_open) + "\n" * found[0].count("\n")

    tokens = parser.parse(text[body:])
    done = 0
    for before, token in pairwise(tokens):
        if token.type == "inline" and token.map[0] >= done:
            heading = short(token.content) if before.type == "heading_open" else heading
            first, done = token.map
            lines[first:done] = _STRUCK.sub(left_out, "\n".join(lines[first:done])).split("\n")
    return text[:body] + "\n".join(lines)
