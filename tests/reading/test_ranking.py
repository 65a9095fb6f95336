"""The scores of segments, and what they mean beside each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.reading.island import GOLD, QUESTION, SMALL, asked, finished, read, reply, shown, text
from tests.reading.story import recording
from wim_edge import Document, Runtime, Settings, events
from wim_edge.documents import Mark
from wim_edge.reading.ranking import BY_WORDS, Outlook, Ranking, outlook
from wim_edge.testing import FakeModel, FakeSequence

scores = st.dictionaries(st.integers(0, 9), st.floats(-50, 50), min_size=1)


def test_all_that_is_read_leaves_nothing_better() -> None:
    assert finished(asked(SMALL.with_changes(within="all"), text(8, 5))).unread_probability == 0.0
    assert finished(asked(SMALL.with_changes(pattern="wim"), text(8, 5))).unread_probability == 0.0


def test_where_an_adapter_tells_segments_apart_the_first_alone_are_scored() -> None:
    model = FakeModel(reply)
    model.has_adapter = True
    found = asked(SMALL.with_changes(within="all"), text(12, 3), model=model)
    (ranked,) = (event for event in found if isinstance(event, events.ReadingRanked))
    scored = [one.segment for one in ranked.ranking if one.score is not None]
    assert len(ranked.ranking) == len(read(found)) > len(scored) > 0
    assert {one.segment for one in ranked.ranking if one.chosen} <= set(scored)


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


def test_each_document_is_read_and_drawn_on_where_it_may_have_its_own_answer() -> None:
    ahead = outlook(["A treasure.", "The treasure.", "Nothing.", "Gold."], "treasure", [0, 0, 1, 1])
    ranking = Ranking(4, answers={0: 12.0, 1: 9.0}, outlook=replace(ahead, adapted=True), documents=(0, 0, 1, 1))
    assert (ranking.unread_in()[0], ranking.unread()) == (0.0, pytest.approx(1.0))
    ranking.answers[3] = 2.0
    assert (ranking.chosen(2), replace(ranking, documents=()).chosen(2)) == ([0, 3], [0, 1])
    assert 0 < ranking.unread_in()[1] < 0.5


def test_log_odds_speak_for_their_segment_alone() -> None:
    ranking = Ranking(3, independent=True, scores={0: 0.1, 1: -0.1, 2: 5.0})
    assert ranking.chosen(3) == [2, 0]
    assert ranking.chosen(3, threshold=0.9) == [2]
    assert ranking.relevance(0) == pytest.approx(1 / (1 + math.exp(-0.1)))


def test_what_is_set_aside_answers_nothing_and_the_reading_goes_on() -> None:
    document = Document("d", text(12, 5))
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        found = list(runtime.stream(document, QUESTION))
        first = finished(found)
        assert first.read_segments < first.segments
        assert first.unread_probability < 0.5
        again = list(runtime.stream(document, QUESTION, verdicts=dict.fromkeys(read(found), False)))
    started = next(event for event in again if isinstance(event, events.ReadingStarted))
    assert started.read_segments == first.read_segments  # what was told of them stands
    assert read(again)
    assert not set(read(again)) & set(read(found))
    assert finished(again).read_segments > first.read_segments


def test_shared_words_come_first_and_contents_last() -> None:
    contents = "The treasure ....... 3\nThe island . . . . . 7\n"
    texts = ["Nothing here.", contents, "A treasure.", "The treasure of the island.", "Nothing there."]
    assert outlook(texts, QUESTION, [0] * 5).order == (3, 2, 0, 4, 1)


def test_the_order_of_documents_is_no_matter() -> None:
    texts = ["Alpha.", "Beta.", "Gamma.", "The treasure.", "Delta."]
    there = outlook(texts, QUESTION, [0, 0, 1, 1, 1]).order
    assert [texts[n] for n in there] == ["The treasure.", "Alpha.", "Gamma.", "Beta.", "Delta."]
    back = ["Gamma.", "The treasure.", "Delta.", "Alpha.", "Beta."]
    assert [back[n] for n in outlook(back, QUESTION, [0, 0, 0, 1, 1]).order] == [texts[n] for n in there]


def test_a_table_of_numbers_is_no_table_of_contents() -> None:
    assert outlook(["Nothing.", "treasure 12\nisland 40\ngold 7"], QUESTION, [0, 0]).order == (1, 0)


def test_the_promising_are_read_first_and_all_of_it_in_the_end() -> None:
    found = asked(SMALL.with_changes(within="all"), text(8, 5))
    (order,) = [event.segments for event in found if isinstance(event, events.ReadingOrder)]
    assert read(found) == list(order)
    last = finished(found)
    assert sorted(order) == list(range(last.segments))
    assert last.read_segments == last.segments
    assert last.finish_reason == "stop"
    assert last.sources[0].segment == order[0]


def test_the_order_changes_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    def ranking(found: list[events.Event]) -> list[tuple[int, float | None, float, bool]]:
        (ranked,) = [event.ranking for event in found if isinstance(event, events.ReadingRanked)]
        return [(one.segment, one.score, round(one.relevance, 9), one.chosen) for one in ranked]

    whole = SMALL.with_changes(within="all")
    ordered = asked(whole, text(8, 5))
    monkeypatch.setattr(Outlook, "order", property(lambda ahead: tuple(range(len(ahead.shared)))))
    plain = asked(whole, text(8, 5))
    assert not [event for event in plain if isinstance(event, events.ReadingOrder)]
    assert ranking(ordered) == ranking(plain)
    assert finished(ordered).text == finished(plain).text


def test_reading_on_ends_at_a_better_segment_and_answers_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What answers has none of the question's words, as far as the order knows."""
    monkeypatch.setattr("wim_edge.reading.ranking.BY_WORDS", replace(BY_WORDS, words=0.0))
    document = Document("d", text(60, 50))
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        first = runtime.ask(document, QUESTION)
        found = list(runtime.stream(document, QUESTION, read_on=True))
        rest = finished(list(runtime.stream(document, QUESTION, read_on=True)))
    last = finished(found)
    assert first.read_segments == 16
    assert GOLD not in shown(document, first)
    assert read(found) == list(range(16, last.read_segments))
    (revised,) = [event.segments for event in found if isinstance(event, events.AnswerRevised)]
    assert GOLD in shown(document, last)
    assert last.sources[0].segment == read(found)[-1]
    assert read(found)[-1] in revised
    assert last.read_segments < rest.read_segments == rest.segments
    assert rest.text == last.text


def test_an_answer_stands_where_nothing_better_is_read() -> None:
    document = Document("d", text(40, 33))
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        first = runtime.ask(document, QUESTION)
        found = list(runtime.stream(document, QUESTION, read_on=True))
        again = list(runtime.stream(document, QUESTION, read_on=True))
    last = finished(found)
    assert last.read_segments == last.segments
    assert (last.text, last.sources[0].segment) == (first.text, first.sources[0].segment)
    assert not [event for event in found if isinstance(event, events.AnswerDelta | events.AnswerRevised)]
    assert last.unread_probability == 0.0
    assert not read(again)
    assert finished(again).text == first.text


def test_a_reading_on_that_is_cancelled_leaves_the_answer() -> None:
    document = Document("d", text(60, -1))
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        first = runtime.ask(document, QUESTION)
        found = []
        for event in runtime.stream(document, QUESTION, read_on=True):
            found.append(event)
            if len(read(found)) == 3:
                runtime.cancel()
        cancelled = finished(found)
        rest = runtime.ask(document, QUESTION, read_on=True)
    assert (cancelled.finish_reason, cancelled.text) == ("cancelled", first.text)
    assert [one.segment for one in cancelled.sources] == [one.segment for one in first.sources]
    assert rest.read_segments == rest.segments


def test_another_question_is_read_from_the_start() -> None:
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        runtime.ask(Document("d", text(40, 33)), "What is of interest?")
        last = runtime.ask(Document("d", text(40, 33)), QUESTION, read_on=True)
    assert last.text.startswith("Ottilie Brandt")
    assert last.read_segments < 8


@pytest.mark.parametrize("pattern", ["wim", "wim-focus", "llm"])
def test_a_context_is_read_as_it_stands(pattern: str) -> None:
    found = asked(SMALL.with_changes(pattern=pattern), text(8, 5))
    assert read(found) == sorted(read(found))
    assert not [event for event in found if isinstance(event, events.ReadingOrder)]


def test_a_sections_title_counts_for_its_segments() -> None:
    body = text(12, -1)
    starts = [n for n in range(len(body)) if body.startswith("Nothing of interest stands in part", n)]
    marks = (Mark(0, section="Preface"), Mark(starts[14], section="The treasure of the island"))
    found = asked(SMALL.with_changes(within="10%"), Document("d", body, marks))
    (first, *_) = [event for event in found if isinstance(event, events.SegmentRead)]
    assert first.section == "The treasure of the island"


@pytest.mark.parametrize("moves", [True, False])
def test_the_second_passage_is_hardly_evaluated_again(moves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not moves:
        monkeypatch.setattr(FakeSequence, "append_kept", lambda self, snapshot, at: False)
    model, prompts = recording(reply)
    told = text(4, 2) + text(4, 1)
    last = finished(asked(SMALL.with_changes(within="all"), told, model=model))
    joined = [n for what, _, n in model.history if what == "join"]
    assert len(last.sources) == 2
    assert [n > 8 for n in joined] == ([True] if moves else [])
    final = prompts[-1]  # whichever way, the prompt is the same
    assert all(told[slice(*source.chars)].strip() in final for source in last.sources)
    assert last.text.startswith("Ottilie Brandt")


def test_reading_ahead_goes_through_the_document(tmp_path: Path) -> None:
    with Runtime(SMALL.with_changes(save=True, readings=tmp_path), model=FakeModel(reply)) as runtime:
        found = list(runtime.read(Document("d", text(8, 5))))
    assert read(found) == sorted(read(found))


@pytest.mark.real
@pytest.mark.parametrize("which", ["smollm2", "gemma3-tiny", "mamba", "lfm2"])
def test_real_models_read_on_as_if_all_had_been_read_at_once(
    which: str, model_file: Callable[[str], Path], long_text: str
) -> None:
    settings = Settings(
        model=str(model_file(which)), judge="self", pattern="wim-shallow", relevance="likelihood", save=False,
        segment_tokens=32, margin_tokens=8, answer_tokens=6, max_passages=2, n_threads=1,
    )  # fmt: skip
    document, question = Document("gpl", long_text[:500]), "Who may copy it?"

    def scores(found: list[events.Event]) -> dict[int, float | None]:
        (ranked,) = [event.ranking for event in found if isinstance(event, events.ReadingRanked)]
        return {one.segment: one.score for one in ranked}

    with Runtime(settings.with_changes(within="all")) as runtime:
        whole = list(runtime.stream(document, question))
    with Runtime(settings.with_changes(within="20%")) as runtime:
        found = list(runtime.stream(document, question))
        assert finished(found).read_segments < finished(found).segments
        while finished(found).read_segments < finished(found).segments:
            found = list(runtime.stream(document, question, read_on=True))
    assert scores(found) == pytest.approx(scores(whole), abs=0.02)  # nats; cells in another order round otherwise
    assert [one.segment for one in finished(found).sources] == [one.segment for one in finished(whole).sources]
