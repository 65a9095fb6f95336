"""Tables in plain text: which row names the columns, and the cell that a question names by its row and its column.

"Which room is Hugo Tindall in" names a column, room, and a row. No model is needed to look that up, and a small one
mixes columns up. What is looked up is given as certain, so it is strict: every word of the question must be told by the
row, the labels or the titles above; two rows or columns that fit alike are none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wim_edge import words
from wim_edge.documents import Document, Segment

ROW = re.compile(r"\||\t| {3,}")
"""What a line holds that may be a row."""
RULE = re.compile(r"[\s|:+=-]+")
_LONGEST = 2000
"""Characters of a row; what is longer is none."""
_PIPE = re.compile(r"(?<!\\)\|")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MOST_ROWS = 2000
_EXACT = re.compile(r"""[^\s?!;()"'“”]{0,60}\d[^\s?!;()"'“”]{0,60}""")
"""A number or code in a question, which must stand there to the letter."""
_NOT = re.compile(r"\b(?:not|no|never|except|without|nicht|kein\w*|pas|sans|sin|nunca)\b|n't\b", re.IGNORECASE)
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "price cost fee charge", "spent spend expenditure expense cost paid pay", "phone telephone tel",
        "weigh weight heavy", "high tall height", "wide width", "deep depth", "long length duration", "old age",
        "big large size dimension", "fast speed", "loud noise", "often frequency interval",
    )
)  # fmt: skip
"""Words of a question and labels that mean the same."""
_SUFFIXES = ("s", "es", "ed", "d", "ing", "er", "r", "ure", "al", "n", "ly")
_TELLS_NOTHING = words.without_endings(
    "address number value name entry please tell me give show exact exactly currently current much many long high old "
    "so far yet been "
    "de la le les du des der die das den dem el los las un une ein eine pour para für et y und e l d"
)
"""Words of a question that need not be told: they ask, or join others."""

_DIGITS = r"-?\d{1,12}(?:,\d{3})*(?:\.\d{1,9})?"
_NUMBER = re.compile(rf"(?P<before>[^\d-]*)(?P<low>{_DIGITS})(?:(?:–|-| to )(?P<high>{_DIGITS}))?(?P<after>[^\d]*)")
"""A value with its unit, or a range of values."""


@dataclass(frozen=True)
class _Extreme:
    """A superlative in a question, and the words that a measure of it may have; none: the question names it."""

    word: re.Pattern[str]
    is_most: bool
    measures: str = ""


_EXTREMES = tuple(
    _Extreme(re.compile(rf"\b(?:{word})\b", re.IGNORECASE), is_most, measures)
    for word, is_most, measures in (
        ("cheapest|least expensive", False, "price"), ("most expensive|dearest|costliest", True, "price"),
        ("quietest", False, "noise"), ("loudest", True, "noise"), ("lightest", False, "weight"),
        ("heaviest", True, "weight"), ("shortest", False, "length"), ("longest", True, "length"),
        ("tallest", True, "height"), ("narrowest", False, "width"), ("widest", True, "width"),
        ("deepest", True, "depth"), ("smallest", False, "size"), ("largest|biggest", True, "size"),
        ("slowest", False, "speed"), ("fastest", True, "speed"), ("youngest", False, "age"), ("oldest", True, "age"),
        ("most|highest|greatest|maximum", True, ""), ("fewest|least|lowest|minimum", False, ""),
    )
)  # fmt: skip

_SUMS = words.without_endings("total totals sum altogether overall gesamt summe somme suma")
"""What names the row in which the others are added up."""


@dataclass(frozen=True)
class Table:
    """Characters of the text: of the row that names the columns, and of the rows below it."""

    header: tuple[int, int]
    start: int
    end: int
    is_marked: bool
    """A rule stands below the header, or no pipes part the cells but tabs, or pipes begin the rows: no program does."""


@lru_cache(maxsize=8)
def tables(text: str) -> tuple[Table, ...]:
    """Returns the tables of a text whose first row names the columns: it holds no digit but of years, which the next
    row has not, or a rule stands below it."""
    found: list[Table] = []
    block: list[tuple[int, int, bool]] = []
    for start, end in (*line_spans(text), (len(text), len(text))):
        line = text[start:end].strip()
        rule = bool(line) and len(line) <= _LONGEST and RULE.fullmatch(line) is not None
        if line and len(line) <= _LONGEST and (rule or ROW.search(line)):
            if rule and len(block) > 1 and not block[-1][2]:
                # The row above a rule names the columns of another table
                last = block.pop()
                found += _headed(text, block)
                block = [last]
            block.append((start, end, rule))
            continue
        found += _headed(text, block)
        block = []
    return tuple(found)


def _headed(text: str, block: list[tuple[int, int, bool]]) -> Iterator[Table]:
    if len(block) < 2 or block[0][2]:
        return
    (start, end, _), below = block[0], block[1]
    header = text[start:end].strip()
    # Before a row of headings alone, and no other, what reads HTML puts a pipe
    of_headings = header.startswith("|") and not text[below[0] : below[1]].lstrip().startswith("|")
    if below[2] or of_headings or _names_columns(header, text[below[0] : below[1]]):
        rows = block[2:] if below[2] else block[1:]
        if rows:
            left = start + text[start:end].index(header)
            marked = below[2] or header.startswith("|") or "|" not in header
            yield Table((left, left + len(header)), rows[0][0], rows[-1][1], marked)


def _names_columns(row: str, below: str) -> bool:
    plain = _YEAR.sub("", row)
    return not re.search(r"\d", plain) and (plain == row or not _YEAR.search(below))


def header_above(text: str, at: int) -> str:
    """Returns the row that names the columns of the table that goes on at this character; else an empty text."""
    table = _table_at(text, at)
    return text[slice(*table.header)] if table else ""


def labelled(header: str, row: str) -> str:
    """Returns a row as a person reads it, "Code: E7 · Meaning: pump blocked"; empty where its cells are not as many as
    the labels."""
    labels, cells = _cells(header, 0), _cells(row, 0)
    if len(labels) < 2 or len(labels) != len(cells):
        return ""
    pairs = [(header[one.start : one.end], row[two.start : two.end]) for one, two in zip(labels, cells, strict=True)]
    return " · ".join(f"{label}: {value}" if label else value for label, value in pairs if value)


def _table_at(text: str, at: int) -> Table | None:
    every = tables(text)
    number = bisect_right([table.start for table in every], at) - 1
    return every[number] if number >= 0 and at < every[number].end else None


@dataclass(frozen=True)
class _Cell:
    """Characters ``[start, end)`` of the document."""

    start: int
    end: int
    words: frozenset[str]


def table_cell(document: Document, segment: Segment, question: str) -> tuple[int, int] | None:
    """Returns the cell, as characters of the document, that the question asks for in the segment; None where there is
    no table, or no single one."""
    return next(_named_cells(document, question, segment), None)


def named_cells(document: Document, question: str) -> list[tuple[int, int]]:
    """Returns the cells of all of a document's tables, each as its characters, that the question asks for."""
    whole = Segment(0, 0, len(document.text), document.text, ())
    return list(_named_cells(document, question, whole))


def _named_cells(document: Document, question: str, segment: Segment) -> Iterator[tuple[int, int]]:
    if _NOT.search(question):
        return
    asked, text = words.without_endings(question), document.text
    exact = [found.casefold().rstrip(".,:") for found in _EXACT.findall(question)]
    for table in _tables_in(text, segment):
        labels = _cells(text[slice(*table.header)], table.header[0])
        rows = _rows(text, table, len(labels))
        if len(labels) < 2 or not rows:
            continue
        above = _told_above(document, max(segment.start, table.start), min(segment.end, table.end))
        names = [text[cell.start : cell.end] for cell in labels]
        columns = [frozenset(word for word in asked if _is_of(word, name)) for name in names]
        # Of "D40" and "D40-W" the one is meant that is named in full
        in_full = [0.5 if found and label.words <= asked else 0.0 for found, label in zip(columns, labels, strict=True)]
        column = _only_best([len(found) + full for found, full in zip(columns, in_full, strict=True)])
        if column is None:
            continue
        keys = [key for key in _key_columns(rows) if key != column]
        rest = asked - columns[column]
        best = _only_best([_shared(rest, frozenset().union(*(row[key].words for key in keys))) for row in rows])
        if best is None:
            continue
        row, cell = rows[best], rows[best][column]
        line = text[row[0].start : row[-1].end].casefold()
        told = above.union(*(one.words for one in row), *columns)
        known = f"{line} {' '.join(names).casefold()} {document.title.casefold()}"
        certain = _shared(asked, told) == len(asked)
        certain = certain and all(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", known) for one in exact)
        if certain and _is_in(segment, cell):
            yield cell.start, cell.end


def cell_of_column(text: str, at: int, question: str) -> tuple[int, int] | None:
    """Returns the cell, in the row of a table that stands at a character of the text, of the one column that the
    question names in full, where that is another one than stands there; else None."""
    table = _table_at(text, at)
    if table is None or not table.is_marked:
        return None
    labels = _cells(text[slice(*table.header)], table.header[0])
    if len(labels) < 2:
        return None
    row = next((row for row in _rows(text, table, len(labels)) if row[0].start <= at <= row[-1].end), [])
    asked = words.without_endings(question)
    named = [bool(label.words) and _shared(label.words, asked) == len(label.words) for label in labels]
    here = next((number for number, cell in enumerate(row) if cell.start <= at <= cell.end), None)
    if here is None or named.count(True) != 1 or named[here]:
        return None
    cell = row[named.index(True)]
    return (cell.start, cell.end) if cell.words and named.index(True) else None


def extreme_cells(document: Document, segment: Segment, question: str) -> list[tuple[int, int]]:
    """Returns the cell that names the row with the highest or lowest value, as characters of the document, where the
    question asks for it ("Which mode is the quietest?", "the room with the most seats"), of rows with the same value
    those of all; none where there is no table, or a word of the question that no label or title tells."""
    if _NOT.search(question) or _EXACT.search(question):
        return []
    said = ((one, one.word.search(question)) for one in _EXTREMES)
    found, word = next(((one, match[0]) for one, match in said if match), (None, ""))
    if found is None:
        return []
    asked, text = words.without_endings(question) - words.without_endings(word), document.text
    above = _told_above(document, segment.start, segment.end)
    for table in _tables_in(text, segment):
        labels = _cells(text[slice(*table.header)], table.header[0])
        rows = _rows(text, table, len(labels))
        if len(rows) < sum(1 for line in line_spans(text, table.start, table.end) if not _is_rule(text, *line)):
            continue  # one with other cells might be the one
        rows = [row for row in rows if row[0].words.isdisjoint(_SUMS)]
        measures = found.measures.split() or asked
        columns = [number for number, label in enumerate(labels) if number and _shared(measures, label.words)]
        told = above.union(*(label.words for label in labels))
        if len(columns) != 1 or len(rows) < 2 or _shared(asked, told) < len(asked):
            continue
        values = [_NUMBER.fullmatch(text[row[columns[0]].start : row[columns[0]].end]) for row in rows]
        bounds = [(_value(one["low"]), _value(one["high"] or one["low"])) for one in values if one]
        if len(bounds) < len(rows) or len({(one["before"], one["after"]) for one in values if one}) > 1:
            continue
        most = (max if found.is_most else min)(bounds)
        best = [row[0] for row, bound in zip(rows, bounds, strict=True) if bound == most]
        others = [bound for bound in bounds if bound != most]
        is_certain = all(most[0] > high if found.is_most else most[1] < low for low, high in others)
        if is_certain and others and all(_is_in(segment, cell) for cell in best):
            return [(cell.start, cell.end) for cell in best]
    return []


def _tables_in(text: str, segment: Segment) -> Iterator[Table]:
    """The tables that lie in the segment, in part at least, and whose columns are surely named."""
    return (one for one in tables(text) if one.end > segment.start and one.start < segment.end and one.is_marked)


def _told_above(document: Document, start: int, end: int) -> set[str]:
    """The words that a question need not find in a table: the titles above have them, or they tell nothing."""
    section = document.place(start, end).section
    return words.without_endings(f"{document.title} {section or ''}") | _TELLS_NOTHING


def _is_in(segment: Segment, cell: _Cell) -> bool:
    """Whether a cell says something, and stands in the segment."""
    return bool(cell.words) and segment.start <= cell.start and cell.end <= segment.end


def _is_rule(text: str, start: int, end: int) -> bool:
    return RULE.fullmatch(text[start:end].strip()) is not None


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _rows(text: str, table: Table, n: int) -> list[list[_Cell]]:
    """The rows with as many cells as there are labels."""
    rows = []
    for start, end in line_spans(text, table.start, table.end):
        if _is_rule(text, start, end):
            continue
        cells = _cells(text[start:end], start)
        if len(cells) == n:
            rows.append(cells)
        if len(rows) == _MOST_ROWS:
            break
    return rows


def _cells(line: str, at: int) -> list[_Cell]:
    """The cells of a line that begins at a character of the text, the empty ones too: parted by pipes or tabs."""
    inner, begin = line.rstrip("\r\n"), 0
    if _PIPE.search(inner):
        begin = len(inner) - len(inner.lstrip())
        inner = inner.strip()
        if inner.startswith("|"):
            inner, begin = inner[1:], begin + 1
            inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
        cuts = [(match.start(), match.end()) for match in _PIPE.finditer(inner)]
    else:
        cuts = [(match.start(), match.end()) for match in re.finditer("\t", inner)]
    if not cuts:
        return []
    cells = []
    for start, end in zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(inner)], strict=True):
        part = inner[start:end]
        left = at + begin + start + len(part) - len(part.lstrip())
        right = max(left, at + begin + start + len(part.rstrip()))
        cells.append(_Cell(left, right, frozenset(words.without_endings(part))))
    return cells


def _key_columns(rows: list[list[_Cell]]) -> tuple[int, ...]:
    """The columns that name the rows: the first, and the second too where the first holds numbers or codes alone."""
    codes = all(
        any(any(map(str.isdigit, word)) for word in row[0].words)
        and not any(len(word) > 2 and word.isalpha() for word in row[0].words)
        for row in rows
    )
    return (0, 1) if codes else (0,)


def _shared(asked: Iterable[str], told: frozenset[str] | set[str]) -> int:
    """How many words of the question are among these, or one that means the same is."""
    return sum(not told.isdisjoint(_alike(word)) for word in asked)


def _alike(word: str) -> frozenset[str]:
    """The word, and those that mean the same."""
    return frozenset({word}).union(*(group for group in _ALIKE if word in group))


def _is_of(word: str, label: str) -> bool:
    """Whether a word of the question means a column's label: "extension" is "Ext.", "mean" is "Meaning"."""
    for other in re.findall(r"\w+\.?", label.casefold()):
        if other.endswith("."):
            if len(other) > 3 and word.startswith(other[:-1]):
                return True
            other = other[:-1]
        if other.rstrip("s") in _alike(word):
            return True
        short, long = sorted((word, other), key=len)
        if short == long or short == long.rstrip("s"):
            return True
        if len(short) >= 4 and long.startswith(short) and long[len(short) :] in _SUFFIXES:
            return True
    return False


def _only_best(scores: Sequence[float]) -> int | None:
    """The number of the highest score above 0, if there is one alone."""
    most = max(scores, default=0)
    best = [number for number, score in enumerate(scores) if score == most]
    return best[0] if len(best) == 1 and most > 0 else None


def line_spans(text: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
    """The lines of a text, each as its characters with the line feed that ends it, and with nothing else that might."""
    stop = len(text) if stop is None else stop
    while start < stop:
        end = text.find("\n", start, stop) + 1 or stop
        yield start, end
        start = end
