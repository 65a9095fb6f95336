"""A table as a SQLite table: the types of its columns, its results, and that a query can only read it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from wim_edge.documents import Document
from wim_edge.documents.table_query import QueryTable
from wim_edge.documents.units import Row, rows

TABLE = """| Area | Order | Spent (€) | Weight | Paid on | Note
Hall | A-1 | 1.250,50 | 3 kg | 07 Mar 2025 |
Camp | A-2 | 3.100,00 | 7 kg | 10 Feb 2025 | bus's tyres
Party | A-3 | 49,50 | 12 kg | 1 Apr 2025 | tent
Total | | 4.400,00 | | |
"""


@pytest.fixture
def table() -> QueryTable:
    return QueryTable(rows(Document("t.txt", TABLE)))


def test_columns_have_names_and_types_and_a_row_of_sums_is_left_out(table: QueryTable) -> None:
    created, _, first, *_ = table.schema.split("\n")
    assert created == (
        "CREATE TABLE t (area TEXT, c_order TEXT, spent_eur NUMERIC, weight NUMERIC, paid_on TEXT, note TEXT);"
    )
    assert first == "Hall | A-1 | 1250.5 | 3 | 2025-03-07 | NULL"
    assert [row.texts[0] for row in table.rows] == ["Hall", "Camp", "Party"]


@pytest.mark.parametrize(
    ("query", "values", "areas", "is_computed"),
    [("SELECT area FROM t ORDER BY spent_eur DESC LIMIT 1", ("Camp",), ["Camp"], True),
     ("SELECT area, weight FROM t WHERE spent_eur > 100", ("Hall, 3 kg", "Camp, 7 kg"), ["Hall", "Camp"], True),
     ("SELECT SUM(spent_eur) FROM t", ("4400",), ["Hall", "Camp", "Party"], True),
     ("SELECT MAX(weight) FROM t", ("12",), ["Hall", "Camp", "Party"], True),
     ("SELECT paid_on FROM t WHERE area LIKE '%hall%'", ("07 Mar 2025",), ["Hall"], False),
     ("SELECT * FROM t WHERE MONTH(paid_on) = 2", ("Camp",), ["Camp"], False),
     ("SELECT weight FROM t WHERE note LIKE '%party%'", ("12 kg",), ["Party"], False),
     ("SELECT weight FROM t WHERE area LIKE '%party%' AND note LIKE '%big%'", ("12 kg",), ["Party"], False),
     ("SELECT area FROM t WHERE paid_on LIKE '%most%' ORDER BY spent_eur DESC LIMIT 1", ("Camp",), ["Camp"], True),
     ("SELECT area FROM t WHERE paid_on LIKE '%March%'", ("Hall",), ["Hall"], False),
     ("SELECT area FROM t WHERE area = 'February 2025'", ("Camp",), ["Camp"], False),
     ("SELECT DATEDIFF(a.paid_on, b.paid_on) FROM t a, t b WHERE a.weight = 3 AND b.weight = 7", ("25",), [], True)],
)  # fmt: skip
def test_a_result_has_its_rows(table: QueryTable, query: str, values: object, areas: object, is_computed: bool) -> None:
    found = table.run(query)
    assert found is not None
    assert (found.values, [row.texts[0] for row in found.rows], found.is_computed) == (values, areas, is_computed)


@pytest.mark.parametrize(
    "query",
    ["SELECT area FROM t WHERE area = 'Pool'", "SELECT COUNT(*) FROM t WHERE area LIKE '%pool%'",
     "SELECT area FROM t WHERE area LIKE '%pool%' OR note LIKE '%pool%' ORDER BY weight",
     "SELECT nothing FROM t",
     "SELECT MAX(spent_eur) FROM t WHERE area = 'Pool'", "DROP TABLE t", "SELECT 1; DROP TABLE t", "",
     "ATTACH 'other.db' AS o", "SELECT randomblob(10)", "SELECT printf('%.9000000000d', 1)", "PRAGMA database_list",
     "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT MAX(x) FROM c",
     "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, t m, t n, t o, t p",
     "SELECT load_extension('x')", "SELECT writefile('x', 'y') FROM t", "SELECT name FROM sqlite_master"],
)  # fmt: skip
def test_what_finds_nothing_or_does_more_than_read_has_no_result(table: QueryTable, query: str) -> None:
    assert table.run(query) is None


def test_ranges_have_two_ends() -> None:
    found = QueryTable(rows(Document("t.txt", "| Age | Fee\n0 to 5 | 20 €\n6 to 11 | 35 €\n12 to 17 | 48 €\n")))
    assert found.schema.startswith("CREATE TABLE t (age_from NUMERIC, age_to NUMERIC, fee NUMERIC);")
    result = found.run("SELECT fee FROM t WHERE age_from <= 7 AND age_to >= 7")
    assert result is not None
    assert (result.values, result.rows[0].texts) == (("35 €",), ("6 to 11", "35 €"))


@pytest.mark.parametrize(
    ("cells", "kind", "shown"),
    [(["203", "Mill 1", "Mill 2"], "TEXT", "203"), (["1,250", "17,300", "9"], "NUMERIC", "1250"),
     (["0.125", "12.5", "3"], "NUMERIC", "0.12"), (["12 g", "3 kg", "1 kg"], "TEXT", "12 g"),
     (["1.250", "17.300", "9"], "NUMERIC", "1250"), (["1.5", "2.000.000", "3"], "NUMERIC", "1.5"),
     (["−5 °C", "3 °C", "12 °C"], "TEXT", "−5 °C"),
     (["1/31/2025", "2/1/2025", "3/2/2025"], "TEXT", "2025-01-31"),
     (["1 to 3", "over 3", "4–6"], "TEXT", "1 to 3"), (["W-101", "W-102", "W-7"], "TEXT", "W-101")],
)  # fmt: skip
def test_a_column_has_the_type_of_nearly_all_of_its_cells(cells: list[str], kind: str, shown: str) -> None:
    text = "| Name | Cell\n" + "".join(f"{name} | {cell}\n" for name, cell in zip("abc", cells, strict=True))
    created, _, first, *_ = QueryTable(rows(Document("t.txt", text))).schema.split("\n")
    assert (created, first) == (f"CREATE TABLE t (name TEXT, cell {kind});", f"a | {shown}")


CELLS = st.tuples(*[st.text("1230.,-+−’'٣²½ kg€%rowid_/", max_size=9)] * 2)


@given(st.lists(CELLS, min_size=2), CELLS)
def test_whatever_cells_hold_their_rows_can_be_counted(cells: list[tuple[str, str]], labels: tuple[str, str]) -> None:
    table = QueryTable([Row(((0, 1), (2, 3)), texts, labels) for texts in cells])
    result = table.run("SELECT COUNT(*) FROM t")
    assert result is not None
    assert result.values == (str(len(table.rows)),)
