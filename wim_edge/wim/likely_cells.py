"""The likeliest cell of a document's tables for a question, where no cell is told by every word of it.

It is a guess, and shown as one. A row speaks for itself by the question's words that few rows have, a column by its
label, or by the form of answer that the question asks for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from wim_edge import words
from wim_edge.documents import Document, Segment
from wim_edge.documents.tables import RULE, cells_of, line_spans, table_at, tables
from wim_edge.wim.answer_form import fits
from wim_edge.wim.tables import EXACT, NOT, TELLS_NOTHING, alike, extreme_cells, is_of, words_above

_COVERED = 0.4
"""The share of the question's words, by their weight, that row and column must tell."""
_UNTOLD = 2
"""The words of a question for the highest or lowest that may be told nowhere."""
_ABOVE = 0.3
"""The weight in a row of a word that the document's title has, too."""
_SHARE = 0.4
"""The share of a document's characters, from which it is one of tables."""
_MOST_CELLS, _MOST_WORDS, _TITLE = 25_000, 60, 80
_HOW_MUCH = re.compile(
    r"\W*(?:how much|what (?:do|does|did|would|will|must|shall)\b.*\b(?:cost|pay|charge|earn)|was kostet"
    r"|wie (?:teuer|viel|hoch)|combien|cuánto)\b", re.IGNORECASE,
)  # fmt: skip
_SUMS = words.without_endings("total sum subtotal gesamt summe zwischensumme gesamtbetrag endbetrag balance")
_ALTOGETHER = re.compile(r"\b(?:altogether|in total|in all|overall|insgesamt|zusammen|en total)\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"[^\W\d]{1,6}[-_/]?\d[\w-]*")
"""A code, as "KB-4410", which is no amount."""
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_WHEN = re.compile(r"\W*(?:when|wann|cuándo|quand)\b", re.IGNORECASE)
_WHO = re.compile(r"\W*(?:who|whose|wer|wessen|qui|quién)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\W*(?:how many|wie ?viele|cuánt[ao]s)\b", re.IGNORECASE)
_NOUN = re.compile(
    r"(?:\A\W*was|\b(?:what|which|welche\w?|qué|cuál|quel(?:le)?))\s+(?:(?:is|was|are|were|ist|war|es|est)\s+)?"
    r"(?:(?:the|der|die|das|el|la|le)\s+)?(\w+)", re.IGNORECASE,
)  # fmt: skip
"""The noun that is asked for: "item" of "Which item did Ann order?"."""
_NAMES = ("name", "surname", "tenant", "contact", "person", "employee", "mieter", "inquilino", "nombre")
_ASKS = TELLS_NOTHING | words.without_endings(
    "how many much people per one at most least company document list sheet which of does did will would can could "
    "wie hoch ist sind war im in am an auf von vom zu zum bei mit und viel viele was kostet kosten wer wann wo welche "
    "welcher welches welchem welchen frau herr herrn beträgt gibt es hat haben wird pro cuánto cuesta cuántos qué "
    "quién cuál en por con es son mr mrs ms miss dr prof work works worked get look looks after responsible charge "
    "handle handles deal deals hold holds i we you us my our macht aus noch muss ich den die das sie zahlen berechnen "
    "für"
)
"""Words of a question that need not be told by a row or a label."""
_PAID = re.compile(
    r"\b(?:pay|paid|charged|altogether|in total|overall|(?:be)?zahl\w*|insgesamt|pag\w*)\b", re.IGNORECASE
)
_IDS = ("number", "no", "id", "code", "nummer", "número", "numéro")
_BOUGHT = re.compile(r"\W*what\b.*\b(?:order|buy|bought|purchased?)\b", re.IGNORECASE)
_GOODS = ("item", "product", "article", "goods", "description")
_COUNTS = ("quantity", "qty", "count", "anzahl", "menge", "stück", "cantidad")
_AMOUNTS = ("price", "cost", "fee", "rate", "preis", "betrag", "precio", "amount", "total", "net")


@dataclass(frozen=True)
class LabelledRow:
    """A row of a table: its cells as characters, their texts, the labels of its columns, empty where unknown, and the
    title of the rows among which it stands."""

    cells: tuple[tuple[int, int], ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    group: str
    words: tuple[frozenset[str], ...]
    """The words of the cells, and at last of the group's title and the section's."""
    line: str
    """All of it in lower case, with labels and titles."""


@lru_cache(maxsize=32)
def likely_cell(document: Document, question: str) -> tuple[int, int] | None:
    """Returns the cell as characters of the document; None if no row is named better than all others, or no column."""
    rows = rows_of(document)
    asked = words.without_endings(question) - _ASKS
    if not rows or not 0 < len(asked) <= _MOST_WORDS or NOT.search(question):
        return None
    whole = Segment(0, 0, len(document.text), document.text, ())
    if extreme := extreme_cells(document, whole, question, _UNTOLD):
        return extreme[0] if len(extreme) == 1 else None
    exact = {found.casefold().rstrip(".,:") for found in EXACT.findall(question)}
    vocabulary = {word for row in rows for cell in row.words for word in cell}
    meanings = {word: {one for one in vocabulary if _means(word, one)} for word in asked}
    told = [_words_found(row, meanings) for row in rows]
    times = Counter(word for cells in told for word in set().union(*cells))
    above = words_above(document, 0, len(document.text))
    weights = {word: log((len(rows) + 1) / (times[word] or 1)) * (_ABOVE if word in above else 1) for word in asked}
    said = question.casefold()
    proper = words.without_endings(" ".join(word for word in question.split()[1:] if word[0].isupper()))
    needed = asked - above
    best: list[tuple[float, int, int, set[str]]] = []
    for number, (row, cells) in enumerate(zip(rows, told, strict=True)):
        named = set().union(*cells)
        codes = sum(_stands_in(one, row.line) for one in exact)
        if not named and not codes:
            continue
        codes += sum(len(text) > 4 and _stands_in(text.casefold(), said) for text in row.texts if _DIGIT.search(text))
        column, by_label = _column(row, cells, asked, question)
        if column is None:
            continue
        score = sum(weights[word] for word in named | by_label) + 2 * codes * log(len(rows) + 1)
        score += 0.5 * len(named & proper)  # a name names a row, before a column
        score += any(there <= one for there, one in zip(row.words, cells, strict=True) if one)
        best.append((score, number, column, named | by_label))
    best.sort(key=lambda one: -one[0])
    if not best or (len(best) > 1 and best[0][0] <= best[1][0]):
        return None
    _, number, column, known = best[0]
    missed = sum(weights[word] for word in needed - known)
    if sum(weights[word] for word in known) < _COVERED * (missed + sum(weights[word] for word in known)):
        return None
    return rows[number].cells[column]


def cell_of_row(row: LabelledRow, question: str) -> tuple[int, int] | None:
    """Returns the cell of a row that a question most likely asks for, as characters of its document: of the column that
    it names, else the last or the first one that may be an answer, as it asks for what was paid or what something
    costs; None if none may."""
    asked = words.without_endings(question) - _ASKS
    there = {one for cell in row.words for one in cell}
    told = _words_found(row, {word: {one for one in there if _means(word, one)} for word in asked})
    column, _ = _column(row, told, asked, question)
    if column is None:
        first = 1 if not any(row.labels) or _is_of_row(row, question) else 0
        free = [at for at, text in enumerate(row.texts) if at >= first and text and not told[at]]
        fitting = [at for at in free if fits(question, row.texts[at]) and not _CODE.fullmatch(row.texts[at])]
        column = (fitting[-1] if _PAID.search(question) else fitting[0]) if fitting else None
    return None if column is None else row.cells[column]


def coded_rows(document: Document, question: str) -> tuple[LabelledRow, ...]:
    """Returns the rows with a code of the question ("E4"): others are about something else."""
    codes = {code.casefold() for code in _CODE.findall(question)}
    rows = rows_of(document) if codes else ()
    return tuple(row for row in rows if any(_stands_in(code, row.line) for code in codes))


def is_of_tables(document: Document) -> bool:
    """Tells whether a fair share of a document is tables, so that an answer that nothing tells is likely in one."""
    in_rows = sum(cells[-1][1] - cells[0][0] for cells in (row.cells for row in rows_of(document)))
    return in_rows >= _SHARE * len(document.text)


def _stands_in(code: str, line: str) -> bool:
    if code not in line:
        return False
    return re.search(rf"(?<![\w.,]){re.escape(code)}(?![\w]|[.,]\d)", line) is not None


def _words_found(row: LabelledRow, meanings: Mapping[str, set[str]]) -> list[set[str]]:
    """Returns the words of the question that each cell has, and at last the title of the row's group."""
    return [
        {
            word for word, alike_ones in meanings.items()
            if not there.isdisjoint(alike_ones) and (not word.isdigit() or _stands_in(word, text))
        }
        for text, there in zip((*row.texts, row.line), row.words, strict=True)
    ]  # fmt: skip


def _means(word: str, other: str) -> bool:
    """Tells whether a word of a cell says what one of the question does."""
    if other in alike(word):
        return True
    return word[:3] == other[:3] and (is_of(word, other) or is_of(word, f"{other}.") or _near(word, other))


def _near(word: str, other: str) -> bool:
    """Tells whether two words differ in their endings alone: "Auszubildender", "Auszubildenden"."""
    least = max(len(word), len(other)) - 2
    return least >= 6 and word[:least] == other[:least]


def _column(row: LabelledRow, cells: Sequence[set[str]], asked: set[str], question: str) -> tuple[int | None, set[str]]:
    """Returns the column that the question asks for, which holds something and is not what names the row, and the words
    that its label tells."""
    most = max(map(len, cells[:-1]))
    free = [at for at, text in enumerate(row.texts) if text and not (cells[at] and len(cells[at]) == most)]
    if not any(row.labels) or _is_of_row(row, question):  # the first cell is the label
        free = [at for at in free if at]
    if _WHO.match(question):
        free = [at for at in free if not _DIGIT.search(row.texts[at])]
    elif _HOW_MUCH.match(question):
        free = [at for at in free if _DIGIT.search(row.texts[at]) and not _CODE.fullmatch(row.texts[at])]
    new = asked - set().union(*cells)
    by_label = {at: {word for word in new if is_of(word, row.labels[at])} for at in free if row.labels[at]}
    full = max(map(len, by_label.values()), default=0)
    if full:
        column = next(at for at in free if len(by_label.get(at, ())) == full)
        return column, by_label[column]
    kinds = ((_WHO, _NAMES), (_HOW_MUCH, _AMOUNTS), (_HOW_MANY, _COUNTS), (_BOUGHT, _GOODS))
    wanted = next((labels for asks, labels in kinds if asks.match(question)), ())
    of_kind = [at for at in free if any(is_of(one, row.labels[at]) for one in wanted)]
    if of_kind:
        return of_kind[-1 if wanted is _AMOUNTS and _ALTOGETHER.search(question) else 0], set()
    if free and not _SUMS.isdisjoint(set().union(*cells)):
        return free[-1], set()  # the sum stands at the end of its row
    fitting = [at for at in free if fits(question, row.texts[at])]
    is_told = len(fitting) == 1 or (fitting and _WHEN.match(question))  # a day, and then the time
    return (fitting[0] if is_told else None), set()


def _is_of_row(row: LabelledRow, question: str) -> bool:
    """Tells whether the first cell numbers the row and is not asked for: "order: 1011", where somebody ordered."""
    first = row.texts[0]
    if not (first.isdigit() or _CODE.fullmatch(first)) or _YEAR.fullmatch(first):
        return False
    noun = _NOUN.search(question)
    asked = noun[1].casefold() if noun else ""
    return asked not in _IDS and not is_of(asked, row.labels[0])


def _is_alone(text: str, start: int, end: int) -> bool:
    """Tells whether a line has cells that neither the one above nor the one below has: it may be a letterhead's."""
    above = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
    below = text[end + 1 : (text.find("\n", end + 1) + 1 or len(text) + 1) - 1]
    return "|" not in above and "|" not in below


@lru_cache(maxsize=8)
def rows_of(document: Document) -> tuple[LabelledRow, ...]:
    """Returns the rows of a document's tables, without their headers, as far as they have `_MOST_CELLS` cells."""
    rows, n_cells = [], 0
    for row in _each_row(document):
        n_cells += len(row.cells)
        if n_cells > _MOST_CELLS:
            break
        rows.append(row)
    return tuple(rows)


def _each_row(document: Document) -> Iterator[LabelledRow]:
    text = document.text
    heads = {table.header[0] for table in tables(text)}
    group, labels = "", list[str]()
    for start, end in line_spans(text):
        line = text[start:end]
        table = table_at(text, start)
        cells = cells_of(line, start)
        filled = [text[left:right] for left, right in cells if right > left] or [line.strip()]
        if start in heads or not line.strip():
            group = ""
        elif len(filled) == 1 and len(filled[0]) <= _TITLE:
            group = filled[0]
        if start in heads or len(filled) < 2 or RULE.fullmatch(line.strip()):
            continue
        if table is None and _is_alone(text, start, end):
            continue
        if table is not None:  # else those of the last table, if this is more of it: blank rows part its groups
            header = cells_of(text[slice(*table.header)], table.header[0])
            labels = [text[slice(*one)].replace("_", " ") for one in header]
        texts = tuple(text[left:right] for left, right in cells)
        named = tuple(labels) if len(labels) == len(cells) else ("",) * len(cells)
        above = f"{document.section(start) or ''} {group}"
        there = tuple(frozenset(words.without_endings(one)) for one in (*texts, above))
        yield LabelledRow(tuple(cells), texts, named, group, there, " ".join((*texts, *named, above)).casefold())
