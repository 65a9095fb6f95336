"""The reader of pictures, as a camera or a scanner makes them: text as it is recognised, a mark for each page."""

from __future__ import annotations

from wim_edge.documents import scans
from wim_edge.documents.document import Document, DocumentBuilder
from wim_edge.documents.reflow import reflow
from wim_edge.settings import Limits


def read_picture(name: str, data: bytes, limits: Limits) -> Document:
    """Returns the text on a picture, or on all of a file of several. Raises DocumentError if there is none, or nothing
    that recognises it."""
    found = scans.of_picture(data, limits.scan_pages)
    pages = [found.pages[number] for number in sorted(found.pages) if number <= limits.scan_pages]
    draft = DocumentBuilder()
    for page, text in zip(pages, reflow([page.lines for page in pages]), strict=True):
        draft.mark(page=page.number if found.count > 1 else None, confidence=page.confidence)
        draft.paragraph(text)
    if draft.empty:
        raise scans.unread(f"{name}: a picture, on which no text was recognised")
    read = [page for page in pages if page.lines]
    silent = {*range(1, min(found.count, limits.scan_pages) + 1)} - {page.number for page in read}
    draft.notes += scans.on_pages(sorted(silent), "no text that was recognised")
    if found.count > limits.scan_pages:
        after = f"pages {limits.scan_pages + 1} to {found.count}"
        draft.notes.append(f"{after} are left out: text is recognised on no more")
    draft.notes += scans.note(read)
    return draft.document(name)
