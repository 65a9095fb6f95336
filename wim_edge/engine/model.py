"""A GGUF model loaded by llama.cpp: its tokenizer, its metadata, its adapter and its contexts."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wim_edge.engine import available_memory, memory_estimate
from wim_edge.engine.bindings import fingerprint, last_errors, lib, load_weights, model_params, physical_cores, tokenize
from wim_edge.engine.context import Context
from wim_edge.engine.gguf import read_header
from wim_edge.engine.memory_estimate import FreeMemory, MemoryNeed, context_need, readable
from wim_edge.engine.protocols import N_SEQUENCES, PLAIN_LETTERS, MemoryKind, ModelInfo
from wim_edge.engine.sampling import Grammar, open_vocabulary
from wim_edge.errors import EngineError, MemoryBudgetError, ModelFileError
from wim_edge.settings import Settings, adapter_file

if TYPE_CHECKING:
    from llguidance import LLTokenizer

_CONTROL, _USER_DEFINED = 1 << 3, 1 << 4  # enum llama_token_attr


class Model(AbstractContextManager["Model"]):
    """A language model in llama.cpp (see `wim_edge.engine.protocols.Model`); a ``with`` block closes the model. The
    constructor raises ModelFileError for an unusable file, MemoryBudgetError if the model does not fit in memory."""

    def __init__(self, path: Path, settings: Settings | None = None, name: str | None = None) -> None:
        self.settings = settings or Settings()
        self.header = read_header(Path(path))
        self.n_gpu_layers = memory_estimate.check_weights(self.header, self.settings)
        params = model_params(self.header.weight_types)
        params.n_gpu_layers = self.n_gpu_layers
        held = available_memory.private_bytes()
        self.handle = load_weights(self.header.path, params)
        # Weights are pages of the file, except those that llama.cpp copies to another layout on some processors
        self._mapped = max(0, self.header.nbytes - max(0, available_memory.private_bytes() - held))
        self.vocab = lib.llama_model_get_vocab(self.handle)
        self.n_vocab: int = lib.llama_vocab_n_tokens(self.vocab)
        self.n_threads = self.settings.n_threads or physical_cores()
        self._contexts: list[Context] = []
        adapter = adapter_file(self.settings.adapter)
        self.adapter = _load_adapter(self.handle, adapter) if adapter else None
        """llama.cpp's handle of the adapter, which is freed with the model; None: the model has no adapter."""
        self.has_adapter = self.adapter is not None
        facts = self.header.metadata  # llama.cpp's default for SentencePiece is a space before every text
        adds_space = facts.get("tokenizer.ggml.model") == "llama" and facts.get("tokenizer.ggml.add_space_prefix", True)
        self._line_end = tokenize(self.vocab, "\n") if adds_space else []
        self._reserved = self._reserved_tokens()
        bos = lib.llama_vocab_bos(self.vocab)
        self.bos_tokens: list[int] = [bos] if lib.llama_vocab_get_add_bos(self.vocab) and bos >= 0 else []
        self.info = ModelInfo(
            name=name or self.header.path.stem, path=self.header.path, architecture=self.header.architecture,
            memory=self._memory_kind(), n_ctx_train=max(256, lib.llama_model_n_ctx_train(self.handle)),
            n_vocab=self.n_vocab, chat_template=self.header.chat_template, bos=self._text(bos),
            eos=self._text(lib.llama_vocab_eos(self.vocab)),
        )  # fmt: skip

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the model's files and of llama.cpp's build (see `bindings.fingerprint`). Raises OSError."""
        return fingerprint(self.header)

    def _memory_kind(self) -> MemoryKind:
        if lib.llama_model_is_recurrent(self.handle):
            return MemoryKind.RECURRENT
        if lib.llama_model_is_hybrid(self.handle):
            return MemoryKind.HYBRID
        if not lib.llama_model_has_decoder(self.handle) or lib.llama_model_is_diffusion(self.handle):
            raise ModelFileError(
                f"{self.header.path}: {self.header.architecture} does not generate text left to right",
                "Use a chat or base language model.",
            )
        return MemoryKind.WINDOW if lib.llama_model_n_swa(self.handle) > 0 else MemoryKind.ATTENTION

    # Tokens

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        self._check_open()
        if special:
            return tokenize(self.vocab, text, special=True)
        text = text if text.isascii() else text.translate(PLAIN_LETTERS)
        tokens = self._tokenize_exactly(text)
        if not self._reserved.intersection(tokens):
            return tokens
        # Some files mark their turn markers as user-defined tokens, which llama.cpp recognizes in plain text too. Split
        # after its first character, a marker becomes plain text.
        return [token for part in self._split_literals(text) for token in self._tokenize_exactly(part)]

    def _tokenize_exactly(self, text: str) -> list[int]:
        """Returns a text's token ids, without SentencePiece's leading space: the text may continue an earlier one."""
        if self._line_end and text:
            tokens = tokenize(self.vocab, "\n" + text)
            if tokens[: len(self._line_end)] == self._line_end:
                return tokens[len(self._line_end) :]
        return tokenize(self.vocab, text)

    def _split_literals(self, text: str) -> Iterator[str]:
        cuts = {0, len(text)}
        for literal in filter(None, map(self._text, self._reserved)):
            at = text.find(literal)
            while at >= 0:
                cuts.add(at + 1)
                at = text.find(literal, at + 1)
        return (text[a:b] for a, b in itertools.pairwise(sorted(cuts)))

    def _reserved_tokens(self) -> frozenset[int]:
        """Returns the ids that no document may produce: control tokens, user-defined tokens of the chat template."""
        template = self.header.chat_template or ""

        def is_reserved(token: int) -> bool:
            attribute = lib.llama_vocab_get_attr(self.vocab, token)
            if attribute & _USER_DEFINED and len(text := self._text(token).strip()) > 2 and text in template:
                return True
            return bool(attribute & _CONTROL)

        return frozenset(filter(is_reserved, range(self.n_vocab)))

    def _text(self, token: int) -> str:
        text: bytes | None = lib.llama_vocab_get_text(self.vocab, token) if token >= 0 else None
        return (text or b"").decode("utf-8", "replace")

    def _check_open(self) -> None:
        if not self.handle:
            raise EngineError("the model is closed", "Open it again.")

    def piece(self, token: int) -> bytes:
        self._check_open()
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = lib.llama_token_to_piece(self.vocab, token, buffer, size, 0, False)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    def is_eog(self, token: int) -> bool:
        self._check_open()
        return bool(lib.llama_vocab_is_eog(self.vocab, token))

    @cached_property
    def eog_tokens(self) -> list[int]:
        return list(filter(self.is_eog, range(self.n_vocab)))

    def grammar(self, schema: object) -> Grammar:
        self._check_open()
        return Grammar(self._vocabulary, schema, self._reserved.difference(self.eog_tokens))

    @cached_property
    def _vocabulary(self) -> LLTokenizer:
        return open_vocabulary(self.vocab, self.eog_tokens)

    # Contexts

    def largest_n_ctx(self) -> int:
        return memory_estimate.largest_n_ctx(self.header, self.settings, self.info.n_ctx_train, self._free())

    def context(self, n_ctx: int, *, n_sequences: int = N_SEQUENCES, swa_full: bool | None = None) -> Context:
        """Returns a context (see `protocols.Model.context`). ``swa_full`` matters for models with a sliding window:
        True caches all tokens, False only those in the window; None caches all tokens if they fit in memory."""
        self._check_open()
        swa_full, n_batch, parts = self._layout(n_ctx, n_sequences, swa_full)
        if short := self._free().shortage(parts):
            place, bytes_needed, free = short
            raise MemoryBudgetError(
                f"a context of {n_ctx:,} tokens needs {readable(bytes_needed)} of {place} (weights "
                f"{readable(parts.weights)}, KV cache {readable(parts.kv)}, compute "
                f"{readable(parts.compute)}, host {readable(parts.host)}); {readable(free)} are free",
                self._smaller(n_ctx),
            )
        context = Context(self, n_ctx, swa_full, n_batch, n_sequences)
        self._contexts.append(context)
        return context

    def need(self, n_ctx: int) -> MemoryNeed:
        """Estimates the memory that the model and a context from `context(n_ctx)` need together."""
        return self._layout(n_ctx, N_SEQUENCES, None)[2]

    def _layout(self, n_ctx: int, n_sequences: int, swa_full: bool | None) -> tuple[bool, int, MemoryNeed]:
        """Returns (``swa_full``, ``n_batch``, memory need) of the largest layout that fits in memory; if no layout
        fits, of the smallest one. A smaller ``n_batch`` gives the same logits at the same speed."""
        free, wholes = self._free(), (True, False) if swa_full is None else (swa_full,)
        for whole, n_batch in itertools.product(wholes, memory_estimate.batch_sizes(self.settings)):
            bytes_needed = context_need(self.header, self.settings, n_ctx, n_sequences, swa_full=whole, n_batch=n_batch)
            if not free.shortage(bytes_needed):
                break
        return whole, n_batch, bytes_needed

    def _smaller(self, n_ctx: int) -> str:
        """Returns advice on what to do if a context of ``n_ctx`` cells does not fit in memory."""
        largest = self.largest_n_ctx()
        if largest >= n_ctx or self._free().shortage(context_need(self.header, self.settings, largest)):
            return f"Use a smaller model, or {available_memory.memory_hint()}."
        return f"Lower the context size (--ctx), for example to {largest:,}, or use a smaller model."

    def forget(self, context: Context) -> None:
        self._contexts.remove(context)

    def _free(self) -> FreeMemory:
        """Returns the memory for weights and a context. Loaded weights count as free: `MemoryNeed` includes them."""
        return memory_estimate.free_memory(self.header, self.n_gpu_layers, self._mapped)

    def close(self) -> None:
        for context in list(self._contexts):
            context.close()
        if self.handle:
            lib.llama_model_free(self.handle)
            self.handle = None

    def __exit__(self, *exc: object) -> None:
        self.close()


def _load_adapter(model_handle: object, path: Path) -> object:
    """Returns llama.cpp's handle of a LoRA adapter. Raises ModelFileError if the file is no adapter of the model."""
    try:
        with open(path, "rb") as file:
            is_gguf = file.read(4) == b"GGUF"
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror or error}", "Check the adapter's path.") from error
    last_errors()
    handle = lib.llama_adapter_lora_init(model_handle, os.fsencode(path)) if is_gguf else None
    if not handle:
        raise ModelFileError(
            f"{path} is no adapter for this model: {last_errors() or 'not a GGUF file'}",
            "Name the adapter that was made for the model, or use --adapter none.",
        )
    return handle
