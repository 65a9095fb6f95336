"""An answer computed from rows of a table: the writer turns the question into a query, and SQLite runs the query.

A small writer names well the column that is to be compared or added up, but reads rows badly (docs/choices.md).
"""

from __future__ import annotations

from dataclasses import replace

from wim_edge.answer.candidates import AnswerCandidate, key
from wim_edge.answer.judged import UNSURE, Answer, Judged, answer_of
from wim_edge.answer.quotes import format_quotes, quote
from wim_edge.answer.wording import SENTENCE
from wim_edge.answer.writer import Writing, said
from wim_edge.documents.table_query import QueryResult, QueryTable
from wim_edge.documents.tables import header_above
from wim_edge.documents.units import rows, rows_like
from wim_edge.reading.generate import unsupported
from wim_edge.reading.reading import Reading

_LEAST, _WIDEST, _SHOWN = 3, 40, 6  # fewest rows and most columns of a table for a query; most rows in a text
_RIGHT, _SURE = 0.49, 0.9  # the share of results that are right; of those that the judge or the writer confirms, too
_CONFIRMED, _LIKELY, _HARDLY = 0.9, 0.15, -0.3
"""The writer's log-odds, in nats, that confirm a result, and that let stand a looked-up cell, and what is computed."""


def table_of(judged: Judged) -> tuple[AnswerCandidate, QueryTable] | None:
    """Returns (likeliest cell of a table that is not small, wide or without labels, this table); None without one."""
    for cell in (one for one in judged.candidates if one.row is not None):
        table = rows_like(rows(cell.document), cell.start)
        if len(table) >= _LEAST and all(table[0].labels[1:]) and len(table[0].labels) <= _WIDEST:
            return cell, QueryTable(table)
    return None


def computed_answer(
    reading: Reading, judged: Judged, cell: AnswerCandidate, table: QueryTable, found: QueryResult, turn: Writing
) -> Answer | None:
    """Returns the answer that a query on a table found, with its rows. ``turn``: the writer, which says whether the
    result answers. None if it doubts this and the judge points elsewhere, and for several values where one is asked
    for."""
    document, says = cell.document, turn.yes("answerable", reading.plan.query, found.text) or 0.0
    agrees = {*map(key, found.values)} == {key(one.text) for one in judged.items or judged.candidates[:1]}
    least = _HARDLY if found.is_computed or len(judged.items) > 1 else _LIKELY
    if (reading.kind == "fact" and len(found.values) > 1) or not (agrees or says > least):
        return None
    share = _SURE if agrees or says > _CONFIRMED else _RIGHT
    judged = replace(judged, support=max(judged.support or 0.0, _SURE), share=share)
    own = (quote(document, row.start, row.cells[-1][1], header_above(document.text, row.start)) for row in found.rows)
    quotes, short = tuple(own) or judged.quotes[:1], "; ".join(found.values)
    text = short if len(found.values) > 1 else _in_words(turn, reading.plan.query, table, found, short)
    more = f"\n... and {len(quotes) - _SHOWN} more rows" if len(quotes) > _SHOWN else ""
    text = f"{UNSURE if judged.status == 'unsure' else ''}{text}\n\n{format_quotes(reading, quotes[:_SHOWN])}{more}"
    return replace(answer_of(judged), text=text, short=short, span=None, quotes=quotes, query=found.query)


def _in_words(turn: Writing, query: str, table: QueryTable, found: QueryResult, value: str) -> str:
    """Returns the writer's sentence if it has ``value``, and no other that is not in the table; else ``value``."""
    text = turn.sentence(turn.prompts.worded(query, found.text.strip(), value), value, SENTENCE)
    known = [query, found.text, *(row.text for row in table.rows)]
    return text if said(value, text) and not unsupported(text, known) else value
