"""The Model Context Protocol, through the `mcp` package's own client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.slow import SMALL, TEXT, Slow
from wim_edge import Runtime
from wim_edge.errors import LibraryError
from wim_edge.library.ingest import add
from wim_edge.library.library import Library


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


def using(model: Slow, folder: Path, use: Callable[[Any], Any], libraries: tuple[str, ...] = ()) -> Any:
    from mcp.client.client import Client

    from wim_edge.server.mcp_server import make_server

    server = make_server(SMALL, [folder], libraries, open_runtime=lambda settings: Runtime(settings, model=model))

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
        assert set(tools) == {"ask_document", "get_text", "read_document", "list_files", "list_readings"}
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
        assert (found["model"], found["judge"]) == ("fake", None)
        assert (found["status"], found["unsupported"], found["quotes"]) == ("answered", [], [])  # margins are free here
        start, end = found["sources"][0]["characters"]
        assert TEXT[start:end].strip()
        assert found["sources"][0]["opens"] == f"{path}:1"
        part = await client.call_tool("get_text", {"path": "story.txt", "start": start, "characters": end - start})
        assert part.structured_content == {
            "text": TEXT[start:end], "characters": [start, end], "of": len(TEXT), "page": None, "section": None,
        }  # fmt: skip
        (kept,) = (await client.call_tool("list_readings", {})).structured_content["result"]
        assert kept["tokens"] == kept["of_tokens"]

    using(model, folder, use)
    assert told[-1][0] == told[-1][1]
    assert any(message and message.startswith("margin: ") for _, _, message in told)


def test_a_folder_is_listed_alone_and_a_text_part_by_part(model: Slow, folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "one.md").write_text("# One\n\nThe first.\n")
    (folder / "two.txt").write_text("x" * 30_000)

    async def use(client: Any) -> None:
        for given in ("a", str(folder / "a"), "a/b"):
            found = await client.call_tool("list_files", {"folder": given})
            assert found.structured_content == {"result": [str(folder / "a" / "b" / "one.md")]}
        assert (await client.call_tool("list_files", {"folder": ".."})).structured_content == {"result": []}
        one = (await client.call_tool("get_text", {"path": "a/b/one.md"})).structured_content
        assert (one["text"].split(), one["section"]) == (["#", "One", "The", "first."], "One")
        first = (await client.call_tool("get_text", {"path": "two.txt"})).structured_content
        assert (first["characters"], first["of"]) == ([0, 20_000], 30_000)
        rest = (await client.call_tool("get_text", {"path": "two.txt", "start": 20_000})).structured_content
        assert len(first["text"] + rest["text"]) == 30_000
        over = (await client.call_tool("get_text", {"path": "two.txt", "start": 40_000})).structured_content
        assert (over["text"], over["characters"]) == ("", [30_000, 30_000])
        assert (await client.call_tool("get_text", {"path": str(folder.parent / "secret.txt")})).is_error

    using(model, folder, use)


def test_a_file_whose_name_is_not_utf8_is_listed_and_asked(model: Slow, folder: Path) -> None:
    (folder / "b.txt").write_text("Words.")
    try:
        Path(os.fsdecode(os.path.join(os.fsencode(folder), b"a\xfc.txt"))).write_text(TEXT)
    except OSError:
        pytest.skip("the file system refuses such a name")

    async def use(client: Any) -> None:
        odd, plain = (await client.call_tool("list_files", {})).structured_content["result"]
        assert (odd, plain) == (str(folder / r"a\xfc.txt"), str(folder / "b.txt"))
        found = await client.call_tool("ask_document", {"path": odd, "question": "Which colour?"})
        assert found.structured_content["sources"][0]["document"] == r"a\xfc"

    using(model, folder, use)


def test_libraries_that_were_named_are_listed_read_and_asked(model: Slow, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "tide.txt").write_text("The tide turns at six.\n")
    for name in ("papers", "secret"):
        list(add(Library(name, create=True), [tmp_path / "kept"]))

    async def use(client: Any) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"ask_library", "find_passages", "list_libraries", "list_documents"} < tools
        libraries = await client.call_tool("list_libraries", {})
        assert libraries.structured_content == {"result": [{"name": "papers", "documents": 1}]}
        asked = {"library": "papers", "question": "When does the tide turn?"}
        documents = (await client.call_tool("list_documents", {"library": "papers"})).structured_content["result"]
        assert [(one["name"], one["characters"]) for one in documents] == [("tide", 23)]
        (passage,) = (await client.call_tool("find_passages", asked)).structured_content["result"]
        assert (passage["document"], passage["text"].strip()) == ("tide", "The tide turns at six.")
        text = await client.call_tool("get_text", {"path": "tide", "library": "papers"})
        assert text.structured_content["text"] == "The tide turns at six.\n"
        answer = (await client.call_tool("ask_library", asked)).structured_content
        assert answer["answer"].startswith("an answer")
        assert answer["sources"][0]["opens"] == f"{tmp_path / 'kept' / 'tide.txt'}:1"
        for tool, given in (("ask_library", asked), ("find_passages", asked), ("list_documents", {}),
                            ("get_text", {"path": "tide"})):  # fmt: skip
            refused = await client.call_tool(tool, {**given, "library": "secret"})
            assert refused.is_error
            assert "none that may be asked. Libraries: papers." in text_of(refused)
        gone = await client.call_tool("get_text", {"path": "none", "library": "papers"})
        assert "has no document none" in text_of(gone)

    using(model, folder, use, ("papers",))


def test_a_library_that_is_not_there_is_an_error_at_once(folder: Path) -> None:
    from wim_edge.server.mcp_server import make_server

    with pytest.raises(LibraryError, match="no library papers"):
        make_server(SMALL, [folder], ["papers"])


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
