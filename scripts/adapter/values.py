"""Random values for documents: names, dates, amounts, codes and others, which differ within a document."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

TEXTS = Path(__file__).parent / "texts"


def _lists() -> dict[str, list[str]]:
    lines = (TEXTS / "values").read_text(encoding="utf-8").splitlines()
    return {name: several.split(" | ") for name, several in (line.split(" :: ") for line in lines)}


LISTS = _lists()
"""The names, places and words that values and cast lists are made of, by list."""


class Values:
    """The values of one document. The same kind and key always give the same value."""

    def __init__(self, rng: random.Random, language: str = "en") -> None:
        self.rng, self._language = rng, language
        self._given: dict[tuple[str, str], str] = {}
        self._used: set[str] = set()
        units = LISTS["unit " + language]
        # One document writes its dates, amounts and numbers in one way
        self._date = rng.choice([self._long_date, self._long_date, self._iso_date, self._numeric_date])
        self._currency = rng.choice(["EUR", "€", "$", "£", "CHF", "EUR"] if language == "en" else ["EUR", "€", "CHF"])
        self._makers: dict[str, Callable[[], str]] = {
            "person": lambda: f"{self._one('first name')} {self._one('last name')}",
            "last": lambda: self._one("last name"),
            "company": self._company, "city": lambda: self._one("city"), "address": self._address,
            "date": lambda: self._date(), "day": lambda: self._one("day " + language), "amount": self._amount,
            "small": lambda: self._money(rng.randint(100, 9900) / 100), "iban": self._iban, "email": self._email,
            "phone": self._phone, "code": self._code, "number": lambda: str(rng.randint(10_000, 9_999_999)),
            "int": lambda: str(rng.randint(3, 95)), "count": lambda: str(rng.randint(2, 12)),
            "percent": lambda: f"{rng.choice([1, 1.5, 2, 2.5, 3, 4, 5, 7, 8, 10, 12, 15, 19, 20, 21, 25])}"
            + rng.choice(["%", "%", " percent"] if language == "en" else ["%", " %"]),
            "days": lambda: f"{rng.choice([3, 5, 7, 10, 14, 20, 21, 28, 30, 45, 60, 90])} {units[0]}",
            "weeks": lambda: f"{rng.randint(2, 12)} {units[1]}",
            "months": lambda: f"{rng.choice([2, 3, 4, 6, 9, 12, 18, 24, 36])} {units[2]}",
            "years": lambda: f"{rng.randint(2, 12)} {units[3]}", "time": self._time,
            "goods": lambda: self._one("goods"), "team": lambda: self._one("teams"),
            "role": lambda: self._one("roles"),
            "room": lambda: rng.choice(
                [f"Room {rng.randint(1, 420)}", f"room {rng.choice('ABC')}{rng.randint(1, 30)}"]
            ),
            "year": lambda: str(rng.randint(1950, 2026)), "mm": lambda: f"{rng.randint(20, 1900)} mm",
            "kg": lambda: f"{rng.randint(2, 900) / rng.choice([1, 10])} kg",
            "watt": lambda: f"{rng.randint(3, 240) * 10} W",
            "volt": lambda: f"{rng.choice([12, 24, 48, 110, 230, 400])} V",
            "bar": lambda: f"{rng.randint(5, 160) / 10} bar",
            "celsius": lambda: f"{rng.randint(2, 240)} °C", "litre": lambda: f"{rng.randint(2, 90) / 2} litres",
            "minutes": lambda: f"{rng.choice([2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 90])} minutes",
            "gram": lambda: f"{rng.choice([20, 50, 75, 100, 125, 150, 200, 250, 300, 400, 500])} g",
            "web": self._web,
            "sqm": lambda: f"{rng.randint(18, 240)} m²", "km": lambda: f"{rng.randint(2, 900)} km",
            "tax": lambda: rng.choice(["GB", "DE", "FR", "ATU", "IT", "ESB"]) + str(rng.randint(10**8, 10**9 - 1)),
            "bic": self._bic,
            "error": lambda: f"{self.get('errors', '_', pool=['E', 'E-', 'F', 'Err ', 'ERR-0'])}{rng.randint(1, 48)}",
        }  # fmt: skip

    def get(self, kind: str, key: str = "", pool: list[str] | None = None) -> str:
        """Returns the value of this kind and key, unlike all others in the document. ``pool``: what to choose from."""
        if (kind, key) not in self._given:
            make = partial(self.rng.choice, pool) if pool else self._makers[kind]
            value = make()
            for _ in range(30):
                if value not in self._used:
                    break
                value = make()
            self._used.add(value)
            self._given[kind, key] = value
        return self._given[kind, key]

    def fresh(self, kind: str) -> str:
        """Returns a new value of this kind, different from the document's others."""
        return self.get(kind, f"#{len(self._given)}")

    def _one(self, name: str) -> str:
        return self.rng.choice(LISTS[name])

    def _company(self) -> str:
        return f"{self._one('firm')} {self._one('trade')} {self._one('form ' + self._language)}"

    def _address(self) -> str:
        number, code = self.rng.randint(1, 240), self.rng.randint(1000, 99999)
        street = f"{self._one('street')} {self.rng.choice(['Street', 'Road', 'Lane', 'Avenue'])}"
        if self._language != "en":
            street = {"de": "{}straße", "fr": "rue {}", "es": "Calle {}", "it": "Via {}"}[self._language].format(
                self._one("last name")
            )
            return f"{street} {number}, {code:05} {self._one('city')}"
        return f"{number} {street}, {self._one('city')}" + (f" {code}" if self.rng.random() < 0.5 else "")

    def _day_month_year(self) -> tuple[int, int, int]:
        return self.rng.randint(1, 28), self.rng.randint(1, 12), self.rng.randint(2015, 2027)

    def _long_date(self) -> str:
        day, month, year = self._day_month_year()
        name = LISTS["month " + self._language][month - 1]
        if self._language == "en":
            return f"{day} {name} {year}" if self._currency != "$" else f"{name} {day}, {year}"
        return {"de": "{}. {} {}", "fr": "{} {} {}", "es": "{} de {} de {}", "it": "{} {} {}"}[self._language].format(
            day, name, year
        )

    def _iso_date(self) -> str:
        day, month, year = self._day_month_year()
        return f"{year}-{month:02}-{day:02}"

    def _numeric_date(self) -> str:
        day, month, year = self._day_month_year()
        return f"{day:02}.{month:02}.{year}" if self._language == "de" else f"{day:02}/{month:02}/{year}"

    def _amount(self) -> str:
        whole = self.rng.choice([self.rng.randint(20, 900), self.rng.randint(900, 480_000)])
        return self._money(whole + self.rng.choice([0, 0, self.rng.randint(1, 99) / 100]))

    def _money(self, value: float) -> str:
        text = f"{value:,.2f}" if value % 1 or self.rng.random() < 0.5 else f"{value:,.0f}"
        if self._language != "en":
            text = text.replace(",", " ").replace(".", ",").replace(" ", "." if self._language != "fr" else " ")
        before = self._currency in "$£" or (self._currency in ("€", "CHF") and self._language == "en")
        if before:
            return f"{self._currency}{' ' if len(self._currency) > 1 else ''}{text}"
        return f"{text} {self._currency}"

    def _web(self) -> str:
        ending = ["com", "eu", "org"]
        return f"www.{self._one('firm').lower()}-{self._one('trade').lower()}.{self.rng.choice(ending)}"

    def _bic(self) -> str:
        bank = "".join(self.rng.choices("ABCDEFGHKLMNPRSTUVW", k=4))
        return bank + self.rng.choice(["DEFF", "GB2L", "FRPP", "ITMM"]) + "XXX"

    def _iban(self) -> str:
        digits = f"{self.rng.choice(['DE', 'FR', 'GB', 'IT', 'ES', 'AT', 'NL'])}{self.rng.randint(10, 98)}"
        rest = "".join(self.rng.choices("0123456789", k=self.rng.choice([14, 16, 18, 20])))
        if self.rng.random() < 0.7:
            return " ".join([digits, *(rest[at : at + 4] for at in range(0, len(rest), 4))])
        return digits + rest

    def _email(self) -> str:
        first, last = self._one("first name").lower(), self._one("last name").lower()
        offices = ["info", "billing", "office", "support", "sales"]
        name = self.rng.choice([f"{first}.{last}", f"{first[0]}.{last}", *offices])
        return f"{name}@{self._one('firm').lower()}.{self.rng.choice(['com', 'eu', 'org', 'co.uk', 'example'])}"

    def _phone(self) -> str:
        a, b, c = self.rng.randint(20, 999), self.rng.randint(100, 9999), self.rng.randint(100, 9999)
        return self.rng.choice([f"+{self.rng.randint(30, 49)} {a} {b}{c}", f"0{a} {b} {c}", f"({a}) {b}-{c}",
                                f"+1 {a} {b} {c}", f"0{a}/{b}-{c}"])  # fmt: skip

    def _code(self) -> str:
        letters = "".join(self.rng.choices("ABCDEFGHKLMNPQRSTUVWXYZ", k=self.rng.randint(1, 3)))
        return self.rng.choice([
            f"{letters}-{self.rng.randint(2018, 2027)}-{self.rng.randint(1, 9999):04}",
            f"{letters}{self.rng.randint(1000, 99999)}", f"{letters}-{self.rng.randint(10, 9999)}",
            f"{letters}/{self.rng.randint(10, 999)}/{self.rng.randint(15, 27)}",
            f"{self.rng.randint(100, 999)}-{self.rng.randint(1000, 9999)}-{letters}",
        ])  # fmt: skip

    def _time(self) -> str:
        hour, minute = self.rng.randint(6, 21), self.rng.choice([0, 5, 10, 15, 20, 30, 35, 40, 45, 50])
        return f"{hour:02}:{minute:02}"
