"""Documents written from the texts in `texts/`, with random values, and cut as wim-edge cuts a document.

A text file holds kinds of documents, each from a line `@ name` on. The lines:

    # heading || another wording          a heading, on a line of its own
    > sentence || another wording         joined to the paragraph; may be left out
    * item                                a line of its own; may be left out
    % label/another label = value         a field, written in the document's layout; may be left out
    -                                     a new paragraph
    ? answer :: question | question       questions on the line above, which contains the answer
    y question | question                 questions on the line above that are answered by Yes
    n question | question                 questions on the line above that are answered by No
    ! question | question                 questions that no line of the document answers

`{kind}` and `{kind:key}` stand for a value (values.py), `{key=a/b}` for a or b, and `{key}` for the same again. If a
line is left out, or is outside of the segment, its questions have no answer. A line with several wordings may have an
answer with questions for each. Only the questions whose answer is in the text are asked.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from adapter.passages import NO, NONE, YES, Passage, Question, contains, fill, heading
from adapter.squad import CHARACTERS
from adapter.values import TEXTS, Values

_SLOT = re.compile(r"\{([^{}]+)\}")
_CHOICE = re.compile(r"\{(\w+)=([^{}]+)\}")
_LEFT_OUT = 0.13


@dataclass
class Line:
    """A line of a text file, with the questions below it."""

    mark: str
    text: str
    answers: list[tuple[str, str]] = field(default_factory=list)
    """(answer, questions) as in the file; the answer may be Yes or No."""


@dataclass
class Kind:
    """A kind of document: its lines, and questions that no line answers."""

    language: str
    lines: list[Line] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """A piece of a document, with its questions. ``between``: the separator from the piece before it."""

    between: str
    text: str
    questions: tuple[Question, ...] = ()
    header: str = ""
    """The table's header, for a row: it is put above a segment that begins with this row."""


@cache
def kinds() -> list[Kind]:
    """Returns the kinds of documents in all text files. A file's name begins with its language."""
    return [kind for path in sorted(TEXTS.glob("*.txt")) for kind in _parse(path)]


def _parse(path: Path) -> Iterator[Kind]:
    language = path.name[:2]
    kind = Kind(language)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark, rest = line[:1], line[1:].strip()
        match mark:
            case "":
                continue
            case "@":
                if kind.lines:
                    yield kind
                kind = Kind(language)
            case "#" | ">" | "*" | "%" | "-":
                kind.lines.append(Line(mark, rest))
            case "?":
                answer, _, questions = rest.partition(" :: ")
                kind.lines[-1].answers.append((answer, questions))
            case "y" | "n":
                kind.lines[-1].answers.append((YES if mark == "y" else NO, rest))
            case "!":
                kind.absent.append(rest)
            case _:
                raise ValueError(f"{path.name}, line {number}: {line}")
    yield kind


class Writer:
    """Writes one document of a kind."""

    def __init__(self, rng: random.Random, kind: Kind) -> None:
        self._rng, self._kind = rng, kind
        self._values = Values(rng, kind.language)
        defined = _CHOICE.findall("\n".join(line.text for line in kind.lines))
        self._chosen = {key: rng.choice(choices.split("/")) for key, choices in defined}
        self._field = rng.choice(
            ["{}: {}", "{}: {}", "**{}:** {}", "{} - {}", "- {}: {}", "{}\t{}", "| {} | {} |", "{}\n{}"]
        )
        self.absent: list[Question] = []

    def blocks(self) -> list[Block]:
        """Returns the document's blocks in order. The questions of lines that are left out go to ``absent``."""
        found: list[Block] = []
        before = between = ""
        for line in self._kind.lines:
            if line.mark == "-":
                between = "\n\n"
                continue
            label = ""
            text = self._one(line.text, " || ")
            if line.mark == "%":
                labels, _, value = text.partition(" = ")
                label, text = self._filled(self._one(labels, "/")), value
            text = self._filled(text)
            questions = self._questions(line, label, text)
            if line.mark != "#" and self._rng.random() < _LEFT_OUT:
                self.absent += [Question(one.text, NONE) for one in questions]
                continue
            if line.mark == "%":
                text = self._field.format(label, text)
            elif line.mark == "#":
                text = self._rng.choice(["{}", "{}", "# {}", "## {}", "**{}**"]).format(text)
            # A sentence goes on where a sentence stands before it; everything else begins a line
            after = {">": " " if before == ">" else "\n\n", "#": "\n\n"}.get(line.mark, "\n")
            found.append(Block((between or after) if found else "", text, tuple(questions)))
            before, between = line.mark, "\n\n" if line.mark == "#" else ""
        self.absent += [Question(self._filled(self._one(one, " | ")), NONE) for one in self._kind.absent]
        return found

    def _questions(self, line: Line, label: str, text: str) -> list[Question]:
        found = []
        for answer, wordings in line.answers:
            target = answer if answer in (YES, NO) else self._filled(answer)
            several = wordings.split(" | ")
            for wording in self._rng.sample(several, min(len(several), 1 if self._rng.random() < 0.7 else 2)):
                found.append(Question(self._filled(wording), target))
        if label and not line.answers:
            asked = label if label[:2].isupper() else label[0].lower() + label[1:]
            ways = {
                "en": [f"What is the {asked}?", f"What {asked} is given?", f"{label}?", f"Tell me the {asked}."],
                "de": [f"{label}?", f"Wie lautet die Angabe zu {label}?"], "fr": [f"{label} ?"], "es": [f"¿{label}?"],
                "it": [f"{label}?"],
            }[self._kind.language]  # fmt: skip
            found.append(Question(self._rng.choice(ways), text))
        return found

    def _one(self, text: str, between: str) -> str:
        return self._rng.choice(text.split(between))

    def _filled(self, text: str) -> str:
        return _SLOT.sub(lambda match: self._value(match[1]), text)

    def _value(self, slot: str) -> str:
        if slot in self._chosen:
            return self._chosen[slot]
        if "=" in slot:
            return self._chosen[slot.partition("=")[0]]
        if "/" in slot:
            return self._rng.choice(slot.split("/"))
        kind, _, key = slot.partition(":")
        return self._values.fresh(kind) if key == "new" else self._values.get(kind, key)


def written_passage(rng: random.Random) -> Passage:
    """Returns a segment of a random document, with questions."""
    every = kinds()
    english = [kind for kind in every if kind.language == "en"]
    kind = rng.choice(english) if rng.random() < 0.64 else rng.choice([one for one in every if one.language != "en"])
    writer = Writer(rng, kind)
    blocks = writer.blocks()
    return cut(
        rng, "written", blocks, writer.absent, heading("" if rng.random() < 0.7 else blocks[0].text.strip("#* "))
    )


def cut(rng: random.Random, source: str, blocks: list[Block], absent: list[Question], above: str) -> Passage:
    """Returns a run of a document's blocks as a passage. Questions of the other blocks have no answer in it."""
    size = rng.randint(*CHARACTERS)
    total = sum(len(block.between) + len(block.text) for block in blocks)
    first = 0
    if total > size and rng.random() < 0.7:
        first = rng.randrange(len(blocks))
        while first and sum(len(block.text) for block in blocks[first:]) < min(size, 300):
            first -= 1
    last, text = first, ""
    while last < len(blocks) and (not text or len(text) + len(blocks[last].text) <= size):
        text += (blocks[last].between if text else "") + blocks[last].text
        last += 1
    inside, outside = blocks[first:last], [*blocks[:first], *blocks[last:]]
    answered = [one for block in inside for one in block.questions if not one.is_span or one.target in text]
    asked = {one.text.lower() for one in answered}
    gone = [one for block in outside for one in block.questions if not one.is_span or not contains(text, one.target)]
    without = [Question(one.text, NONE) for one in [*gone, *absent] if one.text.lower() not in asked]
    if first and blocks[first].header:
        above += f"{blocks[first].header}\n"
    return Passage(source, above, text, fill(rng, answered, without, 0.42))
