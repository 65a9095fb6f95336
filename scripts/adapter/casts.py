"""Cast lists (who played whom), in the forms that pages about films and series use."""

from __future__ import annotations

import random

from adapter.passages import NONE, Passage, Question, heading
from adapter.values import LISTS
from adapter.writing import Block, cut


def cast_passage(rng: random.Random) -> Passage:
    """Returns a segment of a random cast list, with questions for actors and roles; some are not in the list."""
    work = rng.choice(LISTS["titles of works"]).format(rng.choice(LISTS["city"] + LISTS["street"]))
    n = rng.randint(4, 12)
    actors = _names(rng, n + 3)
    roles = [name if rng.random() < 0.6 else name.split()[0] for name in _names(rng, n + 3)]
    form, before = rng.choice(LISTS["forms of a part"]), rng.choice(LISTS["before a part"])
    lines = [rng.choice(["Cast", "Cast and characters", "Main cast", "== Cast ==", "Characters"])]
    blocks = [Block("", lines[0])] if rng.random() < 0.5 else []
    for actor, role in zip(actors[:n], roles[:n], strict=True):
        text = before.format(form.format(actor=actor, role=role, about=rng.choice(LISTS["about a role"])))
        blocks.append(Block("\n", text, tuple(_asked(rng, work, actor, role, roles))))
    absent = [
        Question(question.text, NONE)
        for actor, role in zip(actors[n:], roles[n:], strict=True)
        for question in _asked(rng, work, actor, role, roles)
    ]
    kind = rng.choice(LISTS["kinds of works"])
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
    found = [Question(rng.choice(LISTS["questions for an actor"]).format(role=role, first=first, work=work), actor)]
    if rng.random() < 0.4:
        found.append(Question(rng.choice(LISTS["questions for a role"]).format(actor=actor, work=work), role))
    return found
