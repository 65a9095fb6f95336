"""Measures an adapter on questions that were not trained on: F1 of the answer, and how well it says "none".

The figures are for the model in PyTorch with greedy decoding; wim-edge points at an answer, with a constraint.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import torch

from adapter import natural, squad
from adapter.model import Llama, Lora, Prefix
from adapter.passages import NONE, Passage, heading
from adapter.tokenizer import Tokenizer
from wim_edge.documents.data_files import read_rows
from wim_edge.evaluation.metrics import auroc, f1

_MAX_ANSWER = 24
"""The most tokens of an answer."""


@dataclass(frozen=True)
class Asked:
    """A question on a passage. ``gold``: the right answers; empty if the passage does not answer the question."""

    heading: str
    text: str
    question: str
    gold: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """The model's greedy answer, its answer if "none" is forbidden, and the log-probability of "none"."""

    answer: str
    forced: str
    log_none: float


def squad_set(data: Path, names: list[str], n: int, seed: int = 0) -> list[Asked]:
    """Returns ``n`` answerable and ``n`` unanswerable questions, each on one paragraph of the named articles."""
    rng = random.Random(seed)
    rows = [row for row in read_rows(data / "training" / "squad2.jsonl.gz")
            if row["source"].partition("/")[2] in names and len(row["text"]) < squad.CHARACTERS[1]]  # fmt: skip
    found = []
    for wanted in (False, True):
        found += rng.sample([row for row in rows if row["unanswerable"] is wanted], n)
    asked = [Asked(heading(), row["text"], row["question"], tuple(row["answers"])) for row in found]
    return sorted(asked, key=lambda one: one.text)


def nq_set(data: Path, n: int) -> list[Asked]:
    """Returns the first ``n`` questions of the reported part, which is not trained on. Each is asked twice: on its gold
    passage and on its hardest distractor."""
    found = []
    for row in natural.rows(data, "report")[:n]:
        for passage, gold in ((row["gold"], tuple(row["answers"])), (row["distractors"][0], ())):
            found.append(Asked(heading(passage["title"]), passage["text"], row["question"], gold))
    return found


def ask_all(model: Llama, tokenizer: Tokenizer, lora: Lora | None, asked: list[Asked]) -> list[Given]:
    """Asks each question on its passage. A passage is read once for neighbouring questions."""
    found = []
    for (above, text), group in groupby(asked, key=lambda one: (one.heading, one.text)):
        prefix = model.read([tokenizer.prefix(Passage("", above, text, ()))])
        found += [_ask(model, tokenizer, lora, prefix, one.question) for one in group]
    return found


@torch.no_grad()
def _ask(model: Llama, tokenizer: Tokenizer, lora: Lora | None, prefix: Prefix, question: str) -> Given:
    tokens, none = tokenizer.question(question), tokenizer.target(NONE)

    def after(written: list[int]) -> torch.Tensor:
        """Returns the log-probabilities of the next token: after the question, and after each token of ``written``."""
        hidden = model.ask(prefix, [0], [tokens + written], lora)[len(tokens) - 1 :]
        return model.logits(hidden).log_softmax(-1)

    def write(forbidden: list[int]) -> str:
        written: list[int] = []
        while len(written) < _MAX_ANSWER and "\n" not in tokenizer.text(written):
            chances = after(written)[-1]
            if not written:
                chances[forbidden] = float("-inf")
            written.append(int(chances.argmax()))
        return tokenizer.text(written).partition("\n")[0].strip()

    log_none = sum(float(row[token]) for row, token in zip(after(none), none, strict=False))
    greedy = write([])
    return Given(greedy, write(none[:1]) if greedy.startswith(NONE) else greedy, log_none)


def figures(asked: list[Asked], given: list[Given]) -> dict[str, float | None]:
    """Returns the figures of a set by name, for answerable and for unanswerable questions."""
    pairs = list(zip(asked, given, strict=True))
    answerable = [(one, got) for one, got in pairs if one.gold]
    absent = [got for one, got in pairs if not one.gold]

    def mean(values: list[float]) -> float:
        return sum(values) / max(1, len(values))

    return {
        "questions": len(pairs),
        "F1": mean([f1(got.answer, one.gold) for one, got in answerable]),
        "F1 if none is not allowed": mean([f1(got.forced, one.gold) for one, got in answerable]),
        "answer is a run of the passage": mean([float(got.forced in one.text) for one, got in answerable]),
        "none said, answerable": mean([float(got.answer == NONE) for _, got in answerable]),
        "none said, absent": mean([float(got.answer == NONE) for got in absent]),
        "AUROC of none": auroc([got.log_none for got in absent], [got.log_none for _, got in answerable]),
    }
