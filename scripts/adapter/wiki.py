"""Questions made by rules from sentences of Wikipedia, only if a sentence's form shows what it answers."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adapter.passages import NONE, Passage, Question, contains, fill as fill_questions, heading
from adapter.squad import CHARACTERS
from wim_edge.documents.data_files import read_rows

_SENTENCE = re.compile(r"(?<=[a-z0-9)\"'][.!?])\s+(?=[A-Z\"])")
_WORD = r"[A-Z][\w'’.-]*"
_NAME = rf"{_WORD}(?:(?: (?:of|de|von|van|the|and|&))* {_WORD})*"
_PERSON = rf"[A-Z][\w'’-]+(?:(?: (?:de|von|van|al|bin))* {_WORD})+"
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = rf"(?:{_MONTH} \d{{1,2}}, \d{{4}}|\d{{1,2}} {_MONTH} \d{{4}}|{_MONTH} \d{{4}}|\d{{4}})"
_PRONOUN = r"(?:It|He|She|This|They|There|These|That|In|Film|You|We|Its|His|Her|Their|Another|One|Both|Some|All)\b"
_SUBJECT = rf"(?!{_PRONOUN})(?P<s>(?:The |A |An )?{_NAME})"
_BE = r"(?P<be>was|were|is|are)"
_MADE = (
    "directed|written|produced|composed|created|developed|published|founded|established|built|released|recorded|designed|"
    "invented|discovered|introduced|launched|opened|completed|formed|played|portrayed|performed|sung|won|named|elected|"
    "appointed|signed|adopted|abolished|destroyed|captured|held|located|situated|set|filmed|shot|premiered|published|"
    "painted|edited|narrated|hosted|owned|operated|led|headed|killed|born|buried|raised|educated|crowned|married|"
    "commissioned|rebuilt|renamed|dissolved|incorporated|inspired|illustrated|translated|broadcast|nominated|awarded"
)
_PAST = (
    "won|wrote|directed|discovered|invented|founded|composed|recorded|painted|defeated|succeeded|coached|hosted|narrated|"
    "voiced|played|portrayed|starred in|sang|created|designed|built|led|became|produced|developed|married|killed|"
    "established|scored|signed|introduced|published|conquered|commanded|represented|replaced|released"
)
_NUMBER = r"\d+|two|three|four|five|six|seven|eight|nine|ten|twelve"
_ROLES = (
    "king|queen|president|actor|actress|singer|director|author|writer|winner|captain|coach|founder|member|player|man|"
    "woman|person|leader|governor|mayor|minister|emperor|drummer|guitarist|composer|chairman|bishop|general|voice|"
    "runner-up|owner|host|manager|editor|son|daughter|wife|husband|brother|father|mother|successor|head"
)
_THINGS = (
    "capital|largest city|largest|smallest|highest|longest|oldest|first|second|third|name|home|birthplace|site|seat|"
    "official language|currency|county seat|main|only|last|most|national"
)


@dataclass(frozen=True)
class Page:
    """A passage with the title of its page, and the questions that the passage's sentences answer."""

    title: str
    text: str
    questions: tuple[Question, ...]


def pages(data: Path) -> list[Page]:
    """Returns Wikipedia's passages with questions, without the pages that the evaluation's questions are about."""
    left_out = {title for row in read_rows(data / "recall_queries_dev.jsonl.gz") for title in row["titles"]}
    left_out |= {row["gold"]["title"] for row in read_rows(data / "nq_multidoc_dev.jsonl.gz")}
    found = []
    for row in read_rows(data / "wiki_passages.jsonl.gz"):
        if row["title"] not in left_out and 120 <= len(row["text"]) <= CHARACTERS[1]:
            questions = {one.text: one for one in _questions(row["title"], row["text"])}
            found.append(Page(row["title"], row["text"], tuple(questions.values())))
    return found


class Wiki:
    """Passages, indexed by capitalized word: passages that share names have similar questions."""

    def __init__(self, pages: list[Page]) -> None:
        self._pages = pages
        self._asked = [page for page in pages if len(page.questions) >= 2]
        self._by_word: dict[str, list[int]] = defaultdict(list)
        for number, page in enumerate(pages):
            if page.questions:
                for word in set(re.findall(r"[A-Z][a-z]{3,}", page.title + " " + page.text)):
                    self._by_word[word].append(number)

    def passage(self, rng: random.Random) -> Passage:
        """Returns a random passage with questions. The unanswerable ones are those of passages that share a name with
        this one, those of random passages, and questions about its subject that it does not answer."""
        page = rng.choice(self._asked)
        absent = list(_not_said(rng, page))
        words = [word for word in set(re.findall(r"[A-Z][a-z]{3,}", page.text)) if 1 < len(self._by_word[word]) < 60]
        for word in rng.sample(sorted(words), min(6, len(words))):
            other = self._pages[rng.choice(self._by_word[word])]
            if other.questions and other.text != page.text:
                question = rng.choice(other.questions)
                if not contains(page.text, question.target):
                    absent.append(Question(question.text, NONE))
        for _ in range(2):
            question = rng.choice(rng.choice(self._asked).questions)
            if not contains(page.text, question.target):
                absent.append(Question(question.text, NONE))
        above = heading(page.title if rng.random() < 0.6 else "")
        return Passage("wiki", above, page.text, fill_questions(rng, page.questions, absent, 0.45))


def _questions(title: str, text: str) -> Iterator[Question]:
    name = re.sub(r" \(.*\)$", "", title)
    first = _SENTENCE.split(text)[0]
    work = re.search(r"\b(?:film|novel|song|album|book|series|play|opera|band|magazine|game|company|city)\b", first)
    person = bool(re.search(r"\bborn\b|\d{4} ?[–-] ?[^()]{0,20}\d{4}\)", first))
    person = person or bool(not work and re.search(r"(?:^|[.] )(?:He|She|His|Her)\b", text))
    for sentence in _SENTENCE.split(text):
        for question, answer in _of_sentence(name, sentence.strip(), person):
            answer = answer.strip(" ,;.")
            words = question.split()
            if (
                2 <= len(answer) <= 80
                and 3 <= len(words) <= 20
                and answer in text
                and answer not in question
                and len(answer.split()[-1]) > 1
            ):
                yield Question(f"{question.strip(' ,;.')}?", answer)


def _of_sentence(name: str, sentence: str, person: bool) -> Iterator[tuple[str, str]]:
    subject = re.match(rf"(?:The |A )?{re.escape(name)}\b", sentence)
    pronoun = re.match(
        r"(?:It|He|She|The (?:film|song|album|series|book|novel|band|show|company|city|town))\b", sentence
    )
    about = bool(subject or pronoun)
    if match := re.match(
        rf"{re.escape(name)}[^()]{{0,30}}\((?:[^()]*?; )?(?:born )?({_DATE})(?: [–-] ({_DATE}))?\)", sentence
    ):
        yield f"When was {name} born", match[1]
        if match[2]:
            yield f"When did {name} die", match[2]
    if subject and (
        match := re.search(
            rf"\b(?:is|was) (an? [^,.;()]+?)(?: (?:who|which|that|by|based|starring|{_MADE})\b|[,.;(]|$)", sentence
        )
    ):
        yield f"{'Who' if person else 'What'} {'was' if ' was ' in sentence[: match.end()] else 'is'} {name}", match[1]
    if about and person and (match := re.search(rf"\bborn (?:and raised )?in ({_NAME}(?:, {_NAME})?)", sentence)):
        yield f"Where was {name} born", match[1]
    if about and not person:
        for verb, agent in re.findall(rf"\b({_MADE}) by ({_PERSON})", sentence):
            yield f"Who {_active(verb)} {name}" if verb in _ACTIVE else f"Who was {name} {verb} by", agent
        if match := re.search(rf"\bstarring ({_PERSON}(?:, {_PERSON})*,? and {_PERSON})", sentence):
            yield f"Who stars in {name}", match[1]
        for verb, when in re.findall(rf"\b({_MADE})(?: in| on) ({_DATE})", sentence):
            yield f"When was {name} {verb}", when
        if match := re.search(rf"\b(?:located|situated) in ({_NAME}(?:, {_NAME})?)", sentence):
            yield f"Where is {name} located", match[1]
        if match := re.search(r"\bpopulation (?:of|was|is)(?: about| approximately)? (\d[\d,.]*\d)", sentence):
            yield f"What is the population of {name}", match[1]
        if match := re.search(rf"\b(?:also|better|commonly) known as (?:the |\")?({_NAME})", sentence):
            yield f"What is {name} also known as", match[1]
        if match := re.search(rf"\bbased on (the [a-z ]+ by {_PERSON}|{_NAME})", sentence):
            yield f"What is {name} based on", match[1]
        if match := re.search(rf"\bnamed after ({_NAME})", sentence):
            yield f"Who or what is {name} named after", match[1]
    # A passive sentence of any subject: its adverbials answer when, where and by whom
    if match := re.match(rf"{_SUBJECT} {_BE} (?P<v>{_MADE})(?P<rest>[^.;]*)", sentence):
        stem, rest = f"{match['s']} {match['v']}", match["rest"]
        if when := re.search(rf" (?:in|on) ({_DATE})", rest):
            yield f"When {match['be']} {stem}{_before(rest, when.start())}", when[1]
        if agent := re.search(rf" by ({_PERSON}|the {_NAME})", rest):
            yield f"Who {match['be']} {stem} by", agent[1]
        if where := re.search(rf" (?:in|at) ((?!\d)(?:the )?{_NAME}(?:, {_NAME})?)", rest):
            yield f"Where {match['be']} {stem}", where[1]
    # Whoever did it is asked for with the sentence's own verb
    if match := re.match(
        rf"(?!{_PRONOUN})(?P<s>{_PERSON}) (?:also |first |later )?(?P<v>{_PAST}) (?P<o>[^.,;]{{6,80}})(?:[,;]|\.?$)",
        sentence,
    ):
        yield f"Who {match['v']} {match['o']}", match["s"]
    if match := re.match(
        rf"(?!{_PRONOUN})(?P<s>{_PERSON}) {_BE} (?P<o>the (?:[a-z-]+ ){{0,3}}(?:{_ROLES})\b[^.,;]{{3,70}})"
        r"(?:[,;]|\.?$)",
        sentence,
    ):
        yield f"Who {match['be']} {match['o']}", match["s"]
    if match := re.match(rf"{_SUBJECT} {_BE} (?P<o>the (?:{_THINGS})\b[^.,;]{{3,70}})(?:[,;]|\.?$)", sentence):
        yield f"What {match['be']} {match['o']}", match["s"]
    # Roles in parentheses and appositions
    for actor, role in re.findall(rf"({_PERSON}) as ({_NAME})", sentence):
        yield f"Who plays {role}" if "star" in sentence or "cast" in sentence else f"Who is {role}", actor
    if match := re.search(
        rf"\b(?P<role>[a-z]+ (?:president|king|queen|minister|director|founder|captain|coach)) (?P<n>{_PERSON})",
        sentence,
    ):
        yield f"Who is the {match['role']}", match["n"]
    for count, thing in re.findall(
        rf"\b(?:has|have|had|contains|comprises|consists of|with) ({_NUMBER}) ([a-z]+s(?: [a-z]+s)?)\b",
        sentence,
    ):
        if subject or pronoun:
            yield f"How many {thing} does {name} have", count


_ACTIVE = {"directed", "produced", "composed", "created", "developed", "published", "founded", "established", "built",
           "released", "recorded", "designed", "invented", "discovered", "introduced", "launched", "formed", "played",
           "portrayed", "performed", "won", "painted", "edited", "narrated", "hosted", "owned", "operated", "led",
           "commissioned", "illustrated", "translated", "written", "sung"}  # fmt: skip


def _active(verb: str) -> str:
    return {"written": "wrote", "sung": "sang"}.get(verb, verb)


def _before(rest: str, at: int) -> str:
    """Returns the words between verb and date if they belong to the question, else an empty text."""
    between = rest[:at]
    return between if re.fullmatch(r"(?: (?:as|by|at|in|for|of|the|to|[A-Z][\w'-]*|[a-z]+)){0,5}", between) else ""


def _not_said(rng: random.Random, page: Page) -> Iterator[Question]:
    """Yields questions about the page's subject, on topics that no word of the passage touches."""
    name = re.sub(r" \(.*\)$", "", page.title)
    text = page.text.lower()
    asks = [
        (r"\d", f"When was {name} founded"), (r"born|birth", f"Where was {name} born"),
        (r"direct|film", f"Who directed {name}"), (r"popul|inhabit|people", f"What is the population of {name}"),
        (r"wr[io]t|author|by ", f"Who wrote {name}"), (r"die|death|\d", f"When did {name} die"),
        (r"mar+i|wife|husband|spouse", f"Who is {name} married to"),
        (r"\d|one|two|three|many", f"How many people work for {name}"),
        (r"name|known", f"What does the name {name} mean"), (r"song|sing|sang|music|album", f"Who sang {name}"),
        (r"locat|in [A-Za-z]|situat", f"Where is {name} located"), (r"\d|releas", f"When was {name} released"),
        (r"award|won|win|prize", f"Which award did {name} win"),
        (r"school|univers|college|educ", f"Where did {name} study"),
    ]  # fmt: skip
    fitting = [question for pattern, question in asks if not re.search(pattern, text)]
    for question in rng.sample(fitting, min(3, len(fitting))):
        yield Question(f"{question}?", NONE)
