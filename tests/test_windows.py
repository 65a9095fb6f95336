"""What is written when Windows has its say (tests/windows.py), and that the layer which stands for it refuses."""

from __future__ import annotations

import errno
import mmap
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from tests.system.test_journal import Row, opened
from tests.windows import INVALID_NAME, SHARING_VIOLATION, refuses_name
from wim_edge import offline_install
from wim_edge.catalog import Catalog, ModelEntry, PathSource, catalog as own
from wim_edge.catalog.catalog import own_file
from wim_edge.cli import main
from wim_edge.cli.main import CommandGroup
from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError, LibraryError, ModelError
from wim_edge.library.library import Library, folder_of, remove_library
from wim_edge.recall.index import load_index, load_or_build_index
from wim_edge.system.atomic_files import write_json, write_text
from wim_edge.system.journal import read_rows
from wim_edge.testing import FakeModel

pytestmark = pytest.mark.usefixtures("windows")


# The layer


def test_what_is_open_or_mapped_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with file.open("rb"), pytest.raises(PermissionError):
        file.unlink()
    with file.open("rb") as held:
        mapped = mmap.mmap(held.fileno(), 0, access=mmap.ACCESS_READ)
    with pytest.raises(PermissionError) as refused:
        file.unlink()
    assert refused.value.winerror == SHARING_VIOLATION  # type: ignore[attr-defined, unused-ignore]
    mapped.close()
    file.unlink()


@pytest.mark.parametrize("name", ["con", "NUL.txt", "com1.part", "a:b", "what?", "dot.", "space ", "tab\t"])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    for make in (lambda: (tmp_path / name).write_bytes(b""), lambda: (tmp_path / name).mkdir()):
        with pytest.raises(OSError, match="syntax") as refused:
            make()
        assert refused.value.winerror == INVALID_NAME  # type: ignore[attr-defined, unused-ignore]
    assert not any(map(refuses_name, ["console", "nula.txt", "a.b", ".hidden", "naïve name"]))


# What is written


def test_a_reader_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_text(file, "old")
    reader = file.open("rb")
    threading.Timer(0.2, reader.close).start()
    write_text(file, "new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_reader_who_stays_is_told_of_and_the_old_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_text(file, "old")
    with file.open("rb"), pytest.raises(PermissionError, match="another program has it open") as refused:
        write_json(file, {"new": 1})
    assert refused.value.filename == str(file)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_lines_end_as_they_were_given(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "one\ntwo\n")
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\n"
    (tmp_path / "other").write_text("one\n", encoding="utf-8")
    assert (tmp_path / "other").read_bytes() == b"one\r\n"


def entry(name: str) -> ModelEntry:
    return ModelEntry(name, "A model", "mit", "1M", 512, 1, 100, (PathSource(Path("/m.gguf")),))


def test_models_are_added_one_after_the_other() -> None:
    own_file().parent.mkdir(parents=True)
    own_file().write_text("# mine\n", encoding="utf-8")  # by an editor, with its lines
    for name in ("one", "two", "three"):
        own.add(entry(name))
    catalog = Catalog.load()
    assert [catalog.get(name).name for name in ("one", "two", "three")] == ["one", "two", "three"]


def test_rows_that_a_spreadsheet_has_open_are_kept_and_the_run_goes_on(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        for name in "ab":
            journal.add(Row(name, "1"))
        with (tmp_path / "rows.jsonl").open("rb"), pytest.raises(PermissionError, match="another program"):
            journal.write([Row("b", "1"), Row("a", "1")])
        journal.add(Row("c", "1"))
        assert len(read_rows(tmp_path / "rows.jsonl", Row)[0]) == 3
        journal.write([Row("b", "2"), Row("a", "2")])
    assert [*read_rows(tmp_path / "rows.jsonl", Row)[0]] == ["b", "a"]


def test_a_library_in_use_stays_whole() -> None:
    folder = Library("papers", create=True).folder
    with (folder / "documents.sqlite").open("rb"), pytest.raises(LibraryError) as refused:
        remove_library("papers")
    assert "Close what uses it" in refused.value.hint
    assert Library("papers").entries() == []
    remove_library("papers")
    assert not folder.exists()
    assert list(folder.parent.iterdir()) == []


@pytest.mark.parametrize("name", ["con", "Aux", "nul.old", "COM1", "lpt9.x", "papers."])
def test_no_name_that_a_user_gives_is_a_device(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="is not a library name"):
        folder_of(name)
    with pytest.raises(InvalidRequestError, match="is not a model name"):
        own.name_for(name.lower(), "x.gguf")
    assert folder_of("console.1").name == "console.1"


def test_a_model_in_models_toml_is_no_device() -> None:
    file = own_file()
    file.parent.mkdir(parents=True)
    file.write_text(own.as_toml(entry("aux")), encoding="utf-8")
    with pytest.raises(ModelError, match="not a model name"):
        Catalog.load()


# Consoles


def test_a_console_of_few_characters_ends_nothing(tmp_path: Path) -> None:
    asked = CliRunner(charset="cp1252", env={"PYTHONIOENCODING": "cp1252"})
    shown = asked.invoke(main, ["ask", str(tmp_path / "日本語 Ω.txt"), "何?"])
    assert shown.exit_code == 3
    assert "??? ?.txt" in shown.stderr
    assert shown.exception is None or isinstance(shown.exception, SystemExit)


def test_what_is_piped_is_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    shown = CliRunner(charset="cp1252").invoke(main, ["ask", str(tmp_path / "日本語.txt"), "x"])
    assert "日本語.txt" in (shown.stderr_bytes or b"").decode("utf-8")


@pytest.mark.parametrize("number", [errno.EPIPE, errno.EINVAL])
def test_a_pipe_that_nobody_reads_ends_quietly(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    write = Mock(side_effect=OSError(number, "Invalid argument"))
    monkeypatch.setattr("wim_edge.engine.available_memory.require_minimum", write)
    done = CliRunner().invoke(main, ["models", "list"])
    assert (done.exit_code, done.output) == (1, "")
    assert isinstance(main, CommandGroup)


def test_an_index_that_is_in_use_is_replaced_and_goes_with_its_library() -> None:
    library, model = Library("papers", create=True), FakeModel()
    library.put("a", [("Ferry", Document("Ferry", "The ferry sails at noon."))])
    load_or_build_index(library, model)
    old = load_index(library, model)
    library.put("b", [("Buoy", Document("Buoy", "It floats."))])
    load_or_build_index(library, model)
    new = load_index(library, model)
    assert [len(one.ids) for one in (old, new)] == [1, 2]
    remove_library("papers")
    assert not library.folder.exists()


def test_a_model_that_a_program_has_open_is_not_replaced_and_no_part_is_left(tmp_path: Path) -> None:
    new, target = tmp_path / "new.gguf", tmp_path / "kept" / "m.gguf"
    target.parent.mkdir()
    new.write_bytes(b"GGUF new")
    target.write_bytes(b"GGUF")
    with target.open("rb"), pytest.raises(PermissionError):
        offline_install._copy(new, target)
    assert target.read_bytes() == b"GGUF"
    assert list(target.parent.iterdir()) == [target]
