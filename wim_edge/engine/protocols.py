"""The engine's interfaces: Model (one GGUF file: tokenizer and metadata; llama_model), Context (a KV cache of n_ctx
cells for a model; llama_context) and Sequence (a sequence of tokens in that cache; llama_seq_id).
`wim_edge.engine.model` implements them with llama.cpp, `wim_edge.testing` with scripted outputs."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence as Seq
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

N_SEQUENCES = 8
"""The default for the maximum number of sequences that are open at once in a context."""

PLAIN_LETTERS = {
    code: unicodedata.normalize("NFKC", chr(code))
    for code in (*range(0xFB00, 0xFB07), *range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D800))
    if unicodedata.category(chr(code))[0] in "LN" or chr(code) in "－．／"
}
"""Maps ligatures, full-width and mathematical letters and digits, which tokenizers split into bytes, to plain ones."""

Logits = NDArray[np.float32]
Vector = NDArray[np.float32]
SequenceState = NDArray[np.uint8]


class MemoryKind(Enum):
    """The kind of memory in which a model keeps earlier tokens; determines the rollback strategy (rollback.py)."""

    ATTENTION = "attention"
    WINDOW = "sliding window"
    RECURRENT = "recurrent"
    HYBRID = "hybrid"


class Interrupted(Exception):
    """The error of an evaluation that `Context.interrupt` stops. The sequence stays usable; `len` counts its tokens."""


@dataclass(frozen=True)
class ModelInfo:
    """The properties of a loaded model: kind of memory, sizes in tokens, chat template, and special tokens as text."""

    name: str
    path: Path
    architecture: str
    memory: MemoryKind
    n_ctx_train: int
    n_vocab: int
    chat_template: str | None
    bos: str
    eos: str


@dataclass(frozen=True)
class StateFile:
    """A file whose first ``nbytes`` bytes are a sequence's state. Check the file: llama.cpp aborts on a damaged one."""

    path: Path
    nbytes: int


@dataclass(frozen=True)
class Snapshot:
    """A sequence saved outside the cache: tokens, llama.cpp's state, and the logits after the last token. ``marks``:
    partial states by position, from which recurrent and windowed memories fork. The sequence uses the same arrays."""

    tokens: tuple[int, ...]
    state: SequenceState | StateFile
    marks: dict[int, SequenceState]
    logits: Logits | None


class Sequence(Protocol):
    """A sequence of tokens in the cache; position i holds token i."""

    @property
    def tokens(self) -> Seq[int]: ...

    @property
    def logits(self) -> Logits:
        """The logits after the last token, float32 (n_vocab,)."""

    def __len__(self) -> int: ...

    def append(self, tokens: Seq[int], rows: int = 1) -> Logits:
        """Evaluates tokens and appends them. Returns the logits after each of the last ``rows`` tokens, float32 (rows,
        n_vocab). Raises ContextOverflowError, Interrupted."""

    def fork(self, at: int | None = None) -> Self:
        """Returns a new sequence with the first ``at`` tokens (None: all) of this sequence."""

    def truncate(self, to: int) -> None:
        """Removes the tokens from position ``to`` on, as if they had never been evaluated."""

    def checkpoint(self) -> None:
        """Makes later forks at the current end, and truncations to it, cheap. Costs nothing with plain attention."""

    @property
    def nbytes(self) -> int:
        """The bytes that a snapshot of this sequence takes."""

    def snapshot(self, into: Path | None = None) -> Snapshot:
        """Returns a snapshot, its state in the file ``into`` or else in memory. Raises OSError, MemoryBudgetError."""

    def restore(self, snapshot: Snapshot) -> None:
        """Replaces the sequence's content with a snapshot, without evaluating tokens. Raises EngineError."""

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        """Appends a snapshot's tokens from its position ``at`` on without evaluating them: their cells move to new
        positions. These tokens have not attended to this sequence. Returns False, and appends nothing, if the cells
        cannot move or the context has no room for the snapshot."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Context(Protocol):
    """A KV cache, shared by its sequences. Only one thread at a time may call its methods, except for `interrupt`."""

    @property
    def n_ctx(self) -> int:
        """The number of cells, one per token. All sequences share them; forks share the cells of a common prefix."""

    @property
    def n_batch(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """An identifier of model, build and cache type. A snapshot fits every context that has an equal identifier."""

    def sequence(self) -> Sequence:
        """Returns a new, empty sequence."""

    def append_each(self, parts: Seq[tuple[Sequence, Seq[int]]], *, all_rows: bool = False) -> Logits:
        """Appends tokens to sequences in few batches. Returns the logits after each part's last token, float32 (parts,
        n_vocab); with ``all_rows`` after every token, (tokens, n_vocab). Raises ContextOverflowError, Interrupted."""

    def adapted(self) -> AbstractContextManager[None]:
        """Applies the model's adapter, if any, to tokens evaluated in the ``with`` block, not to earlier cells."""

    def interrupt(self) -> None:
        """Stops the running evaluation, from any thread. All evaluations raise Interrupted until `resume`."""

    def resume(self) -> None:
        """Allows evaluations again, after `interrupt`."""

    def close(self) -> None: ...


class Grammar(Protocol):
    """A grammar that constrains the text being decoded."""

    def allowed(self, logits: Logits) -> Logits:
        """Returns logits, float32 (n_vocab,), -inf for tokens that cannot come next. Raises EngineError if none can."""

    def accept(self, token: int) -> None:
        """Appends a token to the text. The token must be allowed, and must not be one that ends the text."""


class Model(Protocol):
    """A loaded language model."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def fingerprint(self) -> str:
        """An identifier of the model's files and the build of llama.cpp."""

    @property
    def has_adapter(self) -> bool:
        """True if the model has a LoRA adapter for pointing (finding answers in the text); see `Context.adapted`."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Returns a text's token ids, without BOS. ``special`` True: parses control tokens in the text."""

    def piece(self, token: int) -> bytes:
        """Returns a token's bytes, which may be part of a character; empty for control tokens."""

    def is_eog(self, token: int) -> bool:
        """Returns whether the token ends a turn or a text."""

    @property
    def eog_tokens(self) -> Seq[int]:
        """The tokens that end a turn or a text."""

    @property
    def bos_tokens(self) -> list[int]:
        """The BOS token in a list; an empty list if the model expects none before a text."""

    def largest_n_ctx(self) -> int:
        """Returns the size, in cells, of the largest context that fits in free memory, at most `n_ctx_train`."""

    def context(self, n_ctx: int, *, n_sequences: int = N_SEQUENCES) -> Context:
        """Returns a context of at least ``n_ctx`` cells, for ``n_sequences`` sequences. Raises MemoryBudgetError."""

    def grammar(self, schema: object) -> Grammar:
        """Returns a grammar that allows only JSON of the schema. Raises InvalidRequestError for unsupported schemas."""

    def close(self) -> None: ...


class Embedder(Protocol):
    """An embedding model: maps texts to vectors, and similar texts to near vectors."""

    @property
    def fingerprint(self) -> str:
        """The key of stored vectors. It identifies the model's file and llama.cpp's build, which determine vectors."""

    def query(self, question: str) -> Vector:
        """Returns the question's unit vector, float32 (width,)."""

    def texts(self, texts: Seq[str], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields each text's unit vector, float32 (width,). ``check`` is called before each batch and may raise."""

    def tokenize(self, text: str) -> list[int]:
        """Returns the text's token ids, without the model's start and end tokens."""

    def embed(self, inputs: Iterable[Seq[int]], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields the unit vector of each text, a list of token ids, without adding an instruction. ``check``: see
        `texts`. Raises InvalidRequestError for a number that is no token id."""

    def close(self) -> None: ...
