"""A plugin of `llm` (llm.datasette.io): `llm -m wim-edge -a report.pdf "Who signed it?"`.

Documents are fragments (`-f notes.md` for plain text, `-f wim:report.pdf` for other formats) or attachments. The plugin
reads a file from its own path, so that the answer can name pages and the reading is saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import llm

from wim_edge import Document, Settings, events, followup
from wim_edge.documents import read_document, read_documents
from wim_edge.integrations.document_reader import answer_facts, document_from, runtime_of

_TYPES = {
    "application/pdf", "application/rtf", "text/rtf", "application/epub+zip", "text/html", "text/plain", "text/csv",
    "text/markdown", "message/rfc822", "application/json",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.presentation",
}  # fmt: skip


@llm.hookimpl
def register_models(register: Any) -> None:
    register(DocumentModel())


@llm.hookimpl
def register_fragment_loaders(register: Any) -> None:
    """Registers the prefix `wim:`, with which a fragment can be a file of any format that wim-edge reads."""
    register("wim", load_fragment)


def load_fragment(path: str) -> llm.Fragment:
    """Returns the text of a file as a fragment. The fragment's source is the file's path. Raises DocumentError."""
    return llm.Fragment(read_document(path).text, str(Path(path).absolute()))


class DocumentModel(llm.Model):
    """A model of `llm` that answers with wim-edge's default model, or with the model that the option `model` names."""

    model_id = "wim-edge"
    can_stream = True
    attachment_types: ClassVar[set[str]] = _TYPES

    class Options(llm.Options):
        model: str | None = None
        """The name of a model in wim-edge's catalog, or the path of a GGUF file; None: the default model."""
        judge: str | None = None
        """The model that decides which passages answer (a name or path, as in `model`); self: the model itself."""
        pattern: str | None = None

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        """Yields the answer, in parts if ``stream``, then its sources. Sets `response.response_json` to `answer_facts`.
        Also reads the documents of earlier turns, and uses those turns to complete a follow-up question."""
        given, turns = _before(prompt, conversation)
        given += _documents(prompt.fragments, prompt.attachments)
        after, options = followup.last_turn(turns), prompt.options
        chosen = {name: getattr(options, name) for name in ("model", "judge", "pattern") if getattr(options, name)}
        runtime = runtime_of(Settings.from_environment().with_changes(**chosen))
        asked = runtime.stream(list(dict.fromkeys(given)), _question(prompt), after=after)
        text, finished = "", None
        for event in asked:
            if isinstance(event, events.AnswerDelta):
                text += event.text
                if stream:
                    yield event.text
            elif isinstance(event, events.AnswerFinished):
                finished = event
        assert finished is not None
        shown = finished.sources if finished.status != "not_found" else ()
        sources = "\n".join(dict.fromkeys(f"source: {one.opens or one.document}" for one in shown))
        yield ("" if stream and text else finished.text) + (f"\n\n{sources}" if sources else "")
        response.response_json = answer_facts(finished)


def _before(prompt: Any, conversation: Any) -> tuple[list[Document], list[followup.Turn]]:
    """Returns (documents, turns) of a conversation so far, even if an earlier process began it (`llm -c`)."""
    said = [] if conversation is None else conversation.responses
    first = said[0].prompt if said else prompt
    given, turns = _of_messages(getattr(first, "messages", [])[:-1])  # of an earlier process
    for one in said:
        given += _documents(one.prompt.fragments, one.prompt.attachments)
        turns.append(followup.Turn(_question(one.prompt), one.text().partition("\n")[0]))
    return given, turns


def _of_messages(messages: Iterable[Any]) -> tuple[list[Document], list[followup.Turn]]:
    """Returns (documents, turns) of a saved conversation. A user message is one text: fragments, then the question."""
    given: list[Document] = []
    turns: list[followup.Turn] = []
    for one in messages:
        text = "".join(getattr(part, "text", "") for part in one.parts)
        if one.role == "user":
            attached = [part.attachment for part in one.parts if getattr(part, "attachment", None)]
            fragments, _, question = text.rpartition("\n")  # with attachments, the first lines may be the question's
            given += _documents([fragments] if fragments and not attached else [], attached)
            turns.append(followup.Turn(question, ""))
        elif one.role == "assistant" and turns:
            turns[-1] = followup.Turn(turns[-1].question, text.partition("\n")[0])
    return given, turns


def _question(prompt: Any) -> str:
    """Returns the question in a prompt: the prompt's text without the fragments before it."""
    return str(prompt.prompt.removeprefix("\n".join(prompt.fragments)).strip())


def _documents(fragments: Iterable[Any], attachments: Iterable[Any]) -> Iterator[Document]:
    """Yields the documents of a prompt's fragments and attachments. If one names a file, reads it from the disk."""
    for number, one in enumerate(fragments, 1):
        source = str(getattr(one, "source", "") or "")
        if source and Path(source).is_file():
            yield from read_documents([source])
        else:
            yield Document(source or f"fragment {number}", str(one))
    for one in attachments:
        if one.path:
            yield from read_documents([one.path])
        else:
            yield document_from(one.url or "attachment", one.content_bytes())
