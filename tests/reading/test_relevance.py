"""Every method in every pattern, one by which another model scores, and the question's likelihood, without a trace."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.reading import island, story
from tests.reading.lighthouse import FILLER, GOLD, QUESTION, asked, library, ranked, reply
from tests.reading.story import SMALL, TEXT, of_type, recording, run
from wim_edge import Document, Runtime, Settings, events
from wim_edge.errors import InvalidRequestError
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.relevance import QuestionLikelihood, verdict_tokens
from wim_edge.reading.resolved_settings import resolve
from wim_edge.settings import PATTERNS as PATTERN_NAMES, RELEVANCES
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


def test_the_question_may_stand_first() -> None:
    model, prompts = recording(reply)
    settings = Settings(pattern="wim", query_first=True, segment_tokens=64)
    with Runtime(settings, model=model) as runtime:
        found = list(runtime.stream(library(6, 2), QUESTION))
        assert ranked(found)[0].document == "2.txt"
        with pytest.raises(InvalidRequestError, match="likelihood-gain"):
            runtime.with_changes(relevance="likelihood-gain").stream(library(6, 2), QUESTION)
    assert prompts[-1].count(QUESTION) == 2
    assert prompts[-1].index(QUESTION) < prompts[-1].index(FILLER)


def test_a_question_template_needs_words_before_the_query(tmp_path: Path) -> None:
    (tmp_path / "question.jinja").write_text("{{ query }}")
    chosen = Settings(pattern="rag", relevance="likelihood", templates=tmp_path)
    with Runtime(chosen, model=FakeModel(reply)) as runtime, pytest.raises(InvalidRequestError, match="question"):
        runtime.stream(library(3, 1), QUESTION)


@pytest.mark.real
@pytest.mark.parametrize("which", ["smollm2", "gemma3"])
def test_measuring_the_question_leaves_no_trace(which: str, model_file: Callable[[str], Path]) -> None:
    from wim_edge.engine.model import Model

    with Model(model_file(which), Settings()) as model, closing(model.context(512)) as context:
        question = QuestionLikelihood(model, Prompts(), QUESTION)
        with context.sequence() as sequence:
            sequence.append([*model.bos_tokens, *model.tokenize(FILLER * 4)])
            before = sequence.logits.copy()
            without = question.log_likelihood(sequence)
            assert (sequence.logits == before).all()
            sequence.append(model.tokenize(GOLD))
            assert question.log_likelihood(sequence) > without


@pytest.mark.real
def test_shallow_scores_do_not_depend_on_the_order(smollm2: Path) -> None:
    settings = Settings(model=str(smollm2), judge="self", pattern="wim-shallow", margin_tokens=8, answer_tokens=4)
    books = library(4, 1)
    with Runtime(settings) as runtime:
        there = ranked(list(runtime.stream(books, QUESTION)))
        back = ranked(list(runtime.stream(books[::-1], QUESTION)))
    assert [one.document for one in there] == [one.document for one in back]
    assert there[0].document == "1.txt"
    assert [one.relevance for one in there] == pytest.approx([one.relevance for one in back], abs=1e-6)


@pytest.mark.real
@pytest.mark.parametrize("which", ["llama", "gemma3-tiny", "mamba", "lfm2", "smollm2"])
@pytest.mark.parametrize("relevance", ["likelihood-gain", "cascade"])
def test_scores_and_margins_leave_no_trace_in_any_memory(
    which: str, relevance: str, model_file: Callable[[str], Path], tmp_path: Path
) -> None:
    """With prompts that speak of no margin, `wim` answers to the letter as `llm` does."""
    for folder in (tmp_path, tmp_path / "base"):
        folder.mkdir(exist_ok=True)
        (folder / "system_message.jinja").write_text("Answer.", encoding="utf-8")
        (folder / "final_answer.jinja").write_text("\n\n\nQuestion: {{ query }}", encoding="utf-8")
    settings = Settings(
        model=str(model_file(which)), relevance=relevance, templates=tmp_path, segment_tokens=96, margin_tokens=16,
        answer_tokens=12, relevance_threshold=0.0, answer="summary",
    )  # fmt: skip
    document = Document("d", FILLER * 3 + GOLD + FILLER * 3)
    with Runtime(settings) as runtime:
        found = list(runtime.with_changes(pattern="wim").stream(document, QUESTION))
        plain = runtime.with_changes(pattern="llm").ask(document, QUESTION)
    assert [event for event in found if isinstance(event, events.SegmentScored)]
    if which == "smollm2":  # random weights may find that no segment helps
        assert [event for event in found if type(event) is events.MarginJudged]
    assert island.finished(found).text == plain.text


def test_segments_are_read_once_more_only_where_the_answer_comes_from_them() -> None:
    def chosen(**changes: object) -> str:
        return resolve(Settings(**changes)).relevance  # type: ignore[arg-type]

    assert chosen() == chosen(pattern="wim") == "likelihood-gain"
    for pattern in ("wim-focus", "wim-shallow", "rag"):
        assert chosen(pattern=pattern) == "cascade"
    # Where the gain cannot be measured
    assert chosen(query_first=True) == chosen(relevance_model="other") == "cascade"
    assert chosen(relevance="verdict") == "verdict"


def test_segments_that_do_not_matter_get_no_margin() -> None:
    found = asked(Settings(pattern="wim-shallow", segment_tokens=128, within="all"), library(8, 0))
    assert [event.segment for event in found if type(event) is events.MarginJudged] == [0]
    assert len([event for event in found if isinstance(event, events.SegmentScored)]) == 8


@pytest.mark.parametrize(
    ("settings", "times"),
    [
        (Settings(pattern="llm"), 1),
        (Settings(pattern="rag", relevance="bm25"), 0),
        (Settings(pattern="rag", relevance="verdict"), 1),
        (Settings(pattern="rag", relevance="likelihood"), 1),
        (Settings(pattern="rag", relevance="likelihood", query_first=True), 1),
        (Settings(pattern="wim", relevance="likelihood-gain"), 1),
        (Settings(pattern="wim", relevance="likelihood"), 2),
        (Settings(pattern="wim", relevance="verdict"), 1),
    ],
)
def test_every_evaluated_token_of_the_documents_is_counted(settings: Settings, times: int) -> None:
    model = FakeModel(reply)
    documents = library(6, 4)
    found = asked(settings.with_changes(segment_tokens=64, answer_tokens=8, within="all"), documents, model)
    started, finished = found[0], island.finished(found)
    assert isinstance(started, events.ReadingStarted)
    texts = {document.name: document.text for document in documents}
    sources = finished.sources if settings.pattern == "rag" else ()
    again = [len(model.tokenize(texts[source.document][slice(*source.chars)])) for source in sources]
    needs_sequence = settings.pattern == "rag" and settings.relevance == "likelihood" and not settings.query_first
    kept = again[:1] if needs_sequence else []  # the best passage comes from its state
    assert finished.usage.prefilled_tokens == times * started.tokens + sum(again) - sum(kept)
    progress = [event for event in found if isinstance(event, events.ReadingProgress)]
    assert (progress[-1].tokens if progress else 0) == min(1, times) * started.tokens


def test_no_more_passages_than_asked_even_where_nothing_is_relevant() -> None:
    for most in (1, 2):
        chosen = Settings(pattern="rag", relevance="verdict", segment_tokens=64, max_passages=most)
        found = asked(chosen, library(6, 4), FakeModel(lambda prompt: "NO"))
        assert len(island.finished(found).sources) == most
