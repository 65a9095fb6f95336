"""The patterns of reading, and the merged settings with the origin of each value. Only this module merges settings.

A setting comes from the first of these sources that has a value:

    given         an option, an environment variable ``WIM_EDGE_*``, or a field of `Settings`
    tuned         the fastest value on this machine, found by `wim-edge tune` (`wim_edge.tuned`)
    models.toml   the best value for the model
    length        for the pattern only: chosen by the length of the text and the speed of the model (`automatic`)
    pattern       the default value for the pattern
    default       the value in `wim_edge.settings`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wim_edge.reading.pointing import BEAMS, LONGEST
from wim_edge.settings import MARGINS, Settings

_ALL = 1 << 16
_SEGMENT, _SEGMENT_ALONE = 1024, 256  # tokens; the weights in ranking.py were fitted with segments of 256
_QUOTATION, _OWN_WORDS = 128, 64  # tokens of a margin; a quotation's length costs no decoding
_PASSAGES, _POINTED = 4, "verbatim"
_MEASURED_TOGETHER = frozenset({"flash_attn", "kv_type"})
MEASURED_BEST = "measured best with this model"


@dataclass(frozen=True)
class ResolvedSettings:
    """The settings with every choice made, except for choices that the engine makes when it loads the model."""

    settings: Settings
    """The merged settings. If no source has a value, the setting is None, and a field below or the engine decides."""
    origins: Mapping[str, str]
    """{name of a setting: the source of its value, as the table in the module's docstring names it}."""
    pattern: Pattern
    relevance: str
    margins: str
    """The kind of margins, one of `wim_edge.settings.MARGINS`."""
    margin_tokens: int
    segment_tokens: int
    max_passages: int
    prose: bool
    """True if the model writes the answer in its own words, False if it points at words of the text."""
    why: str | None = None
    """The reason for the pattern, if the user did not choose it."""

    @property
    def margins_are_pointed_at(self) -> bool:
        """Returns whether margins are quotations, at which the model points, not the model's own words."""
        return self.margins == _POINTED

    @property
    def run_tokens(self) -> int:
        """The most tokens of a run, the words of the text at which the model points."""
        return min(LONGEST, self.margin_tokens)

    @property
    def decoded_tokens(self) -> int:
        """The most KV cells that decoding one margin takes. A quotation's cells are those of all `BEAMS` beams."""
        return BEAMS * self.run_tokens if self.margins_are_pointed_at else self.margin_tokens

    def explained(self) -> dict[str, dict[str, Any]]:
        """Returns {name: {"value": ..., "origin": ...}}: the effective value of each setting, as plain data for JSON.
        The origin of a value from an environment variable is its name. None is chosen later: threads and layers when
        the model is loaded, the context size when the text is known."""
        environment, explained = Settings.from_environment(), {}
        for name in (field.name for field in fields(Settings)):
            value, origin = getattr(self.settings, name), self.origins[name]
            if origin == "given" and getattr(environment, name) == value:
                origin = f"WIM_EDGE_{name.upper()}"
            value = self.pattern.name if name == "pattern" else getattr(self, name, value)
            plain = str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
            explained[name] = {"value": plain, "origin": origin}
        return explained


def resolve(
    settings: Settings, suggested: Mapping[str, Any] | None = None, tuned: Mapping[str, Any] | None = None,
    automatic: tuple[str, str] | None = None,
) -> ResolvedSettings:  # fmt: skip
    """Returns the settings, each from the first source that has it: the user, `tune`, models.toml, the default. A
    field of ``settings`` that equals its default counts as not given. ``suggested`` and ``tuned``: the model's settings
    in models.toml and by `tune`, by name. ``automatic``: the result of `automatic`, for want of another pattern."""
    usual = Settings()
    names = [field.name for field in fields(Settings)]
    given = {name for name in names if getattr(settings, name) != getattr(usual, name)}
    origins = {name: "given" if name in given else "default" for name in names}
    changes: dict[str, Any] = {}
    together = _MEASURED_TOGETHER if given & _MEASURED_TOGETHER else frozenset()
    for origin, found, taken in (("tuned", tuned, given | together), ("models.toml", suggested, given)):
        for name, value in (found or {}).items():
            if name not in taken and name not in changes:
                changes[name], origins[name] = value, origin
    settings, why = settings.with_changes(**changes), MEASURED_BEST if origins["pattern"] == "models.toml" else None
    if settings.pattern is None and automatic is not None:
        settings, why, origins["pattern"] = settings.with_changes(pattern=automatic[0]), automatic[1], "length"
    pattern, margins = PATTERNS[settings.pattern or "wim"], settings.margins or MARGINS[0]
    is_pointed = margins == _POINTED
    # Scoring segments alone ranks them better, but reads them twice: worth it if the answer comes from them
    is_judged_apart = settings.other_judge is not None
    again = pattern.answers_from_passages or settings.query_first or is_judged_apart
    relevance = settings.relevance or ("cascade" if again else "likelihood-gain")
    # The verdict method writes every margin anyway: all relevant ones may go into the final prompt
    most = _ALL if relevance == "verdict" and not pattern.answers_from_passages else _PASSAGES
    for name in ("relevance", "margin_tokens", "segment_tokens", "max_passages"):
        if getattr(settings, name) is None:
            origins[name] = "pattern"
    return ResolvedSettings(
        settings, origins, pattern, relevance, margins,
        margin_tokens=settings.margin_tokens or (_QUOTATION if is_pointed else _OWN_WORDS),
        segment_tokens=settings.segment_tokens or (_SEGMENT if pattern.deep else _SEGMENT_ALONE),
        max_passages=settings.max_passages or most,
        prose=settings.prose is not False or not is_pointed or not pattern.margins,
        why=why,
    )  # fmt: skip


@dataclass(frozen=True)
class Pattern:
    """A way of reading a document. ``deep``: all segments are read in one sequence; else each alone after the system
    text. ``margins``: the model takes notes on relevant segments. ``answers_from_passages``: the answer comes from
    chosen segments; else from the whole context."""

    name: str
    deep: bool
    margins: bool
    answers_from_passages: bool

    @property
    def scores(self) -> bool:
        """Returns whether segments or margins are scored for relevance to the question."""
        return self.margins or self.answers_from_passages

    @property
    def needs_full_context(self) -> bool:
        """Returns whether all documents must fit the context at once."""
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
    """Returns (pattern, reason): `wim` for a text that fits the context (of ``n_ctx`` tokens at most) and takes at most
    30 seconds to read, else `wim-shallow`. ``tokens``: roughly the tokens of the documents. ``speed``: of reading, in
    tokens per second; if it is None (unknown), a text of at most 2,048 tokens gets `wim`."""
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
