"""A summary as rows of text, for the terminal and the page alike."""

from __future__ import annotations

from typing import Any

from wim_edge.evaluation.tasks import task_named

_COLUMNS = (
    ("gold_ranked_first", "gold first"),
    ("gold_in_first_two", "in first two"),
)


def rows(summary: dict[str, Any]) -> list[list[str]]:
    """The head, then a row for each pattern; columns that no pattern has are left out."""
    patterns = summary["patterns"]
    scores = [name for name in ("accuracy", "f1", "recall") if any(p.get(name) is not None for p in patterns)]
    swept = next((key for p in patterns for key in p if key.startswith("by_")), "")
    values = list(dict.fromkeys(x for p in patterns for x in p.get(swept, {})))
    shares = [(key, label) for key, label in _COLUMNS if any(p[key] is not None for p in patterns)]
    main = task_named(summary["task"]).metric
    head = ["pattern", "n", *scores, f"95% of {main}", *(f"{swept[3:]} {x}" for x in values),
            *(label for _key, label in shares), "s/example", "x llm", "errors"]  # fmt: skip
    found = [head]
    for p in patterns:
        by_x = p.get(swept, {})
        found.append(
            [
                _name(p),
                str(p["n"]),
                *(share(p.get(name)) for name in scores),
                "–".join(share(bound) for bound in p["ci95"] or ()) or "-",
                *(share(by_x.get(x, {}).get(main)) for x in values),
                *(share(p[key]) for key, _label in shares),
                _number(p["seconds_per_example"], 1),
                _number(p["cost_vs_llm"], 2),
                str(len(p["errors"])),
            ]
        )
    return found


def share(value: float | None) -> str:
    """A share of 1 in percent."""
    return "-" if value is None else f"{100 * value:.1f}%"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _name(pattern: dict[str, Any]) -> str:
    asked, used = pattern["pattern"], pattern["resolved_pattern"]
    return asked if used in (None, asked) else f"{asked} ({used})"
