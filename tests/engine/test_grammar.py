"""JSON schemas: allowed text satisfies the schema, and unsupported schemas are refused."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator, FormatChecker

from tests.tiny import write_tiny
from wim_edge import Runtime, Settings, events
from wim_edge.engine.model import Model
from wim_edge.errors import EngineError, InvalidRequestError

pytestmark = pytest.mark.real


def person(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


TREE = {"$defs": {"a/b": person(name={"type": "string", "maxLength": 8},
                                kids={"type": "array", "items": {"$ref": "#/$defs/a~1b"}, "maxItems": 2})},
        "$ref": "#/$defs/a~1b"}  # fmt: skip
SCHEMAS: list[dict[str, Any]] = [
    person(city={"type": "string", "minLength": 1, "maxLength": 20}, score={"type": "number", "minimum": 0,
                                                                              "maximum": 1}),
    person(day={"type": "string", "format": "date"}, id={"type": "string", "format": "uuid"}),
    {"type": "array", "items": {"type": "integer", "minimum": -3, "maximum": 12}, "minItems": 2, "maxItems": 4},
    person(**{"a": {"type": ["boolean", "null"]}, 'größe "x"\\n': {"const": "ä\n"}, "c": {"enum": [1.5, None, 3]}}),
    {"anyOf": [person(kind={"const": "cat"}, lives={"type": "integer", "minimum": 0}), {"type": "null"}]},
    {"anyOf": [person(kind={"const": "cat"}), person(kind={"const": "dog"}, name={"enum": ["Rex", "Ada"]})]},
    {"type": "string", "pattern": "^[a-c]{2,4}$"}, {"type": "object", "additionalProperties": {"type": "boolean"}},
    TREE,
]  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with Model(write_tiny(tmp_path_factory.mktemp("grammar") / "tiny.gguf", "llama"), Settings()) as model:
        yield model


def drawn(model: Model, schema: Any, seed: int, most: int = 400) -> str | None:
    """Returns a text that the schema allows, from random logits in which ends grow likelier; None without an end."""
    random = np.random.default_rng(seed)
    grammar, text = model.grammar(schema), b""
    ends = [token for token in range(model.n_vocab) if model.piece(token) in (b'"', b"}", b"]") or model.is_eog(token)]
    parts = [token for token in range(model.n_vocab) if not model.piece(token).isascii()]  # bytes of larger characters
    for n in range(most):
        logits = random.normal(size=model.n_vocab).astype(np.float32)
        logits[ends] += n / 20
        logits[parts] -= 100
        given = logits.copy()
        token = int(np.argmax(grammar.allowed(logits)))
        assert (logits == given).all()
        if model.is_eog(token):
            return text.decode()
        grammar.accept(token)
        text += model.piece(token)
    return None


@pytest.mark.parametrize("schema", SCHEMAS)
def test_all_that_is_allowed_satisfies_the_schema(tiny: Model, schema: dict[str, Any]) -> None:
    check = Draft202012Validator(schema, format_checker=FormatChecker(["date", "uuid"]))
    texts = [drawn(tiny, schema, seed) for seed in range(12)]
    assert sum(text is not None for text in texts) >= 6
    for text in filter(None, texts):
        check.validate(json.loads(text))


@pytest.mark.parametrize("schema", [
    {"type": "string", "format": "no-such-format"}, {"type": "text"}, {"$ref": "https://example.org/a"}, 3,
    {"type": "object", "unevaluatedProperties": False}, {"enum": []}, {"type": "array", "uniqueItems": True},
])  # fmt: skip
def test_an_unsupported_schema_is_refused_at_once(tiny: Model, schema: Any) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidRequestError, match="is not supported") as refused:
        tiny.grammar(schema)
    assert refused.value.hint
    assert time.process_time() - begun < 5


def test_no_control_token_is_allowed(smollm2: Path) -> None:
    with Model(smollm2, Settings(n_threads=1)) as model:
        grammar = model.grammar({"const": "Q"})
        logits = np.zeros(model.n_vocab, np.float32)
        held = grammar.allowed(logits)
        pieces = {model.piece(int(token)) for token in np.nonzero(np.isfinite(held))[0]}
        assert pieces <= {b'"', b'"Q', b'"Q"'}
        with pytest.raises(EngineError, match="no token"):
            grammar.allowed(np.full(model.n_vocab, -np.inf, np.float32))


def test_a_model_answers_by_the_schema(smollm2: Path) -> None:
    schema = person(colour={"enum": ["red", "green", "blue"]}, number={"type": "integer", "minimum": 1, "maximum": 9})
    with Runtime(Settings(model=str(smollm2), answer_tokens=60, n_threads=1)) as runtime:
        found = list(runtime.complete([("user", "Name a colour and a number, as JSON.")], schema=schema))
    last = found[-1]
    assert isinstance(last, events.CompletionFinished)
    Draft202012Validator(schema).validate(json.loads(last.text))


def test_without_the_package_the_hint_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance.llamacpp", None)
    with (
        Model(write_tiny(tmp_path / "tiny.gguf", "llama"), Settings()) as model,
        pytest.raises(InvalidRequestError, match="llguidance") as refused,
    ):
        model.grammar({"type": "object"})
    assert "wim-edge[server]" in refused.value.hint
