"""A llama.cpp context: one unified KV cache, its sequence ids, and `llama_decode`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from collections.abc import Sequence as Seq
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, cast

import numpy as np

from wim_edge.engine import protocols, rollback
from wim_edge.engine.bindings import last_errors, lib
from wim_edge.engine.protocols import N_SEQUENCES, Interrupted, Logits
from wim_edge.engine.sequence import Sequence
from wim_edge.engine.signals import signals_held
from wim_edge.errors import ContextOverflowError, EngineError, MemoryBudgetError

if TYPE_CHECKING:
    from wim_edge.engine.model import Model

_KV_TYPES = {"f32": lib.GGML_TYPE_F32, "f16": lib.GGML_TYPE_F16, "q8_0": lib.GGML_TYPE_Q8_0, "q4_0": lib.GGML_TYPE_Q4_0}


class Context:
    """Implements `wim_edge.engine.protocols.Context`. Made by `Model.context`."""

    N_OUTPUTS = 32
    """The most rows of logits of a batch: each costs n_vocab floats in the compute buffer."""

    def __init__(self, model: Model, n_ctx: int, swa_full: bool, n_batch: int, n_sequences: int = N_SEQUENCES) -> None:
        settings, self.model, self.n_sequences = model.settings, model, n_sequences
        self._flag = ctypes.create_string_buffer(2)
        self.rollback = rollback.choose(model.info.memory, swa_full, lib.llama_model_n_swa(model.handle))
        ids = n_sequences * self.rollback.ids_per_sequence
        params = lib.llama_context_default_params()
        params.n_ctx = n_ctx
        # One physical batch a decode: what is appended is protected before the next batch comes
        params.n_batch = params.n_ubatch = max(n_batch, ids, self.N_OUTPUTS)
        params.n_seq_max = ids
        params.n_outputs_max = max(self.N_OUTPUTS, ids)
        params.n_outputs_max_per_seq = params.n_outputs_max
        params.n_threads = params.n_threads_batch = model.n_threads
        params.kv_unified = True
        params.swa_full = swa_full
        params.no_perf = True
        params.type_k = params.type_v = _KV_TYPES[settings.kv_type]
        self._flash = _flash_attention(settings.flash_attn, settings.kv_type, model.n_gpu_layers != 0)
        params.flash_attn_type = self._flash
        last_errors()
        with signals_held():
            self.handle = lib.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise MemoryBudgetError(
                f"llama.cpp cannot create a context of {n_ctx:,} tokens: {last_errors() or 'no reason given'}",
                "Lower the context size (--ctx) or use --kv-type f16.",
            )
        self.n_ctx: int = lib.llama_n_ctx(self.handle)
        self.n_batch: int = lib.llama_n_batch(self.handle)
        self._batch = lib.llama_batch_init(self.n_batch, 0, 1)
        self._free_ids = list(range(n_sequences - 1, -1, -1))
        self._watch_flag()

    @property
    def memory(self) -> object:
        """llama.cpp's handle of the cache. Raises EngineError when the context is closed."""
        if not self.handle:
            raise EngineError("the context is closed", "Open the model again.")
        return lib.llama_get_memory(self.handle)

    @property
    def fingerprint(self) -> str:
        """The model's fingerprint, with the layout of this cache's numbers (see `protocols.Context.fingerprint`)."""
        settings = self.model.settings
        return f"{self.model.fingerprint}-{settings.kv_type}-{self._flash}"

    # Sequences

    def sequence(self) -> Sequence:
        return Sequence(self, self.take_id())

    def take_id(self) -> int:
        """Returns a free sequence id, whose memory is empty. Raises EngineError when all are taken."""
        if not self._free_ids:
            raise EngineError(f"all {self.n_sequences} sequences are in use", "Close one first.")
        return self._free_ids.pop()

    def give_id(self, seq_id: int) -> None:
        self._free_ids.append(seq_id)

    def append_each(self, parts: Seq[tuple[protocols.Sequence, Seq[int]]], *, all_rows: bool = False) -> Logits:
        """Implements `protocols.Context.append_each`."""
        own = cast("Seq[tuple[Sequence, Seq[int]]]", parts)
        found = [self._append_batch(batch, all_rows) for batch in self._batches(own, all_rows)]
        return np.concatenate(found) if found else np.zeros((0, self.model.n_vocab), np.float32)

    def _batches(
        self, parts: Seq[tuple[Sequence, Seq[int]]], all_rows: bool
    ) -> Iterator[list[tuple[Sequence, Seq[int]]]]:
        """Yields consecutive parts, as many as a batch takes; a part that is too long for any batch comes alone."""
        batch: list[tuple[Sequence, Seq[int]]] = []
        n_tokens = n_rows = 0
        for sequence, tokens in parts:
            rows = len(tokens) if all_rows else 1
            if batch and (n_tokens + len(tokens) > self.n_batch or n_rows + rows > self.N_OUTPUTS):
                yield batch
                batch, n_tokens, n_rows = [], 0, 0
            batch.append((sequence, tokens))
            n_tokens, n_rows = n_tokens + len(tokens), n_rows + rows
        if batch:
            yield batch

    def _append_batch(self, parts: Seq[tuple[Sequence, Seq[int]]], all_rows: bool) -> Logits:
        if len(parts) == 1:
            sequence, tokens = parts[0]
            return sequence.append(tokens, rows=len(tokens) if all_rows else 1)
        for sequence, tokens in parts:
            if len(tokens) > 1:
                self.rollback.before_prefill(sequence)
        rows = [len(tokens) if all_rows else 1 for _, tokens in parts]
        try:
            logits = self.decode([(s.id, len(s), tokens, n) for (s, tokens), n in zip(parts, rows, strict=True)])
        except Interrupted:
            for sequence, tokens in parts:
                self.rollback.recover(sequence, tokens)
            raise
        for (sequence, tokens), last in zip(parts, np.cumsum(rows) - 1, strict=True):
            sequence.accept(tokens, logits[last])
        return logits

    # Evaluation

    def adapted(self) -> AbstractContextManager[None]:
        """Implements `protocols.Context.adapted`."""
        return nullcontext() if self.model.adapter is None else self.model.adapter.on(self.handle)

    def decode(self, parts: Seq[tuple[int, int, Seq[int], int]]) -> Logits:
        """Calls `llama_decode` once over (sequence id, position, tokens, rows of logits wanted at the end).

        Returns float32 (sum of rows, n_vocab). Raises ContextOverflowError, Interrupted, EngineError.
        """
        if not self.memory or self.interrupted:
            raise Interrupted
        batch, n, wanted = self._batch, 0, []
        total = sum(len(tokens) for _, _, tokens, _ in parts)
        if not 0 < total <= self.n_batch or sum(rows for *_, rows in parts) > self.N_OUTPUTS:
            raise EngineError(f"a batch of {total} tokens", f"A batch takes 1 to {self.n_batch}.")
        for seq_id, position, tokens, rows in parts:
            first_row = len(tokens) - rows
            for index, token in enumerate(tokens):
                batch.token[n], batch.pos[n] = token, position + index
                batch.n_seq_id[n], batch.seq_id[n][0] = 1, seq_id
                batch.logits[n] = index >= first_row
                if index >= first_row:
                    wanted.append(n)
                n += 1
        batch.n_tokens = n
        self._check(lib.llama_decode(self.handle, batch), total)
        n_vocab = self.model.n_vocab
        logits = np.empty((len(wanted), n_vocab), np.float32)
        for row, index in enumerate(wanted):
            pointer = lib.llama_get_logits_ith(self.handle, index)
            logits[row] = np.ctypeslib.as_array(pointer, (n_vocab,))
        return logits

    def _check(self, code: int, n_tokens: int) -> None:
        if code == 0:
            return
        if code == 1:
            raise ContextOverflowError(
                f"the context of {self.n_ctx:,} tokens is full",
                "Raise the context size (--ctx) or use smaller segments.",
            )
        if code == 2:
            raise Interrupted
        raise EngineError(
            f"llama.cpp failed on a batch of {n_tokens} tokens (code {code}): {last_errors() or 'no reason given'}",
            "Please report this with the model's name.",
            code,
        )

    # Interruption

    def _watch_flag(self) -> None:
        """Has llama.cpp poll our flag after every graph node, if the backend does so (the CPU's does).

        The callback is libc's `strlen` on a two-byte buffer: 0 while the first byte is 0, else 1.
        A Python callback would take the GIL some 500 times a batch; this one costs nothing.
        """
        libc = ctypes.CDLL("msvcrt" if os.name == "nt" else None)
        self._callback = ctypes.cast(libc.strlen, lib.ggml_abort_callback)
        lib.llama_set_abort_callback(self.handle, self._callback, ctypes.cast(self._flag, ctypes.c_void_p))

    @property
    def interrupted(self) -> bool:
        return self._flag.raw[0] != 0

    def interrupt(self) -> None:
        self._flag[0] = b"\1"

    def resume(self) -> None:
        self._flag[0] = b"\0"

    def close(self) -> None:
        if self.handle:
            lib.llama_free(self.handle)
            lib.llama_batch_free(self._batch)
            self.handle = None
            self.model.forget(self)


def _flash_attention(wanted: bool | None, kv_type: str, gpu: bool) -> int:
    """Returns llama.cpp's number: -1 for its own choice, 0 off, 1 on. A quantized V cache needs it on."""
    if wanted is not None and not (kv_type.startswith("q") and not wanted):
        return int(wanted)
    if kv_type.startswith("q"):
        return 1
    return -1 if gpu else 0
