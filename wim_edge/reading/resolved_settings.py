"""The settings that a question is answered with, and their origins: the only place where sources are merged.

A setting comes from the first of these that has a value:

    given         the caller: an option, a variable ``WIM_EDGE_*``, or a field of `Settings`
    tuned.json    the values that `wim-edge tune` measured as fastest on this machine (`wim_edge.tuned`)
    models.toml   the values measured best with the model
    length        the pattern alone: by text length and model speed (`wim_edge.reading.pattern.automatic`)
    pattern       the values that go with the pattern
    default       the values in `wim_edge.settings`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wim_edge.reading.pattern import PATTERNS, Pattern
from wim_edge.reading.pointing import BEAMS, LONGEST
from wim_edge.settings import MARGINS, Settings

_ALL = 1 << 16
_SEGMENT, _SEGMENT_ALONE = 1024, 256  # tokens; the weights of `order` were fitted with the latter
_QUOTATION, _OWN_WORDS = 128, 64  # tokens of a margin; a quotation's length costs no decoding
_PASSAGES = 4
_MEASURED_TOGETHER = frozenset({"flash_attn", "kv_type"})
MEASURED_BEST = "measured best with this model"


@dataclass(frozen=True)
class ResolvedSettings:
    """The settings, with all that they leave open decided."""

    settings: Settings
    """The settings, each field filled if a source has a value. None: the engine decides when it loads the model."""
    origins: Mapping[str, str]
    """The origin of each field's value (see above)."""
    pattern: Pattern
    relevance: str
    margins: str
    """The way by which margins come about, one of MARGINS."""
    margin_tokens: int
    segment_tokens: int
    max_passages: int
    prose: bool
    """True if the model writes an answer in its own words; else it points at one."""
    why: str | None = None
    """The reason for the pattern, if the user has not chosen it."""

    @property
    def margins_are_pointed_at(self) -> bool:
        """Tells whether margins are quotations, which are pointed at; else they are written."""
        return _are_pointed_at(self.margins)

    @property
    def run_tokens(self) -> int:
        """The tokens of the longest run that is pointed at for a quotation."""
        return min(LONGEST, self.margin_tokens)

    @property
    def decoded_tokens(self) -> int:
        """The most tokens that are decoded to find or write a margin."""
        return BEAMS * self.run_tokens if self.margins_are_pointed_at else self.margin_tokens

    def explained(self) -> dict[str, dict[str, Any]]:
        """Returns each setting's effective ``value``, in its JSON form, and ``origin``, by its name. The origin of a
        value from an environment variable is the variable's name. None is decided when the model is loaded (threads,
        layers) or the text is known (context)."""
        environment = Settings.from_environment()
        decided = {
            "pattern": self.pattern.name, "relevance": self.relevance,
            "margins": self.margins,
            "margin_tokens": self.margin_tokens, "segment_tokens": self.segment_tokens,
            "max_passages": self.max_passages, "prose": self.prose,
        }  # fmt: skip
        explained = {}
        for name in (field.name for field in fields(Settings)):
            value, origin = getattr(self.settings, name), self.origins[name]
            if origin == "given" and getattr(environment, name) == value:
                origin = f"WIM_EDGE_{name.upper()}"
            value = decided.get(name, value)
            plain = str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
            explained[name] = {"value": plain, "origin": origin}
        return explained


def _are_pointed_at(margins: str) -> bool:
    return margins == "verbatim"


def resolve(
    settings: Settings,
    suggested: Mapping[str, Any] | None = None,
    tuned: Mapping[str, Any] | None = None,
    automatic: tuple[str, str] | None = None,
) -> ResolvedSettings:
    """Merges the user's settings with those for the model, the machine and the text.

    Args:
        settings: the given ones, the rest at their defaults.
        suggested: the model's settings in models.toml.
        tuned: the settings of its entry in tuned.json.
        automatic: the pattern for a text of this length, and the reason, if neither the user nor models.toml names one.
    """
    usual = Settings()
    names = [field.name for field in fields(Settings)]
    given = {name for name in names if getattr(settings, name) != getattr(usual, name)}
    origins = {name: "given" if name in given else "default" for name in names}
    changes: dict[str, Any] = {}
    together = _MEASURED_TOGETHER if given & _MEASURED_TOGETHER else frozenset()
    for origin, found, taken in (("tuned.json", tuned, given | together), ("models.toml", suggested, given)):
        for name, value in (found or {}).items():
            if name not in taken and name not in changes:
                changes[name], origins[name] = value, origin
    settings, why = settings.with_changes(**changes), MEASURED_BEST if origins["pattern"] == "models.toml" else None
    if settings.pattern is None and automatic is not None:
        settings, why, origins["pattern"] = settings.with_changes(pattern=automatic[0]), automatic[1], "length"
    pattern, margins = PATTERNS[settings.pattern or "wim"], settings.margins or MARGINS[0]
    is_pointed = _are_pointed_at(margins)
    # Reading segments once more, alone, ranks them better: worth its price where the answer comes from them
    is_judged_apart = settings.other_judge is not None
    again = pattern.answers_from_passages or settings.query_first or is_judged_apart
    relevance = settings.relevance or ("cascade" if again else "likelihood-gain")
    # Every margin is written before its verdict: all that are relevant may stand beside the context
    most = _ALL if relevance == "verdict" and not pattern.answers_from_passages else _PASSAGES
    for name in ("relevance", "margin_tokens", "segment_tokens", "max_passages"):
        if getattr(settings, name) is None:
            origins[name] = "pattern"
    return ResolvedSettings(
        settings,
        origins,
        pattern,
        relevance,
        margins,
        settings.margin_tokens or (_QUOTATION if is_pointed else _OWN_WORDS),
        settings.segment_tokens or (_SEGMENT if pattern.deep else _SEGMENT_ALONE),
        settings.max_passages or most,
        settings.prose is not False or not is_pointed or not pattern.margins,
        why,
    )
