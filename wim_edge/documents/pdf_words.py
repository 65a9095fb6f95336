"""The words of a PDF page, with their places, as a reader sees them: turned, right-to-left, raised and struck out."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from ctypes import create_string_buffer
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby, pairwise, product
from statistics import median_high, median_low
from typing import Any, NamedTuple

from wim_edge.documents.bidi import RTL, is_rtl, logical_order, paired
from wim_edge.documents.runs import RAISED, set_off, with_accents

try:
    import pypdfium2 as pypdfium2
    from pypdfium2 import raw as raw
except ImportError:  # `wim_edge.documents.pdf.opened` reports it
    pypdfium2 = raw = None

BROKEN = "\ufffe\x02"
"""The characters for a hyphen at a line's end that is not part of the word: PDFium's own, and one in some files."""
LOST = "\ufffd"
"""The character for a glyph whose meaning the font does not define."""
_LOST_LETTERS = re.compile(f"\\w{LOST}+|{LOST}+\\w")
_NO_TEXT, _MAY_BE_LOST = re.compile("[\u00ad\x00]"), re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd\ufffe]")
_ZERO = re.compile("\ufffe|(?<=\\w)\x00(?=\\w)")
_LETTER = re.compile(r"\S")
_ROW, _WORD = re.compile(rf"[^\r\n{BROKEN}]+[{BROKEN}]?"), re.compile(r"\S+")
_LAST_LETTER = re.compile(r"[^\W_](?=[^\w\s]+$)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REGULAR, _BOLD, _LONGEST_NAME = 400, 700, 100  # font weights; the most bytes of a font's name
_ALIKE, _RAISED, _SMALLER = 0.06, 0.15, 0.9
"""The tolerance between level boxes, and a raised letter's least rise and largest height, in letter heights."""
_NEAR, _TOUCHING, _SPACE, _APART = 0.6, 0.08, 0.15, 0.75
"""The widest gaps in a row and in a word; the least gaps between words and lines in `_placed`; in letter heights."""
_STRAIGHT = 0.2  # the tolerance of a text's angle, in right angles
_THIN, _MIDDLE, _LINES, _SHORTER, _LONGER = 0.15, (0.33, 0.62), 500, 0.05, 0.75
"""A line through a word: its largest thickness and the range of its place, in letter heights; the most in a row; how
far it may end before the letters, as a share of its length, and beyond them, in letter heights."""

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points of the page."""
NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)


class Word(NamedTuple):
    """A word, or a part of one, in letters of one size. Places are in points, on the page turned for reading it."""

    text: str
    left: float
    right: float
    bottom: float = 0.0
    top: float = 0.0
    box: Box | None = None
    """The word's place on the page as drawn, if known."""
    joins: bool = False
    """True if the word continues the one before, with no blank between them."""
    start: int = -1
    """The index on the page of the word's first character; -1 if its characters are not consecutive."""


WordRow = tuple[list[Word], float, float]
"""A row: its words, bottom and top."""


@dataclass
class WordRows:
    """A page's words: the rows of each reading direction; whether most letters run from right to left, so that places
    are mirrored; the numbers of struck-out words, of lost (unreadable) letters, and of rows with words off the page."""

    rows: list[list[WordRow]] = field(default_factory=list)
    from_right: bool = False
    n_struck: int = 0
    n_lost: int = 0
    n_outside: int = 0
    rules: list[Box] = field(default_factory=list)  # thin drawings, as the first direction's words are placed
    weight: Callable[[int], int] = lambda start: 0
    """Returns the font weight of the character with this index on the page."""


def page_words(page: Any, lines: Sequence[Box] = (), n_sure: int = 0) -> WordRows:
    """Returns a page's words. ``lines``: drawings that may strike words out; the first ``n_sure`` surely do."""
    chars = _Chars(page)
    found = WordRows(from_right=is_rtl(chars.text), n_lost=chars.n_lost, weight=chars.weight)
    by_turn, (left, bottom, right, top) = dict[int, list[list[Word]]](), page.get_bbox()
    for turn, words in chars.rows(found.from_right):
        inside = [one for one in words if not one.box or (one.box[0] < right and one.box[2] > left
                  and one.box[1] < top and one.box[3] > bottom)]  # fmt: skip
        _add(by_turn.setdefault(turn, []), inside)
        found.n_outside += len(inside) < len(words)
    for turn, of_turn in by_turn.items():
        found.rules = found.rules or [as_read(line, turn) for line in lines[n_sure:]]
        if lines:
            turned = sorted((as_read(line, turn) for line in lines), key=lambda line: line[1])
            sure = {as_read(line, turn) for line in lines[:n_sure]}
            of_turn = [*filter(None, (chars.without_struck(words, turned, turn, sure) for words in of_turn))]
        rows = list(map(_row, of_turn))
        if turn:  # turned text, as in a chart, may be drawn in any order
            rows.sort(key=lambda row: (-round(row[1] + row[2]), row[0][0].left))
        if found.from_right:
            rows = [([one._replace(left=-one.right, right=-one.left) for one in row[0]], *row[1:]) for row in rows]
        found.rows.append(rows)
    found.n_struck = chars.n_struck
    return found


def _add(rows: list[list[Word]], words: list[Word]) -> None:
    """Appends ``words``, one row of PDFium, to ``rows`` or to their last row: PDFium ends rows even inside words."""
    if not words:
        return
    first, last = words[0], rows[-1][-1] if rows else None
    is_rest = False
    if last is not None and _is_level(last, first) and last.text[-1] not in BROKEN:
        sizes = sorted((last.top - last.bottom, first.top - first.bottom))
        gap = (first.left - last.right) / max(sizes[1], 0.1)
        is_rest = -_TOUCHING < gap < (_NEAR if sizes[0] < _SMALLER * sizes[1] else _NEAR / 2)
        if is_rest:
            words = [first._replace(joins=first.joins and gap < _TOUCHING), *words[1:]]
    rows += [] if is_rest else [[]]
    for word in words:
        if rows[-1] and not _is_level(rows[-1][-1], word):
            rows.append([])
        rows[-1].append(word)


def _is_level(one: Word, other: Word) -> bool:
    return one.bottom < other.top and one.top > other.bottom


def _row(parts: Sequence[Word]) -> WordRow:
    """Returns the row that ``parts`` of words make up, with raised letters as plain text ("m²", "[1]")."""
    bottom, top = median_low([one.bottom for one in parts]), median_high([one.top for one in parts])
    height = median_high([one.top - one.bottom for one in parts])
    least, most = bottom + _RAISED * height, _SMALLER * height  # of a raised letter
    words: list[Word] = []
    if max([one.bottom for one in parts]) <= least and not any(one.joins for one in parts[1:]):
        return [*parts], bottom, top
    for at, part in enumerate(parts):
        joins = part.joins and bool(words)
        if part.bottom > least and part.top - part.bottom < most:
            follows = parts[at + 1].text[0] if at + 1 < len(parts) and parts[at + 1].joins else ""
            text = set_off(words[-1].text if joins else "", part.text, RAISED, follows)[0]
            joins, part = joins and text[0] != " ", part._replace(text=text.strip())
        if joins:
            last = words.pop()
            box = _around(last.box, part.box) if last.box and part.box else None
            part = last._replace(text=last.text + part.text, right=max(last.right, part.right), box=box)
        words.append(part)
    return words, bottom, top


def as_read(box: Box, turn: int) -> Box:
    """Returns a box turned clockwise, with its page, about the origin by ``turn`` degrees (0, 90, 180 or 270)."""
    left, bottom, right, top = box
    for _ in range(turn // 90):
        left, bottom, right, top = bottom, -right, top, -left
    return left, bottom, right, top


def _placed_word(text: str, box: Box, turn: int, joins: bool = False, start: int = -1) -> Word:
    left, bottom, right, top = as_read(box, turn) if turn else box  # without a call: of each word
    return Word(text, left, right, bottom, top, box, joins, start)


def _around(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _is_even(one: Box, other: Box) -> bool:
    """Returns whether two characters have the same size and are level."""
    most = _ALIKE * (one[3] - one[1])
    return -most <= one[1] - other[1] <= most and -most <= one[3] - other[3] <= most


def _goes_through(line: Box, word: Word) -> bool:
    height = word.top - word.bottom
    middle = ((line[1] + line[3]) / 2 - word.bottom) / max(height, 0.1)
    is_thin = line[3] - line[1] <= _THIN * height
    return is_thin and _MIDDLE[0] < middle < _MIDDLE[1] and line[0] < word.right and line[2] > word.left


def _covers(line: Box, letter: Box) -> bool:
    return line[0] < (letter[0] + letter[2]) / 2 < line[2]


def _is_as_long(line: Box, letters: Box) -> bool:
    """Returns whether a line is about as long as ``letters``, the box around letters. It may be longer, over blanks."""
    least, most = -_SHORTER * (line[2] - line[0]), _LONGER * (letters[3] - letters[1])
    return all(least < beyond < most for beyond in (letters[0] - line[0], line[2] - letters[2]))


def _in_order(glyphs: Sequence[Word], from_right: bool) -> Iterator[tuple[str, Box]]:
    """Yields a row's words in reading order, each with its box on the page. Gaps between glyphs separate words."""
    shown = sorted((one for one in glyphs if not _is_mark(one.text)), key=lambda one: one.left + one.right)
    signs: dict[Word, str] = defaultdict(str)
    middles = [one.left + one.right for one in shown]
    for mark in glyphs:
        if _is_mark(mark.text) and shown:  # a vowel sign is drawn on the letter that it follows in text
            at = bisect_left(middles, mark.left + mark.right)
            near = range(max(0, at - 1), min(at + 1, len(shown)))
            signs[shown[min(near, key=lambda at: abs(middles[at] - mark.left - mark.right))]] += mark.text
    height = max((one.top - one.bottom for one in shown), default=0.0)
    least, low = _SPACE * height, min((one.bottom for one in shown), default=0.0) + 2 * _RAISED * height
    spaced = shown[:1]
    for one, other in pairwise(shown):
        spaced += [Word(" ", one.right, other.left), other] if other.left - one.right > least else [other]
    ordered = [spaced[at] for at in logical_order([one.text for one in spaced], from_right)]
    letters = paired("".join(one.text for one in ordered), from_right)
    for is_blank, group in groupby(zip(letters, ordered, strict=True), key=lambda one: one[0].isspace()):
        if not is_blank:
            pairs, word = list(group), ""
            for is_raised, some in groupby(pairs, key=lambda one: one[0].isdigit() and one[1].bottom > low):
                part = "".join(letter + signs.get(one, "") for letter, one in some)
                word += set_off(word, part, RAISED)[0] if is_raised else part
            text = unicodedata.normalize("NFKC", word) if RTL.search(word) else word
            yield text.strip(), reduce(_around, [one.box or NOWHERE for _, one in pairs])


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) == "Mn"


class _Chars:
    """The characters of a page, and their places."""

    def __init__(self, page: Any) -> None:
        self._page, self.n_struck = page.get_textpage(), 0
        self._handle, self._place, self._read_box = self._page.raw, raw.FS_RECTF(), raw.FPDFText_GetLooseCharBox
        self._name = create_string_buffer(_LONGEST_NAME)
        text = self._page.get_text_range()
        n_chars = self._page.count_chars()
        if len(text) != n_chars:  # some are left out or have two codes: reads them one by one
            text = "".join([chr(raw.FPDFText_GetUnicode(self._handle, at)) for at in range(n_chars)])
        lost = {one.start() for one in _MAY_BE_LOST.finditer(text) if self._is_lost(text, one.start())}
        if lost:
            text = "".join(LOST if at in lost else char for at, char in enumerate(text))
        text = with_accents(text, self.box)
        self.text, self.n_lost = text, len(_LOST_LETTERS.findall(text)) if lost else 0
        self._is_plain = not _NO_TEXT.search(text) and not _SURROGATE.search(text)

    def _is_lost(self, text: str, at: int) -> bool:
        """Returns whether the font does not define the character at ``at``. PDFium may return U+FFFE for U+0000."""
        if _ZERO.match(text, at) and raw.FPDFText_IsHyphen(self._handle, at) != 1:
            _, bottom, _, top = self._page.get_charbox(at)
            return bool(top - bottom > 1)  # else it is a blank
        return bool(raw.FPDFText_HasUnicodeMapError(self._handle, at) == 1)

    def weight(self, at: int) -> int:
        """Returns a character's font weight; 0 if unknown. A font that states none has 700 if "Bold" is in its name."""
        known = raw.FPDFText_GetFontWeight(self._handle, at) if at >= 0 else -1
        if known == 0 and raw.FPDFText_GetFontInfo(self._handle, at, self._name, len(self._name), None):
            return _BOLD if b"Bold" in self._name.value else _REGULAR
        return max(0, known)

    def box(self, at: int) -> Box:
        place = self._place
        self._read_box(self._handle, at, place)
        return place.left, place.bottom, place.right, place.top

    def rows(self, from_right: bool) -> Iterator[tuple[int, list[Word]]]:
        """Yields (turn, words) for PDFium's rows. ``turn``: the degrees to turn the page by to read the words."""
        for row in _ROW.finditer(self.text):
            for turn, start, end in self._by_turn(*row.span()):
                text = self.text[start:end]
                if turn or RTL.search(text):
                    words = list(self._placed(start, end, turn, is_rtl(text, from_right)))
                else:
                    words = self._words(start, end)
                if words:
                    yield turn, words

    def _by_turn(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Returns (degrees to turn the page by, start, end) of each part of a row with one reading direction."""
        text = self.text[start:end]
        if text.isspace():
            return []
        turn = self._turn(end - len(text.lstrip()))
        found = [(turn, start, end)]
        if self._turn(start + len(text.rstrip()) - 1) != turn:
            for letter in _LETTER.finditer(self.text, start, end):
                at = letter.start()
                if (turn := self._turn(at)) != found[-1][0]:
                    found[-1:] = [(*found[-1][:2], at), (turn, at, end)]
        return found

    def _turn(self, at: int) -> int:
        turns = -raw.FPDFText_GetCharAngle(self._handle, at) / (math.pi / 2)
        return round(turns) % 4 * 90 if abs(turns - round(turns)) < _STRAIGHT else 0

    def _words(self, begin: int, stop: int) -> list[Word]:
        """Returns the words of an upright row. A word whose letters differ in size or height becomes several parts."""
        words: list[Word] = []
        for word in _WORD.finditer(self.text, begin, stop):  # reading a PDF spends most of its time here
            start, end = word.span()
            box = self.box(start)
            if end - start > 1:
                last = self.box(end - 1)
                inner = None if self.text[end - 1].isalnum() else _LAST_LETTER.search(self.text, start + 1, end)
                if not _is_even(box, last) or (inner and not _is_even(box, self.box(inner.start()))):
                    words += self._uneven(start, end, start == begin)
                    continue
                box = _around(box, last)
            words += self._word(word[0], box, start == begin, start)
        return words

    def _uneven(self, start: int, end: int, joins: bool) -> Iterator[Word]:
        begin, box = start, self.box(start)
        for at in range(start + 1, end):
            other = self.box(at)
            if _is_even(box, other):
                box = _around(box, other)
                continue
            yield from self._word(self.text[begin:at], box, joins or begin > start, begin)
            begin, box = at, other
        yield from self._word(self.text[begin:end], box, joins or begin > start, begin)

    def _word(self, text: str, box: Box, joins: bool = False, start: int = -1, turn: int = 0) -> tuple[Word, ...]:
        if not self._is_plain:  # each pair of surrogates becomes its character
            shown = _NO_TEXT.sub("", text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            text, start = shown, start if shown == text else -1
        return (_placed_word(text, box, turn, joins, start),) if text else ()

    def _placed(self, start: int, end: int, turn: int, from_right: bool) -> Iterator[Word]:
        """Yields the words of a turned or right-to-left row in reading order, by its letters' places on the page."""
        glyphs = [_placed_word(self.text[at], self.box(at), turn) for at in range(start, end)]
        most = _APART * max(one.top - one.bottom for one in glyphs)
        levels: list[list[Word]] = []  # PDFium joins turned lines into one
        for glyph in glyphs:
            if glyph.right > glyph.left or not glyph.text.isspace():
                if not levels or abs(glyph.bottom + glyph.top - levels[-1][0].bottom - levels[-1][0].top) > 2 * most:
                    levels.append([])
                levels[-1].append(glyph)
        for level in levels:
            bottom, top = min(one.bottom for one in level), max(one.top for one in level)
            for text, box in _in_order(level, from_right):
                yield from (word._replace(bottom=bottom, top=top) for word in self._word(text, box, turn=turn))

    def without_struck(self, words: list[Word], lines: Sequence[Box], turn: int, sure: Set[Box]) -> list[Word]:
        """Returns a row's words without struck-out letters, and counts in ``n_struck`` the words that lose letters. A
        line in ``sure`` strikes letters out. Any other line does if it is as long as the letters that it covers: a
        chart's line is longer, an outline's is shorter. A word without `Word.start` is struck out as a whole."""
        bottom, top = min([word.bottom for word in words]), max([word.top for word in words])
        first, last = (bisect_left(lines, at, key=lambda line: line[1]) for at in (bottom, top))
        near = [line for line in lines[first:last] if bottom < line[1] <= line[3] < top][:_LINES]
        over = [[line for line in near if _goes_through(line, word)] for word in words] if near else []
        if not any(over):
            return words
        parts = [self._parts(word, turn) if some else [] for word, some in zip(words, over, strict=True)]
        reach: dict[Box, Box] = {}
        for some, letters in zip(over, parts, strict=True):
            for line, (_, place) in product(some, letters):
                if _covers(line, place):
                    reach[line] = _around(reach.get(line, place), place)
        strikes = {line for line, place in reach.items() if line in sure or _is_as_long(line, place)}
        made: list[Word] = []
        for word, some, letters in zip(words, over, parts, strict=True):
            by = strikes.intersection(some)
            kept = "".join(part for part, place in letters if not any(_covers(line, place) for line in by))
            is_inside = any(map(str.isalnum, kept)) and not word.text.startswith(kept) and not word.text.endswith(kept)
            # A line over one letter, or inside a word, is a stroke of a letter
            if not by or kept == word.text or is_inside or len(kept) == len(word.text) - 1 > 1:
                made.append(word)
                continue
            self.n_struck += 1
            if kept:
                made.append(word._replace(text=kept))
            elif made and word.left - made[-1].right < _NEAR * (word.top - word.bottom):  # takes its place
                made[-1] = made[-1]._replace(right=word.right)
        return made

    def _parts(self, word: Word, turn: int) -> list[tuple[str, Box]]:
        """Returns (letter, box) of each letter of a word, or [(text, box)] of a word without `Word.start`."""
        if word.start < 0:
            return [(word.text, (word.left, word.bottom, word.right, word.top))]
        return [(letter, as_read(self.box(word.start + at), turn)) for at, letter in enumerate(word.text)]
