"""The fields of a PDF's form as lines "label: value": PDFium draws values apart from labels, and no ticks at all."""

from __future__ import annotations

import ctypes
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from wim_edge.documents.pdf_lines import Line, fragments, line_of
from wim_edge.documents.pdf_words import Box, Word, as_read, raw

_YES, _NO = "Yes", "No"
_HIDDEN = 0x02 | 0x20
_PASSWORD = 1 << 13
_MOST_OPTIONS = 500
_MOST, _LONGEST = 1000, 100_000
"""The most fields that are read on a page. No more are read after their values have ``_LONGEST`` characters in all."""
_FAR = 1e5  # points; coordinates beyond are moved to this limit
_LONG = 40  # a text this long is no label above a field
_BESIDE, _ABOVE = 2.0, 1.5
"""The widest gap between a tick box and its caption, and between a field and the label above it, in line heights."""


class Field(NamedTuple):
    """A form field: its name in the file, its tooltip (``hint``), its value, and its place in points (left, bottom,
    right, top). ``is_box``: True for a tick box, and for a radio button."""

    name: str
    hint: str
    value: str
    place: Box
    is_radio: bool = False
    is_box: bool = False
    box: Box | None = None
    """The field's place on the page as drawn; set when `with_fields` turns ``place`` to reading direction."""


def take_fields(form: Any, page: Any) -> tuple[list[Field], int]:
    """Removes the form fields from a pypdfium2 page. Returns (visible fields, number of visible fields left out)."""
    found: list[Field] = []
    n_unread, room = 0, _LONGEST
    kinds = range(raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_TEXTFIELD + 1)  # all but buttons and signatures
    for at in reversed(range(raw.FPDFPage_GetAnnotCount(page.raw))):
        annotation = raw.FPDFPage_GetAnnot(page.raw, at)
        is_taken = raw.FPDFAnnot_GetFormFieldType(form, annotation) in kinds
        if is_taken and not raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
            if len(found) < _MOST and room > 0:
                found.append(_field(form, annotation))
                room -= len(found[-1].value)
            else:
                n_unread += 1
        raw.FPDFPage_CloseAnnot(annotation)
        if is_taken:
            raw.FPDFPage_RemoveAnnot(page.raw, at)
    return found[::-1], n_unread


def _field(form: Any, annotation: Any) -> Field:
    kind, rect = raw.FPDFAnnot_GetFormFieldType(form, annotation), raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, rect)
    left, bottom, right, top = (max(-_FAR, min(one, _FAR)) for one in (rect.left, rect.bottom, rect.right, rect.top))
    box = left, bottom, max(right, left + 1), max(top, bottom + 1)
    name = _text(raw.FPDFAnnot_GetFormFieldName, form, annotation)
    hint = _text(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    value = _text(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    is_radio = kind == raw.FPDF_FORMFIELD_RADIOBUTTON
    if is_radio or kind == raw.FPDF_FORMFIELD_CHECKBOX:
        state = _text(raw.FPDFAnnot_GetStringValue, annotation, b"AS")
        is_on = raw.FPDFAnnot_IsChecked(form, annotation) or state not in ("", "Off")
        named = state if state != "Off" else _text(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation)
        return Field(name, hint, (named if is_radio and named else _YES) if is_on else _NO, box, is_radio, True)
    n_options = raw.FPDFAnnot_GetOptionCount(form, annotation)
    chosen = [
        _text(raw.FPDFAnnot_GetOptionLabel, form, annotation, at)
        for at in (range(n_options) if n_options <= _MOST_OPTIONS else ())
        if raw.FPDFAnnot_IsOptionSelected(form, annotation, at)
    ]
    if raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        value = ""
    return Field(name, hint, " ".join((", ".join(chosen) or value).split()), box)


def _text(function: Callable[..., int], *of: Any) -> str:
    size = function(*of, None, 0)
    letters = (ctypes.c_ushort * (size // 2 + 1))()
    function(*of, letters, size)
    return bytes(letters)[: max(0, size - 2)].decode("utf-16-le", "replace").strip()


def with_fields(lines: Sequence[Line], taken: Sequence[Field], turn: int = 0, from_right: bool = False) -> list[Line]:
    """Returns the page's lines, with a line "label: value" in place of the label of each filled field. ``turn``: the
    degrees to turn the page by; ``from_right``: whether the page's text runs from right to left."""
    fields = list[Field]()
    for one in taken:
        left, bottom, right, top = as_read(one.place, turn)
        place = (-right, bottom, -left, top) if from_right else (left, bottom, right, top)
        fields.append(one._replace(box=one.place, place=place))
    parts = [(number, part) for number, line in enumerate(lines) for part in fragments(line)]
    labels = _Labels([part for _, part in parts], fields)
    shown: dict[object, tuple[int, list[Word], Field]] = {}
    for one in fields:
        used, label, value = labels.of(one)
        if not value:
            continue
        key: object = used[0] if used else label or one.place
        above = ((line.bottom, at) for at, line in enumerate(lines) if line.bottom > one.place[1])
        at = parts[used[0]][0] if used else min(above, default=(0.0, -1))[1]
        own = parts[used[0]][1] if used else None
        words = list(own.words) if own is not None and own.text == label else _words(label, one)
        words[-1:] = [word._replace(text=f"{word.text.rstrip(':：')}:") for word in words[-1:]]
        words = shown[key][1] if key in shown else words
        shown[key] = at, [*words, *_words(value, one)], one
        labels.used.update(used)
    below: dict[int, list[Line]] = defaultdict(list)
    for at, words, one in shown.values():
        below[at].append(line_of(words, one.place[1], one.place[3])._replace(is_whole=True))
    made = below[-1]
    for number, of_line in groupby(enumerate(parts), key=lambda part: part[1][0]):
        whole, line = list(of_line), lines[number]
        rest = [part for at, (_, part) in whole if at not in labels.used]
        words = [word for part in rest for word in part.words]
        made += [line] if len(rest) == len(whole) else [line_of(words, line.bottom, line.top)] if words else []
        made += below[number]
    return made


def _words(text: str, one: Field) -> list[Word]:
    return [Word(word, one.place[0], one.place[2], box=one.box) for word in text.split()]


class _Labels:
    """Finds the labels of fields among ``parts``, the fragments of the page's lines."""

    def __init__(self, parts: Sequence[Line], fields: Sequence[Field]) -> None:
        self._parts, self._fields = parts, fields
        self._captions = {one.place: self._behind(one) for one in fields if one.is_box}
        self._of_boxes = set(self._captions.values())
        self.used: set[int] = set()

    def of(self, one: Field) -> tuple[list[int], str, str]:
        """Returns (indices of the parts that label the field, label, value). A field with the value "" gets no line."""
        caption = self._captions.get(one.place)
        says = "" if caption is None else self._parts[caption].text
        if one.is_radio and one.value != _NO:
            of_name = [other for other in self._fields if other.name == one.name]
            used, label = self._label(min(of_name, key=lambda other: (-round(other.place[3]), other.place[0])))
            return [*used, *([] if caption is None else [caption])], label or one.name, says or one.value
        if caption is not None:
            asked = None if one.is_radio or one.hint else self._beside(one)
            if asked is None or self._has_field(self._parts[asked].right, one.place[0], one, boxes=False):
                return [caption], says if one.is_radio else _both(says, one.hint), one.value
            return [caption, asked], f"{self._parts[asked].text.rstrip(' :：')}, {says}", one.value
        if one.is_radio:
            return [], "", ""
        used, label = self._label(one)
        return used, label or one.name, one.value

    def _label(self, one: Field) -> tuple[list[int], str]:
        left, top = one.place[0], one.place[3]
        above = [
            at for at, part in enumerate(self._parts) if part.bottom + part.height / 2 > top
            and part.left < one.place[2] and part.right > left - part.height and len(part.text) < _LONG
        ]  # fmt: skip
        near = self._beside(one)
        over = min(above, key=lambda at: self._parts[at].bottom, default=None)
        is_next = near is not None and not self._has_field(left if near is None else self._parts[near].right, left, one)
        if near is not None and over is not None and not one.hint and (not is_next or self._is_followed(one)):
            return [], f"{self._parts[near].text}, {self._parts[over].text}"  # row label, column header
        if near is not None and (is_next or not one.hint):  # or one of several fields for a date or a number
            return [near], _both(self._parts[near].text, one.hint)
        if over is None or one.hint or self._parts[over].bottom - top > _ABOVE * self._parts[over].height:
            return [], one.hint
        return [over], self._parts[over].text

    def _is_followed(self, one: Field) -> bool:
        """Returns whether another field is to the right of the field ``one``, with no text in between."""
        behind = [other.place[0] for other in self._fields if self._has_field(one.place[2], other.place[0] + 1, one)]
        texts = [part.left for part in self._parts if _is_level(part, one) and part.left > one.place[0]]
        return min(behind, default=math.inf) < min(texts, default=math.inf)

    def _beside(self, one: Field) -> int | None:
        """Returns the index of the nearest part left of a field, or None. Captions of tick boxes do not count."""
        beside = [
            at for at, part in enumerate(self._parts) if _is_level(part, one) and part.left < one.place[0]
            and at not in self._of_boxes and any(map(str.isalpha, part.text))
        ]  # fmt: skip
        return max(beside, key=lambda at: self._parts[at].right, default=None)

    def _behind(self, one: Field) -> int | None:
        """Returns the index of the caption just right of a tick box or radio button; None if there is none."""
        right = one.place[2]
        behind = [
            at for at, part in enumerate(self._parts)
            if _is_level(part, one) and -1 < part.left - right < _BESIDE * part.height
        ]  # fmt: skip
        return min(behind, key=lambda at: self._parts[at].left, default=None)

    def _has_field(self, left: float, right: float, one: Field, boxes: bool = True) -> bool:
        return any(
            left - 1 < other.place[0] < right and other.place[1] < one.place[3] and other.place[3] > one.place[1]
            for other in self._fields if other is not one and (boxes or not other.is_box)
        )  # fmt: skip


def _both(text: str, hint: str) -> str:
    """Joins a label and a hint: "Name (as in your passport)". If one contains the other, returns the longer."""
    plain = text.rstrip(" :：*")
    if not hint or hint.casefold() in plain.casefold():
        return text
    return hint if plain.casefold() in hint.casefold() else f"{plain} ({hint})"


def _is_level(part: Line, one: Field) -> bool:
    _, bottom, _, top = one.place
    return bottom < (part.bottom + part.top) / 2 < top or part.bottom < (bottom + top) / 2 < part.top
