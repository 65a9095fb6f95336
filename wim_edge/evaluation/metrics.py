"""The scores of an output, as the publications define them; every score is 0 to 1.

best_subspan_em   a right answer occurs in the output's first line ("Lost in the Middle", section 2.2 and
                  `evaluate_qa_responses.py`: without the later lines, so that a copied context scores nothing)
contains          a right answer occurs in the text, as whole words; our own score
exact, f1         SQuAD's exact match and token overlap (Rajpurkar et al. 2016); a Chinese character is a token
literal           the value occurs, ignoring case ("Lost in the Middle", `evaluate_kv_responses.py`)
one_label         the first sentence names the right label and no other label (BABILong, `metrics.py`)
string_match_all  the share of the wanted strings that occur (RULER, Hsieh et al. 2024)
words_f1          F1 of the set of words in the output against the wanted words (Writing in the Margins, section 4)
has_loop, has_echo, says_not_found   our own: repeated words, words of a prompt, a statement that there is no answer
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from wim_edge.evaluation.baselines import kv_prompt, qa_prompt, rag_prompt
from wim_edge.reading.prompts import MarginNote, Prompts

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。、；：？！「」『』（）《》“”‘’…·،؛؟¿¡")
_WORD = re.compile(r"\d+(?:[.]\d+)+|[^\W_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_JOINING = "\u0590"
"""The first code point of the scripts in which words may touch: Hebrew, Arabic, and all later Unicode blocks."""
_SPACED = "0-9a-z\u00b5-\u058f"
"""Lower-case letters and digits of the scripts before `_JOINING`, as ranges of a regular expression."""
_CHINESE = re.compile(r"([\u3400-\u9fff\uf900-\ufaff])")

_LABELS = (
    frozenset({"bathroom", "bedroom", "garden", "hallway", "kitchen", "office"}),
    frozenset({"bill", "fred", "jeff", "mary", "apple", "football", "milk"}),
    frozenset({"yes", "no", "maybe"}),
    frozenset({"none", "one", "two", "three"}),
)
"""The labels that answer BABILong's tasks, a set for each kind of task. The first two sets are those of BABILong's
script. The script lacks the other two; their labels must be whole words."""


def normalize(text: str) -> str:
    """Returns SQuAD's normal form: lower case, no punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def first_line(output: str) -> str:
    return output.strip().split("\n")[0].strip()


def best_subspan_em(output: str, answers: Iterable[str]) -> float:
    """Returns 1 if the output's first line contains any answer, both in SQuAD's normal form, else 0."""
    line = normalize(first_line(output))
    return float(any(normalize(answer) in line for answer in answers))


def contains(text: str, answers: Iterable[str]) -> float:
    """Returns 1 if any answer occurs in the text as whole words, without case, articles and punctuation, else 0.

    In scripts with spaces between words, an answer inside a longer word or number does not count ("4" in 1847). Numbers
    keep their decimal points. An answer of articles and punctuation alone ("a") is never found.
    """
    shown = _plain(text)
    return float(any(re.search(_whole(wanted), shown) for wanted in map(_plain, answers) if wanted))


def exact(output: str, answers: Iterable[str]) -> float:
    """Returns 1 if the output equals any answer, both in SQuAD's normal form, else 0."""
    return float(any(normalize(output) == normalize(answer) for answer in answers))


def f1(output: str, answers: Iterable[str]) -> float:
    """Returns the output's token F1 against the nearest answer, both in SQuAD's normal form; 0 without answers."""
    said = words_of(normalize(output))
    return max((_f1(said, words_of(normalize(answer))) for answer in answers), default=0.0)


def literal(output: str, value: str) -> float:
    """Returns 1 if the output contains ``value``, ignoring case, else 0."""
    return float(value.lower() in output.lower())


def one_label(output: str, question: str, target: str) -> float:
    """Returns 1 if the output's first sentence names the target and no other label of the target's task, else 0.

    ``target``: a label, or several with commas. The set of `_LABELS` that contains it has the other labels. A label of
    the first two sets does not count if the question names it. A target in no set only has to be in the sentence.
    """
    sentence, targets = output.lower().split(".")[0], {one.strip() for one in target.lower().split(",")}
    labels = next((labels for labels in _LABELS if targets <= labels), frozenset(targets))
    if labels in _LABELS[2:]:  # "one" is in "none", "no" in "known"
        words = set(re.findall(r"\w+", sentence))
        return float(labels & words == targets)
    named = {label for label in labels if label in sentence and label not in question.lower()}
    return float(named == targets)


def string_match_all(output: str, wanted: Iterable[str]) -> float:
    """Returns the share of the wanted strings that occur in the output, ignoring case."""
    wanted = list(wanted)
    return sum(one.lower() in output.lower() for one in wanted) / len(wanted) if wanted else 0.0


def words_f1(output: str, wanted: Iterable[str]) -> float:
    """Returns the F1 of the set of words in the output against the wanted words. Words that are not wanted lower it.

    Words that begin with a digit do not count, such as the numbers of a list ("1. word").
    """
    words = {word for word in _plain(output).split() if not word[0].isdigit()}
    right = {word.lower() for word in wanted}
    return _harmonic(len(words & right), len(words), len(right))


def words_of(text: str) -> list[str]:
    """Returns the words of a text, split at white space; each Chinese character is a word."""
    return _CHINESE.sub(r" \1 ", text).split()


def _plain(text: str) -> str:
    """Returns a text's words and numbers, joined by spaces: NFKC, lower case, no articles, no thousands separators."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).lower())
    return " ".join(word for word in _WORD.findall(plain) if word not in ("a", "an", "the"))


def _whole(wanted: str) -> str:
    """Returns a regular expression for ``wanted`` as whole words, which may touch other letters in Chinese or Thai."""
    before = rf"(?<![{_SPACED}])(?<!\d[.])" if wanted[0] < _JOINING else ""
    after = rf"(?![{_SPACED}])(?![.]\d)" if wanted[-1] < _JOINING else ""
    return before + re.escape(wanted) + after


def _f1(predicted: list[str], wanted: list[str]) -> float:
    if not predicted or not wanted:
        return float(predicted == wanted)
    return _harmonic((Counter(predicted) & Counter(wanted)).total(), len(predicted), len(wanted))


def _harmonic(common: int, predicted: int, wanted: int) -> float:
    return 2 * common / (predicted + wanted) if predicted + wanted else 0.0


RESAMPLES = 2000
_Z = 1.959964  # the normal quantile for 95%


def interval(scores: Sequence[tuple[str, float]]) -> list[float] | None:
    """Returns the 95% confidence interval [low, high] of the mean of (question, score) pairs; None if there are none.

    Scores of the same question are not independent, so their mean counts as one score. If all these means are 0 or 1,
    or all are equal, the interval is Wilson's (1927), which has a width even if all answers are right. Otherwise it is
    the percentile bootstrap over questions, with 2,000 resamples and a fixed seed.
    """
    means = list(mean_by_question(scores).values())
    if not means:
        return None
    if set(means) <= {0.0, 1.0} or len(set(means)) == 1:
        return _wilson(sum(means) / len(means), len(means))
    rng = np.random.default_rng(0)
    drawn = np.asarray(means)[rng.integers(len(means), size=(RESAMPLES, len(means)))].mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return [round(float(low), 6), round(float(high), 6)]


def mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean of the values that are not None; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def mean_by_question(scores: Sequence[tuple[str, float]]) -> dict[str, float]:
    by_question: dict[str, list[float]] = defaultdict(list)
    for question, score in scores:
        by_question[question].append(score)
    return {question: sum(found) / len(found) for question, found in by_question.items()}


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Returns the area under the ROC curve, P(positive > negative) + P(equal) / 2; None if either list is empty."""
    if not positive or not negative:
        return None
    above = np.subtract.outer(np.asarray(positive), np.asarray(negative))
    return float((np.sign(above) / 2 + 0.5).mean())


def _wilson(share: float, n: int) -> list[float]:
    middle, half = share + _Z**2 / (2 * n), _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + _Z**2 / n) for sign in (-1, 1))
    return [round(max(0.0, low), 6), round(min(1.0, high), 6)]


LOOP_WORDS = 8
ECHO_WORDS = 4
_TEXT = r"(?:text|document|passage|context|article|page|story|source|author|information|question)s?"
_SAY = r"(?:say|state|mention|specif|provide|contain|include|give|tell|indicat|discuss|address|find|answer|know|name)"
_NOT = r"(?:(?:do|does|did|is|are|was|were|could|can|has|have)(?: not|n't)|cannot|can't)"
_HOW = r"(?: (?:seem|appear) to| explicitly| specifically| directly| clearly| actually| even| be)*"
_NOT_FOUND = re.compile(
    rf"(?:\b{_TEXT}(?: (?:above|itself|provided|given))?|(?:^|[,;:] )(?:but |so )?(?:it|they|i|we)) {_NOT}{_HOW} {_SAY}"
    rf"|\b{_NOT}{_HOW} (?:found|{_SAY}\w*) (?:anywhere )?(?:in|by) the {_TEXT}"
    rf"|\b(?:is|are|was|were)(?: not|n't){_HOW} (?:stated|mentioned|specified|provided|said|given in)\b"
    r"|\b(?:is|are)(?: not|n't) known\b"
    rf"|\b{_TEXT} (?:never|nowhere) (?:say|state|mention|specif|tell|give)|\b{_TEXT} (?:lack|omit)s?\b"
    rf"|\b(?:no|nothing)\b[^.]{{0,40}}\b(?:in|by|from) (?:the|this) {_TEXT}|\b{_TEXT} (?:makes|contains|has|gives) no\b"
    r"|(?:^|there (?:is|are|was|were) )no (?:information|mention|answer|indication|reference)\b"
    r"|(?:^|information |answer (?:is )?)not (?:found|stated|mentioned|specified|provided|given|available)\b"
    rf"|\banswer (?:is|was) (?:not|nowhere) in the {_TEXT}|\b{_TEXT} (?:provides|gives|offers) no\b"
    r"|\bunanswerable\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s*(?:(?:question|answer|context|note|document|passage|query)(?: \d+)?|the text says):", re.I | re.M
)


def has_loop(text: str) -> float:
    """Returns 1 if a run of eight words occurs twice in the text, else 0. Each Chinese character is a word."""
    words = words_of(text.lower())
    runs = [tuple(words[at : at + LOOP_WORDS]) for at in range(len(words) - LOOP_WORDS + 1)]
    return float(len(set(runs)) < len(runs))


def has_echo(text: str, documents: Sequence[str]) -> float:
    """Returns 1 if the text repeats four consecutive words of a prompt, or has a line that begins with a label such as
    "Question:"; else 0. Words and labels that occur in one of the ``documents`` do not count."""
    found = [label.group().strip() for label in _LABEL.finditer(text)]
    if any(all(label not in document for document in documents) for label in found):
        return 1.0
    own = _runs(text) & _prompt_runs()
    shown = [normalize(document) for document in documents] if own else []
    return float(any(not any(run in document for document in shown) for run in own))


def says_not_found(text: str) -> float:
    """Returns 1 if the answer's first sentence says, in English, that the document does not answer, else 0."""
    first = re.split(r"(?<=[.!?])\s", text.strip().replace("\u2019", "'"), maxsplit=1)[0]
    return float(bool(_NOT_FOUND.search(first)))


@cache
def _prompt_runs() -> frozenset[str]:
    """Returns all sequences of four consecutive words in our prompts and in the baselines' prompts."""
    texts = [kv_prompt("", ""), qa_prompt((), "", random_order=True), rag_prompt((), "")]
    for prompts in (Prompts(chat=True), Prompts(chat=False)):
        texts += [prompts.system(read=read) for read in (True, False)]
        texts += [prompts.ask("quotation", ""), prompts.ask("extractive_summary", "")]
        texts += [prompts.answer("", [MarginNote("", "")], read=read) for read in (True, False)]
        texts.append(prompts.before_question())
    return frozenset().union(*map(_runs, texts))


def _runs(text: str) -> set[str]:
    words = normalize(text).split()
    return {" ".join(words[at : at + ECHO_WORDS]) for at in range(len(words) - ECHO_WORDS + 1)}
