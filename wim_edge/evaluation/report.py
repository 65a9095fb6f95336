"""A run as one self-contained HTML page: table, command, plots, example answers."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from wim_edge.evaluation.plots import draw, draw_retrievers
from wim_edge.evaluation.records import Record
from wim_edge.evaluation.tasks import task_named
from wim_edge.system.atomic_files import write_text

SHOWN = 10
"""Example questions on the page."""

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #8886; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8882; padding: .8rem; border-radius: .4rem }
img { max-width: 100%; background: #fff; border-radius: .4rem; margin: .5rem 0 }
dt { font-weight: 600 } dd { margin: 0 0 .3rem 1.5rem; overflow-wrap: anywhere }
.right { color: #1a7f37 } .wrong { color: #cf222e }
@media (prefers-color-scheme: dark) { .right { color: #56d364 } .wrong { color: #ff7b72 } }
"""


def write_report(folder: Path, summary: dict[str, Any], records: Sequence[Record]) -> Path:
    """Draws the plots into ``folder``, and puts them into its report.html; returns its path.

    Raises InvalidRequestError without matplotlib.
    """
    plots = draw(folder, summary)
    examples = f"<h2>Example answers</h2>{''.join(_examples(records))}"
    return _page(folder, summary, rows(summary), plots, _errors(summary["patterns"], "pattern"), examples)


def write_recall_report(folder: Path, summary: dict[str, Any], table: list[list[str]]) -> Path:
    """Writes the same report for retrievers, without examples."""
    plots = [draw_retrievers(folder, summary["retrievers"])]
    return _page(folder, summary, table, plots, _errors(summary["retrievers"], "retriever"))


def _page(folder: Path, summary: dict[str, Any], table: list[list[str]], plots: Sequence[Path], *more: str) -> Path:
    title = f"{summary['task']}, {summary['model']}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<pre>{escape(summary['command'])}</pre>",
        _table(table),
        *(_image(path) for path in plots),
        *more,
    ]
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body>\n{chr(10).join(body)}\n</body></html>\n"
    )
    path = folder / "report.html"
    write_text(path, page)
    return path


def _table(table: list[list[str]]) -> str:
    head, *body = table
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body)
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f'<div class="wide"><table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div>'


def _image(path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(path.stem.replace("_", " "))}" src="data:image/png;base64,{data}">'


def _errors(figures: Sequence[dict[str, Any]], name: str) -> str:
    failed = [(found[name], error) for found in figures for error in found["errors"]]
    lines = (f"{who}, {error['id']}: {error['error']}" for who, error in failed)
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>Failed, counted as wrong: {len(failed)}</h2><ul>{items}</ul>" if failed else ""


def _examples(records: Iterable[Record]) -> Iterable[str]:
    """Yields the first questions, each once, with every pattern's answer."""
    by_id: dict[str, list[Record]] = {}
    groups: dict[str, str] = {}
    for record in records:
        if groups.setdefault(record.group, record.id) == record.id and (record.answers or record.unanswerable):
            by_id.setdefault(record.id, []).append(record)
    for found in list(by_id.values())[:SHOWN]:
        lines = "".join(_answer(record) for record in found)
        right = escape(" | ".join(found[0].answers) or "the document does not say")
        yield f"<h3>{escape(found[0].question)}</h3><p>Right: {right}</p><dl>{lines}</dl>"


def _answer(record: Record) -> str:
    names = ("not_found",) if record.unanswerable else ("accuracy", "contains", "f1")
    score = next((record.scores[name] for name in names if name in record.scores), 0.0)
    kind, said = ("right" if score == 1 else "wrong"), record.answer if record.error is None else record.error
    return f'<dt>{escape(record.pattern)} <span class="{kind}">{score:.2g}</span></dt><dd>{escape(said or "")}</dd>'


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
    """Returns the head and a row for each pattern, without the columns that no pattern has."""
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
