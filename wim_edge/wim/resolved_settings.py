"""Every setting that a question is answered with, and where each comes from: the only place where sources are merged.

From the first of these that has a value:

    given         by the caller: an option, a variable ``WIM_EDGE_*``, or a field of `Settings`
    tuned.json    what `wim-edge tune` measured as fastest on this machine (`wim_edge.tuned_settings`)
    models.toml   what was measured best with the model
    length        the pattern alone: by the length of the text and the model's speed (`wim_edge.wim.pattern.automatic`)
    pattern       what goes with the pattern
    default       as `wim_edge.settings` has it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wim_edge.settings import ITSELF, Settings
from wim_edge.wim.pattern import PATTERNS, Pattern
from wim_edge.wim.pointing import BEAMS, LONGEST

_ALL = 1 << 16
_SEGMENT, _SEGMENT_ALONE = 1024, 256  # tokens; the weights of `order` were fitted with the latter
_QUOTATION, _OWN_WORDS = 128, 64  # tokens of a margin; a quotation's length costs no decoding
_PASSAGES = 4
_MEASURED_TOGETHER = frozenset({"flash_attn", "kv_type"})
MEASURED_BEST = "measured best with this model"


@dataclass(frozen=True)
class ResolvedSettings:
    """What the settings leave open, decided."""

    settings: Settings
    """With a value in every field that something has one for. None: the engine decides when it loads the model."""
    origins: Mapping[str, str]
    """Where each field's value comes from (see above)."""
    pattern: Pattern
    relevance: str
    verbatim: bool
    """Margins are quotations, else the model's own words."""
    margin_tokens: int
    segment_tokens: int
    max_passages: int
    prose: bool
    """The model writes an answer in its own words; else it points at one."""
    why: str | None = None
    """Why it is read in this pattern, where the user has not chosen it."""

    @property
    def run_tokens(self) -> int:
        """Tokens of the longest run that is pointed at for a quotation."""
        return min(LONGEST, self.margin_tokens)

    @property
    def decoded_tokens(self) -> int:
        """Tokens that a margin takes to be found or written, at most."""
        return BEAMS * self.run_tokens if self.verbatim else self.margin_tokens

    def explained(self) -> dict[str, dict[str, Any]]:
        """Returns each setting's effective ``value``, as JSON has it, and ``origin``, by its name. What was given by a
        variable of the environment has its name. None is decided when the model is loaded (threads, layers) or the
        text is known (context)."""
        environment = Settings.from_environment()
        decided = {
            "pattern": self.pattern.name, "relevance": self.relevance,
            "margins": "verbatim" if self.verbatim else "free",
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


def resolve(
    settings: Settings,
    suggested: Mapping[str, Any] | None = None,
    tuned: Mapping[str, Any] | None = None,
    automatic: tuple[str, str] | None = None,
) -> ResolvedSettings:
    """Merges what the user set with what is known of model, machine and text.

    Args:
        settings: what was given, the rest at its default.
        suggested: the model's settings in models.toml.
        tuned: those of its entry in tuned.json.
        automatic: the pattern for a text of this length, and why, where neither the user nor models.toml names one.
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
    pattern, verbatim = PATTERNS[settings.pattern or "wim"], settings.margins != "free"
    # Reading segments once more, alone, ranks them better: worth its price where the answer comes from them
    is_judged_apart = settings.relevance_model not in (None, ITSELF)
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
        verbatim,
        settings.margin_tokens or (_QUOTATION if verbatim else _OWN_WORDS),
        settings.segment_tokens or (_SEGMENT if pattern.deep else _SEGMENT_ALONE),
        settings.max_passages or most,
        settings.prose is not False or not verbatim or not pattern.margins,
        why,
    )
