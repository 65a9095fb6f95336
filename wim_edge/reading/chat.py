"""The frame of a prompt: the model's own chat template, cut open where our text goes.

The template is rendered once with marks in place of the system text and the user text, and split at
the marks. The text between them is the template's own and may hold control tokens; the text put in is data
and is tokenized as plain text, so no document and no question can forge a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import Any

from wim_edge.engine.protocols import Model
from wim_edge.errors import InvalidRequestError
from wim_edge.reading.chat_template import TemplateError, rendered

Message = tuple[str, str]
"""A role (system, user, assistant) and a text."""
Render = Callable[[Seq[Message]], str]
_SYSTEM, _USER = "[[wim-edge:system]]", "[[wim-edge:user]]"


@dataclass(frozen=True)
class ChatFormat:
    """The runs of tokens around the system text and the user text of a prompt.

    ``before_system + system text + before_user + user text + after_user``; then the model answers.
    A base model's runs are empty (except for BOS), and its answers end at a blank line.
    """

    is_chat: bool
    before_system: tuple[int, ...]
    before_user: tuple[int, ...]
    after_user: tuple[int, ...]
    system_in_user: bool = False
    """True if the template takes no system text, which then stands at the head of the user text."""
    stops: tuple[str, ...] = ()

    def opening(self, model: Model, system: str) -> list[int]:
        """Returns the tokens up to the beginning of the user text."""
        text = model.tokenize(system)
        if self.system_in_user:
            return [*self.before_system, *self.before_user, *text, *model.tokenize("\n\n")]
        return [*self.before_system, *text, *self.before_user]


def chat_format(model: Model, variables: Mapping[str, Any] | None = None) -> tuple[ChatFormat, str | None]:
    """Returns the format of a model, and a warning if its template could not be used."""
    template = model.info.chat_template
    bos = tuple(model.bos_tokens)
    base = ChatFormat(False, bos, model_newlines(model), (), stops=("\n\n", "\nQuestion:", "\nNote:", "\nAnswer:"))
    if template is None:
        return base, None
    try:
        runs, system_in_user = _cut(template, model.info.bos, model.info.eos, variables or {})
    except TemplateError as error:
        return base, f"the model's chat template cannot be used ({error}); asking in plain text"
    tokens = [model.tokenize(run, special=True) for run in runs]
    if bos and tokens[0][:1] != list(bos) and not (not tokens[0] and tokens[1][:1] == list(bos)):
        tokens[0] = [*bos, *tokens[0]]
    before_system, before_user, after_user = map(tuple, tokens)
    return ChatFormat(True, before_system, before_user, after_user, system_in_user), None


def model_newlines(model: Model) -> tuple[int, ...]:
    """Returns a blank line, as tokens."""
    return tuple(model.tokenize("\n\n"))


def conversation(model: Model, messages: Seq[Message], variables: Mapping[str, Any] | None = None) -> list[int]:
    """Returns a conversation as tokens, up to the model's answer. The texts of messages are data, as everywhere.

    If the template takes no system turn, its text stands at the head of the first user turn. A base model sees
    the turns as lines of plain text. Raises InvalidRequestError for a conversation that the template cannot show.
    """
    template, bos = model.info.chat_template, list(model.bos_tokens)
    if template is None:
        turns = "".join(f"{role.capitalize()}: {text}\n" for role, text in messages)
        return [*bos, *model.tokenize(turns + "Assistant:")]

    def render(marked: Seq[Message]) -> str:
        return rendered(template, marked, model.info.bos, model.info.eos, variables or {})

    shown = [(role, text) for role, text in messages]
    try:
        try:
            runs = _around(render, shown)
        except TemplateError:
            shown = _without_system(shown)
            runs = _around(render, shown)
    except TemplateError as error:
        raise InvalidRequestError(
            f"the model's chat template cannot show this conversation: {error}", "Let user and assistant take turns."
        ) from error
    tokens = model.tokenize(runs[0], special=True)
    if bos and tokens[: len(bos)] != bos:
        tokens = [*bos, *tokens]
    for (_, text), run in zip(shown, runs[1:], strict=True):
        tokens += [*model.tokenize(text), *model.tokenize(run, special=True)]
    return tokens


def _around(render: Render, messages: Seq[Message]) -> list[str]:
    """Returns the texts that the template writes before, between and after those of the messages."""
    marks = [f"[[wim-edge:{n}]]" for n in range(len(messages))]
    rest = render([(role, mark) for (role, _), mark in zip(messages, marks, strict=True)])
    runs = []
    for mark in marks:
        before, rest = _split(rest, mark)
        runs.append(before)
    return [*runs, rest]


def _without_system(messages: Seq[Message]) -> list[Message]:
    """Returns the messages with the system texts at the head of the first user turn."""
    system = [text for role, text in messages if role == "system"]
    rest = [message for message in messages if message[0] != "system"]
    if system and rest and rest[0][0] == "user":
        rest[0] = ("user", "\n\n".join([*system, rest[0][1]]))
    return rest


def _cut(template: str, bos: str, eos: str, variables: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Returns [before system, before user, after user], cut at the marks, and True if there is no system turn."""
    user = ("user", _USER)
    try:
        head, rest = _split(rendered(template, [("system", _SYSTEM), user], bos, eos, variables), _SYSTEM)
        return [head, *_split(rest, _USER)], False
    except TemplateError:
        head, tail = _split(rendered(template, [user], bos, eos, variables), _USER)
        return ["", head, tail], True


def _split(text: str, mark: str) -> tuple[str, str]:
    if text.count(mark) != 1:
        raise TemplateError(f"it shows a message {text.count(mark)} times")
    before, after = text.split(mark)
    return before, after
