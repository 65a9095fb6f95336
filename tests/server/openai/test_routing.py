"""What of a conversation is a document, and what is the question."""

from __future__ import annotations

import time

import pytest

from wim_edge.answer.judged import NOT_SO_FAR
from wim_edge.documents import Document
from wim_edge.errors import InvalidRequestError
from wim_edge.followup import Turn
from wim_edge.server.openai import routing
from wim_edge.server.openai.routing import MessageTurn, RoutedRequest, as_request, find_question

PLAIN = "The licence covers the software. It was written in 2007 by the foundation. " * 60
LICENCE = f"A LICENCE\nVersion 3\n\n{PLAIN}\n\n{PLAIN}\n\nRead the rest at the foundation's address."
HEAD = f"What is a licence?\n\n{PLAIN}\n\nRead the rest there."
FILE = Document("contract", "The tenant pays.")
REST, END = "the message", "the message's end or head"
Q = "Who is protected by this License?"


def request(*messages: tuple[str, str | list[str | Document]], read: bool | None = None) -> RoutedRequest:
    turns = []
    for role, content in messages:
        parts = [content] if isinstance(content, str) else content
        turns.append(MessageTurn(role, tuple(parts)))
    return as_request(turns, lambda text: len(text) // 4, read=read)


def test_what_becomes_of_messages() -> None:
    def count(text: str) -> int:
        return len(text) // 4

    long = "A sentence of the text. " * 400
    turns = [
        MessageTurn("system", ("Be brief.",)),
        MessageTurn("user", (long,)),
        MessageTurn("assistant", ("Yes?",)),
        MessageTurn("user", ("Who is it?", Document("d", "words"))),
    ]
    found = as_request(turns, count, read=None)
    assert [document.name for document in found.documents] == ["message", "d"]
    assert (found.asked.question, found.left_out) == ("Who is it?", 2)
    assert as_request(turns[:2], count, read=False).messages == [("system", "Be brief."), ("user", long)]
    asked = as_request(turns[-1:], count, read=None, asks_library=True)
    assert (asked.asked.question, asked.messages) == ("Who is it?", [])
    short = [MessageTurn("user", ("Who is it?",))]
    assert as_request(short, count, read=None).messages == [("user", "Who is it?")]
    found = as_request(short, count, read=None, asks_library=True)
    assert (found.asked.question, found.messages, found.documents) == ("Who is it?", [], [])
    with pytest.raises(InvalidRequestError, match="no question"):
        as_request([MessageTurn("user", (Document("d", "words"),))], count, read=None)
    with pytest.raises(InvalidRequestError, match="not the user's"):
        as_request([], count, read=None)


@pytest.mark.parametrize(
    ("messages", "question", "source", "unsure", "document"),
    [
        # A system message asks of the text: cat file | llm -s "..."
        ([("system", Q), ("user", LICENCE)], Q, "the system message", False, LICENCE),
        ([("system", f"You are a helpful assistant. {Q}"), ("user", LICENCE)], Q, "the system message", False, LICENCE),
        # Behind the text, before it, in a line of its own or at its end
        ([("user", f"{LICENCE}\n\n{Q}")], Q, "the last paragraph", False, LICENCE),
        ([("user", f"{Q}\n\n{LICENCE}")], Q, "the first paragraph", False, LICENCE),
        ([("user", f"{LICENCE}\n{Q}")], Q, "the last line", False, LICENCE),
        ([("user", f"{Q}\n{LICENCE}")], Q, "the first line", False, LICENCE),
        ([("user", f"{PLAIN}{Q}")], Q, "the last sentence", False, PLAIN.strip()),
        ([("user", f"{LICENCE}\n\nQ: {Q}")], Q, "the last paragraph", False, LICENCE),
        ([("user", f"{LICENCE}\n\nWer ist der Autor?")], "Wer ist der Autor?", "the last paragraph", False, LICENCE),
        ([("system", "You are a helpful assistant."), ("user", f"{LICENCE}\n\n{Q}")], Q, "the last paragraph", False,
         LICENCE),
        ([("system", Q), ("user", f"How to begin with it\n\n{LICENCE}")], Q, "the system message", False,
         f"How to begin with it\n\n{LICENCE}"),
        # In a part of its own, or in an earlier message
        ([("user", [LICENCE, Q])], Q, REST, False, LICENCE),
        ([("user", [Q, LICENCE])], Q, REST, False, LICENCE),
        ([("user", LICENCE), ("user", Q)], Q, REST, False, LICENCE),
        ([("user", LICENCE), ("assistant", "What of it?"), ("user", Q)], Q, REST, False, LICENCE),
        ([("user", Q), ("assistant", "Send the text."), ("user", LICENCE)], Q, "an earlier message", False, LICENCE),
        ([("user", [FILE, "Who pays?"])], "Who pays?", REST, False, FILE.text),
        ([("system", "Who pays?"), ("user", [FILE])], "Who pays?", "the system message", False, FILE.text),
        ([("system", "Who pays?"), ("user", [FILE, "Here is the contract."])], "Who pays?", "the system message", False,
         FILE.text),
        ([("system", "Be brief."), ("user", [FILE, "notice period"])], "notice period", REST, False, FILE.text),
        ([("user", [FILE]), ("assistant", "Yes?"), ("user", "the costs")], "the costs", REST, False, FILE.text),
        # What several ask, or none with a mark, is taken as unsure
        ([("user", f"{LICENCE}\n\nTell me who paid.")], "Tell me who paid.", END, True, LICENCE),
        ([("user", f"Summarize the text.\n\n{PLAIN}\n\n{PLAIN}")], "Summarize the text.", END, True,
         f"{PLAIN}\n\n{PLAIN}".strip()),
        ([("system", Q), ("user", HEAD)], "What is a licence?", "the first paragraph", True,
         HEAD.removeprefix("What is a licence?\n\n")),
        ([("user", f"{HEAD}\n\n{Q}")], Q, "the last paragraph", True, HEAD),
        ([("user", LICENCE)], "Read the rest at the foundation's address.", END, True,
         LICENCE.rpartition("\n\n")[0]),
        ([("system", "Be brief."), ("user", PLAIN)], "It was written in 2007 by the foundation.", END, True,
         PLAIN.strip().removesuffix("It was written in 2007 by the foundation.").strip()),
    ],
)  # fmt: skip
def test_where_the_question_is(
    messages: list[tuple[str, str | list[str | Document]]], question: str, source: str, unsure: bool, document: str
) -> None:
    found = request(*messages)
    assert (found.asked.question, found.asked.source, found.asked.unsure) == (question, source, unsure)
    assert [one.text for one in found.documents] == [document.strip()]


def test_a_question_that_is_given_is_not_looked_for() -> None:
    turns = [MessageTurn("user", (f"{LICENCE}\n\nIs it free?",))]
    found = as_request(turns, lambda text: len(text) // 4, read=None, question="Summarize this.")
    assert (found.asked.question, found.asked.unsure) == ("Summarize this.", False)
    assert [one.text for one in found.documents] == [f"{LICENCE}\n\nIs it free?"]
    turns = [MessageTurn("user", (LICENCE, "Answer in French."))]
    beside = as_request(turns, lambda text: len(text) // 4, read=None, question="Is it free?")
    assert beside.left_out == 1


def test_a_follow_up_comes_with_the_turn_before_it() -> None:
    first = ("user", f"{LICENCE}\n\nWhat were the costs in 2023?")
    found = request(first, ("assistant", "4 million.\n\n“The costs were 4 million.”"), ("user", "and in 2022?"))
    assert (found.asked.question, found.after) == ("and in 2022?", Turn("What were the costs in 2023?", "4 million"))
    assert [one.text for one in found.documents] == [LICENCE]  # as when it was asked first: it is known
    found = request(first, ("assistant", "Perhaps: 4 million.\n\n“…”"), ("user", "why?"))
    assert (found.asked.question, found.after) == ("why?", Turn("What were the costs in 2023?", "4 million"))
    assert request(first).after is None
    apart = [("system", "What were the costs in 2023?"), ("user", LICENCE), ("assistant", "4 million.")]
    assert request(*apart, ("user", "and in 2022?")).after == Turn("What were the costs in 2023?", "4 million")


def test_a_short_conversation_is_no_question_of_a_text() -> None:
    assert request(("system", Q), ("user", "Hello.")).messages == [("system", Q), ("user", "Hello.")]
    assert request(("user", "Who is it?"), read=True).documents == []


def test_results_of_tools_are_no_questions_and_no_replies() -> None:
    called = [("user", "Who pays?"), ("assistant", 'find({"what": "who pays"})'), ("tool", "the tenant?")]
    assert request(*called).messages == [*called[:2], ("user", "the tenant?")]
    found = request(*called[:2], ("tool", f"{LICENCE}\n\n{Q}"))
    assert (found.asked.question, [one.text for one in found.documents]) == ("Who pays?", [f"{LICENCE}\n\n{Q}"])
    found = request(("user", [FILE, "Who pays?"]), *called[1:], ("assistant", "The tenant."), ("user", "and in 2022?"))
    assert (found.asked.question, found.after) == ("and in 2022?", Turn("Who pays?", "The tenant"))
    with pytest.raises(InvalidRequestError, match="no message is the user's"):
        request(("tool", "the tenant"))


@pytest.mark.parametrize("text", ["Who?", "¿Quién?", "谁是谁？", "من؟", "Is it? *", "**Why?**"])
def test_what_asks(text: str) -> None:
    assert routing.asks(text)


@pytest.mark.parametrize("text", [
    "", "Hello.", "When asked, be brief.", "How so", "Be brief.", "You are one.", "Who? " * 200, "Version 3, 2007",
    "int mills = 3;",
])
def test_what_does_not_ask(text: str) -> None:
    assert not routing.asks(text)


def test_parts_of_an_answer() -> None:
    assert routing.short_answer("Perhaps: Anna.\n\n“Anna signed.”") == "Anna"
    assert routing.short_answer("The text does not seem to say.\n\nNearest: x") == ""
    assert routing.short_answer("The text may not say this.\n\nPerhaps here: x") == ""
    assert routing.short_answer(f"{NOT_SO_FAR}\n\nNearest: x") == ""
    assert routing.asking_part("Be brief. Who signed? Answer in German.") == "Who signed?"
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
    body, question = routing.split_question("Ab c\n" * 800_000 + "Who is it?")
    assert time.process_time() - begun < 5
    assert question.endswith("Who is it?")
    assert len(body) + len(question) > 3_999_000
    assert routing.split_question("One. Two is it. Who may end it?")[1] == "Who may end it?"
    assert routing.split_question("a" * 5000) == ("a" * 4400, "a" * 600)
    message = MessageTurn("user", ("word " * 9000 + "Why?",))
    found = as_request([message], lambda text: len(text.split()), read=None)
    assert found.asked.question.endswith("Why?")
