"""The steps of `scripts/check_aarch64.sh` that run on both processors (there and here), and the report on them.

    ask OUT.json             asks a question on an invoice, with the embedded model
    logits OUT.json          decodes tokens greedily with two real models and four tiny ones, and saves their logits
    report THERE HERE ...    prints a table of the tests there and of the differences; exit code 1 if something failed
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "tests" / "jobs" / "invoice.txt"
QUESTIONS = ("What is the IBAN?",)
OPTIONS = ("--json", "--no-save", "--threads", "1")
PROMPT = ROOT / "examples" / "gpl-3.0.txt"
N_PROMPT, N_TOKENS = 96, 32
REAL = ("smollm2-135m", "gemma3-270m")
TINY = ("llama", "gemma3", "mamba", "lfm2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("ask", "logits"):
        measured = commands.add_parser(name)
        measured.add_argument("out", type=Path)
        measured.add_argument("--f16", action="store_true", help="logits: of the real models with weights in F16, too")
    reported = commands.add_parser("report")
    reported.add_argument("there", type=Path)
    reported.add_argument("here", type=Path)
    reported.add_argument("--json", type=Path, required=True)
    reported.add_argument("--told", action="append", default=[], metavar="KEY=VALUE", help="what the report holds, too")
    options = parser.parse_args()
    if options.command == "report":
        sys.exit(report(options.there, options.here, options.json, dict(one.split("=", 1) for one in options.told)))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        found = ask(home) if options.command == "ask" else logits(home, options.out, options.f16)
    options.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


# On each processor


def ask(home: Path) -> dict[str, Any]:
    """Asks as a user does. Returns answer, quotations and seconds, by question."""
    answers = {}
    for question in QUESTIONS:
        began = time.monotonic()
        command = [sys.executable, "-m", "wim_edge", "--offline", "ask", str(DOCUMENT), question, *OPTIONS]
        environment = {**os.environ, "WIM_EDGE_HOME": str(home)}
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8", env=environment)
        last = json.loads(done.stdout.splitlines()[-1])
        quoted = [source["margin"] for source in last["sources"]]
        answers[question] = {"answer": last["text"], "quoted": quoted, "seconds": time.monotonic() - began}
    return answers


def logits(home: Path, out: Path, f16: bool) -> dict[str, Any]:
    """Returns each model's greedy tokens. Saves the logits from which they were chosen beside ``out``."""
    sys.path.insert(0, str(ROOT))
    from tests.tiny import write_tiny
    from wim_edge.catalog import Catalog, fetch
    from wim_edge.engine.bindings import requantize

    os.environ["WIM_EDGE_HOME"] = str(home)
    files = {name: fetch(Catalog.load().get(name)) for name in REAL}
    files |= {f"tiny {name}": write_tiny(home / f"{name}.gguf", name) for name in TINY}
    for name in REAL if f16 else ():
        files[f"{name} in F16"] = home / f"{name}.F16.gguf"
        requantize(files[name], files[f"{name} in F16"], "F16")
    tokens, rows = {}, {}
    for name, path in files.items():
        tokens[name], rows[name] = greedy(path)
    np.savez(out.with_suffix(".npz"), **rows)
    return tokens


def greedy(path: Path) -> tuple[list[int], Any]:
    """Returns the greedy tokens after the prompt, and the logits from which each one was chosen."""
    from wim_edge.engine.model import Model
    from wim_edge.settings import Settings

    with Model(path, Settings(n_threads=1)) as model, model.context(512).sequence() as sequence:
        prompt = [*model.bos_tokens, *model.tokenize(PROMPT.read_text(encoding="utf-8"))][:N_PROMPT]
        rows = [sequence.append(prompt)[-1].copy()]
        while len(rows) < N_TOKENS:
            rows.append(sequence.append([int(rows[-1].argmax())])[-1].copy())
    return [int(row.argmax()) for row in rows], np.stack(rows)


# What is made of it


def report(there: Path, here: Path, out: Path, told: dict[str, str]) -> int:
    """Prints and writes the results of the tests, and the differences, as far as there are any results. Returns 1 if a
    test failed, or an answer differs or is missing, else 0."""
    tests: dict[str, Counter[str]] = {}
    for path in sorted(there.glob("*.xml")):
        tests.setdefault(path.stem.rstrip("-0123456789"), Counter()).update(counts(path))
    tests = {name: count for name, count in tests.items() if count.total()}
    answers, models = answers_of(there, here), dict(differences(there, here))
    found = {**told, "tests": tests, "answers": answers, "models": models}
    out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for name, count in tests.items():
        print(f"{name:24} {count['passed']:5} passed ({count['passed_alone']} alone) {count['failed']:3} failed"
              f" {count['skipped']:3} skipped")  # fmt: skip
    for path in sorted(there.glob("*.xml")):
        print("".join(f"FAILED {name}\n" for name in sorted(still_failing(path))), end="")
    for question, answer in answers.items():
        print(f"{question:24} {'the same answer' if answer['same'] else 'ANOTHER ANSWER'}: {answer['answer']!r},"
              f" {answer['seconds']:.0f} s there, {answer['seconds_here']:.0f} s here")  # fmt: skip
    for name, one in models.items():
        print(f"{name:24} {one['same_tokens']} of {one['tokens']} tokens the same; logits differ by at most "
              f"{one['largest_difference']:.2g}, {one['mean_difference']:.2g} in the mean; they spread over "
              f"{one['spread']:.3g}, the closest choice was one of {one['closest_choice']:.2g}"
              + (f"; from F16 {one['there_to_f16']:.2g} there, {one['here_to_f16']:.2g} here"
                 if "here_to_f16" in one else ""))  # fmt: skip
    failed = any(count["failed"] for count in tests.values()) or not all(one["same"] for one in answers.values())
    return int(failed or not tests or not answers)


def counts(path: Path) -> dict[str, int]:
    """Returns the numbers of pytest's tests by outcome. A failed test that passed when run alone has passed."""
    suite = next(ElementTree.parse(path).iter("testsuite"))
    failed, skipped = len(failures(path)), int(suite.attrib["skipped"])
    still = len(still_failing(path))
    return {"passed": int(suite.attrib["tests"]) - still - skipped, "passed_alone": failed - still, "failed": still,
            "skipped": skipped}  # fmt: skip


def still_failing(path: Path) -> set[str]:
    """Returns the tests that failed and, if they were run again alone, failed again."""
    alone = path.with_suffix(".alone")
    return failures(alone) if alone.exists() else failures(path)


def failures(path: Path) -> set[str]:
    cases = ElementTree.parse(path).iter("testcase")
    bad = (case for case in cases if case.find("failure") is not None or case.find("error") is not None)
    return {f"{case.get('classname')}::{case.get('name')}" for case in bad}


def answers_of(there: Path, here: Path) -> dict[str, Any]:
    """Returns the answers there, and whether answer and quotations are the same here; empty before `ask` has run."""
    if not (there / "ask.json").exists():
        return {}
    far, near = (json.loads((folder / "ask.json").read_text(encoding="utf-8")) for folder in (there, here))
    return {
        question: {
            "answer": answer["answer"],
            "same": all(answer[key] == near[question][key] for key in ("answer", "quoted")),
            "seconds": round(answer["seconds"], 1),
            "seconds_here": round(near[question]["seconds"], 1),
        }
        for question, answer in far.items()
    }


def differences(there: Path, here: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (model, differences of the logits), as long as the tokens before them are the same."""
    far, near = (np.load(folder / "logits.npz") for folder in (there, here))
    for name in far.files:
        tokens = [rows.argmax(axis=1) for rows in (far[name], near[name])]
        same = Counter(np.logical_and.accumulate(tokens[0] == tokens[1]).tolist())[True]
        a, b = (rows[name][: same + 1] for rows in (far, near))
        first_two = np.sort(b, axis=1)[:, -2:]
        exact = near.get(f"{name} in F16")
        own_error = {} if exact is None else own_errors(a, b, exact)
        yield name, {
            "tokens": len(tokens[0]),
            "same_tokens": same,
            "largest_difference": rounded(np.abs(a - b).max()),
            "mean_difference": rounded(np.abs(a - b).mean()),
            "spread": rounded(b.std(axis=1).mean()),
            "closest_choice": rounded((first_two[:, 1] - first_two[:, 0]).min()),
            **own_error,
        }


def own_errors(there: Any, here: Any, exact: Any) -> dict[str, float]:
    """Returns each processor's mean difference from the same weights in F16, whose sums hardly round."""
    n = 1 + sum(np.logical_and.accumulate(here[:-1].argmax(axis=1) == exact[: len(here) - 1].argmax(axis=1)))
    means = [rounded(np.abs(one[:n] - exact[:n]).mean()) for one in (there, here)]
    return {"there_to_f16": means[0], "here_to_f16": means[1]}


def rounded(number: float) -> float:
    return float(f"{number:.3g}")


if __name__ == "__main__":
    main()
