"""Answers that a query on a table finds: said with the rows that they come from, and never sure of themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.reading.mill import NONE, SURE
from wim_edge import Document, Runtime, Settings, events
from wim_edge.answer import stage
from wim_edge.support import SupportWeights
from wim_edge.testing import FakeModel

ROOMS = "| Name | Room | Fee\n" + "".join(f"{name} | {room} | {fee}\n" for name, room, fee in [
    ("Ada Quill", 12, 40), ("Hugo Tindall", 14, 65), ("Mo Ferry", 15, 20), ("Ann Lee", 17, 80)])  # fmt: skip


def ask(
    query: str, *, support: SupportWeights = NONE, points: str = "Ann Lee", says: str = "", **changes: object
) -> events.AnswerFinished:
    """Asks of a judge that points at ``points``, and a writer that writes ``query`` where one is wanted, and ``says``
    whether its result answers."""

    def writes(prompt: str) -> str:
        result = says if "Does the text answer" in prompt and f"\n\nSELECT{query}\n-> " in prompt else ""
        return f"```sql\nSELECT{query}" if "SQLite" in prompt else result or "Perhaps."

    settings = Settings(pattern="wim-shallow", save=False, short_answer="writer").with_changes(**changes)
    pointing = FakeModel(lambda _: points)
    pointing.has_adapter = True
    with Runtime(settings, model=FakeModel(writes), judge=pointing) as runtime:
        judge = runtime._loaded.judge()
        assert judge is not None
        judge.support = support
        return runtime.ask(Document("rooms.txt", ROOMS), "Who pays the most?")


def test_a_result_that_is_a_cell_is_told_with_its_row() -> None:
    found = ask(query := " name FROM t ORDER BY fee DESC LIMIT 1", points="12")
    assert (found.status, found.short, found.query) == ("unsure", "Ann Lee", f"SELECT{query}")
    assert found.text == "Perhaps: Ann Lee\n\nName: Ann Lee · Room: 17 · Fee: 80 (line 5)"


def test_several_values_and_a_sum_have_their_rows() -> None:
    several = ask(" name FROM t WHERE fee < 50")
    assert several.text.startswith("Perhaps: Ada Quill; Mo Ferry\n\nName: Ada Quill · Room: 12")
    total = ask(" SUM(fee) FROM t")
    assert (total.status, total.short, total.span, len(total.quotes)) == ("unsure", "205", None, 4)
    assert "Name: Mo Ferry · Room: 15 · Fee: 20" in total.text


def test_what_the_judge_points_at_is_sure_if_a_query_finds_it_too() -> None:
    unsure = SupportWeights(-0.5, 0, 0, 0, 0)
    found = ask(" room FROM t WHERE name = 'Ann Lee'", support=unsure, points="17")
    assert (found.status, found.short, len(found.quotes)) == ("answered", "17", 1)
    # Only looked up: what the judge points at is as good
    assert ask(" room FROM t WHERE name = 'Ada Quill'", support=unsure, points="17").query == ""


def test_the_writers_word_on_a_result_counts() -> None:
    look_up, sum_up = " room FROM t WHERE name = 'Ada Quill'", " SUM(fee) FROM t"
    found = ask(look_up, points="17", says="Yes")
    assert (found.status, found.short, found.quotes[0].text) == ("answered", "12", "Ada Quill | 12 | 40")
    assert ask(look_up, points="17").query == ""
    assert (ask(sum_up, says="Yes").status, ask(sum_up).status) == ("answered", "unsure")
    assert ask(sum_up, says="No").query == ""


@pytest.mark.parametrize(
    ("query", "changes"),
    [("no SQL", {}), (" name FROM t WHERE fee > 900", {}), (" name FROM t WHERE fee < 50", {"answer": "fact"}),
     (" SUM(fee) FROM t", {"short_answer": "judge"}), (" SUM(fee) FROM t", {"answer": "yesno"})],
)  # fmt: skip
def test_without_a_result_or_a_writer_that_judges_well_nothing_changes(query: str, changes: dict[str, object]) -> None:
    assert ask(query, **changes).query == ""


def test_a_sure_answer_needs_no_query_nor_do_passages_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(" SUM(fee) FROM t", support=SURE, points="Ann Lee").query == ""
    monkeypatch.setattr(stage, "judge", lambda *a, f=stage.judge, **k: replace(j := f(*a, **k), other=j.candidates[0]))
    assert ask(" SUM(fee) FROM t").query == ""
