"""The token index of a library: its places, its file, and what it does when the library or the file changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.recall.conftest import suffix_array_of
from wim_edge.documents import Document, sentences
from wim_edge.errors import LibraryError
from wim_edge.library.array_file import DamagedError, open_mapped
from wim_edge.library.library import Library
from wim_edge.recall.index import LONGEST, SuffixArray, TokenIndex, TokenRange, end_of, load_index, load_or_build_index
from wim_edge.settings import Paths
from wim_edge.testing import FakeModel

TEXT = "The ferry sails at noon. It is a small ship.\n\nIn winter it stays in the harbour. Nobody minds."


@pytest.fixture
def library(tmp_path: Path) -> Library:
    made = Library("ships", Paths(tmp_path, tmp_path, tmp_path, tmp_path), create=True)
    put(made, "a", ("Ferry", TEXT), ("Pilot", "A pilot knows the shoals. He is old."))
    return made


def put(library: Library, path: str, *documents: tuple[str, str]) -> None:
    library.put(path, [(title, Document(title, text)) for title, text in documents])


def tokens_of(index: TokenIndex, model: FakeModel, at: int) -> tuple[str, str]:
    """Title and text, out of the tokens."""
    head, body, end = int(index.heads[at]), int(index.bodies[at]), int(index.heads[at + 1])
    last = end_of(index.tokens)
    assert index.tokens[body - 1] == index.tokens[end - 1] == last
    return model.text(index.tokens[head : body - 1].tolist()), model.text(index.tokens[body : end - 1].tolist())


def test_titles_texts_and_sentences_stand_where_they_should(library: Library) -> None:
    model = FakeModel()
    index = load_or_build_index(library, model)
    assert tokens_of(index, model, 0) == (" Ferry", TEXT)
    assert tokens_of(index, model, 1) == (" Pilot", "A pilot knows the shoals. He is old.")
    begun = [
        TEXT[index.char_offset(int(place)) :] for place in index.starts if index.document_at(np.array([place]))[0] == 0
    ]
    assert [text.strip()[:6] for text in begun] == [TEXT[a:b].strip()[:6] for a, b in sentences(TEXT)]
    first, second = int(index.starts[0]), int(index.starts[1])
    assert TEXT[: index.sentence_end(first, 1)] == "The ferry sails at noon. "
    assert TEXT[index.char_offset(second) : index.sentence_end(second, 1)].strip() == "It is a small ship."
    assert index.sentence_end(first, 10_000) is None
    run = index.passages_of([1]).find(model.tokenize("A"))
    assert index.document_at(index.passages_of([1]).places(run)).tolist() == [1]
    assert index.passages_of([0]).find(model.tokenize("A")) is None
    assert index.title_runs.find([*model.tokenize(" Pilot"), index.title_runs.end]) is not None


WORDS = st.text("ab .\n中é", max_size=60)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=8), WORDS), min_size=1, max_size=5))
def test_any_documents(tmp_path: Path, documents: list[tuple[str, str]]) -> None:
    made = Library("any", Paths(tmp_path, tmp_path, tmp_path, tmp_path), create=True)
    put(made, "a", *documents)
    model = FakeModel()
    index = load_or_build_index(made, model)
    assert len(index.ids) == len(documents)
    for at, (title, text) in enumerate(documents):
        assert tokens_of(index, model, at) == (" " + title, text)
    for place in index.starts.tolist():
        at = int(index.document_at(np.array([place]))[0])
        assert documents[at][1][index.char_offset(place) :].strip()
        end = index.sentence_end(place, 3)
        assert end is None or end > index.char_offset(place)


def test_what_did_not_change_is_not_tokenized_again(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeModel()
    first = load_or_build_index(library, model)
    seen: list[str] = []
    tokenize = model.tokenize
    monkeypatch.setattr(model, "tokenize", lambda text, **k: seen.append(text) or tokenize(text, **k))
    again = load_or_build_index(library, model)
    assert seen == []
    put(library, "b", ("Buoy", "It floats."))
    told: list[tuple[int, int]] = []
    index = load_or_build_index(library, model, lambda done, of: told.append((done, of)))
    assert seen == [" Buoy", "It floats."]
    assert told == [(3, 3)]
    for name in ("tokens", "starts", "chars"):
        assert np.array_equal(getattr(again, name), getattr(first, name))
        assert np.array_equal(getattr(index, name)[: len(getattr(first, name))], getattr(first, name))
    library.remove("a")
    last = load_or_build_index(library, model)
    assert tokens_of(last, model, 0) == (" Buoy", "It floats.")
    assert len(last.ids) == 1
    assert seen == [" Buoy", "It floats."]


@pytest.mark.parametrize("damage", [lambda data: data[:-40], lambda data: data[:200] + b"?" + data[201:]])
def test_a_damaged_index_is_made_anew(library: Library, damage: Callable[[bytes], bytes]) -> None:
    model = FakeModel()
    whole = load_or_build_index(library, model)
    (path,) = library.folder.glob("*.tokens")
    path.write_bytes(damage(path.read_bytes()))
    assert load_index(library, model) is None
    with pytest.raises(DamagedError):
        open_mapped(path, (b"wim-edge  recall", 1), None)
    assert np.array_equal(load_or_build_index(library, model).tokens, whole.tokens)
    assert load_index(library, model) is not None


def test_interrupted_while_it_is_written(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeModel()
    with monkeypatch.context() as patch:
        patch.setattr("wim_edge.library.array_file.os.fsync", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            load_or_build_index(library, model)
    assert list(library.folder.glob("*.part")) == list(library.folder.glob("*.tokens")) == []
    full = Mock(side_effect=OSError(28, "No space left on device"))
    with monkeypatch.context() as patch:
        patch.setattr("wim_edge.library.array_file.os.fsync", full)
        with pytest.raises(LibraryError, match="No space left"):
            load_or_build_index(library, model)
    assert len(load_or_build_index(library, model).ids) == 2


def test_each_model_has_its_own(library: Library) -> None:
    one, other = FakeModel(), FakeModel()
    load_or_build_index(library, one)
    assert load_index(library, other) is None
    load_or_build_index(library, other)
    assert load_index(library, one) is not None


def test_an_empty_library(tmp_path: Path) -> None:
    made = Library("none", Paths(tmp_path, tmp_path, tmp_path, tmp_path), create=True)
    model = FakeModel()
    for _ in range(2):
        index = load_or_build_index(made, model)
        assert len(index.ids) == len(index.tokens) == 0
        assert index.title_runs.find([1]) is None


_KILLED = """
import os, signal, sys
from pathlib import Path
from wim_edge.library import array_file
from wim_edge.library.library import Library
from wim_edge.recall.index import load_or_build_index
from wim_edge.settings import Paths
from wim_edge.testing import FakeModel
home, moment = Path(sys.argv[1]), sys.argv[2]

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def half(path, *_, **__):
    os.truncate(path, 100)
    die()

if moment == "written":
    os.fsync = die
elif moment == "half written":
    array_file.open = half
model = FakeModel()
model.fingerprint = "killed"
load_or_build_index(Library("ships", Paths(home, home, home, home)), model, *[die] * (moment == "tokenized"))
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
@pytest.mark.parametrize("moment", ["tokenized", "half written", "written"])
def test_killed_while_indexing(library: Library, tmp_path: Path, moment: str) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), moment], check=False)
    assert killed.returncode == -signal.SIGKILL
    model = FakeModel()
    model.fingerprint = "killed"
    assert load_index(library, model) is None
    for part in library.folder.glob("*.part"):
        os.utime(part, (0, 0))  # as an hour later
    index = load_or_build_index(library, model)
    assert tokens_of(index, model, 0) == (" Ferry", TEXT)
    assert load_index(library, model) is not None
    assert not list(library.folder.glob("*.part"))


PARTS = st.lists(st.lists(st.integers(0, 4), max_size=12), min_size=1, max_size=8)


END = 65535


def text_of(parts: list[list[int]]) -> np.ndarray:
    return np.array([token for part in parts for token in (*part, END)], np.uint16)


def standing(text: np.ndarray, run: list[int], places: list[int]) -> list[int]:
    return [at for at in places if text[at : at + len(run)].tolist() == run]


def check(runs: SuffixArray, text: np.ndarray, run: list[int], places: list[int]) -> None:
    found = runs.find(run)
    stands = standing(text, run, places)
    if not stands and run:
        assert found is None
        return
    assert runs.places(found).tolist() == stands
    assert len(found) == len(stands)
    tokens, edges = runs.successors(found)
    following = [int(text[at + len(run)]) for at in stands]
    assert tokens.tolist() == sorted(set(following))
    assert np.diff(edges).tolist() == [following.count(token) for token in tokens.tolist()]


@settings(max_examples=70)
@given(PARTS, st.lists(st.integers(0, 4), max_size=6))
def test_runs_anywhere(parts: list[list[int]], run: list[int]) -> None:
    text = text_of(parts)
    check(suffix_array_of(text), text, run, [at for at in range(len(text)) if text[at] != END])


@settings(max_examples=70)
@given(PARTS, st.data())
def test_runs_from_the_beginning_of_a_part(parts: list[list[int]], data: st.DataObject) -> None:
    text = text_of(parts)
    begins = np.cumsum([0, *(len(part) + 1 for part in parts[:-1])])
    part = data.draw(st.sampled_from(parts))
    run = part[: data.draw(st.integers(0, len(part)))] + data.draw(st.lists(st.integers(0, 4), max_size=1))
    check(suffix_array_of(text, begins), text, run, begins.tolist())


@settings(max_examples=70)
@given(PARTS, st.lists(st.integers(0, 4), max_size=6), st.data())
def test_runs_inside_some_parts(parts: list[list[int]], run: list[int], data: st.DataObject) -> None:
    text = text_of(parts)
    begins = np.cumsum([0, *(len(part) + 1 for part in parts)]).tolist()
    chosen = data.draw(st.lists(st.integers(0, len(parts) - 1), unique=True))
    spans = [(begins[part], begins[part + 1]) for part in chosen]
    places = [at for at in range(len(text)) if text[at] != END and any(a <= at < b for a, b in spans)]
    check(suffix_array_of(text).inside(*spans), text, run, places)


@settings(max_examples=40)
@given(PARTS)
def test_what_is_kept_of_large_ranges_changes_nothing(parts: list[list[int]]) -> None:
    text = text_of(parts * 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wim_edge.recall.index._MANY", 2)
        runs = suffix_array_of(text)
        for _ in range(2):
            for part in parts:
                for end in range(len(part) + 1):
                    check(runs, text, part[:end], [at for at in range(len(text)) if text[at] != END])
    assert runs._kept or sum(map(len, parts)) < 3


def test_long_runs_that_are_alike() -> None:
    text = text_of([[1] * 100, [1] * 80 + [2]])
    runs = suffix_array_of(text)
    found = runs.find([1] * LONGEST)
    assert len(found) == (100 - LONGEST + 1) + (80 - LONGEST + 1)
    with pytest.raises(ValueError, match="more than"):
        runs.successors(found)


def test_nothing() -> None:
    runs = suffix_array_of(np.zeros(0, np.uint16))
    assert runs.successors(runs.all)[0].tolist() == []
    assert runs.find([1]) is None
    assert suffix_array_of(text_of([[], []])).find([1]) is None
    assert TokenRange(2, 5, 1) == TokenRange(2, 5, 1)
