"""A scripted engine without native libraries, to test code that uses an engine (docs/python.md has an example)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence as Seq
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from wim_edge.engine import protocols
from wim_edge.engine.protocols import N_SEQUENCES, Interrupted, Logits, MemoryKind, ModelInfo, Snapshot
from wim_edge.errors import ContextOverflowError, EngineError

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
_SPECIAL = ("<|im_start|>", "<|im_end|>")
_WORDS = re.compile(r"\s|[^\s\w]|\w{1,8}")
_N_VOCAB = 1 << 13
_NUMBERS = itertools.count()


class FakeModel:
    """Implements `wim_edge.engine.protocols.Model`. A token is a white-space character, a punctuation mark or up to
    eight letters. ``reply``: returns the reply to a prompt (the sequence's whole text, with control tokens).
    ``chat_template``: None makes this a base model, whose reply continues the prompt."""

    def __init__(
        self, reply: Callable[[str], str] = lambda prompt: "", *, n_ctx_train: int = 8192,
        chat_template: str | None = CHATML, n_batch: int = 64,
    ) -> None:  # fmt: skip
        self.reply, self.n_batch, self.has_adapter = reply, n_batch, False
        self.fingerprint = f"fake-{next(_NUMBERS)}"  # unique, since each model numbers tokens in its own way
        self.history: list[tuple[str, int, int]] = []
        """The calls of the engine in order, as (kind, sequence id, number of tokens or position in the sequence)."""
        self.contexts: list[FakeContext] = []
        self._ids = {text: index for index, text in enumerate(_SPECIAL)}
        self._texts = list(_SPECIAL)
        self.bos_tokens: list[int] = []
        self.eog_tokens = [1]
        self.info = ModelInfo(
            "fake", Path("fake.gguf"), "fake", MemoryKind.ATTENTION, n_ctx_train, _N_VOCAB, chat_template, "", ""
        )

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        parts = re.split(f"({'|'.join(map(re.escape, _SPECIAL))})", text) if special else [text]
        words = (w for part in parts for w in ([part] if special and part in _SPECIAL else _WORDS.findall(part)))
        return [self._id(word) for word in words]

    def _id(self, word: str) -> int:
        if word not in self._ids:
            self._ids[word] = len(self._texts)
            self._texts.append(word)
        return self._ids[word]

    def text(self, tokens: Seq[int]) -> str:
        """Returns the text of tokens, with control tokens."""
        return "".join(map(self._texts.__getitem__, tokens))

    @cached_property
    def header(self) -> list[int]:
        """The tokens with which the chat template begins a reply."""
        return self.tokenize("<|im_start|>assistant\n", special=True)

    def piece(self, token: int) -> bytes:
        if token < len(_SPECIAL):
            return b""
        return self._texts[token].encode() if token < len(self._texts) else b"?"

    def is_eog(self, token: int) -> bool:
        return token == 1

    def grammar(self, schema: object) -> FakeGrammar:
        return FakeGrammar()

    def largest_n_ctx(self) -> int:
        return self.info.n_ctx_train

    def context(self, n_ctx: int, *, n_sequences: int = N_SEQUENCES) -> FakeContext:
        self.contexts.append(FakeContext(self, n_ctx, n_sequences))
        return self.contexts[-1]

    def close(self) -> None:
        pass


class FakeGrammar:
    """Implements `wim_edge.engine.protocols.Grammar`; allows every token."""

    def allowed(self, logits: Logits) -> Logits:
        return logits

    def accept(self, token: int) -> None:
        pass


class FakeContext:
    """Implements `wim_edge.engine.protocols.Context`. Counts a cell that several sequences share once."""

    def __init__(self, model: FakeModel, n_ctx: int, n_sequences: int = N_SEQUENCES) -> None:
        self.model, self.n_ctx, self.n_batch, self.n_sequences = model, n_ctx, model.n_batch, n_sequences
        self.live: dict[int, FakeSequence] = {}
        self.made = 0
        self.on_append: Callable[[FakeSequence], None] = lambda sequence: None
        """A function that is called before each batch and may call `interrupt`."""
        self._interrupted = self.closed = False

    def sequence(self) -> FakeSequence:
        if len(self.live) >= self.n_sequences:
            raise EngineError(f"all {self.n_sequences} sequences are in use", "Close one first.")
        self.made += 1
        self.live[self.made] = FakeSequence(self, self.made)
        return self.live[self.made]

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    def cells(self) -> int:
        """Returns the number of cells in use; shared cells count once."""
        return sum(len(sequence) - sequence.shared for sequence in self.live.values())

    def interrupt(self) -> None:
        self._interrupted = True

    def resume(self) -> None:
        self._interrupted = False

    def append_each(self, parts: Seq[tuple[protocols.Sequence, Seq[int]]], *, all_rows: bool = False) -> Logits:
        self.model.history.append(("together", 0, len(parts)))
        rows = [len(tokens) if all_rows else 1 for _, tokens in parts]
        if not parts:
            return np.zeros((0, _N_VOCAB), np.float32)
        return np.concatenate([one.append(tokens, n) for (one, tokens), n in zip(parts, rows, strict=True)])

    def adapted(self) -> AbstractContextManager[None]:
        return nullcontext()

    def evaluate(self, sequence: FakeSequence, n_tokens: int) -> None:
        self.on_append(sequence)
        if self._interrupted:
            raise Interrupted
        if self.cells() + n_tokens > self.n_ctx:
            raise ContextOverflowError(f"the context of {self.n_ctx} tokens is full")

    def close(self) -> None:
        self.closed = True


class FakeSequence(AbstractContextManager["FakeSequence"]):
    """Implements `wim_edge.engine.protocols.Sequence` on a list of tokens."""

    def __init__(self, context: FakeContext, seq_id: int) -> None:
        self.context, self.id, self.shared = context, seq_id, 0
        self.tokens: list[int] = []

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def logits(self) -> Logits:
        """The logits, with all weight on the next token of the scripted reply."""
        model = self.context.model
        prompt, said = self.tokens, 0
        if model.info.chat_template is not None:
            header = model.header
            begins = (at for at in range(len(prompt) - len(header), -1, -1) if prompt[at] == header[0])
            ends = (at + len(header) for at in begins if prompt[at : at + len(header)] == header)
            start = next(ends, len(prompt))
            prompt, said = prompt[:start], len(prompt) - start
        reply = [*model.tokenize(model.reply(model.text(prompt))), 1]
        logits = np.zeros(_N_VOCAB, np.float32)
        logits[reply[min(said, len(reply) - 1)]] = 20
        return logits

    def append(self, tokens: Seq[int], rows: int = 1) -> Logits:
        if not 1 <= rows <= len(tokens):
            raise ValueError(f"{rows} rows of {len(tokens)} tokens")
        if self.id not in self.context.live:
            raise EngineError("the sequence is closed")
        for start in range(0, len(tokens), self.context.n_batch):
            batch = tokens[start : start + self.context.n_batch]
            self.context.evaluate(self, len(batch))
            self.tokens.extend(batch)
            self.context.model.history.append(("append", self.id, len(batch)))
        if rows == 1:
            return self.logits[np.newaxis]
        # Earlier rows come from a unigram model of the sequence, so that a text's own words are likelier
        unigrams = np.zeros(_N_VOCAB, np.float32)
        unigrams[self.tokens[: len(self.tokens) - rows]] = 5
        return np.stack([*[unigrams] * (rows - 1), self.logits])

    def fork(self, at: int | None = None) -> Self:
        at = len(self) if at is None else at
        if not 0 <= at <= len(self):
            raise ValueError(f"fork at {at} of {len(self)} tokens")
        branch = self.context.sequence()
        branch.tokens, branch.shared = self.tokens[:at], at
        self.context.model.history.append(("fork", self.id, at))
        return branch  # type: ignore[return-value]

    def truncate(self, to: int) -> None:
        del self.tokens[to:]
        self.shared = min(self.shared, to)
        self.context.model.history.append(("truncate", self.id, to))

    def checkpoint(self) -> None:
        pass

    @property
    def nbytes(self) -> int:
        return 4 * len(self)

    def snapshot(self, into: Path | None = None) -> Snapshot:
        state = np.array(self.tokens, np.int32).view(np.uint8)
        if into is None:
            return Snapshot(tuple(self.tokens), state, {}, None)
        return Snapshot(tuple(self.tokens), protocols.StateFile(into, into.write_bytes(state.data)), {}, None)

    def restore(self, snapshot: Snapshot) -> None:
        state = snapshot.state
        try:
            data = state.tobytes() if isinstance(state, np.ndarray) else state.path.read_bytes()[: state.nbytes]
        except OSError as error:
            raise EngineError("the saved state cannot be read") from error
        self.tokens, self.shared = np.frombuffer(data, np.int32).tolist(), 0

    def append_kept(self, snapshot: Snapshot, at: int) -> bool:
        moved = snapshot.tokens[at:]
        if self.context.cells() + len(snapshot.tokens) > self.context.n_ctx:
            return False
        self.tokens.extend(moved)
        self.context.model.history.append(("join", self.id, len(moved)))
        return True

    def close(self) -> None:
        if self.context.live.pop(self.id, None) is not None:
            self.context.model.history.append(("close", self.id, len(self)))

    def __exit__(self, *exc: object) -> None:
        self.close()
