"""The names of uploaded files, as clients send them in multipart forms.

    filename="a%22b.txt"                browsers: three characters are escaped
    filename="%E6%96%87.txt"            aiohttp: everything is escaped
    filename*=UTF-8''%E6%96%87.txt      RFC 5987, which takes precedence over `filename`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

from fastapi.routing import APIRoute
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response

from wim_edge.errors import InvalidRequestError

_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_EXTENDED = re.compile(r";\s*filename\*\s*=\s*([^;]*)", re.IGNORECASE)
_PLAIN = re.compile(r";\s*filename\s*=", re.IGNORECASE)
_BROWSER_ESCAPES = (("%22", '"'), ("%0D", " "), ("%0A", " "))


def upload_name(file: UploadFile) -> str:
    """Returns the name of an uploaded file. Raises InvalidRequestError for a `filename*` that cannot be decoded."""
    found = _EXTENDED.search(_QUOTED.sub('""', file.headers.get("content-disposition", "")))
    if found:
        return _extended(found[1].strip())
    name = file.filename or "document"
    decoded = unquote(name)
    if not decoded.isascii() and quote(decoded, safe="") == name:  # no browser escapes all of a name
        return decoded
    for escaped, char in _BROWSER_ESCAPES:
        name = name.replace(escaped, char)
    return name


def _extended(value: str) -> str:
    """Returns the name in a value of RFC 5987: charset'language'escaped."""
    try:
        charset, _, escaped = value.split("'", 2)
        return unquote_to_bytes(escaped).decode(charset)
    except (LookupError, ValueError) as error:
        raise InvalidRequestError(
            "filename* of the upload cannot be decoded", "Send filename*=UTF-8''NAME with NAME percent-encoded."
        ) from error


class UploadRoute(APIRoute):
    """A route whose files may have `filename*` as their only name, which Starlette reads as a text field."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_upload(request: Request) -> Response:
            return await handle(_UploadRequest(request.scope, request.receive))

        return handle_upload


class _UploadRequest(Request):
    async def _get_form(self, **limits: Any) -> FormData:
        if self._form is None and self.headers.get("content-type", "").startswith("multipart/form-data"):
            try:
                self._form = await _FormParser(self.headers, self.stream(), **limits).parse()
            except MultiPartException as error:
                raise HTTPException(400, error.message) from error
        return await super()._get_form(**limits)


class _FormParser(MultiPartParser):
    def on_header_end(self) -> None:
        super().on_header_end()
        header = self._current_part.content_disposition or b""
        unquoted = _QUOTED.sub('""', header.decode("latin-1"))
        if _EXTENDED.search(unquoted) and not _PLAIN.search(unquoted):
            self._current_part.content_disposition = header + b'; filename="document"'
