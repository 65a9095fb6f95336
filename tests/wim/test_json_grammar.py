"""JSON schemas as grammars: what they allow satisfies the schema, and what cannot be held to is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from tests.tiny import write_tiny
from wim_edge import Runtime, Settings, events
from wim_edge.engine.model import Model
from wim_edge.errors import InvalidRequestError
from wim_edge.wim.json_grammar import json_grammar


def person(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"items": found}
    return found


@pytest.mark.parametrize(("schema", "said"), [
    ({"pattern": "a+"}, "it has pattern beside null"), ({"type": "string", "pattern": "a"}, "pattern beside string"),
    ({"oneOf": [{}]}, "oneOf"), ({"type": "integer", "multipleOf": 2}, "multipleOf"), ({"anyOf": []}, "anyOf"),
    ({"anyOf": [{}], "type": "string"}, "it has type beside anyOf"), ({"type": "text"}, "type is 'text'"),
    ({"type": []}, "type is"), ({"type": [["a"]]}, "type is"), ({"format": "email"}, "format is 'email'"),
    ({"type": "object", "required": ["a"]}, "properties lacks 'a'"), ({"required": [[]]}, "properties lacks"),
    ({"properties": []}, "has another form"), ({"properties": {"a": False}}, "no object"), ({"items": 3}, "no object"),
    ({"enum": []}, "no value"), ({"enum": [{}]}, "enum and const"), ({"enum": ["a"], "type": "integer"}, "no value"),
    ({"enum": ["a"], "const": "a"}, "const"), ({"enum": 3}, "enum and const"), ({"enum": [float("nan")]}, "no text or"),
    ({"enum": ["\ud800"]}, "no text or"), ({"properties": {"\ud800": {}}}, "no text or"),
    ({"minimum": 0.5}, "minimum"), ({"type": "number", "minimum": -1, "maximum": 1}, "minimum"),
    ({"type": "integer", "minimum": 0, "maximum": 10**400}, "minimum"), ({"maxItems": 10**9}, "maxItems"),
    ({"minItems": 3, "maxItems": 2}, "minItems"), ({"maxLength": True}, "maxLength"), ({"minLength": -1}, "minLength"),
    ({"$ref": "https://example.org/a"}, "$ref is"), ({"$ref": "#/$defs/a"}, "leads nowhere"), ({"$ref": 3}, "$ref is"),
    ({"$ref": "#", "type": "string"}, "beside $ref"), (nested(100), "deep"), (nested(400), "deep"), (3, "no object"),
    ({"enum": ["a" * 200_000]}, "too large"), ({"enum": [*range(20_000)]}, "too large"),
    ({"anyOf": [{}] * 200_000}, "leaves too much open"), ({"anyOf": [{"const": 1}] * 200_000}, "too large"),
    (person(**{f"a{n}": {} for n in range(20_000)}), "too large"),
    ({"anyOf": [{"maxItems": 1000, "minLength": n} for n in range(9)]}, "it has minLength beside array"),
    ({"properties": {f"a{n}": {"maxItems": 1000} for n in range(99)}}, "too large"),
    # Each brace would double what llama.cpp has to follow
    ({"anyOf": [person(a={"$ref": "#"}), person(a={"$ref": "#"}, b={})]}, "leaves too much open"),
    ({"$defs": {f"d{n}": {"anyOf": [person(a={"$ref": f"#/$defs/d{n + 1}"}), person(a={"$ref": f"#/$defs/d{n + 1}"},
                                                                                    b={})]}
                for n in range(20)} | {"d20": {}}, "$ref": "#/$defs/d0"}, "leaves too much open"),
    ({"anyOf": [person(kind={"enum": [*range(900)]}, **{f"a{n}": {}}) for n in range(40)]}, "too large"),
])  # fmt: skip
def test_what_cannot_be_held_to_is_refused_at_once(schema: Any, said: str) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidRequestError) as refused:
        json_grammar(schema)
    assert said in str(refused.value)
    assert refused.value.hint
    assert time.process_time() - begun < 2


def test_a_grammar_grows_no_faster_than_its_schema() -> None:
    sizes = [len(json_grammar({"properties": {f"a{n}": {"enum": [1, 2, 3]} for n in range(count)}})) for count in
             (0, 100, 200)]  # fmt: skip
    assert sizes[2] - sizes[1] < 1.5 * (sizes[1] - sizes[0])


TREE = {"$defs": {"a/b": person(name={"type": "string", "maxLength": 8}, kids={"items": {"$ref": "#/$defs/a~1b"},
                                                                             "maxItems": 2})},
        "$ref": "#/$defs/a~1b"}  # fmt: skip
CHAIN = {"properties": {"value": {"type": "boolean"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
SCHEMAS: list[dict[str, Any]] = [
    person(city={"type": "string", "minLength": 1, "maxLength": 20}, score={"type": "number", "minimum": 0,
                                                                              "maximum": 1}),
    person(day={"type": "string", "format": "date"}, at={"type": "string", "format": "date-time"},
           id={"type": "string", "format": "uuid"}),
    {"type": "array", "items": {"type": "integer", "minimum": -3, "maximum": 12}, "minItems": 2, "maxItems": 4},
    {"properties": {"a": {"type": ["boolean", "null"]}, "größe \"x\"\\n": {"const": "ä\n"},
                    "c": {"enum": [1.5, None, 3]}}, "required": ["c"]},
    {"anyOf": [person(kind={"const": "cat"}, lives={"type": "integer", "minimum": 0}), {"type": "null"}]},
    {"anyOf": [person(kind={"const": "cat"}), person(kind={"const": "dog"}, name={"enum": ["Rex", "Ada"]})]},
    {"anyOf": [{"type": ["boolean", "null"]}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}]},
    {"type": "object", "additionalProperties": {"type": "boolean"}}, {"type": "object", "additionalProperties": False},
    {"enum": ["a", 1, None], "type": ["string", "null"]}, {"type": "array", "maxItems": 0}, {"maxLength": 3},
]  # fmt: skip
LEAVES = st.sampled_from([
    {"type": "string", "maxLength": 4}, {"type": "string"}, {"type": "integer"}, {"type": "number"},
    {"type": "boolean"}, {"type": "null"},
    {"enum": ["a\"\\", "a", 2, 0.5, False]}, {"type": "integer", "minimum": 0}, {"format": "time"},
    {"type": "number", "minimum": 1, "maximum": 4}, {"type": "number", "minimum": 0}, {"minLength": 2, "maxLength": 3},
])  # fmt: skip
NAMES = st.sampled_from(["a", "b", "ä", 'c"', "d e", "\\", "\n", "f"])


def objects(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(NAMES, children, min_size=1, max_size=4).flatmap(lambda properties: st.sets(
        st.sampled_from([*properties])).map(lambda some: {"properties": properties, "required": [*some]}))  # fmt: skip


ANY = st.recursive(
    LEAVES, lambda children: objects(children)
    | st.lists(children, min_size=1, max_size=3).map(lambda some: {"anyOf": some})
    | st.tuples(children, st.integers(0, 2), st.integers(0, 2)).map(
        lambda one: {"type": "array", "items": one[0], "minItems": one[1], "maxItems": one[1] + one[2]}),
    max_leaves=6,
)  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Model(write_tiny(tmp_path_factory.mktemp("grammar") / "tiny.gguf", "llama"), Settings()) as model:
        yield model


def drawn(model: Model, schema: Any, seed: int, most: int = 400) -> str | None:
    """A text that the grammar allows, by logits that are drawn, of which those that end things grow; None: no end."""
    random = np.random.default_rng(seed)
    grammar, text = model.grammar(json_grammar(schema)), b""
    ends = [token for token in range(model.n_vocab) if model.piece(token) in (b'"', b"}", b"]") or model.is_eog(token)]
    parts = [token for token in range(model.n_vocab) if not model.piece(token).isascii()]  # of characters, or of none
    for n in range(most):
        logits = random.normal(size=model.n_vocab).astype(np.float32)
        logits[ends] += n / 20
        logits[parts] -= 100
        token = int(np.argmax(grammar.allowed(logits, greedy=bool(n % 2))))
        if model.is_eog(token):
            grammar.close()
            return text.decode()
        grammar.accept(token)
        text += model.piece(token)
    grammar.close()
    return None


@pytest.mark.real
@pytest.mark.parametrize("schema", [*SCHEMAS, TREE, CHAIN, {}])
def test_all_that_is_allowed_satisfies_the_schema(tiny: Any, schema: dict[str, Any]) -> None:
    check = Draft202012Validator(schema, format_checker=FormatChecker(["date", "uuid"]))
    texts = [drawn(tiny, schema, seed) for seed in range(12)]
    assert sum(text is not None for text in texts) >= 6
    for text in filter(None, texts):
        check.validate(json.loads(text))


@pytest.mark.real
@given(schema=ANY, seed=st.integers(0, 2**32))
@settings(max_examples=80, suppress_health_check=[*HealthCheck], derandomize=True, database=None)
def test_whatever_the_schema(tiny: Any, schema: dict[str, Any], seed: int) -> None:
    text = drawn(tiny, schema, seed)
    if text is not None:
        Draft202012Validator(schema).validate(json.loads(text))


@pytest.mark.real
@pytest.mark.parametrize(("temperature", "schemas"), [(0.0, SCHEMAS[::2]), (1.0, SCHEMAS[1::2])])
def test_a_model_answers_in_the_form(smollm2: Path, temperature: float, schemas: list[dict[str, Any]]) -> None:
    asked = [("user", "Tell me about the Eiffel Tower in Paris, opened on 31 March 1889. Answer as JSON.")]
    with Runtime(Settings(model=str(smollm2), temperature=temperature, answer_tokens=200, n_threads=1)) as runtime:
        for schema in schemas:
            if schema.get("additionalProperties"):
                continue  # a small model adds one property after the other
            *_, last = runtime.complete(asked, grammar=json_grammar(schema))
            assert isinstance(last, events.CompletionFinished)
            assert last.finish_reason == "stop", (schema, last.text)
            Draft202012Validator(schema).validate(json.loads(last.text))
        *_, last = runtime.with_changes(answer_tokens=3).complete(asked, grammar=json_grammar(SCHEMAS[0]))
        assert isinstance(last, events.CompletionFinished)
        assert (last.finish_reason, last.completion_tokens) == ("length", 3)
        with pytest.raises(InvalidRequestError, match="left recursion"):
            runtime.complete(asked, grammar=json_grammar({"$ref": "#"}))
