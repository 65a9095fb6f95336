"""The Model Context Protocol, through the `mcp` package's own client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.conftest import written
from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Runtime
from wim_edge.errors import LibraryError
from wim_edge.library.ingest import add
from wim_edge.library.library import Library
from wim_edge.server import job_queue

pytestmark = pytest.mark.anyio


class Assistant:
    """Calls tools, and returns what they answer."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def __call__(self, tool: str, given: dict[str, Any] | None = None, **more: Any) -> Any:
        found = await self.client.call_tool(tool, given or {}, **more)
        assert not found.is_error, found
        return found.structured_content.get("result", found.structured_content)

    async def error(self, tool: str, given: dict[str, Any]) -> str:
        found = await self.client.call_tool(tool, given)
        assert found.is_error
        return "".join(part.text for part in found.content)

    async def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}


@asynccontextmanager
async def assistant(model: Slow, folder: Path, libraries: tuple[str, ...] = ()) -> AsyncIterator[Assistant]:
    from mcp.client.client import Client

    from wim_edge.server.mcp_server import make_server

    with patch.object(job_queue, "Runtime", lambda settings: Runtime(settings, model=model)):
        async with Client(make_server(SMALL, [folder], libraries)) as client:
            yield Assistant(client)


async def test_documents_are_asked_read_and_listed(model: Slow, folder: Path) -> None:
    path = written(folder / "story.txt", TEXT)
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(at: float, of: float | None, message: str | None) -> None:
        told.append((at, of, message))

    async with assistant(model, folder) as call:
        tools = await call.tools()
        assert set(tools) == {"ask_document", "get_text", "read_document", "list_files", "list_readings"}
        assert all(tool.description for tool in tools.values())
        assert await call("list_files") == [str(path)]
        assert await call("list_readings") == []
        read = await call("read_document", {"path": str(path)})
        assert read["kept_tokens"] == read["tokens"] > 100
        asked = {"path": "story.txt", "question": "Which colour?"}
        found = await call("ask_document", asked, progress_callback=progress)
        assert found["answer"].startswith("an answer")
        assert (found["model"], found["judge"]) == ("fake", None)
        assert (found["status"], found["unsupported"], found["quotes"]) == ("answered", [], [])  # margins are free here
        start, end = found["sources"][0]["characters"]
        assert TEXT[start:end].strip()
        assert found["sources"][0]["opens"] == f"{path}:1"
        assert await call("get_text", {"path": "story.txt", "start": start, "characters": end - start}) == {
            "text": TEXT[start:end], "characters": [start, end], "of": len(TEXT), "page": None, "section": None,
        }  # fmt: skip
        (kept,) = await call("list_readings")
        assert kept["tokens"] == kept["of_tokens"]
    assert told[-1][0] == told[-1][1]
    assert any(message and message.startswith("margin: ") for _, _, message in told)


async def test_a_folder_is_listed_alone_and_a_text_part_by_part(model: Slow, folder: Path) -> None:
    written(folder / "a" / "b" / "one.md", "# One\n\nThe first.\n")
    (folder / "two.txt").write_text("x" * 30_000)
    async with assistant(model, folder) as call:
        for given in ("a", str(folder / "a"), "a/b"):
            assert await call("list_files", {"folder": given}) == [str(folder / "a" / "b" / "one.md")]
        assert await call("list_files", {"folder": ".."}) == []
        one = await call("get_text", {"path": "a/b/one.md"})
        assert (one["text"].split(), one["section"]) == (["#", "One", "The", "first."], "One")
        first = await call("get_text", {"path": "two.txt"})
        assert (first["characters"], first["of"]) == ([0, 20_000], 30_000)
        rest = await call("get_text", {"path": "two.txt", "start": 20_000})
        assert len(first["text"] + rest["text"]) == 30_000
        over = await call("get_text", {"path": "two.txt", "start": 40_000})
        assert (over["text"], over["characters"]) == ("", [30_000, 30_000])
        await call.error("get_text", {"path": str(folder.parent / "secret.txt")})


async def test_a_file_whose_name_is_not_utf8_is_listed_and_asked(model: Slow, folder: Path) -> None:
    (folder / "b.txt").write_text("Words.")
    try:
        Path(os.fsdecode(os.path.join(os.fsencode(folder), b"a\xfc.txt"))).write_text(TEXT)
    except OSError:
        pytest.skip("the file system refuses such a name")
    async with assistant(model, folder) as call:
        odd, plain = await call("list_files")
        assert (odd, plain) == (str(folder / r"a\xfc.txt"), str(folder / "b.txt"))
        found = await call("ask_document", {"path": odd, "question": "Which colour?"})
        assert found["sources"][0]["document"] == r"a\xfc"


async def test_libraries_that_were_named_are_listed_read_and_asked(model: Slow, folder: Path, tmp_path: Path) -> None:
    written(tmp_path / "kept" / "tide.txt", "The tide turns at six.\n")
    for name in ("papers", "secret"):
        list(add(Library(name, create=True), [tmp_path / "kept"]))
    async with assistant(model, folder, ("papers",)) as call:
        assert {"ask_library", "find_passages", "list_libraries", "list_documents"} < set(await call.tools())
        assert await call("list_libraries") == [{"name": "papers", "documents": 1}]
        asked = {"library": "papers", "question": "When does the tide turn?"}
        (document,) = await call("list_documents", {"library": "papers"})
        assert (document["name"], document["characters"]) == ("tide", 23)
        (passage,) = await call("find_passages", asked)
        assert (passage["document"], passage["text"].strip()) == ("tide", "The tide turns at six.")
        text = await call("get_text", {"path": "tide", "library": "papers"})
        assert text["text"] == "The tide turns at six.\n"
        answer = await call("ask_library", asked)
        assert answer["answer"].startswith("an answer")
        assert answer["sources"][0]["opens"] == f"{tmp_path / 'kept' / 'tide.txt'}:1"
        for tool, given in (("ask_library", asked), ("find_passages", asked), ("list_documents", {}),
                            ("get_text", {"path": "tide"})):  # fmt: skip
            said = await call.error(tool, {**given, "library": "secret"})
            assert "may not be asked. Libraries: papers." in said
        assert "has no document none" in await call.error("get_text", {"path": "none", "library": "papers"})


def test_a_library_that_is_not_there_is_an_error_at_once(folder: Path) -> None:
    from wim_edge.server.mcp_server import make_server

    with pytest.raises(LibraryError, match="no library papers"):
        make_server(SMALL, [folder], ["papers"])


async def test_errors_say_why_and_no_other_file_is_read(model: Slow, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "empty.txt").write_text(" ")
    (folder / "a.txt").write_text("words")
    async with assistant(model, folder) as call:
        for path, question, why in (
            (tmp_path / "secret.txt", "a?", "no file of a folder"), ("../secret.txt", "a?", "no file of a folder"),
            ("empty.txt", "a?", "empty"), ("a.txt", " ", "question is empty"),
        ):  # fmt: skip
            assert why in await call.error("ask_document", {"path": str(path), "question": question})


async def test_a_request_that_is_given_up_is_cancelled(model: Slow, folder: Path) -> None:
    (folder / "story.txt").write_text(TEXT)
    model.seconds = 1.0
    async with assistant(model, folder) as call:
        arguments = {"path": str(folder / "story.txt"), "question": "Which?"}
        begun = asyncio.Event()

        async def progress(*_: Any) -> None:
            begun.set()

        task = asyncio.create_task(call("ask_document", arguments, progress_callback=progress))
        await asyncio.wait_for(begun.wait(), 20)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for _ in range(2000):
            kept = await call("list_readings")
            if kept and kept[0]["tokens"]:
                break
            await asyncio.sleep(0.01)
        assert 0 < kept[0]["tokens"] < kept[0]["of_tokens"]
        model.seconds = 0.0
        await asyncio.wait_for(call("ask_document", arguments), 20)
