"""The patterns: how a document is read, and what the answer is given from.

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

from wim_edge.settings import Settings
from wim_edge.wim.pointing import BEAMS, LONGEST


@dataclass(frozen=True)
class Pattern:
    """``deep``: all segments in one sequence, else each alone after the system text. ``focus``: the answer
    comes from chosen segments, else from the context. ``scores``: segments or margins are scored."""

    name: str
    deep: bool
    margins: bool
    focus: bool

    @property
    def scores(self) -> bool:
        return self.margins or self.focus

    @property
    def whole(self) -> bool:
        """Documents that are longer than the context cannot be read."""
        return self.deep and not self.margins


PATTERNS = {
    pattern.name: pattern
    for pattern in (
        Pattern("llm", deep=True, margins=False, focus=False),
        Pattern("rag", deep=False, margins=False, focus=True),
        Pattern("wim", deep=True, margins=True, focus=False),
        Pattern("wim-focus", deep=True, margins=True, focus=True),
        Pattern("wim-shallow", deep=False, margins=True, focus=True),
    )
}

_ALL = 1 << 16
_SECONDS = 30.0  # in which a text is read whole, where it can be
_SHORT = 2048  # tokens of a text that is read whole by a model whose speed is not known
_BESIDE = 1024  # tokens for prompts, margins and the answer
_SEGMENT, _SEGMENT_ALONE = 1024, 256  # tokens; the weights of `order` were fitted with the latter


def automatic(tokens: int, n_ctx: int, speed: float | None) -> tuple[str, str]:
    """Returns the pattern for a model of which models.toml names none, and why in a few words: whole where the context
    holds the text and it is read soon, else the promising segments first.

    Args:
        tokens: of the documents, about.
        n_ctx: what the context may hold.
        speed: tokens a second, if known.
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



@dataclass(frozen=True)
class Choices:
    """What the settings leave open, decided: the user's choice or the model's in models.toml, else, for a
    model without figures of its own, the ones below."""

    pattern: Pattern
    relevance: str
    verbatim: bool
    """Margins are quotations, else the model's own words."""
    margin_tokens: int
    segment_tokens: int
    max_passages: int
    prose: bool
    """The model writes an answer in its own words; else it points at one."""

    @property
    def run_tokens(self) -> int:
        """Tokens of the longest run that is pointed at for a quotation."""
        return min(LONGEST, self.margin_tokens)

    @property
    def decoded_tokens(self) -> int:
        """Tokens that a margin takes to be found or written, at most."""
        return BEAMS * self.run_tokens if self.verbatim else self.margin_tokens

    @classmethod
    def of(cls, settings: Settings) -> Choices:
        pattern, verbatim = PATTERNS[settings.pattern or "wim"], settings.margins != "free"
        # Reading segments once more, alone, ranks them better: worth its price where the answer comes from them
        again = pattern.focus or settings.query_first or settings.other_judge is not None
        relevance = settings.relevance or ("cascade" if again else "likelihood-gain")
        # Every margin is written before its verdict: all that are relevant may stand beside the context
        most = _ALL if relevance == "verdict" and not pattern.focus else 4
        return cls(
            pattern,
            relevance,
            verbatim,
            settings.margin_tokens or (128 if verbatim else 64),
            settings.segment_tokens or (_SEGMENT if pattern.deep else _SEGMENT_ALONE),
            settings.max_passages or most,
            settings.prose is not False or not verbatim or not pattern.margins,
        )
