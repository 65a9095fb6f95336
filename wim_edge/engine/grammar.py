"""A JSON schema, to which the tokens of a text are held while it is decoded, by the library llguidance."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from wim_edge.engine.protocols import Logits
from wim_edge.errors import EngineError, InvalidRequestError

if TYPE_CHECKING:
    from llguidance import LLTokenizer
    from llguidance._lib import JsonCompileOptions

_OPTIONS: JsonCompileOptions = {"whitespace_flexible": True, "whitespace_pattern": r"(?: |\n {0,16})"}
"""The white space between values: some, as a model lays JSON out; no end of it, in which a small one loses itself."""


def open_vocabulary(vocab: Any, eog_tokens: list[int]) -> LLTokenizer:
    """Returns a model's vocabulary as llguidance reads it, which takes some tenths of a second. Raises
    InvalidRequestError without that package."""
    try:
        from llguidance.llamacpp import lltokenizer_from_vocab
    except ImportError:
        raise InvalidRequestError(
            "a JSON schema needs the package llguidance", "pip install 'wim-edge[server]'"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of llama.cpp's, that it uses an older name
        return lltokenizer_from_vocab(vocab, eos_token=eog_tokens)


class Grammar:
    """Implements `wim_edge.engine.protocols.Grammar`. Raises InvalidRequestError for a schema with a keyword that
    cannot be held to, and for one that is too large.

    ``hidden``: the tokens that are never allowed.
    """

    def __init__(self, vocabulary: LLTokenizer, schema: object, hidden: Iterable[int]) -> None:
        from llguidance import LLMatcher
        from llguidance.numpy import allocate_token_bitmask

        try:
            text = LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=_OPTIONS)
        except (ValueError, RecursionError) as error:
            raise _refused(str(error)) from error
        self._matcher = LLMatcher(vocabulary, text, log_level=0)
        if self._matcher.is_error():
            raise _refused(self._matcher.get_error())
        self._mask = allocate_token_bitmask(1, vocabulary.vocab_size)
        self._hidden = [*hidden]

    def allowed(self, logits: Logits) -> Logits:
        from llguidance.numpy import apply_token_bitmask_inplace, fill_next_token_bitmask

        held = np.array(logits)
        fill_next_token_bitmask(self._matcher, self._mask)
        apply_token_bitmask_inplace(held, self._mask)
        held[self._hidden] = -np.inf
        if not np.isfinite(held).any():
            raise EngineError("the model has no token to go on with in the form asked for", "Use another model.")
        return held

    def accept(self, token: int) -> None:
        self._matcher.consume_token(token)


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"the JSON schema cannot be held to: {why.strip()[:300]}", "Ask for a simpler form.")
