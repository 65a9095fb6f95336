"""Streamed text, broken between words."""

from __future__ import annotations


class WordWrap:
    """Breaks streamed text between words: a word is held back until it is whole."""

    def __init__(self, width: int) -> None:
        self._width, self._column, self._word = max(width, 10), 0, ""

    def __call__(self, text: str) -> str:
        """Takes more of the text, and returns what can be printed now."""
        out = ""
        for c in text:
            if not c.isspace():
                self._word += c
                continue
            out += self.rest()
            if c == "\n" or self._column >= self._width - 1:
                out, self._column = out + "\n", 0
            elif self._column or out:
                out, self._column = out + " ", self._column + 1
        return out

    def rest(self) -> str:
        """Returns the word held back."""
        word, self._word = self._word, ""
        fresh = self._column and self._column + len(word) > self._width
        self._column = len(word) if fresh else self._column + len(word)
        return "\n" + word if fresh else word
