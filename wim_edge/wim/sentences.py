"""Which sentence answers, where runs of several are nearly as likely.

A run may be likely for its form alone: a date where "when" is asked. What tells the best passage tells the sentence
too: how much likelier it, alone after the opening, makes the question (likelihood.py). Only the runs' sentences are
measured that may still win: one or two, a short batch each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from math import log

from wim_edge.engine.api import Sequence
from wim_edge.wim.likelihood import Question
from wim_edge.wim.pointing import Pointed
from wim_edge.wim.prompts import Prompts
from wim_edge.wim.quotation import Quotation
from wim_edge.wim.reading import Reading

NEAR = 6.0
"""Nats below the likeliest run within which one may still win."""
WEIGHT = 0.3
"""Nats that a run gains for one of the question after its sentence (docs/choices.md)."""


def weighed(
    reading: Reading, prompts: Prompts, found: Mapping[int, Pointed], question: str
) -> dict[int, Pointed]:
    """Returns what the model points at with the runs that may still win, each by its sentence too; as it is, where
    there is one sentence alone, or no room for another one.

    Raises Interrupted.
    """
    shares = {
        (index, run): log(max(reading.ranking.relevance(index), 1e-9)) + run.logprob
        for index, pointed in found.items()
        for run in pointed.runs
    }
    least = max(shares.values(), default=0.0) - NEAR
    carriers = {
        (index, run): (index, reading.writer.quotation(index, run.start, run.end))
        for (index, run), share in shares.items()
        if share >= least
    }
    gains = _likelihoods(reading, Question(reading.model, prompts, question), dict.fromkeys(carriers.values()))
    if len(gains) < 2:
        return dict(found)
    most = max(gains.values())
    loss = {key: WEIGHT * (gains[carrier] - most) for key, carrier in carriers.items()}
    return {
        index: replace(
            pointed,
            runs=tuple(
                sorted(
                    (replace(run, logprob=run.logprob + loss[index, run])
                     for run in pointed.runs if (index, run) in loss),
                    key=lambda run: -run.logprob,
                )
            ),
        )
        for index, pointed in found.items()
    }  # fmt: skip


def _likelihoods(
    reading: Reading, question: Question, carriers: Iterable[tuple[int, Quotation]]
) -> dict[tuple[int, Quotation], float]:
    """log P(question | sentence alone), in nats; nothing where there is one alone, or no room."""
    texts = {carrier: _tokens(reading, *carrier) for carrier in carriers}
    longest = max(map(len, texts.values()), default=0) + len(question)
    if len(texts) < 2 or (opening := _opening(reading, longest)) is None:
        return {}
    found = {}
    with reading.clock.stage("answer"), closing(opening):
        for carrier, tokens in texts.items():
            with opening.fork() as sequence:
                sequence.append(tokens)
                found[carrier] = question.log_likelihood(sequence)
    return found


def _tokens(reading: Reading, index: int, quotation: Quotation) -> list[int]:
    piece = reading.plan.segments[index]
    text = reading.plan.documents[piece.segment.document].text[quotation.start : quotation.end]
    header = f"{quotation.header}\n" if quotation.header and quotation.header not in piece.heading else ""
    return reading.model.tokenize(f"{piece.heading}{header}{text}")


def _opening(reading: Reading, n_tokens: int) -> Sequence | None:
    """A sequence that holds the opening alone, with room for so many tokens; None where there is none."""
    sequence, length = reading.window.sequence, len(reading.plan.opening)
    if not reading.choices.pattern.deep:
        sequence.truncate(length)
    elif len(sequence) + length + n_tokens + reading.plan.reserved > reading.context.n_ctx:
        return None
    return sequence.fork(length)
