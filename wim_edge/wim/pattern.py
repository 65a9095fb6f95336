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

    @classmethod
    def of(cls, settings: Settings) -> Choices:
        pattern, verbatim = PATTERNS[settings.pattern or "wim"], settings.margins != "free"
        # Reading segments once more, alone, ranks them better: worth its price where the answer comes from them
        again = pattern.focus or settings.query_first or settings.relevance_model is not None
        relevance = settings.relevance or ("cascade" if again else "likelihood-gain")
        # Every margin is written before its verdict: all that are relevant may stand beside the context
        most = _ALL if relevance == "verdict" and not pattern.focus else 4
        return cls(
            pattern,
            relevance,
            verbatim,
            settings.margin_tokens or (128 if verbatim else 64),
            settings.segment_tokens or 1024,
            settings.max_passages or most,
        )
