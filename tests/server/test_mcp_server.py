"""The Model Context Protocol, through the `mcp` package's own client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Runtime


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


def using(model: Slow, folder: Path, use: Callable[[Any], Any]) -> Any:
    from mcp.client.client import Client

    from wim_edge.server.mcp_server import make_server

    server = make_server(SMALL, [folder], open_runtime=lambda settings: Runtime(settings, model=model))

    async def run() -> Any:
        async with Client(server) as client:
            return await use(client)

    return asyncio.run(run())


def test_documents_are_asked_read_and_listed(model: Slow, folder: Path) -> None:
    path = folder / "story.txt"
    path.write_text(TEXT)
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(at: float, of: float | None, message: str | None) -> None:
        told.append((at, of, message))

    async def use(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"ask_document", "read_document", "list_files", "list_readings"}
        assert (await client.call_tool("list_files", {})).structured_content == {"result": [str(path)]}
        assert all(tool.description for tool in tools.values())
        assert (await client.call_tool("list_readings", {})).structured_content == {"result": []}
        read = await client.call_tool("read_document", {"path": str(path)})
        assert read.structured_content["kept_tokens"] == read.structured_content["tokens"] > 100
        asked = await client.call_tool(
            "ask_document", {"path": "story.txt", "question": "Which colour?"}, progress_callback=progress
        )
        assert not asked.is_error
        found = asked.structured_content
        assert found["answer"].startswith("an answer")
        assert (found["status"], found["unsupported"], found["quotes"]) == ("answered", [], [])  # margins are free here
        start, end = found["sources"][0]["characters"]
        assert TEXT[start:end].strip()
        (kept,) = (await client.call_tool("list_readings", {})).structured_content["result"]
        assert kept["tokens"] == kept["of_tokens"]

    using(model, folder, use)
    assert told[-1][0] == told[-1][1]
    assert any(message and message.startswith("margin: ") for _, _, message in told)


def test_what_goes_wrong_is_told_and_no_other_file_is_read(model: Slow, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "empty.txt").write_text(" ")

    async def use(client: Any) -> None:
        for path, why in ((tmp_path / "secret.txt", "no file of a folder"),
                          (folder / ".." / "secret.txt", "no file of a folder"), (folder / "empty.txt", "empty")):
            found = await client.call_tool("ask_document", {"path": str(path), "question": "a?"})
            assert found.is_error
            assert why in text_of(found)
        (folder / "a.txt").write_text("words")
        found = await client.call_tool("ask_document", {"path": str(folder / "a.txt"), "question": " "})
        assert "question is empty" in text_of(found)

    using(model, folder, use)


def test_one_that_is_given_up_is_cancelled(model: Slow, folder: Path) -> None:
    (folder / "story.txt").write_text(TEXT)
    model.seconds = 1.0

    async def use(client: Any) -> None:
        arguments = {"path": str(folder / "story.txt"), "question": "Which?"}
        begun = asyncio.Event()

        async def progress(*_: Any) -> None:
            begun.set()

        task = asyncio.create_task(client.call_tool("ask_document", arguments, progress_callback=progress))
        await asyncio.wait_for(begun.wait(), 20)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for _ in range(2000):
            kept = (await client.call_tool("list_readings", {})).structured_content["result"]
            if kept and kept[0]["tokens"]:
                break
            await asyncio.sleep(0.01)
        assert 0 < kept[0]["tokens"] < kept[0]["of_tokens"]
        model.seconds = 0.0
        found = await asyncio.wait_for(client.call_tool("ask_document", arguments), 20)
        assert not found.is_error

    using(model, folder, use)
