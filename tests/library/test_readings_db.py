"""The index of the saved readings: damaged, of another version, somebody else's, or changed by another process."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from tests.library.wall import MODEL, SMALL, TEXT, ask, files, folder, usage
from wim_edge import Document, Runtime, Settings
from wim_edge.library import ReadingStore
from wim_edge.library.readings_db import LOCK, PREFIX, ReadingsDatabase, kept_meanwhile, sweep
from wim_edge.reading import events


def test_names_that_are_no_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODEL, "info", replace(MODEL.info, name="\udcff"))
    with Runtime(SMALL, model=MODEL) as runtime:
        assert runtime.ask(Document("\udcff.txt", TEXT), "Which?").text
        assert runtime.ask(Document("\udcff.txt", TEXT), "Which?").usage.reused_tokens
    (kept,) = ReadingStore.of(Settings()).index.readings()
    assert kept.title.endswith(".txt")


def test_what_an_older_version_kept_is_read_again_which_is_said() -> None:
    ask("Another text. " * 300, pattern="llm")
    ask(TEXT, pattern="llm")
    with closing(sqlite3.connect(folder() / "index.sqlite")) as db:
        db.execute("PRAGMA user_version = 1")
    found = ask(TEXT, pattern="llm")
    assert [e.text for e in found if isinstance(e, events.Warning) and "older version" in e.text]
    assert usage(found).reused_tokens == 0
    again = ask(TEXT, pattern="llm")
    assert not [e for e in again if isinstance(e, events.Warning)]
    assert usage(again).prefilled_tokens == 0
    assert len(ReadingStore.of(Settings()).index.readings()) == 1


@pytest.mark.parametrize("start", [0, 4096])
@pytest.mark.parametrize("damage", [b"\0", b"\xff", b"x"])
def test_a_damaged_index_begins_anew(damage: bytes, start: int) -> None:
    ask(TEXT, pattern="wim-shallow")
    path = folder() / "index.sqlite"
    data = bytearray(path.read_bytes())
    data[start:] = damage * (len(data) - start)
    path.write_bytes(data)
    found = ask(TEXT, pattern="wim-shallow")
    assert len([e for e in found if isinstance(e, events.Warning) and "index" in e.text]) == 1
    assert found[-1].text  # type: ignore[attr-defined]
    once = ask(TEXT, pattern="wim-shallow")
    assert not [e for e in once if isinstance(e, events.Warning) and "index" in e.text]
    assert usage(ask(TEXT, pattern="wim-shallow")).reused_tokens
    assert len(files()) == len(ReadingStore.of(Settings()).index.files())


def test_a_reading_that_another_process_lets_go_of_costs_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    ask("Another text. " * 300, pattern="llm")
    (other,) = files()
    add = ReadingsDatabase.add

    def dropped(self: ReadingsDatabase, reading: int, *more: object) -> object:
        self.drop_reading(reading)
        return add(self, reading, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(ReadingsDatabase, "add", dropped)
    found = ask(TEXT, pattern="llm")
    assert found[-1].text  # type: ignore[attr-defined]
    assert not [e for e in found if isinstance(e, events.Warning) and "damaged" in e.text]
    assert files() == [other]


def test_an_index_of_another_version_is_left_alone() -> None:
    ask(TEXT)
    with closing(sqlite3.connect(folder() / "index.sqlite")) as db:
        db.execute("PRAGMA user_version = 99")
        db.commit()
    before = files()
    found = ask(TEXT)
    assert [e.text for e in found if isinstance(e, events.Warning) and "format 99" in e.text]
    assert files() == before


def test_another_program_s_database_is_not_written_to(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        db.execute("CREATE TABLE photos (name)")
    before = (tmp_path / "index.sqlite").read_bytes()
    warnings = [e.text for e in ask(TEXT, readings=tmp_path) if isinstance(e, events.Warning)]
    assert any("another program's database" in text for text in warnings)
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        assert [name for (name,) in db.execute("SELECT name FROM sqlite_master")] == ["photos"]
    assert len((tmp_path / "index.sqlite").read_bytes()) == len(before)


@pytest.mark.parametrize("name", ["{victim}", "../victim.reading", "a" * 31 + ".reading"])
def test_an_index_that_names_other_files_deletes_none(tmp_path: Path, name: str) -> None:
    victims = [tmp_path / "victim", folder().parent / "victim.reading", folder() / ("a" * 31 + ".reading")]
    ask(TEXT)
    for victim in victims:
        victim.write_text("precious")
    with closing(sqlite3.connect(folder() / "index.sqlite")) as db:
        named = name.format(victim=victims[0])
        db.execute("UPDATE state SET file = ? WHERE id = (SELECT max(id) FROM state)", (named,))
        db.commit()
    assert isinstance(ask(TEXT, "Whose wall?")[-1], events.AnswerFinished)
    ReadingStore(folder()).clear()
    assert [victim.read_text() for victim in victims] == ["precious"] * 3


def test_parts_that_another_process_removed_are_not_said_to_be_kept() -> None:
    ask(TEXT)
    index = ReadingsDatabase(folder() / "index.sqlite")
    reading = index.readings()[0]
    assert index.keep(reading.id, [10**6], reading.tokens) == 0
    assert index.readings()[0].tokens == 0


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def left(temporary: Path, name: str, seconds: float = 60) -> Path:
    made = temporary / f"{PREFIX}{name}"
    made.mkdir()
    (made / "a.reading").write_text("read")
    (made / LOCK).touch()
    os.utime(made / LOCK, (time.time() - seconds,) * 2)
    return made


def test_it_goes_at_the_end(temporary: Path) -> None:
    with kept_meanwhile(Settings(save=False)) as settings:
        assert settings.save
        (settings.readings / "a.reading").write_text("read")
        sweep()  # of another one
        assert (settings.readings / "a.reading").exists()
    assert list(temporary.iterdir()) == []


def test_what_is_to_be_kept_lies_elsewhere(temporary: Path) -> None:
    with kept_meanwhile(Settings()) as settings:
        assert settings == Settings()
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next(temporary: Path) -> None:
    killed, young, alive = left(temporary, "killed"), left(temporary, "young", 1), left(temporary, "alive")
    link = temporary / f"{PREFIX}link"
    link.symlink_to(left(temporary / "..", f"{temporary.name}-elsewhere"))
    with FileLock(alive / LOCK), kept_meanwhile(Settings(save=False)):
        assert not killed.exists()
        assert young.exists()
        assert alive.exists()
        assert (link / "a.reading").exists()
