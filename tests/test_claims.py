"""Figures of README and docs/results.md: those that were measured, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.script import ROOT, load

SCRIPT = ROOT / "scripts" / "check_claims.py"


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, in a project of its own with one file of figures."""
    module = load("check_claims")
    results = tmp_path / "docs" / "results"
    results.mkdir(parents=True)
    patterns = [
        {"pattern": "default", "n": 100, "contains": 0.45, "intervals": {"contains": [0.35, 0.55]},
         "ci95": [0.35, 0.55], "seconds_first": 40.0, "peak_rss_bytes": 250_400_000, "auroc": None},
        {"pattern": "rag:embed", "n": 100, "contains": 0.204, "intervals": {"contains": [0.13, 0.3]},
         "ci95": [0.13, 0.3], "seconds_first": 16.0, "auroc": 0.5},
    ]  # fmt: skip
    (results / "squad2.json").write_text(json.dumps({"command": "wim-edge eval documents", "patterns": patterns}))
    bench = {"command": "python x", "total": 7.0, "medians": {"wim first": {"total": 2.5}}}
    (results / "bench.json").write_text(json.dumps(bench))
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RESULTS", results)
    return module


def test_the_pages_say_what_was_measured() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("right in 0.45", "0.45 stands in no table"),
        ("it takes 250 MB", "250 MB stands in no table"),
        ("right<!-- squad2/default.contains -->", "in running text"),
        ("| a | b |\n| --- | --- |\n| x | 0.5 |\n", "a table without marks"),
        ("<!-- table squad3/default | n -->\n<!-- end -->", "squad3.json does not exist"),
        ("<!-- table squad2/wim | n -->\n<!-- end -->", "squad2.json has no wim"),
        ("<!-- table squad2/default | exact -->\n<!-- end -->", "has exact"),
        ("<!-- table squad2/default | nothing -->\n<!-- end -->", "has nothing"),
    ],
)
def test_what_is_wrong_with_a_page(claims: ModuleType, text: str, message: str) -> None:
    assert any(message in wrong for wrong in claims.check(text, commands=False))


@pytest.mark.parametrize(
    "text",
    [
        "31 ms", "it takes 3 s", "31s", "31 sec", "31\nseconds", "31\u00a0s", "**31** s", "12x", "12 ×", "12-fold",
        "5 hours", "1.5 GiB", "900 KB", "AUROC 1.00", "right in .99", "right in 0,99", "99 of 100", "99.9 percent",
        "right in 95%", "| right of 50 | 49 |",
    ],
)  # fmt: skip
def test_a_figure_in_running_text_is_found(claims: ModuleType, text: str) -> None:
    assert list(claims.check(text, commands=False))
    for none in ("See `0.99` and [3.5 s](x.md), with a 95% interval.", "## 3 s", "```sh\nx --temperature 0.5\n```",
                 "Python 3.11, 4,000 tokens, section 2.3 and the one of 2024"):  # fmt: skip
        assert list(claims.check(none, commands=False)) == []


def test_a_table_needs_its_command(claims: ModuleType) -> None:
    table = "<!-- table squad2/default | n -->\n" + claims.table_of(
        claims._TABLE.match("<!-- table squad2/default | n -->\n<!-- end -->")
    ) + "<!-- end -->\n"  # fmt: skip
    for command, good in (
        ("wim-edge eval documents", True), ("wim-edge eval documents -m smollm2-135m --out x --json  # so", True),
        ("wim-edge eval documents --limit 9", False), ("wim-edge eval documents --model other", False),
    ):  # fmt: skip
        found = list(claims.check(f"```sh\n{command}\n```\n{table}", commands=True))
        assert (found == []) is good, found


def test_commands_may_share_a_variable(claims: ModuleType) -> None:
    table = "<!-- table squad2/default | n -->\n||n|\n|---|---|\n|`default`|100|\n<!-- end -->\n"
    shown = '```sh\nTASK="eval documents"\n# a comment\nwim-edge $TASK\n```\n'
    assert list(claims.check(shown + table, commands=True)) == []


def test_a_row_may_have_a_label_and_be_a_whole_file(claims: ModuleType) -> None:
    (claims.RESULTS / "page.json").write_text(json.dumps({"command": "x", "frames": 59.2}))
    found = claims._TABLE.match('<!-- table "page=the page" | frames -->\n<!-- end -->')
    assert claims.table_of(found).splitlines()[2] == "|the page|59|"


def test_a_column_may_be_a_second_of_a_course(claims: ModuleType) -> None:
    course = {"command": "python scripts/bench_anytime.py", "n": 9, "embed": {"5": 0.0, "10": 0.92}}
    (claims.RESULTS / "anytime.json").write_text(json.dumps(course))
    found = claims._TABLE.match("<!-- table anytime/embed | 5, 10 -->\n<!-- end -->")
    assert claims.table_of(found) == "||5 s|10 s|\n|---|---|---|\n|`embed`|0.00|0.92|\n"


def test_the_order_of_options_and_patterns_does_not_matter(claims: ModuleType) -> None:
    one = claims.options_of("wim-edge eval multidoc --pattern llm,default --limit 5")
    assert one == claims.options_of("wim-edge eval multidoc --limit 5 --pattern default,llm --model smollm2-135m")
    assert one != claims.options_of("wim-edge eval multidoc --limit 5 --pattern default")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contains": 0.6}, "outside of its interval"), ({"ci95": [0.1, 0.2]}, "of no main score"),
        ({"errors": [{"id": "a"}]}, "1 examples failed"), ({"n": 7}, "different numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_in_a_file(claims: ModuleType, change: dict[str, object], message: str) -> None:
    found = json.loads((claims.RESULTS / "squad2.json").read_text())
    assert list(claims.inconsistent(found)) == []
    found["patterns"][0] |= change
    (wrong,) = claims.inconsistent(found)
    assert message in wrong
    assert list(claims.inconsistent({})) == ["it does not name its command"]


def test_tables_are_written_and_checked(claims: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "README.md"
    mark = "<!-- table squad2/default squad2/rag:embed | n, contains+, auroc, peak_rss_bytes -->"
    page.write_text(f"{mark}\n<!-- end -->\n")
    (tmp_path / "docs" / "results.md").write_text("")
    for option, code in ((), 1), (("--write",), 0), ((), 0):
        monkeypatch.setattr(sys, "argv", ["check_claims.py", *option])
        with pytest.raises(SystemExit) as ended:
            claims.main()
        assert ended.value.code == code
    assert page.read_text().splitlines()[1:-1] == [
        "||n|answer contains gold|AUROC|memory, MB|",
        "|---|---|---|---|---|",
        "|`default`|100|0.45 (0.35–0.55)||250|",
        "|`rag:embed`|100|0.20 (0.13–0.30)|0.50||",
    ]
    page.write_text(page.read_text().replace("0.45 (", "0.46 ("))
    (wrong,) = claims.check(page.read_text(), commands=False)
    assert "is not what was measured" in wrong
