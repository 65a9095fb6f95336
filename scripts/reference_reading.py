"""The same reading with the paper's own code, for `bench_reading.py --reference DIR`.

DIR is a checkout of github.com/writer/writing-in-the-margins, from which the class `WIMInference` is taken;
torch, transformers 4.47 (later ones lack the cache that it cuts), gguf and accelerate must be installed. The
steps are those of its README: each segment is prefilled, asked for a margin, cut back, the margin classified;
margins and question follow. The weights are the GGUF file's as 32-bit floats, the tokens wim-edge's own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

CLASSIFICATION_TOKENS = 10  # its default


class Tokens:
    """Stands for the tokenizer: what is "tokenized" are tokens already, of the model in llama.cpp."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.eos_token_id = model.tokenize(model.info.eos, special=True)[0]

    def __call__(self, tokens: list[int], return_tensors: str) -> dict[str, Any]:
        import torch

        return {"input_ids": torch.tensor([tokens]), "attention_mask": torch.ones((1, len(tokens)), dtype=torch.long)}

    def decode(self, tokens: Any, skip_special_tokens: bool) -> str:
        return b"".join(map(self._model.piece, tokens.tolist())).decode("utf-8", "replace")


def read(checkout: Path, model: Any, text: str, question: str, sizes: tuple[int, int, int]) -> dict[str, float]:
    """Seconds with margins, and without.

    Args:
        model: an open `wim_edge` model, for its file and its tokenizer.
        sizes: tokens of a segment, of a margin and of the answer at most.

    Raises ImportError where something is not installed, or DIR holds no such class.
    """
    sys.path.insert(0, str(checkout))
    import torch
    from transformers import AutoModelForCausalLM
    from wim import WIMInference  # type: ignore[import-not-found]

    path = model.info.path
    weights = AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, torch_dtype=torch.float32, attn_implementation="sdpa"
    ).eval()
    found = {}
    for name, margins in (("wim", True), ("llm", False)):
        begun = time.perf_counter()
        with torch.no_grad():
            _read(WIMInference(weights, Tokens(model)), model, text, question, sizes, margins)
        found[name] = time.perf_counter() - begun
    return found


def _read(wim: Any, model: Any, text: str, question: str, sizes: tuple[int, int, int], margins: bool) -> str:
    from wim_edge.documents import split
    from wim_edge.wim.chat import chat_format
    from wim_edge.wim.prompts import Note, Prompts

    segment_tokens, margin_tokens, answer_tokens = sizes
    chat, _ = chat_format(model, None)
    prompts = Prompts(chat=chat.is_chat)
    before, after = prompts.classify(question)
    extract = [*model.tokenize(prompts.extract(question, verbatim=False)), *chat.after_user]

    def put(tokens: Any, cache: Any) -> tuple[int, Any]:
        length, outputs = wim.prefill_text_with_kv_cache(list(tokens), cache)
        return length, outputs["logits"]

    def write(most: int, logits: Any, cache: Any) -> str:
        return str(wim.generate_text_with_kv_cache(most, logits, False, 1.0, 1.0, True, cache))

    put(chat.opening(model, prompts.system()), wim.wim_kv_cache)
    notes = []
    for segment in split(text, segment_tokens, model.tokenize, 0):
        length, _ = put(segment.tokens, wim.wim_kv_cache)
        if not margins:
            continue
        _, logits = put(extract, wim.wim_kv_cache)
        margin = write(margin_tokens, logits, wim.wim_kv_cache)
        wim.shrink_kv_cache(length, wim.wim_kv_cache)
        tokens = [*chat.opening(model, prompts.system()), *model.tokenize(before + margin + after), *chat.after_user]
        _, logits = put(tokens, wim.classifier_kv_cache)
        verdict = write(CLASSIFICATION_TOKENS, logits, wim.classifier_kv_cache)
        wim.shrink_kv_cache(0, wim.classifier_kv_cache)
        if "yes" in verdict.lower():
            notes.append(Note("", margin))
    asked = model.tokenize(prompts.answer(question, notes, read=True))
    _, logits = put([*asked, *chat.after_user], wim.wim_kv_cache)
    return write(answer_tokens, logits, wim.wim_kv_cache)
