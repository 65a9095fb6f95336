"""The words that may answer, the one score that each has, and rows and paragraphs that are read again alone."""

from __future__ import annotations

import pytest

from tests.reading.mill import MILL, SURE, TABLE, ask
from wim_edge import Decision, Document, Runtime, Settings, events
from wim_edge.answer.candidates import MAX_ROWS, WEIGHTS, Terms, key
from wim_edge.documents.units import rows
from wim_edge.reading.pointing import RowRead
from wim_edge.testing import FakeModel


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


def test_the_rows_of_a_table_are_candidates_though_only_its_head_is_read() -> None:
    names = ["Ada", "Bert", "Cleo", "Dora", "Emil", "Finn", "Gerd", "Hugo"]
    head = "| person | what is the room number in the house |\n| --- | --- |\n"
    text = head + "".join(f"| {name} Tindall | {10 + n} |\n" for n, name in enumerate(names))
    settings = Settings(pattern="wim-shallow", prose=False, save=False, segment_tokens=64)
    model = FakeModel(lambda prompt: "17" if "Hugo" in prompt else "nobody")
    with Runtime(settings, model=model) as runtime:
        runtime._loaded.support = SURE
        question = "What is the room number in the house of Hugo?"
        answer = runtime.ask(Document("t", text), question, on_margin=lambda _: Decision.ANSWER)
    assert (answer.read_segments, answer.segments > 2, answer.short) == (1, True, "17")
    assert answer.quotes[0].text == "| Hugo Tindall | 17 |"
    first = answer.sources[0]
    assert text[slice(*first.chars)].count("Hugo") == 1


def test_words_that_differ_in_punctuation_alone_say_the_same() -> None:
    assert key("The Mill,") == key("the mill") != key("a mill")
    assert key("€") == "€"


def read(text: str) -> list[RowRead]:
    model = FakeModel(lambda prompt: "14" if "Hugo" in prompt else "nobody")
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=model) as runtime:
        runtime.ask(Document("t", text), "Which room is Hugo in?")
        session = runtime._session
        reading = session.reading
        before, live = len(reading.cache.sequence), len(model.contexts[0].live)
        found = list(reading.read_rows([(0, row) for row in rows(Document("t", text))], 600))
        assert (len(reading.cache.sequence), len(model.contexts[0].live)) == (before, live)
    return found


def test_each_cell_that_holds_something_is_rated() -> None:
    found = read(TABLE)
    assert [[n for n, _ in row.cells] for row in found] == [[0, 1], [0, 1]]
    assert all(rated <= 0 for row in found for _, rated in row.cells)
    best = max(((rated, row.row.texts[n]) for row in found for n, rated in row.cells))
    assert best[1] == "14"


@pytest.mark.parametrize("n", [1, 2, 3, MAX_ROWS + 1])
def test_as_many_rows_are_read_as_are_given(n: int) -> None:
    text = "| Name | Room |\n| --- | --- |\n" + "".join(f"| Hugo {k} | {k} |\n" for k in range(n))
    assert len(read(text)) == n


STORY = (
    "Lady Ada sang the hymn, while Maria Matlin put it into signs for the crowd in the hall.\n\n"
    "Nobody else was on the stage, and the band had left long before; the lights went out at ten in the evening."
)


def second(text: str, adapter: bool = False) -> events.AnswerFinished:
    def reply(prompt: str) -> str:
        return "Lady Ada" if "Nobody else" in prompt else "Maria Matlin"

    model = FakeModel(reply)
    model.has_adapter = adapter
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False), model=model) as runtime:
        return runtime.ask(Document("story.txt", text), "Who put the hymn into signs?")


def test_the_paragraph_decides_which_of_two_it_is() -> None:
    assert second(STORY).short == "Maria Matlin"


def test_a_model_with_an_adapter_is_not_asked_again() -> None:
    assert second(STORY, adapter=True).short.startswith("Lady")


def test_what_is_nearly_all_of_its_segment_is_not_read_again() -> None:
    assert second(STORY.replace("\n\n", " ")).short.startswith("Lady")


CAMP = "The camp begins on 4 May.\n\nPlease bring:\n- a tent\n- a mat\n\nWe give you:\n- soup\n- tea\n"


def packed(question: str, whole: str, adapter: bool = True, answer: str = "auto") -> events.AnswerFinished:
    """Asks a model that says ``whole`` to all of the text, and finds that "Please bring:" alone answers a question."""

    def reply(prompt: str) -> str:
        if "- tea" in prompt:
            return "" if prompt.endswith(whole) else whole
        return "it" if "bring:" in prompt and "pack" in prompt else " none"

    model = FakeModel(reply)
    model.has_adapter = adapter
    with Runtime(Settings(pattern="wim-shallow", prose=False, save=False, answer=answer), model=model) as runtime:
        runtime._loaded.support = SURE
        return runtime.ask(Document("camp.txt", CAMP), question)


def test_a_list_whose_introduction_seems_to_answer_is_the_answer() -> None:
    answer = packed("What do I pack?", "mat")
    assert (answer.short, answer.status, answer.quotes[-1].text) == ("a tent; a mat", "answered", "- a mat")
    assert ";" not in packed("To pack?", "mat", adapter=False).short + packed("To pack?", "mat", answer="fact").short
    assert packed("When does it begin?", "May").short == "4 May"
