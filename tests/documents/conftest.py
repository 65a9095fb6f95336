from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wim_edge.documents import Document, read_document
from wim_edge.errors import DocumentError
from wim_edge.settings import Settings

Read = Callable[[str, "bytes | str"], Document]
Refuse = Callable[[str, "bytes | str"], DocumentError]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write a file and read it as a document."""

    def read(name: str, content: bytes | str) -> Document:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        document = read_document(path, limits=Settings())  # as the command line and the server read
        assert document.name == name
        assert document.path == path
        assert "\r" not in document.text
        document.text.encode()  # no lone surrogates
        return document

    return read


@pytest.fixture
def refuse(read: Read) -> Refuse:
    """The error for a file: one line that starts with its name, and one line of advice."""

    def refuse(name: str, content: bytes | str) -> DocumentError:
        with pytest.raises(DocumentError) as caught:
            read(name, content)
        message, hint = str(caught.value), caught.value.hint
        assert message.startswith(name + ": ")
        assert hint
        assert "\n" not in message + hint
        return caught.value

    return refuse
