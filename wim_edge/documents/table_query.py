"""A document's table as a SQLite table `t`. A query finds its extremes, sums, counts, or rows that meet a condition.

A model writes the query, perhaps misled by a document. So a query can only read this table, for a bounded time."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from wim_edge.documents.units import Row

_DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%d %b %Y", "%d %B %Y", "%b %Y", "%B %Y")
_NUMBER = re.compile(r"(?:[£€$¥]|[A-Z]{3})?\s?([+−-]?\d(?:[\d.,’' \u00a0]*\d)?)\s?((?:[^\W\d]{0,4}[²³]?|%|[£€$¥]))")
_RANGE = re.compile(r"(\d[\d.,]*) ?(?:[–—-]|[^\W\d]{1,3}) ?(\d[\d.,]*) ?([^\W\d]{0,4}|%|°[^\W\d]*)")
"""A range, such as "8 to 11", "8–11 kg"."""
_FRACTION, _GROUPS = re.compile(r"([.,])(\d+)$"), str.maketrans("−", "-", "’' \u00a0")
_UNITS = str.maketrans({"%": " percent ", "£": " GBP ", "€": " EUR ", "$": " USD "})
_TYPED, _EXACT = 0.8, 0.005  # the share of cells that have their column's type; the relative rounding of a sum
_SAMPLE, _CELL, _VALUES, _STEPS, _BYTES = 12, 40, 30, 1_000_000, 100_000
"""Rows in a prompt, and characters of their cells; most rows of a result; most steps of a query in SQLite's machine;
most bytes of a value."""
_CALLED = frozenset({
    "abs", "avg", "coalesce", "count", "date", "datediff", "day", "ifnull", "instr", "julianday", "length", "like",
    "lower", "max", "min", "month", "round", "strftime", "substr", "sum", "total", "upper", "year",
})  # fmt: skip
_WORK = re.compile(r"\b(?:avg|between|count|datediff|group|join|max|min|order|sum|total)\b|\w *[<>+*/-]", re.I)
_NO_WORK, _FROM = re.compile(r"'(?:[^']|'')*'|\*(?=\s+FROM)", re.I), re.compile(r"\bFROM\s+t\b", re.I)
_SUMS = re.compile(r"\b(?:avg|count|sum|total) *\(", re.I)
_CONDITION = re.compile(r"(\w+) (?:LIKE|=) '((?:[^']|'')*)'", re.I)
_ALTERNATIVES, _LIMITS = re.compile(r"\b(?:OR|NOT)\b", re.I), re.compile(r"\b(?:LIKE|ORDER)\b|[<>=]", re.I)
Value = str | float | None


@dataclass(frozen=True)
class QueryResult:
    """The result of ``query``: its rows as texts (``values``), and the table's rows that they come from (empty if
    unknown). ``is_computed``: whether the query compares, sorts or counts rows, and not only finds them by words."""

    query: str
    values: tuple[str, ...]
    rows: tuple[Row, ...]
    is_computed: bool

    @property
    def text(self) -> str:
        """The query and what it found, for a prompt below the table's `QueryTable.schema`."""
        return f"\n\n{self.query}\n-> {'; '.join(self.values)}"


@dataclass(frozen=True)
class Column:
    """A column of the SQLite table, with a value a row. ``cell``: the number of the cells that the values are from."""

    name: str
    cell: int
    values: list[Value]

    @property
    def kind(self) -> str:
        return "NUMERIC" if any(isinstance(value, float) for value in self.values) else "TEXT"


class QueryTable:
    """The rows of a table with the same labels, each column with a type: number, date or text. A column of ranges
    becomes two. A last row that sums up the others is left out. Call `run` with a query on the SQLite table `t`."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._columns = list[Column]()
        for at, label in enumerate(rows[0].labels):
            for part, values in _typed([row.texts[at] for row in rows]):
                name = _name(f"{label}{part}", [column.name for column in self._columns])
                self._columns.append(Column(name, at, values))
        self.rows = rows[:-1] if self._ends_in_sums() else rows

    @cached_property
    def schema(self) -> str:
        """The statement that creates the table, and its first rows, for a prompt."""
        columns = ", ".join(f"{column.name} {column.kind}" for column in self._columns)
        n_rows = min(len(self.rows), _SAMPLE)
        cells = ([_shown(column.values[at])[:_CELL] or "NULL" for column in self._columns] for at in range(n_rows))
        lines = [" | ".join(row).replace("*/", "") for row in cells] + ["..."] * (len(self.rows) > n_rows)
        return "\n".join([f"CREATE TABLE t ({columns});", "/* rows:", *lines, "*/"])

    def run(self, query: str) -> QueryResult | None:
        """Returns the query's result; None if the query fails, finds nothing, or finds more than 30 rows. A query that
        finds nothing is run once more, each of its words sought in a column that has it."""
        return self._run(query) or self._run(self._linked(query))

    def _linked(self, query: str) -> str:
        """Returns a query with each condition on a column that has its words. If no column has them, such as "last",
        the condition goes, unless the query then has neither a condition nor an order: then returns an empty query."""
        texts = {one.name: "\n".join(map(str, one.values)).casefold() for one in self._columns}

        def condition(found: re.Match[str]) -> str:
            words = _as_cells(found[2].strip("% "))
            having = [name for name in texts if words.replace("''", "'").casefold() in texts[name]]
            is_right = words in found[2] and found[1].casefold() in having
            return found[0] if is_right else f"{having[0]} LIKE '%{words}%'" if having else "1"

        linked = _CONDITION.sub(condition, query)
        return linked if _LIMITS.search(linked) and not _ALTERNATIVES.search(query) else ""

    def _run(self, query: str) -> QueryResult | None:
        with closing(self._database()) as database:
            found = _fetched(database, query)
            if not found or len(found) > _VALUES or all(cell is None for row in found for cell in row):
                return None
            begin = _FROM.search(query)
            numbers = _fetched(database, f"SELECT t._rowid_ {query[begin.start() :]}") if begin else []
        if not numbers and not any(map(any, found)):  # a count of 0 may mean a condition that nothing is written as
            return None
        rows = [int(number or 1) - 1 for (number,) in numbers] if len(numbers) <= _VALUES else []
        own = rows if len(rows) == len(found) and not _SUMS.search(query) else [None] * len(found)
        texts = dict.fromkeys(self._as_text(cells, at) for cells, at in zip(found, own, strict=True))
        is_computed = len(texts) > 1 or _WORK.search(_NO_WORK.sub("", query)) is not None
        return QueryResult(query, tuple(filter(None, texts)), tuple(self.rows[at] for at in rows), is_computed)

    def _as_text(self, cells: Sequence[Value], row: int | None) -> str:
        """Returns one row of a result as text; of over two cells, only the first. ``row``: the index of the table's row
        that the cells are from, if known; then they are written as in the document."""
        texts = () if row is None else self.rows[row].texts
        written = {column.values[row]: texts[column.cell] for column in self._columns if row is not None}
        cells = cells[:1] if len(cells) > 2 else cells
        return ", ".join(text for cell in cells if (text := written.get(cell) or _shown(cell)))

    def _ends_in_sums(self) -> bool:
        numbers = [column.values for column in self._columns if isinstance(column.values[-1], float)]
        sums = [(sum(float(one or 0) for one in values[:-1]), float(values[-1] or 0)) for values in numbers]
        same = sum(abs(one - other) <= _EXACT * abs(other) for one, other in sums if len(numbers[0]) > 2)
        return 2 * same >= max(len(sums), 1)

    def _database(self) -> sqlite3.Connection:
        database = sqlite3.connect(":memory:")
        columns = ", ".join(f"{column.name} {column.kind} COLLATE NOCASE" for column in self._columns)
        database.execute(f"CREATE TABLE t ({columns})")
        rows = list(zip(*(column.values for column in self._columns), strict=True))[: len(self.rows)]
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(self._columns))})", rows)
        for name, part in (("YEAR", slice(0, 4)), ("MONTH", slice(5, 7)), ("DAY", slice(8, 10))):
            database.create_function(name, 1, lambda day, part=part: int(day[part]) if day else None)
        day = date.fromisoformat
        database.create_function("DATEDIFF", 2, lambda one, other: abs((day(one) - day(other)).days))
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _BYTES)
        database.set_authorizer(_may_do)
        database.set_progress_handler(lambda: 1, _STEPS)
        return database


def _fetched(database: sqlite3.Connection, query: str) -> list[tuple[Value, ...]]:
    """Returns a query's first 31 rows, one more than a result may have; [] if the query fails."""
    with suppress(sqlite3.Error, sqlite3.Warning, ValueError, TypeError):
        return database.execute(query).fetchmany(_VALUES + 1)
    return []


def _may_do(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Returns SQLITE_OK for a step that reads the table or calls a function in `_CALLED`; else SQLITE_DENY."""
    reads = action == sqlite3.SQLITE_SELECT or (action == sqlite3.SQLITE_READ and first == "t")
    calls = action == sqlite3.SQLITE_FUNCTION and (second or "").casefold() in _CALLED
    return sqlite3.SQLITE_OK if reads or calls else sqlite3.SQLITE_DENY


def _name(label: str, taken: Sequence[str]) -> str:
    """Returns a column's name: the letters and digits of its label. A name that is a word of SQL gets a prefix."""
    name = re.sub(r"\W+", "_", label.translate(_UNITS)).strip("_").casefold()[:_CELL] or "name"
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(f"CREATE TABLE t ({name} TEXT)")
    except sqlite3.Error:
        name = f"c_{name}"
    return name if name not in taken else f"{name}_{len(taken) + 1}"


def _typed(texts: Sequence[str]) -> list[tuple[str, list[Value]]]:
    """Returns [("", values)] for the cells of a column, or both ends of ranges as [(" from", values), (" to", values)].
    Values are dates as ISO text, or numbers, if nearly all cells are such; else texts."""
    least = _TYPED * max(1, sum(map(bool, texts)))
    for form in (form for form in _DATES if any(_day(text, form) for text in texts[:_SAMPLE])):
        days = [_day(text, form) for text in texts]
        if sum(map(bool, days)) >= least:
            return [("", [day or text or None for day, text in zip(days, texts, strict=True)])]
    found, ranges = ([one.fullmatch(text.strip()) for text in texts] for one in (_NUMBER, _RANGE))
    others = {text for one, text in zip(found, texts, strict=True) if text and not one}  # such as "none"
    is_number = sum(map(bool, found)) >= least and len(others) < 2
    if is_number and len({one[2] for one in found if one and one[2]}) < 2:
        return [("", _numbers([one and one[1] for one in found]))]
    if sum(map(bool, ranges)) >= least and len({one[3] for one in ranges if one}) == 1:
        return [(part, _numbers([one and one[at] for one in ranges])) for part, at in ((" from", 1), (" to", 2))]
    return [("", [text or None for text in texts])]


def _numbers(texts: Sequence[str | None]) -> list[Value]:
    """Returns the numbers that are written in these texts; None where there is none."""
    digits = [text and text.translate(_GROUPS).rstrip(".,") for text in texts]
    marks = {
        part[1] for one in digits if one and (part := _FRACTION.search(one))
        and (len(part[2]) != 3 or one.startswith("0") or re.search(r"[.,]", one[: part.start()]) not in (None, part[1]))
    }  # fmt: skip
    point = "." if "." in marks else "," if marks else ""
    plain = (re.sub(r"[.,]", lambda mark: "." if mark[0] == point else "", one or "") for one in digits)
    return [float(one) if one.count(".") < 2 and one.strip("+-") else None for one in plain]


def _day(text: str, form: str) -> str | None:
    with suppress(ValueError):
        return datetime.strptime(text.strip(), form).date().isoformat()
    return None


def _as_cells(words: str) -> str:
    """Returns the words of a condition; a date, month or name of a month as in the table's cells, such as "-03-"."""
    for form in (*_DATES, "%B", "%b"):
        with suppress(ValueError):
            shown = "%Y-%m-%d" if "%d" in form else "%Y-%m" if "%Y" in form else "-%m-"
            return datetime.strptime(words, form).strftime(shown)
    return words


def _shown(value: Value) -> str:
    return f"{round(value, 2):.15g}" if isinstance(value, int | float) else value or ""
