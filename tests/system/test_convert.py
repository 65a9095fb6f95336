"""Errors of conversion name the field, its value and the accepted values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from wim_edge.errors import InvalidRequestError, ModelError
from wim_edge.system.convert import convert


class Inner(Struct):
    name: str
    spans: list[tuple[int, int]] = []


class Outer(Struct, forbid_unknown_fields=True):
    rank: Annotated[int, Meta(ge=1, le=9, description="1 to 9")] = 1
    count: Annotated[int, Meta(ge=0)] | None = None
    share: float = 0.0
    kind: Literal["a", "b"] = "a"
    judged: dict[int, bool] = {}
    inner: list[str | Inner] = []


def test_data_that_fits() -> None:
    data = {"rank": 2, "share": 1, "judged": {"3": False}, "inner": ["x", {"name": "y", "spans": [[0, 1]], "more": 0}]}
    assert convert(data, Outer) == Outer(2, None, 1.0, "a", {3: False}, ["x", Inner("y", [(0, 1)])])


@pytest.mark.parametrize(("data", "message", "hint"), [
    ({"rank": 0}, "x.rank is 0", "rank takes 1 to 9."),
    ({"rank": True}, "x.rank is True", "rank takes 1 to 9."),
    ({"count": "1"}, "x.count is '1'", "count takes a whole number."),
    ({"count": -1}, "x.count is -1", "count takes a whole number >= 0."),
    ({"share": False}, "x.share is False", "share takes a number."),
    ({"kind": "c"}, "x.kind is 'c'", "kind takes another value."),
    ({"judged": {"3": 1}}, "x.judged[...]: Expected `bool`, got `int`", "It takes true or false."),
    ({"inner": [{"name": "y", "spans": [[0]]}]}, "x.inner[0].spans[0] is [0]", "spans[0] takes a list of length 2."),
    ({"inner": [{}]}, "x.inner[0].name is missing", "Add name."),
    ({"inner": "x"}, "x.inner is 'x'", "inner takes a list."),
    ({"rang": 1}, "x.rang is not known", "Nearest: rank."),
    ({"zzz": 1}, "x.zzz is not known", "It takes rank, count, share, kind, judged, inner."),
    ([], "x is []", "It takes a table."),
    ({"share": 10**400}, f"x.share is {10**400!r:.80}", "share takes another value."),
])  # fmt: skip
def test_data_that_does_not_fit(data: Any, message: str, hint: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        convert(data, Outer, "x")
    assert (str(caught.value), caught.value.hint) == (message, hint)


def test_the_prefix_and_the_class_of_the_error() -> None:
    with pytest.raises(InvalidRequestError, match=r"^rank is 10$"):
        convert({"rank": 10}, Outer)
    with pytest.raises(ModelError, match=rf"^{Path('m')}: rank is 10$"):
        convert({"rank": 10}, Outer, "m: ", ModelError)
