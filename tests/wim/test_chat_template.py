"""A model's chat template: rendered once, in a process of its own, and no harm where it is none."""

from __future__ import annotations

import pytest

from wim_edge.wim.chat_template import SECONDS, rendered

pytestmark = pytest.mark.real  # a template is rendered by a process of its own
MESSAGES = [("system", "[[s]]"), ("user", "[[u]]")]


def test_a_template_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    template = "{{ messages[0].content }} once"
    assert rendered(template, MESSAGES, "", "", {}) == "[[s]] once"
    monkeypatch.setattr("subprocess.run", None)
    assert rendered(template, MESSAGES, "", "", {}) == "[[s]] once"
    assert SECONDS < 5
