"""Every method in every pattern, and one that another model scores by."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.reading.relevance.lighthouse import QUESTION, library, ranked, reply
from wim_edge import Runtime, Settings, events
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import PATTERNS as PATTERN_NAMES
from wim_edge.settings import RELEVANCES
from wim_edge.testing import FakeModel


@pytest.mark.parametrize("pattern", [name for name in PATTERN_NAMES if name != "llm"])
@pytest.mark.parametrize("relevance", RELEVANCES)
@pytest.mark.parametrize("gold", [0, 3, 7])
def test_every_method_finds_the_segment_in_every_pattern(pattern: str, relevance: str, gold: int) -> None:
    model = FakeModel(reply)
    settings = Settings(pattern=pattern, relevance=relevance, segment_tokens=64, margin_tokens=16, answer_tokens=16)
    with Runtime(settings, model=model) as runtime:
        found = list(runtime.stream(library(8, gold), QUESTION))
    assert found[0].relevance == relevance  # type: ignore[attr-defined]
    ranking = ranked(found)
    assert ranking[0].document == f"{gold}.txt"
    assert ranking[0].chosen
    finished = found[-1]
    assert isinstance(finished, events.AnswerFinished)
    assert finished.text.startswith("Ottilie Brandt")
    assert finished.sources[0].document == f"{gold}.txt"
    assert not model.contexts[0].live


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow", "rag"])
@pytest.mark.parametrize("relevance", ["likelihood", "verdict"])
def test_a_named_judge_scores_in_every_pattern(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, relevance: str, pattern: str
) -> None:
    from wim_edge import loaded_models

    path = tmp_path / "judge.gguf"
    path.write_bytes(b"GGUF")
    model, judge = FakeModel(reply), FakeModel(reply)
    closed: list[str] = []
    monkeypatch.setattr(model, "close", lambda: closed.append("model"))
    monkeypatch.setattr(judge, "close", lambda: closed.append("judge"))
    monkeypatch.setattr(loaded_models, "open_model", lambda found, settings: judge)
    settings = Settings(pattern=pattern, relevance=relevance, judge=str(path), segment_tokens=64)
    with Runtime(settings, model=model) as runtime:
        found = list(runtime.stream(library(6, 4), QUESTION))
    assert ranked(found)[0].document == "4.txt"
    assert judge.contexts[-1].closed
    assert closed == ["judge"]  # the model was given


def test_likelihood_gain_takes_no_other_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from wim_edge import loaded_models

    path = tmp_path / "judge.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(loaded_models, "open_model", lambda found, settings: FakeModel(reply))
    settings = Settings(pattern="wim", relevance="likelihood-gain", judge=str(path), segment_tokens=64)
    with Runtime(settings, model=FakeModel(reply)) as runtime, pytest.raises(InvalidRequestError, match="-gain"):
        runtime.stream(library(6, 4), QUESTION)


@pytest.mark.parametrize(("pattern", "relevance"), [("llm", None), ("wim", "bm25")])
def test_a_judge_without_use_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pattern: str, relevance: str | None
) -> None:
    from wim_edge import loaded_models

    path = tmp_path / "judge.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(loaded_models, "open_model", lambda found, settings: FakeModel(reply))
    settings = Settings(pattern=pattern, relevance=relevance, judge=str(path), segment_tokens=64)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(library(3, 1), QUESTION))
    assert any("the judge is not used" in e.text for e in found if isinstance(e, events.Warning))


@pytest.mark.real
def test_a_judge_and_a_model_that_writes(smollm2: Path, gemma3: Path) -> None:
    settings = Settings(
        model=str(gemma3), judge=str(smollm2), relevance="likelihood", pattern="wim-shallow", answer_tokens=4
    )
    with Runtime(settings) as runtime:
        found = list(runtime.stream(library(3, 1), QUESTION))
    assert ranked(found)[0].document == "1.txt"
    last = found[-1]
    assert isinstance(last, events.AnswerFinished)
    assert (last.model, last.judge) == (gemma3.stem, smollm2.stem)
    read = sum(event.tokens for event in found if isinstance(event, events.SegmentRead))
    assert last.usage.prefilled_tokens == read  # by the judge, once; passages of the writer's prompt are no reading


@pytest.mark.real
def test_the_embedded_model_judges_for_another_one(gemma3: Path) -> None:
    settings = Settings(model=str(gemma3), answer_tokens=4, save=False)
    with Runtime(settings) as runtime:

        def judge(**changes: object) -> str | None:
            with closing(runtime.with_changes(**changes).stream(library(2, 1), QUESTION)) as found:  # type: ignore[arg-type, type-var]
                started = next(found)
            assert isinstance(started, events.ReadingStarted)
            return started.judge

        assert judge() == judge(pattern="rag") == judge(relevance_model="smollm2-135m") == "smollm2-135m"
        assert judge(judge="self") is judge(pattern="wim") is judge(relevance="bm25") is judge(prose=False) is None
