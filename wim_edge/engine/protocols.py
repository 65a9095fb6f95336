"""The engine's interfaces: `wim_edge.engine.model` implements them on llama.cpp, `wim_edge.testing` scripts them
without a native library.

    Model     one GGUF file: tokenizer and facts          (llama_model)
    Context   a KV cache of n_ctx cells over a model      (llama_context)
    Sequence  one line of tokens in that cache            (llama_seq_id)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Seq
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
"""Ligatures and letters of other widths: a tokenizer cuts them to bytes, so models get the plain ones (`translate`)."""

Logits = NDArray[np.float32]
Vector = NDArray[np.float32]
SequenceState = NDArray[np.uint8]


class MemoryKind(Enum):
    """The kind of a model's memory, which decides how it rolls back (see rollback.py)."""

    ATTENTION = "attention"
    WINDOW = "sliding window"
    RECURRENT = "recurrent"
    HYBRID = "hybrid"


class Interrupted(Exception):
    """`Context.interrupt` stopped an evaluation. The sequence stays usable, with `len` tokens."""


@dataclass(frozen=True)
class ModelInfo:
    """The facts of a loaded model."""

    name: str
    path: Path
    architecture: str
    memory: MemoryKind
    n_ctx_train: int
    n_vocab: int
    nbytes: int
    chat_template: str | None
    bos: str
    eos: str


@dataclass(frozen=True)
class StateFile:
    """A sequence's state at the start of a file. Check it before you restore it: llama.cpp aborts on damage."""

    path: Path
    nbytes: int


@dataclass(frozen=True)
class Snapshot:
    """A sequence outside the cache: its tokens, its state as llama.cpp writes it, and the partial states by position
    from which memories without history fork. Arrays are not copied."""

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
        """Evaluates tokens at the end; returns the logits after the last ``rows`` of them, float32 (rows, n_vocab).
        Raises ContextOverflowError, Interrupted."""

    def fork(self, at: int | None = None) -> Self:
        """Returns a new sequence with the first ``at`` tokens (None: all) of this one."""

    def truncate(self, to: int) -> None:
        """Removes every token from position ``to`` on without a trace."""

    def checkpoint(self) -> None:
        """Makes this position cheap to fork at and truncate to; costs nothing for plain attention."""

    @property
    def nbytes(self) -> int:
        """The bytes of a snapshot."""

    def snapshot(self, into: Path | None = None) -> Snapshot:
        """Returns a snapshot, its state in memory or written over a file. Raises OSError, MemoryBudgetError."""

    def restore(self, snapshot: Snapshot) -> None:
        """Replaces the content by a snapshot's; evaluates no token. Raises EngineError."""

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        """Appends a snapshot's tokens from its position ``at`` on without evaluating them: their cells move here and
        have not attended to this sequence. Returns False, and appends nothing, if the memory cannot move cells or has
        no room for the snapshot."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Context(Protocol):
    """A KV cache, shared by its sequences. One thread at a time, except for `interrupt`."""

    @property
    def n_ctx(self) -> int:
        """The cells: the tokens of all sequences together, with shared prefixes counted once."""

    @property
    def n_batch(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """A name for everything that shapes a state: a snapshot can be restored where it is the same."""

    def sequence(self) -> Sequence:
        """Returns a new, empty sequence."""

    def append_each(self, parts: Seq[tuple[Sequence, Seq[int]]], *, all_rows: bool = False) -> Logits:
        """Appends tokens to several sequences, in as few batches as possible; returns the logits after each one's last
        token, float32 (len(parts), n_vocab), or with ``all_rows`` after every token, (tokens, n_vocab). Raises
        ContextOverflowError, Interrupted."""

    def adapted(self) -> AbstractContextManager[None]:
        """Applies the model's adapter, if there is one, to what is evaluated in the block, not to earlier cells."""

    def interrupt(self) -> None:
        """Stops the running evaluation, from any thread; it and later ones raise Interrupted until `resume`."""

    def resume(self) -> None:
        """Allows evaluations again."""

    def close(self) -> None: ...


class Grammar(Protocol):
    """A grammar that constrains the text being decoded."""

    def allowed(self, logits: Logits) -> Logits:
        """Returns the logits, float32 (n_vocab,), with -inf for tokens that cannot continue the text. Raises
        EngineError if no token can."""

    def accept(self, token: int) -> None:
        """Continues the text by an allowed token that does not end it."""


class Model(Protocol):
    """A loaded model."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def fingerprint(self) -> str:
        """A name for its file and llama.cpp's build."""

    @property
    def has_adapter(self) -> bool:
        """True if an adapter that points at answers is loaded (`Context.adapted`)."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Returns the token ids of a text, without BOS. Only with ``special`` it may become control tokens."""

    def piece(self, token: int) -> bytes:
        """Returns a token's bytes (perhaps part of a character); none for control tokens."""

    def is_eog(self, token: int) -> bool:
        """Returns whether the token ends a turn or a text."""

    @property
    def eog_tokens(self) -> Seq[int]:
        """The tokens that end a turn or a text."""

    @property
    def bos_tokens(self) -> list[int]:
        """The BOS token, if the model wants one before a text."""

    def largest_n_ctx(self) -> int:
        """Returns the most cells that free memory holds, up to the trained context."""

    def context(self, n_ctx: int, *, n_sequences: int = N_SEQUENCES) -> Context:
        """Returns a context of at least ``n_ctx`` cells for ``n_sequences`` at once. Raises MemoryBudgetError."""

    def grammar(self, schema: object) -> Grammar:
        """Returns the grammar of a JSON schema. Raises InvalidRequestError for an unsupported schema."""

    def close(self) -> None: ...


class Embedder(Protocol):
    """An embedding model: maps texts to vectors, and similar texts to near ones."""

    @property
    def fingerprint(self) -> str:
        """A name for everything that shapes its vectors, under which they are stored."""

    def query(self, question: str) -> Vector:
        """Returns the question's unit vector, float32 (width,)."""

    def texts(self, texts: Seq[str], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields each text's unit vector, float32 (width,). ``check`` is called now and then and may raise."""

    def tokenize(self, text: str) -> list[int]:
        """Returns the text's tokens, without the special ones around every text."""

    def embed(self, inputs: Iterable[Seq[int]], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields the unit vector of each text given as tokens, without an instruction. ``check``: as for `texts`.
        Raises InvalidRequestError for a number that is not a token."""

    def close(self) -> None: ...
