"""A summary as rows of text, for the terminal and the page alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wim_edge.evaluation.tasks import task_named

_SHARES = {
    "accuracy": "accuracy", "contains": "contains", "f1": "f1", "exact": "exact",
    "in_quotes": "in quotes", "in_passages": "in passages", "recall": "recall",
    "not_found_rate": "not found", "false_not_found_rate": "falsely", "guess_rate": "guessed",
    "sure": "sure", "right_when_sure": "right when sure", "auroc": "auroc", "loops": "loops",
    "echoes": "echoes", "gold_ranked_first": "gold first", "gold_in_first_two": "in first two",
}  # fmt: skip
"""The figures that are shown and are shares of 1, with their headings."""
_SECONDS = {"seconds_first": "s first", "seconds_later": "s later", "seconds_per_example": "s/example"}


def rows(summary: dict[str, Any]) -> list[list[str]]:
    """Returns the head, then a row for each pattern; columns that no pattern has are left out."""
    patterns = summary["patterns"]
    swept = next((key for p in patterns for key in p if key.startswith("by_")), "")
    values = list(dict.fromkeys(x for p in patterns for x in p.get(swept, {})))
    shares, seconds = _held(_SHARES, patterns), _held(_SECONDS, patterns)
    if "seconds_first" in seconds:
        del seconds["seconds_per_example"]
    main = task_named(summary["task"]).metric
    head = ["pattern", "n", *shares.values(), f"95% of {_SHARES[main]}", *(f"{swept[3:]} {x}" for x in values),
            *seconds.values(), "x llm", "errors"]  # fmt: skip
    return [head, *(_row(p, main, swept, values, shares, seconds) for p in patterns)]


def share(value: float | None) -> str:
    """Returns a share of 1 in percent."""
    return "-" if value is None else f"{100 * value:.1f}%"


def _row(
    found: dict[str, Any], main: str, swept: str, values: Iterable[str], shares: Iterable[str], seconds: Iterable[str]
) -> list[str]:
    by_x = found.get(swept, {})
    return [
        _name(found),
        str(found["n"]),
        *(share(found.get(name)) for name in shares),
        "–".join(share(bound) for bound in found["ci95"] or ()) or "-",
        *(share(by_x.get(x, {}).get(main)) for x in values),
        *(_number(found.get(name), 1) for name in seconds),
        _number(found["cost_vs_llm"], 2),
        str(len(found["errors"])),
    ]


def _held(columns: dict[str, str], patterns: list[dict[str, Any]]) -> dict[str, str]:
    """Returns the columns that any pattern has."""
    return {key: label for key, label in columns.items() if any(p.get(key) is not None for p in patterns)}


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _name(pattern: dict[str, Any]) -> str:
    asked, used = pattern["pattern"], pattern["resolved_pattern"]
    return asked if used in (None, asked) else f"{asked} ({used})"
