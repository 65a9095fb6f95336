"""The patterns, each a way of reading a document and the source of the answer.

    llm          the whole context, then the question
    rag          the segments that score best, then the question (Writing in the Margins, section 4.2)
    wim          the whole context, relevant margins, question (section 3)
    wim-focus    the whole context is read with margins; the answer comes from the few most relevant
                 segments, read again alone, with their margins
    wim-shallow  each segment is read alone after the system text, scored, given a margin if it may
                 matter; the answer comes from the best: linear in the document, no limit by the context
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """A way of reading a document, and the source of the answer.

    ``deep``: all segments are read in one sequence, else each alone after the system text. ``answers_from_passages``:
    the answer comes from chosen segments, else from the context. ``scores``: segments or margins are scored.
    """

    name: str
    deep: bool
    margins: bool
    answers_from_passages: bool

    @property
    def scores(self) -> bool:
        return self.margins or self.answers_from_passages

    @property
    def needs_full_context(self) -> bool:
        """Tells whether documents that are longer than the context cannot be read."""
        return self.deep and not self.margins


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        Pattern("llm", deep=True, margins=False, answers_from_passages=False),
        Pattern("rag", deep=False, margins=False, answers_from_passages=True),
        Pattern("wim", deep=True, margins=True, answers_from_passages=False),
        Pattern("wim-focus", deep=True, margins=True, answers_from_passages=True),
        Pattern("wim-shallow", deep=False, margins=True, answers_from_passages=True),
    )
}

_SECONDS = 30.0  # in which a text is read whole, where it can be
_SHORT = 2048  # tokens of a text that is read whole by a model whose speed is not known
_BESIDE = 1024  # tokens for prompts, margins and the answer


def automatic(tokens: int, n_ctx: int, speed: float | None) -> tuple[str, str]:
    """Returns the pattern for a model for which models.toml names none, and the reason in a few words: the text is read
    whole if the context holds it and reading is soon done, else the promising segments are read first.

    Args:
        tokens: the number of tokens in the documents, roughly.
        n_ctx: the most cells that the context may have.
        speed: the tokens read per second, if known.
    """
    seconds = tokens / speed if speed else None
    if tokens + _BESIDE > n_ctx:
        return "wim-shallow", f"longer than the context of {n_ctx:,} tokens"
    if seconds is None:
        short = tokens <= _SHORT
        return ("wim", "a short text is read whole") if short else ("wim-shallow", "--pattern wim reads all of it")
    if seconds <= _SECONDS:
        return "wim", f"read whole, in about {_time(seconds)}"
    return "wim-shallow", f"whole, with --pattern wim, it would take about {_time(seconds)}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
