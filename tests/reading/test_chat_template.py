"""A model's chat template: rendered once, in a process of its own, and no harm where it is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from wim_edge.reading.chat_template import SECONDS, TemplateError, rendered

pytestmark = pytest.mark.real  # a template is rendered by a process of its own
MESSAGES = [("system", "[[s]]"), ("user", "[[u]]")]


def test_a_template_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    template = "{{ messages[0].content }} once"
    assert rendered(template, MESSAGES, "", "", {}) == "[[s]] once"
    monkeypatch.setattr("subprocess.run", None)
    assert rendered(template, MESSAGES, "", "", {}) == "[[s]] once"
    assert SECONDS < 5


@pytest.mark.parametrize(
    ("template", "says"),
    [("{% for %}", "TemplateSyntaxError"), ("{{ raise_exception('no system turn') }}", "ValueError: no system turn"),
     ("{{ messages[7].content }}", "UndefinedError"), ("{{ ''.__class__.__mro__ }}", "SecurityError"),
     ("{% for n in range(99999) %}{% for m in range(99999) %}{% endfor %}{% endfor %}", "seconds|OverflowError")],
)  # fmt: skip
def test_what_is_wrong_with_a_template_is_told(template: str, says: str) -> None:
    with pytest.raises(TemplateError, match=says):
        rendered(template, MESSAGES, "", "", {})


def test_a_template_has_what_templates_are_given() -> None:
    template = (
        "{{ bos_token }}{% for message in messages %}{% if loop.index > 1 %}{% break %}{% endif %}"
        "{{ message.role }}{% endfor %}{{ eos_token }}{{ enable_thinking }}{{ add_generation_prompt }}"
        "{{ strftime_now('%Y') | length }}"
    )
    assert rendered(template, MESSAGES, "<s>", "</s>", {"enable_thinking": False}) == "<s>system</s>FalseTrue4"


@pytest.mark.skipif(os.name == "nt", reason="no such scripts")
def test_a_machine_may_start_python_slowly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text(f'#!/bin/sh\nsleep 1\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(slow))
    monkeypatch.setattr("wim_edge.reading.chat_template.SECONDS", 0.3)
    assert rendered("slowly {{ messages[0].content }}", MESSAGES, "", "", {}) == "slowly [[s]]"
