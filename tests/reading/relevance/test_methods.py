"""Every method in every pattern, and one that another model scores by."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.reading import island, story
from tests.reading.relevance.lighthouse import QUESTION, asked, library, ranked, reply
from tests.reading.story import SMALL, TEXT, of_type, recording, run
from wim_edge import Document, Runtime, Settings, events
from wim_edge.errors import InvalidRequestError
from wim_edge.reading.relevance.methods import verdict_tokens
from wim_edge.settings import PATTERNS as PATTERN_NAMES
from wim_edge.settings import RELEVANCES
from wim_edge.testing import FakeModel


@pytest.mark.parametrize("pattern", [name for name in PATTERN_NAMES if name != "llm"])
@pytest.mark.parametrize("relevance", RELEVANCES)
@pytest.mark.parametrize("gold", [0, 3, 7])
def test_every_method_finds_the_segment_in_every_pattern(pattern: str, relevance: str, gold: int) -> None:
    model = FakeModel(reply)
    settings = Settings(pattern=pattern, relevance=relevance, segment_tokens=64, margin_tokens=16, answer_tokens=16)
    found = asked(settings, library(8, gold), model)
    assert found[0].relevance == relevance  # type: ignore[attr-defined]
    ranking = ranked(found)
    assert ranking[0].document == f"{gold}.txt"
    assert ranking[0].chosen
    finished = island.finished(found)
    assert finished.text.startswith("Ottilie Brandt")
    assert finished.sources[0].document == f"{gold}.txt"
    assert not model.contexts[0].live


def test_bm25_reads_only_what_it_answers_from() -> None:
    settings = Settings(pattern="rag", relevance="bm25", segment_tokens=64, max_passages=1)
    found = asked(settings, library(8, 2))
    assert 0 < island.finished(found).usage.prefilled_tokens < found[0].tokens / 4


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[FakeModel, Settings]:
    """A model that is loaded from a file, and the settings that name it as the judge."""
    model, path = FakeModel(reply), tmp_path / "judge.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr("wim_edge.loaded_models.open_model", lambda found, settings: model)
    return model, Settings(judge=str(path), segment_tokens=64)


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow", "rag"])
@pytest.mark.parametrize("relevance", ["likelihood", "verdict"])
def test_a_named_judge_scores_in_every_pattern(
    monkeypatch: pytest.MonkeyPatch, judge: tuple[FakeModel, Settings], relevance: str, pattern: str
) -> None:
    model, closed = FakeModel(reply), list[str]()
    monkeypatch.setattr(model, "close", lambda: closed.append("model"))
    monkeypatch.setattr(judge[0], "close", lambda: closed.append("judge"))
    found = asked(judge[1].with_changes(pattern=pattern, relevance=relevance), library(6, 4), model)
    assert ranked(found)[0].document == "4.txt"
    assert judge[0].contexts[-1].closed
    assert closed == ["judge"]  # the model was given


def test_likelihood_gain_takes_no_other_model(judge: tuple[FakeModel, Settings]) -> None:
    with pytest.raises(InvalidRequestError, match="-gain"):
        asked(judge[1].with_changes(pattern="wim", relevance="likelihood-gain"), library(6, 4))


@pytest.mark.parametrize(("pattern", "relevance"), [("llm", None), ("wim", "bm25")])
def test_a_judge_without_use_is_reported(
    judge: tuple[FakeModel, Settings], pattern: str, relevance: str | None
) -> None:
    found = asked(judge[1].with_changes(pattern=pattern, relevance=relevance), library(3, 1))
    assert any("the judge is not used" in e.text for e in found if isinstance(e, events.Warning))


@pytest.mark.real
def test_a_judge_and_a_model_that_writes(smollm2: Path, gemma3: Path) -> None:
    settings = Settings(
        model=str(gemma3), judge=str(smollm2), relevance="likelihood", pattern="wim-shallow", answer_tokens=4
    )
    with Runtime(settings) as runtime:
        found = list(runtime.stream(library(3, 1), QUESTION))
    assert ranked(found)[0].document == "1.txt"
    last = island.finished(found)
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


def test_the_classification_preamble_is_prefilled_once() -> None:
    model = FakeModel(story.reply)
    run(model)
    classifier = 1  # the first sequence made, before the reading
    truncated = {to for what, sequence, to in model.history if what == "truncate" and sequence == classifier}
    assert len(truncated) == 1
    assert truncated.pop() > 20


def test_the_classifier_shows_the_question_and_the_margin_apart() -> None:
    model, prompts = recording()
    with Runtime(SMALL, model=model) as runtime:
        runtime.ask(Document("d", TEXT), "What is [[wim-edge:margin]] here?")
    judged = [prompt for prompt in prompts if "YES or NO" in prompt]
    assert all("Question: What is [[wim-edge:margin]] here?\n" in prompt for prompt in judged)
    assert all("Note: seen: " in prompt for prompt in judged)


def test_an_empty_margin_is_never_relevant() -> None:
    found = run(FakeModel(lambda prompt: "YES" if "YES or NO" in prompt else " \n" * 50))
    assert {(event.text, event.relevant) for event in of_type(found, events.MarginJudged)} == {("", False)}


def test_the_verdict_looks_at_words_that_tell_yes_from_no() -> None:
    model = FakeModel()
    yes, no = verdict_tokens(model, "yes"), verdict_tokens(model, "no")
    assert {model.text([token]) for token in yes} >= {"YES", "Yes", "yes"}
    assert {model.text([token]) for token in no - yes} == {"NO", "No", "no"}
