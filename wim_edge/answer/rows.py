"""Rows of tables read alone: the cells of each as answers.

In a whole table a small model loses rows and columns; of one row, each cell after its label, it tells well which cell
is asked for. The rows are those that have most of the question's rare words, in the passages that answer best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from wim_edge.documents.units import Row
from wim_edge.wim.reading import Reading

AT_MOST = 8
"""The rows that are read alone: each is some 60 tokens."""
_AT_ONCE = 2
"""The rows that are read at once: cells are put beside them, and the reading holds some sequences itself."""
_LONGEST, _LONGEST_CELL = 600, 120
"""The characters of a row that are read, and of a cell that is taken for an answer."""


@dataclass(frozen=True)
class RowRead:
    """A row that was read alone."""

    row: Row
    answers: float
    """The log-odds, in nats, that it answers, as an adapter tells them."""
    cells: tuple[tuple[int, float], ...]
    """The numbers of its cells, each with the log-probability, in nats, that the cell is the answer."""


def read_alone(reading: Reading, rows: Sequence[tuple[int, Row]]) -> Iterator[RowRead]:
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
