"""The prompts, from the Jinja files in `templates/`; docs/how-it-works.md lists each template's variables. A user's
directory may replace any template. Base models, which have no turns, use `templates/base/`. Values are inserted as they
are and never rendered again."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from wim_edge.errors import InvalidRequestError
from wim_edge.settings import package_file

NOT_RELEVANT = "not relevant"
"""The words with which a model declines to write a margin. Such a margin ends there, and counts as empty."""

NAMES = (
    "system_message", "document", "extractive_summary", "quotation", "classification", "question", "query_first",
    "final_answer", "recall", "pointing", "worded_answer", "answerable", "verdict", "wants_summary", "table_query",
)  # fmt: skip


@dataclass(frozen=True)
class MarginNote:
    """A relevant margin in the final prompt. ``place``: where the margin comes from, in words; may be empty."""

    place: str
    text: str


def _environment(folders: tuple[Path, ...]) -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader(folders), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=False,
    )  # fmt: skip


_compiled = lru_cache(_environment)  # compiled once: the shipped templates do not change


class Prompts:
    """Renders prompts from templates. Raises InvalidRequestError for a template that can't be read or rendered."""

    def __init__(self, directory: Path | None = None, *, chat: bool = True) -> None:
        if directory is not None and not os.path.isdir(directory):
            raise InvalidRequestError(
                f"{directory}: no such directory of templates", "Pass one with files such as final_answer.jinja."
            )
        shipped = package_file("templates")
        folders = [shipped] if chat else [shipped / "base", shipped]
        if directory is not None:
            folders = [directory, *folders] if chat else [directory / "base", directory, *folders]
        environment = (_compiled if directory is None else _environment)(tuple(folders))
        self._templates = {name: self._load(environment, name) for name in NAMES}
        # Render each template now: a faulty one must fail before anything is read
        for read, margins in ((True, True), (True, False), (False, False)):
            self.system(read=read, margins=margins)
        for name in ("extractive_summary", "quotation", "pointing", *NAMES[-4:]):
            self.ask(name, "query")
        self.classify("query"), self.query_first("query"), self.before_question()
        self.worded("query", "quotation", "run"), self.recall(paged=True), self.recall(paged=False)
        notes = [MarginNote("place", "text")] * 2
        for several in (False, True):
            self.document("name", title="title" if several else "", several=several)
            for n in (0, 1, 2):
                self.answer("query", notes[:n], read=several)

    @staticmethod
    def _load(environment: jinja2.Environment, name: str) -> jinja2.Template:
        try:
            return environment.get_template(f"{name}.jinja")
        except (jinja2.TemplateSyntaxError, SyntaxError) as error:
            where = f"{error.filename}, line {error.lineno}"
            raise InvalidRequestError(f"{where}: {error}", "Fix the template.") from error
        except (OSError, UnicodeDecodeError, jinja2.TemplateNotFound) as error:
            raise InvalidRequestError(
                f"template {name}.jinja cannot be read: {error}", "It must be a readable UTF-8 file."
            ) from error

    def _render(self, which: str, /, **values: object) -> str:
        template = self._templates[which]
        try:
            return template.render(**values)
        except Exception as error:  # a template may raise anything
            raise InvalidRequestError(
                f"{template.filename or which}: {error}", "See docs/how-it-works.md for each template's variables."
            ) from error

    def ask(self, which: str, query: str, **values: object) -> str:
        """Returns template ``which`` filled in for a question. Raises InvalidRequestError if the result is blank."""
        text = self._render(which, query=query, **values)
        if not text.strip():
            raise InvalidRequestError(f"{which}.jinja renders to nothing", "It must ask the question.")
        return text

    def answer(self, query: str, margins: Seq[MarginNote], *, read: bool) -> str:
        return self.ask("final_answer", query, margins=margins, read=read)

    def worded(self, query: str, quotation: str = "", run: str = "") -> str:
        return self.ask("worded_answer", query, quotation=quotation, run=run)

    def system(self, *, read: bool = True, margins: bool = True) -> str:
        """Returns the system text. It does not contain the question, so that a saved reading serves every question."""
        return self._render("system_message", read=read, margins=margins)

    def document(self, name: str, *, title: str = "", several: bool) -> str:
        return self._render("document", name=name, title=title, several=several)

    def query_first(self, query: str) -> str:
        return self._render("query_first", query=query)

    def classify(self, query: str) -> tuple[str, str]:
        """Returns the texts before and after the margin in the prompt that asks whether this margin helps."""
        before, after = self._pieces("classification", ("margin",), query=query)
        return before, after

    def before_question(self) -> str:
        """Returns the text between a passage and the question whose likelihood is measured."""
        before, _ = self._pieces("question", ("query",))
        if not before.strip():
            raise InvalidRequestError("question.jinja begins with the query", "Put some words before it.")
        return before

    def recall(self, *, paged: bool) -> list[str]:
        """Returns the recall prompt's texts before the query, title (only if ``paged``) and passage, right-stripped."""
        variables = ("query", "title", "passage") if paged else ("query", "passage")
        return [text.rstrip(" ") for text in self._pieces("recall", variables, paged=paged)[:-1]]

    def _pieces(self, which: str, variables: Seq[str], **values: object) -> list[str]:
        """Returns a template's texts before, between and after the variables, which must occur in this order."""
        marks = {name: f"[[{secrets.token_hex(8)}]]" for name in variables}  # no question contains them
        pieces, rest = [], self._render(which, **values, **marks)
        for name, mark in marks.items():
            before, found, rest = rest.partition(mark)
            if not found:
                raise InvalidRequestError(f"{which}.jinja does not show the {name}", f"Put {{{{ {name} }}}} into it.")
            pieces.append(before)
        return [*pieces, rest]
