"""How what carries an answer is shown."""

from __future__ import annotations

from tests.wim.mill import ask


def test_a_quotation_that_is_cut_says_so() -> None:
    before, after = "was packed and stacked and " * 40, "and so on and on " * 40
    text = f"The crate {before}the key is in Box 70 {after}until the end."
    assert "“… " in ask(text, "Where is the key?", "Box 70").text


def test_a_row_of_other_cells_is_told_without_pipes() -> None:
    text = "| Item | Qty | Price |\n| --- | --- | --- |\n| Spade | 1 | 40 |\n| Total | 40 |\n"
    assert "Total · 40 (line 4)" in ask(text, "total", "40").text.replace("“", "")


def test_an_answer_from_another_sentence_than_the_likeliest_is_a_guess() -> None:
    """The fake finds a text likelier after one with its own letters, and points at what its script says."""
    text = "Zzz zz zzzz zz. The ferry to the island leaves the harbour at nine. Yyy yy yyyy."
    question = "What leaves the harbour for the island?"
    for says, status in (("The ferry", "answered"), ("zzzz zz", "unsure")):
        assert ask(text, question, says).status == status
