"""An embedding model loaded by llama.cpp: it turns texts into vectors, of which near ones mean similar things.

BERT and its kin read a text in both directions, and keep no cache; decoders that were trained for it (Qwen3) are taken
as well. The file says how token vectors become one; if it does not, their mean is taken.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from wim_edge.engine.bindings import last_errors, lib, model_params
from wim_edge.engine.fingerprint import fingerprint
from wim_edge.engine.gguf import read_header
from wim_edge.engine.preflight import check_weights, gpu_layers
from wim_edge.engine.protocols import Vector
from wim_edge.engine.signals import signals_held
from wim_edge.errors import EngineError, InvalidRequestError, MemoryBudgetError, ModelFileError
from wim_edge.settings import Settings

_LONGEST = 512  # tokens that are embedded at once: a decoder has a row of logits for each, of its whole vocabulary
_SHORTEST = 16  # of the tokens that a model can read
_AT_ONCE = 16  # texts
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
"""The words to put before a question and before a text, as the models' cards say, by a part of the model's name: the
first that fits counts. No file holds them."""


class EmbeddingModel:
    """A model that embeds texts; a context manager.

    Raises ModelFileError for a file that cannot be used, MemoryBudgetError when it does not fit.
    """

    def __init__(self, path: Path, settings: Settings, name: str | None = None) -> None:
        from wim_edge.engine.model import physical_cores

        check_weights(path, settings)
        self.header = read_header(path, embeds=True)
        self.fingerprint = fingerprint(self.header)
        """The fingerprint of the file and of llama.cpp's build."""
        self.name = name or path.stem
        params = model_params(self.header.weight_types)
        params.n_gpu_layers = gpu_layers(self.header, settings.n_gpu_layers)
        last_errors()
        self._context = None
        with signals_held():
            self._model = lib.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            raise ModelFileError(
                f"{path}: llama.cpp cannot load this model: {last_errors() or 'no reason given'}",
                "The architecture may be newer than the installed llama-cpp-python; try another model.",
            )
        self._vocab = lib.llama_model_get_vocab(self._model)
        self._longest = min(_LONGEST, lib.llama_model_n_ctx_train(self._model))
        if self._longest < _SHORTEST:
            self.close()
            raise ModelFileError(f"{path}: it reads {self._longest} tokens at once", "Give another embedding model.")
        self.width: int = lib.llama_model_n_embd(self._model)
        """The number of dimensions of a vector."""
        self._context = self._open(settings.n_threads or physical_cores())
        self._batch = lib.llama_batch_init(self._longest, 0, 1)
        label = re.sub(r"[_ ]", "-", f"{self.header.metadata.get('general.name', '')} {path.name}".lower())
        self._before_query, self._before_text = next(
            (before for part, before in _INSTRUCTIONS if part in label), ("", "")
        )

    def _open(self, n_threads: int) -> ctypes.c_void_p:
        pooling = lib.LLAMA_POOLING_TYPE_UNSPECIFIED  # the file's
        for _ in range(2):
            params = lib.llama_context_default_params()
            params.n_ctx = params.n_batch = params.n_ubatch = self._longest
            params.n_seq_max = _AT_ONCE
            params.n_threads = params.n_threads_batch = n_threads
            params.embeddings, params.kv_unified, params.no_perf = True, True, True
            params.pooling_type = pooling
            handle: ctypes.c_void_p | None = lib.llama_init_from_model(self._model, params)
            if not handle:
                why = last_errors() or "no reason given"
                self.close()
                raise MemoryBudgetError(f"{self.name}: llama.cpp cannot embed with it: {why}", "Use a smaller model.")
            found = lib.llama_pooling_type(handle)
            if found in _POOLED:
                return handle
            lib.llama_free(handle)
            if found == lib.LLAMA_POOLING_TYPE_RANK:
                break
            pooling = lib.LLAMA_POOLING_TYPE_MEAN
        self.close()
        raise ModelFileError(f"{self.header.path}: it ranks texts, and embeds none", "Give an embedding model.")

    def query(self, question: str) -> Vector:
        """Returns the question's unit vector, float32 (width,)."""
        return next(self.embed([self.tokenize(self._before_query + question)]))

    def texts(self, texts: Sequence[str], check: Callable[[], None] = lambda: None) -> Iterator[Vector]:
        """Yields each text's unit vector, float32 (width,), with the words before it that the model wants. ``check`` is
        called before each batch, and may raise."""
        return self.embed((self.tokenize(self._before_text + text) for text in texts), check)

    def tokenize(self, text: str) -> list[int]:
        """Returns the text's tokens, without those that the model wants around every text."""
        return self._tokenize(" ".join(text.split()))

    def embed(self, inputs: Iterable[Sequence[int]], check: Callable[[], None] = lambda: None) -> Iterator[Vector]:
        """Yields the unit vector, float32 (width,), of each text, given as its tokens; the mean over its parts if it is
        longer than the model reads. ``check`` is called before each batch, and may raise. Raises InvalidRequestError
        for a number that is no token."""
        sums: dict[int, Vector] = {}
        done = 0
        for batch in self._batches(inputs):
            check()
            for (number, tokens), vector in zip(batch, self._pooled([tokens for _, tokens in batch]), strict=True):
                if number != done:
                    yield _unit(sums.pop(done))
                    done = number
                sums[number] = sums.get(number, np.zeros(self.width, np.float32)) + vector * len(tokens)
        if sums:
            yield _unit(sums.pop(done))

    def _batches(self, inputs: Iterable[Sequence[int]]) -> Iterator[list[tuple[int, list[int]]]]:
        """Yields parts of texts, with the texts' numbers, as many at once as are computed together."""
        batch: list[tuple[int, list[int]]] = []
        used = 0
        for number, tokens in enumerate(inputs):
            for part in self._parts(tokens):
                if batch and (used + len(part) > self._longest or len(batch) == _AT_ONCE):
                    yield batch
                    batch, used = [], 0
                batch.append((number, part))
                used += len(part)
        if batch:
            yield batch

    def _parts(self, tokens: Sequence[int]) -> list[list[int]]:
        """Returns a text's tokens, in parts that the model can read, each with the tokens it wants at both ends."""
        if tokens and not 0 <= min(tokens) <= max(tokens) < self.header.n_vocab:
            raise InvalidRequestError(
                f"{self.name} has the tokens 0 to {self.header.n_vocab - 1:,}", "Send texts, or tokens of its own."
            )
        head, tail = self._frame
        room = self._longest - len(head) - len(tail)
        return [[*head, *tokens[at : at + room], *tail] for at in range(0, max(1, len(tokens)), room)]

    @cached_property
    def _frame(self) -> tuple[list[int], list[int]]:
        """The tokens that stand before and after any text."""
        bare, framed = self._tokenize("x"), self._tokenize("x", framed=True)
        at = next(at for at in range(len(framed)) if framed[at : at + len(bare)] == bare)
        return framed[:at], framed[at + len(bare) :]

    def _tokenize(self, text: str, *, framed: bool = False) -> list[int]:
        if not self._model:
            raise EngineError("the model is closed", "Open it again.")
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        out = (lib.llama_token * room)()
        n = lib.llama_tokenize(self._vocab, data, len(data), out, room, framed, False)
        if n < 0:
            raise EngineError(f"{self.name}: a text has more tokens than bytes", "Please report this.")
        return list(out[:n])

    def _pooled(self, texts: Sequence[Sequence[int]]) -> list[Vector]:
        """Returns the vectors of texts given as tokens, computed together."""
        memory = lib.llama_get_memory(self._context)
        if memory:
            lib.llama_memory_clear(memory, True)
        batch, n = self._batch, 0
        for number, tokens in enumerate(texts):
            for position, token in enumerate(tokens):
                batch.token[n], batch.pos[n] = token, position
                batch.n_seq_id[n], batch.seq_id[n][0], batch.logits[n] = 1, number, True
                n += 1
        batch.n_tokens = n
        code = lib.llama_decode(self._context, batch)
        if code != 0:
            raise EngineError(
                f"{self.name}: llama.cpp failed on {n} tokens (code {code}): {last_errors() or 'no reason given'}",
                "Please report this with the model's name.", code,
            )  # fmt: skip
        found = []
        for number in range(len(texts)):
            pointer = lib.llama_get_embeddings_seq(self._context, number)
            found.append(np.ctypeslib.as_array(pointer, (self.width,)).copy())
        return found

    def close(self) -> None:
        """Frees the model; harmless when closed already."""
        if self._context:
            lib.llama_free(self._context)
            lib.llama_batch_free(self._batch)
        if self._model:
            lib.llama_model_free(self._model)
        self._context = self._model = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _unit(vector: Vector) -> Vector:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)
