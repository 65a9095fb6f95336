"""The segments of a text: all of it, in order, each within a budget of tokens and cut at the best break.

Tokenizing is the costly part (about a microsecond a character). So a segment's end is guessed from the characters per
token so far, and moved back to the best break. If it is then too long or too short, the guess is corrected. Counts are
not additive, and a longer text may have fewer tokens. So each segment is tokenized before it is accepted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wim_edge.errors import InvalidRequestError

Tokenize = Callable[[str], Sequence[int]]

_CHARS_A_TOKEN = 4.0
_FULL, _AIM = 0.85, 0.93  # shares of the budget: the least for a corrected guess, and a guess's aim
_FULL_AT_ONCE = 0.7
"""The least share of the budget for a first guess. Below `_FULL`, it halves the tokenizing; segments are 2% shorter."""
_LEARNT = 0.3  # the weight of the last segment in the average of characters per token
_GUESSES = 8  # after this many guesses, doubling and halving find the end with any tokenizer
_TRIES = 3  # most breaks of one kind that are tried, the last one first

_IN_ROW, _WORD, _SENTENCE, _PARAGRAPH = 0, 1, 2, 3
_CELL = " | "
_BREAK = re.compile(r"""(?P<stop>[.!?…。！？]+['"\u2019\u201d»›)\]」』）】]*)(?P<after>\s*)|(?P<blank>\s+)""")
_UNSPACED = "。！？"
_ABBREVIATED = re.compile(
    r"(?:\b(?:[A-Z]|e\.g|i\.e|z\.\s?B|d\.\s?h|approx|vs|ca|cf|incl|max|min|resp|bzw|pp?|para"
    r"|(?:Mrs?|Ms|Dr|Prof|St|Mt|Ft|[JS]r|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|Mme|Mlle|Sra|Srta|Hr|Fr|Ltd|Inc|Corp"
    r"|Co|Bros|Dept|Univ|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|O[ck]t|Nov|De[cz]|Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
    r"|(?i:art|figs?|tab|sect?|ch|vol|nos?|nr|eq|ref|eds?|tel|ext|abs|abb|bd|kap|str|cap|núm))"
    r"|(?:^|\n)\s*\d{1,3}|\b(?:[Aa]m|[Vv]om|[Zz]um|[Bb]is|[Aa]b|[Dd]e[mnrs]|und|-) \d{1,2})\.$"
)
"""Initials, titles, item numbers, dates ("J. S.", "Dr.", "12.", "am 2."): their full stop does not end a sentence."""
MONTH = (
    r"(?:Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|March|Mar|März|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli|Aug(?:ust)?"
    r"|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?"
    r"|[Jj]anvier|[Ff]évrier|mars|avril|mai|juin|juillet|[Aa]oût|septembre|octobre|novembre|[Dd]écembre"
    r"|[Ee]nero|[Ff]ebrero|[Mm]arzo|[Aa]bril|mayo|[Jj]unio|[Jj]ulio|[Aa]gosto|septiembre|octubre|noviembre|diciembre)\b"
)
"""A month's name or abbreviation in English, German, French or Spanish, as each language writes it."""
PAGE = r"(?:page|seite|página|pagina)"
_ORDINAL, _OF_MONTH = re.compile(r"\b\d{1,2}\.$"), re.compile(rf"(?!May\b|March\b){MONTH}")
_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)]|\(\w\))\s")
_ENTRY = re.compile(r"[\w.-]+\s?[:=(\[{]")
"""The beginning of an indented line that does not continue the one above: "port: 8123", "print(name)"."""
_FIELD = re.compile(r"(?![a-z])[^\W\d_][\w'’&/()-]*(?: [\w'’&/()-]+){0,3}: ")
"""The label of a line of its own, if the line before has one, too: "Date: 9 October"."""
_JOINER = "\u200d"
_GOES_ON = frozenset("-–+/,;:()0123456789abcdefghijklmnopqrstuvwxyz")
"""The characters that continue a sentence after an ellipsis ("-4 ... -6")."""
_LINE = 40  # a line of at least this many characters may be wrapped: its end may be inside a sentence


@dataclass(frozen=True)
class Segment:
    """Characters ``[start, end)`` of the document with the index ``document``, with their text and tokens."""

    document: int
    start: int
    end: int
    text: str
    tokens: tuple[int, ...]


def split(text: str, budget: int, tokenize: Tokenize, document: int = 0) -> list[Segment]:
    """Splits ``text`` into segments of at most ``budget`` tokens. Joined, the segments are exactly the text.

    A segment ends after a paragraph, or else after a sentence or a row, if it is then at least half full. Otherwise it
    ends at white space (within a row only if that is longer than a segment), or else not inside a composed character.
    White space at a break stays with the earlier segment. Raises InvalidRequestError if one character is too long."""
    if budget < 1:
        raise InvalidRequestError(f"a segment of {budget} tokens", "A segment takes at least 1 token.")
    segments: list[Segment] = []
    start, ratio = 0, _CHARS_A_TOKEN
    while start < len(text):
        end, tokens = _at_once(text, start, budget, tokenize, ratio) or _corrected(text, start, budget, tokenize, ratio)
        ratio += (_LEARNT if segments else 1.0) * ((end - start) / max(1, len(tokens)) - ratio)
        segments.append(Segment(document, start, end, text[start:end], tokens))
        start = end
    return segments


def _guess(text: str, start: int, budget: int, ratio: float) -> int:
    # A rest of the text that should just fit is tried whole, to avoid a last segment of a few words
    return len(text) if len(text) - start <= ratio * budget else start + max(1, int(ratio * budget * _AIM))


def _at_once(
    text: str, start: int, budget: int, tokenize: Tokenize, ratio: float
) -> tuple[int, tuple[int, ...]] | None:
    """Returns (end, tokens) at the best break before a guessed end; None if that fills too little or too much."""
    guess = _guess(text, start, budget, ratio)
    end = guess if guess == len(text) else next(_cuts(text, start, (start + guess) // 2, guess))
    tokens = tuple(tokenize(text[start:end]))
    filled = len(tokens) * (guess - start) / (end - start)  # the tokens of the whole guess, at this density
    return (end, tokens) if len(tokens) <= budget and (end == len(text) or filled >= _FULL_AT_ONCE * budget) else None


def _corrected(text: str, start: int, budget: int, tokenize: Tokenize, ratio: float) -> tuple[int, tuple[int, ...]]:
    """Returns (end, tokens) at the best break before an end that nearly fills the budget."""
    end, tokens = _fit(text, start, budget, tokenize, ratio)
    if end < len(text):
        for cut in _cuts(text, start, start + round((end - start) * budget / 2 / max(1, len(tokens))), end):
            fewer = tokens if cut == end else tuple(tokenize(text[start:cut]))
            if len(fewer) <= budget:
                return cut, fewer
    return end, tokens


def sentences(text: str) -> list[tuple[int, int]]:
    """Returns the spans of a text's sentences, without gaps. List items and short lines are sentences, too."""
    cuts = [
        cut
        for cut, rank in _breaks(text, 0, len(text))
        if cut < len(text) and (rank == _PARAGRAPH or (rank == _SENTENCE and _ends_sentence(text, cut)))
    ]
    return list(pairwise([0, *cuts, len(text)]))


def _ends_sentence(text: str, cut: int) -> bool:
    before = text[max(0, cut - _LINE - 2) : cut].rstrip()
    blank = cut  # where the white space before the cut begins
    while blank and text[blank - 1].isspace():
        blank -= 1
    if before.endswith(("...", "…")) and text[cut : cut + 1] in _GOES_ON:
        return False
    if before[-1:] in ".!?…。！？'\"\u2019\u201d»›)]」』）】" and not _ABBREVIATED.search(before):
        return not (_ORDINAL.search(before) and _OF_MONTH.match(text, cut))
    if "\n" not in text[blank:cut]:
        return False
    if _FIELD.match(text, cut) and _FIELD.match(text, text.rfind("\n", 0, blank) + 1):
        return True
    goes_on = text[cut - 1] in " \t" and text[cut : cut + 1].islower() and not _ENTRY.match(text, cut)
    return not (goes_on or "\n" not in before[-_LINE:].lstrip("\n")) or bool(_ITEM.match(text, cut))


def _fit(text: str, start: int, budget: int, tokenize: Tokenize, ratio: float) -> tuple[int, tuple[int, ...]]:
    """Returns (end, tokens) of a segment that nearly fills the budget, or that ends the text."""
    tokens: tuple[int, ...] = ()
    good, bad = start, len(text) + 1  # ends: good fits the budget, bad does not
    guess = _guess(text, start, budget, ratio)
    for guesses in range(len(text) - start + 1):
        guess = min(max(guess, good + 1), bad - 1)
        counted = tuple(tokenize(text[start:guess]))
        if len(counted) > budget:
            bad = guess
        else:
            good, tokens = guess, counted
            if len(tokens) >= _FULL * budget:
                break
        if bad - good == 1:
            break
        scale = min(8.0, budget * _AIM / max(1, len(counted)))
        if guesses < _GUESSES:
            guess = start + int((guess - start) * scale)
        else:
            guess = (good + bad) // 2 if bad <= len(text) else 2 * good - start
    if good == start:
        raise InvalidRequestError(
            f"one character ({text[start]!r}) takes more than a segment's {budget} tokens",
            "Give segments more tokens.",
        )
    return good, tokens


def _cuts(text: str, start: int, half: int, end: int) -> Iterator[int]:
    """Yields ends for the segment from ``start`` on, best first; only those at words may be before ``half``."""
    breaks = list(_breaks(text, start, end))
    tried: set[int] = set()
    for kind in (_PARAGRAPH, _SENTENCE, _WORD, _IN_ROW):
        least = half if kind > _WORD else start + 1
        for cut in [cut for cut, rank in breaks if rank >= kind and cut >= least][: -_TRIES - 1 : -1]:
            if cut not in tried:
                tried.add(cut)
                yield cut
    yield _whole(text, start, end)


def _breaks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields (offset, kind) of each break in ``text[start:end]``. The offset is after the break's white space."""
    # One more character shows whether the white space continues.
    has_rows = _CELL in text[start : end + 1]
    for match in _BREAK.finditer(text, start, end + 1):
        space = match["after"] or match["blank"] or ""
        if match.end() > end or (match.start() == start and not match["stop"]):
            continue
        at = match.start()
        may_be_in_row = has_rows and "\n" not in space and match.end() < len(text)
        if may_be_in_row and _CELL in text[text.rfind("\n", 0, at) + 1 : text.find("\n", at) + 1 or len(text)]:
            yield match.end(), _IN_ROW
        elif space.count("\n") > 1:
            yield match.end(), _PARAGRAPH
        elif "\n" in space or (match["stop"] and (space or match["stop"][0] in _UNSPACED)):
            yield match.end(), _SENTENCE
        elif space:
            yield match.end(), _WORD


def _whole(text: str, start: int, end: int) -> int:
    """Returns the last offset up to ``end`` that is not inside a composed character, such as a letter and its accent,
    nor inside a line end; ``end`` if there is none."""
    cut = end
    while cut > start and (
        _JOINER in text[cut - 1 : cut + 1] or text[cut - 1 : cut + 1] == "\r\n"
        or unicodedata.category(text[cut]).startswith("M") or "\U0001f3fb" <= text[cut] <= "\U0001f3ff"
    ):  # fmt: skip
        cut -= 1
    return cut if cut > start else end
