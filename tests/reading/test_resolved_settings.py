"""Settings are merged in one place, and each knows where it comes from."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.errors import InvalidRequestError
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading.resolved_settings import resolve
from wim_edge.testing import FakeModel


def test_each_source_stands_before_the_next() -> None:
    suggested = {"pattern": "wim-shallow", "n_threads": 5, "max_passages": 2}
    resolved = resolve(Settings(max_passages=3), suggested, {"n_threads": 7, "n_batch": 64}, ("wim", "short"))
    assert (resolved.max_passages, resolved.origins["max_passages"]) == (3, "given")
    assert (resolved.settings.n_threads, resolved.origins["n_threads"]) == (7, "tuned.json")
    assert (resolved.pattern.name, resolved.origins["pattern"]) == ("wim-shallow", "models.toml")
    assert resolved.why == "measured best with this model"
    assert (resolved.segment_tokens, resolved.origins["segment_tokens"]) == (256, "pattern")
    assert resolved.origins["seed"] == "default"


def test_the_length_decides_where_nobody_names_a_pattern() -> None:
    resolved = resolve(Settings(), automatic=("wim-shallow", "a long text"))
    assert (resolved.pattern.name, resolved.origins["pattern"]) == ("wim-shallow", "length")
    assert resolved.why == "a long text"
    chosen = resolve(Settings(pattern="wim"), {"pattern": "rag"}, automatic=("wim-shallow", "a long text"))
    assert (chosen.pattern.name, chosen.origins["pattern"], chosen.why) == ("wim", "given", None)


def test_what_was_measured_together_is_taken_together() -> None:
    tuned = {"flash_attn": True, "kv_type": "q8_0", "n_threads": 2}
    assert resolve(Settings(), {}, tuned).settings.kv_type == "q8_0"
    own = resolve(Settings(flash_attn=False), {}, tuned)
    assert (own.settings.kv_type, own.origins["kv_type"], own.settings.n_threads) == ("f16", "default", 2)


def test_every_setting_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIM_EDGE_SEED", "7")
    told = resolve(Settings.from_environment().with_changes(top_p=0.5)).explained()
    assert list(told) == [field.name for field in fields(Settings)]
    assert told["seed"] == {"value": 7, "origin": "WIM_EDGE_SEED"}
    assert told["top_p"] == {"value": 0.5, "origin": "given"}
    assert told["pattern"] == {"value": "wim", "origin": "default"}
    json.dumps(told)


def test_resolving_changes_nothing() -> None:
    loaded = LoadedModels(Settings(seed=3), FakeModel(lambda prompt: ""))
    assert loaded.resolved(("rag", "why")).settings.pattern == "rag"
    assert loaded.settings == Settings(seed=3)
    with Runtime(Settings(), model=FakeModel(lambda prompt: "")) as runtime:
        assert runtime.resolve(Document("d", "A short text.")).origins["pattern"] == "length"
        assert runtime.settings.pattern is None


def test_what_is_left_open_changes_nothing_of_a_loaded_model() -> None:
    loaded = LoadedModels(Settings(n_threads=2), FakeModel(lambda prompt: ""))
    assert loaded.with_changes(n_threads=None, seed=4).settings == Settings(n_threads=2, seed=4)
    assert loaded.with_changes(n_threads=2).settings.n_threads == 2
    with pytest.raises(InvalidRequestError):
        loaded.with_changes(n_threads=3)
