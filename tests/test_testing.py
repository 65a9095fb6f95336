"""The scripted engine implements the protocols: cells, forks, snapshots, interrupts and replies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.embedder import FakeEmbedder
from wim_edge.engine import protocols
from wim_edge.engine.protocols import Interrupted
from wim_edge.errors import ContextOverflowError, EngineError
from wim_edge.testing import FakeContext, FakeModel, FakeSequence

HEADER = "<|im_start|>assistant\n"


def of_words(**options: int) -> FakeModel:
    """Returns a model with the tokens 2 to 7."""
    model = FakeModel(**options)  # type: ignore[arg-type]
    assert max(model.tokenize("abcd bcd cd d e f")) >= 7
    return model


def decoded(model: FakeModel, sequence: FakeSequence) -> str:
    said: list[int] = []
    while not model.is_eog(token := int(sequence.logits.argmax())):
        said.append(token)
        sequence.append([token])
    return model.text(said)


@pytest.mark.parametrize(
    ("fake", "protocol"),
    [(FakeModel, protocols.Model), (FakeContext, protocols.Context), (FakeSequence, protocols.Sequence),
     (FakeEmbedder, protocols.Embedder)],
)  # fmt: skip
def test_fakes_have_all_names_of_their_protocols(fake: type, protocol: type) -> None:
    own = FakeModel()
    made = {FakeModel: own, FakeContext: own.context(8), FakeEmbedder: FakeEmbedder(lambda text: 1.0)}
    one = made.get(fake) or own.context(8).sequence()
    names = [name for name in vars(protocol) if not name.startswith("_")]
    assert names
    assert all(hasattr(one, name) for name in names)


def test_control_tokens_only_with_special() -> None:
    model = FakeModel()
    text = "<|im_start|>user wanted<|im_end|>"
    plain, special = model.tokenize(text), model.tokenize(text, special=True)
    assert model.text(plain) == model.text(special) == text
    assert (special[0], special[-1]) == (0, 1)
    assert not {0, 1} & set(plain)
    assert b"".join(map(model.piece, plain)).decode() == text
    assert model.is_eog(special[-1])


def test_the_reply_continues_from_the_sequence() -> None:
    prompts: list[str] = []
    model = FakeModel(lambda prompt: prompts.append(prompt) or "one two")  # type: ignore[func-returns-value]
    sequence = model.context(100).sequence()
    sequence.append(model.tokenize(f"<|im_start|>user\nCount.<|im_end|>\n{HEADER}", special=True))
    with sequence.fork() as branch:
        assert decoded(model, branch) == "one two"
    sequence.append(model.tokenize("one "))
    assert decoded(model, sequence) == "two"
    assert set(prompts) == {f"<|im_start|>user\nCount.<|im_end|>\n{HEADER}"}


def test_a_base_model_continues_the_prompt() -> None:
    model = FakeModel(lambda prompt: "four" if prompt.endswith("three ") else "", chat_template=None)
    sequence = model.context(100).sequence()
    sequence.append(model.tokenize("one two three "))
    assert model.text([int(sequence.logits.argmax())]) == "four"


def test_shared_cells_count_once_and_a_full_context_is_an_error() -> None:
    context = of_words().context(10)
    first = context.sequence()
    first.append([5] * 6)
    second = first.fork(4)
    assert context.cells() == 6
    second.append([6] * 4)
    assert context.cells() == 10
    with pytest.raises(ContextOverflowError, match="10 tokens"):
        second.append([6])
    second.close()
    first.append([7] * 4)
    with pytest.raises(EngineError, match="closed"):
        second.append([6])
    with pytest.raises(ValueError, match="fork at 11"):
        first.fork(11)


def test_rows_are_of_the_last_tokens() -> None:
    model = FakeModel(lambda prompt: "x")
    sequence = model.context(50).sequence()
    tokens = model.tokenize("a b a c")
    rows = sequence.append(tokens, rows=3)
    assert rows.shape[0] == 3
    assert (rows[-1] == sequence.logits).all()
    assert rows[0].argmax() in tokens  # earlier tokens are likelier
    with pytest.raises(ValueError, match="4 rows of 3"):
        sequence.append(tokens[:3], rows=4)


def test_an_interrupt_leaves_whole_batches() -> None:
    model = of_words(n_batch=4)
    context = model.context(100)
    seen: list[int] = []

    def stop(sequence: FakeSequence) -> None:
        seen.append(len(sequence))
        if len(sequence) == 8:
            context.interrupt()

    context.on_append = stop
    sequence = context.sequence()
    with pytest.raises(Interrupted):
        sequence.append([5] * 20)
    assert (seen, len(sequence)) == ([0, 4, 8], 8)
    context.resume()
    context.on_append = lambda sequence: None
    sequence.append([5] * 12)
    assert len(sequence) == 20
    assert [n for what, _, n in model.history if what == "append"] == [4] * 5


@pytest.mark.parametrize("stored", ["in memory", "in a file"])
def test_a_snapshot_is_restored(stored: str, tmp_path: Path) -> None:
    context = of_words().context(100)
    sequence = context.sequence()
    sequence.append([3, 4, 5, 6])
    snapshot = sequence.snapshot(tmp_path / "state" if stored == "in a file" else None)
    other = context.sequence()
    other.restore(snapshot)
    assert other.tokens == [3, 4, 5, 6]
    other.truncate(1)
    assert other.append_kept(snapshot, 2)
    assert other.tokens == [3, 5, 6]
    assert not FakeModel().context(3).sequence().append_kept(snapshot, 0)
    if stored == "in a file":
        (tmp_path / "state").unlink()
        with pytest.raises(EngineError, match="cannot be read"):
            other.restore(snapshot)


def test_an_embedder_has_the_scripted_similarity() -> None:
    embedder = FakeEmbedder(lambda text: 0.6 if "near" in text else 0.0)
    checked: list[bool] = []
    near, far = embedder.texts(["near", "far"], lambda: checked.append(True))
    query = embedder.query("?")
    assert (float(near @ query), float(far @ query)) == pytest.approx((0.6, 0.0))
    assert np.linalg.norm([near, far], axis=1) == pytest.approx([1, 1])
    assert (embedder.embedded, len(checked)) == (["near", "far"], 2)
