"""A text is read once: the second question on it evaluates none of its tokens."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.engine.protocols import Interrupted, Logits
from wim_edge.errors import EngineError, InvalidRequestError, LibraryError
from wim_edge.library import ReadingStore
from wim_edge.library.readings_db import ReadingsDatabase
from wim_edge.library.state_file import read as read_state
from wim_edge.settings import Paths
from wim_edge.testing import FakeModel, FakeSequence
from wim_edge.wim import events

TEXT = " ".join(f"Sentence {n} tells of the {n}th stone in the long wall." for n in range(60))
SMALL = Settings(segment_tokens=128, answer_tokens=8, margin_tokens=16, max_passages=2)
MODEL = FakeModel(lambda prompt: "a stone")  # one, because it numbers words as it meets them
PATTERNS = ("llm", "rag", "wim", "wim-focus", "wim-shallow")


def folder() -> Path:
    return Paths.from_environment().cache / "readings"


def files() -> list[Path]:
    return sorted(folder().glob("*.reading"))


def ask(text: str, question: str = "Which stone?", **changes: object) -> list[events.Event]:
    """In a runtime of its own, as another process would."""
    with Runtime(SMALL.with_changes(**changes), model=MODEL) as runtime:
        return list(runtime.stream(Document("wall.txt", text), question))


def usage(found: list[events.Event]) -> events.Usage:
    last = found[-1]
    assert isinstance(last, events.AnswerFinished)
    return last.usage


def scores(found: list[events.Event]) -> list[tuple[int, float, int | None]]:
    return [(e.segment, e.relevance, e.rank) for e in found if isinstance(e, events.SegmentScored)]


def margins(found: list[events.Event]) -> list[tuple[int, str]]:
    return [(e.segment, e.text) for e in found if isinstance(e, events.MarginJudged)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_second_question_evaluates_no_token_of_the_text(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    append, evaluated = FakeSequence.append, defaultdict[FakeSequence, str](str)

    def noting(self: FakeSequence, tokens: Sequence[int], rows: int = 1) -> Logits:
        text = MODEL.text(tokens)
        if len(tokens) > 1 and "The text says" not in text:  # neither what a beam decodes nor a margin in the prompt
            evaluated[self] += text
        return append(self, tokens, rows)

    monkeypatch.setattr(FakeSequence, "append", noting)

    def segments(found: list[events.Event]) -> dict[int, int]:
        """Those that were evaluated since the last call, and their tokens."""
        texts = list(evaluated.values())
        evaluated.clear()
        read = [event for event in found if isinstance(event, events.SegmentRead)]
        return {one.segment: one.tokens for one in read if any(TEXT[slice(*one.chars)] in text for text in texts)}

    first = ask(TEXT, pattern=pattern)
    total = next(e.tokens for e in first if isinstance(e, events.ReadingStarted))
    assert usage(first).reused_tokens == 0
    assert sum(segments(first).values()) == total
    second = ask(TEXT, "Whose wall?", pattern=pattern)
    assert usage(second).reused_tokens == total
    again = segments(second)  # the passages that the answer is given from, where their states cannot be joined
    sources = second[-1].sources  # type: ignore[attr-defined]
    joined = 16 * (len(sources) - 1) if pattern in ("rag", "wim-shallow") else 0
    assert sum(again.values()) + joined == usage(second).prefilled_tokens
    assert set(again) <= ({one.segment for one in sources} if pattern == "wim-focus" else set())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_restored_reading_says_what_a_fresh_one_says(pattern: str) -> None:
    fresh = ask(TEXT, "Whose wall?", pattern=pattern, save=False)
    assert not files()
    ask(TEXT, pattern=pattern)
    restored = ask(TEXT, "Whose wall?", pattern=pattern)
    assert scores(restored) == scores(fresh)
    chosen = [one.segment for e in fresh if isinstance(e, events.ReadingRanked) for one in e.ranking if one.chosen]
    assert sorted(margins(restored)) == [(n, text) for n, text in margins(fresh) if n in chosen]
    assert restored[-1].text == fresh[-1].text  # type: ignore[attr-defined]
    assert restored[-1].sources == fresh[-1].sources  # type: ignore[attr-defined]
    read = [e for e in restored if isinstance(e, events.SegmentRead)]
    assert read == [e for e in fresh if isinstance(e, events.SegmentRead)]


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_a_text_that_grew_is_read_from_where_it_did(pattern: str) -> None:
    ask(TEXT, pattern=pattern)
    grown = TEXT + " And at the end there was a gate."
    found = usage(ask(grown, pattern=pattern))
    assert found.reused_tokens > 0.8 * found.prefilled_tokens
    assert usage(ask(grown, pattern=pattern)).reused_tokens >= found.reused_tokens


@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_what_was_read_before_the_stop_is_kept(pattern: str) -> None:
    with Runtime(SMALL.with_changes(pattern=pattern), model=MODEL) as runtime:
        for event in runtime.stream(Document("wall.txt", TEXT), "Which?"):
            if isinstance(event, events.SegmentRead) and event.segment == 2:
                runtime.cancel()
    found = usage(ask(TEXT, pattern=pattern))
    assert 0 < found.reused_tokens <= 3 * 128


def test_an_abandoned_stream_keeps_what_was_read() -> None:
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        stream = runtime.stream(Document("wall.txt", TEXT), "Which?")
        next(e for e in stream if isinstance(e, events.SegmentRead) and e.segment == 1)
        stream.close()  # type: ignore[attr-defined]
    assert usage(ask(TEXT, pattern="wim")).reused_tokens > 0


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("margins_are", ["verbatim", "free"])
def test_a_partly_known_text_says_what_a_fresh_one_says(pattern: str, margins_are: str) -> None:
    changes = {"pattern": pattern, "relevance": "likelihood", "margins": margins_are, "max_passages": 3}
    fresh = ask(TEXT, "Whose wall?", save=False, **changes)
    ask(TEXT[: len(TEXT) // 2], **changes)
    partly = ask(TEXT, "Whose wall?", **changes)
    assert usage(partly).reused_tokens
    assert scores(partly) == scores(fresh)
    assert partly[-1].text == fresh[-1].text  # type: ignore[attr-defined]
    assert partly[-1].sources == fresh[-1].sources  # type: ignore[attr-defined]
    known = usage(ask(TEXT, "Whose wall?", **changes))
    assert known.reused_tokens == next(e.tokens for e in partly if isinstance(e, events.ReadingStarted))


@pytest.mark.parametrize("pattern", ["wim", "wim-focus"])
def test_stopped_between_two_ends_of_a_known_text(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other segments than those kept: memories without history evaluate between them, and may be stopped there."""
    ask(TEXT, pattern=pattern)
    fork, calls = FakeSequence.fork, 0
    with Runtime(SMALL.with_changes(pattern=pattern, segment_tokens=100), model=MODEL) as runtime:

        def interrupted(self: FakeSequence, at: int | None = None) -> FakeSequence:
            nonlocal calls
            calls += 1
            if calls == 6:
                runtime.answer_now()
                raise Interrupted
            return fork(self, at)

        monkeypatch.setattr(FakeSequence, "fork", interrupted)
        found = list(runtime.stream(Document("wall.txt", TEXT), "Whose wall?"))
    last = found[-1]
    assert isinstance(last, events.AnswerFinished)
    assert (last.finish_reason, bool(last.text)) == ("early_exit", True)


def test_what_was_held_makes_room_for_the_answer() -> None:
    ask(TEXT, pattern="wim")
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        for event in runtime.stream(Document("wall.txt", TEXT), "Whose wall?"):
            if isinstance(event, events.SegmentScored) and event.segment == 3:
                runtime.answer_now()
            if isinstance(event, events.AnswerDelta):
                (context,) = [one for one in MODEL.contexts if not one.closed]
                assert max(map(len, context.live.values())) < 128 * 8


def test_a_name_that_is_no_unicode() -> None:
    with Runtime(SMALL, model=MODEL) as runtime:
        assert runtime.ask(Document("\udcff.txt", TEXT), "Which?").text
        assert runtime.ask(Document("\udcff.txt", TEXT), "Which?").usage.reused_tokens
    (kept,) = ReadingStore.of(Settings()).readings()
    assert kept.title.endswith(".txt")


@pytest.mark.parametrize("damage", [b"\0", b"\xff", b"x"])
def test_an_index_damaged_inside_begins_anew(damage: bytes) -> None:
    ask(TEXT, pattern="wim-shallow")
    path = folder() / "index.sqlite"
    data = bytearray(path.read_bytes())
    data[4096:] = damage * (len(data) - 4096)
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


def test_a_model_whose_name_is_no_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    ask("Another text. " * 300, pattern="llm")
    monkeypatch.setattr(MODEL, "info", replace(MODEL.info, name="\udcff"))
    found = ask(TEXT, pattern="llm")
    assert not [e for e in found if isinstance(e, events.Warning) and "saved" in e.text]
    assert len(files()) == 2


def test_states_under_each_others_names_are_not_taken() -> None:
    changes = {"pattern": "wim", "relevance": "likelihood"}
    fresh = ask(TEXT, "Whose wall?", save=False, **changes)
    ask(TEXT, **changes)
    paths = files()
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, [*contents[1:], contents[0]], strict=True):
        path.write_bytes(content)
    found = ask(TEXT, "Whose wall?", **changes)
    assert scores(found) == scores(fresh)
    assert [e for e in found if isinstance(e, events.Warning) and "another text" in e.text]


@pytest.mark.parametrize("instead", ["folder", "loop", "pipe"])
def test_what_is_no_file_is_let_go_of(instead: str) -> None:
    ask(TEXT, pattern="llm")
    (path,) = files()
    path.unlink()
    if instead == "folder":
        path.mkdir()
    elif instead == "loop":
        path.symlink_to(path)
    else:
        os.mkfifo(path)
    assert usage(ask(TEXT, pattern="llm")).reused_tokens == 0
    assert usage(ask(TEXT, pattern="llm")).reused_tokens


def test_nothing_is_kept_where_that_is_not_wanted_or_of_no_use() -> None:
    ask(TEXT, save=False)
    ask(TEXT, query_first=True, relevance="likelihood")
    assert not files()


@pytest.mark.parametrize("damage", ["cut", "flip", "flip the last", "longer", "empty", "foreign", "older"])
@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_a_damaged_file_is_told_once_removed_and_the_text_read_again(pattern: str, damage: str) -> None:
    ask(TEXT, pattern=pattern)
    before = files()
    for path in before:
        data = bytearray(path.read_bytes())
        if damage == "cut":
            del data[len(data) // 2 :]
        elif damage == "flip":
            data[5] ^= 1
        elif damage == "flip the last":
            data[-1] ^= 1
        elif damage == "longer":
            data[5:5] = b"x"
        elif damage == "empty":
            data.clear()
        elif damage == "foreign":
            data[:] = b"PK\3\4" + bytes(1000)
        else:
            data[-12] = 1
        path.write_bytes(data)
    found = ask(TEXT, pattern=pattern)
    assert usage(found).reused_tokens == 0
    told = [e.text for e in found if isinstance(e, events.Warning) and "damaged" in e.text]
    assert len(told) == 1
    assert not set(before) & set(files())
    again = ask(TEXT, pattern=pattern)
    assert usage(again).reused_tokens > 0
    assert not [e for e in again if isinstance(e, events.Warning) and "damaged" in e.text]


def test_a_state_of_another_model_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(TEXT)
    monkeypatch.setattr("wim_edge.testing.FakeContext.fingerprint", "another")
    assert usage(ask(TEXT)).reused_tokens == 0


def test_a_file_under_a_wrong_name_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(TEXT, pattern="wim", relevance="likelihood-gain")
    (mine,) = files()
    data = mine.read_bytes()
    monkeypatch.setattr("wim_edge.testing.FakeContext.fingerprint", "another")
    ask(TEXT, pattern="wim", relevance="likelihood-gain")
    (other,) = [path for path in files() if path != mine]
    other.write_bytes(data)
    assert usage(ask(TEXT, pattern="wim", relevance="likelihood-gain")).reused_tokens == 0


def test_only_the_user_may_look(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("no such permissions")
    ask(TEXT)
    assert folder().stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder().iterdir())


def test_a_disk_that_takes_nothing_is_told_and_the_answer_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wim_edge.library.array_file.os.fsync", full)
    found = ask(TEXT)
    assert [e.text for e in found if isinstance(e, events.Warning) and "No space left" in e.text]
    assert found[-1].text  # type: ignore[attr-defined]
    assert not list(folder().glob("*.part"))
    assert not files()


def test_a_folder_that_cannot_be_made_is_told_and_the_answer_given() -> None:
    folder().parent.mkdir(parents=True)
    folder().write_text("a file in its place")
    found = ask(TEXT)
    assert [e.text for e in found if isinstance(e, events.Warning) and "cannot be saved" in e.text]
    assert found[-1].text  # type: ignore[attr-defined]


def test_a_broken_index_is_told_and_begins_anew() -> None:
    ask(TEXT)
    (folder() / "index.sqlite").write_bytes(b"no database at all" * 100)
    found = ask(TEXT)
    assert usage(found).reused_tokens == 0
    assert [e.text for e in found if isinstance(e, events.Warning) and "index" in e.text]
    assert found[-1].text  # type: ignore[attr-defined]
    assert usage(ask(TEXT)).reused_tokens > 0


def test_an_index_of_another_version_is_left_alone() -> None:
    ask(TEXT)
    with closing(sqlite3.connect(folder() / "index.sqlite")) as db:
        db.execute("PRAGMA user_version = 99")
        db.commit()
    before = files()
    found = ask(TEXT)
    assert [e.text for e in found if isinstance(e, events.Warning) and "format 99" in e.text]
    assert files() == before


def test_a_deep_reading_is_kept_while_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wim_edge.wim.prompt_cache._SAVE_EVERY", 0.0)
    monkeypatch.setattr("wim_edge.wim.prompt_cache._SAVE_SHARE", 0.0)
    with Runtime(SMALL.with_changes(pattern="llm"), model=MODEL) as runtime:
        stream = runtime.stream(Document("wall.txt", TEXT), "Which?")
        next(e for e in stream if isinstance(e, events.SegmentRead) and e.segment == 3)
        assert len(files()) == 3
        list(stream)
    assert len(files()) == 1  # the last state holds the others
    assert usage(ask(TEXT, pattern="llm")).prefilled_tokens == 0


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
    with Runtime(SMALL.with_changes(readings=tmp_path / "file"), model=MODEL) as runtime, pytest.raises(
        LibraryError, match="cannot be saved"
    ):
        runtime.read(Document("wall.txt", TEXT))


def test_the_limit_lets_go_of_what_was_used_longest_ago() -> None:
    ask(TEXT, pattern="llm")
    size = files()[0].stat().st_size
    first, *_ = files()
    ask("Another text. " * 300, pattern="llm")
    ask(TEXT, pattern="llm")  # used again
    ask("A third one. " * 300, pattern="llm", readings_bytes=3 * size)
    names = {one.tokens for one in ReadingStore.of(Settings()).readings()}
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
    for _ in range(4):
        both = [
            subprocess.Popen([sys.executable, "-c", _WRITER], env=environ, stdout=subprocess.PIPE) for _ in range(2)
        ]
        for process in both:
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(rng.uniform(0.1, 0.8))
        for process in both:
            process.kill()
            process.communicate()
        library = ReadingStore(tmp_path / "r")
        assert not library.notes
        for name in library.index.files():
            assert read_state(tmp_path / "r" / name, {"fingerprint": "one"}).tokens
    assert library.readings()
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


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_beginning_of_a_known_text_alone_fits_its_own_context(pattern: str) -> None:
    ask(TEXT, pattern=pattern)
    begins = ask(TEXT[:700], pattern=pattern)
    assert begins[-1].text  # type: ignore[attr-defined]
    assert not [e for e in begins if isinstance(e, events.Warning) and "saved" in e.text]


def test_a_state_that_the_engine_refuses_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(TEXT, pattern="llm")

    def refuse(*_: object) -> None:
        raise EngineError("llama.cpp could not restore a sequence's state", "")

    monkeypatch.setattr("wim_edge.testing.FakeSequence.restore", refuse)
    found = ask(TEXT, pattern="llm")
    assert usage(found).reused_tokens == 0
    assert [e.text for e in found if isinstance(e, events.Warning) and "read again" in e.text]
    assert found[-1].text  # type: ignore[attr-defined]


def test_a_reading_of_which_nothing_is_kept_is_not_listed() -> None:
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        runtime.stream(Document("wall.txt", TEXT), "Which?").close()  # type: ignore[attr-defined]
    ask(TEXT, pattern="rag", relevance="verdict")
    assert not ReadingStore.of(Settings()).readings()


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


@pytest.mark.parametrize("pattern", ["wim", "wim-focus"])
def test_a_known_text_is_measured_from_its_end_and_stands_whole_again(pattern: str) -> None:
    first = ask(TEXT, pattern=pattern)
    again = ask(TEXT, pattern=pattern)
    assert scores(again) == scores(first)
    told = [e.tokens for e in again if isinstance(e, events.ReadingProgress)]
    assert told == sorted(told)
    assert told[-1] == next(e.tokens for e in again if isinstance(e, events.ReadingStarted))


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_file_that_goes_while_it_is_in_use_is_read_again(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"pattern": "wim", "max_passages": 6, "relevance_threshold": 0.0}
    question = "wall 0th 1th 50th 51th 59th"  # margins ever further on
    first = ask(TEXT, question, **changes)
    restored, times = FakeSequence.restore, []

    def gone(self: FakeSequence, snapshot: object) -> None:
        times.append(1)
        if len(times) > after:  # it was measured, or some of its margins are written
            raise EngineError("gone")
        restored(self, snapshot)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeSequence, "restore", gone)
    again = ask(TEXT, question, **changes)
    assert len(times) > after
    assert scores(again) == scores(first)
    assert again[-1].text == first[-1].text  # type: ignore[attr-defined]
    assert usage(again).prefilled_tokens  # what is read again is told


def test_answer_now_while_a_known_text_is_measured_draws_on_all_of_it() -> None:
    ask(TEXT, pattern="wim")
    with Runtime(SMALL.with_changes(pattern="wim"), model=MODEL) as runtime:
        found = []
        for event in runtime.stream(Document("wall.txt", TEXT), "Which stone?"):
            found.append(event)
            if isinstance(event, events.ReadingProgress) and event.tokens:
                runtime.answer_now()
    last = found[-1]
    assert isinstance(last, events.AnswerFinished)
    assert (last.finish_reason, bool(last.text)) == ("early_exit", True)
    assert not [e for e in found if isinstance(e, events.SegmentScored)]
    assert last.usage.reused_tokens == next(e.tokens for e in found if isinstance(e, events.ReadingStarted))


def test_a_reading_that_takes_much_of_the_disk_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def notes(found: list[events.Event]) -> list[str]:
        return [event.text for event in found if isinstance(event, events.Warning) and "on disk" in event.text]

    assert not notes(ask(TEXT))
    monkeypatch.setattr("wim_edge.library.reading_store._LARGE", 100)
    (note,) = notes(ask("Another text. " * 200))
    assert "--no-save" in note
    assert not notes(ask("Another text. " * 200))  # nothing new
