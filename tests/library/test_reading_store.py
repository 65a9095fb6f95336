"""Readings that are kept: what is saved and let go of, read ahead, by several processes at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.library.wall import MODEL, SMALL, TEXT, ask, files, folder, usage
from wim_edge import Document, Runtime, Settings
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library import ReadingStore
from wim_edge.library.array_file import read_state
from wim_edge.reading import events


def test_nothing_is_kept_where_that_is_not_wanted_or_of_no_use() -> None:
    ask(TEXT, save=False)
    ask(TEXT, query_first=True, relevance="likelihood")
    assert not files()


def test_only_the_user_may_look(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("no such permissions")
    ask(TEXT)
    assert folder().stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder().iterdir())


def test_a_folder_that_cannot_be_made_is_told_and_the_answer_given() -> None:
    folder().parent.mkdir(parents=True)
    folder().write_text("a file in its place")
    found = ask(TEXT)
    assert [e.text for e in found if isinstance(e, events.Warning) and "cannot be saved" in e.text]
    assert found[-1].text  # type: ignore[attr-defined]


def test_a_longer_text_takes_the_place_of_the_shorter_one() -> None:
    path = folder().parent / "wall.txt"
    path.parent.mkdir(parents=True)
    for text in (TEXT, TEXT + " A gate.", TEXT + " A gate. And a tower."):
        path.write_text(text)
        with Runtime(SMALL.with_changes(pattern="llm"), model=MODEL) as runtime:
            runtime.ask(path, "Which?")
        assert len(files()) == 1


def test_reading_ahead(tmp_path: Path) -> None:
    for pattern in ("wim", "wim-shallow"):
        chosen = SMALL.with_changes(pattern=pattern, relevance="likelihood-gain" if pattern == "wim" else None)
        with Runtime(chosen, model=MODEL) as runtime:
            found = list(runtime.read(Document("wall.txt", TEXT)))
            last = found[-1]
            assert isinstance(last, events.ReadingFinished)
            assert last.saved_tokens == last.tokens == last.usage.prefilled_tokens + last.usage.reused_tokens
            again = list(runtime.read(Document("wall.txt", TEXT)))[-1]
            assert isinstance(again, events.ReadingFinished)
            assert (again.usage.prefilled_tokens, again.usage.reused_tokens) == (0, last.tokens)
            answer = runtime.ask(Document("wall.txt", TEXT), "Which?")
            assert answer.usage.reused_tokens == last.tokens
    unsaved = SMALL.with_changes(save=False)
    with Runtime(unsaved, model=MODEL) as runtime, pytest.raises(InvalidRequestError, match="saving"):
        runtime.read(Document("wall.txt", TEXT))
    (tmp_path / "file").write_text("x")
    with (
        Runtime(SMALL.with_changes(readings=tmp_path / "file"), model=MODEL) as runtime,
        pytest.raises(LibraryError, match="cannot be saved"),
    ):
        runtime.read(Document("wall.txt", TEXT))


def test_the_limit_lets_go_of_what_was_used_longest_ago() -> None:
    ask(TEXT, pattern="llm")
    size = files()[0].stat().st_size
    first, *_ = files()
    ask("Another text. " * 300, pattern="llm")
    ask(TEXT, pattern="llm")  # used again
    ask("A third one. " * 300, pattern="llm", readings_bytes=3 * size)
    names = {one.tokens for one in ReadingStore.of(Settings()).index.readings()}
    assert first in files()
    assert sum(path.stat().st_size for path in files()) <= 3 * size
    assert len(names) == 2
    ask("A fourth. " * 300, pattern="llm", readings_bytes=10)
    assert not files()


_WRITER = """
import sys
from wim_edge import Document, Runtime, Settings
from wim_edge.testing import FakeModel
model = FakeModel(lambda prompt: "a stone")
model.fingerprint = "one"
changes = {"segment_tokens": 64, "answer_tokens": 4, "pattern": "wim-shallow", "max_passages": 1}
settings = Settings.from_environment().with_changes(**changes)
print("ready", flush=True)
n = 0
while True:
    n += 1
    text = " ".join(f"Sentence {k} tells of stone {n % 3}." for k in range(60))
    with Runtime(settings, model=model) as runtime:
        runtime.ask(Document(f"{n % 3}.txt", text), "Which?")
"""


@pytest.mark.real
def test_processes_killed_while_they_save_leave_nothing_broken(tmp_path: Path) -> None:
    environ = {**os.environ, "WIM_EDGE_READINGS": str(tmp_path / "r")}
    rng = random.Random(1)
    for last in (False, False, False, True):
        both = [
            subprocess.Popen([sys.executable, "-c", _WRITER], env=environ, stdout=subprocess.PIPE) for _ in range(2)
        ]
        for process in both:
            process.stdout.readline()
        time.sleep(rng.uniform(0.1, 0.8))
        until = time.monotonic() + 60
        while last and not ReadingStore(tmp_path / "r").index.readings() and time.monotonic() < until:
            time.sleep(0.1)  # on a slow machine none has been saved yet
        for process in both:
            process.kill()
            process.communicate()
        library = ReadingStore(tmp_path / "r")
        assert not library.notes
        for name in library.index.files():
            assert read_state(tmp_path / "r" / name, {"fingerprint": "one"}).tokens
    assert library.index.readings()
    library.clear()
    assert not library.index.files()
    with Runtime(SMALL.with_changes(readings=tmp_path / "r"), model=MODEL) as runtime:
        assert runtime.ask(Document("wall.txt", TEXT), "Which?").text
        assert runtime.ask(Document("wall.txt", TEXT), "Which?").usage.reused_tokens


def test_what_another_process_evicts_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(TEXT, pattern="wim-shallow")
    with Runtime(SMALL.with_changes(pattern="wim-shallow"), model=MODEL) as runtime:
        stream = runtime.stream(Document("wall.txt", TEXT), "Which?")
        next(e for e in stream if isinstance(e, events.SegmentRead) and e.segment == 1)
        ReadingStore.of(Settings()).clear()
        rest = list(stream)
    assert usage(rest).prefilled_tokens > 0
    assert not [e for e in rest if isinstance(e, events.Warning) and "saved" in e.text]
    assert usage(ask(TEXT, pattern="wim-shallow")).reused_tokens > 0


def test_a_reading_of_which_nothing_is_kept_is_not_listed() -> None:
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        runtime.stream(Document("wall.txt", TEXT), "Which?").close()  # type: ignore[attr-defined]
    ask(TEXT, pattern="rag", relevance="verdict")
    assert not ReadingStore.of(Settings()).index.readings()


def test_what_else_lies_in_the_folder_stays(tmp_path: Path) -> None:
    shared = tmp_path / "downloads"
    shared.mkdir()
    theirs = [shared / name for name in ("film.part", "my.reading", "x" * 32 + ".reading", "index.sqlite")]
    for path in theirs:
        path.write_bytes(b"mine, " * 100)
        os.utime(path, (0, 0))
    warnings = [e.text for e in ask(TEXT, readings=shared) if isinstance(e, events.Warning)]
    assert any("damaged" in text and "index.sqlite.damaged" in text for text in warnings)
    assert all(path.read_bytes() == b"mine, " * 100 for path in theirs[:-1])
    assert (shared / "index.sqlite.damaged").read_bytes() == b"mine, " * 100
    assert usage(ask(TEXT, "Whose wall?", readings=shared)).reused_tokens


def test_a_reading_that_takes_much_of_the_disk_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def notes(found: list[events.Event]) -> list[str]:
        return [event.text for event in found if isinstance(event, events.Warning) and "on disk" in event.text]

    assert not notes(ask(TEXT))
    monkeypatch.setattr("wim_edge.library.reading_store._LARGE", 100)
    (note,) = notes(ask("Another text. " * 200))
    assert "readings remove" in note
    assert not notes(ask("Another text. " * 200))  # nothing new


@pytest.mark.parametrize("relevance", ["likelihood", "bm25", "verdict"])
def test_a_question_that_reads_little_keeps_what_others_have_read(relevance: str) -> None:
    document, chosen = Document("wall.txt", TEXT), SMALL.with_changes(pattern="wim-shallow", relevance=relevance)
    with Runtime(chosen, model=MODEL) as runtime:
        last = list(runtime.read(document))[-1]
    assert isinstance(last, events.ReadingFinished)
    states = set(files())
    with Runtime(chosen.with_changes(within="1%"), model=MODEL) as runtime:
        little = runtime.ask(document, "Which?")
    assert little.read_segments < little.segments
    assert set(files()) == states
    assert ReadingStore.of(SMALL).index.readings()[0].tokens == last.tokens
    with Runtime(chosen, model=MODEL) as runtime:
        again = list(runtime.read(document))[-1]
    assert isinstance(again, events.ReadingFinished)
    assert again.usage.prefilled_tokens == 0


def test_of_a_text_that_was_changed_only_what_still_stands_is_kept(tmp_path: Path) -> None:
    path, chosen = tmp_path / "wall.txt", SMALL.with_changes(pattern="wim-shallow", relevance="likelihood")
    for text in (TEXT, "Another text altogether. " * 20):
        path.write_text(text)
        with Runtime(chosen, model=MODEL) as runtime:
            list(runtime.read(path))
        before = set(files())
    path.write_text(TEXT)
    with Runtime(chosen.with_changes(within="1%"), model=MODEL) as runtime:
        runtime.ask(path, "Which?")
    assert not set(files()) & before
