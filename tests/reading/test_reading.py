"""The pattern on a scripted engine: what is evaluated, what is rolled back, what the reader is told."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.reading import island
from tests.reading.story import SMALL, TEXT, of_type, recording, reply, run
from wim_edge import Document, Runtime, Settings, events
from wim_edge.reading.reading import Reading
from wim_edge.testing import FakeModel


def test_the_course_of_a_reading() -> None:
    model = FakeModel(reply)
    found = run(model)
    started, finished = found[0], island.finished(found)
    assert isinstance(started, events.ReadingStarted)
    n = started.segments
    assert n > 3
    assert started.windows == 1
    assert [e.segment for e in of_type(found, events.SegmentRead)] == list(range(n))
    assert [e.segment for e in of_type(found, events.MarginJudged)] == list(range(n))
    assert of_type(found, events.ReadingProgress)[-1].tokens == started.tokens
    assert finished.text == "the answer is blue"
    assert finished.finish_reason == "stop"
    assert "".join(e.text for e in of_type(found, events.AnswerDelta)).strip() == finished.text
    assert finished.usage.prefilled_tokens == started.tokens
    assert finished.usage.reused_tokens == 0
    assert finished.usage.decoded_tokens > 0
    assert finished.usage.peak_rss_bytes > 1 << 20
    assert {"load", "prefill", "margins", "relevance", "answer", "total"} <= set(finished.usage.seconds)


def test_segments_cover_the_document_and_margins_know_their_places() -> None:
    found = run(FakeModel(reply))
    places = [event.chars for event in of_type(found, events.SegmentRead)]
    assert places[0][0] == 0
    assert places[-1][1] == len(TEXT)
    assert all(a[1] == b[0] for a, b in pairwise(places))
    assert [event.chars for event in of_type(found, events.MarginJudged)] == places
    sources = island.finished(found).sources
    assert 1 <= len(sources) <= 2
    assert any("number 12 " in TEXT[slice(*source.chars)] for source in sources)


def test_the_answer_sees_the_whole_context_and_the_relevant_margins_alone() -> None:
    model, prompts = recording()
    run(model)
    final = prompts[-1]
    assert TEXT in final
    assert "seen: number 12 is here" in final
    assert "nothing here" not in final
    assert "write down" not in final  # the extractive prompt is rolled back


def test_each_document_token_is_evaluated_once() -> None:
    model = FakeModel(reply)
    run(model)
    main = model.history[0][1]
    evaluated = sum(n for what, sequence, n in model.history if what == "append" and sequence == main)
    assert not any(what == "truncate" and sequence == main for what, sequence, _ in model.history)
    prompt = len(model.tokenize(TEXT))
    assert prompt < evaluated < prompt + 200
    assert not model.contexts[0].live  # every sequence is closed


def test_a_long_document_is_read_in_windows_and_said_so() -> None:
    model = FakeModel(reply, n_ctx_train=700)
    found = run(model)
    assert found[0].windows > 1  # type: ignore[attr-defined]
    assert [e.segment for e in of_type(found, events.SegmentRead)] == list(range(found[0].segments))  # type: ignore[attr-defined]
    finished = island.finished(found)
    drawn_on = {source.segment for source in finished.sources}
    again = sum(event.tokens for event in of_type(found, events.SegmentRead) if event.segment in drawn_on)
    assert finished.usage.prefilled_tokens == found[0].tokens + again  # type: ignore[attr-defined]
    assert any("windows" in e.text for e in of_type(found, events.Warning))
    assert finished.text == "the answer is blue"
    assert 1 <= len(finished.sources) <= 2


def test_windows_without_a_relevant_margin_answer_from_the_best_and_say_so() -> None:
    def nothing(prompt: str) -> str:
        return "NO" if "YES or NO" in prompt else reply(prompt)

    found = run(FakeModel(nothing, n_ctx_train=700))
    assert any("nothing was judged relevant" in e.text for e in of_type(found, events.Warning))
    assert 1 <= len(island.finished(found).sources) <= 2


def test_a_margin_cut_at_its_longest_shows_it() -> None:
    found = run(FakeModel(lambda prompt: " ".join(map(str, range(100)))))
    assert all(event.text.endswith("…") for event in of_type(found, events.MarginJudged))


def test_seeds_make_sampled_answers_reproducible() -> None:
    def answer(seed: int) -> str:
        return run(FakeModel(reply), SMALL.with_changes(temperature=2.0, seed=seed), "Blue.")[-1].text  # type: ignore[attr-defined]

    first, again = ([answer(seed) for seed in (0, 5, 6)] for _ in range(2))
    assert first == again
    assert len({"the answer is blue", *first}) == 4  # neither greedy nor alike


def test_a_segment_that_is_chosen_again_has_its_margin_in_a_text_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is read, margins wait for the end; scores of others may put a segment back that was passed over."""
    settings = Settings(pattern="wim-shallow", within="all", segment_tokens=160, readings=tmp_path)
    with Runtime(settings, model=FakeModel(reply)) as runtime:
        runtime.ask(Document("story.txt", TEXT), "Which colour?")
        order: list[int] = []

        def chosen(reading: Reading) -> list[int]:
            order[:] = reading.plan.order
            return [order[1]] if reading.n_read == 1 else [order[0]]

        monkeypatch.setattr(Reading, "chosen", chosen)
        found = list(runtime.stream(Document("story.txt", TEXT), "Which colour is it?"))
    assert [one.segment for one in of_type(found, events.MarginJudged)] == order[:1]
    assert of_type(found, events.AnswerFinished)[0].usage.prefilled_tokens == 0
