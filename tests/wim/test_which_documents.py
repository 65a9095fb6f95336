"""Which documents say something: all that have the words, each with its sentence."""

from __future__ import annotations

import pytest

from wim_edge.documents import Document
from wim_edge.wim.which_documents import asks_which_document, documents_that_say

LEASE = Document("lease.txt", "The flat has two rooms.\nThe boiler is serviced by the landlord each October.")
MANUAL = Document("manual.txt", "Boilers lose pressure.\n\nTop them up to 1.2 bar.")
LETTER = Document("letter.txt", "The windows were cleaned on Monday.")


@pytest.mark.parametrize(("question", "asks"), [
    ("Which of my documents mentions the boiler?", True), ("which letters talk about the lease", True),
    ("In which file is the boiler mentioned?", True), ("In welchem Dokument wird der Kessel erwähnt?", True),
    ("Which report says that sales fell?", True), ("Which files are about boilers?", True),
    ("Which document is needed for the visa?", False), ("Which documents must be handed in?", False),
    ("Who mentions the boiler?", False), ("What does the letter say about boilers?", False),
])  # fmt: skip
def test_what_asks_for_documents(question: str, asks: bool) -> None:
    assert asks_which_document(question) == asks


def test_all_that_have_the_words_are_listed() -> None:
    found = documents_that_say([LEASE, MANUAL, LETTER], "Which of these files mention the boiler?")
    assert found is not None
    assert found.text == (
        "2 found:\n- lease.txt, line 2: “The boiler is serviced by the landlord each October.”\n"
        "- manual.txt, line 1: “Boilers lose pressure.”"
    )
    assert (found.short, found.status) == ("lease.txt; manual.txt", "answered")
    assert [quote.document for quote in found.quotes] == ["lease.txt", "manual.txt"]


def test_words_may_stand_in_several_sentences_but_half_of_them_is_a_guess() -> None:
    found = documents_that_say([LEASE, MANUAL], "Which document talks about boiler pressure and bar?")
    assert found is not None
    assert (found.short, found.status) == ("manual.txt", "answered")
    found = documents_that_say([LEASE, LETTER], "Which document talks about boiler pressure?")
    assert found is not None
    assert (found.short, found.status) == ("lease.txt", "unsure")
    assert found.text.startswith("Perhaps: 1 found")


def test_only_what_is_read_of_a_document_counts() -> None:
    part = Document("a.txt", LEASE.text, parts=((0, 23),))
    assert documents_that_say([part, LETTER], "Which file mentions the boiler?") is None


def test_it_is_left_to_the_reading_where_nothing_is_said() -> None:
    assert documents_that_say([LEASE, LETTER], "Which file mentions penguins?") is None
    assert documents_that_say([LEASE], "Which file mentions the boiler?") is None
    assert documents_that_say([LEASE, LETTER], "Which file mentions it?") is None


def test_a_long_sentence_is_cut() -> None:
    long = Document("long.txt", "The boiler " + "runs and " * 100 + "stops.")
    found = documents_that_say([long, LETTER], "Which file mentions the boiler?")
    assert found is not None
    assert "runs …" in found.text or "and …" in found.text
    assert len(found.text) < 400


def test_what_is_shown_of_a_long_sentence_has_the_word() -> None:
    row = "| House | Note\n" + "".join(f"{n} | It {'runs and ' * 9}stops.\n" for n in range(9)) + "9 | boiler\n"
    for text in ("It " + "runs and " * 100 + "leads to the boiler, and then " + "on and " * 50 + "stops.", row):
        found = documents_that_say([Document("long.txt", text), LETTER], "Which file mentions the boiler?")
        assert found is not None
        assert "boiler" in found.text
        assert len(found.text) < 400
