"""Which model a run on several machines is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from wim_edge.errors import ModelFileError
from wim_edge.loaded_models import check_same, model_identity
from wim_edge.settings import Settings

pytestmark = pytest.mark.real  # llama.cpp's build is part of it


@pytest.mark.parametrize("other", ["nothing", "file", "templates", "build"])
def test_a_machine_with_something_else_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    from tests.tiny import write_tiny
    from wim_edge.engine import bindings

    templates = tmp_path / "templates"
    templates.mkdir()
    settings = Settings(model=str(write_tiny(tmp_path / "tiny.gguf", "llama")), templates=templates)
    begun = model_identity(settings)
    if other == "file":
        write_tiny(tmp_path / "tiny.gguf", "llama", seed=8)
    elif other == "templates":
        (templates / "final_answer.jinja").write_text("{{ query }}")
    elif other == "build":
        monkeypatch.setattr(bindings, "BUILD", "0.0.0")
    if other == "nothing":
        check_same(begun, settings, "the other machine")
        return
    with pytest.raises(ModelFileError, match="the other machine has another tiny, other templates or"):
        check_same(begun, settings, "the other machine")
