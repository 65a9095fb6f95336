"""How an answer is scored; every score is 0 to 1.

- best-subspan match: any right answer occurs in the output ("Lost in the Middle", section 3.1, after
  Kandpal et al. 2022 and Mallen et al. 2023);
- token F1: overlap of the output's words with those of the nearest right answer (SQuAD, Rajpurkar et al. 2016);
- the scores of a set of words (RULER, Hsieh et al. 2024, and the F1 that Writing in the Margins reports).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """SQuAD's normal form: lower case, no punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def match(output: str, answers: Iterable[str]) -> float:
    """1 if the normal form of any answer occurs in the output's, else 0.

    Two guards on the published definition: a plain yes or no must be a word of its own ("no" is in
    "known"), and an answer without any normal form ("a") is never found rather than always.
    """
    said = normalize(output)
    words = set(said.split())
    wanted = filter(None, map(normalize, answers))
    return float(any(one in (words if one in ("yes", "no") else said) for one in wanted))


def f1(output: str, answers: Iterable[str]) -> float:
    """The best token F1 of the output against any answer."""
    return max((_f1(normalize(output).split(), normalize(answer).split()) for answer in answers), default=0.0)


def _f1(said: list[str], wanted: list[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    return _harmonic((Counter(said) & Counter(wanted)).total(), len(said), len(wanted))


def words_f1(output: str, wanted: Iterable[str], prompt: str = "") -> float:
    """F1 of the set of words in the output against the wanted ones.

    Numbers and the prompt's own words ("The 10 most common words in the list are:") are no answer
    and count neither for nor against it.
    """
    said, right = _said(output, prompt), {word.lower() for word in wanted}
    return _harmonic(len(said & right), len(said), len(right))


def words_found(output: str, wanted: Iterable[str]) -> float:
    """The share of the wanted words that the output names (RULER's ``string_match_all``, by whole words)."""
    said, right = _said(output, ""), {word.lower() for word in wanted}
    return len(said & right) / len(right) if right else 0.0


def _said(output: str, prompt: str) -> set[str]:
    """Words of the output, without numbers, the prompt's words and the small words of any sentence."""
    own = {*normalize(prompt).split(), "are", "is"}
    return {word for word in normalize(output).split() if not word.isdigit()} - own


def _harmonic(common: int, said: int, wanted: int) -> float:
    return 2 * common / (said + wanted) if said + wanted else 0.0
