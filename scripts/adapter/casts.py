"""Cast lists (who played whom), in the forms that pages about films and series use."""

from __future__ import annotations

import random

from adapter.passages import NONE, Passage, Question, heading
from adapter.values import LISTS
from adapter.writing import Block, cut

_WORKS = ("film", "series", "musical", "play", "show")
_TITLES = (
    "The {} House", "{} Road", "Return to {}", "The Girl from {}", "{} Nights", "A Winter in {}", "The {} Affair",
    "Beyond {}", "{} & Sons", "The Last Train to {}",
)  # fmt: skip
_FORMS = (
    "{actor} as {role}", "{actor} as {role} , {about}", "{actor} as {role}: {about}", "{role} ( {actor} )",
    "{role}, played by {actor}", "{role} ( portrayed by {actor} ) is {about}", "{actor} – {role}",
    "{actor} plays {role}, {about}.", "{role} - {actor}", "{actor} ... {role}",
)  # fmt: skip
_BEFORE = ("{}", "{}", "- {}", "* {}", "<Li> {} </Li>", "<Li> {} </Li>")
_ABOUT = (
    "a retired detective", "the owner of the hotel", "his younger sister", "a nurse from the coast", "the mayor's son",
    "a schoolteacher who moves into the house", "a banker with a secret", "the captain of the ferry",
    "her former husband", "a student and part-time waiter", "the neighbour", "a journalist who investigates the fire",
)  # fmt: skip
_WHO = (
    "who plays {role} in {work}", "Who played {role} in {work}?", "who plays {first} in {work}", "Who plays {role}?",
    "who is {role} played by", "Which actor portrays {role}?", "what is the name of the actor who plays {first}",
    "Who played the part of {role}?",
)  # fmt: skip
_WHOM = (
    "Which role does {actor} play?", "who does {actor} play in {work}", "Who is played by {actor}?",
    "what character does {actor} play in {work}",
)  # fmt: skip


def cast_passage(rng: random.Random) -> Passage:
    """Returns a segment of a random cast list, with questions for actors and roles; some are not in the list."""
    work = rng.choice(_TITLES).format(rng.choice(LISTS["city"] + LISTS["street"]))
    n = rng.randint(4, 12)
    actors = _names(rng, n + 3)
    roles = [name if rng.random() < 0.6 else name.split()[0] for name in _names(rng, n + 3)]
    form, before = rng.choice(_FORMS), rng.choice(_BEFORE)
    lines = [rng.choice(["Cast", "Cast and characters", "Main cast", "== Cast ==", "Characters"])]
    blocks = [Block("", lines[0])] if rng.random() < 0.5 else []
    for actor, role in zip(actors[:n], roles[:n], strict=True):
        text = before.format(form.format(actor=actor, role=role, about=rng.choice(_ABOUT)))
        blocks.append(Block("\n", text, tuple(_asked(rng, work, actor, role, roles))))
    absent = [
        Question(question.text, NONE)
        for actor, role in zip(actors[n:], roles[n:], strict=True)
        for question in _asked(rng, work, actor, role, roles)
    ]
    kind = rng.choice(_WORKS)
    others = [
        f"Who directed {work}?", f"who wrote the {kind} {work}", f"when did {work} come out",
        f"Where was {work} filmed?", f"How many seasons of {work} are there?",
    ]  # fmt: skip
    absent += [Question(rng.choice(others), NONE) for _ in range(2)]
    return cut(rng, "casts", blocks, absent, heading(work if rng.random() < 0.7 else ""))


def _names(rng: random.Random, n: int) -> list[str]:
    firsts, lasts = rng.sample(LISTS["first name"], n), rng.sample(LISTS["last name"], n)
    return [f"{first} {last}" for first, last in zip(firsts, lasts, strict=True)]


def _asked(rng: random.Random, work: str, actor: str, role: str, roles: list[str]) -> list[Question]:
    first = role.split()[0]
    if [one.split()[0] for one in roles].count(first) > 1:
        first = role
    return [
        Question(rng.choice(_WHO).format(role=role, first=first, work=work), actor),
        *([Question(rng.choice(_WHOM).format(actor=actor, work=work), role)] if rng.random() < 0.4 else []),
    ]
