"""The same documents and the same question read alike in every pattern."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.reading.story import SMALL, TEXT, recording, reply, run
from wim_edge import Document, Runtime, Settings
from wim_edge.errors import InvalidRequestError
from wim_edge.settings import PATTERNS
from wim_edge.testing import CHATML, FakeModel

DOCUMENTS = [Document(name, f"{name} says that the tower is {height} metres high.")
             for name, height in (("One", 10), ("Two", 20), ("Three", 30))]  # fmt: skip
QUESTION = "How high is the tower?"


def last_prompt(template: str | None, **settings: object) -> str:
    """What the model saw when it answered."""
    model, prompts = recording(lambda prompt: "20", chat_template=template)
    usual = Settings(max_passages=3, relevance_threshold=0.0, save=False)
    with Runtime(usual.with_changes(**settings), model=model) as runtime:
        runtime.ask(DOCUMENTS, QUESTION)
    return next(prompt for prompt in reversed(prompts) if QUESTION in prompt)


def parts(prompt: str) -> tuple[str, list[str], str]:
    """What stands before the documents, the documents, and from the first margin or the question on."""
    before, _, rest = prompt.partition('Document "')
    text = 'Document "' + rest
    end = min(at for word in ("The text says", "Note:", "Question:") if (at := text.find("\n\n" + word)) > 0)
    return before, text[:end].split("\n\n"), text[end:]


@pytest.mark.parametrize("template", [CHATML, None], ids=["chat", "base"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_documents_are_shown_alike(pattern: str, template: str | None) -> None:
    _, shown, question = parts(last_prompt(template, pattern=pattern))
    assert sorted(shown) == sorted(f'Document "{one.name}":\n{one.text}' for one in DOCUMENTS)
    assert question.rstrip().startswith(("Question:", "The text says", "Note:"), 2)


@pytest.mark.parametrize("template", [CHATML, None], ids=["chat", "base"])
def test_patterns_without_margins_have_one_prompt(template: str | None) -> None:
    llm, rag = (parts(last_prompt(template, pattern=pattern)) for pattern in ("llm", "rag"))
    assert (llm[0], llm[2]) == (rag[0], rag[2])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_base_model_is_shown_a_note_only_where_there_are_notes(pattern: str) -> None:
    for margins in ("verbatim", "free"):
        example, _, question = parts(last_prompt(None, pattern=pattern, margins=margins))
        wanted = pattern.startswith("wim") and margins == "free"
        assert ("Note:" in example) == ("Note:" in question) == wanted


def test_a_document_alone_has_its_title() -> None:
    titled = Document("file.txt", "The tower is 20 metres high.", title="Towers")
    for document, heading in ((titled, 'Document "Towers":\n'), (DOCUMENTS[0], "Document:\n")):
        model, seen = recording(lambda prompt: "20")
        with Runtime(Settings(pattern="llm", save=False), model=model) as runtime:
            runtime.ask(document, QUESTION)
        assert heading + document.text in seen[-1]


def test_a_users_templates_stand_before_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "final_answer.jinja").write_text("ASK {{ query }} {{ margins | length }}", encoding="utf-8")
    model, prompts = recording()
    run(model, SMALL.with_changes(templates=tmp_path))
    assert re.search("ASK Which colour\\? [12]", prompts[-1])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("final_answer.jinja", b"{% if %}", "final_answer.jinja, line 1"),
     ("final_answer.jinja", b"{{ nonsense }}", "nonsense"),
     ("final_answer.jinja", b"\xff\xfe\x00", "cannot be read"),
     ("classification.jinja", b"no margin here", "does not show the margin"),
     ("final_answer.jinja", b"{{ query }}{% if read %}{{ nonsense }}{% endif %}", "nonsense"),
     ("final_answer.jinja", b"{{ query }}{{ margins[0].place if margins | length > 1 else 1 // 0 }}", "zero"),
     ("extractive_summary.jinja", b"  ", "renders to nothing"),
     ("system_message.jinja", b"{{ ''.__class__.__mro__ }}", "unsafe|access")],
)  # fmt: skip
def test_a_bad_template_is_an_error_before_any_work(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    model = FakeModel(reply)
    refused = pytest.raises(InvalidRequestError, match=message)
    with Runtime(SMALL.with_changes(templates=tmp_path), model=model) as runtime, refused:
        runtime.stream(Document("d", TEXT), "Which colour?")
    assert model.history == []
