"""The patterns: ways of reading a document and giving the answer (Writing in the Margins).

    llm          the whole context, then the question
    rag          the segments that score best, then the question (section 4.2)
    wim          the whole context, relevant margins, the question (section 3)
    wim-focus    the whole context with margins; the answer comes from the most relevant segments, read again alone
    wim-shallow  each segment alone, with a margin if it may matter; the answer comes from the best. Cost is linear in
                 the document's length, which the context does not limit
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """A way of reading a document.

    ``deep``: all segments are read in one sequence, else each alone after the system text. ``answers_from_passages``:
    the answer comes from chosen segments, else from the context.
    """

    name: str
    deep: bool
    margins: bool
    answers_from_passages: bool

    @property
    def scores(self) -> bool:
        """Returns whether segments or margins are scored."""
        return self.margins or self.answers_from_passages

    @property
    def needs_full_context(self) -> bool:
        """Returns whether the documents must fit the context."""
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

_SECONDS = 30.0  # a text that takes no longer is read whole
_SHORT = 2048  # tokens of a text that is read whole if the speed is unknown
_BESIDE = 1024  # tokens for prompts, margins and the answer


def automatic(tokens: int, n_ctx: int, speed: float | None) -> tuple[str, str]:
    """Returns the pattern and the reason for it: `wim` if the text fits the context and is soon read, else
    `wim-shallow`.

    Args:
        tokens: the approximate number of tokens in the documents.
        n_ctx: the most cells of a context.
        speed: tokens per second of reading, if known.
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
