"""The text of a query, made of its fields, so that the text alone determines the fields again:
"plain" has few frames and few words, and small models are trained on it; "rich" has thousands of
frames, those of the official training requests among them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date as Date
from typing import Literal, NamedTuple

from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS, LONGEST_TRIP_DAYS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.wording import MONTHS, NUMBERS, capitalised, listed, ordinal, speaker
from tripwright.world.scales import CUISINES

Style = Literal["plain", "rich"]
LARGEST_NUMBER = 99  # of people or cities; larger ones are not read, nor are larger budgets
LARGEST_BUDGET_USD = 999_999_999
# such clauses begin a sentence
UNJOINED = ("please", "no ", "as ", "in terms", "regarding", "since", "instead")
# with a further ", and" they would run on
SEVERAL_PARTS = (" and ", ", but ", ", so ", " since ", " during which ")

OPENINGS = (
    (
        "Please plan a {days}-day trip from {org} to {where} {party}, {dates}, with a budget of"
        " ${budget:,}."
    ),
    (
        "Could you create a {days}-day travel plan {party} departing from {org} and visiting"
        " {where}, {dates}? The budget is ${budget:,}."
    ),
    (
        "We need a {days}-day itinerary {party} from {org} to {where}, {dates}. The budget is set"
        " at ${budget:,}."
    ),
)
HOUSE_RULE = {
    "smoking": "The accommodation must allow smoking.",
    "parties": "The accommodation must allow parties.",
    "children under 10": "The accommodation must allow children under 10.",
    "visitors": "The accommodation must allow visitors.",
    "pets": "The accommodation must allow pets.",
}
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
    opening = rng.choice(OPENINGS).format(
        days=query.days,
        org=query.org,
        where=query.dest if cities == 1 else f"{cities} cities in {query.dest}",
        party="for one person" if query.party_size == 1 else f"for {query.party_size} people",
        dates=f"from {days[0]} to {days[-1]}" if len(days) > 1 else f"on {days[0]}",
        budget=query.budget,
    )
    sentences = [opening]
    if wishes.house_rule:
        sentences.append(HOUSE_RULE[wishes.house_rule])
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
        ("house rule", [wishes.house_rule], [*HOUSE_RULE]),
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


class _Request:
    """The rich grammar: one request in many shapes.

    A request is a main sentence and others around it. Party, route, length, dates and budget each
    stand in the main sentence or in one of their own; the others come in any order, sometimes two
    joined into one. Nothing is said twice and nothing is left out that the reader's conventions do
    not supply: somebody who names no company travels alone, and the dates say how long a trip is.
    """

    def __init__(self, rng: random.Random, query: Query):
        self.rng, self.query, self.words = rng, query, speaker(query.party_size)
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
        greeting = [self.rng.choice(GREETINGS)] if self.rng.random() < 0.08 else []
        closing = [self._filled(self.rng.choice(CLOSINGS))] if self.rng.random() < 0.15 else []
        return " ".join([*greeting, *body, *closing])

    # ---- the main sentence

    def _main(self) -> tuple[str, list[str]]:
        """(the main sentence, the clauses for what it does not say)"""
        rng, inline, clauses = self.rng, [], list[str]()
        opener, end = rng.choice(OPENERS)
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
        noun = rng.choice(PLAN_NOUNS)
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
            self._filled(rng.choice(DAYS_INLINE), days=length),
            self._filled(rng.choice(DAYS_CLAUSE), days=length),
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
            return rng.choice(ALONE_INLINE), rng.choice(ALONE_CLAUSE)
        count_text = number(rng, size)
        inline, clause = rng.choice(PARTY_INLINE), rng.choice(PARTY_CLAUSE)
        if size == 2 and rng.random() < 0.4:
            inline, clause = rng.choice(TWO_INLINE), rng.choice(TWO_CLAUSE)
        if size == 3 and rng.random() < 0.1:
            inline = rng.choice(THREE_INLINE)
        return inline.format(n=count_text), clause.format(n=count_text)

    def _route(self) -> tuple[str, str]:
        query, rng = self.query, self.rng
        if query.visiting_city_number == 1:
            tables, cities = (CITY_INLINE, CITY_CLAUSE), ""
        else:
            tables, cities = (
                (STATE_INLINE, STATE_CLAUSE),
                rng.choice(CITIES).format(n=number(rng, query.visiting_city_number)),
            )
        inline, clause = (
            self._filled(rng.choice(table), org=query.org, dest=query.dest, cities=cities)
            for table in tables
        )
        return inline, clause

    def _when(self) -> tuple[str, str]:
        if self.dates is None:
            only = day(self.rng, self.query.date[0])
            return f"on {only}", self._filled(self.rng.choice(ONE_DAY_CLAUSE), first=only)
        return self.dates.range, self._filled(self.rng.choice(DATES_CLAUSE), **self.dates._asdict())

    def _cost(self) -> tuple[str, str]:
        rng, inline, clause = (
            self.rng,
            self.rng.choice(BUDGET_INLINE),
            self.rng.choice(BUDGET_CLAUSE),
        )
        if rng.random() < 0.12:
            clause = rng.choice(REVISED_BUDGET_CLAUSE)
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
            company = COMPANY_CLAUSES.get(rule, ()) if self.query.party_size > 1 else ()
            own = (*RULE_CLAUSES[rule], *company)
            table = own if rng.random() < 0.5 else HOUSE_RULE_CLAUSES
            clauses.append(
                self._filled(
                    rng.choice(table), rule=rule, **{"is": "is" if rule == "smoking" else "are"}
                )
            )
        if wishes.room_type:
            clauses.append(self._filled(rng.choice(ROOM_TYPE_CLAUSES[wishes.room_type])))
        if wishes.transportation:
            clauses.append(self._filled(rng.choice(TRANSPORTATION_CLAUSES[wishes.transportation])))
        if wishes.cuisine:
            several = SEVERAL_CUISINES_CLAUSES if len(wishes.cuisine) > 1 else ()
            cuisines = listed(wishes.cuisine, last_comma=rng.random() < 0.7)
            clauses.append(
                self._filled(rng.choice((*CUISINE_CLAUSES, *several)), cuisines=cuisines)
            )
        return clauses

    def _nothing_wished(self) -> list[str]:
        """ "Everything else is up to you." comes when all else is said."""
        if not self.is_wishless or self.rng.random() >= 0.1:
            return []
        return [capitalised(self._filled(self.rng.choice(NO_WISHES))) + "."]

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
            lead = rng.choice(LEAD_INS) if leads else ""
            sentences.append((lead + clause if lead else capitalised(clause)) + ".")
        return sentences

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


# ---- the phrases of the rich grammar: openings, dates, parties, routes, budgets, wishes, closings
#
# They follow the phrasing of the 45 official training requests (row T2). Slots: {we} {our} {us}
# {are} {ourselves} are the speaker's words. Every phrase keeps to what `queries.reading` reads, and
# `tests/queries` reads thousands of texts back.
#
# Two things to mind in wishes. Polarity: a house rule says what must be allowed, never what is
# forbidden. And "not": a negation reaches the words after it (`wishes.BETWEEN`), so a clause with
# one ends before anything else is said.


GREETINGS = ("Hello!", "Hi there!", "Good day.", "Hello, I hope you can help.")
# (words before the plan, "?" or ".")
OPENERS: tuple[tuple[str, str], ...] = (
    *(
        (f"{start} {verb}", "?")
        for start in ("Could you", "Can you", "Could you please", "Would you")
        for verb in ("create", "devise", "draft")
    ),
    ("Could you assist in crafting", "?"),
    ("Could you assist {us} in creating", "?"),
    ("Could you help {us} come up with", "?"),
    ("Could you help {us} craft", "?"),
    ("Can you help {us} prepare", "?"),
    ("Can you help with generating", "?"),
    ("Can you provide {us} with", "?"),
    ("Could you formulate", "?"),
    ("Could you arrange", "?"),
    ("Can you prepare", "?"),
    ("Would you be able to design", "?"),
    ("Please create", "."),
    ("Please design", "."),
    ("Please help {us} plan", "."),
    ("Please help in creating", "."),
    ("Please provide {us} with", "."),
    ("Please prepare", "."),
    ("Craft", "."),
    ("Help {us} draw up", "."),
    ("{We} need", "."),
    ("{We} require", "."),
    ("{We} would like", "."),
    ("{We} {are} looking for", "."),
    ("I need help crafting", "."),
)
PLAN_NOUNS = ("travel plan", "trip plan", "itinerary", "travel itinerary", "trip itinerary")
DAYS_INLINE = (
    "for {days} days",
    "spanning {days} days",
    "over {days} days",
    "lasting {days} days",
    "that takes {days} days",
)
DAYS_CLAUSE = (
    "the trip should span {days} days",
    "the trip will last {days} days",
    "{we} will be away for {days} days",
)

# one city
CITY_INLINE = (
    "from {org} to {dest}",
    "departing from {org} and heading to {dest}",
    "departing {org} and heading to {dest}",
    "departing {org} for {dest}",
    "starting in {org} and visiting {dest}",
    "starting from {org} and going to {dest}",
    "leaving {org} for {dest}",
    "beginning in {org} and visiting {dest}",
    "setting off from {org} towards {dest}",
    "that departs from {org} and goes to {dest}",
    "to {dest}, starting from {org}",
    "to {dest} and back, departing from {org}",
)
CITY_CLAUSE = (
    "{we} will be departing from {org} and heading to {dest}",
    "{we} plan to set off from {org} and visit {dest}",
    "the trip starts in {org} and goes to {dest}",
    "{we} live in {org} and would like to visit {dest}",
    "{we} will leave from {org} and travel to {dest}",
    "{our} journey begins in {org} and leads to {dest}",
)
# several cities of a state; {cities} is "2 cities", "two different cities", …
STATE_INLINE = (
    "departing from {org} and visiting {cities} in {dest}",
    "from {org} to {cities} in {dest}",
    "starting in {org} and covering {cities} in {dest}",
    "starting from {org} and exploring {cities} across {dest}",
    "originating from {org} and touring {cities} in {dest}",
    "that starts in {org} and includes visits to {cities} in {dest}",
    "taking off from {org} to explore {cities} throughout {dest}",
    "leaving from {org} to visit {cities} in {dest}",
    "leaving {org} for {cities} in the state of {dest}",
    "from {org} to {dest}, during which {we} will visit {cities}",
    "departing from {org} and heading to {dest} to see {cities}",
    "around {dest} with {cities} to see, departing from {org}",
)
STATE_CLAUSE = (
    "{we} will be setting off from {org} and intend to visit {cities} in {dest}",
    "{we} will be starting in {org} and would like to cover {cities} in {dest}",
    "{we} will be departing from {org} and aim to visit {cities} in {dest}",
    "the trip starts in {org} and covers {cities} in {dest}",
    "{we} live in {org} and would love to explore {cities} in {dest}",
    "{our} journey begins in {org} and covers {cities} in {dest}",
)
CITIES = (
    "{n} cities",
    "{n} cities",
    "{n} different cities",
    "{n} distinct cities",
    "{n} separate cities",
    "{n} unique cities",
)
# where the length of the trip suggests more
ONE_CITY_CLAUSE = "the whole trip visits one city only"

# the party; {n} is a number or its word
ALONE_INLINE = (
    "for one person",
    "for 1 person",
    "for a single person",
    "for a solo traveler",
    "for a single traveler",
)
ALONE_CLAUSE = (
    "I will be traveling alone",
    "this is a solo trip",
    "I am traveling on my own",
    "the trip is for a single person",
    "the travel should be planned for one person",
)
PARTY_INLINE = (
    "for {n} people",
    "for a group of {n}",
    "for a group of {n} people",
    "for a party of {n}",
    "for {n} travelers",
    "for {n} individuals",
    "for {n} adults",
)
PARTY_CLAUSE = (
    "we are a group of {n}",
    "there will be {n} of us",
    "we are {n} people traveling together",
    "the trip is for {n} people",
    "the journey will be for a group of {n}",
    "we will travel as a party of {n}",
)
TWO_INLINE = ("for two", "for a couple", "for a pair")
TWO_CLAUSE = ("there are two of us", "we are a couple")
THREE_INLINE = ("for a trio",)

# {range} is "from March 3rd to March 5th, 2022" and its kin; {first} and {last} are single dates
DATES_CLAUSE = (
    "the travel dates are {range}",
    "the trip is scheduled {range}",
    "{we} will be traveling {range}",
    "the visit will be {range}",
    "{our} travels are planned {range}",
    "the trip will begin on {first} and conclude on {last}",
    "{we} would leave on {first} and return on {last}",
)
ONE_DAY_CLAUSE = (
    "the travel date is {first}",
    "{we} will be traveling on {first}",
    "the trip is scheduled for {first}",
)

BUDGET_INLINE = (
    "with a budget of {usd}",
    "with a total budget of {usd}",
    "on a budget of {usd}",
    "within a budget of {usd}",
    "with up to {usd} to spend",
    "for at most {usd} in total",
)
BUDGET_CLAUSE = (
    "the budget for this trip is {usd}",
    "the budget for this trip is set at {usd}",
    "the entire travel budget is {usd}",
    "{our} budget is {usd}",
    "{our} budget is set at {usd}",
    "{our} outlined budget is {usd}",
    "{our} budget is up to {usd}",
    "{we} have a budget of {usd}",
    "{we} have a budget of {usd} to cover all expenses",
    "{our} budget allows {us} to spend up to {usd}",
    "{we} can spend {usd} at most",
    "the total cost must stay within {usd}",
)
REVISED_BUDGET_CLAUSE = (
    "{our} revised budget is set at {usd}",
    "{our} budget is now {usd}",
    "{our} new budget is adjusted to {usd}",
    "{our} updated budget is {usd}",
    "{our} budget was {old} at first, but {our} new budget is adjusted to {usd}",
    "the budget was originally {old}, and it is now {usd}",
    "instead of the {old} first planned, {our} revised budget is {usd}",
    "{our} budget has been adjusted from {old} to {usd}",
    "{we} first thought of {old}, but {our} updated budget is {usd}",
)

NO_WISHES = (
    (
        "{we} have no specific preferences about house rules, cuisine, accommodations, or"
        " transportation"
    ),
    "{we} have no particular preferences for {our} stay",
    "everything else is up to you",
)
LEAD_INS = ("Also, ", "Additionally, ", "In addition, ", "Furthermore, ")
CLOSINGS = (
    "Thank you!",
    "Thanks in advance.",
    "Thank you for your help.",
    "Many thanks.",
    "Could you help {us} with this plan?",
    "{We} look forward to your suggestions.",
    "I would appreciate your help.",
)

# ---- wishes: clauses without their full stop, one table per kind

# {rule} is the thing that must be allowed, {is} agrees with it
HOUSE_RULE_CLAUSES = (
    "{our} accommodations must allow {rule}",
    "the accommodation has to permit {rule}",
    "{we} require accommodations that allow {rule}",
    "{we} require accommodations where {rule} {is} allowed",
    "{we} need lodging where {rule} {is} permitted",
    "it is important that {our} lodgings allow {rule}",
    "please choose accommodations that permit {rule}",
    "{rule} must be allowed wherever {we} stay",
    "the house rules should allow {rule}",
)
RULE_CLAUSES: dict[str, tuple[str, ...]] = {
    "smoking": (
        "{we} require accommodations where smoking is permissible",
        "{we} smoke, so {our} accommodation must allow it",
        "{we} would like to be able to smoke where {we} stay",
        "the place should be friendly to smokers",
    ),
    "parties": (
        "{we} require accommodations that are conducive to hosting parties",
        "{we} would like the flexibility to host parties",
        "{we} want to throw parties where {we} stay, so they must be allowed",
        "the accommodation should be party-friendly",
    ),
    "children under 10": (
        "{our} accommodations must be suitable for children under 10",
        "{our} lodging options must accommodate children under the age of 10",
        "it is vital that {our} accommodations welcome children under 10",
        "the place {we} stay in must accept kids under 10",
    ),
    "visitors": (
        "{we} require accommodations that welcome visitors",
        "{we} expect visitors, so they must be allowed where {we} stay",
        "visitors should be welcome in {our} accommodation",
        "{we} need a place where guests are allowed",
    ),
    "pets": (
        "pet-friendly accommodations are a must",
        "{we} will be bringing {our} pets, so {we} need pet-friendly accommodations",
        "accommodations with pet-friendly house rules would be preferred",
        "{our} accommodation must welcome pets",
    ),
}
# only where more than one person travels
COMPANY_CLAUSES: dict[str, tuple[str, ...]] = {
    "children under 10": (
        (
            "since {we} will be traveling with young children, {our} accommodations must be"
            " suitable for children under 10"
        ),
        "{our} accommodations must permit children under 10 since {we} will have them with {us}",
    ),
    "pets": ("{we} will be accompanied by {our} pets, so {we} need pet-friendly accommodations",),
}

ROOM_TYPE_CLAUSES: dict[str, tuple[str, ...]] = {
    "entire room": (
        "{we} require entire rooms for {our} stay",
        "{we} would like entire rooms to {ourselves}",
        "{we} would prefer to have entire rooms",
        "entire rooms for accommodations would be ideal",
        "{our} accommodations should ideally be entire rooms",
        "{we} would like to rent entire rooms",
        "{we} require accommodations that provide entire rooms",
        "{our} lodging should be an entire room",
    ),
    "private room": (
        "{we} would prefer to have private rooms for {our} stay",
        "{we} require private rooms for accommodations",
        "{we} require accommodations that provide private rooms",
        "{we} intend to stay in private rooms",
        "{our} preferred accommodations are private rooms",
        "a private room would be ideal",
    ),
    "shared room": (
        "{we} would like to stay in shared rooms",
        "{we} would be happy with a shared room",
        "{our} preferred accommodations are shared rooms",
        "{we} {are} looking for shared rooms",
        "a shared room would be ideal",
        "{we} require accommodations that provide shared rooms",
    ),
    "not shared room": (
        "{we} prefer not to share a room",
        "{we} would rather not have a shared room",
        "{we} do not want to share {our} room",
        "the rooms must not be shared",
        "{we} require rooms that are not shared",
        "{we} would prefer non-shared rooms",
        "shared rooms are not an option",
        "{we} would like any room other than a shared room",
    ),
}

TRANSPORTATION_CLAUSES: dict[str, tuple[str, ...]] = {
    "no flight": (
        "{we} would prefer not to fly",
        "no flights, please",
        "{we} do not want to take any flights",
        "{we} will not be taking any flights for transportation",
        "transportation should not involve any flights",
        "{we} intend to avoid any flights for {our} transportation",
        "{we} would prefer a journey that does not involve flying",
        "{we} do not plan to travel by flight",
        "please plan the journey without flights",
        "flights are off the table",
        "it is imperative that {our} journey does not involve any flights",
        "{we} prefer not to take any flights",
    ),
    "no self-driving": (
        "{we} do not plan to drive {ourselves}",
        "no self-driving, please",
        "{we} do not plan on self-driving for this trip",
        "{we} prefer non-self-driving transportation",
        "{we} would rather not drive",
        "{we} do not intend to self-drive",
        "please plan the journey without self-driving",
        "self-driving is off the table",
        "{we} would prefer to avoid self-driving",
        "as for transportation, {we} do not plan to drive {ourselves} around",
    ),
}

# {cuisines} is "Italian", "Italian and French", "Italian, French, and Indian"
CUISINE_CLAUSES = (
    "{we} would like to eat {cuisines} food",
    "{we} would love to try {cuisines} cuisine on {our} journey",
    "{we} would love to experience {cuisines} cuisine during {our} trip",
    "{we} enjoy {cuisines} cuisine",
    "as for dining preferences, {we} {are} particularly fond of {cuisines} cuisine",
    "as for meals, {we} have a preference for {cuisines} cuisine",
    "in terms of food, {we} would like to have {cuisines} dishes",
    "{our} meals should preferably include {cuisines} cuisine",
    "{we} {are} food lovers and would like to taste {cuisines} cuisine",
    "regarding dining options, {we} prefer {cuisines} restaurants",
    "{we} {are} hoping to find places that offer {cuisines} cuisine",
)
SEVERAL_CUISINES_CLAUSES = (
    "in terms of food, {we} would like to have a variety of cuisines, including {cuisines}",
    "{we} {are} open to a variety of cuisines, including {cuisines}",
    "{we} expect to experience a blend of {cuisines} cuisines during {our} stay",
    "as far as cuisines are concerned, {we} would love to experience {cuisines}",
)
