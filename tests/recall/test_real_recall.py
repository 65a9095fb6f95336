"""Recall on real models, of every kind of memory: what is recalled exists, and no trace of the search is left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wim_edge import Runtime, Settings, events
from wim_edge.documents import Document
from wim_edge.engine.model import Model
from wim_edge.library.library import Library
from wim_edge.recall.index import TokenRange, load_or_build_index
from wim_edge.settings import Paths

pytestmark = pytest.mark.real

TOWNS = ("Norra", "Ostby", "Velin", "Karst", "Dorme", "Lunel", "Pragh", "Sable", "Tirna", "Uxwell")
THINGS = ("harbour", "lighthouse", "library", "bridge", "mill", "school", "station", "theatre", "tower", "market")
FACTS = (
    ("Moon", "The Moon is Earth's only natural satellite. It orbits at an average distance of 384,399 kilometres."),
    ("Paris", "Paris is the capital and largest city of France. It lies on the river Seine."),
    ("Photosynthesis", "Photosynthesis converts light into chemical energy. Plants use it to make sugar from water."),
    ("William Shakespeare", "William Shakespeare was an English playwright. He wrote Hamlet and Macbeth."),
)


def passages() -> list[tuple[str, Document]]:
    """A thousand places, and four things that any model has heard of."""
    found = list(FACTS)
    for number in range(1000):
        town, thing = TOWNS[number % 10], THINGS[number // 10 % 10]
        title = f"{thing.title()} of {town} {number // 100 + 1}"
        found.append((title, f"The {thing} of {town} was opened in {1500 + number % 450}. "
                             f"It cost {number * 37} crowns. A storm damaged it {number % 7} times."))  # fmt: skip
    return [(title, Document(title, text)) for title, text in found]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, with a library of a thousand documents: it is made once, and indexed once for each model."""
    home = tmp_path_factory.mktemp("home")
    Library("towns", Paths.from_environment({"WIM_EDGE_HOME": str(home)}), create=True).put("rows", passages())
    return home


@pytest.fixture
def library(home: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("WIM_EDGE_HOME", str(home))
    return Library("towns")


def recalled(runtime: Runtime, question: str) -> events.PassagesRecalled:
    found = list(runtime.recall("towns", question))
    assert isinstance(found[-1], events.PassagesRecalled)
    return found[-1]


@pytest.mark.parametrize(
    ("which", "retriever"),
    [("llama", "recall"), ("mamba", "recall"), ("lfm2", "recall"), ("gemma3-tiny", "hybrid"), ("smollm2", "hybrid")],
)
def test_what_is_recalled_exists_and_comes_again(
    which: str, retriever: str, library: Library, model_file: Callable[[str], Path]
) -> None:
    texts = {title: document.text for title, document in passages()}
    with Runtime(Settings(model=str(model_file(which)), judge="self", retriever=retriever, n_threads=1)) as runtime:
        first = recalled(runtime, "What is the capital of France?")
        other = recalled(runtime, "When was the lighthouse of Velin opened?")
        again = recalled(runtime, "What is the capital of France?")
    assert first.passages
    assert first.decoded_tokens > 0
    for found in (first, other):
        for passage in found.passages:
            assert passage.text
            assert passage.text == texts[passage.title][slice(*passage.chars)]
    # Where cells lie otherwise sums round otherwise, and of beams that are nearly alike another one may be last
    scores = [{passage.document: passage.scores for passage in found.passages} for found in (first, again)]
    assert first.passages[0].document in scores[1]
    both = scores[0].keys() & scores[1].keys()
    assert len(both) >= len(first.passages) - 1
    for document in both:
        assert scores[0][document] == pytest.approx(scores[1][document], abs=0.5)
    if which == "smollm2":
        assert first.passages[0].title == "Paris"


def test_a_question_is_answered_from_a_library(smollm2: Path, library: Library) -> None:
    settings = Settings(model=str(smollm2), judge="self", pattern="wim-shallow", answer_tokens=16)
    with Runtime(settings) as runtime:
        found = list(runtime.stream((), "Who wrote Hamlet?", library="towns"))
    answer = found[-1]
    assert isinstance(answer, events.AnswerFinished)
    assert answer.finish_reason in ("stop", "length")
    source = answer.sources[0]
    assert source.document == "William Shakespeare"
    assert source.quote
    assert dict(FACTS)["William Shakespeare"][slice(*source.quote)] == source.margin


def test_successors_do_not_wait_for_a_large_library(smollm2: Path, library: Library) -> None:
    """Not the speed is asserted, but that no step looks at more than a few places: what larger ones hold is kept."""
    with Model(smollm2) as model:
        index = load_or_build_index(library, model)
        assert len(index.ids) == 1004
        nbytes = sum(one.nbytes for one in index.arrays.values())
        assert nbytes < 2 * sum(len(document.text.encode()) for _, document in passages())
        runs = index.passage_runs
        for place in np.asarray(runs.order)[:: max(1, len(runs.order) // 50)].tolist():
            run = runs.all
            for token in index.tokens[place : place + 5].tolist():
                if token == runs.end:
                    break
                tokens, edges = runs.successors(run)
                assert token in tokens.tolist()
                assert len(tokens) + 1 == len(edges)
                assert len(run) <= 1024 or run in runs._kept
                at = int(np.searchsorted(tokens, token))
                run = TokenRange(int(edges[at]), int(edges[at + 1]), run.length + 1)
