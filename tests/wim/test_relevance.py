"""Scores and what they mean beside each other; each method on a scripted engine and on real models."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wim_edge import Document, Runtime, Settings, events
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import PATTERNS as PATTERN_NAMES
from wim_edge.settings import RELEVANCES
from wim_edge.testing import FakeModel
from wim_edge.wim.pattern import PATTERNS
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.relevance.likelihood import QuestionLikelihood
from wim_edge.wim.relevance.relevance import Ranking
from wim_edge.wim.resolved_settings import resolve

FILLER = "Rain fell on the harbour and the boats stayed in. "
GOLD = "The lighthouse keeper was called Ottilie Brandt. "
QUESTION = "What was the lighthouse keeper called?"


def library(n: int, gold: int) -> list[Document]:
    """Documents of which one answers the question."""
    return [Document(f"{i}.txt", (GOLD if i == gold else f"Page {i}. ") + FILLER * 3) for i in range(n)]


def ranked(found: list[events.Event]) -> tuple[events.RankedSegment, ...]:
    (event,) = [event for event in found if isinstance(event, events.ReadingRanked)]
    return event.ranking


def reply(prompt: str) -> str:
    """A fair judge of what stands after "Note:", and a fixed answer."""
    if "YES or NO" in prompt:
        return "YES" if "Ottilie" in prompt.rsplit("Note:", 1)[1] else "NO"
    return "Ottilie Brandt" if "Ottilie" in prompt else "nobody knows"


scores = st.dictionaries(st.integers(0, 9), st.floats(-50, 50), min_size=1)


@given(scores)
def test_shares_of_the_whole_document(found: dict[int, float]) -> None:
    ranking = Ranking(10, scores=found)
    shares = [ranking.relevance(index) for index in range(10)]
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) <= 1 + 1e-9
    order = ranking.order()
    assert sorted(order) == sorted(found)
    assert all(shares[a] >= shares[b] for a, b in pairwise(order))


def test_shares_are_bayes_rule_with_unread_segments_scoring_nothing() -> None:
    ranking = Ranking(4, scores={0: math.log(6), 2: 0.0})
    assert ranking.relevance(0) == pytest.approx(6 / 9)
    assert ranking.relevance(2) == pytest.approx(1 / 9)
    assert ranking.relevance(3) == 0  # unread: not yet relevant


def test_the_gap_to_the_best_decides() -> None:
    ranking = Ranking(5, scores={0: 9.0, 1: 8.0, 2: 3.0, 3: -1.0})
    assert ranking.chosen(4) == [0, 1]
    assert ranking.chosen(1) == [0]
    assert ranking.chosen(4, threshold=0.0) == [0, 1, 2]  # 3 makes the question less likely than no text
    assert ranking.chosen(4, threshold=1.0) == [0]
    assert Ranking(5, scores={0: -2.0}).chosen(4) == []
    assert Ranking(5).chosen(4) == []


def test_log_odds_speak_for_their_segment_alone() -> None:
    ranking = Ranking(3, independent=True, scores={0: 0.1, 1: -0.1, 2: 5.0})
    assert ranking.chosen(3) == [2, 0]
    assert ranking.chosen(3, threshold=0.9) == [2]
    assert ranking.relevance(0) == pytest.approx(1 / (1 + math.exp(-0.1)))


def test_every_pattern_has_its_name() -> None:
    assert tuple(PATTERNS) == PATTERN_NAMES


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


def test_segments_that_do_not_matter_get_no_margin() -> None:
    model = FakeModel(reply)
    settings = Settings(pattern="wim-shallow", segment_tokens=128, within="all")
    with Runtime(settings, model=model) as runtime:
        found = list(runtime.stream(library(8, 0), QUESTION))
    assert [event.segment for event in found if type(event) is events.MarginJudged] == [0]
    assert len([event for event in found if isinstance(event, events.SegmentScored)]) == 8


def test_shallow_reading_has_no_limit_by_the_context() -> None:
    model = FakeModel(reply, n_ctx_train=600)
    settings = Settings(pattern="wim-shallow", segment_tokens=64, margin_tokens=16, answer_tokens=16, max_passages=2)
    with Runtime(settings, model=model) as runtime:
        found = list(runtime.stream(library(60, 47), QUESTION))
    assert found[0].tokens > 600 and found[0].windows == 0  # type: ignore[attr-defined]  # noqa: PT018
    assert found[-1].text == "Ottilie Brandt"  # type: ignore[attr-defined]
    assert not [event for event in found if isinstance(event, events.Warning)]


def test_shallow_reading_reads_nothing_twice_for_one_passage() -> None:
    model = FakeModel(reply)
    settings = Settings(pattern="wim-shallow", segment_tokens=64, max_passages=1, within="all")
    with Runtime(settings, model=model) as runtime:
        found = list(runtime.stream(library(8, 2), QUESTION))
    assert found[-1].usage.prefilled_tokens == found[0].tokens  # type: ignore[attr-defined]


def test_bm25_reads_only_what_it_answers_from() -> None:
    settings = Settings(pattern="rag", relevance="bm25", segment_tokens=64, max_passages=1)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(library(8, 2), QUESTION))
    usage, started = found[-1].usage, found[0]  # type: ignore[attr-defined]
    assert 0 < usage.prefilled_tokens < started.tokens / 4  # type: ignore[attr-defined]


def test_focus_keeps_the_context_where_there_is_room() -> None:
    model = FakeModel(reply)
    with Runtime(Settings(pattern="wim-focus", segment_tokens=64), model=model) as runtime:
        found = list(runtime.stream(library(6, 2), QUESTION))
    main = model.history[0][1]
    evaluated = sum(n for what, sequence, n in model.history if what == "append" and sequence == main)
    assert evaluated > found[0].tokens  # type: ignore[attr-defined]  # it holds the context
    assert not any(what == "truncate" and sequence == main for what, sequence, _ in model.history)


def test_the_question_may_stand_first() -> None:
    prompts: list[str] = []
    model = FakeModel(lambda prompt: prompts.append(prompt) or reply(prompt))
    settings = Settings(pattern="wim", query_first=True, segment_tokens=64)
    with Runtime(settings, model=model) as runtime:
        found = list(runtime.stream(library(6, 2), QUESTION))
        assert ranked(found)[0].document == "2.txt"
        with pytest.raises(InvalidRequestError, match="likelihood-gain"):
            runtime.with_changes(relevance="likelihood-gain").stream(library(6, 2), QUESTION)
    assert prompts[-1].count(QUESTION) == 2
    assert prompts[-1].index(QUESTION) < prompts[-1].index(FILLER)


def test_closed_book_is_llm_alone() -> None:
    with Runtime(Settings(pattern="llm"), model=FakeModel(reply)) as runtime:
        assert runtime.ask((), QUESTION).text == "nobody knows"
        with pytest.raises(InvalidRequestError, match="no document"):
            runtime.with_changes(pattern="wim").stream((), QUESTION)


def test_an_auxiliary_model_scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from wim_edge import loaded_models

    path = tmp_path / "aux.gguf"
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

    path = tmp_path / "aux.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(loaded_models, "open_model", lambda found, settings: FakeModel(reply))
    settings = Settings(pattern=pattern, relevance="bm25", relevance_model=str(path), segment_tokens=64)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(library(3, 1), QUESTION))
    assert any("relevance model is not used" in e.text for e in found if isinstance(e, events.Warning))


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
    with Runtime(settings.with_changes(segment_tokens=64, answer_tokens=8, within="all"), model=model) as runtime:
        found = list(runtime.stream(documents, QUESTION))
    started, finished = found[0], found[-1]
    assert isinstance(started, events.ReadingStarted)
    assert isinstance(finished, events.AnswerFinished)
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
        with Runtime(chosen, model=FakeModel(lambda prompt: "NO")) as runtime:
            found = list(runtime.stream(library(6, 4), QUESTION))
        assert len(found[-1].sources) == most  # type: ignore[attr-defined]


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
    settings = Settings(model=str(smollm2), pattern="wim-shallow", margin_tokens=8, answer_tokens=4)
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
        answer_tokens=12, relevance_threshold=0.0, answer="free",
    )  # fmt: skip
    document = Document("d", FILLER * 3 + GOLD + FILLER * 3)
    with Runtime(settings) as runtime:
        found = list(runtime.with_changes(pattern="wim").stream(document, QUESTION))
        plain = runtime.with_changes(pattern="llm").ask(document, QUESTION)
    assert [event for event in found if isinstance(event, events.SegmentScored)]
    if which == "smollm2":  # random weights may find that no segment helps
        assert [event for event in found if type(event) is events.MarginJudged]
    assert found[-1].text == plain.text  # type: ignore[attr-defined]


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


def test_segments_are_read_once_more_only_where_the_answer_comes_from_them() -> None:
    def chosen(**changes: object) -> str:
        return resolve(Settings(**changes)).relevance  # type: ignore[arg-type]

    assert chosen() == chosen(pattern="wim") == "likelihood-gain"
    for pattern in ("wim-focus", "wim-shallow", "rag"):
        assert chosen(pattern=pattern) == "cascade"
    # Where the gain cannot be measured
    assert chosen(query_first=True) == chosen(relevance_model="other") == "cascade"
    assert chosen(relevance="verdict") == "verdict"
