"""The plots of a run: accuracy over what the task sweeps, and accuracy against cost. They need matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.conditions import CONTROLS
from wim_edge.evaluation.tasks import task_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SWEPT = {"position": "position of the gold document (from 0)", "documents": "documents", "length": "length in tokens"}
_TICKS = 12
"""The most values that are all named; if there are more, matplotlib chooses some."""


def require_matplotlib() -> None:
    """Raises InvalidRequestError if matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise InvalidRequestError("the report needs matplotlib", "pip install 'wim-edge[eval]'") from error


def draw(folder: Path, summary: dict[str, Any]) -> list[Path]:
    """Draws the plots that the summary has figures for, and returns their paths: by_position.png (the U-shaped curve),
    by_documents.png, by_length.png, cost.png."""
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
    """Draws recall.png: recall at 1 with its interval, and at 5 as a small mark above, over seconds a query."""
    require_matplotlib()
    figure, axes = _figure("seconds per query", "pages found: first (with 95%), among five (+)")
    for number, found in enumerate(retrievers):
        if found["seconds_per_query"] is None:
            continue
        colour, seconds, first = f"C{number % 10}", found["seconds_per_query"], found["recall_at_1"]
        low, high = found["ci95_recall_at_1"]
        bars = [[max(0.0, first - low)], [max(0.0, high - first)]]
        axes.errorbar(seconds, first, yerr=bars, fmt="o", capsize=3, color=colour, label=found["retriever"])
        axes.plot(seconds, found["recall_at_5"], "+", color=colour)
    axes.set_xlim(left=0)
    figure.legend(loc="outside right upper")
    return _save(figure, folder / "recall.png")


def _by_x(folder: Path, swept: str, metric: str, patterns: list[dict[str, Any]]) -> Path:
    """Draws a line with its interval for each pattern, level if it does not depend on what is swept. Controls are
    dashed, the retriever's recall is dotted."""
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
    figure.legend(loc="outside right upper")
    return _save(figure, folder / f"by_{swept}.png")


def _cost(folder: Path, metric: str, patterns: list[dict[str, Any]]) -> Path:
    figure, axes = _figure("seconds per example", metric)
    for number, found in enumerate(patterns):
        if found["seconds_per_example"] is None:
            continue
        low, high = found["ci95"]
        bars = [[max(0.0, found[metric] - low)], [max(0.0, high - found[metric])]]
        axes.errorbar(found["seconds_per_example"], found[metric], yerr=bars, fmt="o", capsize=3,
                      color=f"C{number % 10}", label=found["pattern"])  # fmt: skip
    axes.set_xlim(left=0)
    figure.legend(loc="outside right upper")
    return _save(figure, folder / "cost.png")


def _figure(xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    """Returns a figure without pyplot: no display, no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, 1.02))
    axes.grid(alpha=0.3)
    return figure, axes


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=130, metadata={"Software": None})
    return path
