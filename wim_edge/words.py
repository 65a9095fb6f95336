"""Words in common with a question: BM25 (Robertson and Zaragoza 2009), as SQLite's FTS5 computes it.

Words are stems of English ones; a character of a script that is written without spaces is a word of its own.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable
from typing import Self

from wim_edge.errors import InvalidRequestError

TOKENIZER = "porter unicode61"
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0eff\U00020000-\U0003ffff]")
# The commonest words of English questions: they cost most of the search and decide nothing
_STOPWORDS = frozenset(
    _WORD.findall(
        "a an and are as at be but by did do does for from had has have how if in into is it its no not of on or s "
        "such that the their then there these they this to was were what when where which who whom whose why will with"
    )
)


def any_of_its_words(question: str) -> str | None:
    """Returns the FTS5 expression that matches a text with any word of the question; None where it has no word."""
    words = list(dict.fromkeys(_WORD.findall(unicodedata.normalize("NFC", question))))
    words = [word for word in words if word.lower() not in _STOPWORDS] or words
    return " OR ".join(f'"{word}"' for word in words) or None


class WordIndex:
    """The words of some texts, in memory; a context manager.

    Raises InvalidRequestError where this Python's SQLite was built without FTS5.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        try:
            self._db.execute(f"CREATE VIRTUAL TABLE words USING fts5(text, content='', tokenize='{TOKENIZER}')")
        except sqlite3.OperationalError as error:
            raise InvalidRequestError(f"no words are counted: {error}", "Take a Python with FTS5.") from error
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            ((number, _spaced(text).replace("\0", " ")) for number, text in enumerate(texts)),
        )

    def scores(self, question: str) -> dict[int, float]:
        """Returns the BM25 score, above 0, of each text that shares a word with the question, by its number."""
        expression = any_of_its_words(_spaced(question))
        if expression is None:
            return {}
        rows = self._db.execute("SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?", (expression,))
        return dict(rows.fetchall())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()


def _spaced(text: str) -> str:
    return _UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFC", text))


def scores(texts: Iterable[str], question: str) -> dict[int, float]:
    """Returns as `WordIndex.scores`, of texts that are asked once."""
    with WordIndex(texts) as index:
        return index.scores(question)
