"""The readers of plain text and Markdown with their headings as sections, and of JSON with its keys as sections.

A text file with many HTML tags is read as HTML. A model would read the tags as words (half of the tokens of some
tables) and quote them. A JSON text keeps its lines: a small model reads these better than rows of keys and values."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from wim_edge.documents.decode import decode
from wim_edge.documents.document import DEFAULTS, Document, DocumentBuilder, Mark, require, short, well_formed
from wim_edge.documents.formats import MARKDOWN
from wim_edge.documents.html import add_html
from wim_edge.documents.runs import STRUCK
from wim_edge.documents.tables import line_spans
from wim_edge.documents.units import titles_of
from wim_edge.errors import DocumentError
from wim_edge.settings import Limits

# Tags that occur often and in pairs only in HTML, or in a text about it
_TAG = re.compile(
    r"<(/?)(p|div|span|table|tr|td|th|ul|ol|li|dl|dt|dd|h[1-6]|section|article|blockquote)(?:[\s_][^<>]*)?>", re.I
)
_GLUED = re.compile(r"(<t[dhr]|<table|<[ou]l|<li|<p)_(?=\w+=)", re.I)
"""A tag glued to its attribute: Natural Questions writes `<Td_colspan="2">`."""
_LEAST = 20  # with fewer tags, the text may be about HTML
_APART = 500  # most characters per tag
_FRONT_MATTER = re.compile(r"---\n(?:.*\n)*?(?:---|\.\.\.)(?:\n|\Z)")
_BEGIN = re.compile(r"`+|(?<![~\\])~~(?=[^\s~])|<(?:del|s|strike)>|(?<!\\)<!--")
_END = re.compile(r"`+|(?<=[^\s~\\])~~(?!~)|</(?:del|s|strike)>|-->")
"""``_BEGIN`` and ``_END``: the delimiters of code (backticks), comments, and struck-out text (tildes or an element)."""
_TITLE = re.compile(r"""^title:\s*["']?(.*?)["']?\s*$""", re.M)
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*')
_NAMES = ("name", "title", "label", "id", "key")
_FIRST = 4  # an object's name is one of this many first values
_DEPTH, _LONGEST = 6, 60  # most keys of a path, which keeps the last ones; most characters of each


def read_text(name: str, ending: str, data: bytes, limits: Limits) -> Document:
    """Returns the document in a file that has no other reader. ``ending`` (".md") identifies Markdown and JSON."""
    text, notes = decode(name, data)
    if ending in MARKDOWN.endings:
        return _markdown(name, text, limits, notes)
    if ending == ".json":  # with a title, or the first key would be shown as one
        marks: tuple[Mark, ...] = ()
        with suppress(ValueError, RecursionError, IndexError):  # the brackets do not match line by line
            marks = tuple(_marks(text.split("\n"))) if isinstance(json.loads(text), dict | list) else ()
        return Document(name, text, marks, notes=notes, title=Path(name).stem)
    if ending not in ("", ".txt", ".text"):  # such as source code, which may contain tags
        return Document(name, text, notes=notes)
    return plain(name, text, limits, notes)


def plain(name: str, text: str, limits: Limits = DEFAULTS, notes: tuple[str, ...] = ()) -> Document:
    """Returns a plain text as a document. Text that is HTML is read without tags, with sections, and with a note."""
    if not is_markup(text):
        marks = tuple(Mark(start, section=short(title)) for start, title in titles_of(text))
        # A long title before each segment would cost more than it tells
        return Document(name, text, marks, title=Path(name).stem if marks else "", notes=notes)
    draft = DocumentBuilder()
    try:
        add_html(draft, name, _GLUED.sub(r"\1 ", text), limits)
    except DocumentError as error:  # the extra is not installed, or the nesting is too deep
        draft, notes = DocumentBuilder(), (*notes, f"its text is HTML, and is read with its tags ({error})")
    if draft.empty:
        return Document(name, text, notes=notes)
    draft.notes.extend((*notes, "its text is HTML, and was read as such"))
    return draft.document(name)


def is_markup(text: str) -> bool:
    """Returns whether a text is HTML: its known HTML tags in pairs are at least 20, and at least half of all tags."""
    if text.count("<") < _LEAST:
        return False
    tags = Counter((closing, tag.lower()) for closing, tag in _TAG.findall(text))
    closed = sum(min(n, tags["/", tag]) for (closing, tag), n in tags.items() if not closing)
    return 2 * closed >= max(_LEAST, len(text) / _APART, 0.5 * text.count("<"))


def _markdown(name: str, text: str, limits: Limits, notes: tuple[str, ...]) -> Document:
    """Returns a Markdown document with a section per heading. Drops struck-out text and comments, and nothing else."""
    front = _FRONT_MATTER.match(text)
    titled = _TITLE.search(front.group()) if front else None
    title = short(titled[1]) if titled else ""
    if text.count("\n") > limits.markdown_lines:  # the parser takes up to 40 microseconds a line
        note = f"more than {limits.markdown_lines:,} lines: its headings are not looked for"
        return Document(name, text, title=title, notes=(*notes, note))
    parser = require("markdown_it", name).MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])  # each heading's text is parsed below
    body = front.end() if front else 0
    draft = DocumentBuilder()
    if "]: #" in text or "]: <>" in text or any(_left_out(text)):  # definitions of links to nowhere may be comments
        text = _as_shown(text, body, parser, draft)
    starts = [start for start, _ in line_spans(text, body)]
    marks = []
    for opening, inline in pairwise(parser.parse(text[body:])):
        if opening.type == "heading_open" and inline.content:
            words: list[Any] = []
            parser.inline.parse(inline.content, parser, {}, words)
            heading = "".join("\n" if word.type.endswith("break") else word.content for word in words)
            marks.append(Mark(starts[opening.map[0]], section=short(heading or inline.content)))
    return Document(name, text, tuple(marks), title=title, notes=(*notes, *draft.omissions()))


def _as_shown(text: str, body: int, parser: Any, draft: DocumentBuilder) -> str:
    """Returns the text without struck-out passages and comments from offset ``body`` on. Their line feeds stay."""
    lines, heading, done, known = text[body:].split("\n"), "", 0, dict[str, Any]()
    for before, token in pairwise([None, *parser.parse(text[body:], known)]):
        if token.type in ("inline", "html_block") and token.map[0] >= done:
            heading = short(token.content) if before and before.type == "heading_open" else heading
            first, done = token.map
            said, kept, parts = "\n".join(lines[first:done]), 0, list[str]()
            for start, end in _left_out(said):
                draft.omit("comment" if said.startswith("<!--", start) else STRUCK, heading)
                has_word_behind = said[end : end + 1].strip(" \n.,;:!?")
                parts += [said[kept:start] if has_word_behind else said[kept:start].removesuffix(" ")]
                parts += ["\n" * said.count("\n", start, end)]
                kept = end
            lines[first:done] = "".join([*parts, said[kept:]]).split("\n")
    for one in (*known.get("references", {}).values(), *known.get("duplicate_refs", ())):
        if one["href"] in ("", "#") and one["title"]:
            draft.omit("comment", "")
            lines[slice(*one["map"])] = [""] * (one["map"][1] - one["map"][0])
    return text[:body] + "\n".join(lines)


def _left_out(text: str) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of each struck-out passage and comment in Markdown, except within code."""
    ends: dict[str, list[int]] = defaultdict(list)
    for one in _END.finditer(text):
        ends[one[0]].append(one.start())
    done = 0
    for one in _BEGIN.finditer(text):
        sign = "-->" if one[0] == "<!--" else one[0].replace("<", "</")
        at = bisect_left(ends[sign], one.end() + (one[0] == sign))
        if one.start() >= done and at < len(ends[sign]):
            done = ends[sign][at] + len(sign)
            if sign[0] != "`":
                yield one.start(), done


def _marks(lines: list[str]) -> Iterator[Mark]:
    """Yields a JSON text's marks: a section, titled "network > mqtt", for successive values with the same path of keys.
    An object in a list has its name or number as its key. Raises IndexError if brackets do not match line by line."""
    names, counts = list[str](), list[int]()  # of each open object or list: its name, its items so far
    at, last = 0, ""
    for number, line in enumerate(lines):
        key, value = _parts(line)
        if value in ("{", "["):
            if not key and names:
                counts[-1] += 1
                key = (value == "{" and _name(lines[number + 1 : number + 1 + _FIRST])) or str(counts[-1])
            names.append(key)
            counts.append(0)
        elif value in ("}", "]"):
            names.pop()
            counts.pop()
        elif value:
            path = " > ".join(filter(None, names[-_DEPTH:]))
            if path != last:
                yield Mark(at, section=path)
                last = path
        at += len(line) + 1


def _parts(line: str) -> tuple[str, str]:
    """Returns (key, value) of a line of JSON. The value is verbatim; the key is "" if the line has none."""
    told = line.strip().removesuffix(",").rstrip()
    key = _KEY.match(told)
    return (_shown(key[1]), told[key.end() :]) if key else ("", told)


def _name(following: list[str]) -> str:
    """Returns a JSON object's name from ``following``, the lines after its bracket; "" if these contain no name."""
    told = {}
    for key, value in map(_parts, following):
        if not key or value in ("{", "["):
            break
        told[key.casefold()] = value
    return next((_shown(told[one].strip('"')) for one in _NAMES if one in told), "")


def _shown(text: str) -> str:
    """Returns at most 60 characters of a JSON key or name, on one line and with valid escapes resolved."""
    with suppress(ValueError):
        text = str(json.loads(f'"{text}"'))
    return well_formed(" ".join(text.split()))[:_LONGEST]
