"""A second reading of likely places, alone: rows of tables, and the paragraph of the best run.

A small model confuses rows and columns of a whole table, but finds the right cell of a single row that has its labels.
A model without an adapter may point at a neighbouring name or number; less text around it helps (docs/choices.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from wim_edge.documents import Segment
from wim_edge.documents.units import Row
from wim_edge.reading.pointing import Pointed
from wim_edge.reading.reading import Reading

AT_MOST = 6
"""The most rows that are read alone, of about 60 tokens each."""
_AT_ONCE = 2  # rows in one batch: the reading and the beams need sequences too
_LONGEST, _LONGEST_CELL = 600, 120  # characters of a row, and of a cell that can be an answer
_NEARLY, _BETWEEN = 0.8, "\n\n"  # a paragraph of at least this share of its segment is not read again


@dataclass(frozen=True)
class RowRead:
    """A row that was read alone."""

    row: Row
    answers: float
    """An adapter's log-odds, in nats, that the row answers."""
    cells: tuple[tuple[int, float], ...]
    """Cell numbers with log P(the cell is the answer), in nats."""


def read_rows(reading: Reading, rows: Sequence[tuple[int, Row]]) -> Iterator[RowRead]:
    """Reads rows, given with their segment numbers, and yields the model's result for each.

    Stops early when the context has no room for more. Raises Interrupted.
    """
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
                    cells = [n for n, text in enumerate(row.texts) if 0 < len(text) <= _LONGEST_CELL]
                    pointer = reading.writer.pointer
                    rated = pointer.rate(fork, [row.texts[n] for n in cells])
                    yield RowRead(row, pointer.log_odds(fork.logits), tuple(zip(cells, rated, strict=True)))


def read_paragraph(reading: Reading, index: int, start: int, end: int) -> Pointed | None:
    """Returns the runs that the model points at in the paragraph around ``[start, end)`` of segment ``index``.

    None if the paragraph is nearly the whole segment or does not fit the context. Raises Interrupted.
    """
    planned = reading.plan.segments[index]
    segment = planned.segment
    left = segment.text.rfind(_BETWEEN, 0, start - segment.start) + 1
    right = segment.text.find(_BETWEEN, end - segment.start)
    text = segment.text[left : right if right >= 0 else len(segment.text)]
    tokens = reading.model.tokenize(text)
    before = [*reading.plan.prefix, *planned.heading_tokens]
    need = len(reading.cache.sequence) + len(before) + len(tokens) + reading.plan.reserved
    if len(text) >= _NEARLY * len(segment.text) or need > reading.context.n_ctx:
        return None
    at = segment.start + left
    alone = Segment(segment.document, at, at + len(text), text, tuple(tokens))
    with reading.context.sequence() as sequence:
        with reading.clock.stage("answer"):
            sequence.append([*before, *tokens])
        return reading.writer.point(alone, sequence)
