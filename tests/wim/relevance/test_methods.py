"""Every method in every pattern, and one that another model scores by."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.wim.relevance.lighthouse import QUESTION, library, ranked, reply
from wim_edge import Document, Runtime, Settings, events
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
    assert finished.text == "Ottilie Brandt"
    assert finished.sources[0].document == f"{gold}.txt"
    assert not model.contexts[0].live


def test_an_auxiliary_model_scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from wim_edge import loaded_models

    path = tmp_path / "scorer.gguf"
    path.write_bytes(b"GGUF")
    reader, judge = FakeModel(reply), FakeModel(reply)
    closed: list[str] = []
    monkeypatch.setattr(reader, "close", lambda: closed.append("reader"))
    monkeypatch.setattr(judge, "close", lambda: closed.append("judge"))
    monkeypatch.setattr(loaded_models, "open_model", lambda found, settings: judge)
    for relevance in ("likelihood", "verdict"):
        settings = Settings(pattern="wim-shallow", relevance=relevance, relevance_model=str(path), segment_tokens=64)
        with Runtime(settings, model=reader) as runtime:
            found = list(runtime.stream(library(6, 4), QUESTION))
        assert ranked(found)[0].document == "4.txt"
        assert judge.contexts[-1].closed
    assert closed == ["judge", "judge"]  # each runtime opened its own; the reader was given
    with Runtime(settings.with_changes(relevance="likelihood-gain"), model=reader) as runtime, pytest.raises(
        InvalidRequestError, match="likelihood-gain"
    ):
        runtime.stream(library(6, 4), QUESTION)


@pytest.mark.parametrize("pattern", ["llm", "rag"])
def test_a_relevance_model_without_use_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pattern: str) -> None:
    from wim_edge import loaded_models

    path = tmp_path / "scorer.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(loaded_models, "open_model", lambda found, settings: FakeModel(reply))
    settings = Settings(pattern=pattern, relevance="bm25", relevance_model=str(path), segment_tokens=64)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(library(3, 1), QUESTION))
    assert any("relevance model is not used" in e.text for e in found if isinstance(e, events.Warning))


@pytest.mark.real
def test_a_text_of_more_tokens_for_the_judge_than_for_the_reader(smollm2: Path, gemma3: Path) -> None:
    thai = "ประเทศไทยเป็นรัฐชาติอันตั้งอยู่ในภูมิภาคเอเชียตะวันออกเฉียงใต้ " * 2
    chosen = Settings(model=str(gemma3), relevance_model=str(smollm2), pattern="rag", relevance="likelihood",
                      segment_tokens=128, answer_tokens=4)  # fmt: skip
    with Runtime(chosen) as runtime:
        found = list(runtime.stream(Document("th.txt", thai), "ประเทศไทยอยู่ที่ไหน"))
    assert ranked(found)


@pytest.mark.real
def test_one_model_reads_and_another_scores(smollm2: Path, gemma3: Path) -> None:
    settings = Settings(
        model=str(smollm2), relevance_model=str(gemma3), relevance="likelihood", pattern="wim-shallow", answer_tokens=4
    )
    with Runtime(settings) as runtime:
        found = list(runtime.stream(library(3, 1), QUESTION))
    assert ranked(found)[0].document == "1.txt"
    last, margins = found[-1], [event.segment for event in found if type(event) is events.MarginJudged]
    assert isinstance(last, events.AnswerFinished)
    assert {source.segment for source in last.sources} <= set(margins)
    read = {event.segment: event.tokens for event in found if isinstance(event, events.SegmentRead)}
    _, *again = (read[source.segment] for source in last.sources)
    assert last.usage.prefilled_tokens == sum(read[one] for one in margins) + sum(again)  # the others were but scored


@pytest.mark.real
def test_a_small_model_scores_for_a_large_one(gemma3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(model=str(gemma3), pattern="wim-shallow", answer_tokens=4, save=False)
    with Runtime(settings) as runtime:

        def judge(**changes: object) -> str | None:
            with closing(runtime.with_changes(**changes).stream(library(2, 1), QUESTION)) as found:  # type: ignore[arg-type, type-var]
                started = next(found)
            assert isinstance(started, events.ReadingStarted)
            return started.judge

        assert judge() is None
        monkeypatch.setattr("wim_edge.loaded_models._LARGE", gemma3.stat().st_size)
        assert judge() == judge(pattern="rag") == "smollm2-135m"
        assert judge(relevance_model="self") is judge(pattern="wim") is judge(relevance="bm25") is None
