"""wim-edge as a model of `llm`, asked through llm itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llm
import pytest
from click.testing import CliRunner
from llm.cli import cli

from tests.reading.story import TEXT, reply
from wim_edge import Runtime, Settings
from wim_edge.integrations import llm_plugin
from wim_edge.integrations.llm_plugin import DocumentModel, load_fragment
from wim_edge.testing import FakeModel


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[DocumentModel]:
    """The plugin's model, on a scripted engine."""
    made: list[Runtime] = []

    def runtime(settings: Settings) -> Runtime:
        made.append(Runtime(settings.with_changes(model=None, save=False), model=FakeModel(reply)))
        return made[-1]

    monkeypatch.setattr(llm_plugin, "runtime_of", runtime)
    yield DocumentModel()
    for one in made:
        one.close()


def test_a_fragment_that_is_a_file_is_read_where_it_lies(model: DocumentModel, story: Path) -> None:
    fragment = llm.Fragment(TEXT, str(story))
    answer = model.prompt("Which colour?", fragments=[fragment], stream=False)
    assert f"source: {story}:" in answer.text()
    assert answer.response_json["status"] in ("answered", "unsure", "not_found")
    assert answer.response_json["sources"][0]["path"] == str(story)


def test_the_options_name_a_judge(model: DocumentModel, story: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Settings] = []
    make = llm_plugin.runtime_of
    monkeypatch.setattr(llm_plugin, "runtime_of", lambda settings: (asked.append(settings), make(settings))[1])
    attached = [llm.Attachment(path=str(story))]
    answer = model.prompt("Which colour?", attachments=attached, stream=False, judge="self")
    answer.text()
    assert asked[-1].judge == "self"
    assert answer.response_json["judge"] is None


def test_a_fragment_may_be_a_text_alone(model: DocumentModel) -> None:
    answer = model.prompt("Which colour?", fragments=[TEXT], stream=False)
    assert "source: fragment 1" in answer.text()


def test_what_is_streamed_is_the_same(model: DocumentModel, story: Path) -> None:
    attached = [llm.Attachment(path=str(story))]
    pieces = list(model.prompt("Which colour?", attachments=attached))
    assert "".join(pieces) == model.prompt("Which colour?", attachments=attached, stream=False).text()


def test_bytes_are_read_by_what_they_hold(model: DocumentModel) -> None:
    page = llm.Attachment(type="text/html", content=f"<html><body><p>{TEXT}</p></body></html>".encode())
    assert "source: attachment" in model.prompt("Which colour?", attachments=[page], stream=False).text()


def test_a_conversation_keeps_its_documents_also_in_a_later_process(model: DocumentModel, story: Path) -> None:
    first: Any = model.conversation()
    asked = first.prompt("Which colour?", attachments=[llm.Attachment(path=str(story))], stream=False)
    asked.text()
    assert f"source: {story}:" in first.prompt("And why?", stream=False).text()
    talk: Any = model.conversation()
    talk.loaded_messages = [*asked.prompt.messages, llm.assistant(asked.text())]
    assert f"source: {story}:" in talk.prompt("And why?", stream=False).text()
    assert talk.loaded_messages is None
    assert f"source: {story}:" in talk.prompt("Which colour?", stream=False).text()


def test_of_a_former_process_fragments_are_their_text(model: DocumentModel) -> None:
    talk: Any = model.conversation()
    talk.loaded_messages = [llm.user(f"{TEXT}\nWhich colour?"), llm.assistant("Blue.")]
    answer = talk.prompt("Which colour?", stream=False)
    assert "source: fragment 1" in answer.text()


def test_files_of_any_format_are_fragments(story: Path, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<html><body><h1>Tide</h1><p>It turns at six.</p></body></html>")
    fragment = load_fragment(str(tmp_path / "a.html"))
    assert "It turns at six." in fragment
    assert fragment.source == str(tmp_path / "a.html")


@pytest.mark.real
def test_llm_finds_it_and_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    (tmp_path / "a.html").write_text("<html><body><p>The lighthouse was built in 1904.</p></body></html>")
    asked = ["-m", "wim-edge", "-o", "model", "smollm2-135m", "-f", f"wim:{tmp_path / 'a.html'}", "When was it built?"]
    done = CliRunner().invoke(cli, asked)
    assert done.exit_code == 0, done.output
    assert "1904" in done.output
    assert f"source: {tmp_path / 'a.html'}" in done.output
    after = CliRunner().invoke(cli, ["-c", "When was the lighthouse built?"])
    assert after.exit_code == 0, after.output
    assert "1904" in after.output
