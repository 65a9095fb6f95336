"""A second look at what may answer, read alone: rows of tables, and the paragraph of the likeliest run.

In a whole table a small model loses rows and columns; of one row, each cell after its label, it tells well which cell
is asked for. A model that points by worked examples, and was not trained to, takes a name or number that stands beside
the right one where there is more text around it; one with an adapter gains nothing by it (docs/choices.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from wim_edge.documents import Segment
from wim_edge.documents.units import Row
from wim_edge.reading.pointing import AnswerRun, Pointed
from wim_edge.reading.reading import Reading

AT_MOST = 6
"""The rows that are read alone: each is some 60 tokens."""
_AT_ONCE = 2
"""The rows that are read at once: cells are put beside them, and the reading holds some sequences itself."""
_LONGEST, _LONGEST_CELL = 600, 120
"""The characters of a row that are read, and of a cell that is taken for an answer."""

_NEARLY, _BETWEEN = 0.8, "\n\n"
"""The share of a segment from which a paragraph is nearly all of it, and what parts paragraphs."""


@dataclass(frozen=True)
class RowRead:
    """A row that was read alone."""

    row: Row
    answers: float
    """The log-odds, in nats, that it answers, as an adapter tells them."""
    cells: tuple[tuple[int, float], ...]
    """The numbers of its cells, each with the log-probability, in nats, that the cell is the answer."""


def read_rows(reading: Reading, rows: Sequence[tuple[int, Row]]) -> Iterator[RowRead]:
    """Reads rows, each with the number of its segment, and yields what the model says of them; none where the context
    has no room for one. Raises Interrupted."""
    plan, tokenize = reading.plan, reading.model.tokenize
    texts = [
        [*plan.segments[index].heading_tokens, *tokenize(row.text[:_LONGEST]), *plan.margin_prompt]
        for index, row in rows
    ]
    room = reading.context.n_ctx - len(reading.cache.sequence) - len(plan.prefix)
    for at in range(0, len(rows), _AT_ONCE):
        some = texts[at : at + _AT_ONCE]
        if 2 * sum(map(len, some)) > room:
            return
        reading.control.check()
        with ExitStack() as stack, reading.clock.stage("answer"):
            opening = stack.enter_context(reading.context.sequence())
            opening.append(plan.prefix)
            forks = [stack.enter_context(opening.fork()) for _ in some]
            n_asked = len(plan.margin_prompt)
            reading.context.append_each([(fork, one[:-n_asked]) for fork, one in zip(forks, some, strict=True)])
            with reading.context.adapted():
                reading.context.append_each([(fork, one[-n_asked:]) for fork, one in zip(forks, some, strict=True)])
                for fork, (_, row) in zip(forks, rows[at : at + _AT_ONCE], strict=True):
                    there = [n for n, text in enumerate(row.texts) if 0 < len(text) <= _LONGEST_CELL]
                    pointer = reading.writer.pointer
                    rated = pointer.rate(fork, [row.texts[n] for n in there])
                    yield RowRead(row, pointer.log_odds(fork.logits), tuple(zip(there, rated, strict=True)))


def read_paragraph(reading: Reading, index: int, run: AnswerRun) -> Pointed | None:
    """Returns the runs that the model points at in the run's paragraph; None if that is nearly all of the segment of
    this number, or there is no room for it. Raises Interrupted."""
    planned = reading.plan.segments[index]
    segment = planned.segment
    start = segment.text.rfind(_BETWEEN, 0, run.start - segment.start) + 1
    end = segment.text.find(_BETWEEN, run.end - segment.start)
    text = segment.text[start : end if end >= 0 else len(segment.text)]
    tokens = reading.model.tokenize(text)
    before = [*reading.plan.prefix, *planned.heading_tokens]
    need = len(reading.cache.sequence) + len(before) + len(tokens) + reading.plan.reserved
    if len(text) >= _NEARLY * len(segment.text) or need > reading.context.n_ctx:
        return None
    at = segment.start + start
    alone = Segment(segment.document, at, at + len(text), text, tuple(tokens))
    with reading.context.sequence() as sequence:
        with reading.clock.stage("answer"):
            sequence.append([*before, *tokens])
        return reading.writer.point(alone, sequence, reading.plan.margin_prompt, reading.plan.query)
