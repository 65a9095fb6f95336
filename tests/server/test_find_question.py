"""Where the question of a request stands: a table of the shapes in which people and programs send one."""

from __future__ import annotations

import time

import pytest

from wim_edge.server.find_question import asking_part, asks, find_question, split_question
from wim_edge.server.openai.routing import MessagePart, MessageTurn, as_request, short_answer


@pytest.mark.parametrize("text", ["Who?", "¿Quién?", "谁是谁？", "من؟", "Is it? *", "**Why?**"])
def test_what_asks(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize("text", [
    "", "Hello.", "When asked, be brief.", "How so", "Be brief.", "You are one.", "Who? " * 200, "Version 3, 2007",
    "int mills = 3;",
])
def test_what_does_not_ask(text: str) -> None:
    assert not asks(text)


def test_parts_of_an_answer() -> None:
    assert short_answer("Perhaps: Anna.\n\n“Anna signed.”") == "Anna"
    assert short_answer("The document does not seem to say.\n\nNearest: x") == ""
    assert short_answer("The document may not say this.\n\nPerhaps here: x") == ""
    assert asking_part("Be brief. Who signed? Answer in German.") == "Who signed?"
    assert find_question("Who is it?").body == ""


MILLS = "\n\n".join(f"Mill {n} stands on a hill. Question: which one? It was built in {n}." for n in range(40))


@pytest.mark.parametrize("prompt", [
    "Context information is below.\n-----\n{mills}\n-----\nGiven the context information, answer the "
    "query.\nQuery: Mill 7 is how old?\nAnswer: ",
    "Use these pieces of context to answer the question at the end.\n\n{mills}\n\nQuestion: Mill 7 is how old?\n"
    "Helpful Answer:",
    "Use three sentences maximum.\nQuestion: Mill 7 is how old? \nContext: {mills} \nAnswer:",
    "### Task:\nRespond.\n\n<context>\n{mills}\n</context>\n\n<user_query>\nMill 7 is how old?\n</user_query>\n",
    "Question: Who?\n\n{mills}\nQuestion: Mill 7 is how old?\nAnswer:",
    "<query>Who?</query>\n\n{mills}\n<query>Who?</query>\nQuestion: Mill 7 is how old?\nAnswer:",
])  # fmt: skip
def test_prompts_of_frameworks_mark_the_question(prompt: str) -> None:
    found = find_question(prompt.format(mills=MILLS))
    assert (found.question, found.unsure) == ("Mill 7 is how old?", False)
    assert MILLS in found.body
    assert "Mill 7 is how old?" not in found.body


@pytest.mark.parametrize("text", [
    f"{MILLS}\nQuestion: Who?\nAnswer: Ada.\n\nWhere does mill 7 stand?", f"{MILLS}\n\nWhere does mill 7 stand?",
    f"{MILLS}\n<question>Who?</question>\n\nWhere does mill 7 stand?",
    f"<query>Who?</query>\n{MILLS}\n\nWhere does mill 7 stand?",
])  # fmt: skip
def test_what_is_quoted_in_a_text_marks_no_question(text: str) -> None:
    assert find_question(text).question == "Where does mill 7 stand?"


def test_a_book_of_short_lines_is_split_at_once() -> None:
    begun = time.process_time()
    body, question = split_question("Ab c\n" * 800_000 + "Who is it?")
    assert time.process_time() - begun < 5
    assert question.endswith("Who is it?")
    assert len(body) + len(question) > 3_999_000
    assert split_question("One. Two is it. Who may end it?")[1] == "Who may end it?"
    message = MessageTurn("user", (MessagePart("word " * 9000 + "Why?"),))
    found = as_request([message], lambda text: len(text.split()), read=None)
    assert found.question.endswith("Why?")


def test_the_question_of_a_long_message() -> None:
    long = "A sentence of the text. " * 40
    assert split_question(f"{long}\n\n{long}\n\nWho is it?\n") == (f"{long}\n\n{long}".strip(), "Who is it?")
    assert split_question(f"Who is it?\n\n{long}") == (long.strip(), "Who is it?")
    body, question = split_question(long + "Who is it?")
    assert question == "Who is it?"
    assert body == long.strip()
    assert split_question("a" * 5000) == ("a" * 4400, "a" * 600)
    assert split_question("Who is it?") == ("", "Who is it?")
