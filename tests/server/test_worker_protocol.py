"""The lines of the worker: any of them is answered."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Runtime
from wim_edge.server.worker_protocol import serve


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("line", ["[" * 200_000, '{"id":1,"do":"judge","segment":Infinity,"accepted":true}',
                                  '{"id":1,"do":"ask","question":"a","documents":["-"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":["/"]}',
                                  '{"id":1,"do":"ask","question":"a","documents":[],"settings":{"model":["a"]}}',
                                  ])  # fmt: skip
def test_the_worker_lives_on_after_any_line(model: Slow, line: str) -> None:
    import io

    from tests.server.slow import SMALL
    from wim_edge import Runtime
    from wim_edge.server.worker_protocol import serve

    model.seconds = 0.01
    ask = json.dumps({"id": 1, "do": "ask", "question": "Which?", "documents": [{"name": "a", "text": TEXT}]})
    out = io.StringIO()

    def lines() -> Any:
        yield ask
        yield line
        yield ask.replace('"id": 1', '"id": 2')
        while not any(json.loads(told)["id"] == 2 and "finished" in told for told in out.getvalue().splitlines()):
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=model))
    told = [json.loads(one) for one in out.getvalue().splitlines()]
    assert any(one["type"] == "error" and one["error"] == "InvalidRequestError" for one in told)
    assert [one["id"] for one in told if one["type"] == "answer.finished"] == [1, 2]


def test_lines_that_are_no_requests_are_answered(story: Path) -> None:
    asked = [{"id": 1, "do": "ask"}, {"id": 2, "do": "dance"}, {"id": 9, "do": "cancel"},
             {"id": 3, "do": "ask", "documents": [{}], "question": "a?"},
             {"id": 4, "do": "complete", "prompt": "Once"}]  # fmt: skip
    requests = ["no json", "[]", "3", *map(json.dumps, asked)]
    out = io.StringIO()

    def lines() -> Any:
        yield from requests
        while '"completion.finished"' not in out.getvalue():
            time.sleep(0.01)

    serve(lines(), out, SMALL, open_runtime=lambda settings: Runtime(settings, model=Slow()))
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    errors = [(one["id"], one["error"]) for one in told if one["type"] == "error"]
    assert errors == [(number, "InvalidRequestError") for number in (None, None, None, 1, 2, 3)]
    assert {one["id"] for one in told if one["type"].startswith("completion")} == {4}
