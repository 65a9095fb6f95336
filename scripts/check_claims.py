"""Whether the figures in README and docs/results.md are those that were measured.

    python scripts/check_claims.py            says which are not, and ends with 1
    python scripts/check_claims.py --write    writes the tables anew; figures in sentences stay yours to mend

What was measured is kept in docs/results/*.json, as `wim-edge eval --json` and the scripts print it, with the command.
A table that is made of it stands between two marks, a row for each FILE/NAME, and is written by this script:

    <!-- table squad2/default squad2/rag:embed | contains+, f1, seconds_first -->
    <!-- end -->

A figure in a sentence is followed by where it is from, perhaps a ratio or a difference:

    0.45<!-- squad2/default.contains -->, 12 times<!-- squad2/wim.seconds_first / squad2/llm.seconds_first -->

FILE/NAME is the object of that pattern (or retriever); in other files the path of its keys. A table without marks, a
figure without its source, and in results.md a table whose command is not shown are errors; so is a file whose means lie
outside of their intervals, or in which an example failed.
"""

from __future__ import annotations

import argparse
import json
import operator
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
    "n": ("n", "d"), "n_unanswerable": ("of them absent", "d"), "examples": ("askings", "d"),
    "accuracy": ("right", ".2f"), "contains": ("gold in the answer", ".2f"), "f1": ("F1", ".2f"),
    "exact": ("exact", ".2f"), "in_quotes": ("in its margins", ".2f"), "in_passages": ("in its passages", ".2f"),
    "not_found_rate": ("absent told", ".2f"), "guess_rate": ("\u201cperhaps\u201d", ".2f"),
    "false_not_found_rate": ("falsely", ".2f"), "auroc": ("AUROC", ".2f"),
    "sure": ("without \u201cperhaps\u201d", ".2f"), "right_when_sure": ("of these right", ".2f"),
    "loops": ("loops", ".2f"), "echoes": ("echoes", ".2f"), "recall": ("retriever's recall", ".2f"),
    "gold_ranked_first": ("gold ranked first", ".2f"), "gold_in_first_two": ("in the first two", ".2f"),
    "spread": ("spread", ".2f"), "cost_vs_llm": ("cost / `llm`", ".2f"), "decoded_tokens": ("tokens decoded", ".0f"),
    "seconds_first": ("first question, s", ".0f"), "seconds_later": ("later ones, s", ".0f"),
    "seconds_per_example": ("seconds", ".1f"), "read_tokens_per_example": ("document tokens read", ",.0f"),
    "peak_rss_bytes": ("memory, MB", "MB"), "recall_at_1": ("recall@1", ".2f"), "recall_at_5": ("recall@5", ".2f"),
    "r_precision": ("R-precision", ".2f"), "answer_in_context": ("answer in context", ".2f"),
    "titles_exist": ("titles that exist", ".2f"), "seconds_per_query": ("seconds", ".2f"),
    "prefilled_tokens": ("read", ".0f"), "tokens": ("tokens", ",.0f"), "segments": ("segments", ",.0f"),
    "read_segments": ("segments read", ",.0f"), "first_margin": ("first relevant margin, s", ".1f"),
    "first_word": ("first word of the answer, s", ".1f"), "answered": ("answer, s", ".1f"),
    "first": ("passage first", ".2f"), "f1_of_passage_alone": ("F1, that passage alone", ".2f"),
    "in_answer": ("gold in the answer", ".2f"), "parameters": ("parameters, millions", "MB"),
    "estimated_4096_bytes": ("estimated, 4,096 cells, MB", "MB"), "measured_4096_bytes": ("measured, MB", "MB"),
    "estimated_8192_bytes": ("estimated, 8,192 cells, MB", "MB"), "measured_8192_bytes": ("measured, MB", "MB"),
    "ratio_4096": ("ratio", ".3f"), "ratio_8192": ("ratio", ".3f"), "memory": ("memory", ""),
    "prefill": ("prefill, tokens/s", ".1f"), "decode": ("decode, tokens/s", ".1f"),
    "seconds_segment": ("a segment of 512, s", ".2f"), "seconds_margin": ("a margin of 16, s", ".2f"),
    "seconds_rollback": ("its rollback, s", ".4f"), "rollback_share": ("rollback / segment", ".4f"),
    "evaluated_llm": ("`llm`: tokens", ",.0f"), "seconds_llm": ("s", ".0f"),
    "evaluated_wim": ("`wim`: tokens", ",.0f"), "seconds_wim": ("s", ".0f"),
    "evaluated_wim_second": ("second question: tokens", ",.0f"), "seconds_wim_second": ("s", ".0f"),
    "evaluated_best": ("best first: tokens", ",.0f"), "seconds_best": ("s", ".0f"),
    "evaluated_best_second": ("second question: tokens", ",.0f"), "seconds_best_second": ("s", ".0f"),
}  # fmt: skip
"""Keys of a summary: heading and format. A plus after a key adds its 95% interval."""
_TABLE = re.compile(r"(<!-- table (?P<rows>[^|>]+)\|(?P<columns>[^>]+?)-->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_CITED = re.compile(r"(?P<range>\d\s?(?:to|and|or|–|-)\s)?(?<![\d.,\u2212])"
                    r"(?P<figure>-?\d{1,3}(?:,\d{3})+|-?\d+(?:\.\d+)?)"
                    r"(?P<unit>[^\d<>\n]{0,12})<!-- (?P<source>[^>]+?) -->")  # fmt: skip
_UNIT = (r"%|percent\b|[x×]\B|[x×]\b|-?fold\b|times\b|points?\b|m?s\b|sec(?:ond)?s?\b|min(?:ute)?s?\b|h(?:our)?s?\b"
         r"|[kKMG]i?B\b")  # fmt: skip
_FIGURE = re.compile(
    rf"(?<![\w.§/#:=-])\d[\d,]*(?:\.\d+)?[\s\u00a0]?(?:{_UNIT})|(?<![\w./,])(?:0?\.|0,|1\.)\d+\b|\b\d+ of \d+\b"
)
_NO_FIGURE = re.compile(
    r"<!--.*?-->|```.*?```|`[^`\n]*`|!?\[[^\]]*\]\([^)]*\)|^#[^\n]*|95% interval|\b98 MB file"
    r"|\b\d+ (?:minutes|seconds) at most", re.DOTALL | re.MULTILINE,
)
_TABLE_ROW = re.compile(r"^\|.*\d.*\|$", re.MULTILINE)
_COMMAND = re.compile(r"^(?:wim-edge|python scripts/).*$", re.MULTILINE)
_NOT_COMPARED = ("--out", "--json", "--report")
"""Options that change no figure."""
_SECONDS = ("total", "first_margin", "first_word", "answered", "ends_by_itself")
_STAGES = ("load", "prefill", "restore", "save", "margins", "relevance", "answer")
_METRICS = ("accuracy", "contains", "f1", "recall_at_1")


class ClaimError(Exception):
    """A source that leads nowhere."""


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
    """Yields what is wrong with a page. ``commands``: it must show the command of every table's files."""
    if commands:
        yield from without_command(text)
    for found in _TABLE.finditer(text):
        try:
            if found["body"] != table_of(found):
                yield f"the table {found['rows'].strip()} is not what was measured (--write)"
        except ClaimError as error:
            yield str(error)
    for found in _CITED.finditer(text):
        try:
            if found["range"] or not fits(found["unit"], found["source"]):
                yield f"{found.group()} is no single figure with the unit of its source"
            if not is_rounded(found["figure"], found["unit"], value_of(found["source"])):
                yield f"{found['figure']} is {value_of(found['source']):.6g} in {found['source']}"
        except ClaimError as error:
            yield str(error)
    for mark in re.finditer(r"<!-- [\w-]+/[^>]*? -->", _TABLE.sub("", _CITED.sub("", text))):
        yield f"no figure stands before {mark.group()}"
    rest = _CITED.sub("", _TABLE.sub("", text))
    for section in re.split(r"^(?=## )", rest, flags=re.MULTILINE):
        title = section.split("\n", 1)[0].lstrip("# ")
        plain = _NO_FIGURE.sub("", section).replace("*", "")
        if _TABLE_ROW.search(plain):
            yield f"{title}: a table without marks"
        yield from (f"{title}: {found.group()} has no source" for found in _FIGURE.finditer(plain))


def written(found: re.Match[str]) -> str:
    """Returns a table written anew; as it stands where its source leads nowhere, which `check` tells."""
    with suppress(ClaimError):
        return found[1] + table_of(found) + found[5]
    return found[0]


def table_of(found: re.Match[str]) -> str:
    """Returns the lines of a table between its marks."""
    keys = [key.strip() for key in found["columns"].split(",")]
    rows = found["rows"].split()
    files = {row.split("/")[0] for row in rows}
    head = ["", *(heading(key) for key in keys)] if len(files) == 1 else ["", "", *(heading(key) for key in keys)]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        file, _, name = row.partition("/")
        label = [f"`{name}`"] if len(files) == 1 else [file.replace("-", " "), f"`{name}`"]
        lines.append([*label, *(cell(row, key) for key in keys)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


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


def cell(row: str, key: str) -> str:
    """Returns a value as its column shows it, with its interval if asked for; empty where there is none."""
    plain = key.removesuffix("+")
    value = lookup(f"{row}.{plain}", default=None)
    if value is None:
        return ""
    form = COLUMNS.get(plain.rsplit(".", 1)[-1], ("", ".2f"))[1]
    shown = f"{value / 1e6:.0f}" if form == "MB" else format(value, form)
    if plain == key:
        return shown
    low, high = lookup(f"{row}.intervals.{plain}")
    return f"{shown} ({low:.2f}–{high:.2f})"


def value_of(source: str) -> float:
    """Returns the value of a source: a path, or two with / or - between them (with spaces around)."""
    for sign, combine in ((" / ", operator.truediv), (" - ", operator.sub)):
        if sign in source:
            first, second = source.split(sign)
            return float(combine(float(lookup(first)), float(lookup(second))))
    return float(lookup(source))


def fits(unit: str, source: str) -> bool:
    """Whether what follows a figure is no unit of something else than its source."""
    found = re.match(rf"\s*({_UNIT})", unit)
    if found is None:
        return True
    if " / " in source:
        return found[1] in ("%", "percent", "times", "x", "×", "fold", "-fold")
    key = re.split(r"[./]", source.split(" - ")[0])[-1]
    if key.endswith("bytes"):
        return found[1] in ("MB", "GB")
    seconds = key.startswith("seconds") or key in (*_SECONDS, *_STAGES)
    return found[1] in (("s", "seconds") if seconds else ("%", "percent", "points"))


def without_command(text: str) -> Iterator[str]:
    """Yields the files of tables, and of figures in sentences, whose command the page does not show."""
    shown = [options_of(line) for line in _COMMAND.findall("\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)))]
    sources = [row for found in _TABLE.finditer(text) for row in found["rows"].split()]
    sources += [one for found in _CITED.finditer(text) for one in re.split(" [/-] ", found["source"])]
    for file in dict.fromkeys(source.split("/")[0] for source in sources):
        with suppress(ClaimError):  # which is told where the table is
            if options_of(_load(file)["command"]) not in shown:
                yield f"the command of {file} is not shown: {_load(file)['command']}"


def options_of(command: str) -> dict[str, frozenset[str]]:
    """Returns a command's options with their values, and under "" its other words."""
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
    """Yields what cannot be in a file of results."""
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


def is_rounded(figure: str, unit: str, value: float) -> bool:
    """Whether the figure is the value, rounded to its own digits; a percent sign is a hundredth, MB a million bytes."""
    unit = unit.strip()
    if unit.startswith("%"):
        value *= 100
    elif unit.startswith("MB") and value > 1e5:
        value /= 1e6
    digits = len(figure.partition(".")[2])
    if abs(value) < 1 and digits < 2:  # 0.70 is not 1
        return False
    return abs(float(figure.replace(",", "")) - value) <= 0.5 * float(10**-digits) + 1e-9


_MISSING = object()


def lookup(path: str, default: Any = _MISSING) -> Any:
    """Returns what stands at FILE/KEY.KEY in docs/results; of lists of patterns or retrievers the one of that name."""
    file, slash, rest = path.strip().partition("/")
    found = _load(file)
    if not slash:
        raise ClaimError(f"{path} names no key")
    objects = [*found.get("patterns", ()), *found.get("retrievers", ())]
    names = {one.get("pattern", one.get("retriever")): one for one in objects}
    keys = rest.split(".")
    if keys[0] in names:
        found, keys = names[keys[0]], keys[1:]
    for key in keys:
        if not isinstance(found, dict) or key not in found:
            if default is not _MISSING and names and rest.split(".")[0] in names:
                return default
            raise ClaimError(f"{path} leads nowhere: no {key}")
        found = found[key]
    return found


@cache
def _load(name: str) -> dict[str, Any]:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise ClaimError(f"docs/results/{name}.json is not there")
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ClaimError(f"docs/results/{name}.json is no JSON") from None
    if "command" not in found:
        raise ClaimError(f"docs/results/{name}.json does not name its command")
    return found


if __name__ == "__main__":
    main()
