"""A second look: the paragraph of the likeliest run, read alone.

A model that points by worked examples, and was not trained to, takes a name or number that stands beside the right one
where there is more text around it: within one paragraph it tells them apart better (docs/choices.md).
"""

from __future__ import annotations

from wim_edge.documents import Segment
from wim_edge.wim.candidates import AnswerCandidate
from wim_edge.wim.pointing import Pointed
from wim_edge.wim.reading import Reading

_NEARLY = 0.8
"""The share of a segment from which its paragraph is nearly all of it, and need not be read once more."""
_BETWEEN = "\n\n"


def look_again(reading: Reading, run: AnswerCandidate, question: str) -> Pointed | None:
    """Returns the runs that the model points at in the run's paragraph; None if that is nearly all of the segment that
    it was read in, or there is no room for it. Raises Interrupted."""
    planned = reading.plan.segments[run.index]
    segment = planned.segment
    start = segment.text.rfind(_BETWEEN, 0, run.start - segment.start) + 1
    end = segment.text.find(_BETWEEN, run.end - segment.start)
    text = segment.text[start : end if end >= 0 else len(segment.text)]
    if len(text) >= _NEARLY * len(segment.text):
        return None
    tokens = reading.model.tokenize(text)
    before = [*reading.plan.prefix, *planned.heading_tokens]
    if len(reading.cache.sequence) + len(before) + len(tokens) + reading.plan.reserved > reading.context.n_ctx:
        return None
    at = segment.start + start
    alone = Segment(segment.document, at, at + len(text), text, tuple(tokens))
    with reading.context.sequence() as sequence:
        with reading.clock.stage("answer"):
            sequence.append([*before, *tokens])
        return reading.writer.point(alone, sequence, reading.plan.margin_prompt, question)
