"""Passages of SQuAD 2.0's articles and of privacy policies (PolicyQA), cut as wim-edge cuts a document."""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapter.passages import NONE, Passage, Question, contains, fill, heading
from wim_edge.documents.data_files import read_rows

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"(])|[。！？؟]|\n+")
_DENSE = 3  # characters of Chinese say as much as this many of a script with spaces
CHARACTERS = (240, 1000)
"""The shortest and the longest segment, in characters: about 60 and 240 tokens."""
_POLICY_QUESTIONS = 2000


@dataclass
class Article:
    """An article: consecutive paragraphs, and the questions on them."""

    title: str
    paragraphs: list[str] = field(default_factory=list)
    questions: list[tuple[int, str, str]] = field(default_factory=list)
    """(the paragraph's index, question, answer); the answer is empty if there is none."""

    def add(self, row: dict[str, Any]) -> None:
        if row["text"] not in self.paragraphs[-1:]:
            self.paragraphs.append(row["text"])
        self.questions.append((len(self.paragraphs) - 1, row["question"], _best(row["answers"])))


def articles(path: Path) -> dict[str, Article]:
    """Returns SQuAD's articles by name, in the order of the file."""
    found: dict[str, Article] = {}
    for row in read_rows(path):
        name = row["source"].partition("/")[2]
        found.setdefault(name, Article(name.replace("_", " "))).add(row)
    return found


def _best(answers: list[str]) -> str:
    """Returns the most frequent answer, the shortest among equally frequent ones; empty without answers."""
    counts = Counter(answer.strip().rstrip(".,;") for answer in answers)
    return min(counts, key=lambda answer: (-counts[answer], len(answer))) if counts else ""


def squad_passage(rng: random.Random, articles: list[Article]) -> Passage:
    """Returns a segment of a random article, with questions that it answers and questions that it does not."""
    article = rng.choices(articles, [len(one.paragraphs) for one in articles])[0]
    text = "\n\n".join(article.paragraphs)
    starts = [0]
    for paragraph in article.paragraphs:
        starts.append(starts[-1] + len(paragraph) + 2)
    start, end = cut(rng, text)
    segment = text[start:end]
    answered, adversarial, elsewhere = [], [], []
    for number, question, answer in article.questions:
        inside = start <= starts[number] + 40 and starts[number + 1] - 42 <= end
        near = starts[number] < end and starts[number + 1] > start
        if answer:
            at = text.find(answer, starts[number], starts[number + 1])
            if at >= start and at + len(answer) <= end:
                answered.append(Question(question, answer))
            elif not contains(segment, answer):
                elsewhere.append(Question(question, NONE))
        elif inside or (near and rng.random() < 0.5):
            adversarial.append(Question(question, NONE))
    others = rng.sample(elsewhere, min(4, len(elsewhere)))
    title = article.title if rng.random() < 0.5 else ""
    return Passage("squad2", heading(title), segment, fill(rng, answered, [*adversarial, *others], 0.5))


def cut(rng: random.Random, text: str) -> tuple[int, int]:
    """Returns the offsets (start, end) of a random segment of whole sentences."""
    breaks = [0, *(match.end() for match in _SENTENCE.finditer(text)), len(text)]
    size = rng.randint(*CHARACTERS) // (_DENSE if len(text.split()) < len(text) / 15 else 1)
    start = breaks[bisect_left(breaks, rng.randint(0, max(0, len(text) - size)))]
    ends = [at for at in breaks if start < at <= start + size]
    end = ends[-1] if ends else breaks[bisect_left(breaks, start + 1)]
    return start, end


def policies(path: Path) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Returns (website, passage, [(question, answer)]) for the questions with the shortest answers."""
    rows = [(min(row["answers"], key=len).strip(), row) for row in read_rows(path)]
    rows = [(answer, row) for answer, row in rows if len(answer) >= 4 and contains(row["text"], answer)]
    rows.sort(key=lambda pair: (len(pair[0]), pair[0], pair[1]["question"], pair[1]["text"]))
    found: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for answer, row in rows[:_POLICY_QUESTIONS]:
        found[row["source"], row["text"]].append((row["question"], answer))
    return [(site, text, questions) for (site, text), questions in sorted(found.items()) if len(text) <= CHARACTERS[1]]


def policy_passage(rng: random.Random, policies: list[tuple[str, str, list[tuple[str, str]]]]) -> Passage:
    """Returns a passage of a policy. Questions on other websites count as unanswerable if their words differ."""
    site, text, asked = rng.choice(policies)
    own = {word for question, _ in asked for word in _words(question)}
    absent = [question for question in _foreign(rng, site, policies) if len(own & set(_words(question))) <= 1]
    answered = [Question(question, answer) for question, answer in asked]
    return Passage("policyqa", heading(), text, fill(rng, answered, [Question(one, NONE) for one in absent]))


def _foreign(rng: random.Random, site: str, policies: list[tuple[str, str, list[tuple[str, str]]]]) -> Iterator[str]:
    for _ in range(12):
        other, _, questions = rng.choice(policies)
        if other != site:
            yield rng.choice(questions)[0]


def _words(question: str) -> list[str]:
    return [word for word in re.findall(r"[a-z]{5,}", question.lower()) if word not in ("which", "would", "there")]
