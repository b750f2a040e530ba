"""How the strict rules read a plan: every text once, as rows of the tables or as nothing.

What cannot be read here cannot slip past one rule and count for another: it has no city, no row
and no price. A plan is written by whoever is being judged; reading is linear in its length and
never raises.

Claims about a leg must be what the tables say: times to the minute; duration, distance and cost
within 5 percent, in any of the usual ways to write them. The allowance is for the tables' own
history: the annotated plans were written from an earlier version of the distances, which differs
by up to 2 percent. One of them also gives the taxi's price for a car; that claim is accepted,
because it promises nothing too cheap.

"Name, City" means the rows of exactly this name in exactly this city, or nothing. Tables have names
with blanks around them, which no plan can show, so blanks around a name do not count; and rows
named '-', which no plan can mean. Two rows of a city whose names differ in signs, case or blanks
alone are one place to a traveller: to eat at both is to go there twice. Stays are the exception,
for one night in each of two is not two nights in either. What is kept from one plan to the next is
rows of the world, never a verdict.

Cities and transport have a closed vocabulary, one route a day:

    from A to B                                                                  a day's cities
    Flight Number: F123, from A to B[, Departure Time: 08:00][, Arrival Time: 09:15]   transport
    Self-driving, from A to B[, duration: 2 hours 5 mins][, distance: 190 km][, cost: 9]
    … or Taxi

A city may carry its state: "A(Ohio)". A piece that claims nothing known makes the whole transport
unreadable, for "Flight …, then taxi from B to C" must not be priced as half of it.

Several stays can share a name and a city (rooms of one host). The plan must then satisfy *one* of
them wholly: minimum nights, house rule and room type are asked of the same row, and its price is
the one charged. The row that breaks least is taken, then the cheapest for the party: so a plan
passes exactly if some row would let it pass.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from tripwright.domains.travelplanner.plan.plan import (
    END,
    FIELDS_AS_CHECKED,
    MEALS,
    NOTHING,
    PlaceKind,
    typed,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import shown
from tripwright.domains.travelplanner.rules.lookup import road_cost_usd, rows_of_city
from tripwright.domains.travelplanner.rules.official import (
    CITY,
    FLIGHT_LABEL,
    FORBIDDING_RULE,
    ROOMS,
    Mode,
    is_wanted_room,
)
from tripwright.verdict import Evidence
from tripwright.world.records import Accommodation, Attraction, Flight
from tripwright.world.store import World

# ---- what a plan claims about a leg


ALLOWANCE = 0.05
TIMES = ("departure time", "arrival time")
LABELS = ("duration", "distance", "cost", "number", *TIMES)
_NO_CLAIM = ("", "-")
_LONGEST = 60  # characters of a claim that can be right
KM_PER_MILE = 1.609344

_NUMBER = r"(\d{1,9}(?:,\d{3})*(?:\.\d{1,9})?)"
_AND = r"[\s,]*(?:and\s+)?"
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::00)?\s*(?:([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)
_SPAN = re.compile(
    rf"(?:{_NUMBER}\s*(?:days?|d)\.?)?{_AND}(?:{_NUMBER}\s*(?:hours?|hrs?|h)\.?)?{_AND}"
    rf"(?:{_NUMBER}\s*(?:minutes?|mins?|m)\.?)?",
    re.ASCII | re.IGNORECASE,
)
_LENGTH = re.compile(
    rf"{_NUMBER}\s*(?:(km|kilomet(?:er|re)s?)|mi|miles?)\.?", re.ASCII | re.IGNORECASE
)
_MONEY = re.compile(
    rf"(?:US\s?\$|\$|USD)?\s*{_NUMBER}\s*(?:\$|USD|US dollars?|dollars?)?"
    r"(?:\s+per (person|vehicle|car|taxi))?",
    re.ASCII | re.IGNORECASE,
)


class ClaimProblem(NamedTuple):
    claim: str
    requirement: str


def false_claims(
    claims: list[str],
    times: dict[str, str],
    duration: str,
    distance: str,
    costs_usd: tuple[float, ...],
) -> tuple[ClaimProblem, ...]:
    """`times` are those of a flight, by label, whose cost must be exact to the dollar; `costs_usd`
    the acceptable prices per seat or vehicle, the true one first."""
    true = times | {"duration": duration, "distance": distance, "cost": f"{costs_usd[0]:g}"}
    wrong, said = [], dict[str, str]()
    for claim in claims:
        label, _, value = claim.partition(":")
        label, value = label.strip().lower(), value.strip()
        if label in LABELS and value in _NO_CLAIM:
            continue
        if said.setdefault(label, value) != value:
            wrong.append(
                ClaimProblem(shown(claim), f"one {label}, and not {shown(said[label])} too")
            )
            continue
        if label not in true:
            requirement = f"nothing after the route but {', '.join(true)}, as 'name: value'"
            wrong.append(ClaimProblem(shown(claim), requirement))
        elif not _is_true(label, value, true[label], costs_usd, bool(times)):
            alone = ", and no more words" if true[label] in value else ""
            wrong.append(ClaimProblem(shown(claim), f"{label}: {true[label]}{alone}"))
    return tuple(wrong)


def _is_true(
    label: str, value: str, true: str, costs_usd: tuple[float, ...], is_fare: bool
) -> bool:
    if value == true:
        return True
    if len(value) > _LONGEST:
        return False
    if label in TIMES:
        time = clock_minutes(value)
        return time is not None and time == clock_minutes(true)
    if label == "duration":
        return _is_near(minutes(value), minutes(true))
    if label == "distance":
        return _is_near(_km(value), _km(true))
    usd = _usd(value, is_fare)
    if is_fare:
        return usd is not None and abs(usd - costs_usd[0]) < 1  # one format has whole dollars only
    return any(_is_near(usd, cost_usd, 1.0) for cost_usd in costs_usd)


def clock_minutes(text: str) -> int | None:
    """'15:40' or '3:40 PM' → minutes since midnight."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hour, minute, half = int(match[1]), int(match[2]), (match[3] or "").lower()
    if minute > 59 or hour > 23 or (half and not 1 <= hour <= 12):
        return None
    return 60 * (hour % 12 + 12 * (half == "p") if half else hour) + minute


def minutes(duration: str) -> float | None:
    """'1 day 2 hours', '3 hours 5 mins', '14h 2m' → minutes; None for anything else."""
    match = _SPAN.fullmatch(duration) if duration[:1].isdigit() else None
    if match is None:
        return None
    return sum(
        scale * _amount(number)
        for number, scale in zip(match.groups(), (1440, 60, 1), strict=True)
        if number
    )


def _km(text: str) -> float | None:
    match = _LENGTH.fullmatch(text)
    return None if match is None else _amount(match[1]) * (1 if match[2] else KM_PER_MILE)


def _usd(text: str, is_fare: bool) -> float | None:
    """'71', '$71', '71 USD' or '71 dollars'; a fare is per person, and no other price is."""
    match = _MONEY.fullmatch(text)
    if match is None or (match[2] and (match[2].lower() == "person") != is_fare):
        return None
    return _amount(match[1])


def _amount(number: str) -> float:
    return float(number.replace(",", ""))


def _is_near(claim: float | None, true: float | None, least: float = 0.0) -> bool:
    """Within the allowance, or within `least`: prices may be rounded to whole dollars."""
    return (
        claim is not None and true is not None and abs(claim - true) <= max(least, ALLOWANCE * true)
    )


# ---- which rows of the tables a named place is


Key = tuple[str, str | None]


class NameRows(NamedTuple):
    """The rows of one name in one city, in file order. `folded` is the same for every spelling of
    one place, and for every name of one sight."""

    folded: str
    rows: list[Any]
    shared: tuple[str, ...] = ()


class PlaceMention(NamedTuple):
    """One named place of a plan. `rows` is empty for a place that is made up, `city` None for a
    city that the world does not have."""

    field: str
    text: str
    city: str | None
    rows: list[Any]
    key: Key  # of one place, however it is spelt; a branch in another city is another place
    shared: tuple[str, ...] = ()  # of a sight: its rows, as the table of another city may have them
    alike: tuple[str, ...] = ()  # names of the city between which it does not choose


_KNOWN: WeakKeyDictionary[World, dict[tuple[PlaceKind, str], dict[str, NameRows]]] = (
    WeakKeyDictionary()
)


T = TypeVar("T")
# what a world's latest texts mean: plans for one world name the same places, legs and routes again
_MEANINGS: WeakKeyDictionary[World, dict[tuple[str | None, ...], Any]] = WeakKeyDictionary()
MOST_MEANINGS = 50_000


class PlaceLookup:
    """The look-ups of one plan."""

    def __init__(self, world: World):
        self._world = world
        self._known = _KNOWN.setdefault(world, {})
        self._meanings = _MEANINGS.setdefault(world, {})

    def place(self, kind: PlaceKind, field: str, text: str) -> PlaceMention:
        """The city follows the last comma. Without a comma there is a name, and no city."""
        return self._meaning((kind, field, text), lambda: self._place(kind, field, text))

    def route(self, text: str) -> PlannedRoute:
        return self._meaning(("route", text), lambda: route_of(text, self._world))

    def leg(self, text: str, date: str | None) -> PlannedLeg:
        return self._meaning(("leg", text, date), lambda: read_leg(text, date, self._world))

    def _meaning(self, key: tuple[str | None, ...], read: Callable[[], T]) -> T:
        found = self._meanings.get(key)
        if found is None:
            if len(self._meanings) >= MOST_MEANINGS:
                self._meanings.clear()
            found = self._meanings[key] = read()
        return cast(T, found)

    def _place(self, kind: PlaceKind, field: str, text: str) -> PlaceMention:
        text = text.rstrip(END)
        name, comma, place = text.rpartition(",")
        if not comma:
            return PlaceMention(field, text, None, [], (folded(text), None))
        name, place = name.strip(), place.strip()
        city = place if place in self._world.cities else city_named(place, self._world)
        rows_of_name = self._of_city(kind, city).get(name) if city is not None else None
        alike: list[str] = []
        if rows_of_name is None and city is not None:
            alike = self._typed_alike(kind, city, name)
            rows_of_name = self._of_city(kind, city)[alike[0]] if len(alike) == 1 else None
        if rows_of_name is None:
            return PlaceMention(field, text, city, [], (folded(name), city), (), tuple(alike))
        key = rows_of_name.folded, city
        return PlaceMention(field, text, city, rows_of_name.rows, key, rows_of_name.shared)

    def _typed_alike(self, kind: PlaceKind, city: str, name: str) -> list[str]:
        """Names that are this one but for the signs that keyboards lack."""
        wanted = typed(name)
        return [row for row in self._of_city(kind, city) if typed(row) == wanted]

    def _of_city(self, kind: PlaceKind, city: str) -> dict[str, NameRows]:
        rows_by_name = self._known.get((kind, city))
        if rows_by_name is None:
            rows_by_name = {}
            for row in rows_of_city(self._world, kind, city):
                name = row.name.strip()
                if name not in ("", "-"):
                    rows_by_name.setdefault(name, NameRows(folded(name), [])).rows.append(row)
            if kind == "accommodation":
                rows_by_name = _apart(rows_by_name)
            if kind == "attraction":
                rows_by_name = _sights(rows_by_name)
            self._known[kind, city] = rows_by_name
        return rows_by_name


def _apart(rows_by_name: dict[str, NameRows]) -> dict[str, NameRows]:
    """Stays whose names differ in signs, case or blanks alone are known by their exact names."""
    shared = Counter(each.folded for each in rows_by_name.values())
    return {
        name: each if shared[each.folded] == 1 else NameRows(name, each.rows)
        for name, each in rows_by_name.items()
    }


def _sights(rows_by_name: dict[str, NameRows]) -> dict[str, NameRows]:
    """Several names at one house number of a street, or at one spot, are one sight."""
    sight_at: dict[Any, tuple[list[str], list[Any]]] = {}  # its names, and by what it is known
    for name, each in rows_by_name.items():
        names, signs = [name], [each.folded, *_whereabouts(each.rows[0])]
        for more, theirs in {id(s): s for sign in signs if (s := sight_at.get(sign))}.values():
            names, signs = names + more, signs + theirs
        sight_at.update(dict.fromkeys(signs, (names, signs)))
    sights = dict(rows_by_name)
    for names, _ in sight_at.values():
        known = [rows_by_name[name] for name in names]
        rows = [row for each in known for row in each.rows if _is_precise(row)]
        folded, shared = min(each.folded for each in known), tuple("\n".join(r[:-1]) for r in rows)
        sights.update({name: NameRows(folded, rows_by_name[name].rows, shared) for name in names})
    return sights


def _whereabouts(row: Attraction) -> Iterator[tuple[str, str]]:
    pieces = row.address.split(", ")
    for street in pieces[: max(1, len(pieces) - 2)]:  # the rest is ZIP code and country
        if street[:1].isdigit() and " " in street:
            yield "street", street
            break
    if _is_precise(row):
        yield row.latitude, row.longitude


def _is_precise(row: Attraction) -> bool:
    """Whether the table says to some hundred metres where a sight is."""
    return min(len(degrees.partition(".")[2]) for degrees in (row.latitude, row.longitude)) > 2


def city_named(text: str, world: World) -> str | None:
    """'A', 'A(its state)' or 'A (its state)' → 'A'; a comma or period at the end says nothing."""
    if text in world.cities:
        return text
    city, _, state = text.rstrip(END).partition("(")
    city = city.removesuffix(" ")
    if not state:
        return city if city in world.cities else None
    return city if state.endswith(")") and world.cities.get(city) == state[:-1] else None


def folded(name: str) -> str:
    """Letters and digits alone, without accents; a name that has none stays itself."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(filter(str.isalnum, letters)) or name


# ---- cities, routes and transport


NEEDED = "'Flight Number: …, from A to B', 'Self-driving, from A to B' or 'Taxi, from A to B'"
_MOST_PIECES = 12


class PlannedRoute(NamedTuple):
    """Cities are None where they are not a city of the world."""

    is_leg: bool  # says 'from … to …', whatever the cities
    origin: str | None
    destination: str | None


class PlannedLeg(NamedTuple):
    """`unit_usd` (per person for a flight, else per vehicle) and `duration` are those of the row,
    and known only for a leg without problems."""

    mode: Mode | None
    route: PlannedRoute
    flight: Flight | None
    unit_usd: float | None
    problems: tuple[ClaimProblem, ...] = ()
    duration: str = ""


def route_of(text: str, world: World) -> PlannedRoute:
    """'from A to B', or 'A' for a day in one place."""
    origin, middle, destination = text.removeprefix("from ").partition(" to ")
    if text.startswith("from ") and middle:
        return PlannedRoute(True, city_named(origin, world), city_named(destination, world))
    city = city_named(text, world)
    return PlannedRoute(False, city, city)


def read_leg(text: str, date: str | None, world: World) -> PlannedLeg:
    said = text if ", from " in text else text.replace(" from ", ", from ", 1)  # a comma forgotten
    head, *rest = said.rstrip(END).split(", ", _MOST_PIECES)
    mode = _mode(head)
    route = route_of(rest[0] if rest else "", world)
    if mode is None or (mode == "flight" and not head.startswith(FLIGHT_LABEL)):
        return _no_leg(mode, route, shown(text), NEEDED)
    ends = route.origin, route.destination
    if not route.is_leg or None in ends or route.origin == route.destination:
        return _no_leg(mode, route, shown(text), f"{NEEDED}, between two cities of this world")
    claims = _joined(rest[1:])
    if mode == "flight":
        return _fly(head.removeprefix(FLIGHT_LABEL), route, date, claims, world)
    return _drive(mode, route, claims, world)


def _joined(pieces: list[str]) -> list[str]:
    """'duration: 2 hours', '24 minutes' is one claim with a comma in it."""
    claims: list[str] = []
    for piece in pieces:
        if claims and ":" not in piece:
            claims[-1] += f", {piece}"
        else:
            claims.append(piece)
    return claims


def _no_leg(mode: Mode | None, route: PlannedRoute, claim: str, needed: str) -> PlannedLeg:
    return PlannedLeg(mode, route, None, None, (ClaimProblem(claim, needed),))


def _mode(head: str) -> Mode | None:
    """By the first word alone: 'Taxi or self-driving' is no way to travel."""
    lowered = head.lower()
    if lowered.startswith("flight number"):
        return "flight"
    return "self-driving" if lowered == "self-driving" else "taxi" if lowered == "taxi" else None


def _fly(
    number: str, route: PlannedRoute, date: str | None, claims: list[str], world: World
) -> PlannedLeg:
    origin, destination = str(route.origin), str(route.destination)
    rows = world.flights(origin, destination, date) if date is not None and date.isascii() else None
    rows_of_number = [row for row in rows or () if row.number == number]
    wrong: tuple[ClaimProblem, ...] = ()
    for row in rows_of_number:
        times = {"departure time": row.departure_time, "arrival time": row.arrival_time}
        miles = f"{row.distance_miles:g} miles"
        wrong = false_claims(claims, times, row.duration, miles, (row.price_usd,))
        if not wrong:
            return PlannedLeg("flight", route, row, row.price_usd, (), row.duration)
    if wrong:
        return PlannedLeg("flight", route, None, None, wrong)
    day = f"on {date}" if date is not None else "on this day, for which the request gives no date"
    needed = f"a flight from {origin} to {destination} {day}"
    if rows is None:
        needed += "; this world does not know which flights there are, so none can be accepted"
    return _no_leg("flight", route, f"flight {shown(number)}", needed)


def _drive(mode: Mode, route: PlannedRoute, claims: list[str], world: World) -> PlannedLeg:
    origin, destination = str(route.origin), str(route.destination)
    cost_usd = road_cost_usd(world, origin, destination, mode)
    ground = world.ground(origin, destination)
    if cost_usd is None or ground is None:
        needed = "a road between the two cities, in less than a day"
        return _no_leg(mode, route, f"{mode} from {origin} to {destination}", needed)
    costs_usd: tuple[float, ...] = (cost_usd,)
    if mode != "taxi":
        costs_usd += (road_cost_usd(world, origin, destination, "taxi") or 0,)
    wrong = false_claims(claims, {}, ground.duration, ground.distance, costs_usd) if claims else ()
    if wrong:
        return PlannedLeg(mode, route, None, None, wrong)
    return PlannedLeg(mode, route, None, cost_usd, (), ground.duration)


# ---- days


# in one day; nobody sees more, and reading a list of thousands would only cost time
MOST_SIGHTS = 24


@dataclass(slots=True)
class PlannedDay:
    """One day; `start` and `end` are its cities, equal on a day without travel, None where they
    cannot be read."""

    number: int
    raw: dict[str, Any] | None  # None: not even an object
    texts: dict[str, str]  # the fields that say something
    route: PlannedRoute
    start: str | None
    end: str | None
    travels: bool  # 'from X to X' is no travel, whatever it says
    leg: PlannedLeg | None
    meals: list[PlaceMention]
    sights: list[PlaceMention]
    more_sights: str  # what follows the first MOST_SIGHTS, not read
    stay: PlaceMention | None

    def places(self) -> list[PlaceMention]:
        stay = [] if self.stay is None else [self.stay]
        return self.meals + self.sights + stay

    def wrong(self, field: str | None, found: str, needed: str) -> Evidence:
        return Evidence(self.number, field, found, needed)

    def lacks(self, field: str, needed: str) -> Evidence:
        return self.wrong(field, "nothing", needed)

    def misplaced(self, place: PlaceMention, needed: str) -> Evidence:
        return self.wrong(place.field, shown(place.text), needed)


def read_day(number: int, day: Any, query: Query, places: PlaceLookup) -> PlannedDay:
    raw = day if isinstance(day, dict) else None
    texts = _texts(raw) if raw is not None else {}
    route = places.route(texts.get(CITY, ""))
    date = query.date[number - 1] if number <= len(query.date) else None
    way, bed = texts.get("transportation"), texts.get("accommodation")
    sights, more_sights = _pieces(texts["attraction"]) if "attraction" in texts else ([], "")
    return PlannedDay(
        number,
        raw,
        texts,
        route,
        start=route.origin,
        end=route.destination,
        travels=route.is_leg and (route.origin is None or route.origin != route.destination),
        leg=None if way is None else places.leg(way, date),
        meals=[places.place("restaurant", meal, texts[meal]) for meal in MEALS if meal in texts],
        sights=[places.place("attraction", "attraction", piece) for piece in sights],
        more_sights=more_sights,
        stay=None if bed is None else places.place("accommodation", "accommodation", bed),
    )


def _texts(day: dict[str, Any]) -> dict[str, str]:
    """NOTHING and what is no text say nothing. Blanks do say something: a place without a name."""
    return {
        field: text
        for field in FIELDS_AS_CHECKED
        if isinstance(text := day.get(field), str) and text not in NOTHING
    }


def _pieces(text: str) -> tuple[list[str], str]:
    """'A, X;B, X;' → its pieces, the last one too if it does not end in ';'. A blank piece between
    two others is a place without a name."""
    pieces = text.split(";", MOST_SIGHTS)
    more = pieces.pop().strip() if len(pieces) > MOST_SIGHTS else ""
    if not pieces[-1].strip(END):
        pieces.pop()
    return pieces, more


# ---- stays


class PlannedStay(NamedTuple):
    """One place to sleep. `nights` is its shortest run: a night elsewhere, or nowhere, ends a run.
    No row: the place is made up."""

    first_day: int
    nights: int
    place: PlaceMention
    row: Accommodation | None


def stays_of(query: Query, days: list[PlannedDay]) -> dict[Key, PlannedStay]:
    shortest: dict[Key, PlannedStay] = {}
    start = 0
    for index, day in enumerate(days):
        if day.stay is None:
            start = index + 1
            continue
        following = days[index + 1].stay if index + 1 < len(days) else None
        key = day.stay.key
        if following is None or following.key != key:
            nights = index + 1 - start
            if key not in shortest or nights < shortest[key].nights:
                shortest[key] = PlannedStay(start + 1, nights, day.stay, None)
            start = index + 1
    return {key: stay._replace(row=_row(query, stay)) for key, stay in shortest.items()}


def _row(query: Query, stay: PlannedStay) -> Accommodation | None:
    def breaks_and_costs(row: Accommodation) -> tuple[int, float]:
        too_short = stay.nights < row.minimum_nights
        broken = (too_short, not allows_rule(query, row), not is_right_room(query, row))
        return sum(broken), row.price_usd * rooms(query.people_number or 1, row)

    rows: list[Accommodation] = stay.place.rows
    return min(rows, key=breaks_and_costs) if len(rows) > 1 else next(iter(rows), None)


def allows_rule(query: Query, row: Accommodation) -> bool:
    """A rule or a room type that no table knows is kept by no row."""
    rule = query.local_constraint.house_rule
    return rule is None or (
        rule in FORBIDDING_RULE and FORBIDDING_RULE[rule] not in row.house_rules
    )


def is_right_room(query: Query, row: Accommodation) -> bool:
    wish = query.local_constraint.room_type
    return wish is None or (wish in ROOMS and is_wanted_room(wish, row.room_type))


def rooms(party_size: int, row: Accommodation) -> int:
    return math.ceil(party_size / row.maximum_occupancy)


# ---- the whole plan


@dataclass(frozen=True, slots=True)
class StrictPlan:
    query: Query
    days: list[PlannedDay]  # within the request's length
    beyond: list[Any]  # whatever follows
    stays: dict[Key, PlannedStay]
    world: World

    @property
    def cities(self) -> set[str]:
        """Every city that the plan is in, the one it starts from too."""
        return {city for day in self.days for city in (day.start, day.end) if city is not None}


def read_plan(query: Query, plan: Any, world: World) -> StrictPlan:
    """Anything but a list has no days."""
    entries = plan if isinstance(plan, list) else []
    places = PlaceLookup(world)
    days = [
        read_day(number, day, query, places)
        for number, day in enumerate(entries[: query.days], start=1)
    ]
    return StrictPlan(query, days, entries[query.days :], stays_of(query, days), world)
