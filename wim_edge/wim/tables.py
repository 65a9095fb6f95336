"""Tables in plain text: their headers, and the cell that a question names by its row and its column.

"Which room is Hugo Tindall in" names a column, room, and a row. No model is needed to look that up, and a small one
mixes columns up. A cell that is looked up counts as certain, so the rules are strict: every word of the question must
be matched by the row, the labels or the titles above; of two rows or columns that fit alike neither counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wim_edge import words
from wim_edge.documents import Document, Segment
from wim_edge.documents.tables import ROW, RULE, Table, cells_of, line_spans, table_at, tables

_MOST_ROWS, _TITLE = 2000, 120
_WHO = re.compile(r"\W*(?:who|wer|qui|quién)\b", re.IGNORECASE)
_HOW_MANY, _AMOUNT = re.compile(r"\W*how (?:much|many)\b", re.IGNORECASE), re.compile(r"\W{0,2}(?:[^\W\d]{1,3}\W)?\d")
EXACT = re.compile(r"""[^\s?!;()"'“”]{0,60}\d[^\s?!;()"'“”]{0,60}""")
"""A number or code in a question, which the row, a label or the title must have to the letter."""
NOT = re.compile(r"\b(?:not|no|never|except|without|nicht|kein\w*|pas|sans|sin|nunca)\b|n't\b", re.IGNORECASE)
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "price cost fee charge rate", "spent spend expenditure expense cost paid pay payment payable",
        "join joined start since hire hired entry employed", "phone telephone tel", "weigh weight heavy",
        "high tall height", "wide width", "deep depth", "long length duration time take", "old age",
        "big large size dimension", "earn salary wage pay", "open opening hour",
        "fast speed", "loud noise", "often frequency interval",
        "total sum altogether overall subtotal gesamt insgesamt zusammen summe zwischensumme somme suma",
    )
)  # fmt: skip
"""Words of questions and labels that mean the same, in groups."""
_SUFFIXES = ("s", "es", "ed", "d", "ing", "er", "r", "ure", "al", "n", "ly")
TELLS_NOTHING = words.without_endings(
    "address number value name entry please tell me give show exact exactly currently current much many long high old "
    "so far yet been size sold sell piece "
    "de la le les du des der die das den dem el los las un une ein eine pour para für et y und e l d"
)
"""Words of a question that need not be matched: they ask, or join others."""

_DIGITS = r"-?\d{1,12}(?:,\d{3})*(?:\.\d{1,9})?"
_DATE = re.compile(r"((?:19|20)\d\d)-(\d\d)-(\d\d)|(\d{1,2})[./](\d{1,2})[./]((?:19|20)\d\d)")
_NUMBER = re.compile(rf"(?P<before>[^\d-]*)(?P<low>{_DIGITS})(?:(?:–|-| to )(?P<high>{_DIGITS}))?(?P<after>[^\d]*)")
"""A value with its unit, or a range of values."""


@dataclass(frozen=True)
class _Extreme:
    """A superlative in a question, and the words that a label of its measure may have; none: the question names it."""

    word: re.Pattern[str]
    is_most: bool
    measures: str = ""


_EXTREMES = tuple(
    _Extreme(re.compile(rf"\b(?:{word})\b", re.IGNORECASE), is_most, measures)
    for word, is_most, measures in (
        (r"cheapest|least expensive|günstigste\w?|billigste\w?", False, "price preis"),
        (r"most expensive|dearest|costliest|teuerste\w?", True, "price preis"),
        (r"(?:been|worked|served)\b.*\blongest|longest[- ]serving", False, "since start joined hired entry"),
        ("quietest", False, "noise"), ("loudest", True, "noise"), (r"lightest|leichteste\w?", False, "weight gewicht"),
        (r"heaviest|schwerste\w?", True, "weight gewicht"), ("shortest", False, "length"), ("longest", True, "length"),
        ("tallest", True, "height"), ("narrowest", False, "width"), ("widest", True, "width"),
        ("deepest", True, "depth"), ("smallest", False, "size"), ("largest|biggest", True, "size"),
        ("slowest", False, "speed"), ("fastest", True, "speed"), ("youngest", False, "age"), ("oldest", True, "age"),
        ("most|highest|greatest|maximum", True, ""), ("fewest|least|lowest|minimum", False, ""),
    )
)  # fmt: skip

_SUMS = words.without_endings("total totals sum altogether overall gesamt summe somme suma")
"""The words that name a row in which the others are added up."""


@dataclass(frozen=True)
class _Cell:
    """A cell: characters ``[start, end)`` of the document, and its words."""

    start: int
    end: int
    words: frozenset[str]


def table_cell(document: Document, segment: Segment, question: str) -> tuple[int, int] | None:
    """Returns the cell, as characters of the document, that the question asks for in the segment; None if there is no
    table, or not exactly one such cell."""
    return next(_named_cells(document, question, segment), None)


def named_cells(document: Document, question: str) -> list[tuple[int, int]]:
    """Returns the cells that the question asks for, in all tables of a document, each as its characters."""
    whole = Segment(0, 0, len(document.text), document.text, ())
    return list(_named_cells(document, question, whole))


def _named_cells(document: Document, question: str, segment: Segment) -> Iterator[tuple[int, int]]:
    if NOT.search(question):
        return
    asked, text = words.without_endings(question), document.text
    exact = [found.casefold().rstrip(".,:") for found in EXACT.findall(question)]
    for table in _tables_in(text, segment):
        labels = _cells(text[slice(*table.header)], table.header[0])
        rows = _rows(text, table, len(labels))
        if len(labels) < 2 or not rows:
            continue
        above = words_above(document, max(segment.start, table.start), min(segment.end, table.end))
        names = [text[cell.start : cell.end] for cell in labels]
        columns = [frozenset(word for word in asked if is_of(word, name)) for name in names]
        # Of "D40" and "D40-W" the one is meant that is named in full
        in_full = [
            (0.25 + 0.25 * (label.words <= asked)) * (bool(found) and _is_told(label, asked))
            for found, label in zip(columns, labels, strict=True)
        ]
        column = _only_best([len(found) + full for found, full in zip(columns, in_full, strict=True)])
        best = None if column is None else _row_named(rows, column, asked - columns[column])
        if column is None and not any(columns) and _WHO.match(question):
            column, best = _who(labels, rows, question)
        if column is None or best is None:
            continue
        row, cell = rows[best], rows[best][column]
        line = text[row[0].start : row[-1].end].casefold()
        told = above.union(*(one.words for one in row), *columns)
        known = f"{line} {' '.join(names).casefold()} {document.title.casefold()}"
        certain = _shared(asked, told) == len(asked) and _has_form(question, text[cell.start : cell.end])
        certain = certain and all(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", known) for one in exact)
        if certain and _is_in(segment, cell):
            yield cell.start, cell.end


def _has_form(question: str, cell: str) -> bool:
    """Tells whether a cell is a number where the question asks how much, and none where it asks who."""
    if _HOW_MANY.match(question):
        return _AMOUNT.match(cell) is not None
    return not (_WHO.match(question) and any(map(str.isdigit, cell)))


def _row_named(rows: list[list[_Cell]], column: int, asked: set[str]) -> int | None:
    """Returns the number of the row that has most of these words in the cells that name rows, "Total assets" before
    "Total current assets"."""
    keys = [key for key in _key_columns(rows) if key != column]
    return _only_best([
        _shared(asked, frozenset().union(*(row[key].words for key in keys)))
        + 0.5 * any(_is_told(row[key], asked) for key in keys)
        for row in rows
    ])  # fmt: skip


def _who(labels: list[_Cell], rows: list[list[_Cell]], question: str) -> tuple[int | None, int | None]:
    """Returns the column of names, and the row of the only one who is what the question says, "the registrar". Another
    person's name says nothing of them."""
    column = next((at for at, label in enumerate(labels) if "name" in label.words), None)
    said = words.without_endings(" ".join(word for word in question.split()[1:] if not word[0].isupper()))
    told = [number for number, row in enumerate(rows) if any(_is_told(cell, said) for cell in row)]
    return column, told[0] if len(told) == 1 else None


def _is_told(cell: _Cell, asked: set[str]) -> bool:
    return bool(cell.words) and _shared(cell.words, asked) == len(cell.words)


def cell_of_column(text: str, at: int, question: str) -> tuple[int, int] | None:
    """Returns the cell of the one column that the question names in full, in the row of a table at a character of the
    text, if the character is not in that column; else None."""
    table = table_at(text, at)
    if table is None or not table.is_marked:
        return None
    labels = _cells(text[slice(*table.header)], table.header[0])
    if len(labels) < 2:
        return None
    row = next((row for row in _rows(text, table, len(labels)) if row[0].start <= at <= row[-1].end), [])
    asked = words.without_endings(question)
    named = [_is_told(label, asked) for label in labels]
    here = next((number for number, cell in enumerate(row) if cell.start <= at <= cell.end), None)
    if here is None or named.count(True) != 1 or named[here]:
        return None
    cell = row[named.index(True)]
    return (cell.start, cell.end) if cell.words and named.index(True) else None


def extreme_cells(
    document: Document, segment: Segment, question: str, most_untold: int = 0
) -> list[tuple[int, int]]:
    """Returns the cell that names the row with the highest or lowest value, as characters of the document, if the
    question asks for it ("Which mode is the quietest?", "the room with the most seats"); several if rows have the same
    value; none if there is no table, or more than ``most_untold`` words of the question that no label or title
    tells."""
    if NOT.search(question) or EXACT.search(question):
        return []
    said = ((one, one.word.search(question)) for one in _EXTREMES)
    found, word = next(((one, match[0]) for one, match in said if match), (None, ""))
    if found is None:
        return []
    asked, text = words.without_endings(question) - words.without_endings(word), document.text
    above = words_above(document, segment.start, segment.end)
    for table in _tables_in(text, segment):
        labels = _cells(text[slice(*table.header)], table.header[0])
        rows = _rows(text, table, len(labels))
        lines = [text[start:end] for start, end in line_spans(text, table.start, table.end)]
        if len(rows) < sum(1 for line in lines if ROW.search(line) and not RULE.fullmatch(line.strip())):
            continue  # one with other cells might be the one
        rows = [row for row in rows if row[0].words.isdisjoint(_SUMS)]
        measures = found.measures.split() or asked
        columns = [number for number, label in enumerate(labels) if number and _shared(measures, label.words)]
        if most_untold and not columns:
            columns = [number for number, label in enumerate(labels) if number and _shared(asked, label.words)]
        told = above.union(*(label.words for label in labels))
        if len(columns) != 1 or len(rows) < 2 or _shared(asked, told) < len(asked) - most_untold:
            continue
        cells = [text[row[columns[0]].start : row[columns[0]].end] for row in rows]
        values = [_NUMBER.fullmatch(_DATE.sub(_as_number, cell)) for cell in cells]
        bounds = [(_value(one["low"]), _value(one["high"] or one["low"])) for one in values if one]
        if len(bounds) < len(rows) or len({(one["before"], one["after"]) for one in values if one}) > 1:
            continue
        most = (max if found.is_most else min)(bounds)
        names = [at for at, label in enumerate(labels) if "name" in label.words and _WHO.match(question)]
        name = [*names, _key_columns(rows)[-1]][0]
        best = [row[name] for row, bound in zip(rows, bounds, strict=True) if bound == most]
        others = [bound for bound in bounds if bound != most]
        is_certain = all(most[0] > high if found.is_most else most[1] < low for low, high in others)
        if is_certain and others and all(_is_in(segment, cell) for cell in best):
            return [(cell.start, cell.end) for cell in best]
    return []


def _tables_in(text: str, segment: Segment) -> Iterator[Table]:
    """Returns the tables that lie in the segment, at least in part, and whose columns are surely named."""
    return (one for one in tables(text) if one.end > segment.start and one.start < segment.end and one.is_marked)


def words_above(document: Document, start: int, end: int) -> set[str]:
    """Returns the words that a question need not find in a table: the titles above have them, that of a section if
    all of it is one, or they tell nothing."""
    section = document.place(start, end).section
    if section != document.section(max(start, end - 1)):
        section = None
    first = document.text[:_TITLE].lstrip().partition("\n")[0]  # a sheet's title stands in its first row
    return words.without_endings(f"{document.title} {section or ''} {first}") | TELLS_NOTHING


def _is_in(segment: Segment, cell: _Cell) -> bool:
    """Tells whether a cell says something, and stands in the segment."""
    return bool(cell.words) and segment.start <= cell.start and cell.end <= segment.end


def _is_rule(text: str, start: int, end: int) -> bool:
    return RULE.fullmatch(text[start:end].strip()) is not None


def _as_number(date: re.Match[str]) -> str:
    """Returns a date as a number that a later one exceeds."""
    year, month, day = date.group(1, 2, 3) if date[1] else date.group(6, 5, 4)
    return f"{year}{int(month):02}{int(day):02}"


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _rows(text: str, table: Table, n: int) -> list[list[_Cell]]:
    """Returns the rows with as many cells as there are labels."""
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
    cells = cells_of(line, at)
    return [_Cell(left, right, frozenset(words.without_endings(line[left - at : right - at]))) for left, right in cells]


def _key_columns(rows: list[list[_Cell]]) -> tuple[int, ...]:
    """Returns the columns that name the rows: the first and, if that holds numbers or codes alone, the second too."""
    codes = all(
        any(any(map(str.isdigit, word)) for word in row[0].words)
        and not any(len(word) > 2 and word.isalpha() for word in row[0].words)
        for row in rows
    )
    return (0, 1) if codes else (0,)


def _shared(asked: Iterable[str], told: frozenset[str] | set[str]) -> int:
    """Counts the words of the question that are among these, or of which a word of the same meaning is."""
    return sum(not told.isdisjoint(alike(word)) for word in asked)


def alike(word: str) -> frozenset[str]:
    """Returns the word, and those that mean the same."""
    return frozenset({word}).union(*(group for group in _ALIKE if word in group))


def is_of(word: str, label: str) -> bool:
    """Tells whether a word of the question means a column's label: "extension" is "Ext.", "mean" is "Meaning"."""
    for other in re.findall(r"\w+\.?", label.casefold()):
        if other.endswith("."):
            if len(other) > 3 and word.startswith(other[:-1]):
                return True
            other = other[:-1]
        if other.rstrip("s") in alike(word):
            return True
        short, long = sorted((word, other), key=len)
        if short == long or short == long.rstrip("s"):
            return True
        if len(short) >= 4 and long.startswith(short) and long[len(short) :] in _SUFFIXES:
            return True
    return False


def _only_best(scores: Sequence[float]) -> int | None:
    """Returns the number of the highest score above 0, if only one has it."""
    most = max(scores, default=0)
    best = [number for number, score in enumerate(scores) if score == most]
    return best[0] if len(best) == 1 and most > 0 else None
