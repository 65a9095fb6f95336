"""Runs the same reading with the paper's own code, for `bench_reading.py --reference DIR`.

DIR is a checkout of github.com/writer/writing-in-the-margins, which contains the class `WIMInference`. The script is
for commit 7526af57749b5ba074ceae192f4d70becc05dca0, whose prefill returns three values and whose cache is cut by
`shrink_kv_cache_from_end`. Earlier commits are refused.

    pip install torch==2.13.0 'transformers==4.47.*' gguf accelerate

Use a separate environment: later versions of transformers lack the cache that the code cuts, and 4.47 needs an older
huggingface_hub than the extra `hub`. The steps are those of the paper's run.py: each segment is prefilled and asked for
a margin, the cache is cut back, and the margin is classified. The relevant margins and the question follow. The weights
are those of the GGUF file as 32-bit floats; the tokens and the prompts are wim-edge's.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

COMMIT = "7526af57749b5ba074ceae192f4d70becc05dca0"
CLASSIFICATION_TOKENS = 10  # its default


class Tokens:
    """A stand-in for the tokenizer: its input already consists of tokens of the model in llama.cpp."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.decoded = 0
        """The number of tokens that were generated so far."""
        self.eos_token_id = model.tokenize(model.info.eos, special=True)[0]

    def __call__(self, tokens: list[int], return_tensors: str) -> dict[str, Any]:
        import torch

        return {"input_ids": torch.tensor([tokens]), "attention_mask": torch.ones((1, len(tokens)), dtype=torch.long)}

    def decode(self, tokens: Any, skip_special_tokens: bool) -> str:
        self.decoded += len(tokens)
        return b"".join(map(self._model.piece, tokens.tolist())).decode("utf-8", "replace")


def read(checkout: Path, model: Any, text: str, question: str, sizes: tuple[int, int, int]) -> dict[str, Any]:
    """Returns the figures of a reading with margins (``wim``) and of one without (``llm``): ``seconds``, the written
    texts, the number of ``margins``, and ``decoded`` tokens. Also returns the version of the ``code``.

    Args:
        model: an open `wim_edge` model, for its file and its tokenizer.
        sizes: the most tokens of a segment, of a margin and of the answer.

    Raises ImportError if a package or the class is missing, and SystemExit for an earlier commit.
    """
    inference = _inference(checkout)
    import torch
    from transformers import AutoModelForCausalLM

    path = model.info.path
    weights = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, torch_dtype=torch.float32, attn_implementation="sdpa"
    ).eval()
    digest = hashlib.sha256((checkout / "wim.py").read_bytes()).hexdigest()
    figures: dict[str, Any] = {"code": {"made_for": COMMIT, "sha256 of wim.py": digest}}
    for name, margins in (("wim", True), ("llm", False)):
        tokens = Tokens(model)
        begun = time.perf_counter()
        with torch.no_grad():
            written = _read(inference(weights, tokens), model, text, question, sizes, margins)
        figures[name] = {"seconds": time.perf_counter() - begun, "decoded": tokens.decoded, **written}
    return figures


def _inference(checkout: Path) -> Any:
    """Returns the class `WIMInference` of the checkout. Raises SystemExit for an earlier commit."""
    sys.path.insert(0, str(checkout))
    from wim import WIMInference

    if not hasattr(WIMInference, "shrink_kv_cache_from_end"):
        raise SystemExit(f"{checkout}/wim.py is of an earlier commit; check out {COMMIT}")
    return WIMInference


def _read(wim: Any, model: Any, text: str, question: str, sizes: tuple[int, int, int], margins: bool) -> dict[str, Any]:
    from wim_edge.documents import split
    from wim_edge.reading.chat import chat_format
    from wim_edge.reading.prompts import MarginNote, Prompts

    segment_tokens, margin_tokens, answer_tokens = sizes
    chat, _ = chat_format(model, None)
    prompts = Prompts(chat=chat.is_chat)
    before, after = prompts.classify(question)
    extract = [*model.tokenize(prompts.ask("extractive_summary", question)), *chat.after_user]

    def put(tokens: Any, cache: Any) -> tuple[int, Any]:
        length, _, outputs = wim.prefill_text_with_kv_cache(list(tokens), cache)
        return length, outputs["logits"]

    def write(most: int, logits: Any, cache: Any) -> str:
        return str(wim.generate_text_with_kv_cache(most, logits, False, 1.0, 1.0, True, cache))

    put(chat.opening(model, prompts.system()), wim.wim_kv_cache)
    notes, verdicts = [], []
    for segment in split(text, segment_tokens, model.tokenize, 0):
        length, _ = put(segment.tokens, wim.wim_kv_cache)
        if not margins:
            continue
        _, logits = put(extract, wim.wim_kv_cache)
        margin = write(margin_tokens, logits, wim.wim_kv_cache)
        wim.shrink_kv_cache_from_end(length, wim.wim_kv_cache)
        tokens = [*chat.opening(model, prompts.system()), *model.tokenize(before + margin + after), *chat.after_user]
        _, logits = put(tokens, wim.classifier_kv_cache)
        verdicts.append(write(CLASSIFICATION_TOKENS, logits, wim.classifier_kv_cache))
        wim.shrink_kv_cache_from_end(0, wim.classifier_kv_cache)
        if _is_yes(verdicts[-1]):
            notes.append(MarginNote("", margin))
    asked = model.tokenize(prompts.answer(question, notes, read=True))
    _, logits = put([*asked, *chat.after_user], wim.wim_kv_cache)
    answer = write(answer_tokens, logits, wim.wim_kv_cache)
    return {"margins": len(verdicts), "verdicts": verdicts, "relevant": [note.text for note in notes], "answer": answer}


def _is_yes(verdict: str) -> bool:
    """Returns whether a verdict is positive, as in the paper's run.py: the text before a number sign ends in YES."""
    return verdict.partition("#")[0].strip("` \n").endswith("YES")
