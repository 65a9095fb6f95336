"""Grammars of llama.cpp's: which tokens they allow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wim_edge import Settings
from wim_edge.engine.model import Model
from wim_edge.errors import EngineError, InvalidRequestError

pytestmark = pytest.mark.real


def test_only_tokens_that_go_on_are_allowed(smollm2: Path) -> None:
    random = np.random.default_rng(1)
    with Model(smollm2, Settings(n_threads=1)) as model:
        (end,) = model.tokenize("<|im_end|>", special=True)
        logits = random.normal(size=model.n_vocab).astype(np.float32)
        before = logits.copy()
        grammar = model.grammar('root ::= "yes" | [^a-z]{2}')
        for _ in range(3):  # a look changes nothing
            held = grammar.allowed(logits, greedy=False)
            (open_ones,) = np.nonzero(np.isfinite(held))
            pieces = {model.piece(int(token)) for token in open_ones}
            assert {one for one in pieces if one[:1].islower()} == {b"y", b"ye", b"yes"}
            assert {b"7", b"Q", b"QA"} <= pieces
            assert b"" not in pieces  # no control token by its name, <|im_start|>
            assert not np.isfinite(held[end])
            best = grammar.allowed(logits, greedy=True)
            assert np.argmax(best) == np.argmax(held)
        assert (logits == before).all()
        for token in model.tokenize("yes"):
            grammar.accept(token)
        assert model.is_eog(int(np.argmax(grammar.allowed(logits, greedy=True))))
        grammar.close()
        grammar.close()


def test_an_unlikely_token_is_found(smollm2: Path) -> None:
    with Model(smollm2, Settings(n_threads=1)) as model:
        (token,) = model.tokenize("Q")
        logits = np.zeros(model.n_vocab, np.float32)
        logits[token] = -50
        assert np.argmax(model.grammar('root ::= "Q"').allowed(logits, greedy=True)) == token


def test_what_is_no_grammar_is_refused(smollm2: Path) -> None:
    with Model(smollm2, Settings(n_threads=1)) as model:
        for wrong in ("", "root ::= nothing", "root ::= root", "\0"):
            with pytest.raises(InvalidRequestError, match="cannot use the grammar"):
                model.grammar(wrong)
        grammar = model.grammar('root ::= "a"')
        with pytest.raises(EngineError, match="no token"):
            grammar.allowed(np.full(model.n_vocab, -np.inf, np.float32), greedy=False)
