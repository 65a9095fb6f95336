"""The report of a run: one self-contained HTML page with command, table, plots (by matplotlib) and example answers."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wim_edge.errors import required
from wim_edge.evaluation.conditions import CONTROLS
from wim_edge.evaluation.records import Record
from wim_edge.evaluation.tasks import task_named
from wim_edge.system.atomic_files import write_text

SHOWN = 10
"""The number of example questions on the page."""

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
    """Writes the plots and report.html to ``folder``; returns the path of report.html. Raises InvalidRequestError if
    matplotlib is missing."""
    plots = draw(folder, summary)
    examples = f"<h2>Example answers</h2>{''.join(_examples(records))}"
    return _page(folder, summary, rows(summary), plots, _errors(summary["patterns"], "pattern"), examples)


def write_recall_report(folder: Path, summary: dict[str, Any], table: list[list[str]]) -> Path:
    """Writes recall.png and report.html, which compare retrievers. ``table``: the rows from `recall.table_of`."""
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
    """Yields HTML for each of the first ten questions: the answers of all patterns to one example of the question."""
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
"""The figures of a summary that are shares, 0 to 1: {name: the heading of its column}."""
_SECONDS = {"seconds_first": "s first", "seconds_later": "s later", "seconds_per_example": "s/example"}


def rows(summary: dict[str, Any]) -> list[list[str]]:
    """Returns the report's table: the column names, then a row for each pattern. Omits columns without values."""
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
    """Returns a share (0 to 1) as a percentage with one decimal, or "-" for None."""
    return "-" if value is None else f"{100 * value:.1f}%"


def _row(
    found: dict[str, Any], main: str, swept: str, values: Iterable[str], shares: Iterable[str], seconds: Iterable[str]
) -> list[str]:
    by_x, asked, used = found.get(swept, {}), found["pattern"], found["resolved_pattern"]
    return [
        asked if used in (None, asked) else f"{asked} ({used})",
        str(found["n"]),
        *(share(found.get(name)) for name in shares),
        "–".join(share(bound) for bound in found["ci95"] or ()) or "-",
        *(share(by_x.get(x, {}).get(main)) for x in values),
        *(_number(found.get(name), 1) for name in seconds),
        _number(found["cost_vs_llm"], 2),
        str(len(found["errors"])),
    ]


def _held(columns: dict[str, str], patterns: list[dict[str, Any]]) -> dict[str, str]:
    """Returns those ``columns`` (key: heading) for which at least one pattern has a value."""
    return {key: label for key, label in columns.items() if any(p.get(key) is not None for p in patterns)}


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SWEPT = {"position": "position of the gold document (from 0)", "documents": "documents", "length": "length in tokens"}
_TICKS = 12
"""The maximum number of swept values that get a tick each. If there are more, matplotlib chooses the ticks."""


def require_matplotlib() -> None:
    """Raises InvalidRequestError if matplotlib is not installed."""
    with required("the report needs matplotlib", "pip install 'wim-edge[eval]'"):
        import matplotlib.figure  # noqa: F401


def draw(folder: Path, summary: dict[str, Any]) -> list[Path]:
    """Draws the main score by swept value (by_position.png, by_documents.png or by_length.png) and by seconds per
    example (cost.png). Draws only plots for which the summary has figures; returns their paths."""
    require_matplotlib()
    task = task_named(summary["task"])
    patterns = [found for found in summary["patterns"] if found[task.metric] is not None]
    plots = []
    if any(f"by_{task.swept}" in found for found in patterns):
        plots.append(_by_x(folder, task.swept, task.metric, patterns))
    if any(found["seconds_per_example"] for found in patterns):
        plots.append(_cost(folder, task.metric, patterns))
    return plots


def draw_retrievers(folder: Path, retrievers: list[dict[str, Any]]) -> Path:
    """Draws recall.png: recall at 1 with its 95% interval, and recall at 5 (plus signs), over seconds per query."""
    require_matplotlib()
    figure, axes = _figure("seconds per query", "pages found: first (with 95%), among five (+)")
    for number, found in enumerate(retrievers):
        if (seconds := found["seconds_per_query"]) is None:
            continue
        _point(axes, seconds, found["recall_at_1"], found["ci95_recall_at_1"], number, found["retriever"])
        axes.plot(seconds, found["recall_at_5"], "+", color=f"C{number % 10}")
    axes.set_xlim(left=0)
    return _save(figure, folder / "recall.png")


def _by_x(folder: Path, swept: str, metric: str, patterns: list[dict[str, Any]]) -> Path:
    """Draws each pattern's score over the swept values, as a line with its 95% interval. The line is level if the
    pattern does not depend on the swept value, and dashed for a control. The retriever's recall is a dotted line."""
    figure, axes = _figure(_SWEPT[swept], metric)
    values = {int(x) for found in patterns for x in found.get(f"by_{swept}", {})}
    if len(values) <= _TICKS:
        axes.set_xticks(sorted(values))
    for number, found in enumerate(patterns):
        colour = f"C{number % 10}"
        if f"by_{swept}" not in found:
            line = "--" if found["pattern"] in CONTROLS else "-"
            axes.axhline(found[metric], color=colour, linestyle=line, label=found["pattern"])
            continue
        points = [(int(x), y) for x, y in found[f"by_{swept}"].items() if y[metric] is not None]
        xs = [x for x, _ in points]
        axes.plot(xs, [y[metric] for _, y in points], color=colour, marker="o", label=found["pattern"])
        axes.fill_between(xs, [y["ci95"][0] for _, y in points], [y["ci95"][1] for _, y in points],
                          color=colour, alpha=0.15, linewidth=0)  # fmt: skip
    recalled = next((found[f"by_{swept}"] for found in patterns if found.get("recall") is not None), None)
    if recalled:
        axes.plot([int(x) for x in recalled], [y["recall"] for y in recalled.values()], "k:", label="retriever recall")
    return _save(figure, folder / f"by_{swept}.png")


def _cost(folder: Path, metric: str, patterns: list[dict[str, Any]]) -> Path:
    figure, axes = _figure("seconds per example", metric)
    for number, found in enumerate(patterns):
        if (seconds := found["seconds_per_example"]) is not None:
            _point(axes, seconds, found[metric], found["ci95"], number, found["pattern"])
    axes.set_xlim(left=0)
    return _save(figure, folder / "cost.png")


def _point(axes: Axes, seconds: float, value: float, interval: Sequence[float], number: int, label: str) -> None:
    """Draws a point at (seconds, value) with the interval as its error bar. ``number``: the index of its colour."""
    bars = [[max(0.0, value - interval[0])], [max(0.0, interval[1] - value)]]
    axes.errorbar(seconds, value, yerr=bars, fmt="o", capsize=3, color=f"C{number % 10}", label=label)


def _figure(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    """Returns a new figure and its axes. Does not use pyplot, which keeps global state and may need a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, 1.02))
    axes.grid(alpha=0.3)
    return figure, axes


def _save(figure: Figure, path: Path) -> Path:
    figure.legend(loc="outside right upper")
    figure.savefig(path, dpi=130, metadata={"Software": None})
    return path


def failures(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yields a line for each pattern or retriever with failed examples: their number, and the first failure."""
    for found in summary.get("patterns") or summary.get("retrievers") or ():
        if found["errors"]:
            name, first = found.get("pattern") or found["retriever"], found["errors"][0]
            many = f"{len(found['errors'])} failed and count as wrong"
            yield f"{name}: {many}; {first['id']}: {first['error']}"


def fitted(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yields the weights that were fitted, as lines for models.toml, each after its AUROC on other questions."""
    for found in summary.get("patterns") or summary.get("retrievers") or ():
        for key in ("support", "confirmation"):
            if (rating := found.get(f"{key}_auroc")) is not None:
                yield f"# {found['pattern']}: AUROC {rating:.2f} on questions it was not fitted on"
            if key in found:
                yield f'[models."{summary["model"]}".{key}]'
                yield "".join(f"{name} = {value}\n" for name, value in found[key].items())
