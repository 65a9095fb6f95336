"""Records: the stretches of a text that numbered heads begin ("Invoice 57", "§ 12", "7. Termination"), one after the
other.

A question names one by its number, and the word before it. The sentences of a record seldom say either, and those of
its neighbours are much alike: where an answer stands decides which record it is of.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from wim_edge import words
from wim_edge.documents import Document
from wim_edge.documents.segments import MONTH
from wim_edge.wim.events import Chars
from wim_edge.wim.likely_cells import rows_of
from wim_edge.wim.tables import is_of

_Head = tuple[int, str]
"""The character with which a head's line begins, and its number."""

_NUMBER = (
    r"\s{0,2}(?:(?:no|nr|num|n°|nº|number|nummer|número)\b\.?\s{0,2})?#?"
    r"(?P<number>\d{1,6}(?:\.\d{1,3}){0,3}[a-z]?)(?![\w%€$£]|[.,:/-]\d)"
)
NAMED = re.compile(rf"(?P<word>[^\W\d_]{{2,30}}|§)\.?{_NUMBER}", re.IGNORECASE)
_NUMBERED = re.compile(
    r"^(?P<sign>[^\w\n§]{0,8})(?P<number>\d{1,3}(?:\.\d{1,3}){0,3})(?P<point>[.)\]]*)[ \t]+\S", re.MULTILINE
)
_ALIKE = (
    "section sec clause abschnitt ziffer sección cláusula article art artikel artículo §", "paragraph §",
    "paragraph para absatz párrafo paragraphe", "item point punkt punto", "step schritt paso étape",
    "rule regel regla règle", "question frage pregunta",
)
"""The words that may be taken for each other, of what a number alone may head, too."""
_CODE = re.compile(r"(?<![\w-])([A-Z]{1,4}[-.]?)(\d{1,5})(?!\w)")
_CAPTIONS = frozenset({"table", "figure", "fig", "tabelle", "abbildung", "abb", "tabla", "figura", "tableau"})
"""The words for what a line may caption below itself or above."""
_MARKS = re.compile(r"[^\w\n§]{0,8}")
WRAPPED = 45
"""The characters of a line from which on it may be one of a paragraph's, which the next one goes on with."""
_ENDED = re.compile(r"[.:;!?|)\]]\s*\Z")
_LEVEL = re.compile(r"(#{1,6}) ")
_BELOW = re.compile(r"\n\s*(?=\S)")
_OF_MONTH = re.compile(MONTH)
_SERIES = 3
"""The different numbers from which on a record that no head begins is missed."""


@lru_cache(maxsize=16)
def named_records(text: str, question: str) -> tuple[Chars, ...]:
    """Returns the records that the question names, as characters of the text; none unless the text has a head with that
    number, and one of the same kind with another. A record within another one is meant there alone: paragraph 2 of
    Article 5."""
    found: list[Chars] = []
    for word, number in _named(question):
        heads = _heads(text, word)
        if len({its for _, its in heads}) > 1:
            own = [(at, _end(text, heads, n)) for n, (at, its) in enumerate(heads) if its == number]
            few, many = sorted((found, own), key=len)  # of each article there is a paragraph 2
            inner = [(at, min(end, stop)) for begin, stop in few for at, end in many if begin <= at < stop]
            found = inner or [*found, *own]
    return tuple(sorted(found))


def lacking(documents: Sequence[Document], question: str) -> str:
    """Returns the record, as the question names it, that no document has, though one has others of that word, or a
    column that numbers rows has, or the code (E9) likewise; empty if none is lacking, or not all of a library is at
    hand."""
    texts = [document.text for document in documents if not document.parts]
    if len(texts) < len(documents):
        return ""
    for word, number in _named(question):
        heads = [{its for _, its in _heads(text, word)} for text in texts]
        is_missed = max(map(len, heads), default=0) >= _SERIES and not any(number in its for its in heads)
        if is_missed or _is_no_row(documents, word, number):
            own = rf"{re.escape(word)}\w{{0,2}}\W{{0,3}}(?:n\w{{0,5}}\W{{1,3}})?{re.escape(number)}"
            said = re.compile(rf"(?<!\w){own}(?!\w)", re.IGNORECASE)
            named = said.search(question)
            return named[0] if named and not any(map(said.search, texts)) else ""
    for code in _CODE.finditer(question):
        codes = {other[2] for text in texts for other in _CODE.finditer(text) if other[1] == code[1]}
        if len(codes) >= _SERIES and code[2] not in codes and not any(code[0] in text for text in texts):
            return code[0]
    return ""


def _is_no_row(documents: Sequence[Document], word: str, number: str) -> bool:
    """Tells whether a column of this name numbers rows, and the number stands nowhere."""
    numbers = {row.texts[0] for one in documents for row in rows_of(one) if is_of(word, row.labels[0])}
    own = re.compile(rf"(?<!\w){re.escape(number)}(?!\w)")
    is_series = len(numbers) >= _SERIES and all(map(str.isdigit, numbers))
    return is_series and not any(own.search(one.text) for one in documents)


def bodies(text: str, records: Iterable[Chars]) -> list[Chars]:
    """Returns the records without the lines of their heads; a record of one line is whole."""
    found = []
    for start, end in records:
        below = _BELOW.search(text, start, end)
        found.append((below.end(), end) if below else (start, end))
    return found


def apart(
    spans: Iterable[tuple[int, int, float]], records: Sequence[Chars], more: float
) -> Iterator[tuple[int, int, float]]:
    """Yields spans that lose some nats each, cut where a record begins or ends, with ``more`` lost outside of all."""
    cuts = sorted({at for span in records for at in span})
    for start, end, lost in spans:
        inner = cuts[bisect_right(cuts, start) : bisect_right(cuts, end - 1)]
        for left, right in zip([start, *inner], [*inner, end], strict=True):
            is_inside = any(begin <= left < stop for begin, stop in records)
            yield left, right, lost if is_inside else lost + more


def _named(question: str) -> Iterator[tuple[str, str]]:
    """Yields the words and numbers by which a question may name records, in lower case."""
    for named in NAMED.finditer(question):
        word = named["word"].casefold()
        if word not in _CAPTIONS and (word == "§" or words.without_endings(word)):
            yield word, named["number"].casefold()


def _end(text: str, heads: Sequence[_Head], n: int) -> int:
    """Returns where the record of a head ends: 4 has 4.1 and 4.2 in it, and what has as many of Markdown's signs as its
    head, or fewer, is another part of the text."""
    within = f"{heads[n][1]}."
    end = next((at for at, its in heads[n + 1 :] if not its.startswith(within)), len(text))
    level = _LEVEL.match(text, heads[n][0])
    above = re.compile(rf"^#{{1,{len(level[1])}}} ", re.MULTILINE).search(text, level.end(), end) if level else None
    return above.start() if above else end


def item_numbers(text: str, question: str) -> list[Chars]:
    """Returns the numbers that head lines ("3.", and "2.4" where there are several such), as characters of the text:
    they are no amounts. None if the question asks for one ("which clause")."""
    asked = set(re.findall(r"\w+|§", question.casefold()))
    if any(not asked.isdisjoint(line.split()) for line in (*_ALIKE, "number rank place position nummer platz")):
        return []
    heads = [one for one in _NUMBERED.finditer(text) if not _OF_MONTH.match(text, one.end() - 1)]
    dotted = {one.start() for one in heads if "." in one["number"] and text[one.end() - 1].isupper()}
    series = dotted if len(dotted) >= _SERIES else set()
    return [one.span("number") for one in heads if one["point"] or one.start() in series]


@lru_cache(maxsize=16)
def _heads(text: str, word: str) -> tuple[_Head, ...]:
    """Returns the heads of a word; without two those of words like it, or numbers if they may head such things."""
    alike = {one for line in _ALIKE if word in line.split() for one in line.split()}
    found: list[_Head] = []
    for some in ({word}, alike) if alike else ({word},):
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, some))})\.?{_NUMBER}", re.IGNORECASE)
        found = [(line, head["number"].casefold()) for head in pattern.finditer(text)
                 if (line := _line(text, head.start())) is not None]  # fmt: skip
        if len(found) > 1:
            return tuple(found)
    if alike:
        found = [(head.start(), head["number"]) for head in _NUMBERED.finditer(text)
                 if (head["point"] or "." in head["number"] or {*head["sign"]} & {*"#(["})
                 and _line(text, head.start("number")) is not None]  # fmt: skip
    return tuple(found)


def _line(text: str, at: int) -> int | None:
    """Returns where the line begins whose first word stands here; None for another word, or if the line may be one in
    the middle of a paragraph."""
    line = text.rfind("\n", 0, at) + 1
    if not _MARKS.fullmatch(text, line, at):
        return None
    above = text[text.rfind("\n", 0, max(0, line - 1)) + 1 : max(0, line - 1)].strip()
    return line if len(above) < WRAPPED or _ENDED.search(above) else None
