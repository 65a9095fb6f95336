from __future__ import annotations

import pytest

from wim_edge import words
from wim_edge.words import WordIndex, any_of_its_words, scores, searchable, with_pairs, without_endings


def test_texts_that_share_words_score_by_their_rarity() -> None:
    texts = ["The ferry sails at noon.", "Harbours are cold.", "The harbour has a ferry.", "Nothing of it."]
    found = scores(texts, "Which ferries call at the harbour?")
    assert max(found, key=lambda n: found[n]) == 2
    assert 3 not in found
    assert all(score > 0 for score in found.values())


def test_scripts_without_spaces_share_characters() -> None:
    found = scores(["犬がいる", "猫が庭にいる", "鳥もいる"], "猫はどこ")
    assert max(found, key=lambda n: found[n]) == 1


@pytest.mark.parametrize("question", ["?!", "", '"', "\0"])
def test_a_question_without_words_matches_nothing(question: str) -> None:
    assert any_of_its_words(question) is None
    assert scores(["a", "b"], question) == {}


@pytest.mark.parametrize("question", ['a" OR "b', "NEAR(a b)", "a* NOT b", "text:a", "a\0b"])
def test_a_question_is_no_expression(question: str) -> None:
    assert set(scores(["alpha a", "beta b", "gamma"], question)) <= {0, 1}


def test_common_words_count_where_there_are_no_others() -> None:
    assert any_of_its_words("What is the ferry?") == '"ferry"'
    assert any_of_its_words("What is it?") == '"What" OR "is" OR "it"'


def test_an_index_answers_many_questions() -> None:
    with WordIndex(["one two", "two three"]) as index:
        assert set(index.scores("one")) == {0}
        assert set(index.scores("three")) == {1}


@pytest.mark.parametrize(("text", "question"), [
    ("كتب الطلاب رسائلهم", "رسائل الطالب"), ("Старые корабли стояли у причалов", "Где стоит корабль?"),
    ("特斯拉的专利恢复了", "专利是什么时候恢复的"), ("배가 항구에 있다", "항구"), ("เรืออยู่ที่ท่า", "ท่าเรือ"),
])  # fmt: skip
def test_words_of_other_scripts_are_found_by_their_stems_or_neighbours(text: str, question: str) -> None:
    assert set(scores(["nothing of it", text], question)) == {1}


def test_english_is_searched_as_it_is_written() -> None:
    assert searchable("The harbour's lamps, 12 of them.") == "The harbour's lamps, 12 of them."
    assert searchable("naïve café") == "naïve café"
    assert searchable("Ａ－１７ oﬃcial m²") == "A-17 official m2"


def test_neighbours_are_a_pair() -> None:
    assert with_pairs("Lifts 4, 12") == {"lift", "4", "12", "lift 4", "4 12"}


def test_words_without_endings_are_the_neighbours_of_a_script_without_blanks() -> None:
    assert without_endings("专利恢复") & without_endings("恢复了专利") == {"专利", "恢复"}


def test_a_tokenizer_tells_whether_question_and_text_are_in_two_languages() -> None:
    english = "How much is the rent of this flat? The rent of this flat is 450 a month and has to be paid by noon."
    german = "Wie hoch ist die Miete? Der Mieter zahlt monatlich eine Miete von 450 Euro bis zum dritten Tag."

    def tokenize(text: str) -> list[str]:
        return [part for word in text.split() for part in ([word] if word in english.lower() else word)]

    for text, other in ((english, german), (german, english)):
        assert words.are_two_languages(text.partition("?")[0], other, tokenize)
        assert not words.are_two_languages(text.partition("?")[0], text, tokenize)
    assert not words.are_two_languages("Miete?", english, tokenize)
