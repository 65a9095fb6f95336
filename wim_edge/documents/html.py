"""The reader of HTML: one pass over the parser's events, without a tree, so that deep nesting costs no time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain

from wim_edge.documents.css import StyleSheet, sheet_of
from wim_edge.documents.decode import decode_markup
from wim_edge.documents.document import Document, DocumentBuilder, above, require
from wim_edge.documents.formulas import with_formulas
from wim_edge.documents.html_tables import MARK, Block, Cell, HtmlTable
from wim_edge.documents.numbering import integer, written
from wim_edge.documents.rows import span_of
from wim_edge.documents.runs import HIDDEN, STRUCK, set_off
from wim_edge.settings import Limits

_DROPPED = frozenset({"audio", "canvas", "datalist", "defs", "desc", "iframe", "nav", "noscript", "script", "style"})
_DROPPED |= {"template", "video"}
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_INDENTS = 8  # most levels of indentation of a list item
_LINES, _CELLS = frozenset({"li", "tr", "dt", "dd"}), frozenset({"td", "th"})
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "details", "dialog", "dir", "div", "dl",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "main", "menu", "nav", "ol", "p",
    "section", "summary", "table", "ul",
})  # fmt: skip
_APART = _HEADINGS | _CELLS | {"pre", "table", "tr", "blockquote"}
"""The elements whose start and end each complete the open paragraph."""
_DECORATION, _NEAR = "decoration", 16  # the look of `aria-hidden`; pieces of text beside it that may repeat it
_TITLE_DEPTH = 3  # of a page's title; those further down name drawings (SVG)
_LINE, _PARAGRAPH = 1, 2  # gaps: a line break, a blank line
_NOT_APART = (0, "", 0, False)
_BLOCK = "inline-block"
_BELOW = frozenset({"block", "flow-root", "list-item", "table", "table-row", "flex", "grid"})
_IN_LINE = frozenset({"flex", "grid", "inline-flex", "inline-grid"})
"""The values of `display` that put an element on its own line (_BELOW), or its children side by side (_IN_LINE)."""
_GAPS = dict.fromkeys(_LINES, _LINE) | dict.fromkeys(_BLOCKS, _PARAGRAPH)
_ITEMS, _FIELDS = frozenset({"ol", "ul", "menu", "dir"}), frozenset({"input", "select", "option"})
_HANDLED = _HEADINGS | _CELLS | _ITEMS | _FIELDS | {"a", "blockquote", "br", "dt", "img", "li", "pre", "table", "tr"}
_CONTROLS = frozenset({"button", "meter", "progress", "textarea"})  # their edges are seen
_UNREAD = frozenset({"hidden", "password", "submit", "button", "reset", "image", "file", "range", "color"})
"""The types of `<input>` that show no filled-in text."""
_REVERSED = re.compile(r"<ol\s[^<>]*\breversed\b", re.IGNORECASE)
_LISTED = re.compile(rf"{MARK}(?!\d)")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*>")
# An HTML parser may take an XHTML `<title/>` for an opening tag, and everything after it for the title.
_EMPTY_ELEMENT = re.compile(r"<(title|script|style|textarea|iframe)\b([^<>]*)/>", re.IGNORECASE)


def read_html(name: str, data: bytes, limits: Limits) -> Document:
    """Returns the text of an HTML page. Headings become sections; scripts, styles and navigation are left out."""
    markup, notes = decode_markup(name, data)
    draft = DocumentBuilder(notes)
    add_html(draft, name, markup, limits)
    return draft.document(name)


def add_html(draft: DocumentBuilder, name: str, markup: str, limits: Limits, css: str = "") -> None:
    """Adds the text of an HTML or XHTML page to ``draft``. ``css``: the text of style sheets from outside the page."""
    _Writer(draft, name, limits.html_depth).read(markup, css)


class _Writer:
    """Receives lxml's parser events and adds paragraphs to a draft. Adds a line break only when more text follows."""

    def __init__(self, draft: DocumentBuilder, name: str, depth: int) -> None:
        self._draft, self._name, self._most_deep, self._frames = draft, name, depth, 0
        self._style, self._n_items = StyleSheet(""), chain[int]()
        self._pieces: list[str] = []  # the text of the open paragraph
        self._gap = 0  # 0, _LINE or _PARAGRAPH, before the next text
        self._space = False  # whether a space precedes the next text
        self._depth = self._pre = self._quoted = 0
        self._after_block = self._after_term = 0  # pieces before the end of an inline block, of a `<dt>`
        self._left_out = ("", 0)
        """(look, depth) of the element that is being left out; depth 0: none is. The look "dropped" needs no note."""
        self._title: list[str] = []
        self._in_title = self._in_heading = False
        self._lists = [("", 0, 1)]
        """The open lists, outermost first: (number format of `list_kind`, next number, step). Item 0 is the page."""
        self._item = ""
        """The number or bullet of the list item that has just begun; empty once the item has text."""
        self._apart: list[tuple[int, str, int, bool]] = [_NOT_APART]
        """The open elements that CSS sets apart: (depth, `display`, gap, whether it stays on its neighbours' line)."""
        self._tables: list[HtmlTable] = []
        self._raised: list[tuple[str, int, int, bool]] = []
        """The open raised or lowered elements and decorations: (look, depth, index of its first piece, has a link)."""
        self._decoration = ""
        """The text of the decoration (`aria-hidden`) that has just ended; empty if none has."""
        self._just_ended = ("", 0)
        """("math", 0) if a formula just ended; (_DECORATION, first piece) if a decoration did; else ("", 0)."""
        self._after_mark = False  # whether a footnote mark has just ended
        self._numerator = ""  # how that mark is written if a slash follows
        self._options: list[tuple[int, bool]] = []
        """The open `<select>`, (index of its first piece, is multiple), then each option, (index, is chosen)."""

    def read(self, markup: str, css: str = "") -> None:
        """Reads the markup of a page, or of a frame (`srcdoc`) in the open page. ``css``: external style sheets."""
        etree = require("lxml.etree", self._name)
        markup = with_formulas(_EMPTY_ELEMENT.sub(r"<\1\2></\1>", _XML_DECLARATION.sub("", markup)))
        lists = etree.HTML(markup).iter("ol") if _REVERSED.search(markup) else ()
        outer = self._style, self._n_items
        self._style = sheet_of(markup, css)
        self._n_items = chain([len(one.findall("li")) for one in lists if "reversed" in one.attrib])
        self._frames += 1
        parser = etree.HTMLParser(target=self, encoding="utf-8", huge_tree=True)
        with suppress(etree.LxmlError):  # raised for a page without any element: there is nothing to read
            # Bytes in a stated encoding, so that no declaration in the markup can override it.
            parser.feed(markup.encode())
            parser.close()
        self._frames -= 1
        self._style, self._n_items = outer

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._most_deep:
            raise above(self._name, f"HTML nested more than {self._most_deep:,} deep", "html_depth")
        if self._left_out[1]:
            return
        attributes = attributes or {}  # lxml's own empty mapping is slow
        look, display = self._style.look(tag, attributes)
        display = display or _BLOCK * (tag in _CONTROLS)
        is_decoration = attributes.get("aria-hidden") == "true"
        is_copy = is_decoration and self._just_ended[0] == "math"  # its letters in their places (KaTeX)
        is_copy |= tag == "object" and attributes.get("type", "").startswith("image/")  # the words for the picture
        if tag in _DROPPED or look in (HIDDEN, STRUCK) or is_copy:
            if tag in _CELLS and "visibility" in attributes.get("style", ""):
                self._begin_cell(tag, attributes)  # an invisible cell keeps its column
            elif tag not in _CELLS:
                self._gap = max(self._gap, _GAPS.get(tag, 0))
            if tag == "iframe" and not look and self._frames == 1 and attributes.get("srcdoc"):
                self.read(attributes["srcdoc"])
            self._left_out = (look or "dropped", self._depth)
            return
        if tag == "title":
            self._in_title = self._depth <= _TITLE_DEPTH and not self._title
            self._left_out = ("", 0) if self._in_title else ("dropped", self._depth)
            return
        look = look or _DECORATION * is_decoration
        if tag == "math" and self._just_ended[0] == _DECORATION:  # a copy before the formula (MathJax)
            self._space = self._pieces[self._just_ended[1] :][:1] == [" "]
            del self._pieces[self._just_ended[1] :]
        if tag in _APART or (look and self._gap == _PARAGRAPH):
            self._flush()
        is_item = bool(display or self._apart[-1][1] in _IN_LINE) and self._begin_apart(display)
        if look:
            self._raised.append((look, self._depth, len(self._pieces), False))
        if tag in _HANDLED:
            self._begin(tag, attributes)
        if tag in _GAPS and not is_item:
            self._gap = max(self._gap, _GAPS[tag])

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _HEADINGS or tag == "pre":
            self._in_heading = tag != "pre"
            self._pre += tag == "pre"
        elif tag in _CELLS:
            self._begin_cell(tag, attributes)
        elif tag == "br" and self._pieces and self._gap == 0:
            self._pieces.append("\n")
        elif tag == "img" and self._tables and self._tables[-1].is_in_cell:
            self._tables[-1].rows[-1][-1].alts.append(attributes.get("alt", ""))
        elif tag == "table":
            self._tables.append(HtmlTable(attributes.get("role") in ("presentation", "none")))
        elif tag == "tr" and self._tables:
            self._tables[-1].rows.append([])
        elif tag == "blockquote":
            self._quoted += 1
        elif tag == "a" and self._raised:
            self._raised[-1] = (*self._raised[-1][:3], True)
        elif tag in _ITEMS:
            kind = self._style.list_kind(tag, attributes, "decimal" * (tag == "ol"))
            step = -1 if "reversed" in attributes else 1
            first = integer(attributes.get("start", ""), next(self._n_items, 1) if step < 0 else 1)
            self._lists.append((kind, first, step))
        elif tag == "li":
            kind, number, step = self._lists[-1]
            number = integer(attributes.get("value", ""), number)
            self._lists[-1] = (kind, number + step, step)
            kind = self._style.list_kind("li", attributes, kind)
            sign = f"{written(number, kind)}." if kind else "-"
            self._item = "  " * min(len(self._lists) - 2, _INDENTS) + sign if kind != "none" else ""
        elif tag in _FIELDS:
            self._begin_field(tag, attributes)

    def _begin_apart(self, display: str) -> bool:
        """Separates an element from its neighbours as `display` requires. Returns whether it stays on their line."""
        depth, around, *_ = self._apart[-1]
        is_item = display == "table-cell" or (around in _IN_LINE and depth == self._depth - 1)
        gap = _LINE * (display in _BELOW and not is_item)
        if display == _BLOCK and 0 < self._after_block == len(self._pieces):
            self._space |= len(self._pieces[-1]) > 1 or self._pieces[-1].isdigit()  # letters alone may make up a word
        if is_item or gap or display in _IN_LINE or display == _BLOCK:
            self._apart.append((self._depth, display, gap, is_item))
            self._space, self._gap = self._space or is_item, max(self._gap, gap)
        return is_item

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._left_out[1]:
            if self._depth < self._left_out[1]:
                self._left_out = ("", 0)
                self._gap = max(self._gap, _GAPS.get(tag, 0))
            return
        if tag == "title":
            self._draft.title = "".join(self._title)
            self._draft.mark(section=self._draft.title)
            self._in_title = False
            return
        _, display, gap, is_item = self._apart.pop() if self._apart[-1][0] > self._depth else _NOT_APART
        self._after_block = len(self._pieces) if display == _BLOCK else self._after_block
        self._space, self._gap = self._space or is_item, max(self._gap, gap)
        if self._raised and self._raised[-1][1] > self._depth:
            self._end_raised()
        elif self._decoration:
            text, self._decoration = self._decoration, ""
            said = "".join(self._pieces[-_NEAR:])
            if said.endswith(text) and said[: -len(text)].rstrip().endswith(text):  # what follows repeats it
                self._pieces[-_NEAR:] = [said[: -len(text)].rstrip()]
        if tag == "math":
            self._just_ended = (tag, 0)
        if tag in _APART:
            self._flush()
            self._in_heading = False
        if tag in _HANDLED:
            self._end(tag)
        if tag in _GAPS and not is_item:
            self._gap = max(self._gap, _GAPS[tag])

    def _end(self, tag: str) -> None:
        if tag == "pre":
            self._pre -= 1
        elif tag == "table" and self._tables:
            self._end_table()
        elif tag in _CELLS and self._tables:
            self._tables[-1].is_in_cell = False
        elif tag == "blockquote":
            self._quoted -= 1
        elif tag == "li":
            self._item = ""
        elif tag in _ITEMS and len(self._lists) > 1:
            self._lists.pop()
        elif tag == "dt":
            self._after_term = len(self._pieces)
        elif tag == "select":
            self._end_choice()

    def data(self, text: str) -> None:
        self._just_ended = ("", 0)
        if self._left_out[1]:
            look = self._left_out[0]
            if look in (HIDDEN, STRUCK) and text.strip():
                self._draft.omit(look)
                self._left_out = ("dropped", self._left_out[1])
        elif self._in_title:
            self._title.append(text)
        elif self._pre:
            self._write(text)
        elif words := " ".join(text.split()):
            self._space = self._space or text[0].isspace()
            self._write(words)
            self._space = text[-1].isspace()
        else:
            self._space = True

    def close(self) -> None:
        self._flush()
        while self._tables and self._frames == 1:
            self._end_table()

    def _end_raised(self) -> None:
        look, _, at, is_link = self._raised.pop()
        if look == _DECORATION:
            self._just_ended = (look, at)
            said = " ".join("".join(self._pieces[at:]).split())
            before = "".join(self._pieces[max(0, at - _NEAR) : at]).rstrip()
            is_twin = said and before.endswith(said) and not before[: -len(said)][-1:].isalnum()
            self._pieces[at:] = [] if is_twin else self._pieces[at:]  # it repeats the text before it
            self._decoration = self._decoration if is_twin else said
            return
        text = "".join(self._pieces[at:])
        said = text.lstrip()
        if not said:
            return
        blank = text[: len(text) - len(said)]
        before = "".join(self._pieces[max(0, at - 3) : at]) + blank
        added, self._after_mark = set_off(before, said, look, is_link=is_link)
        self._numerator = blank + set_off(before, said, look, "/", is_link=is_link)[0]
        self._pieces[at:] = [blank + added]

    def _begin_field(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Adds the value of an `<input>` to the text. Records a `<select>` or `<option>` for `_end_choice`."""
        if tag != "input":
            is_chosen = "selected" in attributes or (tag == "select" and "multiple" in attributes)
            self._options = [*(self._options if tag == "option" else ()), (len(self._pieces), is_chosen)]
            return
        kind = attributes.get("type", "").lower()
        is_box = kind in ("checkbox", "radio")
        text = f"[{' x'['checked' in attributes]}]" if is_box else attributes.get("value", "") * (kind not in _UNREAD)
        if words := " ".join(text.split()):
            self._space = True
            self._write(words)
            self._space = True

    def _end_choice(self) -> None:
        if not self._options:  # an end tag without a start tag
            return
        starts = [at for at, _ in self._options]
        texts = ["".join(self._pieces[at:end]).strip() for at, end in zip(starts, [*starts[1:], None], strict=True)]
        if len(texts) > 1:
            chosen = [text for text, (_, is_chosen) in zip(texts, self._options, strict=True) if is_chosen and text]
            shown = chosen or ([] if self._options[0][1] else texts[1:2])
            for _ in texts[1 + len(shown) :]:
                self._draft.omit("unchosen option")
            self._pieces[starts[0] :] = [" " * bool(self._pieces[: starts[0]]) + ", ".join(shown)] if shown else []
        self._options = []

    def _begin_cell(self, tag: str, attributes: Mapping[str, str]) -> None:
        if not self._tables:
            self._space = True
            return
        table = self._tables[-1]
        table.rows = table.rows or [[]]
        span = span_of(attributes.get("rowspan", ""), attributes.get("colspan", "")) if attributes else (1, 1)
        table.rows[-1].append(Cell(tag, span))
        table.is_in_cell = True

    def _end_table(self) -> None:
        blocks = [*self._tables.pop().blocks(self._quoted)]
        if self._tables and not (blocks and all(block.is_rows for block in blocks)):
            self._tables[-1].is_layout = True  # as a table in it is one
        for block in blocks:
            self._add(block)

    def _write(self, text: str) -> None:
        if self._gap == _PARAGRAPH and not 0 < self._after_term == len(self._pieces):
            self._flush()
        elif self._pieces and self._gap:
            self._pieces.append("\n")
        elif self._pieces and (self._space or (self._after_mark and text[0].isalnum())):
            self._pieces += [" "] if not self._pieces[-1].endswith(("\n", " ")) else []
        elif self._after_mark and text[0] in "/⁄" and not text[1:2].isalpha():
            self._pieces[-1] = self._numerator
        self._gap = self._after_term = 0
        self._space = self._after_mark = False
        if self._item and not self._in_heading and not _LISTED.match(text):
            text = f"{self._item} {text}"
        self._item = ""
        self._pieces.append(text)

    def _flush(self) -> None:
        self._gap, self._space = 0, False
        if not self._pieces:
            return
        self._after_mark, self._decoration = False, ""
        text = "".join(self._pieces).replace("\u00ad", "").strip("\n").rstrip()
        self._pieces.clear()
        if text:
            text = text if self._pre else re.sub(r"\n{3,}", "\n\n", text)
            self._add(Block(text, self._in_heading, self._quoted))
            self._in_heading = False  # text after an unclosed heading is no heading

    def _add(self, block: Block) -> None:
        if self._tables and self._tables[-1].is_in_cell:
            self._tables[-1].rows[-1][-1].blocks.append(block)
            return
        if block.is_heading:
            self._draft.mark(section=block.text)
        self._draft.quoted = block.quoted
        self._draft.paragraph(block.text)
