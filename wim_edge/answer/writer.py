"""The writer: the model that words an answer from the chosen passages.

The writer is the model that read the segments or, if a judge read them (`Settings.judge`), the model of
`Settings.model`. Such a writer is loaded when its first sentence is due: never, if the judge finds no answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence as Seq
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wim_edge.documents import sentences
from wim_edge.engine.batches import prefilled
from wim_edge.engine.memory_estimate import padded
from wim_edge.engine.protocols import PLAIN_LETTERS, Context, Model, Sequence
from wim_edge.engine.sampling import Sampler, log_softmax
from wim_edge.reading.chat import ChatFormat
from wim_edge.reading.control import Control
from wim_edge.reading.event_parts import FinishReason
from wim_edge.reading.generate import Generation, Grounding
from wim_edge.reading.plan import BLANK_LINE, context_limit
from wim_edge.reading.prompts import Prompts
from wim_edge.reading.resolved_settings import ResolvedSettings
from wim_edge.support import Confirmation

_YES, _NO = ("YES", "Yes", "yes", " Yes", " yes"), ("NO", "No", "no", " No", " no")
_MOST_SENTENCES = 2  # the most sentences of an answer to a question of fact
_UNSPACED = "\u2e80"  # from this letter on, scripts have no spaces between words
_SELECT, _QUERY = "SELECT", 110  # how a query begins; its most tokens
_SLACK = 32  # spare tokens: joined texts may be tokenized differently


class LoadsModel(Protocol):
    """A model that is loaded on first use, with its own settings (`wim_edge.loaded_models.LoadedModels`)."""

    @property
    def name(self) -> str: ...
    @property
    def confirmation(self) -> Confirmation: ...
    def model(self) -> Model: ...
    @property
    def chat_variables(self) -> Mapping[str, Any]: ...
    def chat(self) -> tuple[ChatFormat, str | None]: ...
    def context(self, n_ctx: int) -> Context: ...
    def resolved(self) -> ResolvedSettings: ...


@dataclass
class Writing:
    """A writer with the passages in its sequence. Each prompt is evaluated on a fork of the sequence."""

    model: Model
    chat: ChatFormat
    prompts: Prompts
    sampler: Sampler
    sequence: Sequence
    stops: tuple[str, ...]
    grounding: Grounding | None = None
    n_opening: int = 0
    """The tokens of the sequence before the passages."""
    labels: tuple[str, ...] = ()
    """The prompt labels that end the text as echoes of the prompt (`wim_edge.reading.cuts`)."""
    n_tokens: int = 0
    finish_reason: FinishReason = "stop"

    def yes(self, which: str, query: str, text: str = "", *, alone: bool = False) -> float | None:
        """Returns the log-odds of Yes to No, in nats, for template ``which`` after ``text``; None for a base model.
        ``alone``: whether the model sees ``text`` without the passages."""
        if not self.chat.is_chat:
            return None
        with self._asked(text + self.prompts.ask(which, query), at=self.n_opening if alone else None) as branch:
            logprobs = log_softmax(branch.logits)
        first = ([self.model.tokenize(word)[0] for word in words] for words in (_YES, _NO))
        yes, no = (np.logaddexp.reduce(logprobs[sorted({*tokens})]) for tokens in first)
        return float(yes - no)

    def pieces(self, prompt: str, most: int, code: str = "") -> Generator[str, None, None]:
        """Yields the model's answer to a prompt in pieces, as it is decoded. ``most``: the most tokens. ``code``: the
        beginning of the answer, if it is one statement of code."""
        with self._asked(prompt, code) as branch:
            generation = Generation(
                self.model, branch, self.sampler, most, (*self.stops, *(("```", ";") if code else ())),
                labels=self.labels, grounding=self.grounding, straight=bool(code),
            )  # fmt: skip
            try:
                yield from generation.pieces()
            finally:
                self.n_tokens += generation.n_tokens
                self.finish_reason = generation.finish_reason

    def sentence(self, prompt: str, run: str, most: int) -> str:
        """Returns the model's answer to a prompt, up to the sentence that contains ``run`` (if ``run`` is empty, up to
        the first sentence), but at most two sentences. ``most``: the most tokens."""
        text, end = "", None
        with closing(self.pieces(prompt, most)) as pieces:
            for piece in pieces:
                text += piece
                if (end := _end(text, run)) is not None:
                    break
        if end is not None:
            self.finish_reason = "stop"
        return text[:end].strip()

    def query(self, prompt: str) -> str:
        """Returns the SQL query that the model writes for a prompt."""
        text = "".join(self.pieces(prompt, _QUERY, f"```sql\n{_SELECT}"))
        return f"{_SELECT} {' '.join(text.split())}"

    @contextmanager
    def _asked(self, prompt: str, begin: str = "", at: int | None = None) -> Iterator[Sequence]:
        """Yields a fork, at token ``at``, with a prompt, and with ``begin``, the words that the answer begins with."""
        with self.sequence.fork(at) as branch:
            branch.append([*self.model.tokenize(prompt), *self.chat.after_user, *self.model.tokenize(begin)])
            yield branch


def read_passages(writer: LoadsModel, passages: Seq[str], sampler: Sampler, control: Control, room: int) -> Writing:
    """Returns the writer with the passages prefilled. If the context can't hold all, leaves out the first ones.
    ``room``: the tokens to keep free for the longest prompt and its answer. The caller closes the sequence. Raises
    Interrupted, ModelError, CapacityError."""
    model, (chat, _), settings = writer.model(), writer.chat(), writer.resolved().settings
    prompts = Prompts(settings.templates, chat=chat.is_chat)
    opening = chat.opening(model, prompts.system(margins=False))
    most = context_limit(settings, model.info.n_ctx_train, model.largest_n_ctx).tokens - room - _SLACK
    while len(tokens := [*opening, *model.tokenize(BLANK_LINE.join(passages))]) > most and len(passages) > 1:
        passages = passages[1:]
    context = writer.context(padded(len(tokens) + room + _SLACK))
    control.add(context)
    sequence = prefilled(context.sequence(), tokens)
    return Writing(model, chat, prompts, sampler, sequence, (*chat.stops, *settings.stop), n_opening=len(opening))


def said(run: str, text: str) -> bool:
    """Returns whether a text contains all words of a run, whole and adjacent; ignores case and punctuation."""
    return bool(run) and f" {_plain(run)} " in f" {_plain(text)} "


def agrees(run: str, text: str) -> bool:
    """Returns whether a text contains all words of a run, in order."""
    wanted, following = _plain(run).split(), iter(_plain(text).split())
    return bool(wanted) and all(word in following for word in wanted)


def _plain(text: str) -> str:
    text = text.translate(PLAIN_LETTERS)
    spaced = (char if char.isalnum() and char < _UNSPACED else f" {char} " if char.isalnum() else " " for char in text)
    return " ".join("".join(spaced).casefold().split())


def _end(text: str, run: str) -> int | None:
    """Returns the offset where the answer is complete, once a further sentence has begun; else None."""
    spans = sentences(text)
    for number, (_, end) in enumerate(spans[:-1], 1):
        if said(run, text[:end]) or number >= _MOST_SENTENCES or not run:
            return end
    return None
