"""Beam search in which every token must continue a run that occurs in the library.

MindRef (arXiv 2402.17010, section 3): whatever is decoded exists. A stretch of a title without a choice (the rest,
where no other title goes on alike) is evaluated at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wim_edge.engine import beams
from wim_edge.engine.protocols import Context, Logits, Sequence
from wim_edge.engine.sampling import log_softmax
from wim_edge.recall.index import LONGEST, SuffixArray, TokenRange


@dataclass(frozen=True)
class Beam:
    """A run of tokens that exists, and how probable the model finds it."""

    run: TokenRange
    tokens: tuple[int, ...] = ()
    logprob: float = 0.0
    """The log-probability of its tokens, and of its end if it has ended; nats."""
    ended: bool = False

    @property
    def score(self) -> float:
        """Returns the mean log-probability of a token, so that long titles are not put behind for their length."""
        return self.logprob / max(1, len(self.tokens) + self.ended)


@dataclass(frozen=True)
class Search:
    """A beam search: the runs that it may find, and its limits.

    Args:
        runs: the runs of tokens that exist.
        width: the most beams that go on at a step, and that are found.
        longest: tokens after which a beam is complete, up to `LONGEST` - 1.
        ends: the tokens that end a title; a beam is complete when it has ended. Without them it is complete when only
            one place is left, or at the ``longest``.
        whole: True if a beam is complete at the ``longest`` or at its text's end only, though it stands in one place;
            short prefixes are compared with this.
        form: returns a token's form at the beginning of a text, if there is one (" The" for "The"); the likelier of
            the two is decoded as the first token.
    """

    runs: SuffixArray
    width: int
    longest: int = LONGEST - 1
    ends: tuple[int, ...] = ()
    whole: bool = False
    form: Callable[[int], int] = int

    def find(self, context: Context, prompt: Sequence) -> tuple[list[Beam], int]:
        """Returns the best beams after this prompt, best first, and the tokens that were evaluated for them.

        Takes ``width`` sequences of the context besides the prompt's, which is afterwards as it was before.
        Raises Interrupted, ContextOverflowError.
        """
        found: list[Beam] = []

        def advance(live: list[tuple[Beam, Logits]]) -> list[beams.Step[Beam]]:
            nonlocal found
            grown = [
                (beam, parent)
                for parent, (stretched, rows) in enumerate(live)
                for beam in self._grown(_scored(stretched, rows), rows[-1])
            ]
            found = sorted([*found, *(beam for beam, _ in grown if self._complete(beam))], key=_unlikely)[: self.width]
            going = sorted((pair for pair in grown if not self._complete(pair[0])), key=lambda pair: _unlikely(pair[0]))
            # A mean may still rise, but a beam that is behind all that are complete hardly catches up
            if len(found) == self.width and going and going[0][0].score < found[-1].score:
                return []
            return [self._step(beam, parent) for beam, parent in going[: self.width]]

        spent = beams.search(context, prompt, Beam(self.runs.all), advance)
        return found, spent

    def _grown(self, beam: Beam, logits: NDArray[np.float32]) -> Iterator[Beam]:
        """Yields the beam with each of the likeliest next tokens, and with its end."""
        logprobs = log_softmax(logits)
        tokens, edges = self.runs.successors(beam.run)
        if len(tokens) and tokens[-1] == self.runs.end:
            tokens = tokens[:-1]
            here = replace(beam, run=TokenRange(int(edges[-2]), int(edges[-1]), beam.run.length))
            if self.ends and beam.tokens:
                end = float(np.logaddexp.reduce(logprobs[list(self.ends)]))
                yield replace(here, logprob=beam.logprob + end, ended=True)
            elif beam.tokens:
                yield here
        forms = tokens if beam.tokens else np.array([self.form(int(token)) for token in tokens], np.int64)
        forms = np.where(logprobs[forms] > logprobs[tokens], forms, tokens) if len(tokens) else tokens
        for at in np.argsort(-logprobs[forms], kind="stable")[: self.width].tolist():
            run = TokenRange(int(edges[at]), int(edges[at + 1]), beam.run.length + 1)
            yield Beam(run, (*beam.tokens, int(forms[at])), beam.logprob + float(logprobs[forms[at]]))

    def _complete(self, beam: Beam) -> bool:
        if self.ends:
            return beam.ended
        alone = len(beam.run) == 1
        longest = self.longest if alone else min(self.longest, LONGEST - 1)
        if len(beam.tokens) >= longest or (alone and not self.whole):
            return True
        tokens, _ = self.runs.successors(beam.run)
        return len(tokens) == 1 and bool(tokens[0] == self.runs.end)

    def _step(self, beam: Beam, parent: int) -> beams.Step[Beam]:
        """Returns the step for a beam whose last token is still to be evaluated, and the tokens that must follow in a
        title."""
        stretch, run = [beam.tokens[-1]], beam.run
        while self.ends and run.length < self.longest:
            tokens, _ = self.runs.successors(run)
            if len(tokens) != 1 or tokens[0] == self.runs.end:
                break
            stretch.append(int(tokens[0]))
            run = TokenRange(run.first, run.last, run.length + 1)
        return beams.Step(replace(beam, run=run, tokens=(*beam.tokens, *stretch[1:])), parent, stretch)


def _scored(beam: Beam, rows: Logits) -> Beam:
    """Returns the beam at the end of a stretch, of which only the first token counts in its log-probability."""
    more = beam.tokens[len(beam.tokens) - len(rows) + 1 :] if len(rows) > 1 else ()
    logprob = float(log_softmax(rows[:-1])[np.arange(len(more)), list(more)].sum()) if more else 0.0
    return replace(beam, logprob=beam.logprob + logprob)


def _unlikely(beam: Beam) -> float:
    """Returns what the best beam has least of."""
    return -beam.score
