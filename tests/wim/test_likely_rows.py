"""The row that makes a question likeliest: as far as the context has room, and no more rows than are worth it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.wim.mill import UNSURE, ask
from wim_edge.documents import Document
from wim_edge.testing import FakeModel
from wim_edge.wim.likely_cells import rows_of
from wim_edge.wim.likely_rows import MOST, likely_rows, shown
from wim_edge.wim.reading import Reading
from wim_edge.wim.timings import Timings

TABLE = "| Item | Note | 2024 | 2023\nPlant\nCranes | 11 | 40 | 50\nBoats | 12 | 60 | 70\n"


def reading(n_ctx: int = 4096) -> Reading:
    model = FakeModel()
    context = model.context(n_ctx)
    made: Any = SimpleNamespace(
        model=model, context=context, clock=Timings(), cache=SimpleNamespace(sequence=context.sequence()),
        control=SimpleNamespace(check=lambda: None),
    )  # fmt: skip
    return cast("Reading", made)


def test_a_row_is_read_with_its_labels_below_the_title_of_its_group() -> None:
    cranes, boats = rows_of(Document("t", TABLE))
    assert shown(cranes) == "Plant\nItem: Cranes; Note: 11; 2024: 40; 2023: 50"
    assert shown(boats).endswith("Item: Boats; Note: 12; 2024: 60; 2023: 70")


def test_the_row_with_the_words_of_the_question_comes_first() -> None:
    found = likely_rows(reading(), rows_of(Document("t", TABLE)), "What of the Boats?")
    assert [row.texts[0] for _, row in found] == ["Boats", "Cranes"]
    assert found[0][0] > found[1][0]


def test_no_more_rows_are_read_than_are_worth_it() -> None:
    rows = rows_of(Document("t", "| a | b\n" + "".join(f"row {n} | {n}\n" for n in range(100))))
    asked = reading()
    assert len(likely_rows(asked, rows, "What?")) == MOST
    assert not asked.context.cells() - len(asked.cache.sequence)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("n_ctx", "n"), [(20, 0), (64, 2)])
def test_a_small_context_takes_few_at_a_time_or_none(n_ctx: int, n: int) -> None:
    assert len(likely_rows(reading(n_ctx), rows_of(Document("t", TABLE)), "What of the Boats?")) == n


def test_it_is_shown_as_a_guess() -> None:
    text = "| Item | Note | Cost\nOld cranes | 11 | 40\nBoats at sea | 12 | 60\nYards | 13 | 90\n"
    found = ask(text, "How much for at sea vessels cost?", "Yards", UNSURE)
    assert (found.short, found.status) == ("60", "unsure")
    assert found.text.startswith("Perhaps: 60")
