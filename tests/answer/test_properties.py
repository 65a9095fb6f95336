"""Properties of answers, with the embedded model: whatever it says, these hold."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from wim_edge import Document, Runtime, Settings
from wim_edge.documents import read_documents
from wim_edge.documents.units import rows, unit_spans

pytestmark = pytest.mark.real

ROWS = (
    ("Vessel", "Master", "Berth", "Cargo"),
    ("Alcyone", "Ines Brack", "14", "barley"),
    ("Merganser", "Tom Holloway", "9", "slate"),
    ("Perdita", "Ruth Okafor", "22", "cement"),
    ("Sandpiper", "Karl Voss", "3", "timber"),
)
ASKED = (("Who is the master of the Perdita?", "Ruth Okafor"), ("Which cargo has the Merganser?", "slate"))
HARBOUR = (
    "The harbour of Lund was dredged in 1962. Its lighthouse stands forty metres above the sea. "
    "Nobody may anchor in the northern basin.\n\nThe harbour master is Greta Solheim. Her office is open on weekdays."
)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    with Runtime(Settings(model="smollm2-135m", readings=tmp_path_factory.mktemp("readings"))) as runtime:
        yield runtime


def _tables(folder: Path) -> Iterator[Path]:
    """Yields the table as a file of six formats."""
    comma = io.StringIO()
    csv.writer(comma).writerows(ROWS)
    head, *body = (f"| {' | '.join(row)} |" for row in ROWS)
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
    texts = {
        "t.csv": comma.getvalue(),
        "t.tsv": "".join("\t".join(row) + "\n" for row in ROWS),
        "t.md": "\n".join([head, "| --- | --- | --- | --- |", *body]) + "\n",
        "t.html": f"<!doctype html><html><body><table>{cells}</table></body></html>",
        "t.txt": "".join("\t".join(row) + "\n" for row in ROWS),
        "pipes.txt": "\n".join(" | ".join(row) for row in ROWS) + "\n",
    }
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        yield path


def test_the_same_table_in_six_formats_gives_the_same_rows_and_answer(runtime: Runtime, tmp_path: Path) -> None:
    for number, path in enumerate(_tables(tmp_path)):
        (document,) = read_documents([path])
        assert [row.texts for row in rows(document)] == list(ROWS[1:]), path.name
        assert {row.labels for row in rows(document)} == {ROWS[0]}, path.name
        for question, right in ASKED if number == 0 else [ASKED[number % len(ASKED)]]:
            answer = runtime.ask(document, question)
            assert (path.name, answer.short) == (path.name, right)
            assert right in answer.quotes[0].text


@pytest.mark.parametrize("question", ["When was the harbour dredged?", "Who is the harbour master?", "How high is it?"])
def test_words_lie_in_their_unit_and_the_quotation_ends_where_it_ends(runtime: Runtime, question: str) -> None:
    answer = runtime.ask(Document("harbour", HARBOUR), question)
    ends = {start + len(HARBOUR[start:end].rstrip()) for start, end in unit_spans(HARBOUR)}
    for one in answer.candidates:
        assert one.text == " ".join(HARBOUR[slice(*one.chars)].split())
    quote = answer.quotes[0]
    assert quote.text == HARBOUR[slice(*quote.chars)]
    assert quote.chars[1] in ends
    if answer.span is not None:
        assert quote.chars[0] <= answer.span[0] < answer.span[1] <= quote.chars[1]


def test_support_falls_when_the_passage_is_taken_away(runtime: Runtime) -> None:
    question = "When was the harbour dredged?"
    there = runtime.ask(Document("harbour", HARBOUR), question)
    gone = runtime.ask(Document("harbour", HARBOUR.partition(". ")[2]), question)
    assert gone.support < there.support
    assert "1962" in there.short


def test_the_order_of_documents_changes_nothing(runtime: Runtime) -> None:
    texts = (HARBOUR, "The mill was sold in 1921 to Dr. Brandt.", "The theatre seats four hundred people.")
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    one = runtime.ask(documents, "Who bought the mill?")
    other = runtime.ask(documents[::-1], "Who bought the mill?")
    assert (one.short, one.status, one.quotes[0].text) == (other.short, other.status, other.quotes[0].text)


def test_documents_that_answer_differently_give_an_answer_each(runtime: Runtime) -> None:
    leases = [
        Document("mill", "The tenant may end the lease with a notice of eight weeks. The yard has space for a car."),
        Document("quay", "Notice by the tenant: three months, by registered letter. A cat is allowed, dogs are not."),
    ]
    both = runtime.ask(leases, "How long is the notice period?")
    assert (both.status, both.short, both.read_segments) == ("answered", "eight weeks; three months", 2)
    assert [quote.document for quote in both.quotes] == ["mill", "quay"]
    one = runtime.ask(leases, "Where is space for a car?")
    assert ("yard" in one.short, ";" in one.short) == (True, False)


def test_yes_and_no_are_told_by_the_model_where_the_question_asks_for_one(runtime: Runtime) -> None:
    document = Document("harbour", HARBOUR)
    assert runtime.ask(document, "May I anchor in the northern basin?").short == "No"
    assert runtime.ask(document, "Who is the harbour master?").short == "Greta Solheim"
