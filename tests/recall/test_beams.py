"""Constrained beams against brute force: what is found exists, and with beams enough it is the best there is."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.recall.conftest import suffix_array_of
from wim_edge.engine.sampling import log_softmax
from wim_edge.recall.index import SuffixArray
from wim_edge.recall.mindref import Beam, Search
from wim_edge.testing import FakeContext, FakeModel, FakeSequence

END, STOP, VOCAB = 65535, 9, 10
TEXTS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=7), min_size=1, max_size=9, unique_by=tuple)


def logits_after(tokens: list[int]) -> np.ndarray:
    """Some distribution, always the same after the same tokens."""
    seed = int.from_bytes(hashlib.blake2b(str(list(tokens)).encode(), digest_size=4).digest(), "big")
    return np.random.default_rng(seed).normal(size=VOCAB).astype(np.float32) * 3


@pytest.fixture(autouse=True)
def _distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(self: FakeSequence, tokens: list[int], rows: int = 1) -> np.ndarray:
        found = []
        for token in tokens:
            self.tokens.append(token)
            found.append(logits_after(self.tokens))
        return np.stack(found[len(tokens) - rows :])

    monkeypatch.setattr(FakeSequence, "append", append)
    monkeypatch.setattr(FakeSequence, "logits", property(lambda self: logits_after(self.tokens)))


def runs_of(texts: list[list[int]], *, anywhere: bool = False) -> SuffixArray:
    tokens = np.array([token for text in texts for token in (*text, END)], np.uint16)
    heads = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])
    return suffix_array_of(tokens, None if anywhere else heads)


def prompt_of(context: FakeContext) -> FakeSequence:
    sequence = context.sequence()
    sequence.append([7, 8])
    return sequence


def logprob(text: list[int], *more: int) -> float:
    held, total = [7, 8], 0.0
    for token in (*text, *more):
        total += float(log_softmax(logits_after(held)[None])[0][token])
        held.append(token)
    return total


@settings(max_examples=60)
@given(TEXTS)
def test_with_beams_enough_every_title_is_found_with_its_probability(texts: list[list[int]]) -> None:
    context = FakeModel().context(1000, n_sequences=64)
    prompt = prompt_of(context)
    beams, _ = Search(runs_of(texts), width=99, ends=(STOP,)).find(context, prompt)
    assert {beam.tokens for beam in beams} == set(map(tuple, texts))
    assert [beam.score for beam in beams] == sorted((beam.score for beam in beams), reverse=True)
    for beam in beams:
        assert beam.ended
        assert beam.logprob == pytest.approx(logprob(list(beam.tokens), STOP), abs=1e-4)
    assert prompt.tokens == [7, 8]
    assert len(context.live) == 1  # every fork is closed


@settings(max_examples=60)
@given(TEXTS, st.integers(1, 4))
def test_few_beams_find_only_what_exists(texts: list[list[int]], width: int) -> None:
    context = FakeModel().context(1000)
    most = 0
    make = context.sequence

    def counted() -> FakeSequence:
        nonlocal most
        made = make()
        most = max(most, len(context.live))
        return made

    prompt = prompt_of(context)
    context.sequence = counted  # type: ignore[method-assign]
    runs = runs_of(texts)
    beams, _ = Search(runs, width=width, ends=(STOP,)).find(context, prompt)
    assert 1 <= len(beams) <= width
    assert {beam.tokens for beam in beams} <= set(map(tuple, texts))
    assert most <= width + 1
    for beam in beams:
        places = runs.places(beam.run).tolist()
        assert all(runs.tokens[at : at + len(beam.tokens)].tolist() == list(beam.tokens) for at in places)


@settings(max_examples=60)
@given(TEXTS, st.integers(1, 6))
def test_prefixes_stand_where_they_say(texts: list[list[int]], longest: int) -> None:
    context = FakeModel().context(1000)
    runs = runs_of(texts, anywhere=True)
    beams, _ = Search(runs, width=5, longest=longest).find(context, prompt_of(context))
    assert beams
    for beam in beams:
        assert 1 <= len(beam.tokens) <= longest
        places = runs.places(beam.run)
        assert all(runs.tokens[at : at + len(beam.tokens)].tolist() == list(beam.tokens) for at in places.tolist())
        unique, over = len(places) == 1, all(runs.tokens[at + len(beam.tokens)] == END for at in places.tolist())
        assert unique or len(beam.tokens) == longest or over
        assert beam.logprob == pytest.approx(logprob(list(beam.tokens)), abs=1e-4)


def test_the_likelier_form_of_the_first_token_is_decoded() -> None:
    context = FakeModel().context(1000)
    prompt = prompt_of(context)
    first = log_softmax(logits_after([7, 8])[None])[0]
    plain, spaced = sorted(range(5), key=lambda token: first[token])[:2]  # the second is the likelier
    runs = runs_of([[plain, 1], [plain, 2]])
    (beam, *_), _ = Search(runs, width=2, longest=5, form={plain: spaced}.__getitem__).find(context, prompt)
    assert beam.tokens[0] == spaced
    assert runs.tokens[runs.places(beam.run)[0]] == plain


def test_a_whole_passage_is_decoded_to_its_end() -> None:
    context = FakeModel().context(1000)
    texts = [[1, 2, 3, 4, 0] * 20, [2, 3]]
    beams, spent = Search(runs_of(texts), width=2, longest=90, whole=True).find(context, prompt_of(context))
    assert {beam.tokens for beam in beams} == {tuple(texts[0][:90]), (2, 3)}
    short, few = Search(runs_of(texts), width=2, longest=90).find(context, prompt_of(context))
    assert {beam.tokens for beam in short} == {(1,), (2,)}
    assert few < spent / 10


def test_nothing_to_find() -> None:
    context = FakeModel().context(1000)
    empty = SuffixArray(np.zeros(0, np.uint16), np.zeros(0, np.uint32))
    assert Search(empty, width=3, ends=(STOP,)).find(context, prompt_of(context)) == ([], 0)
    assert Beam(empty.all).score == 0
