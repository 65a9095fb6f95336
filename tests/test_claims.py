"""Figures of README and docs/results.md: those that were measured, and no others."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "check_claims.py"


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, in a project of its own with one file of figures."""
    spec = importlib.util.spec_from_file_location("check_claims", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results = tmp_path / "docs" / "results"
    results.mkdir(parents=True)
    patterns = [
        {"pattern": "default", "n": 100, "contains": 0.45, "intervals": {"contains": [0.35, 0.55]},
         "seconds_first": 40.0, "peak_rss_bytes": 250_400_000},
        {"pattern": "rag:embed", "n": 100, "contains": 0.204, "intervals": {"contains": [0.13, 0.3]},
         "seconds_first": 16.0, "auroc": None},
    ]  # fmt: skip
    (results / "squad2.json").write_text(json.dumps({"command": "wim-edge eval documents", "patterns": patterns}))
    (results / "bench.json").write_text(json.dumps({"command": "python x", "medians": {"wim first": {"total": 2.5}}}))
    (results / "bare.json").write_text("{}")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_the_pages_say_what_was_measured() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "right in 0.45<!-- squad2/default.contains -->",
        "right in 45%<!-- squad2/default.contains -->",
        "right in 20%<!-- squad2/rag:embed.contains --> of cases",
        "2.5 times<!-- squad2/default.seconds_first / squad2/rag:embed.seconds_first --> as long",
        "24 s<!-- squad2/default.seconds_first - squad2/rag:embed.seconds_first --> more",
        "250 MB<!-- squad2/default.peak_rss_bytes -->",
        "2.5 s<!-- bench/medians.wim first.total -->",
        "See `0.99` and [3.5 s](x.md), a 98 MB file.",
    ],
)
def test_a_figure_that_was_measured(claims: ModuleType, text: str) -> None:
    assert list(claims.check(text, whole=True)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("right in 0.46<!-- squad2/default.contains -->", "0.46 is 0.45"),
        ("right in 21%<!-- squad2/rag:embed.contains -->", "21 is 0.204"),
        ("right in 0.45", "0.45 has no source"),
        ("it takes 3 s", "3 s has no source"),
        ("it takes 250 MB", "250 MB has no source"),
        ("0.45<!-- squad3/default.contains -->", "squad3.json is not there"),
        ("0.45<!-- squad2/wim.contains -->", "leads nowhere"),
        ("0.45<!-- squad2/default.exact -->", "leads nowhere"),
        ("0.45<!-- bare/x -->", "does not name its command"),
        ("| a | b |\n| --- | --- |\n| x | 0.5 |\n", "a table without marks"),
    ],
)
def test_a_figure_that_was_not(claims: ModuleType, text: str, message: str) -> None:
    assert any(message in wrong for wrong in claims.check(text, whole=True))


def test_sections_without_a_command_may_tell_of_throw_away_scripts(claims: ModuleType) -> None:
    text = "## Tried\n\nIt was 0.5 then.\n## Measured\n\n```sh\nwim-edge eval\n```\n\nIt is 0.6.\n"
    assert list(claims.check(text, whole=False)) == ["Measured: 0.6 has no source"]


def test_tables_are_written_and_checked(
    claims: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        "|  | n | gold in the answer | AUROC | memory, MB |",
        "| --- | --- | --- | --- | --- |",
        "| `default` | 100 | 0.45 (0.35–0.55) |  | 250 |",
        "| `rag:embed` | 100 | 0.20 (0.13–0.30) |  |  |",
    ]
    page.write_text(page.read_text().replace("0.45 (", "0.46 ("))
    (wrong,) = claims.check(page.read_text(), whole=True)
    assert "is not what was measured" in wrong
