"""The reader judges margins, and the question is answered again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.reading import story
from tests.reading.story import TEXT
from wim_edge import Decision, Document, Runtime, Settings, events
from wim_edge.settings import PATTERNS
from wim_edge.testing import FakeModel

STORY = Document("story.txt", TEXT)
SMALL = story.SMALL.with_changes(max_passages=32)


def reply(prompt: str) -> str:
    """YES to every note but the first segment's; an answer that says which notes the final prompt shows."""
    if "YES or NO" in prompt:
        return "NO" if "nothing" in prompt.rsplit("Note:", 1)[1] else "YES"
    if "write down" in prompt:
        return "seen: nothing" if prompt.count("Sentence number") < 8 else "seen: blue"
    return f"an answer with {prompt.rpartition('many things.')[2].count('seen: blue')} notes"


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with Runtime(SMALL, model=FakeModel(reply)) as runtime:
        yield runtime


def ask(runtime: Runtime, question: str = "Which colour?", document: Document = STORY, **more: object
        ) -> tuple[list[events.Event], events.AnswerFinished]:  # fmt: skip
    found = list(runtime.stream(document, question, **more))  # type: ignore[arg-type]
    assert isinstance(found[-1], events.AnswerFinished)
    return found, found[-1]


def test_a_rejected_margin_is_not_drawn_on_and_nothing_is_read_again(runtime: Runtime) -> None:
    _, first = ask(runtime)
    used = [source.segment for source in first.sources]
    assert len(used) > 2
    found, second = ask(runtime, verdicts={used[0]: False})
    assert [source.segment for source in second.sources] == used[1:]
    assert second.text == f"an answer with {len(used) - 1} notes"
    assert second.usage.prefilled_tokens == 0
    assert second.usage.reused_tokens == first.usage.prefilled_tokens
    assert second.finish_reason == "stop"
    assert {event.type for event in found} == {"reading.started", "reading.ranked", "answer.delta", "answer.finished"}


def test_an_accepted_margin_is_drawn_on_whatever_its_score(runtime: Runtime) -> None:
    _, first = ask(runtime)
    left_out = 0
    assert left_out not in [source.segment for source in first.sources]
    _, second = ask(runtime, verdicts={left_out: True})
    assert left_out in [source.segment for source in second.sources]
    assert len(second.sources) == len(first.sources) + 1


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_answer_leaves_no_trace_for_the_next(pattern: str) -> None:
    with Runtime(replace(SMALL, pattern=pattern), model=FakeModel(reply)) as runtime:
        _, first = ask(runtime)
        for _ in range(2):
            found, again = ask(runtime, verdicts={})
            assert (again.text, again.sources) == (first.text, first.sources)
            assert "segment.read" not in {event.type for event in found}


def test_rejecting_all_answers_from_the_context_alone(runtime: Runtime) -> None:
    _, first = ask(runtime)
    found, second = ask(runtime, verdicts={source.segment: False for source in first.sources})
    assert second.sources == ()
    assert second.text == "an answer with 0 notes"
    assert any("nothing was judged relevant" in getattr(event, "text", "") for event in found)


def test_a_rejected_passage_is_never_taken_for_lack_of_better(runtime: Runtime) -> None:
    with runtime.with_changes(pattern="wim-shallow", relevance_threshold=1.0) as shallow:
        found, first = ask(shallow)
        ranking = next(event for event in found if isinstance(event, events.ReadingRanked)).ranking
        best = ranking[0].segment
        assert best in [source.segment for source in first.sources]
        _, second = ask(shallow, verdicts={best: False})
        assert best not in [source.segment for source in second.sources]


@pytest.mark.parametrize("between", ["question", "document"])
def test_only_the_last_question_is_kept(runtime: Runtime, between: str) -> None:
    ask(runtime)
    if between == "question":
        ask(runtime, "Which things?")
    else:
        ask(runtime, document=Document("other.txt", TEXT[:900]))
    found, second = ask(runtime, verdicts={1: False})
    assert second.usage.prefilled_tokens > 0
    assert 1 not in [source.segment for source in second.sources]
    assert any(isinstance(event, events.SegmentRead) for event in found)


def test_judgements_are_heeded_while_it_reads(runtime: Runtime) -> None:
    rejected: list[int] = []

    def reject(margin: events.MarginJudged) -> Decision | None:
        if margin.relevant and not rejected:
            rejected.append(margin.segment)
            runtime.judge(margin.segment, False)
        return None

    _, finished = ask(runtime, on_margin=reject)
    assert rejected
    assert rejected[0] not in {source.segment for source in finished.sources}
    _, again = ask(runtime, verdicts={})
    assert again.usage.prefilled_tokens == 0


def test_a_verdict_is_taken_back(runtime: Runtime) -> None:
    _, first = ask(runtime)
    kept = first.sources[0].segment

    def waver(margin: events.MarginJudged) -> Decision | None:
        runtime.judge(margin.segment, False)
        runtime.judge(margin.segment, None)
        return None

    _, second = ask(runtime, on_margin=waver)
    assert second.sources[0].segment == kept


def test_stopped_early_it_is_answered_again_from_what_was_read(runtime: Runtime) -> None:
    _, first = ask(runtime, on_margin=lambda margin: Decision.ANSWER if margin.segment == 3 else None)
    assert first.finish_reason == "early_exit"
    _, second = ask(runtime, verdicts={3: False})
    assert second.finish_reason == "early_exit"
    assert second.usage.prefilled_tokens == 0
    assert max(source.segment for source in second.sources) < 3


def test_a_question_abandoned_in_its_answer_is_read_anew(runtime: Runtime) -> None:
    stream = runtime.stream(STORY, "Which colour?")
    for event in stream:
        if isinstance(event, events.AnswerDelta):
            break
    stream.close()  # type: ignore[attr-defined]
    _, second = ask(runtime, verdicts={})
    assert second.usage.prefilled_tokens > 0


def test_between_questions_the_cache_holds_the_last_reading_alone() -> None:
    model = FakeModel(reply)
    with Runtime(SMALL, model=model) as runtime:
        for question in ("One?", "Two?", "Three?"):
            ask(runtime, question)
            assert len(model.contexts[-1].live) == 1
        runtime.stream(STORY, "Four?").close()  # type: ignore[attr-defined]
        assert not model.contexts[-1].live


@pytest.mark.real
@pytest.mark.parametrize("which", ["smollm2", "gemma3-tiny", "mamba", "lfm2"])
@pytest.mark.parametrize("pattern", ["llm", "wim", "wim-shallow"])
def test_real_models_answer_again_as_if_for_the_first_time(
    which: str, pattern: str, model_file: Callable[[str], Path], long_text: str
) -> None:
    chosen = Settings(
        model=str(model_file(which)), judge="self", pattern=pattern, save=False, segment_tokens=40, margin_tokens=8,
        answer_tokens=4, max_passages=1, n_threads=1, relevance="likelihood-gain" if pattern == "wim" else "likelihood",
    )  # fmt: skip
    with Runtime(chosen) as runtime:
        document = Document("gpl", long_text[:500])
        _, first = ask(runtime, "Who may copy it?", document)
        _, second = ask(runtime, "Who may copy it?", document, verdicts={})
        assert (second.text, second.sources) == (first.text, first.sources)
        assert second.usage.prefilled_tokens == 0
