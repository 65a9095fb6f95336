"""The stream of events as an asynchronous one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.server.slow import SMALL, Slow
from wim_edge import Runtime, events
from wim_edge.asyncio_api import astream
from wim_edge.errors import DocumentError

pytestmark = pytest.mark.anyio


async def test_astream_is_the_stream(story: Path) -> None:
    with Runtime(SMALL, model=Slow()) as runtime:
        found = [event async for event in astream(runtime, story, "Which colour?")]
        assert isinstance(found[-1], events.AnswerFinished)
        with pytest.raises(DocumentError, match="no such file"):
            [event async for event in astream(runtime, "nothing.txt", "Which?")]


async def test_a_task_that_is_cancelled_cancels_the_reading(story: Path) -> None:
    model = Slow()
    model.seconds = 0.05
    with Runtime(SMALL, model=model) as runtime:
        begun = asyncio.Event()

        async def watch() -> None:
            async for _ in astream(runtime, story, "Which colour?"):
                begun.set()

        task = asyncio.create_task(watch())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        model.seconds = 0.0
        async with aclosing(astream(runtime, story, "Which colour?")) as found:
            async for event in found:
                if isinstance(event, events.SegmentRead):
                    break
        assert runtime.ask(story, "Which colour?").text  # it is free
