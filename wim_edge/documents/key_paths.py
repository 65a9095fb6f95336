"""The sections of JSON: the keys under which values stand, "network > mqtt".

The text stays as it is: a small model reads it better than one rearranged into rows with their keys. An object of a
list is called by its name, if that is among its first values, or else by its number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from wim_edge.documents.document import Mark, well_formed

_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*')
_NAMES = ("name", "title", "label", "id", "key")
_FIRST = 4  # the values of an object among which its name is looked for
_DEPTH, _LONGEST = 6, 60  # the keys of a path, the last ones of a deeper one, and the characters of each


@dataclass
class _Level:
    """An object or list that is open, by its key, name or number; ``n``: the items so far."""

    name: str
    n: int = 0


def key_paths(text: str) -> tuple[Mark, ...]:
    """Returns where sections begin; none if the text is no JSON object or list with a bracket a line."""
    try:
        if not isinstance(json.loads(text), dict | list):
            return ()
        return tuple(_marks(text.split("\n")))
    except (ValueError, RecursionError, IndexError):  # a bracket ends on another line than it seems to
        return ()


def _marks(lines: list[str]) -> Iterator[Mark]:
    levels: list[_Level] = []
    at, last = 0, ""
    for number, line in enumerate(lines):
        key, value = _parts(line)
        if value in ("{", "["):
            if not key and levels:
                levels[-1].n += 1
                key = (value == "{" and _name(lines[number + 1 : number + 1 + _FIRST])) or str(levels[-1].n)
            levels.append(_Level(key))
        elif value in ("}", "]"):
            levels.pop()
        elif value:
            path = " > ".join(level.name for level in levels[-_DEPTH:] if level.name)
            if path != last:
                yield Mark(at, section=path)
                last = path
        at += len(line) + 1


def _parts(line: str) -> tuple[str, str]:
    """Returns the key of a line, or none, and its value as it stands."""
    told = line.strip().removesuffix(",").rstrip()
    key = _KEY.match(told)
    return (_shown(key[1]), told[key.end() :]) if key else ("", told)


def _name(following: list[str]) -> str:
    """Returns what an object is called by the lines that follow its bracket; empty if they do not tell."""
    told = {}
    for key, value in map(_parts, following):
        if not key or value in ("{", "["):
            break
        told[key.casefold()] = value
    return next((_shown(told[one].strip('"')) for one in _NAMES if one in told), "")


def _shown(text: str) -> str:
    """Returns a key or name on one line, with its escapes resolved where they can be."""
    with suppress(ValueError):
        text = str(json.loads(f'"{text}"'))
    return well_formed(" ".join(text.split()))[:_LONGEST]
