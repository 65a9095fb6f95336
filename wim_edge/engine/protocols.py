"""The engine's interfaces. `wim_edge.engine.model` implements them on llama.cpp; `wim_edge.testing` scripts them
without a native library.

    Model     one GGUF file: tokenizer and facts          (llama_model)
    Context   a KV cache of n_ctx cells over a model      (llama_context)
    Sequence  one line of tokens in that cache            (llama_seq_id)
"""

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
"""The default number of sequences open at once in a context."""

PLAIN_LETTERS = {
    code: unicodedata.normalize("NFKC", chr(code))
    for code in (*range(0xFB00, 0xFB07), *range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D800))
    if unicodedata.category(chr(code))[0] in "LN" or chr(code) in "－．／"
}
"""Maps ligatures, full-width and mathematical letters to plain ones: tokenizers would split them into bytes."""

Logits = NDArray[np.float32]
Vector = NDArray[np.float32]
SequenceState = NDArray[np.uint8]


class MemoryKind(Enum):
    """The kind of a model's memory, which determines the rollback strategy (see rollback.py)."""

    ATTENTION = "attention"
    WINDOW = "sliding window"
    RECURRENT = "recurrent"
    HYBRID = "hybrid"


class Interrupted(Exception):
    """`Context.interrupt` stopped an evaluation. The sequence stays usable; `len` is its number of tokens."""


@dataclass(frozen=True)
class ModelInfo:
    """The facts of a loaded model."""

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
    """A sequence's state at the start of a file. Check the file before a restore: llama.cpp aborts on damage."""

    path: Path
    nbytes: int


@dataclass(frozen=True)
class Snapshot:
    """A sequence outside the cache: its tokens, its state as llama.cpp writes it, partial states by position
    (``marks``), and the last logits. Memories without history fork from the marks. Arrays are not copied."""

    tokens: tuple[int, ...]
    state: SequenceState | StateFile
    marks: dict[int, SequenceState]
    logits: Logits | None


class Sequence(Protocol):
    """One line of tokens in the cache; position i holds token i."""

    @property
    def tokens(self) -> Seq[int]: ...

    @property
    def logits(self) -> Logits:
        """The logits after the last token, float32 (n_vocab,)."""

    def __len__(self) -> int: ...

    def append(self, tokens: Seq[int], rows: int = 1) -> Logits:
        """Evaluates tokens at the end. Returns the logits after each of the last ``rows`` tokens, float32 (rows,
        n_vocab). Raises ContextOverflowError, Interrupted."""

    def fork(self, at: int | None = None) -> Self:
        """Returns a new sequence with the first ``at`` tokens (None: all) of this sequence."""

    def truncate(self, to: int) -> None:
        """Removes the tokens from position ``to`` on, as if they had never been evaluated."""

    def checkpoint(self) -> None:
        """Makes later forks at, and truncations to, the current end cheap; costs nothing for plain attention."""

    @property
    def nbytes(self) -> int:
        """The bytes of a snapshot."""

    def snapshot(self, into: Path | None = None) -> Snapshot:
        """Returns a snapshot, its state in memory or in a file (``into``). Raises OSError, MemoryBudgetError."""

    def restore(self, snapshot: Snapshot) -> None:
        """Replaces the sequence's content with a snapshot, without evaluating tokens. Raises EngineError."""

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        """Appends a snapshot's tokens from its position ``at`` on without evaluating them. Their cells move to new
        positions; they have not attended to this sequence. Returns False, and appends nothing, if the memory cannot
        move cells or has no room for the snapshot."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Context(Protocol):
    """A KV cache, shared by its sequences. Only one thread at a time may use it, except for `interrupt`."""

    @property
    def n_ctx(self) -> int:
        """The number of cells. All sequences share them; a shared prefix takes cells only once."""

    @property
    def n_batch(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """A name for everything that determines a state. A snapshot can be restored in contexts with the same name."""

    def sequence(self) -> Sequence:
        """Returns a new, empty sequence."""

    def append_each(self, parts: Seq[tuple[Sequence, Seq[int]]], *, all_rows: bool = False) -> Logits:
        """Appends tokens to several sequences, in as few batches as possible. Returns the logits after the last token
        of each part, float32 (len(parts), n_vocab); with ``all_rows`` after every token, (number of tokens, n_vocab).
        Raises ContextOverflowError, Interrupted."""

    def adapted(self) -> AbstractContextManager[None]:
        """Applies the model's adapter, if any, to tokens that are evaluated in the block, not to earlier cells."""

    def interrupt(self) -> None:
        """Stops the running evaluation, from any thread. All evaluations raise Interrupted until `resume`."""

    def resume(self) -> None:
        """Allows evaluations again."""

    def close(self) -> None: ...


class Grammar(Protocol):
    """A grammar that constrains the text being decoded."""

    def allowed(self, logits: Logits) -> Logits:
        """Returns the logits, float32 (n_vocab,), with -inf for tokens that cannot continue the text. Raises
        EngineError if no token can."""

    def accept(self, token: int) -> None:
        """Continues the text with a token, which must be allowed and must not end the text."""


class Model(Protocol):
    """A loaded model."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def fingerprint(self) -> str:
        """A name for the model's file and the build of llama.cpp."""

    @property
    def has_adapter(self) -> bool:
        """True if the model has an adapter for pointing, which finds answers in the text (`Context.adapted`)."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Returns a text's token ids, without BOS. ``special``: the text may contain control tokens."""

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
        """Returns the largest number of cells that fits in free memory, at most the trained context."""

    def context(self, n_ctx: int, *, n_sequences: int = N_SEQUENCES) -> Context:
        """Returns a context of at least ``n_ctx`` cells for up to ``n_sequences`` at once. Raises MemoryBudgetError."""

    def grammar(self, schema: object) -> Grammar:
        """Returns the grammar of a JSON schema. Raises InvalidRequestError for an unsupported schema."""

    def close(self) -> None: ...


class Embedder(Protocol):
    """An embedding model: maps texts to vectors, and similar texts to near vectors."""

    @property
    def fingerprint(self) -> str:
        """A name for everything that determines the vectors, which are stored under this name."""

    def query(self, question: str) -> Vector:
        """Returns the question's unit vector, float32 (width,)."""

    def texts(self, texts: Seq[str], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields each text's unit vector, float32 (width,). ``check`` is called before each batch and may raise."""

    def tokenize(self, text: str) -> list[int]:
        """Returns the text's token ids, without the model's start and end tokens."""

    def embed(self, inputs: Iterable[Seq[int]], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields the unit vector of each text, given as token ids, without an instruction. ``check``: as for `texts`.
        Raises InvalidRequestError for a number that is not a token id."""

    def close(self) -> None: ...
