"""What is planned before anything is read: the segments with what stands above them, and whether all of it fits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.reading import island, story
from tests.reading.island import FILLER, SMALL, asked, text
from wim_edge import Document, Runtime, Settings, events
from wim_edge.documents import Mark
from wim_edge.errors import ContextOverflowError, InvalidRequestError
from wim_edge.library.ingest import add
from wim_edge.library.library import Library
from wim_edge.settings import MARGINS, PATTERNS, RELEVANCES
from wim_edge.testing import FakeModel


def test_a_section_that_goes_on_stands_above_its_segments() -> None:
    body = text(12, -1)
    starts = [n for n in range(len(body)) if body.startswith("Nothing of interest stands in part", n)]
    marks = (Mark(0, section="Preface"), Mark(starts[14], section="The treasure"), Mark(starts[18], section="x " * 99))
    model, prompts = story.recording(lambda prompt: "")
    found = asked(SMALL.with_changes(within="all"), Document("d", body, marks), model=model)
    titles = set()
    for event in found:
        if isinstance(event, events.SegmentRead):
            title = (event.section or "").strip()
            above = any(f"{title}\n\n{body[slice(*event.chars)]}" in prompt for prompt in prompts)
            assert above == (title in ("Preface", "The treasure"))
            titles.add(title[:12])
    assert titles == {"Preface", "The treasure", "x x x x x x "}


def test_the_header_of_a_table_that_goes_on_stands_above_its_segments() -> None:
    header = "| Number | Name | Room |"
    rows = [f"| {n} | Somebody called number {n} of the long list | room {n} |\n" for n in range(60)]
    document = Document("d", f"{header}\n| --- | --- | --- |\n{''.join(rows)}")
    model, prompts = story.recording(lambda prompt: "")
    found = asked(SMALL.with_changes(within="all"), document, "Which room?", model)
    read = [event for event in found if isinstance(event, events.SegmentRead)]
    assert len(read) > 2
    for event in read:
        own = document.text[slice(*event.chars)]
        above = header if own.startswith("| ") and not own.startswith(header) else ""
        assert any(f"{above}\n{own}" in prompt for prompt in prompts) or not above
        assert min(prompt.count(header) for prompt in prompts if own in prompt) == 1


def test_a_segment_that_begins_with_its_title_has_it_once() -> None:
    document = Document("d", "# The treasure\n\n" + FILLER.format(1), (Mark(0, section="The treasure"),))
    model, prompts = story.recording(lambda prompt: "")
    asked(SMALL.with_changes(segment_tokens=256), document, "Who?", model)
    assert max(prompt.count("The treasure") for prompt in prompts) == 1


def test_small_segments_keep_most_of_their_room() -> None:
    body = "".join(FILLER.format(n) + "\n\n" for n in range(8))
    marks = tuple(Mark(body.index(FILLER.format(n)), section=f"Part {n}") for n in range(8))
    for segment_tokens in (24, 32, 48, 64):
        found = asked(SMALL.with_changes(segment_tokens=segment_tokens, within="all"), Document("d", body, marks))
        read = [event.tokens for event in found if isinstance(event, events.SegmentRead)]
        assert max(read) <= segment_tokens
        assert sum(read) / len(read) > 0.4 * segment_tokens


def test_the_message_is_about_what_does_not_fit() -> None:
    small = FakeModel(story.reply, n_ctx_train=900)
    with Runtime(story.SMALL.with_changes(pattern="llm", segment_tokens=1024), model=small) as runtime:
        with pytest.raises(ContextOverflowError, match="the documents have about 1,"):
            runtime.stream(Document("d", story.TEXT), "Which colour?")
        assert runtime.ask(Document("d", story.TEXT[:500]), "Which colour?").text == "the answer is blue"
        for documents in ((), Document("d", story.TEXT)):
            with pytest.raises(ContextOverflowError, match="question and prompts do not fit"):
                runtime.stream(documents, "why " * 900)


def test_of_a_text_far_too_long_no_more_is_looked_at_than_the_context_holds() -> None:
    model, seen = FakeModel(story.reply, n_ctx_train=900), []
    tokenize = model.tokenize

    def watched(text: str, *, special: bool = False) -> list[int]:
        seen.append(text)
        return tokenize(text, special=special)

    model.tokenize = watched  # type: ignore[method-assign]
    n = len(tokenize(story.TEXT * 500))
    whole = story.SMALL.with_changes(pattern="llm")
    with Runtime(whole, model=model) as runtime, pytest.raises(ContextOverflowError) as caught:
        runtime.stream([Document(name, story.TEXT * 250) for name in "ab"], "Which colour?")
    told = int(re.search(r"about ([\d,]+) tokens", str(caught.value))[1].replace(",", ""))  # type: ignore[index]
    assert 0.99 * n < told < 1.01 * n
    assert sum(map(len, seen)) < 20_000 < 500 * len(story.TEXT)


@settings(max_examples=70)
@given(
    sentences=st.integers(1, 60),
    n_ctx=st.integers(300, 2500),
    segment=st.integers(40, 400),
    margin=st.integers(1, 60),
    answer=st.integers(1, 60),
    passages=st.integers(1, 8),
    pattern=st.sampled_from(PATTERNS),
    relevance=st.sampled_from([name for name in RELEVANCES if name != "bm25"]),
    margins=st.sampled_from(MARGINS),
)


def test_what_the_plan_accepts_fits(
    sentences: int, n_ctx: int, segment: int, margin: int, answer: int, passages: int,
    pattern: str, relevance: str, margins: str,
) -> None:  # fmt: skip
    """Whatever the sizes: refused with the numbers before any work, or read and answered to the end."""
    model = FakeModel(lambda prompt: "YES" if "YES or NO" in prompt else "many words " * 40, n_ctx_train=n_ctx)
    chosen = Settings(
        segment_tokens=segment, margin_tokens=margin, answer_tokens=answer, max_passages=passages, pattern=pattern,
        relevance=relevance, margins=margins, relevance_threshold=0.0, within="all", save=False,
    )  # fmt: skip
    text = story.TEXT[: story.TEXT.index(f"number {sentences - 1} ")] + "end."
    try:
        found = story.run(model, chosen, text)
    except (ContextOverflowError, InvalidRequestError):
        assert model.history == []
        return
    assert island.finished(found).finish_reason in ("stop", "length", "repeated")
    if (pattern, relevance) != ("rag", "verdict"):  # which judges texts, and reads what it answers from
        assert island.finished(found).usage.prefilled_tokens >= found[0].tokens


@pytest.mark.parametrize(
    ("name", "body", "above"),
    [("fees.md", "# Charges\n\nA berth costs 4.", "Charges (fees)"), ("fees.txt", "A berth costs 4.", "fees"),
     ("fees.md", "# Fees of 2024\n\nA berth costs 4.", "Fees of 2024")],
)
def test_a_file_is_called_the_same_alone_and_in_a_library(tmp_path: Path, name: str, body: str, above: str) -> None:
    path = tmp_path / name
    path.write_text(body)
    library = Library("default", create=True)
    list(add(library, [path]))
    (kept,) = library.documents([number for number, _ in library.digests()])
    given: list[set[str]] = []
    for document in (path, kept.document):
        prompts = set[str]()
        with Runtime(SMALL, model=FakeModel(lambda prompt, to=prompts: to.add(prompt) or "")) as runtime:
            runtime.ask(document, "What does a berth cost?")
        given.append(prompts)
    assert given[0] == given[1]
    assert all(f'Document "{above}":' in prompt for prompt in given[0] if "A berth" in prompt)


def test_files_of_one_title_are_told_apart_by_their_names(tmp_path: Path) -> None:
    paths = [tmp_path / f"report-{year}.md" for year in (2023, 2024)]
    for path in paths:
        path.write_text(f"# Annual report\n\nNet income was {path.stem[-1]} million.")
    prompts = set[str]()
    with Runtime(SMALL, model=FakeModel(lambda prompt: prompts.add(prompt) or "")) as runtime:
        runtime.ask(paths, "What was net income in 2024?")
    for path in paths:
        assert any(f'Document "Annual report ({path.stem})":' in prompt for prompt in prompts)
