"""A child loads each unknown file once, before this process does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack.models import changed
from tests.conftest import written
from wim_edge import Runtime, Settings
from wim_edge.documents import Document
from wim_edge.engine import load_check
from wim_edge.engine.model import Model
from wim_edge.errors import ModelFileError
from wim_edge.reading.chat_template import rendered

pytestmark = pytest.mark.real


def test_a_foreign_file_never_reaches_llama_cpp(tmp_path: Path) -> None:
    bad = written(tmp_path / "notes.gguf", b"this is not a model, whatever its name says")
    with pytest.raises(ModelFileError, match="not a GGUF file"):
        Model(bad)


def test_an_abort_of_llama_cpp_is_an_error(tmp_path: Path, tiny: Path) -> None:
    good = tiny.read_bytes()
    path = written(tmp_path / "odd.gguf", next(data for what, data in changed(good) if what == "tokens of odd bytes"))
    with Runtime(Settings(model=str(path))) as runtime, pytest.raises(ModelFileError, match="SIGABRT"):
        runtime.ask(Document("d", "Some text."), "What?")


def test_no_module_of_the_working_directory_runs(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "numpy", "jinja2"):
        (tmp_path / f"{name}.py").write_text("open('was-here', 'w').close()\nraise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    load_check.check(tiny)
    rendered("{{ messages[0].content }} in a folder", [("user", "a")], "", "", {})
    assert not (tmp_path / "was-here").exists()


def test_a_file_is_checked_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_check.check(tiny)
    monkeypatch.setattr("subprocess.run", None)
    load_check.check(tiny)
    tiny.write_bytes(tiny.read_bytes() + b"\0")
    with pytest.raises(TypeError, match="not callable"):
        load_check.check(tiny)
