"""What is added to a library, passed over, changed and let go of."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import written
from tests.documents.scanned import said, scan, scripted
from tests.library.conftest import documents, papers, write_rows
from wim_edge.library import ingest
from wim_edge.library.documents_db import state_of
from wim_edge.library.ingest import LEFT_OUT, IngestResult, InStep, LeftOut, add, sync
from wim_edge.library.library import Library
from wim_edge.settings import Limits


def states(found: list[IngestResult]) -> dict[str, str]:
    return {Path(one.path).name: one.state for one in found}


def test_a_folder_is_added_once_and_again_where_it_changed(home: Path, library: Library) -> None:
    folder = papers(home, a="The lighthouse was built in 1904.")
    written(folder / "sub" / "b.md", "# A heading\n\nThe harbour froze.")
    (folder / ".hidden.txt").write_text("no")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    assert states(list(add(library, [folder]))) == {"a.txt": "added", "b.md": "added", "picture.png": "skipped"}
    assert set(documents(library)) == {"a", "A heading"}
    version = library.version
    assert states(list(add(library, [folder]))) == {"a.txt": "unchanged", "b.md": "unchanged", "picture.png": "skipped"}
    assert library.version == version
    (folder / "a.txt").write_text("The lighthouse was moved in 1911.")
    assert states(list(add(library, [folder])))["a.txt"] == "changed"
    assert documents(library)["a"] == "The lighthouse was moved in 1911."
    assert library.version != version
    assert [hit.document for hit in library.search("when was it built", 5)] == []
    assert len(library.search("lighthouse", 5)) == 1


def test_a_scan_waits_for_sync_and_tells_of_its_pages(
    home: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, path = scripted(monkeypatch), home / "a.pdf"
    path.write_bytes(scan([["1"], ["2"]]))
    library.add_root(path)
    assert [one.state for one in sync(library, seconds=60)] == ["waiting"]
    runs.append([said(page, (f"Page {page}", 70, 100, 200, 130, 0.9)) for page in (1, 2)])
    found = list(sync(library))
    assert [one.state for one in found] == ["recognised", "recognised", "added"]
    assert found[1].note == "page 2, 2 of 2, with confidence 0.90"
    (kept,) = library.documents([1])
    assert [(mark.page, mark.confidence) for mark in kept.document.marks] == [(1, 0.9), (2, 0.9)]


def test_a_named_file_of_another_kind_changes_with_its_folder(home: Path, library: Library) -> None:
    folder = papers(home)
    (folder / "data.odd").write_text("ferry,noon")
    assert states(list(add(library, [folder, folder / "data.odd"]))) == {"data.odd": "added"}
    (folder / "data.odd").write_text("ferry,midnight")
    assert states(list(add(library, [folder]))) == {"data.odd": "changed"}
    assert documents(library) == {"data": "ferry,midnight"}


def test_json_is_rows_where_it_holds_any_and_else_a_text(home: Path, library: Library) -> None:
    folder = papers(home)
    rows = [{"title": "Ferry", "text": "It sails."}, {"title": "Crane", "text": "It lifts."}]
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "settings.json").write_text('{"harbour": {"depth": 4}}')
    (folder / "list.json").write_text('[{"depth": 4}]')
    (folder / "broken.jsonl").write_text("{")
    found = states(list(add(library, [folder])))
    assert found == {"rows.json": "added", "settings.json": "added", "list.json": "added", "broken.jsonl": "failed"}
    assert set(documents(library)) == {"Ferry", "Crane", "settings", "list"}
    assert documents(library)["settings"] == '{"harbour": {"depth": 4}}'


def test_what_is_gone_is_told_and_let_go_of_only_if_asked(home: Path, library: Library) -> None:
    folder = papers(home, a="Text a of the harbour.", b="Text b of the harbour.")
    list(add(library, [folder]))
    (folder / "b.txt").unlink()
    assert states(list(add(library, [folder]))) == {"a.txt": "unchanged", "b.txt": "gone"}
    assert len(library) == 2
    assert states(list(add(library, [folder], prune=True))) == {"a.txt": "unchanged", "b.txt": "removed"}
    assert set(documents(library)) == {"a"}
    assert len(library.search("harbour", 5)) == 1


def test_what_a_moved_file_held_stays_as_it_is(home: Path, library: Library) -> None:
    folder = papers(home, **{"old/a": "The ferry sails.", "old/b": "The crane lifts."})
    (folder / "new").mkdir()
    list(add(library, [folder]))
    (number,) = library.documents_of(str(folder / "old" / "a.txt"))
    version = library.version
    (folder / "old" / "a.txt").rename(folder / "new" / "a.txt")
    os.utime(folder / "old" / "b.txt", ns=(1, 1))  # of another time, with the same bytes
    assert states(list(sync(library))) == {"a.txt": "moved", "b.txt": "unchanged"}
    assert library.documents_of(str(folder / "new" / "a.txt")) == [number]
    assert library.version == version
    (folder / "old" / "b.txt").rename(folder / "old" / "crane.txt")  # its name is its title
    assert states(list(sync(library))) == {"a.txt": "unchanged", "crane.txt": "moved"}
    assert set(documents(library)) == {"a", "crane"}


def test_a_library_is_kept_in_step_with_what_was_added(home: Path, library: Library) -> None:
    folder, other = papers(home, a="The ferry sails."), home / "other.odd"
    other.write_text("A named file.")
    list(add(library, [folder, other, folder / "a.txt"]))
    assert library.roots() == [other, folder]
    (folder / "b.txt").write_text("The crane lifts.")
    other.write_text("Another text.")
    assert states(list(sync(library, seconds=0))) == {"other.odd": "waiting", "a.txt": "unchanged", "b.txt": "waiting"}
    assert states(list(sync(library))) == {"other.odd": "changed", "a.txt": "unchanged", "b.txt": "added"}
    (folder / "a.txt").unlink()
    other.unlink()
    assert states(list(sync(library))) == {"other.odd": "removed", "a.txt": "removed", "b.txt": "unchanged"}
    folder.rename(home / "away")  # a disk that is not there
    assert list(sync(library))[-1].state == "failed"
    assert set(documents(library)) == {"b"}


def test_patterns_leave_files_out(home: Path, library: Library) -> None:
    names = "a draft sub/draft sub/b old/c sub/old/keep sub-two/draft"
    folder = papers(home, **{name: name for name in names.split()})
    list(add(library, [folder]))
    (folder / ".wimignore").write_text("# drafts\ndraft.*\n/old/\n")
    (folder / "sub" / ".wimignore").write_text("!draft.txt\n")
    found = {one.path.removeprefix(f"{folder}{os.sep}"): one.state for one in sync(library)}
    gone = {name for name, state in found.items() if state == "removed"}
    assert gone == {"draft.txt", os.path.join("old", "c.txt"), os.path.join("sub-two", "draft.txt")}
    assert len(library) == 4


def test_a_file_that_is_named_is_taken_though_a_pattern_leaves_it_out(home: Path, library: Library) -> None:
    folder = home / "papers"
    (folder / "old").mkdir(parents=True)
    (folder / ".wimignore").write_text("draft.*\n/old/\n")
    for name in ("draft.txt", "draft.md", "old/a.txt", "old/b.txt"):
        (folder / name).write_text(name)
    list(add(library, [folder, folder / "draft.txt", folder / "old" / "a.txt"]))
    assert set(documents(library)) == {"draft", "a"}
    assert states(list(sync(library))) == {"draft.txt": "unchanged", "a.txt": "unchanged"}
    (folder / "draft.txt").write_text("Another draft.")
    assert states(list(sync(library)))["draft.txt"] == "changed"


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
    zipped = written(home / "rows2.jsonl.gz", gzip.compress(path.read_bytes()))
    (other,) = add(library, [zipped])
    assert other.documents == 5
    assert "Ferry (4)" in documents(library)


def test_rows_that_unpack_to_too_much_are_refused(home: Path, library: Library) -> None:
    path = written(home / "rows.jsonl.gz", gzip.compress(b'{"title": "a", "text": "b"}\n' + b"\n" * 1_000_000))
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
    path = written(home / "rows.jsonl", rows)
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
    path = written(home / "a.txt", "Here for now.")
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


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_loses_nothing(home: Path, library: Library) -> None:
    folder = home / "disk" / "sub"
    written(folder / "a.txt", "Kept.")
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
    (one,) = add(library, [folder / "pipe.txt"])
    assert (one.state, one.note) == ("failed", "it is no file")
    assert len(library) == 1


def write_again(path: Path, text: str) -> None:
    """Writes another text of the same length, and restores the file's times."""
    stat = path.stat()
    assert len(text) == stat.st_size
    path.write_text(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_the_same_size_and_time_of_another_text(home: Path, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(home / "rates.md", "The fee is 55 euros.")
    list(add(library, [path]))
    write_again(path, "The fee is 70 euros.")
    assert states(list(sync(library))) == {"rates.md": "changed"}
    # On a file system whose ctime and inode say nothing
    monkeypatch.setattr("wim_edge.library.ingest.state_of", lambda stat: replace(state_of(stat), stamp=1))
    list(add(library, [path]))
    write_again(path, "The fee is 85 euros.")
    assert states(list(sync(library))) == {"rates.md": "unchanged"}
    assert states(list(sync(library, written={str(path)}))) == {"rates.md": "changed"}
    assert documents(library) == {"rates": "The fee is 85 euros."}
    assert states(list(sync(library, written={str(path)}))) == {"rates.md": "unchanged"}


@pytest.mark.parametrize("how", ["empty", "missing", "part of it is empty", "part of it is missing"])
def test_a_folder_that_is_empty_or_missing_loses_nothing_unless_asked(home: Path, library: Library, how: str) -> None:
    root = home / "papers"
    disk = root / "disk" if how.startswith("part") else root
    disk.mkdir(parents=True)
    if disk != root:
        (root / "other.txt").write_text("The other one.")
    for name in ("a.txt", "b.txt"):
        (disk / name).write_text(f"The text of {name}")
    list(add(library, [root]))
    before = documents(library)
    shutil.rmtree(disk)
    if "empty" in how:
        disk.mkdir()
        (disk / ".hidden").touch()
    for found in (list(sync(library)), list(sync(library, seconds=60)), list(add(library, [root], prune=True))):
        told = {one.state for one in found} - {"unchanged"}
        assert told == {"failed" if how == "missing" else "gone"}
        assert documents(library) == before
    found = list(sync(library, remove_missing=True))
    assert [Path(one.path).name for one in found if one.state == "removed"] == ["a.txt", "b.txt"]
    assert set(documents(library)) == ({"other"} if disk != root else set())
    assert {one.state for one in sync(library)} <= {"unchanged"}


def test_reports_whose_year_is_in_the_file_name_alone(home: Path, library: Library) -> None:
    for year in (2023, 2024, 2025):
        (home / f"report-{year}.md").write_text(f"# Annual report\n\nNet income was {year % 10} million.")
    list(add(library, home.glob("*.md")))
    for year in (2023, 2024, 2025):
        (best, *_) = library.documents([hit.document for hit in library.search(f"net income in {year}", 3)])
        assert best.document.path == home / f"report-{year}.md"
        assert best.title == "Annual report"
        assert best.document.heading == f"Annual report (report-{year})"
    (home / "report-2024.md").unlink()
    list(sync(library))
    assert len(library.search("report 2024", 5)) == 2


def test_what_cannot_be_read_leaves_nothing_out(tmp_path: Path) -> None:
    (tmp_path / LEFT_OUT).mkdir()
    rules = LeftOut()
    rules.read(str(tmp_path))
    assert not rules.match(str(tmp_path), "a.log")


def test_a_question_sees_what_is_there_now(home: Path, library: Library) -> None:
    folder = papers(home, a="a", b="b", c="c", d="d")
    list(add(library, [folder]))
    (folder / "a.txt").write_text("changed")
    (folder / "b.txt").unlink()
    (folder / "e.txt").write_text("e")
    (folder / ".wimignore").write_text("c.txt\n")
    compared = InStep()
    told = "library papers: new: e.txt; changed: a.txt; deleted or left out: b.txt, c.txt"
    assert compared.bring(library, Limits()) == told
    assert documents(library) == {"a": "changed", "d": "d", "e": "e"}
    (folder / "a.txt").write_text("once more")
    assert compared.bring(library, Limits()) == ""
    assert documents(library)["a"] == "changed"  # it was compared a moment ago
    assert InStep().bring(library, Limits()) == "library papers: changed: a.txt"


def test_what_may_be_on_a_disk_that_is_not_there_stays(home: Path, library: Library) -> None:
    folder, alone = papers(home, a="a", b="b", c="c", d="d"), home / "alone.txt"
    alone.write_text("alone")
    list(add(library, [folder, alone]))
    for file in (*folder.iterdir(), alone):
        file.unlink()
    told = "library papers: not there, but still in the library: alone.txt, a.txt, b.txt and 2 more"
    assert InStep().bring(library, Limits()) == f"{told}; wim-edge library sync papers"
    assert len(library) == 5
    folder.rename(home / "away")
    assert "not there, but still in the library: alone.txt, papers" in InStep().bring(library, Limits())


def test_what_is_gone_stays_while_another_file_waits(
    home: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = papers(home, a="a", b="b")
    list(add(library, [folder]))
    (folder / "a.txt").rename(folder / "c.txt")
    monkeypatch.setattr(ingest, "SECONDS", 0.0)
    (folder / "b.txt").write_text("changed")
    told = "new or changed, but not read yet: b.txt, c.txt; not there, but still in the library: a.txt"
    assert InStep().bring(library, Limits()) == f"library papers: {told}; wim-edge library sync papers"
    assert documents(library) == {"a": "a", "b": "b"}
