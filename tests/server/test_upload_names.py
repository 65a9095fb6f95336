"""The names of uploaded files: kept as given, however the client writes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.conftest import Client

LONG = "文" * 83 + ".txt"  # 253 bytes


@pytest.mark.parametrize(("header", "name"), [
    (f'filename="{LONG}"', LONG),
    ('filename="a%22b%20c.txt"', 'a"b%20c.txt'),  # as browsers escape
    ('filename="a%20%E6%96%87.txt"', "a 文.txt"),  # as aiohttp does
    ('filename="a %E6%96%87.txt"', "a %E6%96%87.txt"), ('filename="%FF.txt"', "%FF.txt"),
    ("filename*=UTF-8''%E6%96%87%3B.txt", "文;.txt"),
    ("filename=\"x.txt\"; filename*=utf-8'en'%E6%96%87.txt", "文.txt"),
    ("filename*=iso-8859-1''%FCb.txt; filename=x.txt", "üb.txt"),
    ("filename=\"a; filename*=UTF-8''b.txt\"", "a; filename*=UTF-8''b.txt"),
])  # fmt: skip
def test_a_name_is_kept_as_given(client: Client, header: str, name: str) -> None:
    response = post(client, header, "The ferry sails: ü.".encode())
    assert (response["file"], response["chars"]) == (name, 19)


@pytest.mark.parametrize("value", ["UTF-8''%FF.txt", "no-charset''a.txt", "a.txt"])
def test_a_name_that_cannot_be_decoded_is_an_error(client: Client, value: str) -> None:
    error = post(client, f"filename*={value}", b"words", 400)["error"]
    assert error["message"] == "filename* of the upload cannot be decoded"


@pytest.mark.parametrize(("content", "status"), [(b"no form", 400), (b"--b\r\n\r\nwords\r\n--b--\r\n", 400),
                                                 (b"--b--\r\n", 422)])  # fmt: skip
def test_a_form_without_a_file_is_an_error(client: Client, content: bytes, status: int) -> None:
    headers = {"content-type": "multipart/form-data; boundary=b"}
    assert client.post("/api/documents", content=content, headers=headers).status_code == status


def post(client: Client, header: str, data: bytes, status: int = 201) -> dict[str, Any]:
    body = f'--b\r\nContent-Disposition: form-data; name="file"; {header}\r\n\r\n'.encode() + data + b"\r\n--b--\r\n"
    response = client.post("/api/documents", content=body, headers={"content-type": "multipart/form-data; boundary=b"})
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found
