"""The training: a passage is read plainly, its questions and answers with the adapter."""

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
from adapter.model import Batch, Llama, Lora
from adapter.passages import Passage
from adapter.tokenizer import Tokenizer

MAX_PREFIX, MAX_TOKENS = 330, 640
"""Tokens of a passage with what stands above it, and of its questions together."""
_CLIP = 1.0


@dataclass(frozen=True)
class Schedule:
    """How long and how fast: ``n_passages`` in all, ``group`` of them a step."""

    n_passages: int
    group: int = 4
    peak: float = 1e-3
    warm_up: int = 15
    last: float = 0.05

    @property
    def n_steps(self) -> int:
        return self.n_passages // self.group

    def rate(self, step: int) -> float:
        """Return the learning rate: a linear rise, then half a cosine down to ``last`` of the peak."""
        if step < self.warm_up:
            return self.peak * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(1, self.n_steps - self.warm_up)
        return self.peak * (self.last + (1 - self.last) * (1 + math.cos(math.pi * min(1.0, share))) / 2)


class Trainer:
    """One training; its state can be saved after any step."""

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
        """Go on from the last checkpoint, if there is one."""
        if not self._checkpoint.exists():
            return
        state = torch.load(self._checkpoint)
        self._lora.load_state_dict(state["lora"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._step, self._number = state["step"], state["number"]
        print(f"goes on after step {self._step}", flush=True)

    def run(self, minutes: float, save_every: float = 3.0) -> bool:
        """Train until the schedule's end, which returns True, or for ``minutes``."""
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
        """Write the checkpoint and the adapter's file."""
        state = {"lora": self._lora.state_dict(), "optimizer": self._optimizer.state_dict()}
        partial = self._checkpoint.with_suffix(".partial")
        torch.save({**state, "step": self._step, "number": self._number}, partial)
        partial.replace(self._checkpoint)
        lora_file.write(self._out, self._lora, self._model.shape, f"step {self._step}")

    def _take_step(self) -> int:
        for group in self._optimizer.param_groups:
            group["lr"] = self._schedule.rate(self._step)
        tokens = 0
        for _ in range(self._schedule.group):
            passage, prefix, questions, targets = self._next()
            loss, of_each = self._loss(prefix, questions, targets)
            (loss / self._schedule.group).backward()
            tokens += len(prefix) + sum(map(len, questions)) + sum(map(len, targets))
            for question, one in zip(passage.questions, of_each, strict=False):
                kind = "span" if question.is_span else question.target
                self._losses[f"{passage.source} {kind}"].append(one)
        torch.nn.utils.clip_grad_norm_(self._lora.parameters(), _CLIP)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._step += 1
        return tokens

    def _next(self) -> tuple[Passage, list[int], list[list[int]], list[list[int]]]:
        while True:
            passage = self._mixture.passage(self._number)
            self._number += 1
            prefix = self._tokenizer.prefix(passage)
            if len(prefix) > MAX_PREFIX:
                continue
            questions = [self._tokenizer.question(one.text) for one in passage.questions]
            targets = [self._tokenizer.target(one.target) for one in passage.questions]
            n, total = 0, 0
            while n < len(questions) and total + len(questions[n]) + len(targets[n]) <= MAX_TOKENS:
                total += len(questions[n]) + len(targets[n])
                n += 1
            if n:
                return passage, prefix, questions[:n], targets[:n]

    def _loss(
        self, prefix: list[int], questions: list[list[int]], targets: list[list[int]]
    ) -> tuple[Tensor, list[float]]:
        """Return the negative log-likelihood of the answers, a question, and that of each."""
        read, _ = self._model.read(prefix)
        batch = Batch.of([question + target for question, target in zip(questions, targets, strict=True)])
        rows: list[int] = []
        owners: list[int] = []
        at = 0
        for number, (question, target) in enumerate(zip(questions, targets, strict=True)):
            first = at + len(question)
            rows += range(first - 1, first + len(target) - 1)
            owners += [number] * len(target)
            at = first + len(target)
        hidden = self._model.ask(read, batch, self._lora)[torch.tensor(rows)]
        wanted = torch.tensor([token for target in targets for token in target])
        losses = torch.nn.functional.cross_entropy(self._model.logits(hidden), wanted, reduction="none")
        of_each = torch.zeros(len(questions)).index_add(0, torch.tensor(owners), losses)
        return of_each.mean(), of_each.tolist()

    def _report(self, seconds: float, tokens: int) -> None:
        means = ", ".join(f"{name} {sum(found) / len(found):.2f}" for name, found in sorted(self._losses.items()))
        print(f"step {self._step}/{self._schedule.n_steps} passages {self._number} {seconds:.0f} s "
              f"{tokens / seconds:.0f} tokens/s | {means}", flush=True)  # fmt: skip
        self._losses.clear()
