"""The parts of an answer: what was found, what carries it, and that nothing was."""

from __future__ import annotations

import pytest

from wim_edge import Document, Runtime, Settings, events
from wim_edge.documents.document import Mark
from wim_edge.support import Evidence, SupportWeights
from wim_edge.testing import FakeModel
from wim_edge.wim.answer_parts import MAY_NOT_SAY, NOT_SAID, Answer, unsupported

MILL = "The mill stood by the river. Dr. A. Brandt bought it in 1921. She paid 4,000 crowns for the old mill."
SURE, UNSURE, NONE = (SupportWeights(bias, 0, 0, 0, 0) for bias in (3, -0.5, -3))


def ask(
    text: str | Document, question: str, says: str, support: SupportWeights = SURE, **settings: object
) -> events.AnswerFinished:
    def reply(prompt: str) -> str:
        return says if "Answer with a few words" in prompt else "Dr. Brandt paid 5,000 crowns."

    document = Document("mill.txt", text) if isinstance(text, str) else text
    chosen = Settings(pattern="wim-shallow", prose=False, save=False).with_changes(**settings)
    with Runtime(chosen, model=FakeModel(reply)) as runtime:
        runtime._loaded.support = support
        return runtime.ask(document, question)


def test_a_fact_is_a_run_of_the_text_with_its_sentence() -> None:
    answer = ask(MILL, "Who bought the mill?", "Dr. A. Brandt")
    assert (answer.status, answer.short) == ("answered", "Dr. A. Brandt")
    assert answer.span is not None
    assert MILL[slice(*answer.span)] == answer.short
    (quote,) = answer.quotes
    assert quote.text == MILL[slice(*quote.chars)] == "Dr. A. Brandt bought it in 1921."
    assert answer.text == f"Dr. A. Brandt\n\n“{quote.text}”"
    assert answer.usage.decoded_tokens > 0


def test_a_short_answer_that_is_the_whole_line_is_not_said_twice() -> None:
    assert ask("Total 1,537 EUR", "total?", "Total 1,537 EUR").text == "Total 1,537 EUR"


def test_a_long_answer_is_said_in_its_quotation_alone() -> None:
    text = "Nobody asked. As it says, the trust pays for the wheel, the oak, two stones and the roof. Nobody knew."
    answer = ask(text, "What does the trust pay for?", "the wheel, the oak, two stones and the roof")
    assert len(answer.short.split()) >= 8
    assert answer.text.strip("“”") == answer.quotes[0].text


def test_half_a_code_is_widened_to_all_of_it() -> None:
    answer = ask("Invoice number: BW-2024-00731\nOrder: BW-1999-11111\n", "invoice number", "2024")
    assert answer.short == "BW-2024-00731"


def test_what_may_be_another_is_said_to_be_unsure() -> None:
    answer = ask(MILL, "Who bought the mill?", "Dr. A. Brandt", UNSURE)
    assert (answer.status, answer.short) == ("unsure", "Dr. A. Brandt")
    assert answer.text.startswith("Perhaps: Dr. A. Brandt\n")


def test_what_is_not_there_is_said_with_the_nearest_passage() -> None:
    answer = ask(MILL, "What is the telephone number of Brandt?", "1921", NONE)
    assert (answer.status, answer.short, answer.span) == ("not_found", "", None)
    assert answer.text == f"{NOT_SAID}\n\nNearest: “{answer.quotes[0].text}”"


def test_where_the_nearest_passage_may_answer_the_words_are_weaker() -> None:
    answer = ask(MILL, "What is the telephone number of Brandt?", "1921", SupportWeights(-1.5, 0, 0, 0, 0))
    assert answer.status == "not_found"
    assert answer.text.startswith(f"{MAY_NOT_SAY}\n\nPerhaps here: “")


def test_a_question_in_two_parts_is_answered_in_two() -> None:
    def reply(prompt: str) -> str:
        question = prompt.rsplit("Question: ", 1)[-1]
        return "1921" if question.startswith("When") else "Dr. A. Brandt"

    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=FakeModel(reply)) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(Document("mill.txt", MILL), "Who bought the mill, and when?")
    lines, quoted = answer.text.split("\n\n")
    assert lines == "Who bought the mill: Dr. A. Brandt\nwhen: 1921"
    assert quoted == "“Dr. A. Brandt bought it in 1921.”"
    assert answer.short == "Dr. A. Brandt; 1921"
    assert answer.span is not None
    assert MILL[slice(*answer.span)] == "Dr. A. Brandt"
    assert len(answer.quotes) == 1


def test_of_two_parts_that_are_not_there_neither_is_answered() -> None:
    answer = ask(MILL, "Who sold the mill, and where?", "1921", NONE)
    assert answer.status == "not_found"
    assert answer.text.startswith(NOT_SAID)


def test_a_question_for_yes_or_no_has_the_word_first() -> None:
    answer = ask(MILL, "Did Brandt buy the mill?", "1921")
    assert answer.short in ("Yes", "No")
    assert answer.text.startswith(f"{answer.short}.\n\n“")


@pytest.mark.parametrize(("yes", "affirmed", "denied"), [(1.0, "Yes", "No"), (4.0, "Yes", "Yes"), (-1.0, "No", "No")])
def test_a_sentence_that_says_no_is_hardly_a_yes(
    monkeypatch: pytest.MonkeyPatch, yes: float, affirmed: str, denied: str
) -> None:
    monkeypatch.setattr("wim_edge.wim.answer_parts._yes", lambda reading, found: yes)
    assert ask("Cars are carried.", "Are cars carried?", "Cars").short == affirmed
    assert ask("Cars are not carried.", "Are cars carried?", "Cars").short == denied


def test_a_list_has_all_its_items() -> None:
    text = "You need:\n- two eggs\n- a cup of milk\n- some flour\n\nStir all of it for ten minutes.\n"
    answer = ask(text, "List all ingredients", "a cup of milk")
    assert answer.text == "3 found (line 2):\n- two eggs\n- a cup of milk\n- some flour"
    assert answer.short == "two eggs; a cup of milk; some flour"


def test_of_a_table_the_rows_that_share_words_with_the_question() -> None:
    head = "| Name | House | Room |\n| --- | --- | --- |\n"
    text = head + "| Ann | North | 12 |\n| Bert | South | 3 |\n| Cleo | North | 7 |\n"
    answer = ask(text, "Who are the people in the house North?", "Ann")
    assert answer.short == "Ann | North | 12; Cleo | North | 7"


def test_what_one_sentence_lists() -> None:
    text = "Nothing. The owner may keep back: (a) the cost of cleaning; (b) rent, not paid; and (c) keys. So be it."
    answer = ask(text, "What are the things that the owner may keep back?", "rent, not paid", answer="list")
    assert answer.short == "the cost of cleaning; rent, not paid; keys"
    towns = ask("Its partners are Oslo, Bonn and Graz.", "Which towns are its partners?", "Oslo, Bonn and Graz")
    assert towns.text.startswith("3 found:\n- Oslo\n- Bonn\n- Graz")
    assert ask("Its partner is Oslo, so far.", "Which towns are its partners?", "Oslo").short == "Oslo"


def test_one_item_in_the_singular_answers_a_question_in_the_plural() -> None:
    text = "Delivered:\n- Lifejacket, 150 N, adult\n- Sheet, 8 mm\n- Lifejacket, child\n"
    answer = ask(text, "Which lifejackets were bought?", "Sheet", answer="list")
    assert answer.short == "Lifejacket, 150 N, adult; Lifejacket, child"


def test_a_summary_is_the_beginning_and_the_sections() -> None:
    text = f"Costs\n\n{MILL}\n\nTerms\n\nPay within a month of the sale."
    document = Document("mill.txt", text, (Mark(0, section="Costs"), Mark(text.index("Terms"), section="Terms")))
    answer = ask(document, "What is this about?", "river")
    assert answer.quotes[0].text.startswith("The mill stood by the river.")
    assert answer.text.endswith("\n\n- Costs\n- Terms: “Pay within a month of the sale.”")


def test_a_text_that_sums_itself_up_is_told_in_those_words() -> None:
    summed_up = "The mill burned. It is rebuilt."
    parts = {"Minutes": "We met in the hall at noon.", "1. Summary": summed_up, "2. Cost": "It is dear now."}
    text = "\n\n".join(f"{name}\n\n{said}" for name, said in parts.items())
    document = Document("mill.txt", text, tuple(Mark(text.index(name), section=name) for name in parts))
    answer = ask(document, "Summarize this.", "river")
    assert answer.text.startswith("“The mill burned. It is rebuilt.”\n\n- Minutes: “We met in the hall at noon.”")
    assert answer.text.endswith("- 1. Summary\n- 2. Cost: “It is dear now.”")


def test_of_very_many_sections_the_first_are_named() -> None:
    text = "\n\n".join(f"Part {n}\n\nThis is what part {n} says." for n in range(30))
    marks = tuple(Mark(text.index(f"Part {n}\n"), section=f"Part {n}") for n in range(30))
    answer = ask(Document("mill.txt", text, marks), "Summarize this.", "river")
    assert " · Part 19 …\n“This is what part " in " ".join(answer.text.split("\n\n")[-2:]).replace(" “", "\n“")


def test_a_summary_begins_with_the_heading_above_all_others() -> None:
    text = f"# The mill\n\n{MILL}\n\n## Terms\n\nPay within a month of the sale."
    document = Document("mill.md", text, (Mark(0, section="The mill"), Mark(text.index("##"), section="Terms")))
    answer = ask(document, "What is this about?", "river")
    assert answer.text.startswith("The mill\n\n“")
    assert answer.text.endswith("- Terms: “Pay within a month of the sale.”")


def test_a_text_without_sections_is_told_by_a_sentence_of_each_part() -> None:
    filler = "".join(f"Somebody saw a heron there in year {n}. " for n in range(24))
    text = (
        "(c) 2007 The Mill Trust. All rights reserved.\n\nThe trust keeps the old mill. It was founded long ago.\n\n"
        f"{filler}The old mill of the trust has a wheel of oak. {filler}"
    )
    model = FakeModel(lambda prompt: pytest.fail("nothing is to be read"))
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=model) as runtime:
        answer = runtime.ask(Document("mill.txt", text), "What is this about?")
    assert answer.quotes[0].text.startswith("The trust keeps the old mill. It was founded long ago.")
    assert len(answer.quotes) == 5
    assert all(text[slice(*quote.chars)] == quote.text for quote in answer.quotes)
    assert [quote.chars for quote in answer.quotes] == sorted(quote.chars for quote in answer.quotes)
    assert (answer.read_segments, answer.unread_probability, answer.finish_reason) == (0, None, "stop")


def test_the_commonest_words_are_counted() -> None:
    answer = ask("1. lion 2. ant 3. lion 4. bee 5. ant 6. lion", "What are the 2 most common words in the list?", "ant")
    assert answer.short == "lion, ant"


def test_a_model_that_writes_has_the_short_answer_beside_and_what_is_not_there_is_named() -> None:
    answer = ask(MILL, "What did Brandt pay?", "4,000 crowns", prose=True)
    assert answer.text == "Dr. Brandt paid 5,000 crowns."
    assert answer.short == "4,000 crowns"
    assert answer.unsupported == ("5,000",)


def test_a_model_that_writes_does_not_write_what_is_not_there() -> None:
    absent = ask(MILL, "What is the telephone number of Brandt?", "1921", NONE, prose=True)
    assert (absent.status, absent.short, absent.unsupported) == ("not_found", "", ())
    assert absent.text == f"{NOT_SAID}\n\nNearest: “{absent.quotes[0].text}”"
    unsure = ask(MILL, "What did Brandt pay?", "4,000 crowns", UNSURE, prose=True)
    assert (unsure.status, unsure.text) == ("unsure", "Dr. Brandt paid 5,000 crowns.")
    assert ask(MILL, "Why did Brandt pay so much?", "4,000 crowns", NONE, prose=True).text.startswith("Dr. Brandt")


def test_what_has_not_the_form_that_is_asked_for_is_no_answer() -> None:
    question = "How many steps has it?"
    near = ask("Forty steps lead to the river.", question, "the river")
    assert near.text.startswith("Perhaps: Forty\n\n“Forty steps")
    answer = ask("The mill stood by the river.", question, "by the river")
    assert answer.status == "not_found"
    assert answer.text.startswith(MAY_NOT_SAY)
    assert ask("It has forty steps by the river.", question, "forty").status == "answered"


def test_marks_of_bold_words_are_not_shown() -> None:
    answer = ask("The fee is **4,000 crowns** a year.", "What is the fee?", "**4,000 crowns**")
    assert answer.text == "4,000 crowns\n\n“The fee is 4,000 crowns a year.”"
    assert answer.quotes[0].text == "The fee is **4,000 crowns** a year."


@pytest.mark.parametrize(
    ("text", "missing"),
    [("It cost 4000 crowns in 1921.", ()), ("Call 555-1234 or mail a@b.example.", ("555-1234", "a@b.example")),
     ("4,000 and 4.5", ("4.5",)), ("No number at all", ())],
)  # fmt: skip
def test_numbers_and_addresses_that_stand_nowhere(text: str, missing: tuple[str, ...]) -> None:
    assert unsupported(text, [MILL, "in 1921"]) == missing


def test_support_is_a_probability_of_absolute_evidence() -> None:
    weights = SupportWeights(bias=-1, likelihood=0.1, answers=1, run=0.5, missing=-2)
    low = weights.support(Evidence(0, -4, -5, 1))
    high = weights.support(Evidence(30, 4, -0.1, 0))
    assert 0 < low < 0.1 < 0.9 < high < 1
    assert SupportWeights.from_mapping({}) == SupportWeights()
    with pytest.raises(ValueError, match="support takes"):
        SupportWeights.from_mapping({"bias": 1})


def test_a_summary_holds_sentences_alone_and_none_twice() -> None:
    table = "| Name | Role |\n| --- | --- |\n| Ann | chair |\n"
    text = f"Dogs are let in. The fee is due on 1 April.\n\n{table}\nAll rights reserved.\n"
    assert ask(text, "What is this about?", "fee").text == "“Dogs are let in. The fee is due on 1 April.”"
    document = Document("club.md", "The fee is due on 1 April.\n\n## Contacts\n\nAnn Bell is the chair.", ())
    assert "#" not in ask(document, "What is this about?", "fee").text
    assert ask("The gate opens at nine. " * 60, "Summarize this.", "gate").text == "“The gate opens at nine.”"
    assert ask("... !!! ??? ---", "what", "!", answer="summary").status == "not_found"


def test_what_a_sentence_denies_is_no_sure_answer() -> None:
    text = "The hall opens at nine. The museum does not open on Mondays."
    assert ask(text, "When does the museum open?", "Mondays").text.startswith("Perhaps: Mondays\n")
    assert ask(text, "When does the museum not open?", "Mondays").text.startswith("Mondays\n")
    assert ask("Members pay no more than 5 crowns.", "What do members pay?", "5 crowns").status == "answered"


def test_rows_that_have_the_most_alike_are_all_told() -> None:
    text = "| Room | Seats |\n| --- | --- |\n| Oak | 40 |\n| Elm | 120 |\n| Ash | 120 |\n"
    answer = ask(text, "Which room has the most seats?", "Oak")
    assert answer.text == "2 found:\n- Elm (line 4)\n- Ash (line 5)"
    assert answer.span is None


def test_a_sentence_that_lists_is_told_whole_where_its_beginning_is_open() -> None:
    text = "Read this. We do not cover ski jumping, ski racing, heli-skiing, or skiing off piste. Call us."
    answer = ask(text, "Which kinds of skiing are not covered?", "heli-skiing")
    assert answer.short == "We do not cover ski jumping, ski racing, heli-skiing, or skiing off piste."


def test_of_several_documents_each_item_has_its_place() -> None:
    found = [Document("a.txt", "Ada wrote the report."), Document("b.txt", "Bill wrote the report too.")]

    def reply(prompt: str) -> str:
        return "Ada" if prompt.rfind("Ada wrote") > prompt.rfind("Bill wrote") else "Bill"

    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=FakeModel(reply)) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(found, "List all who wrote the report")
    assert answer.text == "2 found:\n- Ada (a.txt)\n- Bill (b.txt)"
    assert [quote.document for quote in answer.quotes] == ["a.txt", "b.txt"]
    assert answer.read_segments == 2


def test_a_unit_comes_with_its_number() -> None:
    assert ask("For keys of RSA the default is 3072 bits.", "What is the default size?", "bits").short == "3072 bits"
    assert ask("In 2022 Labour won.", "Who won?", "Labour").short == "Labour"


def test_the_source_of_the_answer_comes_first() -> None:
    found = [Document("a.txt", "The mill was sold twice."), Document("b.txt", "Ann Lee bought the mill in May.")]
    with Runtime(
        Settings(pattern="wim-shallow", prose=False, save=False), model=FakeModel(lambda prompt: "Ann Lee")
    ) as runtime:
        runtime._loaded.support = SURE
        answer = runtime.ask(found, "Who bought the mill?")
    assert answer.sources[0].document == answer.quotes[0].document


def test_of_two_names_a_list_has_both() -> None:
    text = "Apologies came from Leonard Voss and Mary Tranter, who were ill."
    assert ask(text, "Which councillors were absent?", "Leonard Voss").short == "Leonard Voss and Mary Tranter"


def test_an_answer_in_parts_from_beside_the_best_passage_stands_when_nothing_better_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "The red team was led by Mary Shaw."
    quote = events.Quote(said, "a.txt", None, None, (0, len(said)))
    answered = Answer("Mary Shaw", short="Mary Shaw", quotes=(quote,), support=0.9)
    monkeypatch.setattr("wim_edge.wim.answer.answer_in_parts", lambda *_: answered)
    found = [Document("a.txt", said), Document("b.txt", "The red team won 12 games.")]
    found += [Document(f"{n}.txt", f"The weather of day {n} was fine.") for n in range(6)]
    question = "Who led the red team, and how many games did the red team win?"
    settings = Settings(pattern="wim-shallow", prose=False, save=False, relevance_threshold=0.99)
    with Runtime(settings, model=FakeModel(lambda prompt: "12")) as runtime:
        first = runtime.ask(found, question)
        told = list(runtime.stream(found, question, read_on=True))
    last = told[-1]
    assert isinstance(last, events.AnswerFinished)
    for answer in (first, last):
        assert [source.document for source in answer.sources] == ["a.txt", "b.txt"]
    assert last.read_segments > first.read_segments
    assert not any(isinstance(event, events.AnswerRevised) for event in told)
