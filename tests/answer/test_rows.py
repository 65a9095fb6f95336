"""Rows read alone: their cells as answers, and the room that it takes."""

from __future__ import annotations

import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.answer.rows import AT_MOST, RowRead, read_alone
from wim_edge.documents.units import rows
from wim_edge.testing import FakeModel

TABLE = "| Name | Room |\n| --- | --- |\n| Ada Quill | 12 |\n| Hugo Tindall | 14 |\n"


def read(text: str) -> list[RowRead]:
    model = FakeModel(lambda prompt: "14" if "Hugo" in prompt else "nobody")
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=model) as runtime:
        runtime.ask(Document("t", text), "Which room is Hugo in?")
        session = runtime._session
        assert session is not None
        reading = session.reading
        before, live = len(reading.cache.sequence), len(model.contexts[0].live)
        found = list(read_alone(reading, [(0, row) for row in rows(Document("t", text))]))
        assert (len(reading.cache.sequence), len(model.contexts[0].live)) == (before, live)
    return found


def test_each_cell_that_holds_something_is_rated() -> None:
    found = read(TABLE)
    assert [[n for n, _ in row.cells] for row in found] == [[0, 1], [0, 1]]
    assert all(rated <= 0 for row in found for _, rated in row.cells)
    best = max(((rated, row.row.texts[n]) for row in found for n, rated in row.cells))
    assert best[1] == "14"


@pytest.mark.parametrize("n", [1, 2, 3, AT_MOST + 1])
def test_as_many_rows_are_read_as_are_given(n: int) -> None:
    text = "| Name | Room |\n| --- | --- |\n" + "".join(f"| Hugo {k} | {k} |\n" for k in range(n))
    assert len(read(text)) == n
