"""Libraries: what is added, passed over, changed, let go of; and what a kill or damage leaves."""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError, LibraryError
from wim_edge.library.ingest import IngestResult, add, title_of
from wim_edge.library.library import Library, names, remove
from wim_edge.settings import Limits, Paths


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WIM_EDGE_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def library(home: Path) -> Library:
    return Library("papers", create=True)


def states(found: list[IngestResult]) -> dict[str, str]:
    return {Path(one.path).name: one.state for one in found}


def documents(library: Library) -> dict[str, str]:
    kept = library.documents([number for number, _ in library.digests()])
    return {one.document.name: one.document.text for one in kept}


def write_rows(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_folder_is_added_once_and_again_where_it_changed(home: Path, library: Library) -> None:
    folder = home / "papers"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("The lighthouse was built in 1904.")
    (folder / "sub" / "b.md").write_text("# A heading\n\nThe harbour froze.")
    (folder / ".hidden.txt").write_text("no")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    assert states(list(add(library, [folder]))) == {"a.txt": "added", "b.md": "added", "picture.png": "skipped"}
    assert set(documents(library)) == {"a", "A heading"}
    version = library.version
    assert states(list(add(library, [folder]))) == {
        "a.txt": "unchanged", "b.md": "unchanged", "picture.png": "skipped",
    }  # fmt: skip
    assert library.version == version
    (folder / "a.txt").write_text("The lighthouse was moved in 1911.")
    assert states(list(add(library, [folder])))["a.txt"] == "changed"
    assert documents(library)["a"] == "The lighthouse was moved in 1911."
    assert library.version != version
    assert [hit.document for hit in library.search("when was it built", 5)] == []
    assert len(library.search("lighthouse", 5)) == 1


def test_a_named_file_of_another_kind_changes_with_its_folder(home: Path, library: Library) -> None:
    folder = home / "papers"
    folder.mkdir()
    (folder / "data.csv").write_text("ferry,noon")
    assert states(list(add(library, [folder, folder / "data.csv"]))) == {"data.csv": "added"}
    (folder / "data.csv").write_text("ferry,midnight")
    assert states(list(add(library, [folder]))) == {"data.csv": "changed"}
    assert documents(library) == {"data": "ferry,midnight"}


def test_what_is_gone_is_told_and_let_go_of_only_if_asked(home: Path, library: Library) -> None:
    folder = home / "papers"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.txt").write_text(f"Text {name} of the harbour.")
    list(add(library, [folder]))
    (folder / "b.txt").unlink()
    assert states(list(add(library, [folder]))) == {"a.txt": "unchanged", "b.txt": "gone"}
    assert len(library) == 2
    assert states(list(add(library, [folder], prune=True))) == {"a.txt": "unchanged", "b.txt": "removed"}
    assert set(documents(library)) == {"a"}
    assert len(library.search("harbour", 5)) == 1


def test_json_lines_with_equal_titles_without_titles_and_without_text(home: Path, library: Library) -> None:
    rows = [
        {"title": "Ferry", "text": "The ferry sails at noon."},
        {"title": "Ferry", "text": "A ferry is a ship."},
        {"title": "", "text": "Nameless."},
        {"title": "Empty", "text": " \n"},
        {"title": "Nothing"},
        {"title": "None", "text": None},
        {"wikipedia_title": "Kilt", "text": ["A kilt is a skirt.\n", "It is worn in Scotland.\n"]},
        {"title": "Body", "body": "In another field."},
    ]
    path = write_rows(home / "rows.jsonl", *rows)
    (one,) = add(library, [path])
    assert (one.state, one.documents, one.note) == ("added", 5, "3 rows hold no text")
    assert set(documents(library)) == {"Ferry", "Ferry (2)", "rows 3", "Kilt", "Body"}
    kept = library.documents([hit.document for hit in library.search("ferry", 5)])
    assert {one.title for one in kept} == {"Ferry"}
    zipped = home / "rows2.jsonl.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    (other,) = add(library, [zipped])
    assert other.documents == 5
    assert "Ferry (4)" in documents(library)


def test_rows_that_unpack_to_too_much_are_refused(home: Path, library: Library) -> None:
    path = home / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"title": "a", "text": "b"}\n' + b"\n" * 1_000_000))
    (one,) = add(library, [path], limits=Limits(document_bytes=10_000))
    assert (one.state, one.note) == ("failed", "larger than 10,000 bytes")
    (one,) = add(library, [path])
    assert one.state == "added"


@pytest.mark.parametrize(
    ("rows", "why"),
    [("", "no rows"), ("{", "line 1"), ('{"title": "a"}', "no row holds any text"),
     ('{"title": 3, "text": "b"}', "row 1"), ('{"title": "a", "text": 7}', "row 1"),
     ('{"title": "a", "text": ""}', "no row holds any text")],
)  # fmt: skip
def test_rows_that_are_none_are_told(home: Path, library: Library, rows: str, why: str) -> None:
    path = home / "rows.jsonl"
    path.write_text(rows)
    (one,) = add(library, [path])
    assert one.state == "failed"
    assert why in one.note
    assert len(library) == 0


def test_what_cannot_be_read_leaves_the_rest_and_what_was_there(home: Path, library: Library) -> None:
    good, bad = home / "good.txt", home / "bad.txt"
    good.write_text("Good.")
    bad.write_text("It was good, too.")
    list(add(library, [bad]))
    bad.write_bytes(b"\x00\x01\x02" * 100)
    found = list(add(library, [home / "missing.txt", bad, good]))
    assert [one.state for one in found] == ["failed", "failed", "added"]
    assert "what was there of it stays" in found[1].note
    assert "stays" not in found[0].note
    assert set(documents(library)) == {"bad", "good"}


def test_a_file_that_is_gone_is_let_go_of_by_its_own_name(home: Path, library: Library) -> None:
    path = home / "a.txt"
    path.write_text("Here for now.")
    list(add(library, [path]))
    path.unlink()
    assert states(list(add(library, [path]))) == {"a.txt": "gone"}
    assert states(list(add(library, [path], prune=True))) == {"a.txt": "removed"}
    assert len(library) == 0
    link = home / "link.txt"
    path.write_text("Again.")
    link.symlink_to(path)
    list(add(library, [link]))
    path.unlink()
    assert states(list(add(library, [link], prune=True))) == {"link.txt": "removed"}


def test_names_stay_when_files_change(home: Path, library: Library) -> None:
    for n in (1, 2, 3):
        write_rows(home / f"{n}.jsonl", {"title": "Same", "text": f"Text {n}."})
    paths = [home / f"{n}.jsonl" for n in (1, 2, 3)]
    list(add(library, paths))
    write_rows(paths[1], {"title": "Same", "text": "Another text."})
    list(add(library, paths))
    assert documents(library) == {"Same": "Text 1.", "Same (2)": "Another text.", "Same (3)": "Text 3."}


def test_a_name_that_another_document_has_taken_meanwhile(home: Path, library: Library) -> None:
    library.put("a", 0, 0, [("A", Document("A", "One."))])
    library.put("b", 0, 0, [("A (2)", Document("A (2)", "Two."))])
    library.put("b", 1, 1, [("A", Document("A", "Three.")), ("A (2)", Document("A (2)", "Two."))])
    assert sorted(documents(library).values()) == ["One.", "Three.", "Two."]


def test_a_heading_stays_with_what_follows_it(library: Library) -> None:
    from wim_edge.documents import Mark

    parts = [f"Room {n}\n\nThe keeper of it is called N{n}. " + "It is dusted at noon. " * 34 for n in range(9)]
    starts = [sum(map(len, parts[:n])) for n in range(9)]
    marks = tuple(Mark(start, section=f"Room {n}") for n, start in enumerate(starts))
    text = "".join(parts)
    library.put("rooms", 0, 0, [("Rooms", Document("Rooms", text, marks))])
    for n in (3, 7):
        best = library.search(f"keeper of room {n}", 1)[0]
        assert text[best.start : best.end].startswith(f"Room {n}\n")
    spans = sorted((hit.start, hit.end) for hit in library.search("keeper dusted", 99))
    assert "".join(text[start:end] for start, end in spans) == text


def test_titles() -> None:
    from wim_edge.documents import Mark

    assert title_of(Document("a.txt", "x", path=Path("folder/a.txt"))) == "a"
    assert title_of(Document("a.md", "x", (Mark(0, page=1), Mark(0, section="One")), Path("a.md"))) == "One"
    titled = Document("a.pdf", "x", (Mark(0, section="One"),), Path("a.pdf"), title=" Costs\n2023 ")
    assert title_of(titled) == "Costs 2023"
    assert title_of(Document("a.epub", "x", (Mark(0, section="chapter 1"),), Path("a.epub"))) == "a"


def test_passages_are_the_whole_text(library: Library) -> None:
    text = "Short. " + "A sentence about the harbour and its pilots. " * 200 + "unbroken" * 400
    library.put("long", 0, 0, [("Long", Document("Long", text))])
    hits = sorted(library.search("harbour unbroken short", 1000), key=lambda hit: hit.start)
    assert all(hit.end - hit.start <= 1000 for hit in hits)
    assert "".join(text[hit.start : hit.end] for hit in hits[:2]) == text[: hits[1].end]


@pytest.mark.parametrize(("query", "found"), [
    ("", ""), ("?!", ""), ('"', ""), ("\0", ""), ("x" * 100_000, ""), ("中文", ""), ("nea*", ""), ("AND OR", ""),
    ("NEAR(", "near"), ("near OR", "near"), ("-far", "far"), ("é 中文", "é"), ("title:far", "title far"),
    ("near AND far", "near far"), ("near NOT far", "near far"), ('"near far"', "near far"), ("near\0far", "near far"),
    ("far) OR (near", "near far"), ("text:near + far", "near far"), ("{title}: near^9", "near title"),
])  # fmt: skip
def test_any_query_is_only_words(library: Library, query: str, found: str) -> None:
    texts = ("near", "far", "é", "title")
    for n, text in enumerate(texts):
        library.put(text, 0, 0, [(f"Number {n}", Document(text, text))])
    hits = library.documents([hit.document for hit in library.search(query, 9)])
    assert {one.document.text for one in hits} == set(found.split())


def test_the_best_passage_comes_first_and_a_title_counts(library: Library) -> None:
    library.put("rows", 0, 0, [
        ("Harbour", Document("Harbour", "Ships lie there.")),
        ("Sea", Document("Sea", "A harbour is near. Much else is said of the sea, of ships, and of the wind.")),
        ("Hill", Document("Hill", "No water.")),
    ])  # fmt: skip
    found = library.documents([hit.document for hit in library.search("what is a harbour", 5)])
    assert [one.title for one in found] == ["Harbour", "Sea"]


def test_names_and_libraries_that_are_none(home: Path) -> None:
    assert names() == []
    with pytest.raises(LibraryError, match="no library papers"):
        Library("papers")
    for name in ("", "..", "a/b", ".a", "a b", "x" * 65, "-a"):
        with pytest.raises(InvalidRequestError, match="no name"):
            Library(name, create=True)
    Library("one", create=True)
    assert names() == ["one"]
    assert remove("one") > 0
    assert names() == []
    with pytest.raises(LibraryError, match="no library one"):
        remove("one")


def test_a_damaged_library_says_so_and_can_be_dropped(home: Path, library: Library) -> None:
    path = library.folder / "documents.sqlite"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(LibraryError, match="papers") as caught:
        Library("papers")
    assert "remove papers" in caught.value.hint
    remove("papers")
    assert len(Library("papers", create=True)) == 0


def test_another_format_is_not_touched(library: Library) -> None:
    import sqlite3

    with sqlite3.connect(library.folder / "documents.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(LibraryError, match="format 99"):
        Library("papers", create=True)


_KILLED = """
import os, signal, sys
from pathlib import Path
from wim_edge.documents import Document
from wim_edge.library.library import Library
def documents():
    for number in range(1000):
        if number == 500:
            os.kill(os.getpid(), signal.SIGKILL)
        yield f"Title {number}", Document("d", f"Words of number {number}.")
Library("papers").put("rows", 1, 2, documents())
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_killed_while_adding(home: Path, library: Library) -> None:
    library.put("before", 0, 0, [("Before", Document("Before", "It stays."))])
    version = library.version
    killed = subprocess.run([sys.executable, "-c", _KILLED], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert set(documents(library)) == {"Before"}
    assert library.version == version
    assert library.search("words number", 5) == []
    assert library.put("rows", 1, 2, [("Title", Document("d", "Words."))]) == 1
    assert len(library.search("words", 5)) == 1


def test_the_folder_is_under_the_libraries(tmp_path: Path) -> None:
    paths = Paths(tmp_path, tmp_path, tmp_path, tmp_path / "libraries")
    assert Library("a", paths, create=True).folder == tmp_path / "libraries" / "a"


@pytest.mark.skipif(os.name == "nt", reason="no such permissions")
def test_only_the_user_may_look(library: Library) -> None:
    from wim_edge.server.history import History

    History(library.folder / "questions")
    assert library.folder.stat().st_mode & 0o077 == 0
    assert (library.folder / "questions").stat().st_mode & 0o077 == 0


def test_nul_and_equal_words_survive_changes(home: Path, library: Library) -> None:
    path = write_rows(home / "p.jsonl", {"title": "a\0b", "text": "alpha\0 gamma delta"})
    (home / "m.txt").write_text("gamma rays")
    list(add(library, [path, home / "m.txt"]))
    assert len(library.search("gamma", 9)) == 2
    library.remove(str(path))
    assert len(library.search("gamma", 9)) == 1
    assert list(library.sources()) == [str(home / "m.txt")]


def test_a_folder_that_is_not_there_loses_nothing(home: Path, library: Library) -> None:
    folder = home / "disk"
    folder.mkdir()
    (folder / "a.txt").write_text("Kept.")
    list(add(library, [folder]))
    folder.rename(home / "elsewhere")
    found = list(add(library, [folder], prune=True))
    assert [one.state for one in found] == ["failed"]
    assert len(library) == 1


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_loses_nothing(home: Path, library: Library) -> None:
    folder = home / "disk" / "sub"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("Kept.")
    list(add(library, [home / "disk"]))
    folder.chmod(0)
    found = list(add(library, [home / "disk"], prune=True))
    folder.chmod(0o700)
    assert [one.state for one in found] == ["failed"]
    assert len(library) == 1


@pytest.mark.skipif(os.name == "nt", reason="no FIFO")
def test_what_is_no_file_and_names_that_are_none(home: Path, library: Library) -> None:
    folder = home / "odd"
    folder.mkdir()
    os.mkfifo(folder / "pipe.txt")
    (folder / "good.txt").write_text("Good.")
    found = list(add(library, [folder, folder, "a\0b", home / ("x" * 300), f"{folder}/../odd/good.txt"]))
    assert [one.state for one in found] == ["added", "skipped", "failed", "failed", "unchanged"]
    assert len(library) == 1


def test_every_change_is_a_version_of_its_own(home: Path, library: Library) -> None:
    import shutil

    library.put("a", 0, 0, [("A", Document("A", "One."))])
    other = home / "home" / "libraries" / "copy"
    shutil.copytree(library.folder, other)
    copy = Library("copy")
    assert copy.version == library.version  # they are the same
    for one, text in ((library, "Two."), (copy, "Three.")):
        one.put("b", 0, 0, [("B", Document("B", text))])
    assert copy.version != library.version


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM version", "UPDATE document SET marks='[[1]'", "UPDATE document SET marks='[[\"x\",2,3]]'",
     "UPDATE document SET text=NULL", "UPDATE document SET digest=NULL", "UPDATE document SET title=x'ff'",
     "UPDATE passage SET end=NULL", "UPDATE passage SET start=-5", "UPDATE passage SET end=9999",
     "UPDATE passage SET document=7", "UPDATE document SET name='Other'",
     "UPDATE document SET text=replace(text,'1904','1905')",
     "PRAGMA user_version=0", "UPDATE document SET name=NULL"],
)  # fmt: skip
def test_damage_inside_is_told(library: Library, damage: str) -> None:
    library.put("a", 0, 0, [("Lighthouse", Document("Lighthouse", "It was built in 1904."))])
    with sqlite3.connect(library.folder / "documents.sqlite") as db:
        db.execute(damage)
    def use() -> None:
        again = Library("papers")
        assert again.version
        again.documents([number for number, _ in again.digests()])
        again.search("lighthouse", 3)

    with pytest.raises(LibraryError) as caught:
        use()
    assert "remove papers" in caught.value.hint


def test_many_equal_titles_are_added_again_in_no_time(home: Path, library: Library) -> None:
    for name in "ab":
        write_rows(home / f"{name}.jsonl", *({"title": "T", "text": f"{name} {n}"} for n in range(1500)))
    paths = [home / "a.jsonl", home / "b.jsonl"]
    list(add(library, paths))
    os.utime(paths[0], (1, 1))
    list(add(library, paths))
    assert len(documents(library)) == 3000


def test_what_is_not_a_library_is_not_listed(home: Path, library: Library) -> None:
    stray = home / "home" / "libraries" / "a b"
    stray.mkdir()
    (stray / "documents.sqlite").write_bytes(b"")
    assert names() == ["papers"]


def test_nothing_is_made_by_looking(home: Path) -> None:
    with pytest.raises(LibraryError, match="no library none"):
        Library("none")
    assert not (home / "home" / "libraries" / "none").exists()


def test_a_time_of_change_beyond_the_database(home: Path, library: Library) -> None:
    path = home / "a.txt"
    path.write_text("The lighthouse was built in 1904.")
    os.utime(path, ns=(0, 2**63 + 10**9))
    assert states(list(add(library, [path]))) == {"a.txt": "added"}
    assert states(list(add(library, [path]))) == {"a.txt": "unchanged"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_no_document(home: Path, library: Library) -> None:
    os.mkfifo(home / "pipe.txt")
    (found,) = add(library, [home / "pipe.txt"])
    assert (found.state, found.note) == ("failed", "it is no file")


def test_one_that_was_killed_at_its_beginning_holds_nothing_yet(home: Path, library: Library) -> None:
    library.folder.joinpath("documents.sqlite").unlink()
    library.folder.joinpath("documents.sqlite").touch()
    with pytest.raises(LibraryError, match="holds nothing yet"):
        Library("papers")
    assert len(Library("papers", create=True)) == 0


def test_a_library_that_cannot_be_written_can_be_asked(
    home: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.put("a", 0, 0, [("Lighthouse", Document("Lighthouse", "It was built in 1904."))])
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as on a read-only disk, for root too
    opened: list[str] = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda where, **more: (opened.append(where), connect(where, **more))[1])
    again = Library("papers")
    assert [hit.document for hit in again.search("lighthouse", 3)] == [1]
    assert all(where.endswith("immutable=1") for where in opened)
