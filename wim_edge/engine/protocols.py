"""The engine as the rest of wim-edge knows it: small interfaces and their facts.

`wim_edge.engine.model.Model` implements them on llama.cpp; `wim_edge.testing` scripts them without
any native library.

    Model     one GGUF file: tokenizer and facts          (llama_model)
    Context   a KV cache of n_ctx cells over a model      (llama_context)
    Sequence  one line of tokens in that cache            (llama_seq_id)
"""

from __future__ import annotations

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
"""The most sequences alive at once in a context, unless more are asked for."""

Logits = NDArray[np.float32]
Vector = NDArray[np.float32]
SequenceState = NDArray[np.uint8]


class MemoryKind(Enum):
    """The kind of a model's memory, which decides how a rollback is done (see rollback.py)."""

    ATTENTION = "attention"
    WINDOW = "sliding window"
    RECURRENT = "recurrent"
    HYBRID = "hybrid"


class Interrupted(Exception):
    """`Context.interrupt` stopped an evaluation. The sequence is usable: `len` says what it holds."""


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
    """A sequence's state in a file, which may hold more after it. Whoever restores it must have checked that it is
    as it was written: llama.cpp ends the process over some damage."""

    path: Path
    nbytes: int


@dataclass(frozen=True)
class Snapshot:
    """A sequence taken out of the cache: its tokens, its state as llama.cpp writes it, and the partial
    states (by position) that memories without history need to fork earlier. Arrays are not copied."""

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
        """Logits after the last token, float32 (n_vocab,)."""
        ...

    def __len__(self) -> int: ...

    def append(self, tokens: Seq[int], rows: int = 1) -> Logits:
        """Evaluates tokens at the end and returns the logits after the last ``rows`` of them,
        float32 (rows, n_vocab). Raises ContextOverflowError when the cache is full, Interrupted."""
        ...

    def fork(self, at: int | None = None) -> Self:
        """Returns a new sequence that holds the first ``at`` tokens (all, if None) of this one."""
        ...

    def truncate(self, to: int) -> None:
        """Forgets every token from position ``to`` on, as if it had never been there."""
        ...

    def checkpoint(self) -> None:
        """Keeps the state that makes it quick to come back to this position; costs nothing for plain attention."""
        ...

    @property
    def nbytes(self) -> int:
        """The bytes that a snapshot takes."""
        ...

    def snapshot(self, into: Path | None = None) -> Snapshot:
        """Returns a snapshot; with ``into``, its state is written over that file and takes no memory.
        Raises OSError, MemoryBudgetError."""
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Replaces this sequence's content by a snapshot's; evaluates no token. Raises EngineError."""
        ...

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        """Appends the tokens of a snapshot from its position ``at`` on without evaluating them: their cells are moved
        here as they are, blind to the tokens before them here. Returns False, and appends nothing, if the memory
        cannot move cells or has no room for the snapshot beside them."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Context(Protocol):
    """A KV cache, shared by its sequences. One thread at a time, except for `interrupt`."""

    @property
    def n_ctx(self) -> int:
        """Cells: tokens that all sequences together may hold, shared prefixes counted once."""
        ...

    @property
    def n_batch(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """A name for all that shapes a sequence's state: a snapshot may be restored where it is the same."""
        ...

    def sequence(self) -> Sequence:
        """Returns a new, empty sequence."""
        ...

    def append_each(self, parts: Seq[tuple[Sequence, Seq[int]]], *, all_rows: bool = False) -> Logits:
        """Evaluates tokens of several sequences together, in as few batches as hold them; returns the logits after
        each one's last token, float32 (len(parts), n_vocab), or after every token, (all tokens, n_vocab).
        Raises ContextOverflowError, Interrupted."""
        ...

    def adapted(self) -> AbstractContextManager[None]:
        """Applies the model's adapter, if it has one, to what is evaluated meanwhile; the cells filled before stay the
        plain model's."""
        ...

    def interrupt(self) -> None:
        """Stops the evaluation under way, from any thread; this and later evaluations raise Interrupted."""
        ...

    def resume(self) -> None:
        """Allows evaluations again."""
        ...

    def close(self) -> None: ...


class Grammar(Protocol):
    """A grammar that a text being decoded is held to."""

    def allowed(self, logits: Logits) -> Logits:
        """Returns the logits, float32 (n_vocab,), with -inf for tokens with which the text cannot go on. Raises
        EngineError if the model has no token to go on with."""
        ...

    def accept(self, token: int) -> None:
        """Notes that the text goes on with a token, one that is allowed and does not end it."""
        ...


class Model(Protocol):
    """A loaded model."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def fingerprint(self) -> str:
        """A name for its file and for the build that computes."""
        ...

    @property
    def has_adapter(self) -> bool:
        """True if an adapter that points at answers is loaded with it (`Context.adapted`)."""
        ...

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Returns the token ids of a text. Control tokens are recognized only with ``special``; without it,
        text such as ``<|im_end|>`` becomes ordinary tokens. No BOS is added."""
        ...

    def piece(self, token: int) -> bytes:
        """Returns the bytes that a token stands for (perhaps part of a character); empty for control tokens."""
        ...

    def is_eog(self, token: int) -> bool:
        """Tells whether the token ends a generation (all end-of-turn and end-of-text tokens)."""
        ...

    @property
    def eog_tokens(self) -> Seq[int]:
        """All tokens that end a generation."""
        ...

    @property
    def bos_tokens(self) -> list[int]:
        """The tokens that the model wants before a text: its BOS token, or none."""
        ...

    def largest_n_ctx(self) -> int:
        """Returns the most cells that free memory allows, up to the trained context."""
        ...

    def context(self, n_ctx: int, *, n_sequences: int = N_SEQUENCES) -> Context:
        """Returns a context of at least ``n_ctx`` cells, for so many sequences at once. Raises MemoryBudgetError if
        memory does not suffice."""
        ...

    def grammar(self, schema: object) -> Grammar:
        """Returns the grammar of a JSON schema, at the beginning of a text. Raises InvalidRequestError for a schema
        that cannot be held to."""
        ...

    def close(self) -> None: ...


class Embedder(Protocol):
    """An embedding model: texts that mean similar things have vectors that are near."""

    @property
    def fingerprint(self) -> str:
        """A name for all that shapes its vectors, under which they are kept."""
        ...

    def query(self, question: str) -> Vector:
        """Returns the question's unit vector, float32 (width,)."""
        ...

    def texts(self, texts: Seq[str], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields each text's unit vector, float32 (width,). ``check`` is called now and then, and may raise."""
        ...

    def tokenize(self, text: str) -> list[int]:
        """Returns the text's tokens, without those that the model wants around every text."""
        ...

    def embed(self, inputs: Iterable[Seq[int]], check: Callable[[], None]) -> Iterator[Vector]:
        """Yields the unit vector of each text, given as its tokens, with nothing put before it. ``check``: as for
        `texts`. Raises InvalidRequestError for a number that is no token."""
        ...

    def close(self) -> None: ...
