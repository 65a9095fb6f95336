"""The tree of errors, each with a hint and an exit code, and errors as JSON has them."""

from __future__ import annotations

import json

import pytest

from wim_edge import errors
from wim_edge.errors import EngineError, WimEdgeError, from_dict

TREE = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, WimEdgeError)]


@pytest.mark.parametrize("kind", TREE)
def test_an_error_comes_out_of_json_as_it_went_in(kind: type[WimEdgeError]) -> None:
    found = from_dict(json.loads(json.dumps(kind("no such file: ä", "Name another.").to_dict())))
    assert type(found) is kind
    assert (str(found), found.hint, found.exit_code) == ("no such file: ä", "Name another.", kind.exit_code)


@pytest.mark.parametrize("name", ["KeyError", "Mapping", "__doc__", "BusyError", ""])
def test_what_is_none_of_ours_is_an_engine_error(name: str) -> None:
    found = from_dict({"error": name, "message": "m", "hint": ""})
    assert type(found) is EngineError
    assert str(found) == "m"


def test_every_error_has_a_documented_exit_code() -> None:
    assert len(TREE) == 13
    for kind in TREE:
        (line,) = [line for line in (errors.__doc__ or "").splitlines() if f" {kind.__name__} " in f" {line} "]
        assert str(kind.exit_code) in line
