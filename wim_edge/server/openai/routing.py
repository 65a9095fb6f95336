"""The routing of the OpenAI-compatible API: some requests are read as documents, others go straight to the model.

Files are documents, and so are texts of more than 1,024 tokens. The question is in a long text (`find_question`), in
the rest of the last user message, or in another message. A request without a document goes straight to the model.

In a long text, a question is found by structure, not by words of a language. These places are searched, in this order:

    what a framework marks: the last tag, or the last labelled line if the prompt ends with a bare label ("Answer:")
    the last short paragraph (or line, or sentence) of the message
    the first short paragraph (or line)
    the system message, then earlier messages of the user, the latest first

A question that a framework marks is taken. Otherwise the question is the first of these texts that ends with a question
mark. If none does, the question is a short last or first paragraph, or the message's end. If none or several texts end
with a question mark, the question is marked as unsure.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from wim_edge.answer.judged import MAY_NOT_SAY, NOT_SAID, NOT_SO_FAR, UNSURE
from wim_edge.documents import Document, sentences, with_unique_names
from wim_edge.errors import InvalidRequestError
from wim_edge.followup import Turn, last_turn
from wim_edge.reading.chat import Message
from wim_edge.server.uploads import Uploads

LONG = 1024
"""The most tokens of a text that is not read as a document."""
_ENOUGH = 64 * LONG  # characters whose tokens are counted: counting a whole book would block other requests
_MAX_OTHERS = 8
"""The largest number of messages, besides the last one, that are searched for a question."""
SHORT = 600
"""The most characters of a question."""
_PARAGRAPH = re.compile(r"\n\s*\n")
_LABELLED = re.compile(r"^[ \t]*[^\n:.?!<>]{1,30}:[ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE)
_OPEN_LABEL = re.compile(r"\n[ \t]*[^\n:.?!]{1,30}:\s*\Z")
_TAGGED = re.compile(r"<([\w-]+)>\s*([^<\s][^<]{0,599}?)\s*</\1>\s*\Z")
_LABEL = re.compile(r"[^\W\d_]{1,12}:\s+(?=\S)")
_ENDS = tuple('.!?:”"')
_ASKS = re.compile(r"[?？؟՞]['\")\]”’»*_\s]*$")
_FILE_ID = re.compile(r"(?:file-)?(\d{1,18})")


@dataclass(frozen=True)
class MessageTurn:
    role: str
    parts: tuple[str | Document, ...]

    @property
    def texts(self) -> list[str]:
        """The texts among the parts, without blank ones."""
        return [part for part in self.parts if isinstance(part, str) and part.strip()]

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in self.parts if isinstance(part, str) and part)


@dataclass(frozen=True)
class FoundQuestion:
    """A question found in a message, and the rest of the message (``body``), which the question is about."""

    question: str
    body: str = ""
    source: str = "the message"
    """The place where the question was found: the message's last or first paragraph, its end, or another message."""
    unsure: bool = False
    """True if no text ends with a question mark, or if several different texts do."""

    @property
    def why(self) -> str:
        """The reason to doubt that this is the question; empty if there is no doubt."""
        return f"it is not clear what is asked: taken from {self.source}" if self.unsure else ""


@dataclass(frozen=True)
class RoutedRequest:
    """A routed request: either messages that go straight to the model, or documents to read with a question."""

    messages: list[Message] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    asked: FoundQuestion = FoundQuestion("")
    after: Turn | None = None
    """The previous question and its answer, from which a follow-up question is restated; None if there is none."""
    left_out: int = 0
    """The number of short messages that the model does not see because it reads documents."""


def file_part(store: Uploads, name: str, data: str | None, number: str | None) -> Document:
    """Returns the document of an attached file. ``data`` is its content (data URL or base64), which is stored.
    ``number`` is the id of an earlier upload ("file-N"). Raises InvalidRequestError, DocumentError, LibraryError."""
    if number is not None:
        found = _FILE_ID.fullmatch(number)
        if not found:
            raise InvalidRequestError(f"{number!r} is no file", "Send file-N, with a document's id (/api/documents).")
        return store.document(int(found[1])).document
    if data is None:
        raise InvalidRequestError("a file has neither file_data nor file_id", "Send one of them.")
    head, comma, body = data.partition(",")
    try:
        raw = base64.b64decode(body if comma else head, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequestError(f"{name}: its data is not base64", "Send data:TYPE;base64,DATA.") from None
    return store.upload(name, raw)[0].document


def as_request(
    turns: Sequence[MessageTurn], count: Callable[[str], int], *, read: bool | None, asks_library: bool = False,
    question: str | None = None,
) -> RoutedRequest:  # fmt: skip
    """Routes a conversation to the model or to a reading. Roles: system, user, assistant, tool (a tool's result).

    ``count`` counts the tokens of a text. ``read``: True to read all texts of the last message as documents, False to
    read none of them, None to read long ones. ``asks_library``: True if a library is asked too. ``question``: if given,
    long texts are read whole, without a search for the question. Raises InvalidRequestError if no question is found.
    """
    if not turns or turns[-1].role not in ("user", "tool"):
        raise InvalidRequestError("the last message is not the user's", "End with what you ask.")
    at = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=-1)
    if at < 0:
        raise InvalidRequestError("no message is the user's", "Send what is asked.")
    before, last = [*turns[:at], *turns[at + 1 :]], turns[at]  # results of tools may follow the question

    def is_long(text: str) -> bool:
        return count(text[:_ENOUGH]) > LONG

    documents, short = _earlier(before, is_long if read is not False else lambda _: False)
    others = _others(before)
    long = [text for text in last.texts if read or (read is None and is_long(text))]
    beside = [text.strip() for text in last.texts if text not in long]
    found: FoundQuestion | None = None
    for part in last.parts:
        if isinstance(part, Document):
            documents.append(part)
        elif part in long and question:
            documents.append(_document(part, len(documents)))
        elif part in long:
            found = find_question(part, [*(("the message", one) for one in beside), *others])
            if found.body:
                documents.append(_document(found.body, len(documents)))
            else:
                beside.append(part.strip())
    if not documents and not asks_library:
        return RoutedRequest(messages=_messages(turns))
    asked = FoundQuestion(question) if question else _question("\n\n".join(beside), found, others)
    if not asked.question:
        raise InvalidRequestError("there are documents, and no question", "Ask something about them.")
    left_out = sum(asked.question not in text for text in (*short, *(beside if question else ())))
    return RoutedRequest(
        documents=with_unique_names(documents), asked=asked, after=last_turn(_talk([*before, last], is_long)),
        left_out=left_out,
    )  # fmt: skip


def _earlier(turns: Sequence[MessageTurn], is_long: Callable[[str], bool]) -> tuple[list[Document], list[str]]:
    """Returns (documents, short texts) of the turns besides the one that asks. Files and long texts are documents."""
    documents: list[Document] = []
    short: list[str] = []
    for turn in turns:
        for part in turn.parts:
            if isinstance(part, Document):
                documents.append(part)
            elif is_long(part):
                own = find_question(part)  # cut out as when it was asked, so that the document stays the same
                is_asked = turn.role != "tool" and asks(own.question)
                documents.append(_document(own.body if is_asked else part, len(documents)))
            elif part.strip():
                short.append(part)
    return documents, short


def _messages(turns: Sequence[MessageTurn]) -> list[Message]:
    """Converts turns to messages for the model. A tool's result becomes a user message, or part of the user message
    next to it, because chat templates require alternating roles."""
    messages: list[Message] = []
    for turn, previous in zip(turns, [None, *turns], strict=False):
        role = "user" if turn.role == "tool" else turn.role
        if previous and messages[-1][0] == role and "tool" in (turn.role, previous.role):
            messages[-1] = (role, f"{messages[-1][1]}\n\n{turn.text}")
        else:
            messages.append((role, turn.text))
    return messages


def _others(turns: Sequence[MessageTurn]) -> list[tuple[str, str]]:
    """Returns (place, text) of messages that may ask: system messages, then short user messages, the latest first."""
    system = [("the system message", turn.text) for turn in turns if turn.role == "system"]
    before = [("an earlier message", turn.text) for turn in turns if turn.role == "user" and len(turn.text) < LONG]
    return [*system, *reversed(before)][:_MAX_OTHERS]


def _question(beside: str, found: FoundQuestion | None, others: Sequence[tuple[str, str]]) -> FoundQuestion:
    """Returns the first text that ends in a question mark: ``found``, the text ``beside`` it, or one of ``others``."""
    elsewhere = [FoundQuestion(part, source=source) for source, one in others if (part := asking_part(one))]
    if found is not None and found.body and (asks(found.question) or not beside):
        return found
    return FoundQuestion(beside) if asks(beside) or not elsewhere else elsewhere[0]


def _talk(turns: Sequence[MessageTurn], is_long: Callable[[str], bool]) -> Iterator[Turn]:
    """Yields the earlier questions of a conversation, each with its short answer, as turns."""
    system = _others([turn for turn in turns if turn.role == "system"])
    spoken = [turn for turn, after in pairwise(turns) if "tool" not in (turn.role, after.role)]  # without tools
    for turn, reply in pairwise(spoken):
        if turn.role != "user" or reply.role != "assistant":
            continue
        question = " ".join(
            find_question(text, system).question if is_long(text) else text.strip() for text in turn.texts
        )
        if asks(question):
            yield Turn(question, short_answer(reply.text))


def short_answer(text: str) -> str:
    """Returns the short answer in a reply's first line; empty if that line says that no answer was found."""
    line = text.strip().split("\n")[0].strip().removeprefix(UNSURE)
    return "" if line.startswith((NOT_SAID, MAY_NOT_SAY, NOT_SO_FAR)) else line.rstrip(".")


def _document(text: str, number: int) -> Document:
    return Document("message" if not number else f"message {number + 1}", text)


# The question of a message that contains a text


def asks(text: str) -> bool:
    """Returns True if a text has at most 600 characters and ends with a question mark."""
    return 0 < len(text.strip()) <= SHORT and _ASKS.search(text) is not None


def asking_part(text: str) -> str:
    """Returns the sentences that end with a question mark; empty if none does, or for more than 600 characters."""
    if len(text) > SHORT:
        return ""
    parts = [text[start:end].strip() for start, end in sentences(text)]
    return " ".join(part for part in parts if asks(part))


def find_question(text: str, others: Sequence[tuple[str, str]] = ()) -> FoundQuestion:
    """Returns a message's question, apart from the text to read. ``others``: (place, text) of other messages."""
    if (marked := _marked(text)) is not None:
        return marked
    if len(_paragraphs(text)) < 2 and asks(text):
        return FoundQuestion(_plain(text))
    elsewhere = [FoundQuestion(part, text.strip(), source) for source, other in others if (part := asking_part(other))]
    own = (next((one for one in parts if asks(one.question)), None) for parts in (_ends(text), _heads(text)))
    found = [one for one in (*own, *elsewhere) if one is not None]
    if not found:
        body, question = split_question(text)
        return FoundQuestion(_plain(question), body, "the message's end or head", unsure=bool(body))
    taken, unsure = found[0], len({one.question for one in found}) > 1
    return FoundQuestion(_plain(taken.question), taken.body, taken.source, unsure)


def split_question(text: str) -> tuple[str, str]:
    """Splits a long message into (document, question). The question is a short last or first paragraph, or else the
    last sentence, or else the last 600 characters."""
    parts = {one.source: one for one in (*_ends(text), *_heads(text)) if len(one.question) <= SHORT}
    for source in ("the last paragraph", "the first paragraph", "the last sentence"):
        if source in parts:
            return parts[source].body, parts[source].question
    end = len(text.rstrip())
    start = max(text.rfind(" ", 0, end - SHORT) + 1, end - SHORT)
    return text[:start].strip(), text[start:end].strip()


def _marked(text: str) -> FoundQuestion | None:
    """Returns the question that a framework's prompt marks, or None. A tag at the end marks its content. A bare label
    at the end ("Answer:") marks the labelled line before it, or one near the start that ends with a question mark."""
    tail = max(0, len(text) - 2 * SHORT)
    if tagged := _TAGGED.search(text, tail):
        return FoundQuestion(tagged[2], text[: tagged.start()].strip(), "its label")
    end = _OPEN_LABEL.search(text, tail)
    if end is None:
        return None
    line = text.rfind("\n", 0, len(text[: end.start()].rstrip())) + 1
    found = _LABELLED.match(text, line, end.start()) or next(
        (one for one in _LABELLED.finditer(text, 0, min(2 * SHORT, end.start())) if asks(one[1])), None
    )
    if found is None:
        return None
    return FoundQuestion(found[1], (text[: found.start()] + text[found.end() : end.start()]).strip(), "its label")


def _ends(text: str) -> Iterator[FoundQuestion]:
    """Yields possible questions at the end of a text: the last line, the last paragraph and the last sentence."""
    paragraphs = _paragraphs(text)
    start, end = paragraphs[-1]
    line = text.rfind("\n", start, end) + 1
    tail = max(0, end - 2 * SHORT)
    last = max((tail + at for at, _ in sentences(text[tail:end])), default=0)
    begins = {
        "the last line": line if text[start:line].rstrip().endswith(_ENDS) else 0,
        "the last paragraph": start if len(paragraphs) > 1 else 0,
        "the last sentence": 0 if last == tail or end - last > SHORT else last,  # the only one, or too long
    }
    for source, at in begins.items():
        if at:
            yield FoundQuestion(text[at:end].strip(), text[:at].strip(), source)


def _heads(text: str) -> Iterator[FoundQuestion]:
    """Yields possible questions at the start of a text: the first paragraph and the first line."""
    paragraphs = _paragraphs(text)
    start, end = paragraphs[0]
    line = text.find("\n", start, end)
    for source, at in (("the first paragraph", end if len(paragraphs) > 1 else 0), ("the first line", line)):
        if at > 0:
            yield FoundQuestion(text[start:at].strip(), text[at:].strip(), source)


def _plain(question: str) -> str:
    """Returns a question without a label of one word at its beginning, such as "Question:"."""
    return _LABEL.sub("", question.strip(), count=1)


def _paragraphs(text: str) -> list[tuple[int, int]]:
    cuts = [(0, 0), *(found.span() for found in _PARAGRAPH.finditer(text)), (len(text), len(text))]
    return [(before[1], after[0]) for before, after in pairwise(cuts) if text[before[1] : after[0]].strip()]
