"""Settings are merged in one place, and each knows where it comes from."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from tests.reading import island, lighthouse
from tests.reading.island import finished, reply, text
from tests.reading.story import recording
from wim_edge import Document, Runtime, Settings, events, tuned
from wim_edge.errors import InvalidRequestError
from wim_edge.loaded_models import LoadedModels
from wim_edge.reading.resolved_settings import PATTERNS, automatic, resolve
from wim_edge.settings import PATTERNS as PATTERN_NAMES
from wim_edge.testing import FakeModel


def test_each_source_stands_before_the_next() -> None:
    suggested = {"pattern": "wim-shallow", "n_threads": 5, "max_passages": 2}
    resolved = resolve(Settings(max_passages=3), suggested, {"n_threads": 7, "n_batch": 64}, ("wim", "short"))
    assert (resolved.max_passages, resolved.origins["max_passages"]) == (3, "given")
    assert (resolved.settings.n_threads, resolved.origins["n_threads"]) == (7, "tuned")
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
        runtime.ask(Document("d", "A short text."), "Why?")
        assert runtime.settings.pattern is None


def test_what_is_left_open_changes_nothing_of_a_loaded_model() -> None:
    loaded = LoadedModels(Settings(n_threads=2), FakeModel(lambda prompt: ""))
    assert loaded.with_changes(n_threads=None, seed=4).settings == Settings(n_threads=2, seed=4)
    assert loaded.with_changes(n_threads=2).settings.n_threads == 2
    with pytest.raises(InvalidRequestError):
        loaded.with_changes(n_threads=3)


PLAIN = Settings(answer_tokens=16)


def asked(model: FakeModel, n: int, settings: Settings = PLAIN) -> tuple[str, str | None]:
    found = island.asked(settings, text(n, n // 2), model=model)
    assert isinstance(found[0], events.ReadingStarted)
    assert finished(found).pattern == found[0].pattern
    return found[0].pattern, found[0].why


def test_whole_where_that_is_soon_done() -> None:
    assert automatic(1000, 8192, None) == ("wim", "a short text is read whole")
    assert automatic(3000, 8192, None) == ("wim-shallow", "--pattern wim reads all of it")
    assert automatic(3000, 8192, 250.0) == ("wim", "read whole, in about 12 s")
    assert automatic(6000, 8192, 10.0) == ("wim-shallow", "whole, with --pattern wim, it would take about 10 min")
    assert automatic(8000, 8192, 1e6) == ("wim-shallow", "longer than the context of 8,192 tokens")


def test_a_model_that_is_not_known() -> None:
    model = FakeModel(reply)
    assert asked(model, 8) == ("wim", "a short text is read whole")
    assert asked(FakeModel(reply, n_ctx_train=4096), 300) == ("wim-shallow", "longer than the context of 4,096 tokens")
    assert asked(model, 8, PLAIN.with_changes(pattern="wim-shallow")) == ("wim-shallow", None)


def test_speed_is_remembered_and_decides() -> None:
    model = FakeModel(reply)
    tuned.note_speed(model, 2560, 256.0)
    assert tuned.known_speed(model) == 10.0
    pattern, why = asked(model, 20)
    assert pattern == "wim-shallow"
    assert why.startswith("whole, with --pattern wim, it would take about")
    assert tuned.known_speed(model) != 10.0  # it has read faster now
    assert asked(model, 20)[0] == "wim"


def test_what_is_not_to_be_kept_is_not() -> None:
    model = FakeModel(reply)
    asked(model, 20, PLAIN.with_changes(save=False))
    assert tuned.known_speed(model) is None


@pytest.mark.real
def test_models_toml_is_told(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "home/config").mkdir(parents=True)
    (tmp_path / "home/config/models.toml").write_text(
        '[models."mine"]\ndescription = "x"\nlicence = "x"\nparameters = "1"\ncontext = 4096\nrank = 1\n'
        f'bytes = {tiny.stat().st_size}\n[models."mine".source]\nkind = "path"\npath = "{tiny}"\n'
        '[models."mine".settings]\npattern = "rag"\n'
    )
    with Runtime(PLAIN.with_changes(model="mine", answer_tokens=2)) as runtime:
        chosen = runtime.with_changes(pattern="wim-shallow")
        for why, asked in (("measured best with this model", runtime), (None, chosen)):
            started = next(asked.stream(Document("d", text(400, 1)), "Who?"))  # so long that its length is looked at
            assert isinstance(started, events.ReadingStarted)
            assert started.why == why


def test_every_pattern_has_its_name() -> None:
    assert tuple(PATTERNS) == PATTERN_NAMES


def test_shallow_reading_has_no_limit_by_the_context() -> None:
    model = FakeModel(lighthouse.reply, n_ctx_train=600)
    settings = Settings(pattern="wim-shallow", segment_tokens=64, margin_tokens=16, answer_tokens=16, max_passages=2)
    found = lighthouse.asked(settings, lighthouse.library(60, 47), model)
    assert found[0].tokens > 600 and found[0].windows == 0  # type: ignore[attr-defined]  # noqa: PT018
    assert island.finished(found).text.startswith("Ottilie Brandt")
    assert not [event for event in found if isinstance(event, events.Warning)]


def test_shallow_reading_reads_nothing_twice_for_one_passage() -> None:
    settings = Settings(pattern="wim-shallow", segment_tokens=64, max_passages=1, within="all")
    found = lighthouse.asked(settings, lighthouse.library(8, 2))
    assert island.finished(found).usage.prefilled_tokens == found[0].tokens


def test_focus_keeps_the_context_where_there_is_room() -> None:
    model = FakeModel(lighthouse.reply)
    found = lighthouse.asked(Settings(pattern="wim-focus", segment_tokens=64), lighthouse.library(6, 2), model)
    main = model.history[0][1]
    evaluated = sum(n for what, sequence, n in model.history if what == "append" and sequence == main)
    assert evaluated > found[0].tokens  # type: ignore[attr-defined]  # it holds the context
    assert not any(what == "truncate" and sequence == main for what, sequence, _ in model.history)


def test_closed_book_is_llm_alone() -> None:
    model, prompts = recording(lighthouse.reply)
    with Runtime(Settings(pattern="llm"), model=model) as runtime:
        assert runtime.ask((), lighthouse.QUESTION).text == "nobody knows"
        assert "document" not in prompts[-1].lower()
        with pytest.raises(InvalidRequestError, match="no document"):
            runtime.with_changes(pattern="wim").stream((), lighthouse.QUESTION)
