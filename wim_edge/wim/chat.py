"""The frame of a prompt: the model's own chat template, cut open where our text goes.

The template is rendered once with marks in place of the system text and the user text, and split at
the marks. What lies between is the template's own and may hold control tokens; what goes in is data
and is tokenized as plain text, so no document and no question can forge a turn.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from wim_edge.engine.api import Model

_SYSTEM, _USER = "[[wim-edge:system]]", "[[wim-edge:user]]"


@dataclass(frozen=True)
class ChatFormat:
    """Token runs around the system text and the user text of a prompt.

    ``before_system + system text + before_user + user text + after_user``; then the model answers.
    A base model's runs are empty (but for BOS), and its answers end at a blank line.
    """

    is_chat: bool
    before_system: tuple[int, ...]
    before_user: tuple[int, ...]
    after_user: tuple[int, ...]
    system_in_user: bool = False
    """The template takes no system text: it stands at the head of the user text."""
    stops: tuple[str, ...] = ()

    def opening(self, model: Model, system: str) -> list[int]:
        """Tokens up to where the user text begins."""
        text = model.tokenize(system)
        if self.system_in_user:
            return [*self.before_system, *self.before_user, *text, *model.tokenize("\n\n")]
        return [*self.before_system, *text, *self.before_user]


def chat_format(model: Model, variables: Mapping[str, Any] | None = None) -> tuple[ChatFormat, str | None]:
    """The format of a model, and a warning if its template could not be used."""
    template = model.info.chat_template
    bos = tuple(model.bos_tokens)
    base = ChatFormat(False, bos, model_newlines(model), (), stops=("\n\n", "\nQuestion:", "\nNote:", "\nAnswer:"))
    if template is None:
        return base, None
    try:
        runs, system_in_user = _cut(template, model.info.bos, model.info.eos, dict(variables or {}))
    except (jinja2.TemplateError, ValueError) as error:
        return base, f"the model's chat template cannot be used ({error}); asking in plain text"
    tokens = [model.tokenize(run, special=True) for run in runs]
    if bos and tokens[0][:1] != list(bos) and not (not tokens[0] and tokens[1][:1] == list(bos)):
        tokens[0] = [*bos, *tokens[0]]
    before_system, before_user, after_user = map(tuple, tokens)
    return ChatFormat(True, before_system, before_user, after_user, system_in_user), None


def model_newlines(model: Model) -> tuple[int, ...]:
    """A blank line, as tokens."""
    return tuple(model.tokenize("\n\n"))


def _cut(template: str, bos: str, eos: str, variables: dict[str, Any]) -> tuple[list[str], bool]:
    """Render with marks and split: [before system, before user, after user], and whether there is no system turn."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)

    def render(messages: list[dict[str, str]]) -> str:
        values = {"messages": messages, "add_generation_prompt": True, "bos_token": bos, "eos_token": eos}
        try:
            return environment.from_string(template).render({**values, **variables})
        except Exception as error:  # the template is a program of the model file's author, it may raise anything
            raise jinja2.TemplateError(f"{type(error).__name__}: {error}") from error

    user = {"role": "user", "content": _USER}
    try:
        text = render([{"role": "system", "content": _SYSTEM}, user])
        head, rest = _split(text, _SYSTEM)
        return [head, *_split(rest, _USER)], False
    except (jinja2.TemplateError, ValueError):
        head, tail = _split(render([user]), _USER)
        return ["", head, tail], True


def _split(text: str, mark: str) -> tuple[str, str]:
    if text.count(mark) != 1:
        raise ValueError(f"it shows a message {text.count(mark)} times")
    before, after = text.split(mark)
    return before, after


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
