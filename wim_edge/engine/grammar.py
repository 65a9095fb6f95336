"""A JSON schema that constrains decoding, by the library llguidance."""

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
"""The white space between values: as models lay JSON out, but bounded, because small models repeat it for ever."""


def open_vocabulary(vocab: Any, eog_tokens: list[int]) -> LLTokenizer:
    """Returns a model's vocabulary for llguidance, in some tenths of a second. Raises InvalidRequestError without that
    package."""
    try:
        from llguidance.llamacpp import lltokenizer_from_vocab
    except ImportError:
        raise InvalidRequestError(
            "a JSON schema needs the package llguidance", "pip install 'wim-edge[server]'"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it calls llama.cpp by an older name
        return lltokenizer_from_vocab(vocab, eos_token=eog_tokens)


class Grammar:
    """Implements `wim_edge.engine.protocols.Grammar`. Raises InvalidRequestError for a schema that is too large or has
    an unsupported keyword.

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

        allowed = np.array(logits)
        fill_next_token_bitmask(self._matcher, self._mask)
        apply_token_bitmask_inplace(allowed, self._mask)
        allowed[self._hidden] = -np.inf
        if not np.isfinite(allowed).any():
            raise EngineError("the model has no token that continues the requested JSON", "Use another model.")
        return allowed

    def accept(self, token: int) -> None:
        self._matcher.consume_token(token)


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"the JSON schema is not supported: {why.strip()[:300]}", "Ask for a simpler form.")
