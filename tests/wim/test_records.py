"""Records that numbered heads begin, and which of them a question names."""

from __future__ import annotations

import pytest

from wim_edge import Document
from wim_edge.wim import records
from wim_edge.wim.records import apart, bodies, item_numbers, named_records

INVOICES = "\n\n".join(f"Invoice {number}\n\nAmount due {number * 7} euros" for number in range(1, 6))
CONTRACT = (
    "1. Parties\n\nAda and Ben.\n\n2. Fees\n\n2.1 The fee is 9.\n\n2.2 Late: 15.\n\n3. Notice\n\n"
    "It takes 90 days of notice\n3. in writing\n"
)
LAW = "§ 1\n\n(1) One day.\n\n(2) Two days.\n\n§ 2\n\n(1) Three days.\n\n(2) Four days.\n"


def named(text: str, question: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in named_records(text, question)]


@pytest.mark.parametrize(("text", "question", "told"), [
    (INVOICES, "What is due on invoice 3?", ["Invoice 3 Amount due 21 euros"]),
    (INVOICES, "What is due on invoice no. 5?", ["Invoice 5 Amount due 35 euros"]),
    (INVOICES, "What is due on invoice 2 and invoice 4?",
     ["Invoice 2 Amount due 14 euros", "Invoice 4 Amount due 28 euros"]),
    (INVOICES, "What is due on invoice 7?", []),
    (INVOICES, "What is due on invoice 3.5?", []),
    (INVOICES.replace("Invoice", "## INVOICE"), "What is due on Invoice #3?", ["## INVOICE 3 Amount due 21 euros"]),
    ("Invoice 3\n\nAmount due", "What is due on invoice 3?", []),
    (CONTRACT, "What is the fee in section 2.2?", ["2.2 Late: 15."]),
    (CONTRACT, "What is the fee in section 2?", ["2. Fees 2.1 The fee is 9. 2.2 Late: 15."]),
    (CONTRACT, "How long is the notice of clause 3?", ["3. Notice It takes 90 days of notice", "3. in writing"]),
    (CONTRACT, "Who paid invoice 2?", []),
    (LAW, "Was sagt § 2?", ["§ 2 (1) Three days. (2) Four days."]),
    (LAW, "Was sagt § 1 Absatz 2?", ["(2) Two days."]),
    ("Table 1\n\nA\n\nTable 2\n\nB", "What does table 2 show?", []),
    ("In 2022 it rose.\n\nIn 2023 it fell.", "What happened in 2023?", []),
])  # fmt: skip
def test_a_record_is_named_by_its_word_and_number(text: str, question: str, told: list[str]) -> None:
    assert named(text, question) == told


def test_a_number_in_the_middle_of_a_paragraph_begins_no_record() -> None:
    text = "Item 1\n\nThe committee went back to what was said on the matter of\nitem 2, and agreed.\n\nItem 2\n\nB."
    assert named(text, "What of item 2?") == ["Item 2 B."]
    assert named(text, "What of item 1?")[0].endswith("agreed.")


def lacking(texts: list[str], question: str, parts: tuple[tuple[int, int], ...] = ()) -> str:
    return records.lacking([Document("a.txt", text, parts=parts) for text in texts], question)


def test_a_record_that_no_text_has_is_missed() -> None:
    assert lacking([INVOICES], "What is due on invoice 77?") == "invoice 77"
    assert not lacking([INVOICES], "What is due on invoice 3?")
    assert not lacking([INVOICES, "Invoice 77"], "What is due on invoice 77?"), "another document has it"
    assert not lacking([f"{INVOICES}\n\nWe never saw invoice 77."], "What of invoice 77?"), "it is spoken of"
    assert not lacking([INVOICES], "What is due on invoice 77?", ((0, 9),)), "another file of the library may have it"
    assert not lacking(["Invoice 1\n\nInvoice 2"], "What of invoice 3?"), "two are no series"
    assert lacking([CONTRACT], "What of section 12?") == "section 12"
    table = "| order | item\n101 | chair\n102 | table\n103 | lamp\n"
    assert lacking([table], "Who placed order no. 120?") == "order no. 120"
    assert not lacking([table], "Who placed order 102?")
    assert not lacking([table], "Which item costs 120?")
    assert not lacking([f"{table}Order 119 and 120 were one."], "Who placed order 120?"), "it is spoken of"
    assert not lacking(["| Week | shift\n1-2 | early\n3-4 | late\n5-6 | off\n"], "Which shift is in week 4?")
    codes = "E1 empty, E2 full, E3 hot"
    assert lacking([codes], "What does E9 mean?") == "E9"
    assert not lacking([codes], "What does E2 mean?")
    assert not lacking([codes], "What does F9 mean?")


def test_the_body_of_a_record_is_below_its_head() -> None:
    text = "Run 1: slow.\nRun 2\n\nIt was fast.\n"
    assert [text[start:end] for start, end in bodies(text, named_records(text, "How was run 2?"))] == ["It was fast.\n"]
    assert [text[start:end] for start, end in bodies(text, named_records(text, "How was run 1?"))] == ["Run 1: slow.\n"]


def test_what_stands_outside_of_the_records_loses_more() -> None:
    assert list(apart([(0, 10, 1.0), (10, 30, 2.0)], [(20, 25)], 5.0)) == [
        (0, 10, 6.0), (10, 20, 7.0), (20, 25, 2.0), (25, 30, 7.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "question", "numbers"),
    [
        ("2.3 Rent is due.\n2.4 It rises.\n2.5 It ends.", "By how much does it rise?", ["2.3", "2.4", "2.5"]),
        ("2.3 Rent is due.\n2.4 It rises.\n2.5 It ends.", "Which clause is it?", []),
        ("1. Rent\n2) Water", "How much is it?", ["1", "2"]),
        ("1.5 Liter Milch\n200 g flour", "How much milk?", []),
        ("4. Mai 2024\n12. März", "When is it?", []),
    ],
)
def test_numbers_that_head_lines(text: str, question: str, numbers: list[str]) -> None:
    assert [text[slice(*chars)] for chars in item_numbers(text, question)] == numbers
