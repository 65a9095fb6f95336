"""Damaged and hostile GGUF files: every structure cut, every field absurd, templates that are programs.

`mutations` takes a good file apart and yields (what was done, bytes). Nothing here needs llama.cpp.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_ABSURD = {"I": (0, 1, 2**31 - 1, 2**31, 2**32 - 1), "Q": (0, 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1)}

TEMPLATES = {
    "endless loop": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}"
    "{% endfor %}{% endfor %}{% endfor %}",
    "recursion": "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "deep nesting": "{% if true %}" * 5000 + "{% endif %}" * 5000,
    "deep brackets": "{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}",
    "deep lists": "{{ " + "[" * 3000 + "]" * 3000 + " }}",
    "a long sum": "{{ " + "+".join(["1"] * 50000) + " }}",
    "a large text": "{{ 'x' * 99999999999 }}",
    "a text that doubles": "{% set x = 'x' * 1000000 %}{% for a in range(40) %}{% set x = x ~ x %}{% endfor %}",
    "doubling in a namespace": "{% set n = namespace(x='xxxxxxxx') %}{% for a in range(60) %}{% set n.x = n.x ~ n.x %}"
    "{% endfor %}{{ n.x }}",
    "a large number": "{{ 9 ** 9 ** 9 }}",
    "a large padding": "{{ '%999999999999d' % 1 }}",
    "a large format": "{{ '{:>99999999999}'.format(1) }}",
    "a large list": "{{ [0] * 9999999999 }}",
    "joined lists": "{{ (range(99999) | list * 9999) | join }}",
    "attributes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "attributes by filter": "{{ '' | attr('__class__') | attr('__mro__') }}",
    "attributes by format": "{{ '{0.__class__.__init__.__globals__}'.format(messages) }}",
    "the environment": "{{ self._TemplateReference__context.environment }}",
    "globals of a macro": "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
    "cycler": "{{ cycler.__init__.__globals__.os.popen('touch was-here').read() }}",
    "lipsum": "{{ lipsum.__globals__['os'].system('touch was-here') }}",
    "an include": "{% include '/etc/passwd' %}",
    "an import": "{% import 'os' as os %}{{ os.system('id') }}",
    "a change of the messages": "{% for m in messages %}{{ m.update({'content': 'other'}) }}{% endfor %}",
    "an error": "{{ raise_exception('no') }}",
    "no syntax": "{% for",
    "nothing": " ",
    "no message": "hello",
    "every message twice": "{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}",
    "half a character": "{{ '\\ud800' }}{{ messages[0].content }}",
    "NUL": "\0{{ messages[0].content }}\0",
    "a megabyte": "x" * 1_000_000 + "{{ messages[0].content }}",
    "a bad date": "{{ strftime_now('%' * 9999999) }}",
    "a slow word search": "{{ ('a' * 999999) | wordwrap(1) | wordcount }}",
    "a slow indent": "{{ ('\\n' * 9999999) | indent(99999) }}",
    "a slow filter": "{{ range(99999) | map('string') | join(',') | urlize }}",
}
"""Hostile chat templates."""


@dataclass
class Tensor:
    name: bytes
    dims: list[int]
    kind: int
    offset: int


@dataclass
class File:
    """A GGUF file in parts. ``fields``: the integers that `whole` has written (name, offset, struct code)."""

    metadata: list[tuple[bytes, int, Any]] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    data: bytes = b""
    fields: list[tuple[str, int, str]] = field(default_factory=list)

    @classmethod
    def of(cls, raw: bytes) -> File:
        made, at = cls(), 8

        def take(code: str) -> Any:
            nonlocal at
            (value,) = struct.unpack_from("<" + code, raw, at)
            at += struct.calcsize("<" + code)
            return value

        def text() -> bytes:
            nonlocal at
            n = take("Q")
            at += n
            return raw[at - n : at]

        def value(kind: int) -> Any:
            if kind == _STRING:
                return text()
            if kind == _ARRAY:
                of, n = take("I"), take("Q")
                return of, [value(of) for _ in range(n)]
            return take(_SCALARS[kind])

        n_tensors, n_metadata = take("Q"), take("Q")
        for _ in range(n_metadata):
            key, kind = text(), take("I")
            made.metadata.append((key, kind, value(kind)))
        for _ in range(n_tensors):
            name, n_dims = text(), take("I")
            made.tensors.append(Tensor(name, [take("Q") for _ in range(n_dims)], take("I"), take("Q")))
        made.data = raw[-(-at // 32) * 32 :]
        return made

    def whole(self) -> bytes:
        """Returns the file's bytes; fills ``fields``."""
        out, self.fields = bytearray(b"GGUF"), []

        def put(what: str, code: str, number: Any) -> None:
            if code in "IQ":
                self.fields.append((what, len(out), code))
            out.extend(struct.pack("<" + code, number))

        def text(what: str, content: bytes) -> None:
            put(f"length of {what}", "Q", len(content))
            out.extend(content)

        def value(what: str, kind: int, content: Any) -> None:
            if kind == _STRING:
                text(what, content)
            elif kind == _ARRAY:
                of, items = content
                put(f"element type of {what}", "I", of)
                put(f"count of {what}", "Q", len(items))
                for number, item in enumerate(items):
                    value(f"{what}[{number}]", of, item)
            else:
                put(what, _SCALARS[kind], content)

        put("version", "I", 3)
        put("tensor count", "Q", len(self.tensors))
        put("metadata count", "Q", len(self.metadata))
        for key, kind, content in self.metadata:
            name = key.decode("utf-8", "replace")
            text(f"key {name}", key)
            put(f"type of {name}", "I", kind)
            value(name, kind, content)
        for tensor in self.tensors:
            name = tensor.name.decode("utf-8", "replace")
            text(f"name {name}", tensor.name)
            put(f"dimensions of {name}", "I", len(tensor.dims))
            for dim in tensor.dims:
                put(f"dimension of {name}", "Q", dim)
            put(f"type of {name}", "I", tensor.kind)
            put(f"offset of {name}", "Q", tensor.offset)
        return bytes(out + b"\0" * (-len(out) % 32) + self.data)

    def set(self, key: str, value: Any, kind: int | None = None) -> None:
        """Sets or adds a value."""
        name = key.encode()
        for at, (known, old, _) in enumerate(self.metadata):
            if known == name:
                self.metadata[at] = (name, old if kind is None else kind, value)
                return
        self.metadata.append((name, _STRING if kind is None else kind, value))

    def get(self, key: str) -> Any:
        return next((value for known, _, value in self.metadata if known == key.encode()), None)


def mutations(raw: bytes, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yields all mutations of a good file."""
    yield from truncated(raw)
    yield from absurd(raw, random.Random(seed))
    yield from changed(raw)
    yield from templates(raw)


def truncated(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the file cut before each structure, without most elements of long arrays."""
    made = File.of(raw)
    whole = made.whole()
    for what, at, _ in made.fields:
        if "[" not in what or what.endswith(("[0]", "[300]")):
            yield f"cut before {what}", whole[:at]
    for share in (0.3, 0.6, 0.9, 0.999):
        yield f"cut at {share:.1%}", whole[: int(len(whole) * share)]


def absurd(raw: bytes, choose: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yields the file with each integer of the header absurd, in two ways."""
    made = File.of(raw)
    whole = made.whole()
    for what, at, code in made.fields:
        if "[" in what and not what.endswith(("[0]", "[300]")):
            continue
        (old,) = struct.unpack_from("<" + code, whole, at)
        numbers = {*_ABSURD[code], old + 1, max(0, old - 1), 7, 99, choose.randrange(2**16)} - {old}
        for number in choose.sample(sorted(numbers), 2):
            end = at + struct.calcsize(code)
            yield f"{what} is {number}", whole[:at] + struct.pack("<" + code, number) + whole[end:]


def changed(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields well-formed files with impossible values."""
    good = File.of(raw)
    arch = good.get("general.architecture").decode()

    def but(what: str, change: Callable[[File], object]) -> tuple[str, bytes]:
        made = deepcopy(good)
        change(made)
        return what, made.whole()

    for key in [key.decode() for key, kind, _ in good.metadata if kind in (4, 5, 10, 11)]:
        for number in (0, 1, 3, 2**31 - 1):
            yield but(f"{key} = {number}", lambda made, key=key, number=number: made.set(key, number))
        yield but(f"{key} is text", lambda made, key=key: made.set(key, b"many", _STRING))
        yield but(f"{key} is negative", lambda made, key=key: made.set(key, -1, 5))
        yield but(f"{key} is no number", lambda made, key=key: made.set(key, float("nan"), 6))
    for at, (key, _, _) in enumerate(good.metadata):
        yield but(f"without {key.decode()}", lambda made, at=at: made.metadata.pop(at))
    for at, tensor in enumerate(good.tensors[:12]):
        name = tensor.name.decode()
        yield but(f"without {name}", lambda made, at=at: made.tensors.pop(at))
        yield but(f"{name} turned", lambda made, at=at: made.tensors[at].dims.reverse())
        yield but(f"{name} flat", lambda made, at=at: setattr(made.tensors[at], "dims", []))
        yield but(f"{name} in another type", lambda made, at=at: setattr(made.tensors[at], "kind", 2))
        yield but(f"{name} not aligned", lambda made, at=at: setattr(made.tensors[at], "offset", 1))
        yield but(f"{name} renamed", lambda made, at=at: setattr(made.tensors[at], "name", b"x" * 200))
    yield but("a tensor twice", lambda made: made.tensors.append(deepcopy(made.tensors[0])))
    yield but("all weights are not numbers", lambda made: setattr(made, "data", b"\xff" * len(made.data)))
    yield but("all weights are 0", lambda made: setattr(made, "data", bytes(len(made.data))))
    yield but("an unknown architecture", lambda made: made.set("general.architecture", b"nothing"))
    yield but("another architecture", lambda made: made.set("general.architecture", b"qwen3"))

    tokens = "tokenizer.ggml.tokens"
    n = len(good.get(tokens)[1])
    words = {
        "no tokens": [], "one token": [b"a"], "empty tokens": [b""] * n, "equal tokens": [b"a"] * n,
        "tokens of odd bytes": [bytes([255, at % 256, at // 256]) for at in range(n)],
        "long tokens": [str(at).encode() * 3000 for at in range(n)],
        "half of the tokens": good.get(tokens)[1][: n // 2],
        "more tokens than rows": [*good.get(tokens)[1], *(f"more{at}".encode() for at in range(5000))],
        "tokens without bytes": [*good.get(tokens)[1][:3], *(f"w{at}".encode() for at in range(n - 3))],
    }  # fmt: skip
    for what, found in words.items():
        yield but(what, lambda made, found=found: made.set(tokens, (_STRING, found), _ARRAY))
    for key, kind, found in (
        ("scores", 6, [float("nan")] * n), ("scores", 6, [1.0]), ("scores", 4, [7] * n), ("token_type", 5, [3] * n),
        ("token_type", 5, [1]), ("token_type", 5, [99] * n), ("token_type", 5, [6] * n),
        ("merges", _STRING, [b"a b"] * 9), ("merges", _STRING, [b"x"] * 9),
    ):  # fmt: skip
        what = f"{key} are {len(found)} times {found[0]}"
        yield but(what, lambda made, key=key, kind=kind, found=found: made.set(
            f"tokenizer.ggml.{key}", (kind, found), _ARRAY))  # fmt: skip
    for name in ("bos", "eos", "unknown", "padding", "eot", "eom"):
        for number in (n, 2**31, 2**32 - 1):
            yield but(f"{name} is token {number}", lambda made, name=name, number=number: made.set(
                f"tokenizer.ggml.{name}_token_id", number, 4))  # fmt: skip
    for model in (b"gpt2", b"t5", b"rwkv", b"bert", b"plamo2", b"none", b"no_vocab", b"nothing", b""):
        yield but(f"tokenizer {model!r}", lambda made, model=model: made.set("tokenizer.ggml.model", model))
    for pre in (b"llama-bpe", b"qwen2", b"nothing"):
        def bpe(made: File, pre: bytes = pre) -> None:
            made.set("tokenizer.ggml.model", b"gpt2")
            made.set("tokenizer.ggml.pre", pre)
            made.set("tokenizer.ggml.merges", (_STRING, [b"a b", b"ab c"]), _ARRAY)

        yield but(f"BPE tokenizer {pre!r}", bpe)
    yield but("a key twice", lambda made: made.metadata.append(made.metadata[0]))
    yield but("keys that are no text", lambda made: made.metadata.append((b"\xff\xfe\0", _STRING, b"\xff")))
    yield but("ten thousand keys", lambda made: made.metadata.extend((b"k%d" % at, 4, at) for at in range(10_000)))
    yield but("a list of lists", lambda made: made.set("general.tags", (_ARRAY, [(4, [1]), (4, [2])]), _ARRAY))
    for key, kind, number in (
        ("rope.scaling.type", _STRING, b"linear"), ("rope.scaling.factor", 6, 0.0), ("rope.freq_base", 6, 0.0),
        ("rope.freq_base", 6, float("inf")), ("attention.layer_norm_rms_epsilon", 6, float("nan")),
        ("attention.sliding_window", 4, 2**31), ("attention.sliding_window", 4, 1), ("expert_count", 4, 8),
        ("attention.causal", 7, False), ("pooling_type", 4, 1), ("attention.max_alibi_bias", 6, 8.0),
        ("attention.key_length", 4, 1000), ("attention.value_length", 4, 3), ("logit_scale", 6, float("nan")),
        ("attention.clamp_kqv", 6, -1.0), ("final_logit_softcapping", 6, 0.0), ("vocab_size", 4, 2**31 - 1),
        ("vocab_size", 4, 1), ("rope.dimension_sections", 4, 5),
    ):  # fmt: skip
        yield but(f"{key} = {number!r}", lambda made, key=key, kind=kind, number=number: made.set(
            f"{arch}.{key}", number, kind))  # fmt: skip
    yield but("alignment 3", lambda made: made.set("general.alignment", 3, 4))
    yield but("a part of many", lambda made: made.set("split.count", 500, 2))
    yield but("quantized by version 99", lambda made: made.set("general.quantization_version", 99, 4))


def templates(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the file with each of the hostile chat templates."""
    for what, template in TEMPLATES.items():
        made = File.of(raw)
        made.set("tokenizer.chat_template", template.encode("utf-8", "surrogatepass"))
        yield f"template: {what}", made.whole()
