"""Runs the jobs of tests/jobs: questions on everyday documents, with patterns that a right answer matches.

    python scripts/jobs.py                                   all jobs with the embedded model
    python scripts/jobs.py --name-kinds                      lists and summaries are asked for explicitly
    python scripts/jobs.py --core                            the twenty core jobs
    python scripts/jobs.py --only invoice-iban --save-dir runs/jobs
    python scripts/jobs.py --jobs other/jobs.toml --model gemma3-270m

tests/jobs/jobs.toml says what each field of a job means, and which answers are right. Settings are the defaults and
those of ``WIM_EDGE_*`` variables. Readings are kept only during the run. Questions are grouped by document: the seconds
of a document's first question include its reading.

Prints a line for each job (right or wrong, status, short answer, quotation, seconds), then the numbers of right answers
in all, by kind and by language. ``--json`` prints these as JSON instead.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from wim_edge import AnswerFinished, Runtime, Settings, WimEdgeError

ROOT = Path(__file__).resolve().parent.parent
JOBS = ROOT / "tests" / "jobs" / "jobs.toml"
KINDS = ("fact", "yesno", "list", "summary", "absent")
SHOWN = 60
"""The most characters of a short answer or a quotation in a job's line."""


@dataclass(frozen=True)
class Job:
    """A question on a document, with patterns that a right answer must and must not match."""

    id: str
    document: Path
    question: str
    kind: str
    expected: tuple[str, ...]
    forbidden: tuple[str, ...] = ()
    language: str = "en"
    core: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"job {self.id}: kind {self.kind!r} is none of {', '.join(KINDS)}")
        if not self.expected:
            raise ValueError(f"job {self.id}: nothing is expected")


@dataclass(frozen=True)
class Reply:
    """The parts of the runtime's answer to a question that are judged."""

    text: str
    short: str = ""
    status: str = ""
    """``answered``, ``unsure`` or ``not_found``; ``error`` if the question failed; empty if unknown."""
    quotation: str = ""
    support: float | None = None


@dataclass(frozen=True)
class Outcome:
    """A job, the reply to its question, and whether the reply is right."""

    job: Job
    reply: Reply
    right: bool
    seconds: float


def main() -> None:
    options = arguments()
    jobs = chosen(load_jobs(options.jobs), options.only, options.core)
    outcomes = []
    named = ("list", "summary") if options.name_kinds else ()
    for outcome in run(jobs, options.model, options.save_dir, named):
        outcomes.append(outcome)
        if not options.json:
            print(line(outcome), flush=True)
    figures = summarize(outcomes)
    if options.json:
        print(json.dumps({"model": options.model, **figures, "jobs": [to_dict(one) for one in outcomes]}, indent=2))
    else:
        show(figures)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=Path, default=JOBS, metavar="FILE", help="a TOML file of jobs")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="this job; may be repeated")
    parser.add_argument("--name-kinds", action="store_true",
                        help="ask lists and summaries as such, as --answer list and --answer summary do")
    parser.add_argument("--core", action="store_true", help="the core jobs alone")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--save-dir", type=Path, metavar="DIR", help="where each answer is written whole, as ID.json")
    return parser.parse_args()


# The jobs


def load_jobs(path: Path) -> list[Job]:
    """Returns the jobs in a file. Raises ValueError for a malformed file."""
    jobs = []
    for fields in tomllib.loads(path.read_text(encoding="utf-8"))["job"]:
        try:
            patterns = {name: tuple(fields.get(name, ())) for name in ("expected", "forbidden")}
            jobs.append(Job(**{**fields, **patterns, "document": path.parent / fields["document"]}))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path}: job {fields.get('id')}: {error}") from error
    if len({job.id for job in jobs}) < len(jobs):
        raise ValueError(f"{path}: two jobs have the same id")
    return jobs


def chosen(jobs: Iterable[Job], only: Sequence[str], core: bool) -> list[Job]:
    """Returns the jobs to run, grouped by document. Raises SystemExit for an unknown id."""
    jobs = list(jobs)
    if unknown := set(only) - {job.id for job in jobs}:
        raise SystemExit(f"no such job: {', '.join(sorted(unknown))}")
    documents = list(dict.fromkeys(job.document for job in jobs))
    wanted = [job for job in jobs if (not only or job.id in only) and (job.core or not core)]
    return sorted(wanted, key=lambda job: documents.index(job.document))


# Asking


def run(jobs: Sequence[Job], model: str, save_dir: Path | None, named: Container[str] = ()) -> Iterator[Outcome]:
    """Asks each question, judges the answer, and yields the outcome. ``named``: the kinds of answer that are requested
    explicitly, as by `--answer`; for the others it is auto."""
    answers = {job.id: job.kind if job.kind in named else "auto" for job in jobs}
    with tempfile.TemporaryDirectory() as readings:
        for answer in dict.fromkeys(answers.values()):
            own = [job for job in jobs if answers[job.id] == answer]
            settings = replace(Settings.from_environment(), model=model, readings=Path(readings), answer=answer)
            yield from _ask(own, settings, save_dir)


def _ask(jobs: Iterable[Job], settings: Settings, save_dir: Path | None) -> Iterator[Outcome]:
    with Runtime(settings) as runtime:
        runtime.open()  # so that the first job's seconds are not those of loading
        for job in jobs:
            begun = time.perf_counter()
            try:
                answer = runtime.ask(job.document, job.question)
            except WimEdgeError as error:
                reply, whole = Reply(str(error), status="error"), {"error": str(error)}
            else:
                reply, whole = reply_of(answer), answer.to_dict()
            outcome = Outcome(job, reply, is_right(job, reply), time.perf_counter() - begun)
            if save_dir is not None:
                save_dir.mkdir(parents=True, exist_ok=True)
                text = json.dumps({**to_dict(outcome), "event": whole}, indent=2, ensure_ascii=False)
                (save_dir / f"{job.id}.json").write_text(text, encoding="utf-8")
            yield outcome


def reply_of(answer: AnswerFinished) -> Reply:
    """Returns the parts of an answer that are judged."""
    quotes = [quote.text for quote in answer.quotes]
    quotes += [source.margin for source in answer.sources if source.quote is not None]
    return Reply(answer.text, answer.short, answer.status, next(filter(None, quotes), ""), answer.support)


# Judging


def is_right(job: Job, reply: Reply) -> bool:
    """Returns whether the reply is right; jobs.toml says what is right for each kind of job."""
    if job.kind == "absent" or reply.status in ("not_found", "error"):
        return job.kind == "absent" and reply.status == "not_found"
    if job.kind == "yesno":
        return first_word(reply.short or reply.text) in job.expected
    text, short = plain(reply.text), plain(reply.short)
    found = [matches(pattern, text) for pattern in job.expected]
    if job.kind == "fact":
        right = any(found) or any(matches(pattern, short) for pattern in job.expected)
        return right and not any(matches(pattern, short or text) for pattern in job.forbidden)
    needed = len(found) if job.kind == "list" else (len(found) + 1) // 2
    return sum(found) >= needed and not any(matches(pattern, text) for pattern in job.forbidden)


def is_right_in_short(job: Job, reply: Reply) -> bool:
    """Returns whether a fact's short answer is right by itself, without the text around it."""
    return job.kind == "fact" and bool(reply.short) and is_right(job, replace(reply, text=""))


def first_word(text: str) -> str:
    found = re.search(r"\w+", text)
    return found.group().casefold() if found else ""


def matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def plain(text: str) -> str:
    """Returns the text with a single space for each run of white space, also of no-break spaces."""
    return " ".join(text.split())


# What came of it


def summarize(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns the numbers of right answers: in all, of the core jobs, by kind and by language."""
    return {
        **count(outcomes),
        "core": count([one for one in outcomes if one.job.core]),
        "right_in_short": sum(is_right_in_short(one.job, one.reply) for one in outcomes),
        "facts": sum(one.job.kind == "fact" for one in outcomes),
        "kinds": {kind: count([one for one in outcomes if one.job.kind == kind]) for kind in KINDS},
        "languages": {
            name: count([one for one in outcomes if one.job.language == name])
            for name in dict.fromkeys(one.job.language for one in outcomes)
        },
        "wrongly_not_found": [
            one.job.id for one in outcomes if one.job.kind != "absent" and one.reply.status == "not_found"
        ],
        "errors": [one.job.id for one in outcomes if one.reply.status == "error"],
        "seconds": round(sum(one.seconds for one in outcomes), 1),
    }


def count(outcomes: Sequence[Outcome]) -> dict[str, int]:
    absent = [one for one in outcomes if one.job.kind == "absent"]
    return {
        "right": sum(one.right for one in outcomes),
        "n": len(outcomes),
        "absent_told": sum(one.right for one in absent),
        "absent": len(absent),
    }


def to_dict(outcome: Outcome) -> dict[str, Any]:
    job = {**asdict(outcome.job), "document": outcome.job.document.name}
    return {**job, **asdict(outcome.reply), "right": outcome.right, "seconds": round(outcome.seconds, 2)}


def line(outcome: Outcome) -> str:
    """Returns the line to print for a job."""
    job, reply = outcome.job, outcome.reply
    short = shortened(reply.short or reply.text)
    verdict = "right" if outcome.right else "WRONG"
    return (
        f"{verdict}  {job.id:24}  {job.kind:7}  {reply.status or '-':9}  {outcome.seconds:5.1f} s  "
        f"{short!r}  [{shortened(reply.quotation)}]"
    )


def shortened(text: str) -> str:
    text = plain(text)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def show(figures: Mapping[str, Any]) -> None:
    """Prints the summary."""
    print(f"\n{figures['right']} of {figures['n']} right, {figures['absent_told']} of {figures['absent']} absent "
          f"answers told, {figures['right_in_short']} of {figures['facts']} facts right in the short answer alone, "
          f"{figures['seconds']} s")  # fmt: skip
    groups = {"core": figures["core"], **figures["kinds"], **figures["languages"]}
    print(", ".join(f"{name} {one['right']}/{one['n']}" for name, one in groups.items() if one["n"]))
    for name in ("wrongly_not_found", "errors"):
        if figures[name]:
            print(f"{name.replace('_', ' ')}: {', '.join(figures[name])}")


if __name__ == "__main__":
    main()
