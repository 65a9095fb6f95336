"""The texts that surround document and question, from the Jinja files in `templates/`.

    system_message.jinja      the system text: read (true if there is a document), margins (true if free
                              margins are written); never the question, so that a reading serves every question
    document.jinja            before each document: name, title, several
    extractive_summary.jinja  after a segment, asks for a free margin: query
    quotation.jinja           after a segment, asks a chat model to point at the answer: query
    pointing.jinja            the same for an adapter or a base model, which go straight on from it: query
    classification.jinja      asks whether a margin matters: query, margin
    question.jinja            the question as it would follow a text, for its likelihood: query
    query_first.jinja         the question before the text, where that is asked for: query
    recall.jinja              questions, the pages that answer them and their words, then the question, after which
                              title and passage are decoded: query, title (where paged), passage, paged
    final_answer.jinja        asks the question: query, margins (place, text), read (true if there is a text)
    worded_answer.jinja       asks for one sentence: query, quotation and run (the words that answer), or neither
    way_out.jinja             asks for a few words of the text, or "none" where it does not answer: query

A user's directory may hold any of them; those it lacks come from the shipped ones. Base models, which
know no turns, use `templates/base/`. Values are inserted as they are and never rendered again.
"""

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
"""The words with which a free margin says that it is none; it is then written no further."""

NAMES = (
    "system_message", "document", "extractive_summary", "quotation", "classification", "question", "query_first",
    "final_answer", "recall", "pointing", "worded_answer", "way_out",
)  # fmt: skip


@dataclass(frozen=True)
class MarginNote:
    """A relevant margin as the final prompt shows it; ``place`` may be empty."""

    place: str
    text: str


def _environment(folders: tuple[Path, ...]) -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


_compiled = lru_cache(_environment)
"""The environment of the shipped folders, which do not change: the same for every question."""


class Prompts:
    """The texts of the prompts. Raises InvalidRequestError for a template that cannot be read or rendered."""

    def __init__(self, directory: Path | None = None, *, chat: bool = True) -> None:
        if directory is not None and not os.path.isdir(directory):
            raise InvalidRequestError(
                f"{directory}: no such directory of templates", "Give one with files such as final_answer.jinja."
            )
        shipped = package_file("templates")
        folders = [shipped] if chat else [shipped / "base", shipped]
        if directory is not None:
            folders = [directory, *folders] if chat else [directory / "base", directory, *folders]
        environment = (_compiled if directory is None else _environment)(tuple(folders))
        self._templates = {name: self._load(environment, name) for name in NAMES}
        # A template that fails must fail before anything is read
        for read, margins in ((True, True), (True, False), (False, False)):
            self.system(read=read, margins=margins)
        self.classify("query")
        self.before_question()
        self.recall(paged=True), self.recall(paged=False)
        self.query_first("query")
        notes = [MarginNote("place", "text")] * 2
        for several in (False, True):
            self.document("name", title="title" if several else "", several=several)
            answers = [self.answer("query", notes[:n], read=several) for n in (0, 1, 2)]
        texts = {
            "extractive_summary": self.free_margin("query"),
            "quotation": self.quotation("query"),
            "pointing": self.point("query"),
            "final_answer": answers[0],
            "worded_answer": self.worded("query", "quotation", "run"),
            "way_out": self.way_out("query"),
        }
        for name, text in texts.items():
            if not text.strip():
                raise InvalidRequestError(f"{name}.jinja renders to nothing", "It must put the question.")

    @staticmethod
    def _load(environment: jinja2.Environment, name: str) -> jinja2.Template:
        try:
            return environment.get_template(f"{name}.jinja")
        except (jinja2.TemplateSyntaxError, SyntaxError) as error:
            where = f"{error.filename}, line {error.lineno}"
            raise InvalidRequestError(f"{where}: {error}", "Mend the template.") from error
        except (OSError, UnicodeDecodeError, jinja2.TemplateNotFound) as error:
            raise InvalidRequestError(
                f"template {name}.jinja cannot be read: {error}", "It must be a readable UTF-8 file."
            ) from error

    def _render(self, which: str, /, **values: object) -> str:
        template = self._templates[which]
        try:
            return template.render(**values)
        except Exception as error:  # a template is a program of its author
            raise InvalidRequestError(
                f"{template.filename or which}: {error}", "See docs/how-it-works.md for each template's variables."
            ) from error

    def system(self, *, read: bool = True, margins: bool = True) -> str:
        return self._render("system_message", read=read, margins=margins)

    def document(self, name: str, *, title: str = "", several: bool) -> str:
        return self._render("document", name=name, title=title, several=several)

    def free_margin(self, query: str) -> str:
        return self._render("extractive_summary", query=query)

    def quotation(self, query: str) -> str:
        return self._render("quotation", query=query)

    def point(self, query: str) -> str:
        return self._render("pointing", query=query)

    def classify(self, query: str) -> tuple[str, str]:
        """Returns the text before and after the margin: the first part is the same for all margins."""
        return self._around("classification", "margin", query=query)

    def before_question(self) -> str:
        """Returns the text between a text and the question whose likelihood is measured."""
        before, _ = self._around("question", "query")
        if not before.strip():
            raise InvalidRequestError("question.jinja begins with the query", "Put some words before it.")
        return before

    def query_first(self, query: str) -> str:
        return self._render("query_first", query=query)

    def answer(self, query: str, margins: Seq[MarginNote], *, read: bool) -> str:
        return self._render("final_answer", query=query, margins=margins, read=read)

    def worded(self, query: str, quotation: str = "", run: str = "") -> str:
        return self._render("worded_answer", query=query, quotation=quotation, run=run)

    def way_out(self, query: str) -> str:
        return self._render("way_out", query=query)

    def recall(self, *, paged: bool) -> list[str]:
        """Returns the text before the query, between it and the title (if ``paged``), and before the passage, none
        of them with a space at its end: the text that follows begins with one."""
        variables = ("query", "title", "passage") if paged else ("query", "passage")
        return [text.rstrip(" ") for text in self._pieces("recall", variables, paged=paged)[:-1]]

    def _around(self, which: str, variable: str, **values: object) -> tuple[str, str]:
        """Returns the text before and after a variable's place."""
        before, after = self._pieces(which, (variable,), **values)
        return before, after

    def _pieces(self, which: str, variables: Seq[str], **values: object) -> list[str]:
        """Returns the texts around the places of these variables, which must come in this order."""
        marks = {name: f"[[{secrets.token_hex(8)}]]" for name in variables}  # nothing that a question could hold
        pieces, rest = [], self._render(which, **values, **marks)
        for name, mark in marks.items():
            before, found, rest = rest.partition(mark)
            if not found:
                raise InvalidRequestError(f"{which}.jinja does not show the {name}", f"Put {{{{ {name} }}}} into it.")
            pieces.append(before)
        return [*pieces, rest]
