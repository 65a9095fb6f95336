"""Markdown: the text as it is, its headings as section marks."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from wim_edge.documents.document import Document, Mark, require, short
from wim_edge.settings import Limits

_FRONT_MATTER = re.compile(r"---\n(?:.*\n)*?(?:---|\.\.\.)(?:\n|\Z)")
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
    return Document(name, text, tuple(marks), title=title)
