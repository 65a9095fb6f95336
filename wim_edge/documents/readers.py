"""The reader of any file. Content identifies PDF, pictures, RTF, calendars, archives and old Office files; the ending
identifies all others. HTML without an ending is identified by its beginning. Readers are loaded when needed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from wim_edge.documents.document import DEFAULTS, Document, check_size, read_whole, title_of, with_unique_names
from wim_edge.documents.formats import DELIMITED, HTML, ICS_START, MAIL, PICTURE_START, RTF_START, is_pdf
from wim_edge.errors import DocumentError, InvalidRequestError
from wim_edge.settings import Limits

if TYPE_CHECKING:
    from wim_edge.documents import scans

STANDARD_INPUT = "standard input"
DocumentSource = str | Path | Document
Documents = DocumentSource | Iterable[DocumentSource]
"""One document, or several, as a caller passes them: a path, ``"-"`` for standard input, or a `Document`."""

# Atomic groups: otherwise successive comments could match in exponentially many ways.
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?xml[^>]*>|(?><!--.*?-->))*+<(?:!doctype\s+html|html)\b", re.I | re.S
)
_CONVERT = "Save it as PDF, DOCX or plain text and read that."
_BY_START = (
    (is_pdf, "pdf.read_pdf"), (PICTURE_START.match, "scans.read_picture"), (RTF_START.match, "rtf.read_rtf"),
    (ICS_START.match, "mail.read_calendar"),
)  # fmt: skip
"""The readers of formats that are recognised by their first bytes."""
_BY_ROOT = {"document": "docx.read_docx", "workbook": "sheets.read_xlsx", "presentation": "slides.read_pptx"}
"""The readers of Office files, by the root element of the main part."""
_BY_MEMBER = {"META-INF/container.xml": "epub.read_epub", "content.xml": "opendocument.read_opendocument"}
"""The readers of other zip archives, by the member that identifies the format."""
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def read_document(source: str | Path, stdin: BinaryIO | None = None, limits: Limits = DEFAULTS) -> Document:
    """Returns the document in a file; ``-`` is standard input, or ``stdin`` if given. Raises DocumentError for a file
    that is missing, empty, encrypted, scanned, damaged, above a limit, or in an unsupported format."""
    if source != "-":
        return document_of(Path(source), bytes_of(Path(source), limits), limits)
    if stdin is None and sys.stdin is None:
        raise DocumentError(f"{STANDARD_INPUT}: it is closed", "Pipe a text into the command, or name a file.")
    return _parse_checked(STANDARD_INPUT, "", read_whole(STANDARD_INPUT, stdin or sys.stdin.buffer, limits), limits)


def document_of(path: Path, data: bytes, limits: Limits = DEFAULTS) -> Document:
    """Returns the document in ``data``, the bytes of file ``path``. Raises DocumentError as `read_document` does."""
    return replace(_parse_checked(_printable(path.name or str(path)), path.suffix.lower(), data, limits), path=path)


def _parse_checked(name: str, ending: str, data: bytes, limits: Limits) -> Document:
    try:
        document = _parse(name, ending, data, limits) if data.strip() else None
    except MemoryError:
        raise DocumentError(f"{name}: too large for the memory that is free", "Split it, or close programs.") from None
    if document is None or not document.text.strip():
        why = f"empty ({'; '.join(document.notes)})" if document and document.notes else "empty"
        raise DocumentError(f"{name}: {why}", "Give a document with some text in it.")
    return document


def read_documents(sources: Iterable[str | Path], limits: Limits = DEFAULTS) -> list[Document]:
    """Returns the files' documents; numbers equal names. Raises DocumentError, or InvalidRequestError for two ``-``."""
    sources = list(sources)
    if sources.count("-") > 1:
        raise InvalidRequestError("standard input (-) is given twice", "Give - once.")
    return with_unique_names(read_document(source, limits=limits) for source in sources)


def listed(documents: Documents) -> list[DocumentSource]:
    """Returns ``documents``, whether one or several, as a list."""
    return [documents] if isinstance(documents, str | Path | Document) else list(documents)


def load_documents(documents: Documents, limits: Limits) -> list[Document]:
    """Returns the documents, with unique names, and with titles if they are from files. Reads those given as paths.
    Raises DocumentError, or InvalidRequestError if ``-`` (standard input) is given twice."""
    given = listed(documents)
    if empty := next((one for one in given if isinstance(one, Document) and not one.text.strip()), None):
        raise DocumentError(f"{empty.name}: the document is empty", "Give one that holds text.")
    read = iter(read_documents([one for one in given if not isinstance(one, Document)], limits=limits))
    loaded = (one if isinstance(one, Document) else next(read) for one in given)
    # The title that a library would show: the model reads the same text, so one saved reading serves both
    return with_unique_names(replace(one, title=title_of(one)) if one.path else one for one in loaded)


@dataclass(frozen=True)
class Scan:
    """A file with text to recognise. ``pages``: the numbers (from 1) of a PDF's scanned pages; empty for a picture."""

    path: Path
    pages: tuple[int, ...]

    def recognise(
        self, limits: Limits = DEFAULTS, *, keep: bool = False, is_stopped: Callable[[], bool] = bool
    ) -> Generator[scans.ScannedPage]:
        """Recognises the text and yields each page, which `read_document` then uses. ``keep``: also stores the pages on
        disk. Recognition ends once ``is_stopped``, called again and again, returns True. Raises DocumentError."""
        from wim_edge.documents import scans

        return scans.recognise(
            bytes_of(self.path, limits), self.pages, most=limits.scan_pages, keep=keep, is_stopped=is_stopped
        )


def find_scans(sources: Iterable[str | Path], limits: Limits = DEFAULTS) -> list[Scan]:
    """Returns the files that have pages to recognise. `read_document` would recognise them without showing progress."""
    found = []
    for path in [Path(source) for source in sources if source != "-"] if limits.scan_pages else []:
        try:
            if not path.is_file():  # a pipe can be read only once
                continue
            with path.open("rb") as file:
                start = file.read(1024)
            of_pages = is_pdf(start)
            if not (of_pages or PICTURE_START.match(start)):
                continue
            from wim_edge.documents import pdf, scans  # not for a text: they load PDFium

            if not scans.engine():
                continue
            data = bytes_of(path, limits)
            pages = pdf.unread_scans(data, limits) if of_pages else []
        except (DocumentError, OSError, ValueError):  # reading will report it
            continue
        if pages or (not of_pages and scans.waits(data, limits.scan_pages)):
            found.append(Scan(path, tuple(pages)))
    return found


def bytes_of(path: Path, limits: Limits = DEFAULTS) -> bytes:
    """Returns the bytes of a file. Raises DocumentError if it is missing, a folder, above the limit, or unreadable."""
    name = _printable(path.name or str(path))
    try:
        if path.is_dir():
            hint = "Give the files in it, or add it to a library (`wim-edge library add`)."
            raise DocumentError(f"{name}: a directory", hint)
        check_size(name, path.stat().st_size, limits, "document_bytes")
        with path.open("rb") as file:
            return read_whole(name, file, limits)
    except FileNotFoundError:
        raise DocumentError(f"{name}: no such file", f"Looked for {_printable(str(path.absolute()))}.") from None
    except PermissionError:
        raise DocumentError(f"{name}: permission denied", "Make it readable for your user.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DocumentError(f"{name}: cannot be read ({reason})", "Check the path and the disk.") from None


def _parse(name: str, ending: str, data: bytes, limits: Limits) -> Document:
    if data.startswith(_OLD_OFFICE):
        what = "an old Office file (.doc, .xls, .ppt) or one with a password, which is not supported"
        raise DocumentError(f"{name}: {what}", "Save it as DOCX, XLSX, PPTX or PDF without a password and read that.")
    if reader := next((reader for is_of, reader in _BY_START if is_of(data)), None):
        return _loaded(reader)(name, data, limits)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _parse_archive(name, data, limits)
    if ending in HTML.endings or (not ending and _HTML_START.match(data[:4096])):
        return _loaded("html.read_html")(name, data, limits)
    if ending in MAIL.endings:
        # There may be a hundred attachments, and a picture in every signature
        each = replace(limits, markup_bytes=limits.markup_bytes // 4, scan_pages=0)
        return _loaded("mail.read_mail")(
            name, data, lambda part, its: _parse_checked(part, Path(part).suffix.lower(), its, each), limits
        )
    if ending in DELIMITED.endings:
        return _loaded("delimited.read_delimited")(name, data, limits)
    return _loaded("plain.read_text")(name, ending, data, limits)


def _parse_archive(name: str, data: bytes, limits: Limits) -> Document:
    from wim_edge.documents.archive import MALFORMED, Archive, damaged

    archive = Archive(name, data, limits)
    try:
        part, root = archive.main
        kinds = (kind for member, kind in _BY_MEMBER.items() if member in archive.names)
        if reader := _BY_ROOT[root.tag.rpartition("}")[2]] if part else next(kinds, None):
            return _loaded(reader)(archive)
    except MALFORMED:
        raise damaged(name) from None
    if "[Content_Types].xml" in archive.names:
        raise DocumentError(f"{name}: an Office file that is not supported", _CONVERT)
    raise DocumentError(f"{name}: a zip archive", "Unpack it and give the files in it.")


def _loaded(reader: str) -> Callable[..., Document]:
    """Imports and returns a function of this package, given its module and name, such as "pdf.read_pdf"."""
    module, _, function = reader.partition(".")
    loaded: Callable[..., Document] = getattr(import_module(f"{__package__}.{module}"), function)
    return loaded


def _printable(name: str) -> str:
    """Returns a file's name on one line, without characters that a terminal would act on or cannot show."""
    return "".join(character if character.isprintable() else "\ufffd" for character in name)
