"""Each format is named wherever formats are listed, has endings of its own, and is read."""

from __future__ import annotations

from itertools import combinations

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from wim_edge.cli import main
from wim_edge.documents.formats import FORMATS, Format


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_a_format_is_named_where_formats_are_listed(one: Format) -> None:
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/recall.md")}
    texts["ask --help"] = CliRunner().invoke(main, ["ask", "--help"]).output
    for name, text in texts.items():
        assert one.name in text, name


def test_no_ending_is_of_two_formats() -> None:
    for one, other in combinations(FORMATS, 2):
        assert not set(one.endings) & set(other.endings)
