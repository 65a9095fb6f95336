"""A grammar of llama.cpp's, to which the tokens of a text are held while it is decoded."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine.bindings import last_errors, lib
from wim_edge.engine.protocols import Logits
from wim_edge.errors import EngineError, InvalidRequestError

_TOKEN = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])  # struct llama_token_data
_LIKELIEST = 256
"""The number of tokens that are looked at first: a look at all of them takes as long as evaluating one."""


class Grammar:
    """Implements `wim_edge.engine.protocols.Grammar`.

    ``hidden``: the tokens that are never allowed; llama.cpp takes a control token for its name, which is not shown. It
    takes bytes that are no UTF-8 for a character, too; they are shown as one or more replacement characters.
    """

    def __init__(self, vocab: object, text: str, hidden: Iterable[int]) -> None:
        last_errors()
        is_there = text.strip() and "\0" not in text  # of nothing llama.cpp makes a grammar that allows all
        self._sampler = lib.llama_sampler_init_grammar(vocab, text.encode(), b"root") if is_there else None
        if not self._sampler:
            raise InvalidRequestError(f"llama.cpp cannot use the grammar: {last_errors() or 'no reason given'}",
                                      "Ask for a simpler form.")  # fmt: skip
        self._hidden = [*hidden]

    def allowed(self, logits: Logits, *, greedy: bool) -> Logits:
        held = np.array(logits)
        held[self._hidden] = -np.inf
        looks = [np.arange(len(held))]
        if greedy and len(held) > _LIKELIEST:
            looks.insert(0, np.argpartition(-held, _LIKELIEST)[:_LIKELIEST])
        for tokens in looks:
            found = np.full_like(held, -np.inf)
            found[tokens] = self._applied(tokens, held[tokens])
            if np.isfinite(found).any():
                return found
        raise EngineError("the model has no token with which the text could go on in its form", "Use another model.")

    def _applied(self, tokens: NDArray[np.int64], logits: Logits) -> Logits:
        data = np.zeros(len(tokens), _TOKEN)
        data["id"], data["logit"] = tokens, logits
        pointer = ctypes.cast(data.ctypes.data, ctypes.POINTER(lib.llama_token_data))
        candidates = lib.llama_token_data_array(pointer, len(data), -1, False)
        lib.llama_sampler_apply(self._sampler, ctypes.byref(candidates))
        return data["logit"]

    def accept(self, token: int) -> None:
        lib.llama_sampler_accept(self._sampler, token)

    def close(self) -> None:
        """Frees the grammar; harmless when closed already."""
        if self._sampler:
            lib.llama_sampler_free(self._sampler)
        self._sampler = None
