"""Which rows choose and which report."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wim_edge.errors import InvalidRequestError
from wim_edge.evaluation.split import take_part


def test_the_first_third_chooses() -> None:
    rows = list(range(150))
    assert take_part(rows, "choose", key=lambda row: row) == rows[:50]
    assert take_part(rows, "report", key=lambda row: row) == rows[50:]
    assert take_part(rows, "all", key=lambda row: row) == rows


@given(st.lists(st.sampled_from("abcdefg"), min_size=1))
def test_parts_are_disjoint_and_whole(keys: list[str]) -> None:
    rows = list(enumerate(keys))

    def taken(part: str) -> list[tuple[int, str]]:
        try:
            return take_part(rows, part, key=lambda row: row[1])  # type: ignore[arg-type]
        except InvalidRequestError:
            return []

    choose, report = taken("choose"), taken("report")
    assert sorted(choose + report) == rows
    assert not {key for _, key in choose} & {key for _, key in report}  # what belongs together stays together
    assert choose


def test_a_part_of_one_row_is_none() -> None:
    with pytest.raises(InvalidRequestError, match="none is left to report"):
        take_part(["a"], "report", key=lambda row: row)
