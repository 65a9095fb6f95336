"""The training: passages are read without the adapter, questions and answers with it."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from adapter import lora_file
from adapter.mixture import Mixture
from adapter.model import Llama, Lora
from adapter.tokenizer import Tokenizer

MAX_PREFIX, MAX_TOKENS = 330, 640
"""The most tokens of a passage with its heading, and of all its questions and answers together."""
_CLIP = 1.0


@dataclass(frozen=True)
class Schedule:
    """The schedule: ``n_passages`` in all, ``group`` of them per step, ``at_once`` of these per batch."""

    n_passages: int
    group: int = 4
    at_once: int = 1
    peak: float = 1e-3
    warm_up: int = 15
    last: float = 0.05

    @property
    def n_steps(self) -> int:
        return self.n_passages // self.group

    def rate(self, step: int) -> float:
        """Returns a step's learning rate: a linear rise to ``peak``, then half a cosine to ``last`` times the peak."""
        if step < self.warm_up:
            return self.peak * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(1, self.n_steps - self.warm_up)
        return self.peak * (self.last + (1 - self.last) * (1 + math.cos(math.pi * min(1.0, share))) / 2)


@dataclass(frozen=True)
class Tokenized:
    """A passage, its questions and targets as tokens. ``kinds``: source and type of each target ("squad2 span")."""

    prefix: list[int]
    questions: list[list[int]]
    targets: list[list[int]]
    kinds: list[str]


class Trainer:
    """A training, whose state can be saved after any step."""

    def __init__(
        self, model: Llama, tokenizer: Tokenizer, mixture: Mixture, lora: Lora, schedule: Schedule, out: Path
    ) -> None:
        self._model, self._tokenizer, self._mixture, self._lora = model, tokenizer, mixture, lora
        self._schedule, self._out = schedule, out
        self._optimizer = torch.optim.AdamW(
            lora.parameters(), lr=0.0, betas=(0.9, 0.99), weight_decay=0.0, foreach=True
        )
        self._step = self._number = 0
        self._losses: dict[str, list[float]] = defaultdict(list)

    @property
    def _checkpoint(self) -> Path:
        return self._out.with_suffix(".checkpoint")

    def resume(self) -> None:
        """Loads the last checkpoint, if there is one."""
        if not self._checkpoint.exists():
            return
        state = torch.load(self._checkpoint)
        self._lora.load_state_dict(state["lora"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._step, self._number = state["step"], state["number"]
        print(f"goes on after step {self._step}", flush=True)

    def run(self, minutes: float, save_every: float = 3.0) -> bool:
        """Trains to the schedule's end, or for ``minutes``. Returns True if the schedule has ended."""
        begun = saved = time.monotonic()
        tokens = 0
        while self._step < self._schedule.n_steps:
            tokens += self._take_step()
            now = time.monotonic()
            if self._step % 5 == 0:
                self._report(now - begun, tokens)
            if now - saved > save_every * 60:
                self.save()
                saved = now
            if now - begun > minutes * 60:
                break
        self.save()
        return self._step >= self._schedule.n_steps

    def save(self) -> None:
        """Writes the checkpoint and the adapter's file."""
        state = {"lora": self._lora.state_dict(), "optimizer": self._optimizer.state_dict()}
        partial = self._checkpoint.with_suffix(".partial")
        torch.save({**state, "step": self._step, "number": self._number}, partial)
        partial.replace(self._checkpoint)
        lora_file.write(self._out, self._lora, self._model.shape, f"step {self._step}")

    def _take_step(self) -> int:
        for group in self._optimizer.param_groups:
            group["lr"] = self._schedule.rate(self._step)
        tokens = 0
        for _ in range(0, self._schedule.group, self._schedule.at_once):
            some = [self._next() for _ in range(self._schedule.at_once)]
            losses = self._losses_of(some)
            shares = [1 / len(one.questions) / self._schedule.group for one in some for _ in one.questions]
            (losses * torch.tensor(shares, device=losses.device)).sum().backward()
            tokens += sum(len(one.prefix) + sum(map(len, one.questions + one.targets)) for one in some)
            for kind, loss in zip((kind for one in some for kind in one.kinds), losses.tolist(), strict=True):
                self._losses[kind].append(loss)
        torch.nn.utils.clip_grad_norm_(self._lora.parameters(), _CLIP)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._step += 1
        return tokens

    def _next(self) -> Tokenized:
        while True:
            passage = self._mixture.passage(self._number)
            self._number += 1
            found = Tokenized(self._tokenizer.prefix(passage), [], [], [])
            total = 0
            for one in passage.questions if len(found.prefix) <= MAX_PREFIX else ():
                question, target = self._tokenizer.question(one.text), self._tokenizer.target(one.target)
                total += len(question) + len(target)
                if total > MAX_TOKENS:
                    break
                found.questions.append(question)
                found.targets.append(target)
                found.kinds.append(f"{passage.source} {'span' if one.is_span else one.target}")
            if found.questions:
                return found

    def _losses_of(self, some: list[Tokenized]) -> Tensor:
        """Returns the negative log-likelihood [questions] of each question's target, for all passages."""
        prefix = self._model.read([one.prefix for one in some])
        owners = [number for number, one in enumerate(some) for _ in one.questions]
        pairs = [pair for one in some for pair in zip(one.questions, one.targets, strict=True)]
        places: list[int] = []
        of: list[int] = []
        at = 0
        for number, (question, target) in enumerate(pairs):
            first = at + len(question)
            places += range(first - 1, first + len(target) - 1)
            of += [number] * len(target)
            at = first + len(target)
        hidden = self._model.ask(prefix, owners, [question + target for question, target in pairs], self._lora)
        device = hidden.device
        wanted = torch.tensor([token for _, target in pairs for token in target], device=device)
        logits = self._model.logits(hidden[torch.tensor(places, device=device)])
        losses = torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
        return torch.zeros(len(pairs), device=device).index_add(0, torch.tensor(of, device=device), losses)

    def _report(self, seconds: float, tokens: int) -> None:
        means = ", ".join(f"{name} {sum(found) / len(found):.2f}" for name, found in sorted(self._losses.items()))
        print(f"step {self._step}/{self._schedule.n_steps} passages {self._number} {seconds:.0f} s "
              f"{tokens / seconds:.0f} tokens/s | {means}", flush=True)  # fmt: skip
        self._losses.clear()
