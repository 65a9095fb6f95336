"""Follow-up questions: a question that refers to the turn before is restated, so that it can stand alone, by a model
that writes (`Restater`). Without one, or if it takes no word from the turn before, this turn is put in front of a
question of at most three words, all short: longer words name a subject. A model whose short answer is shown first may
take none. A few words without a question mark ("notice period") are a search, and stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from wim_edge.answer.writer import LoadsModel
from wim_edge.engine.memory_estimate import padded
from wim_edge.engine.protocols import Snapshot
from wim_edge.engine.sampling import Sampler
from wim_edge.library import common_prefix_length
from wim_edge.reading.chat import Message, conversation
from wim_edge.reading.control import Control
from wim_edge.reading.generate import Generation, Grounding
from wim_edge.words import without_endings

WHY = "it refers to the question before it"
"""The reason that is shown for a restated question."""
_MAX_WORDS, _MAX_LETTERS = 3, 13
"""The most words, and the most letters in all, of a question that is taken for a follow-up (`goes_on`)."""
_MARKS = ("?", "？", "؟")
_MAX_ANSWER = 200
"""The most characters of an answer that is put into a question or prompt."""
_MAX_RESTATED = 64
"""The most tokens of a restated question."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:['’]\w+)?")
"""A word; in scripts without blanks, one or two characters."""
_SYSTEM = "You rewrite questions so that they can be understood without the conversation."
_REQUEST = "Question: {}\nAnswer: {}\nNext question: {}\n\nWrite the next question so that it stands alone."
_EXAMPLES = (
    ("Who built the tower?", "Gustave Eiffel", "When did he die?", "When did Gustave Eiffel die?"),
    ("What is the price of the red bike?", "300 euros", "Who is the mayor?", "Who is the mayor?"),
    ("How many rooms has the hotel?", "40", "and the villa?", "How many rooms has the villa?"),
    ("Which firm built the dam?", "Holt & Sons", "Where is it based?", "Where is Holt & Sons based?"),
    ("Wann wurde die Schule gebaut?", "1931", "und von wem?", "Von wem wurde die Schule gebaut?"),
    ("What is the fee for adults?", "9 pounds", "And children under six?", "What is the fee for children under six?"),
    ("Who leads the choir?", "Anna Brandt", "Since when?", "Since when does Anna Brandt lead the choir?"),
    ("What is the deposit?", "200 euros", "Give me an overview", "Give me an overview"),
    ("What is the fee for adults?", "9 pounds", "When does the show begin?", "When does the show begin?"),
)
"""Examples: question, answer, next question, next question restated. Three of them already stand alone."""


@dataclass(frozen=True)
class Turn:
    """A question in a conversation, as it was asked. ``short``: the answer in a few words; may be empty."""

    question: str
    short: str = ""


def completed(question: str, before: Turn | None) -> str:
    """Returns a question, with the turn before it in front if the question is a short follow-up (`goes_on`)."""
    if before is None or not goes_on(question):
        return question
    asked, short = before.question.strip(), " ".join(before.short.split())
    shown = f"{asked} ({short})" if short and len(short) <= _MAX_ANSWER else asked
    return f"{shown} {question.strip()}"


def last_turn(turns: Iterable[Turn]) -> Turn | None:
    """Returns the last turn, with its question `completed` by the turns before it; None without turns."""
    last = None
    for turn in turns:
        last = Turn(completed(turn.question, last), turn.short)
    return last


def goes_on(question: str) -> bool:
    """Returns whether a question has a question mark and so few, short words that it must refer to the turn before."""
    words = _WORD.findall(question)
    return question.rstrip().endswith(_MARKS) and len(words) <= _MAX_WORDS and len("".join(words)) <= _MAX_LETTERS


class Restater:
    """Restates questions with a model that writes. The examples of the prompt are evaluated once and kept."""

    def __init__(self) -> None:
        self._kept: dict[str, Snapshot] = {}
        """{fingerprint of a context: state of the sequence after the prompt's examples}."""

    def restated(self, question: str, before: Turn, writer: LoadsModel | None, control: Control) -> str:
        """Returns the question as the writer restates it, with words of the turn before, so that it stands alone.
        Without a ``writer``, for a base model, or if the writer takes no such words, returns the result of `completed`;
        but a writer whose short answer is shown first may take none. Raises Interrupted, ModelError, CapacityError."""
        model = writer.model() if writer is not None else None
        if writer is None or model is None or model.info.chat_template is None:
            return completed(question, before)
        examples: list[Message] = [("system", _SYSTEM)]
        for asked, said, following, alone in _EXAMPLES:
            examples += [("user", _REQUEST.format(asked, said, following)), ("assistant", alone)]
        request = _REQUEST.format(before.question, before.short[:_MAX_ANSWER], question)
        tokens = conversation(model, [*examples, ("user", request)], writer.chat_variables)
        known = tokens[: common_prefix_length(tokens, conversation(model, examples, writer.chat_variables))]
        context = writer.context(padded(len(tokens) + _MAX_RESTATED))
        control.add(context)
        with context.sequence() as sequence:
            kept = self._kept.get(context.fingerprint)
            if kept is not None and kept.tokens == tuple(known):
                sequence.restore(kept)
            else:
                sequence.append(known)
                self._kept[context.fingerprint] = sequence.snapshot()
            sequence.append(tokens[len(known) :])
            grounding = Grounding(model, [before.question, before.short, question])
            restated = Generation(model, sequence, Sampler(), _MAX_RESTATED, stops=("\n",), grounding=grounding)
            text = "".join(restated.pieces()).strip()
        words = without_endings(f"{before.question} {before.short}")
        taken = words & without_endings(text) - without_endings(question)
        if text and restated.finish_reason == "stop":
            if taken and text.strip(" .?!").casefold() != before.question.strip(" .?!").casefold():
                return text
            if not taken and writer.resolved().settings.short_answer == "writer":
                return question
        return completed(question, before)
