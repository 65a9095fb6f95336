"""A third of the hostile chat templates; scripts/attack.py asks each mutated model file a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack.models import TEMPLATES
from wim_edge.reading.chat_template import TemplateError, rendered

pytestmark = pytest.mark.real  # a template is rendered by a process of its own

MESSAGES = [("system", "[[s]]"), ("user", "[[u]]")]


@pytest.mark.parametrize("what", [*TEMPLATES][::3])
def test_a_hostile_template_ends(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        text = rendered(TEMPLATES[what], MESSAGES, "<s>", "</s>", {})
    except TemplateError as error:
        text = str(error)
    assert "root:" not in text
    assert "<class" not in text
    assert not list(tmp_path.iterdir())
