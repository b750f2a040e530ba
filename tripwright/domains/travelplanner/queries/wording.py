"""The text of a query, made of its fields, so that the text alone determines the fields again:
"plain" has few frames and few words, and small models are trained on it; "rich" has thousands of
frames, those of the official training requests among them."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Sequence
from datetime import date as Date
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE
from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS, LONGEST_TRIP_DAYS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.wording import MONTHS, NUMBERS, capitalised, listed, ordinal, speaker
from tripwright.world.scales import CUISINES

Style = Literal["plain", "rich"]
# where the length of the trip suggests more
ONE_CITY_CLAUSE = "the whole trip visits one city only"
LARGEST_NUMBER = 99  # of people or cities; larger ones are not read, nor are larger budgets
LARGEST_BUDGET_USD = 999_999_999
# such clauses begin a sentence
UNJOINED = ("please", "no ", "as ", "in terms", "regarding", "since", "instead")
# with a further ", and" they would run on
SEVERAL_PARTS = (" and ", ", but ", ", so ", " since ", " during which ")

ROOM_TYPE = {
    "shared room": "We would like a shared room.",
    "not shared room": "We would rather not have a shared room.",
    "private room": "We would like a private room.",
    "entire room": "We would like an entire room.",
}
TRANSPORTATION = {
    "no flight": "We do not want to fly.",
    "no self-driving": "We do not want to drive ourselves.",
}


def word_query(rng: random.Random, query: Query, style: Style = "rich") -> str:
    """One English request that states every field once (row T2); the text that the query has is not
    looked at. Equal states of `rng` give equal texts. What `unwordable` names raises KeyError or
    ValueError here."""
    if style == "rich":
        return _Request(rng, query).text()
    wishes, cities, days = query.local_constraint, query.visiting_city_number, query.date
    opening = rng.choice(phrases()["plain_openings"]).format(
        days=query.days,
        org=query.org,
        where=query.dest if cities == 1 else f"{cities} cities in {query.dest}",
        party="for one person" if query.party_size == 1 else f"for {query.party_size} people",
        dates=f"from {days[0]} to {days[-1]}" if len(days) > 1 else f"on {days[0]}",
        budget=query.budget,
    )
    sentences = [opening]
    if wishes.house_rule:
        sentences.append(f"The accommodation must allow {wishes.house_rule}.")
    if wishes.cuisine:
        sentences.append(f"We would like to eat {listed(wishes.cuisine, last_comma=False)} food.")
    if wishes.room_type:
        sentences.append(ROOM_TYPE[wishes.room_type])
    if wishes.transportation:
        sentences.append(TRANSPORTATION[wishes.transportation])
    if cities == 1 and CITIES_BY_DAYS.get(query.days) != 1:
        sentences.append(f"{capitalised(ONE_CITY_CLAUSE)}.")
    return " ".join(sentences)


def unwordable(query: Query) -> str | None:
    """Why no text can say this request, in words; None where one can."""
    wishes = query.local_constraint
    for kind, values, vocabulary in (
        ("house rule", [wishes.house_rule], [*FORBIDDEN_BY_RULE]),
        ("cuisine", wishes.cuisine or [], [*CUISINES]),
        ("room type", [wishes.room_type], [*ROOM_TYPE]),
        ("transportation", [wishes.transportation], [*TRANSPORTATION]),
    ):
        for wish in values:
            if wish and wish not in vocabulary:
                return f"{kind} '{wish}' has no wording (known: {', '.join(vocabulary)})"
    if not 0 < query.budget <= LARGEST_BUDGET_USD or round(query.budget, 2) != query.budget:
        return f"a budget of {query.budget} is no amount in dollars and cents"
    if max(query.party_size, query.visiting_city_number) > LARGEST_NUMBER:
        return f"more than {LARGEST_NUMBER} people or cities"
    if query.days > LONGEST_TRIP_DAYS:
        return f"a trip of {query.days} days is longer than {LONGEST_TRIP_DAYS}"
    return None


@cache
def phrases() -> dict[str, Any]:
    """Of the grammars."""
    return tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))


class _Request:
    """The rich grammar: one request in many shapes.

    A request is a main sentence and others around it. Party, route, length, dates and budget each
    stand in the main sentence or in one of their own; the others come in any order, sometimes two
    joined into one. Nothing is said twice and nothing is left out that the reader's conventions do
    not supply: somebody who names no company travels alone, and the dates say how long a trip is.
    """

    def __init__(self, rng: random.Random, query: Query):
        self.rng, self.query, self.words = rng, query, speaker(query.party_size)
        self.said = phrases()
        self.dates = dates(rng, query.date) if len(query.date) > 1 else None
        self.usd = amount(rng, query.budget)
        wishes = query.local_constraint
        self.is_wishless = not (
            wishes.house_rule or wishes.cuisine or wishes.room_type or wishes.transportation
        )

    def text(self) -> str:
        main, clauses = self._main()
        wishes = self._wishes()
        last = self._nothing_wished()
        if self.rng.random() < 0.5:  # as in most training requests: the trip first, then the wishes
            self.rng.shuffle(clauses)
            self.rng.shuffle(wishes)
            clauses = clauses + wishes
        else:
            clauses = clauses + wishes
            self.rng.shuffle(clauses)
        others = self._joined(clauses) + last
        first_later = bool(clauses) and self.rng.random() < 0.12
        body = [others[0], main, *others[1:]] if first_later else [main, *others]
        greeting = [self._one("greetings")] if self.rng.random() < 0.08 else []
        closing = [self._filled(self._one("closings"))] if self.rng.random() < 0.15 else []
        return " ".join([*greeting, *body, *closing])

    # ---- the main sentence

    def _main(self) -> tuple[str, list[str]]:
        """(the main sentence, the clauses for what it does not say)"""
        rng, inline, clauses = self.rng, [], list[str]()
        opener, end = self._one("openers")
        noun, length = self._plan()
        pieces = {
            "party": self._party(noun),
            "length": length,
            "dates": self._when(),
            "route": self._route(),
            "budget": self._cost(),
        }
        if self.query.visiting_city_number == 1 and CITIES_BY_DAYS.get(self.query.days) != 1:
            clauses.append(ONE_CITY_CLAUSE)
        chances = {"party": 0.75, "length": 0.75, "route": 0.75, "dates": 0.6, "budget": 0.35}
        order = rng.choice(
            (
                ("party", "route", "length", "dates", "budget"),
                ("route", "party", "length", "dates", "budget"),
                ("route", "length", "dates", "party", "budget"),
                ("length", "party", "route", "dates", "budget"),
            )
        )
        for name in order:
            piece = pieces[name]
            if piece is None:
                continue
            phrase, clause = piece
            if rng.random() < chances[name]:
                inline.append(phrase)
            else:
                clauses.append(clause)
        return self._filled(f"{opener} {article(noun)}") + self._strung(inline) + end, clauses

    def _strung(self, inline: Sequence[str]) -> str:
        """Phrases one after the other; a year or an aside is closed by a comma."""
        text = ""
        for piece in inline:
            short = piece.startswith(("for ", "from ", "to ", "spanning ", "over ", "that "))
            comma = (
                text.endswith(tuple("0123456789"))
                or "," in text.split(" from ")[-1]
                or not short
                or self.rng.random() < 0.25
            )
            text += (", " if comma and text else " ") + piece
        return text

    def _plan(self) -> tuple[str, tuple[str, str] | None]:
        """(the noun, how else its length is said). The dates say it too, so now and then nothing
        else does."""
        rng, days = self.rng, self.query.days
        noun = self._one("plan_nouns")
        if self.query.party_size == 1 and rng.random() < 0.1:
            noun = f"solo {noun}"
        style = rng.random()
        if days == 7 and style < 0.2:
            return f"{rng.choice(('week-long', 'one-week'))} {noun}", None
        if style < 0.7:
            return f"{number(rng, days, 0.15)}-day {noun}", None
        if style < 0.73 and len(self.query.date) > 1:
            return noun, None
        length = number(rng, days)
        if days == 1:
            return noun, (f"for {length} day", f"the trip will last {length} day")
        return noun, (
            self._filled(self._one("days_inline"), days=length),
            self._filled(self._one("days_clause"), days=length),
        )

    def _party(self, noun: str) -> tuple[str, str] | None:
        rng, size = self.rng, self.query.party_size
        if size == 1:
            if (
                noun.startswith("solo ")
                or "-day solo " in noun
                or (self.is_wishless and rng.random() < 0.08)
            ):
                return None
            return self._one("alone_inline"), self._one("alone_clause")
        count_text = number(rng, size)
        inline, clause = self._one("party_inline"), self._one("party_clause")
        if size == 2 and rng.random() < 0.4:
            inline, clause = self._one("two_inline"), self._one("two_clause")
        if size == 3 and rng.random() < 0.1:
            inline = self._one("three_inline")
        return inline.format(n=count_text), clause.format(n=count_text)

    def _route(self) -> tuple[str, str]:
        query, rng = self.query, self.rng
        if query.visiting_city_number == 1:
            tables, cities = (self.said["city_inline"], self.said["city_clause"]), ""
        else:
            tables, cities = (
                (self.said["state_inline"], self.said["state_clause"]),
                self._one("cities").format(n=number(rng, query.visiting_city_number)),
            )
        inline, clause = (
            self._filled(rng.choice(table), org=query.org, dest=query.dest, cities=cities)
            for table in tables
        )
        return inline, clause

    def _when(self) -> tuple[str, str]:
        if self.dates is None:
            only = day(self.rng, self.query.date[0])
            return f"on {only}", self._filled(self._one("one_day_clause"), first=only)
        return self.dates.range, self._filled(self._one("dates_clause"), **self.dates._asdict())

    def _cost(self) -> tuple[str, str]:
        rng, inline, clause = self.rng, self._one("budget_inline"), self._one("budget_clause")
        if rng.random() < 0.12:
            clause = self._one("revised_budget_clause")
        old = amount(
            rng, round(self.query.budget * rng.choice((0.6, 0.8, 1.2, 1.4))) // 100 * 100 + 50
        )
        if old.replace(",", "") == self.usd.replace(",", ""):
            old = amount(rng, round(self.query.budget) + 200)
        return inline.format(usd=self.usd), self._filled(clause, usd=self.usd, old=old)

    # ---- the wishes

    def _wishes(self) -> list[str]:
        rng, wishes = self.rng, self.query.local_constraint
        clauses = list[str]()
        if rule := wishes.house_rule:
            company = (
                self.said["company_clauses"].get(rule, ()) if self.query.party_size > 1 else ()
            )
            own = (*self.said["rule_clauses"][rule], *company)
            table = own if rng.random() < 0.5 else self.said["house_rule_clauses"]
            clauses.append(
                self._filled(
                    rng.choice(table), rule=rule, **{"is": "is" if rule == "smoking" else "are"}
                )
            )
        if wishes.room_type:
            clauses.append(
                self._filled(rng.choice(self.said["room_type_clauses"][wishes.room_type]))
            )
        if wishes.transportation:
            clauses.append(
                self._filled(rng.choice(self.said["transportation_clauses"][wishes.transportation]))
            )
        if wishes.cuisine:
            several = self.said["several_cuisines_clauses"] if len(wishes.cuisine) > 1 else ()
            cuisines = listed(wishes.cuisine, last_comma=rng.random() < 0.7)
            clauses.append(
                self._filled(
                    rng.choice((*self.said["cuisine_clauses"], *several)), cuisines=cuisines
                )
            )
        return clauses

    def _nothing_wished(self) -> list[str]:
        """ "Everything else is up to you." comes when all else is said."""
        if not self.is_wishless or self.rng.random() >= 0.1:
            return []
        return [capitalised(self._filled(self._one("no_wishes"))) + "."]

    # ---- sentences

    def _joined(self, clauses: Sequence[str]) -> list[str]:
        """Sentences, two neighbours sometimes made one. A lead-in never stands in two
        neighbours."""
        rng, sentences, rest, lead = self.rng, list[str](), list(clauses), ""
        while rest:
            clause = rest.pop(0)
            if rest and _may_be_joined(clause) and _may_be_joined(rest[0]) and rng.random() < 0.3:
                clause = f"{clause}, and {rest.pop(0)}"
            leads = (
                bool(sentences)
                and not lead
                and not clause.startswith(UNJOINED)
                and rng.random() < 0.12
            )
            lead = self._one("lead_ins") if leads else ""
            sentences.append((lead + clause if lead else capitalised(clause)) + ".")
        return sentences

    def _one(self, table: str) -> Any:
        return self.rng.choice(self.said[table])

    def _filled(self, template: str, **slots: str) -> str:
        return template.format(**self.words, **slots)


def _may_be_joined(clause: str) -> bool:
    return not clause.startswith(UNJOINED) and not any(word in clause for word in SEVERAL_PARTS)


# ---- numbers, dates and amounts, each said in one of several ways


class Range(NamedTuple):
    """The trip's dates: as a range, and its two ends for sentences of their own. `first` has a year
    where `last` is not said."""

    range: str
    first: str
    last: str


def number(rng: random.Random, count: int, words: float = 0.3) -> str:
    """In digits, or with chance `words` as a word where there is one."""
    return NUMBERS[count - 1] if count <= len(NUMBERS) and rng.random() < words else str(count)


def amount(rng: random.Random, usd: int | float) -> str:
    """US dollars, cents only where there are some."""
    text = f"{usd:,}" if isinstance(usd, int) or usd.is_integer() else f"{usd:,.2f}"
    text = text.removesuffix(".0")
    style = rng.random()
    if style < 0.8:
        return f"${text}"
    return f"${text.replace(',', '')}" if style < 0.9 else f"{text} dollars"


def article(noun: str) -> str:
    """'a 3-day trip', 'an 8-day trip'."""
    first = noun.split("-")[0]
    vowel = first.startswith(("8", "a", "e", "i", "o")) or first in ("11", "18")
    return f"{'an' if vowel and not first.startswith('one') else 'a'} {noun}"


def dates(rng: random.Random, days: Sequence[str]) -> Range:
    """In one of the ways of the training requests. Within one year the year is said once, at the
    end."""
    first, last = Date.fromisoformat(days[0]), Date.fromisoformat(days[-1])
    if first.year != last.year:
        return _joined(
            rng,
            *(
                (days[0], days[-1])
                if rng.random() < 0.5
                else (_said(first, True), _said(last, True))
            ),
        )
    style = rng.random()
    if style < 0.12:
        return _joined(rng, days[0], days[-1])
    if style < 0.22:
        return _joined(rng, _of_month(first), f"{_of_month(last)}, {last.year}")
    if first.month == last.month and style < 0.4:
        month, one, two = MONTHS[first.month - 1], first.day, last.day
        compact = (
            f"between {month} {ordinal(one)} and {ordinal(two)}, {last.year}",
            f"from {month} {ordinal(one)} to {ordinal(two)}, {last.year}",
            f"from the {ordinal(one)} to the {ordinal(two)} of {month}, {last.year}",
            f"from {month} {one} to {two}, {last.year}",
        )
        return _joined(rng, _said(first, False), _said(last, True))._replace(
            range=rng.choice(compact)
        )
    if style < 0.5:
        return _joined(
            rng,
            f"{MONTHS[first.month - 1]} {first.day}",
            f"{MONTHS[last.month - 1]} {last.day}, {last.year}",
        )
    return _joined(rng, _said(first, False), _said(last, True))


def day(rng: random.Random, only: str) -> str:
    """One date with its year."""
    return only if rng.random() < 0.3 else _said(Date.fromisoformat(only), True)


def _joined(rng: random.Random, first: str, last: str) -> Range:
    between, to = rng.random() < 0.2, rng.choice(("to", "to", "to", "through"))
    return Range(
        f"between {first} and {last}" if between else f"from {first} {to} {last}", first, last
    )


def _said(date: Date, year: bool) -> str:
    return f"{MONTHS[date.month - 1]} {ordinal(date.day)}" + (f", {date.year}" if year else "")


def _of_month(date: Date) -> str:
    return f"the {ordinal(date.day)} of {MONTHS[date.month - 1]}"
