"""Adapters apply to later tokens and leave earlier cells unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wim_edge.errors import ModelFileError
from wim_edge.settings import NO_ADAPTER, Settings, adapter_file, package_file

pytestmark = pytest.mark.real
TEXT = "The mill stood by the river. Dr. A. Brandt bought it in 1921. She paid 4,000 crowns for it."
ASKED = "\n\nQuestion: Who bought the mill?\nAnswer:"
SHIPPED = "smollm2-135m.gguf"


def test_earlier_cells_do_not_change(model_file: Callable[[str], Path]) -> None:
    from wim_edge.engine.model import Model

    states, answers = [], []
    for name in (NO_ADAPTER, SHIPPED):
        with Model(model_file("smollm2"), Settings(n_threads=1, adapter=name)) as model:
            assert model.has_adapter == (name == SHIPPED)
            context = model.context(1024)
            with context.sequence() as sequence:
                sequence.append(model.tokenize(TEXT))
                with sequence.fork() as branch, context.adapted():
                    branch.append(model.tokenize(ASKED))
                    answers.append(branch.logits)
                state = sequence.snapshot().state
                assert isinstance(state, np.ndarray)
                states.append(state.tobytes())
                sequence.append(model.tokenize(" He sold it again."))
                states.append(sequence.logits.tobytes())
    assert states[:2] == states[2:]
    assert not np.array_equal(*answers)


def test_odds_are_higher_for_a_text_that_answers(model_file: Callable[[str], Path]) -> None:
    from wim_edge.documents import split
    from wim_edge.engine.model import Model
    from wim_edge.reading.pointing import Pointer

    with Model(model_file("smollm2"), Settings(adapter=SHIPPED)) as model:
        context = model.context(1024)
        pointer = Pointer(model, context)
        (segment,) = split(TEXT, 1000, model.tokenize)
        odds = []
        for question in ("In which year did Brandt buy the mill?", "What is the e-mail address of the school?"):
            with context.sequence() as sequence, context.adapted():
                sequence.append([*segment.tokens, *model.tokenize(f"\n\nQuestion: {question}\nAnswer:")])
                odds.append(pointer.point(sequence, segment).answers)
    assert odds[0] > odds[1]


@pytest.mark.parametrize("content", [None, b"", b"GGUF", b"no adapter at all", "model"])
def test_a_file_that_is_no_adapter_is_an_error(
    content: bytes | str | None, tmp_path: Path, model_file: Callable[[str], Path]
) -> None:
    from wim_edge.engine.model import Model

    path = model_file("smollm2") if content == "model" else tmp_path / "a.gguf"
    if isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(ModelFileError, match=path.name):
        Model(model_file("smollm2"), Settings(adapter=str(path)))


def test_an_adapter_of_another_model_is_an_error(model_file: Callable[[str], Path]) -> None:
    from wim_edge.engine.model import Model

    with pytest.raises(ModelFileError, match="no adapter for this model"):
        Model(model_file("gemma3"), Settings(adapter=SHIPPED))


def test_the_shipped_adapter_is_found_by_name() -> None:
    assert adapter_file(SHIPPED) == package_file("adapters") / SHIPPED
    assert adapter_file(None) is adapter_file(NO_ADAPTER) is None
    assert adapter_file("own/a.gguf") == Path("own/a.gguf")
