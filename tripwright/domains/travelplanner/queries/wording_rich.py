"""The rich grammar: one request in many shapes, from the tables in `phrases` and `phrases_wishes`.

A request is a main sentence and others around it. Party, route, length, dates and budget each stand
in the main sentence or in one of their own; the others come in any order, sometimes two joined into
one. Nothing is said twice and nothing is left out that the reader's conventions do not supply:
somebody who names no company travels alone, and the dates say how long a trip is.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tripwright.domains.travelplanner.queries import phrases as p
from tripwright.domains.travelplanner.queries import phrases_wishes as w
from tripwright.domains.travelplanner.queries import wording_parts as parts
from tripwright.domains.travelplanner.queries.counts import CITIES_BY_DAYS
from tripwright.domains.travelplanner.query import LocalConstraint
from tripwright.domains.wording import capitalised, listed, speaker

# such clauses begin a sentence
UNJOINED = ("please", "no ", "as ", "in terms", "regarding", "since", "instead")

# with a further ", and" they would run on
SEVERAL_PARTS = (" and ", ", but ", ", so ", " since ", " during which ")


@dataclass(frozen=True)
class Facts:
    """What a request has to say. `budget` is in US dollars for the whole party."""

    org: str
    dest: str
    days: int
    cities: int
    date: list[str]
    party_size: int
    budget: int | float
    wishes: LocalConstraint

    @property
    def wishless(self) -> bool:
        return not any(
            (
                self.wishes.house_rule,
                self.wishes.cuisine,
                self.wishes.room_type,
                self.wishes.transportation,
            )
        )


def rich(rng: random.Random, facts: Facts) -> str:
    """One request. Equal states of `rng` give equal texts."""
    return _Request(rng, facts).text()


class _Request:
    def __init__(self, rng: random.Random, facts: Facts):
        self.rng, self.facts, self.words = rng, facts, speaker(facts.party_size)
        self.dates = parts.dates(rng, facts.date) if len(facts.date) > 1 else None
        self.usd = parts.amount(rng, facts.budget)

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
        greeting = [self.rng.choice(p.GREETINGS)] if self.rng.random() < 0.08 else []
        closing = [self._filled(self.rng.choice(p.CLOSINGS))] if self.rng.random() < 0.15 else []
        return " ".join([*greeting, *body, *closing])

    # ---- the main sentence

    def _main(self) -> tuple[str, list[str]]:
        """(the main sentence, the clauses for what it does not say)"""
        rng, inline, clauses = self.rng, [], list[str]()
        opener, end = rng.choice(p.OPENERS)
        noun, length = self._plan()
        pieces = {
            "party": self._party(noun),
            "length": length,
            "dates": self._when(),
            "route": self._route(),
            "budget": self._cost(),
        }
        if self.facts.cities == 1 and CITIES_BY_DAYS.get(self.facts.days) != 1:
            clauses.append(p.ONE_CITY_CLAUSE)
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
        return self._filled(f"{opener} {parts.article(noun)}") + self._strung(inline) + end, clauses

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
        rng, days = self.rng, self.facts.days
        noun = rng.choice(p.PLAN_NOUNS)
        if self.facts.party_size == 1 and rng.random() < 0.1:
            noun = f"solo {noun}"
        style = rng.random()
        if days == 7 and style < 0.2:
            return f"{rng.choice(('week-long', 'one-week'))} {noun}", None
        if style < 0.7:
            return f"{parts.number(rng, days, 0.15)}-day {noun}", None
        if style < 0.73 and len(self.facts.date) > 1:
            return noun, None
        length = parts.number(rng, days)
        if days == 1:
            return noun, (f"for {length} day", f"the trip will last {length} day")
        return noun, (
            self._filled(rng.choice(p.DAYS_INLINE), days=length),
            self._filled(rng.choice(p.DAYS_CLAUSE), days=length),
        )

    def _party(self, noun: str) -> tuple[str, str] | None:
        rng, size = self.rng, self.facts.party_size
        if size == 1:
            if (
                noun.startswith("solo ")
                or "-day solo " in noun
                or (self.facts.wishless and rng.random() < 0.08)
            ):
                return None
            return rng.choice(p.ALONE_INLINE), rng.choice(p.ALONE_CLAUSE)
        count_text = parts.number(rng, size)
        inline, clause = rng.choice(p.PARTY_INLINE), rng.choice(p.PARTY_CLAUSE)
        if size == 2 and rng.random() < 0.4:
            inline, clause = rng.choice(p.TWO_INLINE), rng.choice(p.TWO_CLAUSE)
        if size == 3 and rng.random() < 0.1:
            inline = rng.choice(p.THREE_INLINE)
        return inline.format(n=count_text), clause.format(n=count_text)

    def _route(self) -> tuple[str, str]:
        facts, rng = self.facts, self.rng
        if facts.cities == 1:
            tables, cities = (p.CITY_INLINE, p.CITY_CLAUSE), ""
        else:
            tables, cities = (
                (p.STATE_INLINE, p.STATE_CLAUSE),
                rng.choice(p.CITIES).format(n=parts.number(rng, facts.cities)),
            )
        inline, clause = (
            self._filled(rng.choice(table), org=facts.org, dest=facts.dest, cities=cities)
            for table in tables
        )
        return inline, clause

    def _when(self) -> tuple[str, str]:
        if self.dates is None:
            only = parts.day(self.rng, self.facts.date[0])
            return f"on {only}", self._filled(self.rng.choice(p.ONE_DAY_CLAUSE), first=only)
        return self.dates.range, self._filled(
            self.rng.choice(p.DATES_CLAUSE), **self.dates._asdict()
        )

    def _cost(self) -> tuple[str, str]:
        rng, inline, clause = (
            self.rng,
            self.rng.choice(p.BUDGET_INLINE),
            self.rng.choice(p.BUDGET_CLAUSE),
        )
        if rng.random() < 0.12:
            clause = rng.choice(p.REVISED_BUDGET_CLAUSE)
        old = parts.amount(
            rng, round(self.facts.budget * rng.choice((0.6, 0.8, 1.2, 1.4))) // 100 * 100 + 50
        )
        if old.replace(",", "") == self.usd.replace(",", ""):
            old = parts.amount(rng, round(self.facts.budget) + 200)
        return inline.format(usd=self.usd), self._filled(clause, usd=self.usd, old=old)

    # ---- the wishes

    def _wishes(self) -> list[str]:
        rng, wishes = self.rng, self.facts.wishes
        clauses = list[str]()
        if rule := wishes.house_rule:
            company = w.COMPANY_CLAUSES.get(rule, ()) if self.facts.party_size > 1 else ()
            own = (*w.RULE_CLAUSES[rule], *company)
            table = own if rng.random() < 0.5 else w.HOUSE_RULE_CLAUSES
            clauses.append(
                self._filled(
                    rng.choice(table), rule=rule, **{"is": "is" if rule == "smoking" else "are"}
                )
            )
        if wishes.room_type:
            clauses.append(self._filled(rng.choice(w.ROOM_TYPE_CLAUSES[wishes.room_type])))
        if wishes.transportation:
            clauses.append(
                self._filled(rng.choice(w.TRANSPORTATION_CLAUSES[wishes.transportation]))
            )
        if wishes.cuisine:
            several = w.SEVERAL_CUISINES_CLAUSES if len(wishes.cuisine) > 1 else ()
            cuisines = listed(wishes.cuisine, last_comma=rng.random() < 0.7)
            clauses.append(
                self._filled(rng.choice((*w.CUISINE_CLAUSES, *several)), cuisines=cuisines)
            )
        return clauses

    def _nothing_wished(self) -> list[str]:
        """ "Everything else is up to you." comes when all else is said."""
        if not self.facts.wishless or self.rng.random() >= 0.1:
            return []
        return [capitalised(self._filled(self.rng.choice(p.NO_WISHES))) + "."]

    # ---- sentences

    def _joined(self, clauses: Sequence[str]) -> list[str]:
        """Sentences, two neighbours sometimes made one. A lead-in never stands in two
        neighbours."""
        sentences, rest, lead = list[str](), list(clauses), ""
        while rest:
            clause = rest.pop(0)
            whole = clause.startswith(UNJOINED) or any(word in clause for word in SEVERAL_PARTS)
            if (
                rest
                and not whole
                and not rest[0].startswith(UNJOINED)
                and not any(word in rest[0] for word in SEVERAL_PARTS)
            ):
                clause = f"{clause}, and {rest.pop(0)}" if self.rng.random() < 0.3 else clause
            leads = (
                bool(sentences)
                and not lead
                and not clause.startswith(UNJOINED)
                and self.rng.random() < 0.12
            )
            lead = self.rng.choice(p.LEAD_INS) if leads else ""
            sentences.append((lead + clause if lead else capitalised(clause)) + ".")
        return sentences

    def _filled(self, template: str, **slots: str) -> str:
        return template.format(**self.words, **slots)
