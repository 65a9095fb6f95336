"""The quoted parts of a mail, each under a head that names its writer: "Quoted: On 2 May Jonas wrote".

Structure identifies quotations, in any language: `>` before lines, a `<blockquote>`, or the head of a quoted mail. The
last line before a quotation, if it ends with a colon, names the writer. A mail's head has lines of "Label: value": one
with a time, and one with an address, a name or the subject of this mail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wim_edge.documents.document import DocumentBuilder, Mark
from wim_edge.documents.units import INTRODUCES

_SIGNS = re.compile(r"(?:> ?)+")
_HEAD_LINE = re.compile(r"[*_]*[^\W\d_][^\n:：|]{0,24}[:：][*_]*[ \t]*(\S.*)")
_TIME = re.compile(r"\d{1,2}[:.h]\d\d|\b\d{4}\b")
_RULE = re.compile(r"\s*[-_—=]{3,}.*")
_ADDRESS = re.compile(r"\s*[<\[(][^>\])]*@[^>\])]*[>\])]")
_REPLY = re.compile(r"(?:\w{1,5}(?:\[\d+\])?[:：]\s*)+")
_LINES, _LONGEST, _PEOPLE = 3, 250, 50
"""The fewest lines of a mail's head; the most characters of an attribution; the most names looked for in a head."""


class Paragraph(NamedTuple):
    """A paragraph of a mail, the number of quotations around it, and the title of a section that begins with it."""

    text: str
    quoted: int = 0
    section: str | None = None


class Collected(DocumentBuilder):
    """Collects the paragraphs of a mail's HTML in ``found``. Passes omissions on to ``draft``, the mail's draft."""

    def __init__(self, draft: DocumentBuilder) -> None:
        super().__init__()
        self._of = draft
        self.found: list[Paragraph] = []

    def omit(self, what: str, where: str | None = None) -> None:
        self._of.omit(what, where)

    def paragraph(self, text: str, *_: object, **__: object) -> None:
        self.found.append(Paragraph(text, self.quoted, self._next.section))
        self._next = Mark(0)


def of_plain(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs of a plain-text mail. Counts the `>` before quoted lines in ``quoted``, and drops them."""
    block: list[str] = []
    depth = 0
    for line in [*text.replace("\r\n", "\n").split("\n"), ""]:
        signs = _SIGNS.match(line) if line.startswith(">") else None
        signed, said = (signs[0], line[signs.end() :]) if signs else ("", line)
        if block and (signed.count(">") != depth or not said.strip()):
            yield Paragraph("\n".join(block), depth)
            block = []
        if said.strip():
            block.append(said.rstrip() if signed else line)
        depth = signed.count(">")


def under_heads(paragraphs: Sequence[Paragraph], subject: str, people: Sequence[str]) -> Iterator[Paragraph]:
    """Yields the paragraphs of a mail, and before each quotation a head that names its writer and begins a section.
    ``subject`` and ``people``, from the mail's headers, help to find the heads of quoted mails."""
    pieces = list(_divided(paragraphs, _REPLY.sub("", subject), people))
    open_quotations: list[tuple[int, str, bool]] = []  # depth, head, whether that is a mail's head
    said, above = "", ""
    for at, ((text, depth, section), head) in enumerate(pieces):
        while open_quotations and open_quotations[-1][0] > depth - bool(head and open_quotations[-1][2]):
            open_quotations.pop()
        if head:
            open_quotations.append((depth, head, True))
        elif depth > (open_quotations[-1][0] if open_quotations else 0):
            own, line = _attribution(text)
            if not above and not own and any(map(str.isdigit, line)):  # the quotation's first line names its writer
                above, text = line, ""
            writer = open_quotations[-1][1].partition(": ")[2] if open_quotations else ""
            within = f"Quoted in: {writer}" if writer else "Quoted"
            open_quotations.append((depth, f"Quoted: {above}" if above else within, False))
        now = open_quotations[-1][1] if open_quotations else ""
        if now != said:
            yield Paragraph(now or f"From: {people[0] if people else '?'}", depth, now or subject or "mail")
        said, above = now, ""
        if at + 1 < len(pieces) and pieces[at + 1][0].quoted > depth:
            text, above = _attribution(text)
        if text.strip():
            yield Paragraph(text, depth, section)


def _attribution(text: str) -> tuple[str, str]:
    """Returns (text, attribution) of a paragraph. The attribution is its last lines if they end with a colon."""
    lines = text.rstrip().split("\n")
    if not lines[-1].endswith(INTRODUCES):
        return text, ""
    for n_lines in range(1, min(_LINES, len(lines)) + 1):
        said = " ".join(" ".join(lines[-n_lines:]).split())
        if re.search(r"[\d@]", said) and said.count("<") == said.count(">"):
            break
    else:
        n_lines, said = 1, lines[-1].strip()
    return ("\n".join(lines[:-n_lines]), said[:-1].rstrip()) if len(said) <= _LONGEST else (text, "")


def _divided(paragraphs: Sequence[Paragraph], subject: str, people: Sequence[str]) -> Iterator[tuple[Paragraph, str]]:
    """Yields (paragraph, title). Splits a paragraph before a quoted mail's head, which gives the title (else "")."""
    above = ""
    for text, depth, section in paragraphs:
        lines, begin, title = text.split("\n"), 0, ""
        for at in range(len(lines) - _LINES + 1):
            if not _HEAD_LINE.fullmatch(lines[at].strip()):
                continue
            heads = (_HEAD_LINE.fullmatch(line.strip()) for line in lines[at : at + 2 * _LINES])
            values = [head[1][:_LONGEST] for head in heads if head]
            is_ruled = _RULE.match(lines[at - 1] if at else above) is not None
            is_dated = len(values) >= _LINES and not _TIME.search(values[0]) and any(map(_TIME.search, values[1:]))
            is_about = bool(subject) and any(subject in value for value in values[1:])
            names = filter(None, ("@", *people[:_PEOPLE]))
            if is_dated and (is_ruled or is_about or any(name in values[0] for name in names)):
                cut = at - (is_ruled and at > 0)
                if cut > begin:
                    yield Paragraph("\n".join(lines[begin:cut]), depth, section), title
                    section = None
                when = next(value for value in values[1:] if _TIME.search(value))
                begin, title = cut, f"Quoted: {_ADDRESS.sub('', values[0]) or values[0]}, {when}"
        above = lines[-1]
        yield Paragraph("\n".join(lines[begin:]), depth, section), title
