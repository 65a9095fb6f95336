"""Whether the jobs of `tests/jobs` are well-formed, can be answered from their documents, and are judged rightly."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.script import load
from wim_edge import read_document


@cache
def load_script() -> ModuleType:
    """Loads the runner, once, as tests of its judgement and of its jobs' form need it before any fixture is made."""
    return load("jobs")


SCRIPT = load_script()
JOBS = SCRIPT.load_jobs(SCRIPT.JOBS)
read_once = cache(lambda path: SCRIPT.plain(read_document(path).text))


def of_kind(*kinds: str) -> list[Any]:
    return [pytest.param(job, id=job.id) for job in JOBS if job.kind in kinds]


# The jobs


def test_there_are_enough_jobs_of_every_kind() -> None:
    kinds = Counter(job.kind for job in JOBS)
    assert len(JOBS) >= 30
    for kind, least in {"absent": 8, "yesno": 4, "list": 3, "summary": 2, "fact": 13}.items():
        assert kinds[kind] >= least
    assert len({job.language for job in JOBS} - {"en"}) >= 3
    assert sum(job.language != "en" for job in JOBS) >= 4


def test_the_core_is_twenty_jobs_that_touch_every_document_and_kind() -> None:
    core = [job for job in JOBS if job.core]
    assert len(core) == 20
    assert {job.kind for job in core} == set(SCRIPT.KINDS)
    assert {job.document for job in core} == {job.document for job in JOBS}


def test_no_document_is_without_a_job() -> None:
    documents = {path for path in SCRIPT.JOBS.parent.iterdir() if path != SCRIPT.JOBS}
    assert documents == {job.document for job in JOBS}


def test_every_pattern_compiles() -> None:
    for job in JOBS:
        for pattern in (*job.expected, *job.forbidden):
            assert re.compile(pattern, re.IGNORECASE)


@pytest.mark.parametrize("job", of_kind("fact"))
def test_a_fact_stands_in_its_document_and_so_does_what_it_may_be_taken_for(job: Any) -> None:
    text = read_once(job.document)
    assert any(SCRIPT.matches(pattern, text) for pattern in job.expected)
    for pattern in job.forbidden:
        assert SCRIPT.matches(pattern, text), pattern


@pytest.mark.parametrize("job", of_kind("list", "absent"))
def test_all_items_of_a_list_stand_in_its_document_and_an_absent_answer_does_not(job: Any) -> None:
    for pattern in job.expected:
        assert bool(SCRIPT.matches(pattern, read_once(job.document))) == (job.kind == "list"), pattern


def test_a_yes_or_no_is_one_of_the_two() -> None:
    assert {job.expected for job in JOBS if job.kind == "yesno"} == {("yes",), ("no",)}


# The runner


def make_job(kind: str, *expected: str, forbidden: tuple[str, ...] = ()) -> Any:
    return SCRIPT.Job("a", Path("a.txt"), "what", kind, expected, forbidden)


@pytest.mark.parametrize(
    ("job", "reply", "right"),
    [
        (make_job("fact", r"\b12\b", "twelve"), {"text": "It is\u00a012."}, True),
        (make_job("fact", "twelve days"), {"text": "TWELVE\n  days"}, True),
        (make_job("fact", "twelve"), {"text": "The text says so.", "short": "twelve"}, True),
        (make_job("fact", "twelve"), {"text": "thirteen"}, False),
        (make_job("fact", "twelve", forbidden=("ten",)), {"text": "twelve, not ten", "short": "twelve"}, True),
        (make_job("fact", "twelve", forbidden=("ten",)), {"text": "twelve or ten"}, False),
        (make_job("fact", "twelve", forbidden=("ten",)), {"text": "twelve or ten", "short": "ten"}, False),
        (make_job("fact", "twelve"), {"text": "Nearest: twelve", "status": "not_found"}, False),
        (make_job("fact", "twelve"), {"text": "twelve", "status": "unsure"}, True),
        (make_job("fact", "twelve"), {"text": "twelve", "status": "error"}, False),
        (make_job("yesno", "no"), {"text": "No. It is sold."}, True),
        (make_job("yesno", "no"), {"text": "Nothing of it"}, False),
        (make_job("yesno", "no"), {"text": "no", "short": "Yes"}, False),
        (make_job("yesno", "yes"), {"text": ""}, False),
        (make_job("list", "red", "blue"), {"text": "- red\n- blue"}, True),
        (make_job("list", "red", "blue"), {"text": "- red", "short": "blue"}, False),
        (make_job("list", "red", forbidden=("grey",)), {"text": "red, grey", "short": "red"}, False),
        (make_job("summary", "red", "blue", "green"), {"text": "red and green"}, True),
        (make_job("summary", "red", "blue", "green"), {"text": "red"}, False),
        (make_job("absent", "red"), {"text": "It does not say.", "status": "not_found"}, True),
        (make_job("absent", "red"), {"text": "It does not say.", "status": "unsure"}, False),
        (make_job("absent", "red"), {"text": "It does not say."}, False),
    ],
)
def test_a_reply_is_judged(job: Any, reply: dict[str, str], right: bool) -> None:
    assert SCRIPT.is_right(job, SCRIPT.Reply(**reply)) is right


def test_the_short_answer_is_judged_alone_too() -> None:
    job = make_job("fact", "twelve")
    assert SCRIPT.is_right_in_short(job, SCRIPT.Reply("twelve", short="twelve"))
    assert not SCRIPT.is_right_in_short(job, SCRIPT.Reply("twelve", short="it"))
    assert not SCRIPT.is_right_in_short(job, SCRIPT.Reply("twelve"))


def test_a_quotation_of_an_answer_is_its_own_or_a_source_s() -> None:
    sources = (SimpleNamespace(margin="own words", quote=None), SimpleNamespace(margin="as it stands", quote=(0, 3)))
    answer = SimpleNamespace(text="t", sources=sources, short="s", status="unsure", quotes=(), support=0.5)
    assert SCRIPT.reply_of(answer) == SCRIPT.Reply("t", "s", "unsure", "as it stands", 0.5)
    answer.quotes = (SimpleNamespace(text="q"),)
    assert SCRIPT.reply_of(answer).quotation == "q"


def test_the_summary_counts_by_kind_and_language() -> None:
    def outcome(kind: str, right: bool, status: str = "answered") -> Any:
        return SCRIPT.Outcome(make_job(kind, "x"), SCRIPT.Reply("x", status=status), right, 1.5)

    outcomes = [outcome("fact", True), outcome("fact", False, "not_found"), outcome("absent", True, "not_found")]
    figures = SCRIPT.summarize(outcomes)
    assert (figures["right"], figures["n"], figures["absent_told"], figures["absent"]) == (2, 3, 1, 1)
    assert figures["kinds"]["fact"] == {"right": 1, "n": 2, "absent_told": 0, "absent": 0}
    assert figures["languages"] == {"en": {"right": 2, "n": 3, "absent_told": 1, "absent": 1}}
    assert figures["wrongly_not_found"] == ["a"]
    assert figures["seconds"] == 4.5


def test_jobs_of_a_document_come_together() -> None:
    paths = [Path("a"), Path("b"), Path("a")]
    jobs = [SCRIPT.Job(str(n), path, "q", "fact", ("x",), core=n > 0) for n, path in enumerate(paths)]
    assert [job.id for job in SCRIPT.chosen(jobs, [], False)] == ["0", "2", "1"]
    assert [job.id for job in SCRIPT.chosen(jobs, [], True)] == ["2", "1"]
    assert [job.id for job in SCRIPT.chosen(jobs, ["1"], False)] == ["1"]
    with pytest.raises(SystemExit, match="no such job: 7"):
        SCRIPT.chosen(jobs, ["7"], False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[job]]\nid = "a"\ndocument = "d"\nquestion = "q"\nkind = "guess"\nexpected = ["x"]', "kind 'guess'"),
        ('[[job]]\nid = "a"\ndocument = "d"\nquestion = "q"\nkind = "fact"', "nothing is expected"),
        ('[[job]]\nid = "a"\nquestion = "q"\nkind = "fact"\nexpected = ["x"]', "document"),
        ('[[job]]\nid = "a"\ndocument = "d"\nquestion = "q"\nkind = "fact"\nexpected = ["x"]\n' * 2, "same id"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "jobs.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        SCRIPT.load_jobs(tmp_path / "jobs.toml")
