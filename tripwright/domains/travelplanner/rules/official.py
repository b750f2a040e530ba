"""The rules of TravelPlanner (row T3), as its own evaluator decides them: bug for bug, crash for
crash; and the stages that STAR's variant shares.

Read this beside the strict rules, which close the holes kept open here: on a day without travel
"within the city" compares with the *letters* of the city's name; the last attraction and a flight's
date are not looked at; words for transport that are not known are neither checked nor paid for;
None and [] count as given; prices come from the first row that matches, the flight's price from its
number alone. Days beyond the query's length are ignored by every rule. Exceptions are part of the
semantics: a malformed day raises here exactly what it raises in the official code, and the stages
turn it into a failed verdict. Messages keep the official spelling, the evidence beside them is
ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, Literal, TypeVar

from tripwright.domains.travelplanner.plan.plan import FIELDS_AS_CHECKED, MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    NOT_ASKED,
    PASS,
    Cost,
    CostKind,
    applicable_hard,
    failed,
    opens_hard_gate,
    plan_verdict,
    total_usd,
)
from tripwright.domains.travelplanner.rules.lookup import (
    Lookup,
    attraction_pieces,
    before_parenthesis,
    filled,
    from_to,
    road_cost_usd,
    travel_mode,
)
from tripwright.verdict import Fact, Facts, Result, Verdict
from tripwright.world.store import World

# ---- the route


SomeLookup = TypeVar("SomeLookup", bound=Lookup)
Days = list[Any]  # the plan's days within the query's length, official format
Mode = Literal["flight", "self-driving", "taxi"]
CITY, FLIGHT_LABEL = "current_city", "Flight Number: "


def is_reasonable_visiting_city(query: Query, days: Days, lookup: Lookup) -> Result:
    route: list[str] = []
    for number, day in enumerate(days, start=1):
        cities = lookup.route_of_day(day[CITY])
        if number == 1 and len(cities) == 2 and cities[0] != query.org:
            message = f"The first day's city should be {query.org}."
            return failed(message, 1, CITY, cities[0], f"a start from {query.org}")
        route += cities
    if route[0] != route[-1]:
        message = "The trip should be a closed circle."
        return failed(message, None, CITY, _path(route), "a trip that ends where it began")
    if not _is_valid_sequence(route):
        requirement = (
            "a trip that stays in every city it comes to, leaves it by name and does not come back"
            " to it"
        )
        return failed("The city sequence is invalid.", None, CITY, _path(route), requirement)
    cities_of_world = lookup.world.cities
    for index, city in enumerate(route):
        if city not in cities_of_world:
            return failed(f"{city} is not a valid city.", None, CITY, city, "a city of this world")
        state = cities_of_world[city]
        if 0 < index < len(route) - 1 and query.days > 3 and state != query.dest:
            message = f"{city} is not in {query.dest}."
            return failed(message, None, CITY, f"{city} in {state}", f"cities in {query.dest}")
    return PASS


def _path(route: list[str]) -> str:
    return " – ".join(city for city, _ in groupby(route))


def _is_valid_sequence(route: list[str]) -> bool:
    """Between the ends every stay has at least two entries (arrive, leave) and no city is returned
    to."""
    if len(route) < 3:
        return False
    last, start, visited = len(route) - 1, 0, set()
    for city, run in groupby(route):
        length = len(list(run))
        if city in visited and start not in (0, last):
            return False
        if length == 1 and 0 < start < last:
            return False
        visited.add(city)
        start += length
    return True


def wrong_city_count(query: Query, days: Days, lookup: Lookup) -> Result | None:
    """What completeness asks of the route; None where the number of cities is right."""
    message = "Invalid City Number"
    requirement = f"{query.visiting_city_number} to visit, from {query.org}"
    visited: set[str] = set()
    for number, day in enumerate(days, start=1):
        cities = lookup.route_of_day(day[CITY])
        if number == 1 and len(cities) == 2 and cities[0] != query.org:
            return failed(message, 1, CITY, f"a start from {cities[0]}", requirement)
        visited.update(cities)
    visited.discard(query.org)
    if len(visited) == query.visiting_city_number:
        return None
    return failed(message, None, CITY, f"{len(visited)}: {', '.join(sorted(visited))}", requirement)


# ---- completeness


UNUSED_DAY = "You don't need to fill in the information for this or later days."
# the order decides which one is said to be missing; the city is read before
FIELDS = FIELDS_AS_CHECKED[1:]


def is_not_absent(query: Query, days: Days, lookup: Lookup) -> Result:
    day_count = sum(1 for day in days if day != {} and day[CITY] != UNUSED_DAY)
    if day_count != query.days:
        return failed("Invalid Days", None, None, f"{day_count} days", f"{query.days} days")
    if wrong := wrong_city_count(query, days, lookup):
        return wrong
    for number, day in enumerate(days, start=1):
        if problem := _absent(day, number, query.days):
            return problem
    return half_filled(query, days, "The absent information is more than 50%.")


def half_filled(query: Query, days: Days, message: str) -> Result:
    entries, least = sum(filled(value) for day in days for value in day.values()), 3 * query.days
    if entries >= least:
        return PASS
    found = f"{entries} of {2 * least} entries"
    return failed(message, None, None, found, "half of the entries filled in")


def _absent(day: Any, number: int, last: int) -> Result | None:
    """Only '' and '-' are absent here: None, [] and False pass."""
    for key in FIELDS:
        if key not in day:
            return failed(f"No {key.capitalize()} Info.", number, key, "", f"an entry '{key}'")
    city = day[CITY]
    stays = "from " not in city
    needs = (
        ("transportation", "transportation", not stays or "to " in city, "a way to travel"),
        ("attraction", "attaction", stays and " to " not in city, "something to see"),
        ("accommodation", "accommodation", number != last, "a place for the night"),
        *((meal, "meal", stays, "three meals on a day without travel") for meal in MEALS),
    )
    for field, said, is_needed, requirement in needs:
        if is_needed and day[field] in ("", "-"):
            message = f"No {said} in day {number} is not allowed."
            return failed(message, number, field, "", requirement)
    return None


# ---- is everything that the plan names in the tables?


NEEDED = "a place in this world's tables, as 'Name, City'"
ALL_OR_NOTHING = "self-driving all the way, or not at all"


def is_valid_information_in_sandbox(query: Query, days: Days, lookup: Lookup) -> Result:
    for number, day in enumerate(days, start=1):
        invalid = f"in day {number} is invalid in the sandbox."
        way = day["transportation"]
        if filled(way) and (problem := _invalid_transport(day, number, lookup)):
            needed = "a road between the two cities, in less than a day"
            if problem == "flight number":
                needed = "a flight number of this route"
            return failed(f"The {problem} {invalid}", number, "transportation", way, needed)
        for meal in MEALS:
            if meal in day and filled(day[meal]) and lookup.restaurant(day[meal]) is None:
                return failed(f"The {meal} {invalid}", number, meal, day[meal], NEEDED)
        if "attraction" in day and filled(day["attraction"]):
            for piece in attraction_pieces(day["attraction"]):
                if not lookup.has_attraction(piece):
                    message = f"The attraction {piece} {invalid}"
                    return failed(message, number, "attraction", piece, NEEDED)
        stay = day.get("accommodation")
        if filled(stay) and not lookup.stays(stay):
            return failed(f"The accommodation {invalid}", number, "accommodation", stay, NEEDED)
    return PASS


def travel_route(day: Any) -> tuple[str, str] | tuple[None, None]:
    """(A, B) of the transportation text, else of the current city."""
    route = from_to(day["transportation"])
    return route if route[0] is not None else from_to(day[CITY])


def _invalid_transport(day: Any, number: int, lookup: Lookup) -> str | None:
    """What is not in the tables, or None. Words other than flight number, self-driving and taxi are
    not looked up at all."""
    text = day["transportation"]
    origin, destination = travel_route(day)
    lowered = text.lower()
    if "flight number" in lowered:
        if origin is None or destination is None:
            raise ValueError(f"The transportation {text} in day {number} can not be parsed.")
        route = (before_parenthesis(origin), before_parenthesis(destination))
        is_listed = any(
            (row.origin, row.destination) == route
            for row in lookup.flights_numbered(flight_number(text))
        )
        return None if is_listed else "flight number"
    mode = "self-driving" if "self-driving" in lowered else "taxi" if "taxi" in lowered else None
    if mode is None:
        return None
    price_usd = road_cost_usd(lookup.world, origin or "-", destination or "-", mode)
    return mode if price_usd is None else None


def flight_number(text: str) -> str:
    """Between the exact label and the next comma; a label of other case or spacing raises
    IndexError."""
    return text.split(FLIGHT_LABEL)[1].split(",")[0]


# ---- places, nights and transport


def is_valid_restaurants(query: Query, days: Days, lookup: Lookup) -> Result:
    meals: list[Any] = []  # what is no text is compared, too
    for number, day in enumerate(days, start=1):
        for meal in MEALS:
            if meal in day and filled(day[meal]):
                if day[meal] in meals:
                    # only this message of the three names it
                    name = f" {day[meal]}" if meal == "lunch" else ""
                    message = f"The restaurant in day {number} {meal}{name} is repeated."
                    return failed(message, number, meal, day[meal], "a restaurant not yet visited")
                meals.append(day[meal])
    return PASS


def is_valid_attractions(query: Query, days: Days, lookup: Lookup) -> Result:
    sights: set[str] = set()
    for number, day in enumerate(days, start=1):
        if "attraction" in day and filled(day["attraction"]):
            for piece in attraction_pieces(day["attraction"]):
                if piece in sights:
                    message = f"The attraction '{piece}' in day {number} is repeated."
                    needed = "an attraction not yet visited"
                    return failed(message, number, "attraction", piece, needed)
                sights.add(piece)
    return PASS


def is_valid_accommodation(query: Query, days: Days, lookup: Lookup) -> Result:
    def message(first: int, stay: Any) -> str:
        return f"The accommodation {stay} do not obey the minumum nights rule."

    def missing(number: int) -> str:
        return "No Accommodation Info."

    return too_few_nights(days, lookup, lambda stay: stay not in ("-", ""), message, missing)


def too_few_nights(
    days: Days,
    lookup: Lookup,
    is_stay: Callable[[Any], bool],
    message: Callable[[int, Any], str],
    missing: Callable[[int], str],
) -> Result:
    """Minimum nights, for names that mean exactly one row; a run is broken by any other
    spelling."""
    field, first = "accommodation", 1
    for number, day in enumerate(days, start=1):
        if field not in day:
            return failed(missing(number), number, field, "", f"an entry '{field}'")
    for stay, run in groupby(day[field] for day in days):
        nights = len(list(run))
        rows = lookup.stays(stay) if is_stay(stay) else []
        if len(rows) == 1 and nights < rows[0].minimum_nights:
            found, needed = f"{nights} in {stay}", f"at least {rows[0].minimum_nights:g} nights"
            return failed(message(first, stay), first, field, found, f"{needed} in a row")
        first += nights
    return PASS


def is_valid_transportation(query: Query, days: Days, lookup: Lookup) -> Result:
    return conflicting(days, travel_mode, "Self-driving")


def conflicting(days: Days, mode_of: Callable[[Any], str | None], driving: str) -> Result:
    if not filled(text := days[0]["transportation"]):
        message = "The transportation in day 1 should not be empty."
        return failed(message, 1, "transportation", text, "a way to leave home")
    said = [day["transportation"] for day in days if "transportation" in day]
    modes = {mode for text in said if filled(text) and (mode := mode_of(text))}
    if driving in modes and len(modes) > 1:
        message, found = "The transportation is conflicting.", ", ".join(sorted(modes))
        return failed(message, None, "transportation", found, ALL_OR_NOTHING)
    return PASS


def is_valid_information_in_current_city(query: Query, days: Days, lookup: Lookup) -> Result:
    for number, day in enumerate(days, start=1):
        route = lookup.route_of_day(day[CITY])
        # the official bug: on a stay day, the letters of its name
        cities = route if len(route) == 2 else route[0]
        field = _out_of_city(day, cities)
        if field:
            message = f"The {field} in day {number} is invalid city choice."
            needed = f"something in {' or '.join(route)}"
            return failed(message, number, field, day[field], needed)
    return PASS


def _out_of_city(day: Any, cities: list[str] | str) -> str | None:
    if "transportation" in day and filled(day["transportation"]):
        for city in cities:
            if city not in day["transportation"]:
                return "transportation"
    for meal in MEALS:
        if meal in day and filled(day[meal]) and not _mentions_any(day[meal], cities):
            return meal
    if "attraction" in day and filled(day["attraction"]):
        for piece in attraction_pieces(day["attraction"]):
            if not _mentions_any(piece, cities):
                return "attraction"
    stay = day.get("accommodation")
    return "accommodation" if filled(stay) and cities[-1] not in stay else None


def _mentions_any(text: Any, cities: list[str] | str) -> bool:
    for city in cities:  # noqa: SIM110 (any() over a generator takes thrice as long, and most of the time goes here)
        if city in text:
            return True
    return False


CHECKS = (
    is_reasonable_visiting_city,
    is_valid_restaurants,
    is_valid_attractions,
    is_valid_accommodation,
    is_valid_transportation,
    is_valid_information_in_current_city,
    is_valid_information_in_sandbox,
    is_not_absent,
)


# ---- what the traveller asked for, and the budget


FORBIDDING_RULE = {
    "smoking": "No smoking",
    "parties": "No parties",
    "children under 10": "No children under 10",
    "visitors": "No visitors",
    "pets": "No pets",
}
REQUIRED_ROOM = {
    "shared room": "Shared room",
    "private room": "Private room",
    "entire room": "Entire home/apt",
}
ROOMS = ("not shared room", *REQUIRED_ROOM)  # wishes that rules know
SEATS = {"self-driving": 5, "taxi": 4}  # per vehicle
FORBIDDEN_MODE: dict[str, Mode] = {"no flight": "flight", "no self-driving": "self-driving"}


def valid_cuisine(query: Query, days: Days, lookup: Lookup) -> Result:
    """Every wanted cuisine at some meal away from home. A meal at home ends its whole day (the
    official `continue`)."""
    cuisines = query.local_constraint.cuisine
    if not cuisines:
        return NOT_ASKED
    tasted: set[str] = set()
    for day in days:
        for meal in MEALS:
            if not filled(day[meal]):
                continue
            if lookup.city_of_meal(day[meal]) == query.org:
                break
            row = lookup.restaurant(day[meal])
            if row is not None:
                tasted.update(cuisine for cuisine in cuisines if cuisine in row.cuisines)
    if len(tasted) == len(cuisines):
        return PASS
    for cuisine in cuisines:
        if cuisine not in tasted:
            message = f"The cuisine {cuisine} is not satisfied."
            needed = f"a meal away from home that is {cuisine}"
            return failed(message, None, None, tasted_words(tasted), needed)
    raise TypeError("a cuisine is asked for twice: the official code returns nothing and fails")


def tasted_words(tasted: set[str]) -> str:
    return f"only {', '.join(sorted(tasted))}" if tasted else "none of the wanted cuisines"


def valid_room_rule(query: Query, days: Days, lookup: Lookup) -> Result:
    rule = query.local_constraint.house_rule
    if rule is None:
        return NOT_ASKED
    forbidding = FORBIDDING_RULE.get(rule)
    for number, day in enumerate(days, start=1):
        if filled(day["accommodation"]):
            row = lookup.stay(day["accommodation"])
            if row is not None and forbidding is not None and forbidding in row.house_rules:
                message, needed = f"The house rule should be {rule}.", f"a place that allows {rule}"
                found = f"{row.name}: {row.house_rules}"
                return failed(message, number, "accommodation", found, needed)
    return PASS


def valid_transportation(query: Query, days: Days, lookup: Lookup) -> Result:
    """Case-sensitive, unlike modes and costs."""
    wish = query.local_constraint.transportation
    if wish is None:
        return NOT_ASKED
    forbidden = FORBIDDEN_MODE[wish].capitalize() if wish in FORBIDDEN_MODE else None
    for number, day in enumerate(days, start=1):
        text = day["transportation"]
        if filled(text) and forbidden is not None and forbidden in text:
            message = f"The transportation should not be {wish}."
            return failed(message, number, "transportation", text, wish)
    return PASS


def valid_room_type(query: Query, days: Days, lookup: Lookup) -> Result:
    wish = query.local_constraint.room_type
    if wish is None:
        return NOT_ASKED
    for number, day in enumerate(days, start=1):
        if filled(day["accommodation"]):
            row = lookup.stay(day["accommodation"])
            if row is not None and not is_wanted_room(wish, row.room_type):
                message = f"The room type should be {wish}."
                found = f"{row.name}: {row.room_type}"
                return failed(message, number, "accommodation", found, wish)
    return PASS


def is_wanted_room(wish: str, room_type: str) -> bool:
    """Unknown wishes are met by every room."""
    if wish == "not shared room":
        return room_type != "Shared room"
    return wish not in REQUIRED_ROOM or room_type == REQUIRED_ROOM[wish]


def costs_of(
    query: Query,
    days: Days,
    lookup: SomeLookup,
    transport: Callable[[Any, int, int, SomeLookup], Iterable[Cost]],
) -> Iterator[Cost]:
    """What the rules charge the whole party, in the order in which they add it up. Prices are those
    of the first row that matches."""
    party_size = query.people_number
    for number, day in enumerate(days, start=1):
        if filled(day["transportation"]):
            yield from transport(day, number, party_size, lookup)
        for meal in MEALS:
            if filled(day[meal]) and (row := lookup.restaurant(day[meal])) is not None:
                yield Cost(number, meal, row.name, row.average_cost_usd, party_size)
        if filled(day["accommodation"]):
            stay = lookup.stay(day["accommodation"])
            if stay is not None:
                rooms = math.ceil(party_size / stay.maximum_occupancy)
                yield Cost(number, "accommodation", stay.name, stay.price_usd, rooms)


def _transport_cost(day: Any, number: int, party_size: int, lookup: Lookup) -> Iterator[Cost]:
    origin, destination = travel_route(day)
    if origin is None or destination is None:
        return
    text = day["transportation"]
    lowered = text.lower()
    route = f"from {origin} to {destination}"
    if "flight number" in lowered:
        rows = lookup.flights_numbered(flight_number(text))
        if rows:
            what = f"{rows[0].number} {route}"
            yield Cost(number, "flight", what, rows[0].price_usd, party_size)
    elif "self-driving" in lowered or "taxi" in lowered:
        mode: CostKind = "self-driving" if "self-driving" in lowered else "taxi"
        per_vehicle_usd = road_cost_usd(lookup.world, origin, destination, mode)
        if per_vehicle_usd is None:
            # shut out by the gate on the sandbox rule
            raise TypeError("a road without a known cost has no price")
        yield Cost(number, mode, route, per_vehicle_usd, math.ceil(party_size / SEATS[mode]))


def valid_cost(query: Query, costs: Sequence[Cost]) -> Result:
    """The official rule gives no message, so this one has evidence only."""
    total = total_usd(costs)
    if total <= query.budget:
        return PASS
    found = f"${total:,.2f} for the whole party"
    return failed(None, None, None, found, f"at most ${query.budget:,}")


WISHES = (valid_cuisine, valid_room_rule, valid_transportation, valid_room_type)


# ---- the stages


# Kinds of exception that a malformed plan or request raises in the official code and in STAR's.
PLAN_FAULTS = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class StagedRules(Generic[SomeLookup]):
    """`checks` and `wishes` run in their order, by name; `look_up` makes one plan's look-ups."""

    name: str
    look_up: Callable[[World], SomeLookup]
    checks: tuple[Callable[[Query, Days, SomeLookup], Result], ...]
    wishes: tuple[Callable[[Query, Days, SomeLookup], Result], ...]
    transport: Callable[[Any, int, int, SomeLookup], Iterable[Cost]]

    def judge(self, query: Query, plan: list[Any], world: World) -> Verdict:
        """The verdict on one plan in the official format, which is not empty."""
        asked, lookup = applicable_hard(query), self.look_up(world)
        try:
            days = plan[: query.days]
            checked = self._facts(self.checks, query, days, lookup)
        except PLAN_FAULTS as error:
            return plan_verdict(self.name, asked, error=type(error).__name__)
        facts = {name: checked[name] for name in COMMONSENSE_NAMES}
        if not opens_hard_gate(facts):
            return plan_verdict(self.name, asked, facts)
        try:
            hard_facts = self._facts(self.wishes, query, days, lookup)
            costs = tuple(costs_of(query, days, lookup, self.transport))
            hard_facts["valid_cost"] = Fact.of("valid_cost", valid_cost(query, costs))
        except PLAN_FAULTS as error:
            return plan_verdict(self.name, asked, facts, error=type(error).__name__)
        return plan_verdict(self.name, asked, facts, hard_facts, costs)

    def _facts(
        self,
        checks: tuple[Callable[[Query, Days, SomeLookup], Result], ...],
        query: Query,
        days: Days,
        lookup: SomeLookup,
    ) -> Facts:
        return {
            check.__name__: Fact.of(check.__name__, check(query, days, lookup)) for check in checks
        }


OFFICIAL = StagedRules("official", Lookup, CHECKS, WISHES, _transport_cost)
