"""Words in common with a question: BM25 (Robertson and Zaragoza 2009) over SQLite's FTS5. Also tells whether question
and text are in two languages. SQLite stems words in Latin letters as English; Snowball stems those of scripts with one
main language. In scripts without spaces, each pair of neighbouring characters is a word (bigrams, as in Lucene)."""

from __future__ import annotations

import math
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import pairwise

import numpy as np

from wim_edge.errors import InvalidRequestError

TOKENIZER = "porter unicode61"
_HELD = 0.5  # the least share of a sentence's words, weighted by rarity, that its passage contains
_WORD = re.compile(r"\w+")
_ACCENT = re.compile(r"[\u0300-\u036f]")
_UNSPACED = re.compile(
    r"[\u3040-\u30ff]+|[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+|[\u0e00-\u0eff]+|[\uac00-\ud7af]+"
)
_STEMMED = {
    "greek": "\u0370-\u03ff", "russian": "\u0400-\u04ff", "armenian": "\u0530-\u058f",
    "arabic": "\u0600-\u06ff", "hindi": "\u0900-\u097f", "tamil": "\u0b80-\u0bff",
}  # fmt: skip
"""{name of a Snowball algorithm: range of characters of the script that it stems}."""
_OTHER_SCRIPT = re.compile("|".join(f"(?P<{name}>[{letters}]+)" for name, letters in _STEMMED.items()))
# Common words of English questions: they take most of the search's time and decide nothing
_STOPWORDS = frozenset(
    _WORD.findall(
        "a an and are as at be but by did do does for from had has have how if in into is it its no not of on or s "
        "such that the their then there these they this to was were what when where which who whom whose why will with"
    )
)
_KNOWN, _SPLIT = 1.3, 1.6  # tokens of a word: at most of a language that a model knows well, at least of another
_ENOUGH, _EXAMINED = 10, 200  # the least and the most words of a text that tell its language
_K1, _B = 1.2, 0.75  # saturation by repetition, and by a text's length: the defaults of FTS5 and Lucene


def any_of_its_words(question: str) -> str | None:
    """Returns an FTS5 expression that matches texts with any word of the question; None if the question has no word."""
    return " OR ".join(f'"{word}"' for word in _words(searchable(question))) or None


def searchable(text: str) -> str:
    """Returns a text as it is indexed and searched: with stemmed words; in scripts without spaces, as bigrams. Latin
    words stay, because SQLite stems them. Full-width, raised and lowered letters become plain letters (NFKC)."""
    if text.isascii():
        return text.replace("\0", " ")
    text = unicodedata.normalize("NFKC", text)
    text = _UNSPACED.sub(lambda run: f" {' '.join(map(''.join, pairwise(run[0]))) or run[0]} ", text)
    return _OTHER_SCRIPT.sub(lambda word: _stem(str(word.lastgroup), word[0]), text).replace("\0", " ")


@lru_cache(maxsize=65_536)
def _stem(rules: str, word: str) -> str:
    import snowballstemmer

    return str(snowballstemmer.stemmer(rules).stemWord(word.lower())) or word


class WordIndex(AbstractContextManager["WordIndex"]):
    """An in-memory word index of texts; a context manager. Raises InvalidRequestError if SQLite has no FTS5."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        try:
            for name in ("texts", "question"):
                self._db.execute(f"CREATE VIRTUAL TABLE {name} USING fts5(text, tokenize='{TOKENIZER}', content='')")
            self._db.execute("CREATE VIRTUAL TABLE places USING fts5vocab(texts, instance)")
            self._db.execute("CREATE VIRTUAL TABLE asked USING fts5vocab(question, instance)")
        except sqlite3.OperationalError as error:
            raise InvalidRequestError(f"words can't be indexed: {error}", "Use a Python with FTS5.") from error
        lengths = []
        self._db.execute("BEGIN")
        for number, text in enumerate(map(searchable, texts)):
            self._db.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (number, text))
            lengths.append(len(_WORD.findall(text)))
        self._db.execute("COMMIT")
        mean = sum(lengths) / max(1, len(lengths)) or 1.0
        self._norms = _K1 * (1 - _B + _B * np.array(lengths) / mean)

    def scores(self, question: str) -> dict[int, float]:
        """Returns {number of a text: BM25 score} for the texts that share a word with the question. A word in n of N
        texts has the weight log(1 + (N - n + 0.5) / (n + 0.5)), as in Lucene: FTS5's own weight is 0 for words in most
        texts, and within one document such words are frequent."""
        n_texts, scores = len(self._norms), dict[int, float]()
        for stem in self._stems(question):
            query = "SELECT doc, count(*) FROM places WHERE term = ? GROUP BY doc"
            having = self._db.execute(query, (stem,)).fetchall()
            weight = math.log(1 + (n_texts - len(having) + 0.5) / (len(having) + 0.5))
            for number, times in having:
                norm = float(self._norms[number])
                scores[number] = scores.get(number, 0.0) + weight * times * (_K1 + 1) / (times + norm)
        return scores

    def missing(self, question: str) -> float:
        """Returns the share, 0 to 1, of the question's words that are in no text."""
        stems, query = self._stems(question), "SELECT 1 FROM places WHERE term = ? LIMIT 1"
        found = sum(self._db.execute(query, (stem,)).fetchone() is not None for stem in stems)
        return 1 - found / len(stems) if stems else 0.0

    def _stems(self, question: str) -> list[str]:
        """Returns the question's distinct words in the form in which texts are indexed."""
        self._db.execute("INSERT INTO question (question) VALUES ('delete-all')")
        self._db.execute("INSERT INTO question (rowid, text) VALUES (1, ?)", (" ".join(_words(searchable(question))),))
        return [stem for (stem,) in self._db.execute("SELECT DISTINCT term FROM asked ORDER BY term")]

    def __exit__(self, *exc: object) -> None:
        self._db.close()


def scores(texts: Iterable[str], question: str) -> dict[int, float]:
    """Returns {number of a text: BM25 score} (`WordIndex.scores`), from an index that serves this question only."""
    with WordIndex(texts) as index:
        return index.scores(question)


def without_endings(text: str) -> set[str]:
    """Returns the set of a text's words in lower case, without accents, final s and common English words."""
    return set(_in_order(text))


def with_pairs(text: str) -> set[str]:
    """Returns the words of `without_endings` and all pairs of neighbours: many rows have "4", only one "lift 4"."""
    found = _in_order(text)
    return {*found, *map(" ".join, pairwise(found))}


def _in_order(text: str) -> list[str]:
    plain = text.casefold()
    if not plain.isascii():
        plain = _ACCENT.sub("", unicodedata.normalize("NFD", searchable(plain)))
    return [word.rstrip("s") for word in _WORD.findall(plain) if word not in _STOPWORDS]


def missed_points(held: Sequence[set[str]], asked: set[str]) -> list[float]:
    """Returns, for each unit of a text, how many points the best unit has more. ``held``: the words of each unit. A
    word of ``asked`` in n of N units is worth log(1 + N / n) points, so no list of common words is needed."""
    counts = Counter(word for unit in held for word in unit & asked)
    worth = {word: math.log(1 + len(held) / n) for word, n in counts.items()}
    points = [sum(worth[word] for word in sorted(unit & asked)) for unit in held]  # sorted: sums are reproducible
    most = max(points, default=0.0)
    return [most - own for own in points]


def missing(texts: Iterable[str], question: str) -> float:
    """Returns the share, 0 to 1, of the question's words that are in no text; 0 if SQLite has no FTS5."""
    try:
        with WordIndex(texts) as index:
            return index.missing(question)
    except InvalidRequestError:
        return 0.0


def _words(question: str) -> list[str]:
    """Returns the question's distinct words; leaves out common English words if other words remain."""
    words = list(dict.fromkeys(_WORD.findall(question)))
    return [word for word in words if word.lower() not in _STOPWORDS] or words


def are_two_languages(question: str, text: str, tokenize: Callable[[str], Sequence[int]]) -> bool:
    """Returns whether question and text seem to be in two languages, of which the model knows only one well. A
    tokenizer keeps most words of languages that its model has read much of, and splits those of others: SmolLM2 makes
    1.0 to 1.2 tokens of an English word in lower case, 1.8 to 2.5 of a Spanish or German one (XQuAD)."""
    tokens = _tokens_a_word(question, 3, tokenize), _tokens_a_word(text, _ENOUGH, tokenize)
    return 0 < min(tokens) < _KNOWN and max(tokens) > _SPLIT


def _tokens_a_word(text: str, least: int, tokenize: Callable[[str], Sequence[int]]) -> float:
    """Returns the mean number of tokens of a lower-case word; 0 if there are fewer than ``least`` such words."""
    found = [word for word in _WORD.findall(searchable(text)) if word.isalpha() and word == word.lower()][:_EXAMINED]
    return len(tokenize(f" {' '.join(found)}")) / len(found) if len(found) >= least else 0.0


def best_holder(text: str, held: Sequence[set[str]]) -> int | None:
    """Returns the index of the passage that has most of the text's words. Rare words weigh more. Returns None if no
    passage has half of the words' total weight. ``held``: each passage's words (`without_endings`)."""
    counts = Counter(word for words in held for word in words)
    said = without_endings(text)
    worth = {word: math.log(1 + len(held) / max(1, counts[word])) for word in said}
    shares = [sum(worth[word] for word in said & words) for words in held]
    best = max(shares, default=0.0)
    return shares.index(best) if best > 0 and best >= _HELD * sum(worth.values()) else None
