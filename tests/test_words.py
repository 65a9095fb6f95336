from __future__ import annotations

import pytest

from wim_edge.words import WordIndex, any_of_its_words, scores


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
