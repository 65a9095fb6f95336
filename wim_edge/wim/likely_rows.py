"""The likeliest row of a document's tables for a question: the one that makes the question likeliest.

What `wim_edge.wim.relevance.likelihood` does with segments (Ponte and Croft 1998; Sachan et al. 2022), done with rows:
they are short, so that a small model tells them apart where it cannot find its way in a whole table, and by what they
mean where none has the question's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from wim_edge.engine.protocols import N_SEQUENCES
from wim_edge.engine.sampling import log_likelihoods
from wim_edge.wim.likely_cells import LabelledRow
from wim_edge.wim.reading import Reading

MOST = 16
"""The rows that are asked of a question, at most: each is some 40 tokens to read."""
_LONGEST, _AT_ONCE = 300, N_SEQUENCES // 2
"""The characters of a row that are read, and the rows in a batch: the reading holds some sequences itself."""
_BETWEEN = "\n\nQuestion:"
"""The text between row and question: of 39 rows 37 came first so, and 32 in the prompt of segments."""


def likely_rows(reading: Reading, rows: Sequence[LabelledRow], question: str) -> list[tuple[float, LabelledRow]]:
    """Returns log P(question | row), in nats, of each of the rows, and the row, the likeliest first; none where the
    context has no room for one. Raises Interrupted."""
    scores = question_likelihoods(reading, [shown(row) for row in rows[:MOST]], question)
    return sorted(zip(scores, rows, strict=False), key=lambda one: -one[0])


def question_likelihoods(reading: Reading, texts: Sequence[str], question: str) -> list[float]:
    """Returns log P(question | text), in nats, for rows or sentences; none where the context has no room for one.
    Raises Interrupted."""
    read = [reading.model.tokenize(text[:_LONGEST] + _BETWEEN) for text in texts]
    asked = reading.model.tokenize(f" {question}")
    longest = max(map(len, read), default=0) + len(asked)
    at_once = min(_AT_ONCE, (reading.context.n_ctx - len(reading.cache.sequence)) // max(1, longest))
    scores: list[float] = []
    with reading.clock.stage("answer"):
        for at in range(0, len(read), max(1, at_once)) if at_once > 0 else ():
            reading.control.check()
            some = read[at : at + at_once]
            with ExitStack() as stack:
                sequences = [stack.enter_context(reading.context.sequence()) for _ in some]
                reading.context.append_each(list(zip(sequences, some, strict=True)))
                scores += log_likelihoods(reading.context, [(one, asked) for one in sequences])
    return scores


def shown(row: LabelledRow) -> str:
    """Returns a row as it is read: each cell after its label, below the title of its group."""
    cells = (f"{label}: {text}" if label else text for label, text in zip(row.labels, row.texts, strict=True) if text)
    return "\n".join(part for part in (row.group, "; ".join(cells)) if part)
