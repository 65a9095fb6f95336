"""Whether the model that the adapter is trained on is llama.cpp's, and the adapter's file as well."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="only the training needs it")
pytestmark = pytest.mark.real

from tests.tiny import write_tiny  # noqa: E402

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
PASSAGE, QUESTION, OTHER = list(range(40, 90)), [101, 55, 120, 77], [90, 91]


@pytest.fixture(params=["llama", "qwen2"])
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return write_tiny(tmp_path / "tiny.gguf", request.param)


def _adapter(model: Any) -> Any:
    from adapter.model import Lora

    lora = Lora.new(model.shape, 4, 8.0, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for one in lora.b.values():
            one.copy_((torch.randn(one.shape, generator=generator) * 0.05).half().float())
        for one in lora.a.values():
            one.copy_(one.half().float())
    return lora


def _llama(path: Path, adapter: Path | None) -> np.ndarray:
    """Return llama.cpp's logits of the question, the passage before it being read without the adapter."""
    import llama_cpp

    # 32-bit keys and values: with 16 bits the logits of such a model differ by a tenth
    llama = llama_cpp.Llama(
        str(path), n_ctx=256, logits_all=True, verbose=False, n_threads=1, type_k=llama_cpp.GGML_TYPE_F32,
        type_v=llama_cpp.GGML_TYPE_F32,
    )  # fmt: skip
    llama.eval(PASSAGE)
    if adapter:
        loaded = llama_cpp.llama_adapter_lora_init(llama.model, str(adapter).encode())
        assert loaded
        scales = (ctypes.c_float * 1)(1.0)
        several = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(loaded)
        assert llama_cpp.llama_set_adapters_lora(llama.ctx, several, 1, scales) == 0
    llama.eval(QUESTION)
    return np.array(llama.scores[len(PASSAGE) : len(PASSAGE) + len(QUESTION)])


def test_logits_are_those_of_llama_cpp(path: Path, tmp_path: Path) -> None:
    from adapter import lora_file
    from adapter.model import Llama

    model = Llama(path)
    lora = _adapter(model)
    lora_file.write(tmp_path / "adapter.gguf", lora, model.shape, "test")
    prefix = model.read([PASSAGE])
    with torch.no_grad():
        plain, adapted = (model.logits(model.ask(prefix, [0], [QUESTION], one)).numpy() for one in (None, lora))
    assert np.abs(plain - adapted).max() > 0.1
    assert np.abs(plain - _llama(path, None)).max() < 2e-2
    assert np.abs(adapted - _llama(path, tmp_path / "adapter.gguf")).max() < 2e-2


def test_neither_questions_nor_passages_of_a_batch_see_each_other(path: Path) -> None:
    from adapter.model import Llama

    model = Llama(path)
    both = model.read([PASSAGE[:20], PASSAGE])
    with torch.no_grad():
        together = model.ask(both, [0, 1, 0], [OTHER, QUESTION, QUESTION], None)[len(OTHER) :]
        for passage, got in ((PASSAGE, together[: len(QUESTION)]), (PASSAGE[:20], together[len(QUESTION) :])):
            assert torch.allclose(got, model.ask(model.read([passage]), [0], [QUESTION], None), atol=1e-3)


def test_the_file_keeps_the_adapter(path: Path, tmp_path: Path) -> None:
    from adapter import lora_file
    from adapter.model import Llama

    model = Llama(path)
    lora = _adapter(model)
    lora_file.write(tmp_path / "adapter.gguf", lora, model.shape, "test")
    again = lora_file.read(tmp_path / "adapter.gguf")
    assert again.scale == lora.scale == 2.0
    for one, other in ((lora.a, again.a), (lora.b, again.b)):
        assert set(one) == set(other)
        assert all(torch.equal(one[key], other[key]) for key in one)
