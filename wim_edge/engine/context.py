"""A llama.cpp context: one KV cache, the sequences that share it, and their evaluation by `llama_decode`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence as Seq
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from wim_edge.engine import protocols, rollback
from wim_edge.engine.batches import N_OUTPUTS, batches, fill, grouped
from wim_edge.engine.bindings import batch_error, last_errors, lib, signals_held
from wim_edge.engine.protocols import N_SEQUENCES, Interrupted, Logits, SequenceState, Snapshot
from wim_edge.errors import ContextOverflowError, EngineError, MemoryBudgetError

if TYPE_CHECKING:
    from wim_edge.engine.model import Model

_KV_TYPES = {"f32": lib.GGML_TYPE_F32, "f16": lib.GGML_TYPE_F16, "q8_0": lib.GGML_TYPE_Q8_0, "q4_0": lib.GGML_TYPE_Q4_0}


class Context:
    """A KV cache in llama.cpp (see `wim_edge.engine.protocols.Context`). `Model.context` creates it."""

    def __init__(self, model: Model, n_ctx: int, swa_full: bool, n_batch: int, n_sequences: int = N_SEQUENCES) -> None:
        settings, self.model, self.n_sequences = model.settings, model, n_sequences
        self.rollback = rollback.choose(model.info.memory, swa_full, lib.llama_model_n_swa(model.handle))
        ids = n_sequences * self.rollback.ids_per_sequence
        params = lib.llama_context_default_params()
        params.n_ctx = n_ctx
        # One physical batch per decode, so that the rollback can protect its cells before the next batch
        params.n_batch = params.n_ubatch = max(n_batch, ids, N_OUTPUTS)
        params.n_seq_max = ids
        params.n_outputs_max = params.n_outputs_max_per_seq = max(N_OUTPUTS, ids)
        params.n_threads = params.n_threads_batch = model.n_threads
        params.kv_unified = params.no_perf = True
        params.swa_full = swa_full
        params.type_k = params.type_v = _KV_TYPES[settings.kv_type]
        # llama.cpp's types: -1 its own choice, 0 off, 1 on, which a quantized V cache requires
        wanted = True if settings.kv_type.startswith("q") else settings.flash_attn
        self._flash = int(wanted) if wanted is not None else -1 if model.n_gpu_layers else 0
        params.flash_attn_type = self._flash
        last_errors()
        with signals_held():
            self._handle = lib.llama_init_from_model(model.handle, params)
        if not self._handle:
            raise MemoryBudgetError(
                f"llama.cpp cannot create a context of {n_ctx:,} tokens: {last_errors() or 'no reason given'}",
                "Lower the context size (--ctx) or use --kv-type f16.",
            )
        self.n_ctx: int = lib.llama_n_ctx(self._handle)
        self.n_batch: int = lib.llama_n_batch(self._handle)
        self._batch = lib.llama_batch_init(self.n_batch, 0, 1)
        self._free_ids = list(range(n_sequences - 1, -1, -1))
        self._watch_flag()

    @property
    def handle(self) -> object:
        """llama.cpp's handle of the context. Raises EngineError if the context is closed."""
        if not self._handle:
            raise EngineError("the context is closed", "Open the model again.")
        return self._handle

    @property
    def memory(self) -> object:
        """llama.cpp's handle of the cache. Raises EngineError if the context is closed."""
        return lib.llama_get_memory(self.handle)

    @property
    def fingerprint(self) -> str:
        """An identifier made of the model's fingerprint, the KV number type and the flash-attention mode."""
        return f"{self.model.fingerprint}-{self.model.settings.kv_type}-{self._flash}"

    # Sequences

    def sequence(self) -> Sequence:
        """Returns a new, empty sequence. Raises EngineError if ``n_sequences`` sequences are open already."""
        if not self._free_ids:
            raise EngineError(f"all {self.n_sequences} sequences are in use", "Close one first.")
        return Sequence(self, self._free_ids.pop())

    def release(self, sequence: Sequence) -> None:
        """Frees a sequence's cells, and its id for reuse. Does nothing if the context is closed."""
        if self._handle:
            self.rollback.erase(sequence)
            self._free_ids.append(sequence.id)

    # Evaluation

    def append_each(self, parts: Seq[tuple[protocols.Sequence, Seq[int]]], *, all_rows: bool = False) -> Logits:
        own = cast("Seq[tuple[Sequence, Seq[int]]]", parts)
        wanted = [(sequence, tokens, len(tokens) if all_rows else 1) for sequence, tokens in own]
        found = [np.zeros((0, self.model.n_vocab), np.float32)]
        for group in grouped(wanted, lambda part: (len(part[1]), part[2]), self.n_batch, N_OUTPUTS):
            (sequence, tokens, rows), *others = group
            found.append(self.evaluate(group) if others else sequence.append(tokens, rows))
        return np.concatenate(found)

    def evaluate(self, parts: Seq[tuple[Sequence, Seq[int], int]]) -> Logits:
        """Appends the tokens of parts (sequence, tokens, n) to sequences, in one batch. Returns the logits after each
        part's last n tokens, float32 (sum of n, n_vocab). Raises ContextOverflowError, Interrupted, EngineError."""
        for sequence, tokens, _ in parts:
            if len(tokens) > 1:
                self.rollback.before_prefill(sequence)
        try:
            logits = self.decode([(sequence.id, len(sequence), tokens, rows) for sequence, tokens, rows in parts])
        except Interrupted:
            for sequence, tokens, _ in parts:
                self.rollback.recover(sequence, tokens)
            raise
        end = 0
        for sequence, tokens, rows in parts:
            end += rows
            sequence.accept(tokens, logits[end - 1] if rows else None)
        return logits

    @contextmanager
    def adapted(self) -> Iterator[None]:
        if self.model.adapter is not None:
            one = (lib.llama_adapter_lora_p_ctypes * 1)(self.model.adapter)
            lib.llama_set_adapters_lora(self.handle, one, 1, (ctypes.c_float * 1)(1.0))
        try:
            yield
        finally:
            if self.model.adapter is not None and self._handle:
                lib.llama_set_adapters_lora(self._handle, None, 0, None)

    def decode(self, parts: Seq[tuple[int, int, Seq[int], int]]) -> Logits:
        """Calls `llama_decode` once, on parts (sequence id, first position, tokens, n). Returns the logits after each
        part's last n tokens, float32 (sum of n, n_vocab). Raises ContextOverflowError, Interrupted, EngineError."""
        if not self.memory or self.interrupted:
            raise Interrupted
        total = sum(len(tokens) for _, _, tokens, _ in parts)
        if not 0 < total <= self.n_batch or sum(rows for *_, rows in parts) > N_OUTPUTS:
            raise EngineError(f"a batch of {total} tokens", f"A batch takes 1 to {self.n_batch}.")
        wanted = fill(self._batch, parts)
        code = lib.llama_decode(self._handle, self._batch)
        if code == 1:
            raise ContextOverflowError(
                f"the context of {self.n_ctx:,} tokens is full",
                "Raise the context size (--ctx) or use smaller segments.",
            )
        if code == 2:
            raise Interrupted
        if code:
            raise batch_error(code, total)
        logits = np.empty((len(wanted), self.model.n_vocab), np.float32)
        for row, index in enumerate(wanted):
            logits[row] = np.ctypeslib.as_array(lib.llama_get_logits_ith(self._handle, index), (self.model.n_vocab,))
        return logits

    # Interruption

    def _watch_flag(self) -> None:
        """Makes llama.cpp poll the interrupt flag after every graph node, if the backend can (the CPU's can). The
        callback is libc's `strlen`, called on the flag: a Python callback would take the GIL some 500 times a batch."""
        self._flag = ctypes.create_string_buffer(2)
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
        if self._handle:
            lib.llama_free(self._handle)
            lib.llama_batch_free(self._batch)
            self._handle = None
            self.model.forget(self)


class Sequence(AbstractContextManager["Sequence"]):
    """A sequence in llama.cpp's cache (see `protocols.Sequence`), created by `Context.sequence` or `Sequence.fork`."""

    def __init__(self, context: Context, seq_id: int) -> None:
        self.context, self.id = context, seq_id
        self.tokens: list[int] = []
        self.marks: dict[int, SequenceState] = {}
        """Maps positions to saved partial states, for memories that cannot be truncated by position (rollback.py)."""
        self.recovery: tuple[int, SequenceState | None] = (0, None)
        """The position to return to after an interrupted batch, and the partial state there (None at position 0)."""
        self._logits: Logits | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def logits(self) -> Logits:
        if self._logits is None:
            last = self.tokens[-1]
            self.truncate(len(self) - 1)
            self.append([last])
        assert self._logits is not None
        return self._logits

    def append(self, tokens: Seq[int], rows: int = 1) -> Logits:
        """Appends tokens in batches of at most the context's ``n_batch`` (see `protocols.Sequence.append`)."""
        n = len(tokens)
        if not 1 <= rows <= n:
            raise ValueError(f"{rows} rows of {n} tokens")
        self._check_open()
        chunks = batches(n, self.context.n_batch)
        if rows > N_OUTPUTS:  # more than one batch may have
            plain = n - rows
            chunks = [*batches(plain, self.context.n_batch),
                      *((plain + start, plain + end) for start, end in batches(rows, N_OUTPUTS))]  # fmt: skip
        return np.concatenate([
            self.context.evaluate([(self, tokens[start:end], max(0, min(end - start, end - n + rows)))])
            for start, end in chunks
        ])  # fmt: skip

    def accept(self, tokens: Seq[int], logits: Logits | None) -> None:
        """Records tokens that the cache now holds. ``logits``: the logits after the last token, (n_vocab,), or None."""
        start = len(self)
        self.tokens.extend(tokens)
        self._logits = logits
        self.context.rollback.after_decode(self, start)

    def fork(self, at: int | None = None) -> Sequence:
        at = self._position("fork at", len(self) if at is None else at)
        branch = self.context.sequence()
        try:
            self.context.rollback.fork(self, branch, at)
        except BaseException:
            branch.close()
            raise
        if at == len(self):
            branch._logits = self._logits
        return branch

    def truncate(self, to: int) -> None:
        if self._position("truncate to", to) < len(self):
            self._logits = None
            self.context.rollback.truncate(self, to)

    def checkpoint(self) -> None:
        self.context.rollback.checkpoint(self)

    @property
    def nbytes(self) -> int:
        return rollback.state_size(self) + sum(mark.nbytes for mark in self.marks.values())

    def snapshot(self, into: Path | None = None) -> Snapshot:
        saved = rollback.get_state(self) if into is None else rollback.write_state(self, into)
        return Snapshot(tuple(self.tokens), saved, dict(self.marks), self._logits)

    def restore(self, snapshot: Snapshot) -> None:
        self.context.rollback.restore(self, snapshot)
        self._logits = snapshot.logits

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        self._check_open()
        return self.context.rollback.append_kept(self, snapshot, at)

    def forget(self, to: int) -> None:
        """Drops the recorded tokens from position ``to`` on, later marks and the logits. The caller frees the cells."""
        del self.tokens[to:]
        self.marks = {position: state for position, state in self.marks.items() if position <= to}
        self._logits = None

    def _position(self, what: str, at: int) -> int:
        if not 0 <= at <= len(self):
            raise ValueError(f"{what} {at} of {len(self)} tokens")
        self._check_open()
        return at

    def _check_open(self) -> None:
        """Raises EngineError if the sequence is closed: its id is then -1, on which llama.cpp would abort."""
        if self.id < 0:
            raise EngineError("the sequence is closed", "Please report this.")

    def close(self) -> None:
        """Frees the sequence's cells and id; does nothing if the sequence is closed already."""
        if self.id >= 0:
            self.context.release(self)
        self.id = -1

    def __exit__(self, *exc: object) -> None:
        self.close()
