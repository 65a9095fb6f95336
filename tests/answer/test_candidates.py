"""The words that may answer, and the one score that each has."""

from __future__ import annotations

from tests.reading.mill import MILL, TABLE, ask
from wim_edge.answer.candidates import WEIGHTS, Terms, key


def test_a_score_is_the_weighted_sum_of_its_terms() -> None:
    run = Terms(passage=-1.0, words=-2.0, run=-3.0, echo=0.5)
    assert run.score == -WEIGHTS.passage - 2 * WEIGHTS.words - 3 * WEIGHTS.run + 0.5 * WEIGHTS.echo
    cell = Terms(passage=-1.0, words=0.0, run=-2.0, echo=0.0, label=1.0)
    assert cell.score == -WEIGHTS.passage - 2 * WEIGHTS.run + WEIGHTS.label


def test_an_answer_tells_the_candidates_with_their_terms() -> None:
    answer = ask(MILL, "Who bought the mill?", "Dr. A. Brandt")
    first = answer.candidates[0]
    assert (first.text, first.document) == (answer.short, "mill.txt")
    assert MILL[slice(*first.chars)] == first.text
    assert set(first.terms) == {"passage", "words", "run", "echo", "label"}
    shares = [one.share for one in answer.candidates]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum({key(one.text): one.share for one in answer.candidates}.values()) <= 1.000001


def test_the_cells_of_rows_are_candidates() -> None:
    answer = ask(TABLE, "Which room is Hugo Tindall in?", "14")
    cells = {one.text for one in answer.candidates if one.is_cell}
    assert {"12", "14", "Ada Quill", "Hugo Tindall"} <= cells
    assert answer.short == "14"
    assert answer.quotes[0].text == "| Hugo Tindall | 14 |"


def test_words_that_differ_in_punctuation_alone_say_the_same() -> None:
    assert key("The Mill,") == key("the mill") != key("a mill")
    assert key("€") == "€"
