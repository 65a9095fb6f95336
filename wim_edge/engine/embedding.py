"""An embedding model, loaded by llama.cpp: maps texts to vectors, and similar texts to near vectors. Models like BERT
attend in both directions and keep no cache; decoders trained to embed (Qwen3) work too. The model's file names the
pooling, which makes one vector of a text's token vectors; the default is the mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from wim_edge.engine import bindings
from wim_edge.engine.batches import fill, grouped
from wim_edge.engine.bindings import lib, load_weights, tokenize
from wim_edge.engine.gguf import read_header
from wim_edge.engine.memory_estimate import check_weights
from wim_edge.engine.protocols import Vector
from wim_edge.errors import EngineError, InvalidRequestError, MemoryBudgetError, ModelFileError
from wim_edge.settings import Settings

_LONGEST = 512  # tokens in a batch: a decoder computes logits over its whole vocabulary for each
_SHORTEST = 16  # tokens: a model must accept texts of at least this length
_AT_ONCE = 16  # texts in a batch
_POOLED = (lib.LLAMA_POOLING_TYPE_MEAN, lib.LLAMA_POOLING_TYPE_CLS, lib.LLAMA_POOLING_TYPE_LAST)
_INSTRUCTIONS = (
    ("multilingual-e5-large-instruct", ("Instruct: Given a question, retrieve passages that answer it\nQuery: ", "")),
    ("e5", ("query: ", "passage: ")),
    ("nomic-embed", ("search_query: ", "search_document: ")),
    ("bge-m3", ("", "")),
    ("bge", ("Represent this sentence for searching relevant passages: ", "")),
    ("mxbai", ("Represent this sentence for searching relevant passages: ", "")),
    ("arctic-embed-l-v2", ("query: ", "")),
    ("arctic-embed-m-v2", ("query: ", "")),
    ("arctic-embed", ("Represent this sentence for searching relevant passages: ", "")),
    ("qwen3-embedding", ("Instruct: Given a question, retrieve passages that answer it\nQuery:", "")),
    ("embeddinggemma", ("task: search result | query: ", "title: none | text: ")),
)
"""Pairs (part of a model's name, (instruction before a question, instruction before a text)), from the models' cards:
GGUF files do not contain the instructions. The first pair whose part is in a model's name applies."""


class EmbeddingModel(AbstractContextManager["EmbeddingModel"]):
    """An embedding model in llama.cpp (see `wim_edge.engine.protocols.Embedder`); a ``with`` block closes it. The
    constructor raises ModelFileError for an unusable file, MemoryBudgetError if the model does not fit in memory."""

    def __init__(self, path: Path, settings: Settings, name: str | None = None) -> None:
        self.header = read_header(path, embeds=True)
        self.fingerprint = bindings.fingerprint(self.header)
        self.name = name or path.stem
        params = bindings.model_params(self.header.weight_types)
        params.n_gpu_layers = check_weights(self.header, settings)
        self._context: Any = None
        self._model = load_weights(path, params)
        self._vocab = lib.llama_model_get_vocab(self._model)
        self._longest = min(_LONGEST, lib.llama_model_n_ctx_train(self._model))
        self.width: int = lib.llama_model_n_embd(self._model)
        try:
            self._context = self._open(settings.n_threads or bindings.physical_cores())
        except BaseException:
            self.close()
            raise
        self._batch = lib.llama_batch_init(self._longest, 0, 1)
        label = re.sub(r"[_ ]", "-", f"{self.header.metadata.get('general.name', '')} {path.name}".lower())
        self._before_query, self._before_text = next(
            (before for part, before in _INSTRUCTIONS if part in label), ("", "")
        )

    def _open(self, n_threads: int) -> Any:
        """Returns a llama.cpp context with the pooling that the model's file names, or else with mean pooling."""
        if self._longest < _SHORTEST:
            raise ModelFileError(
                f"{self.header.path}: it reads {self._longest} tokens at once", "Give another embedding model."
            )
        for pooling in (lib.LLAMA_POOLING_TYPE_UNSPECIFIED, lib.LLAMA_POOLING_TYPE_MEAN):
            params = lib.llama_context_default_params()
            params.n_ctx = params.n_batch = params.n_ubatch = self._longest
            params.n_seq_max = _AT_ONCE
            params.n_threads = params.n_threads_batch = n_threads
            params.embeddings = params.kv_unified = params.no_perf = True
            params.pooling_type = pooling
            handle = lib.llama_init_from_model(self._model, params)
            if not handle:
                why = bindings.last_errors() or "no reason given"
                raise MemoryBudgetError(f"{self.name}: llama.cpp cannot embed with it: {why}", "Use a smaller model.")
            found = lib.llama_pooling_type(handle)
            if found in _POOLED:
                return handle
            lib.llama_free(handle)
            if found == lib.LLAMA_POOLING_TYPE_RANK:
                break
        raise ModelFileError(f"{self.header.path}: it ranks texts, and embeds none", "Give an embedding model.")

    def query(self, question: str) -> Vector:
        return next(self.embed([self.tokenize(self._before_query + question)]))

    def texts(self, texts: Sequence[str], check: Callable[[], None] = lambda: None) -> Iterator[Vector]:
        """Yields each text's unit vector (see `protocols.Embedder`); puts the model's instruction before each text."""
        return self.embed((self.tokenize(self._before_text + text) for text in texts), check)

    def tokenize(self, text: str) -> list[int]:
        return self._tokenize(" ".join(text.split()))

    def embed(self, inputs: Iterable[Sequence[int]], check: Callable[[], None] = lambda: None) -> Iterator[Vector]:
        """Yields each text's unit vector (see `protocols.Embedder`); of a long text, the weighted mean of its parts."""

        def weighted() -> Iterator[tuple[int, Vector]]:
            parts = ((number, part) for number, tokens in enumerate(inputs) for part in self._parts(tokens))
            for batch in grouped(parts, lambda part: (len(part[1]), 1), self._longest, _AT_ONCE):
                check()
                for (number, tokens), vector in zip(batch, self._pooled([tokens for _, tokens in batch]), strict=True):
                    yield number, vector * len(tokens)

        for _, own in groupby(weighted(), key=itemgetter(0)):
            total = sum((vector for _, vector in own), np.zeros(self.width, np.float32))
            yield total / max(float(np.linalg.norm(total)), 1e-12)

    def _parts(self, tokens: Sequence[int]) -> list[list[int]]:
        """Divides a text's tokens into parts that fit in a batch, and adds start and end tokens to each part."""
        if tokens and not 0 <= min(tokens) <= max(tokens) < self.header.n_vocab:
            raise InvalidRequestError(
                f"{self.name} has the tokens 0 to {self.header.n_vocab - 1:,}", "Send texts, or tokens of its own."
            )
        head, tail = self._frame
        room = self._longest - len(head) - len(tail)
        return [[*head, *tokens[at : at + room], *tail] for at in range(0, max(1, len(tokens)), room)]

    @cached_property
    def _frame(self) -> tuple[list[int], list[int]]:
        """The start tokens and the end tokens that the model expects around every text."""
        bare, framed = self._tokenize("x"), self._tokenize("x", framed=True)
        at = next(at for at in range(len(framed)) if framed[at : at + len(bare)] == bare)
        return framed[:at], framed[at + len(bare) :]

    def _tokenize(self, text: str, *, framed: bool = False) -> list[int]:
        if not self._model:
            raise EngineError("the model is closed", "Open it again.")
        return tokenize(self._vocab, text, framed=framed)

    def _pooled(self, texts: Sequence[Sequence[int]]) -> list[Vector]:
        """Returns each text's pooled vector, float32 (width,), computed in one batch. A text is a list of token ids."""
        memory = lib.llama_get_memory(self._context)
        if memory:
            lib.llama_memory_clear(memory, True)
        wanted = fill(self._batch, [(number, 0, tokens, len(tokens)) for number, tokens in enumerate(texts)])
        code = lib.llama_decode(self._context, self._batch)
        if code != 0:
            raise bindings.batch_error(code, len(wanted))
        pointers = [lib.llama_get_embeddings_seq(self._context, number) for number in range(len(texts))]
        return [np.ctypeslib.as_array(pointer, (self.width,)).copy() for pointer in pointers]

    def close(self) -> None:
        if self._context:
            lib.llama_free(self._context)
            lib.llama_batch_free(self._batch)
        if self._model:
            lib.llama_model_free(self._model)
        self._context = self._model = None

    def __exit__(self, *exc: object) -> None:
        self.close()
