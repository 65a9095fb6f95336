"""Who reads and judges, and who words the answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import written
from tests.reading.mill import MILL, NONE
from wim_edge import Document, Runtime, Settings, events
from wim_edge.catalog.entry import WORKING_SPACE
from wim_edge.errors import ModelError
from wim_edge.loaded_models import LoadedModels
from wim_edge.roles import process_memory, resolved_settings, roles_for
from wim_edge.testing import FakeModel

DOCUMENT = Document("mill.txt", MILL)
QUESTION = "What did Brandt pay?"
SHALLOW = Settings(pattern="wim-shallow", save=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A model file of the user's own."""
    (tmp_path / "house.gguf").write_bytes(b"GGUF")
    return tmp_path / "house.gguf"


def judge() -> FakeModel:
    return FakeModel(lambda prompt: "4,000 crowns")


def writer(says: str = "She paid 4,000 crowns.") -> tuple[FakeModel, list[str]]:
    """A scripted writer, and the prompts that it sees."""
    seen: list[str] = []
    return FakeModel(lambda prompt: seen.append(prompt) or says), seen  # type: ignore[func-returns-value]


def test_the_judge_reads_and_the_writer_sees_passages_and_the_question_alone() -> None:
    model, seen = writer()
    reads = judge()
    with Runtime(SHALLOW, model=model, judge=reads) as runtime:
        found = list(runtime.stream(DOCUMENT, QUESTION))
    assert isinstance(found[0], events.ReadingStarted)
    last = found[-1]
    assert isinstance(last, events.AnswerFinished)
    assert last.text == "She paid 4,000 crowns.\n\n“She paid 4,000 crowns for the old mill.”"
    assert (last.status, last.short, found[0].judge, last.judge) == ("answered", "4,000 crowns", "fake", "fake")
    assert MILL in seen[-1]
    assert "The answer in the words of the text" not in seen[-1]  # it is not told what the judge points at
    assert len(model.contexts) == 1
    assert not any(one.live for one in (*model.contexts, *reads.contexts))


def test_a_writer_is_not_asked_for_what_is_not_there() -> None:
    model, _ = writer()
    with Runtime(SHALLOW, model=model, judge=judge()) as runtime:
        runtime._loaded.judge().support = NONE  # type: ignore[union-attr]
        answer = runtime.ask(DOCUMENT, "What is the telephone number of Brandt?")
    assert answer.status == "not_found"
    assert not model.contexts


@pytest.mark.parametrize("changes", [{"answer": "yesno"}, {"prose": False}])
def test_a_writer_is_not_loaded_if_the_judge_s_quotation_answers(changes: dict[str, object]) -> None:
    model, _ = writer()
    with Runtime(SHALLOW.with_changes(**changes), model=model, judge=judge()) as runtime:
        answer = runtime.ask(DOCUMENT, QUESTION)
    assert answer.status != "not_found"
    assert answer.evidence
    assert changes.get("prose", True) or answer.text.startswith("4,000 crowns\n")
    assert not model.contexts


def test_what_the_judge_has_read_serves_every_writer(tmp_path: Path) -> None:
    reads, kept = judge(), SHALLOW.with_changes(save=True, readings=tmp_path)
    for number, name in enumerate(("one", "two", "three")):
        says = f"She paid 4,000 crowns, says writer {name}."
        with Runtime(kept, model=writer(says)[0], judge=reads) as runtime:
            answer = runtime.ask(DOCUMENT, QUESTION)
        assert answer.text.startswith(says)
        read, known = answer.usage.prefilled_tokens, answer.usage.reused_tokens
        assert (read > 0, known > 0) == (number == 0, number > 0)


def test_a_deep_pattern_has_no_judge_unless_one_is_named() -> None:
    loaded = LoadedModels(Settings(pattern="wim"), FakeModel(), judge=FakeModel())
    roles = roles_for(loaded, [DOCUMENT])
    assert roles.reader is loaded
    assert roles.writer is roles.auxiliary is None


def test_the_embedded_model_judges_for_a_file_of_the_user_s(house: Path) -> None:

    def roles(**changes: object) -> tuple[str | None, str | None, str]:
        loaded = LoadedModels(Settings(model=str(house)).with_changes(**changes))
        found = roles_for(loaded, [DOCUMENT])
        reader = None if found.reader is loaded else found.reader.name
        return reader, found.writer and found.writer.name, found.resolved.pattern.name

    assert roles() == ("smollm2-135m", "house", "wim-shallow")
    assert roles(pattern="rag") == ("smollm2-135m", "house", "rag")
    assert roles(prose=False) == ("smollm2-135m", None, "wim-shallow")
    assert roles(pattern="wim") == (None, None, "wim")
    for own in ({"judge": "self"}, {"relevance": "verdict"}, {"margins": "free"}):
        assert roles(pattern="wim-shallow", **own) == (None, None, "wim-shallow")
    assert roles(judge=str(house)) == ("house", "house", "wim-shallow")


def test_the_judge_reads_with_its_own_settings(house: Path) -> None:
    loaded = LoadedModels(Settings(model=str(house), max_passages=2))
    resolved = roles_for(loaded, [DOCUMENT]).resolved
    assert (resolved.segment_tokens, resolved.max_passages) == (256, 2)
    assert resolved.settings.adapter == "smollm2-135m.gguf"
    assert loaded.resolved().settings.adapter is None


def test_a_writer_s_file_that_cannot_be_loaded_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    file = written(tmp_path / "broken.gguf", b"GGUF")
    with Runtime(Settings(model=str(file), save=False), judge=judge()) as runtime, pytest.raises(ModelError):
        runtime.stream(DOCUMENT, QUESTION)


def test_changed_settings_share_the_judge() -> None:
    model, reads = writer()[0], judge()
    with Runtime(SHALLOW, model=model, judge=reads) as runtime:
        for changes in ({"max_passages": 1}, {"answer": "fact"}):
            with runtime.with_changes(**changes) as other:
                assert other.ask(DOCUMENT, QUESTION).judge == "fake"
        with runtime.with_changes(judge="self") as other:
            assert other.ask(DOCUMENT, QUESTION).judge is None


@pytest.mark.real
def test_two_writers_in_two_processes_read_the_text_once(gemma3: Path, tmp_path: Path) -> None:
    text = written(tmp_path / "mill.txt", MILL * 4)
    ask = [sys.executable, "-m", "wim_edge", "ask", "--json", "--pattern", "wim-shallow", "--answer-tokens", "8"]
    ask += [str(text), "What did Brandt pay for the mill?"]
    usage = []
    for model in ("smollm2-135m", str(gemma3)):
        done = subprocess.run([*ask, "--model", model], capture_output=True, encoding="utf-8", check=False)
        assert done.returncode in (0, 11), done.stderr
        usage.append(events.from_dict(json.loads(done.stdout.splitlines()[-1])).usage)  # type: ignore[attr-defined]
    first, second = usage
    assert first.prefilled_tokens > 0
    assert second.reused_tokens > 0
    assert second.prefilled_tokens < first.prefilled_tokens / 2


def test_what_a_process_takes_counts_the_judge(smollm2: Path, tmp_path: Path) -> None:
    file = tmp_path / "house.gguf"
    file.symlink_to(smollm2)
    one, both = (process_memory(Settings(model=str(file), judge=name)) for name in ("self", None))
    judge = LoadedModels(Settings(model="smollm2-135m")).memory_bytes()
    assert both - one == judge > smollm2.stat().st_size
    assert process_memory(Settings(model=str(file), prose=False)) == judge + WORKING_SPACE


def test_settings_are_told_with_the_judge_that_reads(house: Path) -> None:
    told = resolved_settings(Settings(model=str(house))).explained()
    assert told["judge"] == {"value": "smollm2-135m", "origin": "default"}
    assert (told["pattern"]["value"], told["segment_tokens"]["value"]) == ("wim-shallow", 256)
    assert told["model"]["value"] == str(house)
    assert resolved_settings(Settings(model="nothing")).explained()["judge"]["value"] is None


def test_what_was_tuned_for_the_judge_counts_when_it_judges(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"smollm2-135m": {"n_batch": 64}, "house": {"n_batch": 128}}
    monkeypatch.setattr(
        "wim_edge.loaded_models.load_tuned", lambda path: found["house" if path == house else "smollm2-135m"]
    )
    roles = roles_for(LoadedModels(Settings(model=str(house))), [DOCUMENT])
    assert (roles.resolved.settings.n_batch, roles.writer.resolved().settings.n_batch) == (64, 128)


def test_with_layers_on_other_machines_the_judge_stays_here(house: Path) -> None:
    roles = roles_for(LoadedModels(Settings(model=str(house), rpc="127.0.0.1:1")), [DOCUMENT])
    own, settings = roles.writer.settings, roles.reader.settings
    assert (own.rpc, own.n_gpu_layers, settings.rpc, settings.n_gpu_layers) == ("127.0.0.1:1", None, None, 0)


def test_without_a_question_the_usual_roles_are_known_and_nothing_is_loaded() -> None:
    with Runtime(Settings(save=False), model=writer()[0], judge=judge()) as runtime:
        roles = runtime.roles()
        assert (roles.judge, roles.writer) == (roles.reader, roles.model)
        assert roles.used == [roles.reader, roles.model]
        assert runtime.with_changes(judge="self").roles().judge is None
        assert runtime.with_changes(pattern="wim").roles().judge is None
