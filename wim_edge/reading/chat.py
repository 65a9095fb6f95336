"""The chat format: the tokens that a model's chat template puts around the system text and the messages. The template
is rendered with marks in place of these texts, and split at the marks. Only the template's own parts may become control
tokens; the texts are tokenized as plain text, so no document and no question can forge a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence as Seq
from dataclasses import dataclass
from typing import Any

from wim_edge.engine.protocols import Model
from wim_edge.errors import InvalidRequestError
from wim_edge.reading.chat_template import TemplateError, rendered

Message = tuple[str, str]
"""A role (system, user, assistant) and a text."""


@dataclass(frozen=True)
class ChatFormat:
    """The tokens around the texts of a prompt: ``before_system + system text + before_user + user text + after_user``.
    A base model gets BOS, and a blank line before the user text; its answer ends at a blank line or a prompt label."""

    is_chat: bool
    before_system: tuple[int, ...]
    before_user: tuple[int, ...]
    after_user: tuple[int, ...]
    system_in_user: bool = False
    """True if the template has no system turn: the system text then begins the user text."""
    stops: tuple[str, ...] = ()

    def opening(self, model: Model, system: str) -> list[int]:
        """Returns the tokens of a prompt up to the user text. ``system``: the system text."""
        text = model.tokenize(system)
        if self.system_in_user:
            return [*self.before_system, *self.before_user, *text, *model.tokenize("\n\n")]
        return [*self.before_system, *text, *self.before_user]


def chat_format(model: Model, variables: Mapping[str, Any] | None = None) -> tuple[ChatFormat, str | None]:
    """Returns (the model's chat format, None); or (a format for plain text, a warning) if the chat template can't be
    used. ``variables``: more values for the template, by name."""
    template = model.info.chat_template
    bos = tuple(model.bos_tokens)
    stops = ("\n\n", "\nQuestion:", "\nNote:", "\nAnswer:")
    base = ChatFormat(False, bos, tuple(model.tokenize("\n\n")), (), stops=stops)
    if template is None:
        return base, None
    try:
        shown, runs = _split(template, model, variables, [("system", ""), ("user", "")])
    except TemplateError as error:
        return base, f"the model's chat template cannot be used ({error}); asking in plain text"
    system_in_user = len(shown) == 1
    tokens = [model.tokenize(run, special=True) for run in ([""] if system_in_user else []) + runs]
    if bos and tokens[0][:1] != list(bos) and not (not tokens[0] and tokens[1][:1] == list(bos)):
        tokens[0] = [*bos, *tokens[0]]
    before_system, before_user, after_user = map(tuple, tokens)
    return ChatFormat(True, before_system, before_user, after_user, system_in_user), None


def conversation(model: Model, messages: Seq[Message], variables: Mapping[str, Any] | None = None) -> list[int]:
    """Returns the tokens of a conversation, up to the model's answer. No message's text can become a control token. If
    the template has no system turn, the system text begins the first user turn. A base model gets plain lines such as
    "User: ...". Raises InvalidRequestError if the template refuses the conversation."""
    template, bos = model.info.chat_template, list(model.bos_tokens)
    if template is None:
        turns = "".join(f"{role.capitalize()}: {text}\n" for role, text in messages)
        return [*bos, *model.tokenize(turns + "Assistant:")]
    try:
        shown, runs = _split(template, model, variables, messages)
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


def _split(
    template: str, model: Model, variables: Mapping[str, Any] | None, messages: Seq[Message]
) -> tuple[Seq[Message], list[str]]:
    """Returns the messages, and the template's own texts before, between and after them. Without a system turn in the
    template, the first user message returned begins with the system text. Raises TemplateError."""
    marks = [f"[[wim-edge:{n}]]" for n in range(len(messages))]
    marked = [(role, mark) for (role, _), mark in zip(messages, marks, strict=True)]
    runs = []
    try:
        rest = rendered(template, marked, model.info.bos, model.info.eos, variables or {})
        for mark in marks:
            if rest.count(mark) != 1:
                raise TemplateError(f"it shows a message {rest.count(mark)} times")
            before, rest = rest.split(mark)
            runs.append(before)
    except TemplateError:
        if all(role != "system" for role, _ in messages):
            raise
        return _split(template, model, variables, _without_system(messages))
    return messages, [*runs, rest]


def _without_system(messages: Seq[Message]) -> list[Message]:
    """Returns the messages without system messages. The first user message begins with the system texts."""
    system = [text for role, text in messages if role == "system"]
    rest = [message for message in messages if message[0] != "system"]
    if (first := next((at for at, (role, _) in enumerate(rest) if role == "user"), None)) is not None:
        rest[first] = ("user", "\n\n".join([*system, rest[first][1]]))
    return rest
