"""A JSON schema as a grammar of llama.cpp (GBNF) that constrains a model's output.

Each keyword is enforced or refused, so that all that the grammar allows satisfies the schema. It allows less than the
schema does: properties come in the schema's order, and where some are named there are no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from wim_edge.errors import InvalidRequestError

_MAX_SIZE = 10_000  # schemas, four for a value or name, repeats and every sixteenth character of texts
_MAX_DEPTH = 48
_MAX_WAYS = 64
"""The most ways in which llama.cpp may have to follow a text at once: each takes time and memory with each token."""
_CONTAINERS, _SINGLE = ("object", "array"), ("string", "integer", "number", "boolean", "null")
_MAX_REPEATS = 1000  # of llama.cpp's own 2,000
_MAX_NUMBERS = 256  # that are written out: each costs time with each token
_PASSED_OVER = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$schema", "$id",
                "$comment", "$defs", "definitions"}  # fmt: skip
_KEYWORDS = {
    "object": {"properties", "required", "additionalProperties"}, "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "format"}, "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"}, "boolean": set(), "null": set(),
}  # fmt: skip
_FORMATS = ("date", "time", "date-time", "uuid")
# An escape is no surrogate, which alone is no character; no year is before 1000, no February has a 29th
_RULES = r"""
ws ::= | " " | "\n" " "{0,16}
char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex{3} | [dD] [0-7] hex{2}))
hex ::= [0-9a-fA-F]
string ::= "\"" char* "\""
natural ::= "0" | [1-9] [0-9]{0,14}
fraction ::= "." [0-9]{1,15}
positive ::= natural fraction? ([eE] [-+]? [0-9]{1,2})?
number ::= "-"? positive
integer ::= "-"? natural
boolean ::= "true" | "false"
null ::= "null"
value ::= object | array | string | number | boolean | null
object ::= "{" ws (pair ("," ws pair)* ws)? "}"
pair ::= string ":" ws value
array ::= "[" ws (value ("," ws value)* ws)? "]"
day ::= "0" [1-9] | "1" [0-9] | "2" [0-8]
month-day ::= "02-" day | ("0" [13-9] | "1" [0-2]) "-" (day | "29" | "30") | ("0" [13578] | "1" [02]) "-31"
plain-date ::= [1-9] [0-9]{3} "-" month-day
clock ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]
plain-time ::= clock ":" [0-5] [0-9] ("." [0-9]{1,6})? ("Z" | [-+] clock)
date ::= "\"" plain-date "\""
time ::= "\"" plain-time "\""
date-time ::= "\"" plain-date "T" plain-time "\""
uuid ::= "\"" hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12} "\""
"""


def json_grammar(schema: object) -> str:
    """Returns the grammar of the JSON texts that satisfy a schema. Raises InvalidRequestError for a schema that has
    keywords which cannot be held to, or that is too large."""
    converter = _Converter(schema)
    root = converter.expression(schema, 0)
    rules = "".join(f"{name} ::= {text}\n" for name, text in converter.rules.items())
    return f"root ::= {root}\n{rules}{_RULES.lstrip()}"


class _Converter:
    """Collects the rules of a grammar; ``rules``: their expressions by name."""

    def __init__(self, root: object) -> None:
        self._root, self.rules = root, dict[str, str]()
        self._references: dict[tuple[str, int], str] = {}
        self._size = 0
        self._ways = 1  # to come to the schema that is converted, where each anyOf around it leaves all of its own

    def expression(self, schema: object, depth: int) -> str:
        """Returns the expression of what satisfies a schema. Raises InvalidRequestError."""
        self._spend(1)
        if depth > _MAX_DEPTH:
            _refuse(f"it is nested more than {_MAX_DEPTH} deep")
        if schema is True:
            return "value"
        if not isinstance(schema, dict):
            _refuse("a schema in it is no object")
        keys = schema.keys() - _PASSED_OVER
        if not keys:
            return "value"
        alone = next((key for key in ("$ref", "anyOf") if key in keys), None)
        if alone and len(keys) > 1:
            _unknown(keys - {alone}, alone)
        if alone == "$ref":
            return self._reference(schema["$ref"], depth)
        if alone == "anyOf":
            if not isinstance(schema["anyOf"], list) or not schema["anyOf"]:
                _refuse("anyOf is no list, or an empty one")
            return self._union(schema["anyOf"], depth)
        types = _types(schema, keys)
        if keys & {"enum", "const"}:
            return self._values(schema, keys, types)
        known = {"type"}.union(*(_KEYWORDS[one] for one in types))
        if keys - known:
            _unknown(keys - known, " or ".join(types))
        return _any_of(self._of_type(one, schema, depth) for one in types)

    def _union(self, options: list[object], depth: int) -> str:
        before = self._ways
        self._ways *= max(1, sum(not _is_single(one) for one in options))
        if self._ways > _MAX_WAYS:
            _refuse("one anyOf in another, or in itself, leaves too much open")
        found = _any_of([self.expression(one, depth + 1) for one in options])
        self._ways = before
        return found

    def _of_type(self, name: str, schema: dict[str, Any], depth: int) -> str:
        if name in _CONTAINERS:
            return self._object(schema, depth) if name == "object" else self._array(schema, depth)
        return self._string(schema) if name == "string" else self._number(schema, name)

    def _object(self, schema: dict[str, Any], depth: int) -> str:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        more = schema.get("additionalProperties", True)
        if not isinstance(properties, dict) or not isinstance(required, list):
            _refuse("properties or required has another form")
        missing = [name for name in required if not isinstance(name, str) or name not in properties]
        if missing:
            _refuse(f"properties lacks {missing[0]!r:.80}, which is required")
        needed = frozenset(required)
        if not properties:
            if more is False:
                return '"{" ws "}"'
            pair = self._rule(f'string ":" ws {self.expression(more, depth + 1)}')
            return f'"{{" ws ({pair} ("," ws {pair})* ws)? "}}"'
        first, rest = '"}"', 'ws "}"'  # how the object goes on from a property, with none before it, and with some
        for name, one in reversed(properties.items()):
            pair = f'{self._literal(name)} ":" ws {self.expression(one, depth + 1)} {self._rule(rest)}'
            left_out = ("", "") if name in needed else (f" | {self._rule(first)}", f" | {self._rule(rest)}")
            first, rest = f"{pair}{left_out[0]}", f'"," ws {pair}{left_out[1]}'
        return f'"{{" ws {self._rule(first)}'

    def _array(self, schema: dict[str, Any], depth: int) -> str:
        low, high = self._limits(schema, "minItems", "maxItems")
        item = self._rule(self.expression(schema.get("items", True), depth + 1))
        if high == 0:
            return '"[" ws "]"'
        more = f"{{{max(0, low - 1)},{'' if high is None else high - 1}}}"
        return f'"[" ws ({item} ("," ws {item}){more} ws){"" if low else "?"} "]"'

    def _string(self, schema: dict[str, Any]) -> str:
        low, high = self._limits(schema, "minLength", "maxLength")
        if "format" in schema:
            if schema["format"] not in _FORMATS or low or high is not None:
                _refuse(f"format is {schema['format']!r:.80}", f"It can be {', '.join(_FORMATS)}, without a length.")
            return str(schema["format"])
        return "string" if (low, high) == (0, None) else f'"\\"" char{{{low},{"" if high is None else high}}} "\\""'

    def _number(self, schema: dict[str, Any], name: str) -> str:
        if not schema.keys() & _KEYWORDS[name]:
            return name
        low, high, whole = _whole(schema.get("minimum")), _whole(schema.get("maximum")), name == "integer"
        if low == 0 and schema.get("maximum") is None:
            return "natural" if whole else "positive"
        if low is None or high is None or not 0 <= high - low <= _MAX_NUMBERS or (low < 0 and not whole):
            _refuse("minimum and maximum", f"They can be whole numbers at most {_MAX_NUMBERS} apart, from 0 on where "
                                           "type is number; or minimum 0 alone.")  # fmt: skip
        self._spend(high - low)
        if whole:
            return _any_of(f'"{one}"' for one in range(low, high + 1))
        return _any_of([*(f'"{one}" fraction?' for one in range(low, high)), f'"{high}" ("." "0"{{1,15}})?'])

    def _limits(self, schema: dict[str, Any], low: str, high: str) -> tuple[int, int | None]:
        """Returns the least and the greatest number of repeats; None: any number."""
        least, most = _whole(schema.get(low, 0)), _whole(schema.get(high, _MAX_REPEATS))
        if least is None or most is None or not 0 <= least <= most <= _MAX_REPEATS:
            _refuse(f"{low} and {high}", f"They can be 0 to {_MAX_REPEATS:,}.")
        self._spend(most if high in schema else least)
        return least, most if high in schema else None

    def _values(self, schema: dict[str, Any], keys: set[str], types: list[str]) -> str:
        if keys - {"enum", "const", "type"} or keys >= {"enum", "const"}:
            _unknown(keys - {"enum", "type"}, "enum")
        values = schema.get("enum", [schema.get("const")])
        if not isinstance(values, list) or any(isinstance(one, dict | list) for one in values):
            _refuse("enum and const", "They can hold texts, numbers, true, false and null.")
        kept = [one for one in values if "type" not in schema or any(_is_of(one, name) for name in types)]
        return _any_of(self._literal(one) for one in kept) if kept else _refuse("no value of enum or const is allowed")

    def _reference(self, pointer: object, depth: int) -> str:
        if not isinstance(pointer, str) or not (pointer == "#" or pointer.startswith("#/")):
            _refuse(f"$ref is {pointer!r:.80}", "It can lead to a place in the schema: #/$defs/NAME.")
        key = (pointer, self._ways)
        if key not in self._references:
            found = self._root
            for part in pointer.split("/")[1:]:
                found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
            if found is None:
                _refuse(f"$ref leads nowhere: {pointer:.80}")
            name = self._references[key] = self._rule("")  # at once: what follows may lead back here
            self.rules[name] = self.expression(found, depth + 1)
        return self._references[key]

    def _rule(self, text: str) -> str:
        name = f"r{len(self.rules)}"
        self.rules[name] = text
        return name

    def _literal(self, value: object) -> str:
        """Returns the expression of exactly this value."""
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            text.encode()
        except ValueError:
            _refuse("a value or name in it is no text or number of JSON")
        self._spend(4 + len(text) // 16)
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def _spend(self, size: int) -> None:
        self._size += size * self._ways
        if self._size > _MAX_SIZE:
            _refuse("it is too large")


def _types(schema: dict[str, Any], keys: set[str]) -> list[str]:
    """Returns the types that a schema names, or the one that its keywords are of."""
    if "type" in keys:
        found = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    else:
        found = [name for name, words in _KEYWORDS.items() if words & keys][:1] or ["null"]
    if not found or len(found) > len(_KEYWORDS) or not all(isinstance(one, str) and one in _KEYWORDS for one in found):
        _refuse(f"type is {schema.get('type')!r:.80}", f"It can be {', '.join(_KEYWORDS)}.")
    return found


def _is_single(schema: object) -> bool:
    """Tells whether a schema is of single values alone: a text, a number, true, false or null."""
    return isinstance(schema, dict) and (
        not schema.keys().isdisjoint(("enum", "const")) or schema.get("type") in _SINGLE
    )


def _is_of(value: object, name: str) -> bool:
    """Tells whether a single value is of a type."""
    if name in ("integer", "number"):
        return _whole(value) is not None or (name == "number" and isinstance(value, float))
    return isinstance(value, {"string": str, "boolean": bool, "null": type(None)}.get(name, ()))


def _whole(value: object) -> int | None:
    """Returns a whole number of JSON, such as 2 or 2.0; None for anything else."""
    is_whole = value.is_integer() if isinstance(value, float) else type(value) is int
    return int(value) if is_whole else None  # type: ignore[call-overload]


def _any_of(options: Iterable[str]) -> str:
    found = list(dict.fromkeys(options))
    return found[0] if len(found) == 1 else f"({' | '.join(found)})"


def _unknown(keys: Iterable[str], beside: str) -> NoReturn:
    _refuse(f"it has {', '.join(sorted(keys))[:200]} beside {beside}")


def _refuse(why: str, hint: str = "Leave it out, and check the answer; docs/server.md says what can be.") -> NoReturn:
    raise InvalidRequestError(f"an answer cannot be held to this JSON schema: {why}", hint)
