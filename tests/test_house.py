"""How the house stands: the limits of scripts/house.py, and the drawings of docs/how-it-works.md."""

from __future__ import annotations

import re
from copy import copy
from typing import Any

import pytest

from tests.script import ROOT, load

house = load("house")
STANDS = house.House()
DRAWN = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")


def test_no_limit_is_passed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["house.py", "--list"])
    with pytest.raises(SystemExit) as ended:
        house.main()
    assert not ended.value.code, capsys.readouterr().out


def test_the_way_of_a_question_leads_down() -> None:
    assert STANDS.way()[0] == "cli.ask"
    assert len(STANDS.way()) > 20
    assert not STANDS.steps_back()


def test_a_step_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house.House, "way", lambda self: ["wim.events", "runtime", "nowhere"])
    assert len(STANDS.steps_back()) == 2


def test_packages_import_from_lines_below() -> None:
    lines = [line.split() for line in DRAWN.rpartition("```\n")[0].rpartition("```\n")[2].splitlines()]
    level = {room: number for number, line in enumerate(lines) for room in line}
    rooms = {room: others - {""} for room, others in STANDS.rooms().items() if room}
    assert level.keys() == rooms.keys()
    assert [f"{room} imports {one}" for room in rooms for one in rooms[room] if level[one] <= level[room]] == []


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, ["a, b"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"d"}}, ["a, b, c"]),
    ],
)
def test_circles(graph: dict[str, set[str]], found: list[str]) -> None:
    assert house.circles(graph) == found


def test_a_default_stated_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(seed=0, n=1, *, top_p=1.0, retriever=None): ...\nclass C:\n    min_p: float = 0.0\n"
    modules: dict[str, Any] = {"x": house.Module("x", ROOT, house.ast.parse(text), 3)}
    stands = copy(STANDS)
    monkeypatch.setattr(stands, "modules", modules)
    assert [re.sub(r":\d+", "", one) for one in stands.defaults_twice()] == [
        "x seed = 0", "x top_p = 1.0", "x min_p = 0.0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "needs_a_test"),
    [
        ("class C(Protocol):\n    def f(self) -> int:\n        \"\"\"Returns it.\"\"\"\n        ...\n", False),
        ("LIMIT = max(1, 2)\n@dataclass\nclass C:\n    n: int = 0\n", False),
        ("class C:\n    @property\n    def f(self) -> int:\n        return 1\n", True),
        ("def f() -> None:\n    pass\n", True),
    ],
)
def test_a_module_that_does_something_needs_a_test_file_at_its_place(
    monkeypatch: pytest.MonkeyPatch, text: str, needs_a_test: bool
) -> None:
    stands = copy(STANDS)
    module = house.Module("wim.x", house.PACKAGE / "wim" / "x.py", house.ast.parse(text), 3)
    monkeypatch.setattr(stands, "modules", {"wim.x": module})
    assert stands.untested() == (["wim.x"] if needs_a_test else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('X = re.compile(r"\\b(?:when|wann)\\b")', ["when", "wann"]),
        ('X = re.compile(r"(?P<number>[0-9a-f]{2,})(?:[A-Z][a-z]+|https?://\\S+|www\\.)")', []),
        ('X = "a an and as at but by did do for from had has".split()', ["13 words"]),
        ("X = {'the', 'of', 'and', 'to', 'in', 'is', 'it', 'you', 'that', 'he', 'was', 'for', 'on'}", ["13 words"]),
        ('X = ("one two three four five six seven", "eight nine ten eleven twelve thirteen")', ["13 words"]),
        ('X = ("auto", "fact", "yesno", "list")', []),
    ],
)
def test_words_of_a_language_are_found(text: str, found: list[str]) -> None:
    assert [what for _, what in house._words_of(house.ast.parse(text))] == found


def test_a_name_assigned_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A = 1\nA = 2\nB: int = 3\nC, B = 4, 5\nlog.x = 6\nlog.y = 7\ndef f(): ...\n@overload\ndef f(): ...\n"
    stands = copy(STANDS)
    monkeypatch.setattr(stands, "modules", {"x": house.Module("x", ROOT, house.ast.parse(text), 9)})
    assert stands.assigned_twice() == ["x A", "x B"]


def test_the_glossary_is_in_order_and_names_each_word_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^- \*\*(.+?)\*\*: ", text, re.M)
    assert len(terms) > 30
    assert terms == sorted(set(terms))
