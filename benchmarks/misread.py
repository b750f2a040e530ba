"""What a traveller would read in a plan, beside what the strict rules have judged.

`mutant` writes a plan that passes a little differently: keys added and repeated, days after the
last, prices, times and lengths said in other ways and wrongly, names spelt otherwise, words added
anywhere. `differences` then reads the text that was given, not what the judge made of it: every
key, word, sign and number must be one of the rows that were judged. Then it lives the trip, minute
by minute, by the rows' own times. It shares no code with the rules but the rows they chose, and
asks more than they do on purpose: what it reports about an accepted plan is for a person to look
at. `refused_for_nothing` asks the other way round: which plan is refused for its hours, sights or
beds alone, though they are sound? `fuzz_judge.py --misread` runs both.
"""

from __future__ import annotations

import copy
import datetime
import itertools
import json
import math
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.plan.parse import parse_answer
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.rules.strict_reading import PlannedDay, StrictPlan, read_plan
from tripwright.domains.travelplanner.scoring.lines import read_record
from tripwright.verdict import Verdict
from tripwright.world.records import Attraction, Flight, WorldTables
from tripwright.world.store import World

PLACES = "breakfast lunch dinner attraction accommodation transportation"
P3_LEG = "mode from to duration distance cost flight_number departure_time arrival_time"
KEYS = {
    "official": set(f"day days current_city {PLACES}".split()),
    "p3": set(f"days city {PLACES} {P3_LEG}".split()),
}
GLUE = set("from to departure arrival time duration distance cost".split())
UNITS = set(
    "d day days h hr hrs hour hours m min mins minute minutes am pm a p km kilometers kilometres"
    " kilometer kilometre mi mile miles usd us dollar dollars".split()
)
MODE_WORDS = {"flight": {"flight", "number"}, "taxi": {"taxi"}, "self-driving": {"self", "driving"}}
SIGNS = set(" -,:;.()'&$/\t\n\u00a0")
TOKEN = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


class Judged(NamedTuple):
    verdict: Verdict
    plan: StrictPlan


# ---- reading


def judged(text: str, kind: str, query: Query, world: World) -> Judged | None:
    """By the strict rules, from the text as a model or a file gives it; None where there is no
    plan."""
    plan: Any
    if kind == "p3":
        days = parse_answer(text).days
        plan = None if days is None else to_official(days, city_lookup(world))
    else:
        try:
            plan = read_record(f'{{"query": {{}}, "plan": {text}}}'.encode())["plan"]
        except ValueError:
            plan = None
    if plan is None:
        return None
    return Judged(judge(query, plan, world, "strict"), read_plan(query, plan, world))


def differences(text: str, kind: str, query: Query, read: Judged) -> Iterator[str]:
    """What the text says that was not judged, a line each."""
    days = json.loads(text, object_pairs_hook=lambda pairs: tuple(("pair", *p) for p in pairs))
    for number, day in enumerate(days, start=1):
        if number > query.days:
            if any(
                key not in KEYS[kind] or value not in ("-", "", number, str(number))
                for _, key, value in day
            ):
                yield f"day {number} beyond the trip says {day}"
            continue
        judged_day = read.plan.days[number - 1]
        yield from (f"day {number}: {what}" for what in _keys(day, kind))
        yield from (f"day {number}: {what}" for what in _words(day, judged_day, query, read))
        yield from (f"day {number}: {what}" for what in _claims(day, judged_day, read.plan.world))
    yield from _trip(read, query)
    yield from _bounds(read, query)
    yield from _twice(read)
    yield from _lived(read)


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Every (key, value) of the objects inside, keys of lists left out."""
    if isinstance(value, tuple):
        for _, key, inside in value:
            yield key, inside
            yield from _pairs(inside)
    elif isinstance(value, list):
        for each in value:
            yield from _pairs(each)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, tuple | list):
        for each in value:
            yield from _texts(each[2] if isinstance(value, tuple) else each)
    elif value is not None:
        yield str(value)


def _keys(day: Any, kind: str) -> Iterator[str]:
    objects = [day, *(value for _, value in _pairs(day) if isinstance(value, tuple))]
    for each in objects:
        for key, count in Counter(key for _, key, _ in each).items():
            if count > 1:
                yield f"key {key!r} {count} times"
    for key, value in _pairs(day):
        if key not in KEYS[kind]:
            yield f"unknown key {key!r} says {value!r}"


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _words(day: Any, planned: PlannedDay, query: Query, read: Judged) -> Iterator[str]:
    """Words and signs that are in no row of the day. Figures of a leg are `_claims`' to look at."""
    world, leg = read.plan.world, planned.leg
    rows = [row.name for place in planned.places() for row in place.rows[:1]]
    cities = [city for city in (planned.start, planned.end) if city]
    sources = [*rows, *cities, *(world.cities[city] for city in cities)]
    if leg is not None and leg.flight is not None:
        sources.append(leg.flight.number)
    known = {token for source in sources for token in TOKEN.findall(_fold(source))}
    if leg is not None and leg.mode is not None:
        known |= GLUE | UNITS | MODE_WORDS[leg.mode]
    signs = SIGNS | set("".join(sources))
    for text in _texts(day):
        for token in TOKEN.findall(_fold(text)):
            if token not in known and not token[0].isdigit():
                yield f"the word {token!r} of {text!r}"
        for sign in set(text) - signs:
            if not sign.isalnum():
                yield f"the sign {sign!r} of {text!r}"
    for key, value in _pairs(day):
        if key in ("day", "days"):
            if str(value).removesuffix(".0") != str(planned.number):
                yield f"its number is {value!r}"
        elif key not in ("transportation", "cost", "duration", "distance", "flight_number") and (
            not key.endswith("_time")
        ):
            for text in _texts(value) if not isinstance(value, tuple) else ():
                yield from (
                    f"the figure {token!r} of {text!r}"
                    for token in TOKEN.findall(_fold(text))
                    if token[0].isdigit() and token not in known
                )


def _claims(day: Any, planned: PlannedDay, world: World) -> Iterator[str]:
    """What is said of the leg, label by label, against its row: 5 percent or a dollar, a fare to
    the dollar; and nothing is said twice in two ways."""
    leg = planned.leg
    said: dict[str, list[float]] = {}
    for label, value in _claimed(day):
        figures = [float(each.replace(",", "")) for each in re.findall(NUMBER, value)]
        if not figures:
            continue
        if said.setdefault(label, figures) != figures:
            yield f"{label} is {said[label]} and {figures}"
        if leg is None or leg.route.origin is None or leg.route.destination is None:
            yield f"{label} {value!r} of no leg"
            continue
        ground = world.ground(leg.route.origin, leg.route.destination)
        if label == "cost":
            km = _km(ground.distance) if ground else math.nan
            true = [leg.flight.price_usd] if leg.flight else [km // 1, km * 0.05 // 1]
            true = true[:1] if leg.mode == "taxi" else true
            good = len(figures) == 1 and any(_near(figures[0], usd, 1) for usd in true)
            good = good and (leg.flight is None or abs(figures[0] - leg.flight.price_usd) < 1)
        elif label == "duration":
            true_text = leg.flight.duration if leg.flight else ground.duration if ground else ""
            good = _near(_minutes(value), _minutes(true_text), 0)
        elif label == "distance":
            true_text = f"{leg.flight.distance_miles} miles" if leg.flight else ground.distance  # type: ignore[union-attr]
            good = _near(_km(value), _km(true_text), 0)
        elif leg.flight is None:
            good = False
        else:
            true_text = getattr(leg.flight, label)
            good = _clock(value) == _clock(true_text)
        if not good:
            yield f"{label} {value!r} is not that of the leg"


def _claimed(day: Any) -> Iterator[tuple[str, str]]:
    for key, value in _pairs(day):
        if key in ("cost", "duration", "distance", "departure_time", "arrival_time"):
            yield key, str(value)
        elif key == "transportation" and isinstance(value, str):
            for piece in re.split(r", (?=[^,]*:)", value)[2:]:
                label, _, said = piece.partition(":")
                yield label.strip().lower().replace(" ", "_"), said


def _near(said: float, true: float, least: float) -> bool:
    return abs(said - true) <= max(least, 0.05 * true)


def _minutes(text: str) -> float:
    scale = {"d": 1440, "h": 60, "m": 1}
    return sum(
        float(number.replace(",", "")) * scale[unit]
        for number, unit in re.findall(NUMBER + r"\s*([dhm])", _fold(text))
    )


def _km(text: str) -> float:
    match = re.search(NUMBER + r"\s*([km])", _fold(text))
    if match is None:
        return math.nan
    return float(match[1].replace(",", "")) * (1 if match[2] == "k" else 1.609344)


def _clock(text: str) -> int:
    match = re.search(r"(\d{1,2}):(\d\d)\s*([ap]?)", _fold(text))
    if match is None:
        return -1
    hour = int(match[1]) % 12 + 12 * (match[3] == "p") if match[3] else int(match[1])
    return 60 * hour + int(match[2])


def _trip(read: Judged, query: Query) -> Iterator[str]:
    """Over all days: no restaurant twice, and the sum."""
    meals = [place for day in read.plan.days for place in day.meals]
    names = Counter((_letters(place.rows[0].name), place.city) for place in meals)
    yield from (f"{name} of {city} {n} times" for (name, city), n in names.items() if n > 1)
    total = 0.0
    for day in read.plan.days:
        if day.leg is not None and day.leg.unit_usd is not None:
            seats = {"flight": 1, "taxi": 4, "self-driving": 5}[str(day.leg.mode)]
            total += day.leg.unit_usd * math.ceil(query.people_number / seats)
        total += sum(place.rows[0].average_cost_usd for place in day.meals) * query.people_number
        if day.stay is not None:
            row = read.plan.stays[day.stay.key].row
            assert row is not None
            total += row.price_usd * math.ceil(query.people_number / row.maximum_occupancy)
    judged_usd = read.verdict.details["total_cost"]
    if abs(total - (judged_usd or 0)) > 0.01 or total > query.budget:
        yield f"it costs {total}, judged {judged_usd}, budget {query.budget}"


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", _fold(text))


def _bounds(read: Judged, query: Query) -> Iterator[str]:
    """From home and back, everything where the traveller is, every night in one bed long enough,
    none of them at home, on days that follow each other."""
    days, home = read.plan.days, query.org
    first = datetime.date.fromisoformat(query.date[0])
    dates = [str(first + datetime.timedelta(number)) for number in range(query.days)]
    if query.date != dates:
        yield f"the dates are {query.date}"
    for before, day in zip([None, *days], days, strict=False):
        ends, leg = (day.start, day.end), day.leg
        if day.start != (before.end if before else home):
            yield f"day {day.number} starts in {day.start}"
        if (leg is None) != (day.start == day.end) or (leg and leg.route[1:] != ends):
            yield f"day {day.number} is {ends}, and the way is not"
        for place in day.meals + day.sights:
            if place.city not in ends:
                yield f"day {day.number}: {place.text!r} is elsewhere"
        bed = day.stay
        if bed is not None and bed.city != day.end or bed is None and day is not days[-1]:
            yield f"day {day.number}: the night is {bed}"
        if bed is not None and bed.city == home:
            yield f"day {day.number}: a bed at home"
    if days[-1].end != home:
        yield f"it ends in {days[-1].end}"
    beds = [(day.stay.rows, day.stay.city) if day.stay else ([], None) for day in days]
    for (rows, city), nights in itertools.groupby(beds):
        if rows and len([*nights]) < min(row.minimum_nights for row in rows):
            yield f"too few nights in {rows[0].name} in {city}"


def _twice(read: Judged) -> Iterator[str]:
    """Two sights of one name, at one house number of a street, or on one spot; by way of a third
    row of the city, too. And one row in the tables of two cities."""
    seen: list[set[Any]] = []
    yield from (f"day {day.number}: too many" for day in read.plan.days if day.more_sights)
    for place in (place for day in read.plan.days for place in day.sights):
        marks = _marks(place.rows[0])
        others = [_marks(row) for row in read.plan.world.attractions(str(place.city))]
        while more := [other for other in others if other & marks and not other <= marks]:
            marks = marks.union(*more)
        if any(marks & other for other in seen):
            yield f"{place.text!r} has been seen"
        seen.append(marks)


def _marks(sight: Attraction) -> set[Any]:
    lines = sight.address.split(", ")
    houses = [line for line in lines[: max(1, len(lines) - 2)] if re.match(r"\d.* ", line)]
    spot = (sight.latitude, sight.longitude)
    marks = {("name", _letters(sight.name)), ("spot", *spot)}
    marks |= {("street", street) for street in houses[:1]}
    if min(len(degrees.partition(".")[2]) for degrees in spot) < 3:
        return {(*mark, sight.city) for mark in marks - {("spot", *spot)}}
    return {(*mark, sight.city) for mark in marks} | {("row", *sight[:-1])}


HALF_HOUR, DAY = 30, 24 * 60


def _lived(read: Judged) -> Iterator[str]:
    """The trip from its first minute to its last, each thing as early as it can be. Minutes are
    since midnight before day 1, by the clock of the city where the traveller is."""
    now = 0
    for day in read.plan.days:
        midnight, leg = DAY * day.number, day.leg
        now = max(now, midnight - DAY)
        places = [place.city for place in day.meals + day.sights]
        if leg is not None:
            for _ in range(places.count(day.start)):
                now += HALF_HOUR
            if leg.flight is not None:
                leaves = midnight - DAY + _clock(leg.flight.departure_time)
                if now > leaves:
                    yield f"day {day.number}: the flight left {now - leaves} minutes ago"
                now = leaves + _elapsed(leg.flight)
            else:
                now += int(_minutes(leg.duration))
                if now > midnight:
                    yield f"day {day.number}: on the road until {now - midnight} past midnight"
        if things := places.count(day.end):
            now += HALF_HOUR * things
            if now > midnight:
                yield f"day {day.number}: {things} things until {now - midnight} past midnight"
        if day.stay is not None:
            now += HALF_HOUR


def _elapsed(flight: Flight) -> int:
    """Minutes from the clock at departure to the clock on arrival: of all days on which that clock
    could be meant, the one that fits the row's duration best."""
    by_clock = _clock(flight.arrival_time) - _clock(flight.departure_time)
    spent = _minutes(flight.duration)
    return min((by_clock + DAY * days for days in range(4)), key=lambda m: abs(m - spent))


REASONS: dict[str, tuple[Callable[[Judged, Query], Iterator[str]], ...]] = {
    "is_valid_information_in_current_city": (_bounds, lambda read, _: _lived(read)),
    "is_valid_attractions": (lambda read, _: _twice(read),),
    "is_valid_accommodation": (_bounds,),
}


def refused_for_nothing(query: Query, read: Judged) -> str | None:
    """The one rule that this plan breaks, where it is about hours, sights or beds and the reading
    here finds nothing wrong with them."""
    failed = [name for name, fact in read.verdict.facts.items() if fact.passed is False]
    if len(failed) != 1 or failed[0] not in REASONS:
        return None
    return None if any([*reads(read, query)] for reads in REASONS[failed[0]]) else failed[0]


# ---- mutants


def widen(tables: WorldTables, seed: int) -> None:
    """More to get wrong: a flight beside every third, for the same fare at a late or an early hour,
    and eighteen more sights in each city."""
    rng = random.Random(seed)
    flights: list[Any] = list(tables.flights)
    for row in flights[::3]:
        spent = (_clock(row[3]) - _clock(row[2])) % DAY
        leaves = rng.choice((rng.randrange(5 * 60), rng.randrange(18 * 60, DAY)))
        clocks = [f"{m // 60 % 24:02}:{m % 60:02}" for m in (leaves, leaves + spent)]
        flights.append((f"F{rng.randrange(10**6)}", row[1], *clocks, *row[4:]))
    tables.flights = flights
    for city, row in {row[6]: row for row in tables.attractions}.items():
        stones: list[Any] = [
            (f"Stone {n}", f"{n}.123", f"{-n}.123", f"{n} Long St, {city}", *row[4:])
            for n in range(1, 19)
        ]
        stones[4] = ("Stone 5", "5.123", "-5.123", "5 Long St, Stoneham", "-", "-", city)  # of all
        if rng.random() < 0.5:
            at = row[3] if rng.random() < 0.5 else f"Old Mill, {row[3]}, USA"
            stones[0] = (*stones[0][:3], at, *row[4:])  # the house number of another
            stones[1] = (stones[1][0], *row[1:3], *stones[1][3:])  # its spot
            stones[3] = (stones[3][0], *stones[2][1:3], row[3], *row[4:])  # one of each
        tables.attractions += stones  # type: ignore[operator]


SAYINGS: tuple[Any, ...] = (
    0,
    7,
    4,
    "4",
    True,
    [1],
    {"a": 1},
    None,
    "",
    "-",
    " ",
    "\u200b",
    "€5",
) + (
    "first class",
    "Paris",
    "Fly on to Paris, first class",
    "vegan",
    "day 2",
    "by boat",
    "x2",
    "and 3 more",
    "for free",
    "(closed)",
)
EXTRA_KEYS = (
    "plan notes cost Dinner city current_city extra price day days to from mode transport hotel"
    " attractions date meals flight_number departure_time arrival_time"
).split() + ["", "dinner "]
CLAIM_TEXTS = (
    "0|-|1|{}|{}.00|${}|{} USD|{} EUR|-{}|{}0|{} each|~{}|{} or less|{} {}|{},{}|0{}|{}e2|½ {}"
    "|{} PM|{} am|{}:00|{} miles|{} km|{}h|{}m|{} hours|{} mins|1h {}m|{}d|{} (one way)"
    "|{}\u00a0USD|{}%|US${}"
).split("|")
SPELLINGS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.lower,
    str.swapcase,
    lambda text: text.replace(" ", "  ", 1),
    lambda text: f" {text} ",
    lambda text: text.replace(" ", "\u00a0"),
    lambda text: unicodedata.normalize("NFKD", text),
    lambda text: text.replace("from", "From", 1),
    lambda text: text.replace(" ", "-", 1),
    lambda text: text + ".",
    lambda text: text.replace("a", "\u0430", 1),  # the Cyrillic one
    lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),  # wide
    lambda text: text.replace(",", ", ", 1),
    lambda text: text.replace(", ", ",", 1),
    lambda text: text.replace(";", "; ", 1),
)


FIELDS = ("breakfast", "lunch", "dinner", "attraction", "accommodation")


@dataclass
class Draft:
    """A plan that is being changed, in either format, and its request."""

    rng: random.Random
    kind: str
    days: list[Any]
    world: World
    query: Query
    repeats: list[tuple[str, Any]] = field(default_factory=list)

    def day(self) -> dict[str, Any]:
        day: dict[str, Any] = self.rng.choice([day for day in self.days if day])
        return day

    def put(self, day: dict[str, Any], field: str, rows: list[Any]) -> None:
        bare = self.kind == "p3" and self.rng.random() < 0.3
        said = [row.name if bare else f"{row.name}, {row.city}" for row in rows]
        if field != "attraction":
            day[field] = said[0] if said else "-"
        else:
            day[field] = (said if self.kind == "p3" else "".join(f"{s};" for s in said)) or "-"

    def unnamed(self, rows: list[Any], most: int) -> list[Any]:
        """Some of the rows that the plan does not name yet."""
        named = _letters(json.dumps(self.days, ensure_ascii=False))
        rows = [
            *{letters: row for row in rows if (letters := _letters(row.name)) not in named}.values()
        ]
        return self.rng.sample(rows, min(most, len(rows)))

    def travels(self) -> list[int]:
        return [at for at, day in enumerate(self.days) if day and len({*_ends(day)}) == 2]


def _ends(day: dict[str, Any]) -> tuple[str, str]:
    """The cities where a day starts and ends."""
    here = day.get("city", day.get("current_city"))
    if isinstance(here, dict):
        return str(here.get("from")), str(here.get("to"))
    origin, _, destination = str(here).removeprefix("from ").partition(" to ")
    return origin, destination or origin


def mutant(
    rng: random.Random, p3: list[Any], official: list[Any], world: World, query: Query
) -> tuple[Draft, str, set[str]]:
    """(draft, its text, what was done): one to three changes to a plan that passes, half of the
    time to its words, half to its hours, and then by a traveller with few wishes and much money."""
    kind = rng.choice(("p3", "official"))
    days = copy.deepcopy(p3 if kind == "p3" else official)
    ways = rng.choice((WORDS, HOURS))
    rich = {"local_constraint": LocalConstraint.model_validate({}), "budget": query.budget * 9}
    query = query.model_copy(update=rich if ways is HOURS else {}, deep=True)
    draft = Draft(rng, kind, days, world, query)
    changes = [rng.choice(ways) for _ in range(rng.choice((1, 1, 2, 3)))]
    for change in changes:
        change(draft)
    text = json.dumps(days, ensure_ascii=rng.random() < 0.5)
    for key, value in draft.repeats:
        spots = [match.start() for match in re.finditer(rf'"{key}": ', text)]
        if spots:
            spot = rng.choice(spots)
            text = f'{text[:spot]}"{key}": {json.dumps(value)}, {text[spot:]}'
    return draft, text, {change.__name__.strip("_") for change in changes}


def _extra(draft: Draft) -> None:
    day, rng = draft.day(), draft.rng
    inside = [day, *(value for value in day.values() if isinstance(value, dict))]
    key = rng.choice((*EXTRA_KEYS, "We fly on to Paris, first class, $9,000"))
    rng.choice(inside)[key] = copy.deepcopy(rng.choice(SAYINGS))


def _pad(draft: Draft) -> None:
    days, rng = draft.days, draft.rng
    more: dict[str, Any] = rng.choice(({}, {"days": len(days) + 1}, dict.fromkeys(days[-1], "-")))
    if rng.random() < 0.8:
        more[rng.choice((*days[-1], *EXTRA_KEYS))] = copy.deepcopy(rng.choice(SAYINGS))
    days.append(more)


def _claim(draft: Draft) -> None:
    days, rng = draft.days, draft.rng
    day = rng.choice([day for day in days if day.get("transportation", "-") != "-"] or days[:1])
    leg = day.get("transportation")
    template = rng.choice(CLAIM_TEXTS)
    if isinstance(leg, dict):
        label = rng.choice([key for key in leg if key not in ("mode", "from", "to")] or ["cost"])
        old = str(leg.get(label, "7"))
        said: Any = _reworded(rng, old) if rng.random() < 0.5 else template.replace("{}", old)
        if label == "cost" and rng.random() < 0.8:
            said = rng.choice((0, 1, -1, rng.randint(2, 500), 10**9))
        leg[label] = said
    elif isinstance(leg, str):
        label, _, old = rng.choice(leg.split(", ")[2:] or ["cost: 7"]).partition(": ")
        said = _reworded(rng, old) if rng.random() < 0.5 else template.replace("{}", old)
        changed = f"{label}: {said}"
        pieces = [each for each in leg.split(", ") if not each.startswith(f"{label}: ")]
        day["transportation"] = ", ".join([*pieces, changed])


def _reworded(rng: random.Random, text: str) -> str:
    """The same in other words, or nearly."""
    if match := re.fullmatch(r"(\d\d?):(\d\d)", text):
        hour = int(match[1])
        half = rng.choice(
            ("AM", "PM", "pm", "p.m.", "a.m.")
            if rng.random() < 0.3
            else ("PM",)
            if hour > 11
            else ("AM",)
        )
        return f"{hour % 12 or 12}:{match[2]}{rng.choice(('', ' '))}{half}"
    if match := re.fullmatch(r"(\d+) hours? ?(\d*).*", text):
        return (
            rng.choice(("{}h {}m", "{}h{}m", "{} hr {} min", "{}:{}", "{}h", "{} hrs, {} mins"))
            .replace("{}", match[1], 1)
            .replace("{}", match[2] or "0", 1)
        )
    if match := re.fullmatch(r"([\d,.]+) (km|miles)", text):
        other = rng.choice(("miles", "mi", "km", "KM", "kilometers"))
        factor = (
            1.0
            if (other[0].lower() == "k") == (match[2] == "km")
            else 0.6214
            if match[2] == "km"
            else 1.609
        )
        if rng.random() < 0.3:
            factor = 1.0
        return f"{float(match[1].replace(',', '')) * factor:.1f} {other}"
    return f"{text}{rng.choice(SAYINGS)}"


def _place(draft: Draft) -> None:
    """Another row, of this city or another."""
    day, rng, world = draft.day(), draft.rng, draft.world
    field = rng.choice(FIELDS)
    city = rng.choice(_ends(day) if rng.random() < 0.8 else [*world.cities])
    tables: dict[str, Callable[[str], list[Any]]] = {
        "attraction": world.attractions,
        "accommodation": world.accommodations,
    }
    rows = tables.get(field, world.restaurants)(city)
    draft.put(day, field, rng.sample(rows, min(1, len(rows))))


def _spell(draft: Draft) -> None:
    _in_a_text(draft, draft.rng.choice(SPELLINGS))


def _append(draft: Draft) -> None:
    said = str(draft.rng.choice(SAYINGS))
    glue = draft.rng.choice((", ", " ", "; ", ";", " (", ",", "\n", ": ", " to ", " and "))
    _in_a_text(draft, draft.rng.choice((lambda t: t + glue + said, lambda t: said + glue + t)))


def _in_a_text(draft: Draft, change: Callable[[str], str]) -> None:
    day = draft.day()
    spots: list[tuple[Any, Any]] = []
    holders: list[Any] = [value for value in day.values() if isinstance(value, dict | list)]
    for holder in [day, *holders]:
        for at in range(len(holder)) if isinstance(holder, list) else holder:
            if isinstance(holder[at], str):
                spots.append((holder, at))
    if spots:
        holder, at = draft.rng.choice(spots)
        holder[at] = change(holder[at])


def _swap(draft: Draft) -> None:
    one, other = draft.day(), draft.day()
    a, b = draft.rng.choice(FIELDS), draft.rng.choice(FIELDS)
    one[a], other[b] = other.get(b, "-"), one.get(a, "-")


def _repeat(draft: Draft) -> None:
    day, rng = draft.day(), draft.rng
    value = rng.choice((*SAYINGS[:7], day[rng.choice([*day])]))
    draft.repeats.append((rng.choice([*day]), value))


def _fly(draft: Draft) -> None:
    """Other flights on all days of travel, since a car cannot be left behind."""
    for at in draft.travels():
        _go(draft, at)


def _go(draft: Draft, at: int) -> None:
    """Another way for a day: a flight, mostly the earliest or the latest, else a taxi."""
    day, rng, dates = draft.days[at], draft.rng, draft.query.date
    (origin, destination), date = _ends(day), dates[at] if at < len(dates) else ""
    rows = sorted(draft.world.flights(origin, destination, date) or [], key=lambda row: row[2])
    road = draft.world.ground(origin, destination)
    claims: dict[str, Any]
    if rows and rng.random() < 0.9:
        row = rng.choice((rows[0], rows[-1], rng.choice(rows)))
        claims = {"departure_time": row.departure_time, "arrival_time": row.arrival_time}
        claims |= {"duration": row.duration, "distance": f"{row.distance_miles:g} miles"}
        claims["cost"] = int(row.price_usd)
        head, mode = f"Flight Number: {row.number}", {"mode": "flight", "flight_number": row.number}
    elif road is not None and road.duration:
        claims = {"duration": road.duration, "distance": road.distance}
        claims["cost"] = int(_km(road.distance))
        head, mode = "Taxi", {"mode": "taxi"}
    else:
        return
    if draft.kind == "p3":
        day["transportation"] = mode | {"from": origin, "to": destination} | claims
    else:
        said = [f"{key.replace('_', ' ').title()}: {value}" for key, value in claims.items()]
        said = rng.sample(said, rng.randint(0, len(said)))
        day["transportation"] = ", ".join([head, f"from {origin} to {destination}", *said])


def _fill(draft: Draft) -> None:
    """A day of travel, mostly, filled up with sights and meals of both its cities."""
    day, rng = draft.day(), draft.rng
    if rng.random() < 0.9 and (travels := draft.travels()):
        day = draft.days[rng.choice(travels)]
    shares = rng.choice(((23, 9), (9, 23), (23, 2), (2, 23), (14, 14)))
    rows = [
        row
        for city, share in zip(dict.fromkeys(_ends(day)), shares, strict=False)
        for row in draft.unnamed(draft.world.attractions(city), rng.randint(0, share))
    ]
    draft.put(day, "attraction", rows)
    _eat(draft, day)


def _eat(draft: Draft, day: dict[str, Any]) -> None:
    """Meals in the one or the other of a day's cities."""
    for meal in FIELDS[:3]:
        city = draft.rng.choice(_ends(day))
        draft.put(day, meal, draft.unnamed(draft.world.restaurants(city), 1))


def _move(draft: Draft) -> None:
    _eat(draft, draft.day())


def _hurry(draft: Draft) -> None:
    """To the next city a day earlier or later: fewer nights, between flights."""
    days, rng, travels = draft.days, draft.rng, draft.travels()
    moves = [(old, old + by) for old in travels[1:-1] for by in (-1, 1) if old + by not in travels]
    if not moves:
        return
    old, new = rng.choice(moves)
    key = "city" if draft.kind == "p3" else "current_city"
    days[new][key], days[old][key] = days[old][key], _ends(days[old])[new < old]
    days[old]["transportation"] = "-"
    _go(draft, new)
    ends = [_ends(day)[1] for day in days]
    for day in (days[old], days[new]):
        _eat(draft, day)
        draft.put(day, "attraction", draft.unnamed(draft.world.attractions(_ends(day)[1]), 1))
    for day, city in zip(days[:-1], ends, strict=False):
        rows = draft.world.accommodations(city)
        draft.put(day, "accommodation", [r for r in rows if r.minimum_nights <= ends.count(city)])


def _night(draft: Draft) -> None:
    """No bed, another one, or one on the last day, which ends at home."""
    day = draft.rng.choice((draft.day(), draft.days[-1]))
    beds = draft.world.accommodations(draft.rng.choice(_ends(day)))
    draft.put(
        day, "accommodation", draft.rng.sample(beds, min(len(beds), draft.rng.choice((0, 1))))
    )


def _date(draft: Draft) -> None:
    """A date of the request dropped, said twice, or another one, or in another order."""
    dates, rng = draft.query.date, draft.rng
    at, way = rng.randrange(max(1, len(dates))), rng.randrange(4)
    dates[at : at + 1] = ([], dates[at : at + 1] * 2, dates[:1], dates[-1:])[way]
    if rng.random() < 0.2:
        rng.shuffle(dates)


def _same_sight(draft: Draft) -> None:
    """Two rows of a city that share their house number, or their spot, or neither, in one day."""
    day, rng = draft.day(), draft.rng
    rows = draft.world.attractions(rng.choice(_ends(day)))
    if not rows:
        return
    one = rng.choice(rows)
    twins = [row for row in rows if row.address == one.address or row[1:3] == one[1:3]]
    draft.put(day, "attraction", [one, rng.choice(twins if rng.random() < 0.5 else rows)])


def _fare(draft: Draft) -> None:
    """Prices that are a little off, or said a second time."""
    for day in draft.days:
        leg, off = day.get("transportation"), draft.rng.choice((0.94, 0.951, 0.99, 1, 1.049))
        if isinstance(leg, dict):
            leg["cost"] = round(leg["cost"] * off) + draft.rng.choice((-1, 0, 0, 0, 1))
        elif isinstance(leg, str) and (cost := re.search(r"cost: (\d+)", leg)):
            said = f"cost: {round(int(cost[1]) * off, draft.rng.choice((0, 2))):g}"
            day["transportation"] = draft.rng.choice((f"{leg}, {said}", leg.replace(cost[0], said)))


WORDS = (_extra, _pad, _claim, _place, _spell, _append, _swap, _repeat)
HOURS = (_fly, _fly, _fill, _fill, _move, _hurry, _night, _date, _same_sight, _fare)
