"""Checks that README and docs/results.md show the measured figures.

    python scripts/check_claims.py            prints the errors; exit code 1 if there are any
    python scripts/check_claims.py --write    writes the tables anew

docs/results/*.json holds the measured figures and the command, as `wim-edge eval --json` and the scripts print them.
Figures stand in tables only. This script writes a table between two marks, a row for each FILE/NAME:

    <!-- table squad2/default "squad2/rag:embed=chunks by embeddings" | contains+, f1, seconds_first -->
    <!-- end -->

FILE/NAME is the object of the pattern or retriever NAME; in files without these, NAME is a path of keys. FILE alone is
the whole file. A plus adds a column's 95% interval. These are errors: a table without marks, a figure or an HTML
comment in running text, in results.md a table without its command, a file with a mean outside of its interval, and a
file with a failed example.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
PAGES = ("README.md", "docs/results.md")
COLUMNS = {
    "n": ("n", "d"), "n_unanswerable": ("unanswerable", "d"), "accuracy": ("accuracy", ".2f"),
    "contains": ("answer contains gold", ".2f"), "f1": ("F1", ".2f"), "in_passages": ("gold in passages", ".2f"),
    "not_found_rate": ("absent detected", ".2f"), "guess_rate": ("\u201cPerhaps\u201d", ".2f"),
    "false_not_found_rate": ("false not-found", ".2f"), "auroc": ("AUROC", ".2f"), "sure": ("sure", ".2f"),
    "right_when_sure": ("of these right", ".2f"), "loops": ("loops", ".2f"), "recall": ("retriever recall", ".2f"),
    "gold_ranked_first": ("gold ranked first", ".2f"), "decoded_tokens": ("tokens decoded", ".0f"),
    "prefilled_tokens": ("tokens read", ".0f"), "seconds_first": ("first question, s", ".0f"),
    "seconds_later": ("later, s", ".0f"), "seconds_per_example": ("s", ".1f"), "seconds_per_query": ("s", ".2f"),
    "seconds": ("s", ".1f"), "read_tokens_per_example": ("tokens read", ",.0f"),
    "peak_rss_bytes": ("memory, MB", "MB"), "recall_at_1": ("recall@1", ".2f"), "recall_at_5": ("recall@5", ".2f"),
    "titles_exist": ("titles exist", ".2f"), "tokens": ("tokens", ",.0f"), "read_segments": ("segments read", ",.0f"),
    "first_margin": ("first margin, s", ".1f"), "answered": ("answer, s", ".1f"), "first": ("passage first", ".2f"),
    "f1_of_passage_alone": ("F1, that passage alone", ".2f"), "quoted": ("row quoted", ".2f"),
    "measured_4096_bytes": ("memory, 4,096 cells, MB", "MB"), "ratio_4096": ("estimate / measured", ".3f"),
    "ratio_8192": ("the same, 8,192 cells", ".3f"), "prefill": ("prefill, tokens/s", ".0f"),
    "decode": ("decode, tokens/s", ".0f"), "rollback_share": ("rollback / segment", ".4f"),
    "seconds_llm": ("`llm`, s", ".0f"), "seconds_wim": ("`wim`, s", ".0f"),
    "seconds_wim_second": ("`wim` again, s", ".0f"), "llm": ("time / `llm`", ".2f"),
    "reference-llm": ("time / their `llm`", ".2f"), "second-question": ("second question / first", ".2f"),
    "seconds_first_paint": ("first paint, s", ".2f"), "seconds_open": ("upload to first page, s", ".2f"),
    "seconds_reopen": ("reopen, s", ".2f"), "seconds_marked": ("quotation marked, s", ".2f"),
    "seconds_feedback": ("Ask to card, s", ".2f"), "seconds_first_card": ("Ask to first answer, s", ".1f"),
    "seconds_cpu_first_card": ("processor until then, s", ".1f"), "seconds_shown": ("event to card, s", ".2f"),
    "frames": ("frames/s while scrolling", ".0f"), "seconds_longest_task": ("longest task, s", ".2f"),
    "nbytes": ("size, MB", "MB"), "seconds_install": ("install, s", ".0f"),
    "seconds_answer": ("first answer, s", ".1f"), "seconds_window": ("window, s", ".1f"),
    "read_bytes": ("`read`, MB", "MB"), "asked_bytes": ("`ask`, MB", "MB"),
    "known_bytes": ("a second question, MB", "MB1"), "first_event_ms": ("first event, ms", ".1f"),
    "after_crash_seconds": ("answer after a crash, s", ".1f"), "after_crash_read_tokens": ("tokens read again", "d"),
    "share_on_page": ("word for word on the page", ".2f"), "on_another_page": ("on another page", "d"),
    "same_tokens": ("same tokens of 32", "d"), "mean_difference": ("mean logit difference", ".2f"),
    "there_to_f16": ("aarch64 to F16", ".2f"), "here_to_f16": ("x86-64 to F16", ".2f"),
}  # fmt: skip
"""The heading and the format of each key of a summary. A plus after a key adds its 95% interval."""
_TABLE = re.compile(r"(<!-- table (?P<rows>[^|>]+)\|(?P<columns>[^>]+?)-->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_UNIT = (r"%|percent\b|[x×]\B|[x×]\b|-?fold\b|times\b|points?\b|m?s\b|sec(?:ond)?s?\b|min(?:ute)?s?\b|h(?:our)?s?\b"
         r"|[kKMG]i?B\b")  # fmt: skip
_FIGURE = re.compile(
    rf"(?<![\w.§/#:=-])\d[\d,]*(?:\.\d+)?[\s\u00a0]?(?:{_UNIT})|(?<![\w./,])(?:0?\.|0,|1\.)\d+\b|\b\d+ of \d+\b"
)
_NO_FIGURE = re.compile(
    r"<!--.*?-->|```.*?```|`[^`\n]*`|!?\[[^\]]*\]\([^)]*\)|^#[^\n]*|95% interval", re.DOTALL | re.MULTILINE
)
_TABLE_ROW = re.compile(r"^\|.*\d.*\|$", re.MULTILINE)
_NOT_COMPARED = ("--out", "--json", "--report")
"""The options that change no figure."""
_METRICS = ("accuracy", "contains", "f1", "recall_at_1")


class ClaimError(Exception):
    """Raised if a source of figures, or a figure in it, does not exist."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables anew")
    options = parser.parse_args()
    wrong = []
    for name in PAGES:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if options.write:
            text = _TABLE.sub(written, text)
            path.write_text(text, encoding="utf-8")
        wrong += [f"{name}: {claim}" for claim in check(text, commands=name != "README.md")]
    for path in sorted(RESULTS.glob("*.json")):
        wrong += [f"{path.name}: {claim}" for claim in inconsistent(json.loads(path.read_text(encoding="utf-8")))]
    print("\n".join(wrong) if wrong else "every figure is the one that was measured")
    sys.exit(bool(wrong))


def check(text: str, *, commands: bool) -> Iterator[str]:
    """Yields the errors of a page. ``commands``: True if it must show the command of each file in its tables."""
    if commands:
        yield from without_command(text)
    for found in _TABLE.finditer(text):
        try:
            if found["body"] != table_of(found):
                yield f"the table {found['rows'].strip()} is not what was measured (--write)"
        except ClaimError as error:
            yield str(error)
    for section in re.split(r"^(?=## )", _TABLE.sub("", text), flags=re.MULTILINE):
        title = section.split("\n", 1)[0].lstrip("# ")
        yield from (f"{title}: {found.group()} in running text" for found in re.finditer(r"<!--.*?-->", section))
        plain = _NO_FIGURE.sub("", section).replace("*", "")
        if _TABLE_ROW.search(plain):
            yield f"{title}: a table without marks"
        yield from (f"{title}: {found.group()} stands in no table" for found in _FIGURE.finditer(plain))


def written(found: re.Match[str]) -> str:
    """Returns a table written anew; unchanged if its source does not exist, which `check` reports."""
    with suppress(ClaimError):
        return found[1] + table_of(found) + found[5]
    return found[0]


def table_of(found: re.Match[str]) -> str:
    """Returns the lines of a table between its marks."""
    keys = [key.strip() for key in found["columns"].split(",")]
    rows = [source.partition("=") for source in shlex.split(found["rows"])]
    body = [[label or f"`{source.partition('/')[2]}`", *(cell(row_of(source), key) for key in keys)]
            for source, _, label in rows]  # fmt: skip
    for at, key in enumerate(keys, start=1):
        if not any(cells[at] for cells in body):
            raise ClaimError(f"no row of {found['rows'].strip()} has {key}")
    head = ["", *map(heading, keys)]
    return "".join(f"|{'|'.join(cells)}|\n" for cells in (head, ["---"] * len(head), *body))


def heading(key: str) -> str:
    key = key.removesuffix("+")
    if key.isdigit():  # a course over seconds
        return f"{key} s"
    if key.startswith("by_"):
        swept, x, metric = key.split(".")
        return f"{swept[3:]} {x}" if metric == "accuracy" else f"{COLUMNS[metric][0]}, {swept[3:]} {x}"
    if key not in COLUMNS:
        raise ClaimError(f"{key} is no column")
    return COLUMNS[key][0]


def cell(row: dict[str, Any], key: str) -> str:
    """Returns a value in its column's format, with its interval if the key has a plus; empty if there is none."""
    plain = key.removesuffix("+")
    value = value_at(row, plain)
    if value is None:
        return ""
    form = COLUMNS.get(plain.rsplit(".", 1)[-1], ("", ".2f"))[1]
    shown = f"{value / 1e6:.{form[2:] or 0}f}" if form.startswith("MB") else format(value, form)
    if plain == key:
        return shown
    low, high = row["intervals"][plain]
    return f"{shown} ({low:.2f}–{high:.2f})"


def without_command(text: str) -> Iterator[str]:
    """Yields an error for each file in a table whose command the page does not show."""
    block = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    shared = dict(re.findall(r'^(\w+)="(.*)"$', block, re.MULTILINE))
    lines = [re.sub(r"\$(\w+)", lambda name: shared.get(name[1], ""), line) for line in block.splitlines()]
    shown = [options_of(line) for line in lines if line.strip() and not line.startswith("#")]
    sources = [source for found in _TABLE.finditer(text) for source in shlex.split(found["rows"])]
    for file in dict.fromkeys(re.split("[/=]", source)[0] for source in sources):
        with suppress(ClaimError):  # `check` reports it with the table
            if options_of(_load(file)["command"]) not in shown:
                yield f"the command of {file} is not shown: {_load(file)['command']}"


def options_of(command: str) -> dict[str, frozenset[str]]:
    """Returns a command's options with their values; its other words are under ""."""
    words = shlex.split(command, comments=True)
    found: dict[str, frozenset[str]] = {"--model": frozenset({"smollm2-135m"})} if words[0] == "wim-edge" else {}
    plain: list[str] = []
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            plain.append(word)
            continue
        values = frozenset(words.pop(0).split(",")) if words and not words[0].startswith("--") else frozenset()
        if word not in _NOT_COMPARED:
            found["--model" if word == "-m" else word] = values
    return found | {"": frozenset(plain)}


def inconsistent(found: dict[str, Any]) -> Iterator[str]:
    """Yields the contradictions in a file of results."""
    if "command" not in found:
        yield "it does not name its command"
    objects = [*found.get("patterns", ()), *found.get("retrievers", ())]
    for one in objects:
        name = one.get("pattern", one.get("retriever"))
        for key, bounds in one.get("intervals", {}).items():
            value = one.get(key)
            if value is not None and not (bounds and bounds[0] - 1e-6 <= value <= bounds[1] + 1e-6):
                yield f"{name}: {key} is {value} outside of its interval {bounds}"
        if one.get("intervals") and one["ci95"] not in [one["intervals"].get(key) for key in _METRICS]:
            yield f"{name}: ci95 is the interval of no main score"
        if one.get("errors"):
            yield f"{name}: {len(one['errors'])} examples failed"
    if len({one.get("n") for one in objects}) > 1:
        yield "patterns were asked different numbers of questions"


def row_of(source: str) -> dict[str, Any]:
    """Returns the object of a table's row. ``source``: FILE/NAME in docs/results, or FILE for the whole file."""
    file, _, name = source.strip().partition("/")
    found = _load(file)
    objects = [*found.get("patterns", ()), *found.get("retrievers", ())]
    named = {one.get("pattern", one.get("retriever")): one for one in objects}
    row = named.get(name) or (value_at(found, name) if name else found)
    if not isinstance(row, dict):
        raise ClaimError(f"docs/results/{file}.json has no {name}")
    return row


def value_at(found: Any, path: str) -> Any:
    """Returns the value at a path KEY.KEY, or None."""
    for key in path.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    return found


@cache
def _load(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise ClaimError(f"docs/results/{name}.json does not exist")
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ClaimError(f"docs/results/{name}.json is not JSON") from None
    if "command" not in found:
        raise ClaimError(f"docs/results/{name}.json does not name its command")
    return found


if __name__ == "__main__":
    main()
