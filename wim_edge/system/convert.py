"""Strict conversion of JSON and TOML data to structs and dataclasses, by msgspec, with readable errors."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from wim_edge.errors import InvalidRequestError, WimEdgeError

T = TypeVar("T")

_MESSAGE = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$(.*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_NOUNS = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list",
          "object": "a table"}  # fmt: skip


def convert(data: Any, kind: type[T], where: str = "", error: type[WimEdgeError] = InvalidRequestError) -> T:
    """Converts data to ``kind``. If the data do not fit, raises ``error`` with a message that begins with ``where``."""
    try:
        return msgspec.convert(data, kind, str_keys=True, dec_hook=_path)
    except msgspec.ValidationError as mismatch:
        raise error(*_explain(str(mismatch), data, kind, where)) from mismatch


def _path(kind: type[Any], value: Any) -> Path:
    if kind is not Path or not isinstance(value, str):
        raise ValueError("Expected `str`")
    return Path(value)


def _explain(message: str, data: Any, kind: Any, where: str) -> tuple[str, str]:
    """Returns (message, hint) for one of msgspec's messages: what is wrong, and what is accepted instead."""
    found = _MESSAGE.fullmatch(message)
    what, place = (found[1], found[2] or "") if found else (message, "")
    if field := _FIELD.fullmatch(what):
        place += f".{field[2]}"
    own = (where + place).lstrip(".") if where[-2:] != ": " else where + place[1:]
    name = place.rpartition(".")[2] or "It"
    if field and "unknown" in field[1]:
        near = difflib.get_close_matches(name, kind.__struct_fields__, 3)
        hint = f"Nearest: {', '.join(near)}." if near else f"It takes {', '.join(kind.__struct_fields__)}."
        return f"{own} is not known", hint
    wanted = _description(get_type_hints(kind, include_extras=True).get(place[1:])) or _in_words(what)
    if field:
        return f"{own} is missing", f"Add {name}{wanted and f', {wanted}'}."
    if "".join(step[0] for step in _STEP.finditer(place)) != place:  # msgspec reports the key of a mapping as [...]
        return f"{own}: {what}", f"It takes {wanted or 'another value'}."
    for key, index in _STEP.findall(place):
        data = data[key or int(index)]
    return f"{own or 'it'} is {data!r:.80}", f"{name} takes {wanted or 'another value'}."


def _description(hint: Any) -> str:
    """Returns the description in a type hint's `msgspec.Meta`; empty if there is none."""
    if isinstance(hint, msgspec.Meta):
        return hint.description or ""
    return next(filter(None, map(_description, get_args(hint))), "")


def _in_words(what: str) -> str:
    """Returns in words the type that msgspec expected ("a whole number"); empty if the message names no type."""
    found = re.match(r"Expected (`([\w| ]+)`(?:(?!, got).)*)", what)
    if not found:
        return ""
    names = [_NOUNS.get(name, name) for name in found[2].split(" | ") if name != "null"]
    return found[1].replace(f"`{found[2]}`", " or ".join(names))
