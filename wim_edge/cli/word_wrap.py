"""Streamed text, broken between words."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len


class WordWrap:
    """Breaks streamed text between words, and between the characters of Chinese and Japanese: a word is held back until
    it is whole, or as long as two lines."""

    def __init__(self, width: int) -> None:
        self._width, self._column, self._word = max(width, 10), 0, ""

    def __call__(self, text: str) -> str:
        """Takes more of the text, and returns what can be printed now."""
        out = ""
        for c in text:
            if not c.isspace():
                # Closing marks are as wide, and stay with what they close
                is_wide = unicodedata.east_asian_width(c) == "W" and unicodedata.category(c) != "Po"
                out += self.rest() if is_wide or len(self._word) >= 2 * self._width else ""
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
        width = cell_len(word)
        fresh = self._column and self._column + width > self._width
        self._column = width if fresh else self._column + width
        return "\n" + word if fresh else word
