"""Saved readings of real models: restored in another process, they are what they were."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wim_edge import Document, Runtime, Settings, events

pytestmark = pytest.mark.real

_ASK = """
import json, pathlib, sys
from wim_edge import Document, Runtime, Settings, events
options = json.loads(sys.argv[1])
if "readings" in options:
    options["readings"] = pathlib.Path(options["readings"])
text = open(options.pop("text"), encoding="utf-8").read()
with Runtime(Settings(**options)) as runtime:
    found = list(runtime.stream(Document("text", text), sys.argv[2]))
print(json.dumps({
    "scores": [(e.segment, e.relevance) for e in found if isinstance(e, events.SegmentScored)],
    "margins": [(e.segment, e.text) for e in found if isinstance(e, events.MarginJudged)],
    "answer": found[-1].text, "read": found[-1].usage.prefilled_tokens, "known": found[-1].usage.reused_tokens,
    "warnings": [e.text for e in found if isinstance(e, events.Warning)],
}))
"""


def ask(options: dict[str, object], question: str) -> dict[str, Any]:
    """In a process of its own."""
    command = [sys.executable, "-c", _ASK, json.dumps(options), question]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


@pytest.mark.parametrize("which", ["smollm2", "gemma3", "mamba", "lfm2", "gemma3-tiny"])
@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_the_second_question_of_another_process_reads_nothing(
    which: str, pattern: str, request: pytest.FixtureRequest, tmp_path: Path, long_text: str
) -> None:
    if which in ("smollm2", "gemma3"):
        model = request.getfixturevalue(which)
    else:
        from tests.tiny import write_tiny

        model = write_tiny(tmp_path / f"{which}.gguf", which.removesuffix("-tiny"))
    (tmp_path / "text").write_text(long_text[:3000], encoding="utf-8")
    options: dict[str, object] = {
        "model": str(model), "pattern": pattern, "text": str(tmp_path / "text"), "segment_tokens": 128,
        "answer_tokens": 12, "max_passages": 1, "n_threads": 1, "readings": str(tmp_path / "readings"),
        "relevance": "likelihood-gain" if pattern == "wim" else "likelihood",
    }  # fmt: skip
    fresh = ask({**options, "save": False}, "Who may copy it?")
    first = ask(options, "What is the GPL for?")
    assert first["known"] == 0
    second = ask(options, "Who may copy it?")
    assert second["known"] == first["read"]
    assert second["read"] == 0  # one passage, and its state is put back
    assert len(second["margins"]) <= 1  # that passage's alone
    fresh["margins"] = [one for one in fresh["margins"] if one[0] in dict(second["margins"])]
    if which != "gemma3-tiny" and (which, pattern) != ("gemma3", "wim"):  # to the last bit
        assert {**second, "known": 0, "read": 0} == {**fresh, "known": 0, "read": 0}
    else:  # cells of a window lie in another order, so that sums round otherwise
        assert second["scores"] == [[n, pytest.approx(relevance, abs=0.1)] for n, relevance in fresh["scores"]]


@pytest.mark.parametrize("which", ["smollm2", "mamba", "lfm2", "gemma3-tiny"])
@pytest.mark.parametrize("pattern", ["wim", "wim-shallow"])
def test_margins_of_a_known_text_are_written_together(
    which: str, pattern: str, request: pytest.FixtureRequest, tmp_path: Path, long_text: str
) -> None:
    from tests.tiny import write_tiny

    model = request.getfixturevalue(which) if which == "smollm2" else write_tiny(
        tmp_path / "tiny.gguf", which.removesuffix("-tiny")
    )  # fmt: skip
    settings = Settings(
        model=str(model), pattern=pattern, segment_tokens=128, answer_tokens=4, margins="free", margin_tokens=12,
        max_passages=3, relevance_threshold=0.0, relevance="likelihood-gain" if pattern == "wim" else "likelihood",
    )  # fmt: skip
    text, asked = Document("text", long_text[:3000]), "Who may copy it?"
    with Runtime(settings) as runtime:
        runtime.ask(text, "What is the GPL for?")
        found = list(runtime.stream(text, asked))
        again = list(runtime.stream(text, asked))
    first, *_ = [e.ranking for e in found if isinstance(e, events.ReadingRanked)]
    margins = {e.segment: e.text for e in found if isinstance(e, events.MarginJudged)}
    assert set(margins) >= {one.segment for one in first if one.chosen}
    assert len(margins) > 1
    assert found[-1].usage.reused_tokens  # type: ignore[attr-defined]
    assert margins == {e.segment: e.text for e in again if isinstance(e, events.MarginJudged)}
    assert found[-1].text == again[-1].text  # type: ignore[attr-defined]


def test_a_changed_model_file_is_another_model(tmp_path: Path, long_text: str) -> None:
    from tests.tiny import write_tiny

    model = write_tiny(tmp_path / "tiny.gguf", "llama")
    settings = Settings(model=str(model), pattern="llm", segment_tokens=128, answer_tokens=4)

    def reused(chosen: Settings) -> int:
        with Runtime(chosen) as runtime:
            return runtime.ask(Document("text", long_text[:1500]), "Why?").usage.reused_tokens

    assert reused(settings) == 0
    assert reused(settings) > 0
    assert reused(settings.but(kv_type="f32")) == 0
    shutil.copy(model, tmp_path / "copy.gguf")
    assert reused(settings.but(model=str(tmp_path / "copy.gguf"))) > 0  # the same bytes under another name
    write_tiny(model, "llama", seed=8)
    assert reused(settings) == 0


def test_a_document_that_grew_and_one_that_was_stopped(smollm2: Path, long_text: str) -> None:
    settings = Settings(model=str(smollm2), pattern="wim-shallow", segment_tokens=128, answer_tokens=4)
    with Runtime(settings) as runtime:
        for event in runtime.stream(Document("text", long_text[:3000]), "Why?"):
            if isinstance(event, events.SegmentRead) and event.segment == 1:
                runtime.cancel()
    with Runtime(settings) as runtime:
        resumed = runtime.ask(Document("text", long_text[:3000]), "Why?").usage
        assert 0 < resumed.reused_tokens <= 2 * 128
        grown = runtime.ask(Document("text", long_text[:4000]), "Why?").usage
        assert grown.reused_tokens > 300
