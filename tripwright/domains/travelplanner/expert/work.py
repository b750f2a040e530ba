"""The expert's work, shown: how a choice is made row by row, and what ways and trips cost, as
records and as words.

A model that has to choose in one forward pass learns to choose badly; one that copies what decides,
beside what is asked for, compares neighbours (dev/LOG.md, 2026-11-22). So what is asked for is
said once more in the words of the tables, and then each row, as far as the first thing that speaks
against it. What is asked for carries a sign, in the list and in every row that has it: to judge a
row is to copy what followed the same word before. A row is called by its letter, where it has one,
so that the next one is found by counting on.

    Private room!, 2 nights, 5 people, No smoking!: A 66 Shared room no; B 159 Private room! 3 no; C
    190 Private room! 1 6 No pets & No smoking! no; D 211 Private room! 1 6 No parties ok. Stay: (D)
    Ash Inn.

    Breakfast, 2 free, French!: A 17 Tea ok. Breakfast: (A) Fairlow Diner. Lunch, 1 free, French!:
    B 26 Indian, French! ok. Lunch: (B) Selham Cafe. French done. Dinner, 1 free, French done: C 34
    French done ok. Dinner: (C) Linlow Oven.

Where rows do not lie in order of price, the walk goes on to the last one, and whatever costs no
less than the one found is said to be dear; rows without letters are told by what they say:

    2 nights, 1 person: 159 3 no; 98 1 2 ok; 120 dear; 85 2 4 ok. Stay: Ash Inn.

    Breakfast, French!: 26 Indian no; 40 Thai, French! ok; 55 dear. Breakfast: Linlow Oven. French
    done. Lunch, 2 free, French done: 26 Indian ok; 40 eaten; 55 dear. Lunch: Selham Cafe.

Ways, costs and the sum of a trip over several cities:

    Go: home V Dalby 7 hours 9 mins 640 km 33 self-driving. Back: V home Ely 7 hours 20 mins 650 km
    35 self-driving. Trip: 1 person, 1 car, 1 taxi; day 1, home, 4 nights, home V Dalby 7 hours 9
    mins 640 km 33 self-driving, 1*33, V Dalby V 4 nights 159 V: (B) Ash Inn, 1*33+4*159; day 5, V
    home Ely 7 hours 20 mins 650 km 35 self-driving. Cost: 1*33+4*159+1*35. Plan: day 1, home V
    Dalby 7 hours 9 mins 640 km 33 self-driving, V Dalby V 4 nights 159 V: (B) Ash Inn; day 2, V Elm
    Park, breakfast (A) Oak Cafe, lunch (B) Yew Grill, dinner (C) Fir Bistro; […]; day 5, V home Ely
    7 hours 20 mins 650 km 35 self-driving.

Every word of a row is one that the tool has shown, in the row's own order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar, cast

from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES, SEATS
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.errors import counted
from tripwright.tools.face import letters
from tripwright.world.records import Accommodation, Restaurant

WANTED, DONE = "!", " done"  # signs behind a word
OK, NO, DEAR, EATEN = "ok", "no", "dear", "eaten"  # what becomes of a row
JUDGED = (OK, NO, DEAR, EATEN)
ENDS = ","  # a number that is compared
STAY, EAT, NONE = "Stay", "Eat", "none"
GO, BACK, TRIP, COST = "Go", "Back", "Trip", "Cost"  # of ways; what it, or meals, cost
EATING = "Meals"  # where
SEE = "See"  # what one sees there
PLAN = "Plan"  # of the trip that keeps the budget
SELF_DRIVING = "self-driving"
HOME, MOST_CITIES = "home", 6  # what the origin is called; cities that have letters
LENGTHS = (3, 2, 1)  # nights in one of several cities
# what a face has to show of a row for its walk
STAY_FIELDS = {"price_usd", "room_type", "minimum_nights", "maximum_occupancy", "house_rules"}
MEAL_FIELDS = {"average_cost_usd", "cuisines"}
Row = TypeVar("Row", Accommodation, Restaurant)
Signs = Mapping[str, str]  # cuisine that is asked for → its sign at present


@dataclass(frozen=True)
class RowStep:
    """One row that was looked at: what it is called, what it says, as far as that decides, and one
    of JUDGED."""

    letter: str  # empty where rows have none
    said: tuple[str, ...]
    judged: str

    def words(self) -> str:
        return f"{called(self.letter, ' '.join(self.said))} {self.judged}"


@dataclass(frozen=True)
class RowWalk:
    """A walk along rows, under what was still asked for when it began: the last that was ok is
    taken, for what, and what that row has done away with. `taken` is None where none was ok."""

    asked: tuple[str, ...]
    rows: tuple[RowStep, ...]
    purpose: str
    taken: Accommodation | Restaurant | None
    done: tuple[str, ...] = ()

    def words(self) -> str:
        found = [row for row in self.rows if row.judged == OK][-1:]
        steps = "; ".join(row.words() for row in self.rows)
        walk = f"{', '.join(self.asked)}: {steps}. " if steps else ""
        taken = NONE if self.taken is None else named(found[0].letter, self.taken.name)
        done = "".join(f" {each}{DONE}." for each in self.done)
        return f"{walk}{choice(self.purpose, taken)}{done}"


def choice(purpose: str, taken: str) -> str:
    """A choice, noted: "Stay: Ash Inn."."""
    return f"{purpose}: {taken}."


def called(letter: str, words: str) -> str:
    return f"{letter} {words}" if letter else words


def named(letter: str, name: str) -> str:
    """As the name stands in its row: "(B) Ash Inn"."""
    return f"({letter}) {name}" if letter else name


def stay_walk(
    query: Query,
    nights: int,
    rows: Iterable[tuple[str, Accommodation]],
    cheapest_first: bool,
    to: Accommodation | None = None,
) -> RowWalk:
    """To the row, each with its letter, that fits and holds the party in one room: the cheapest, or
    in order of price `to`, if it is one of them."""
    steps, found = along(rows, partial(look_at_stay, query, nights), cheapest_first, to)
    return RowWalk(asked_of_stays(query, nights), steps, STAY, found)


def stay_walks(
    query: Query,
    city: str,
    lengths: Iterable[int],
    rows: Sequence[tuple[str, Accommodation]],
    cheapest_first: bool,
) -> list[RowWalk]:
    """To what a city has for each number of nights, most nights first; what else is asked for is
    said once. In order of price a walk begins with the row that the last one took, because what was
    passed over for more nights does not fit for fewer."""
    walks: list[RowWalk] = []
    left = rows
    for nights in lengths:
        asked = asked_again(nights) if walks else asked_of_stays(query, nights)
        asked = (*asked, *to_the_last(rows))
        steps, found = along(left, partial(look_at_stay, query, nights), cheapest_first)
        purpose = stay_for(city, nights, found)
        walks.append(RowWalk(asked, steps, purpose, found))
        if cheapest_first:
            left = left[len(steps) - 1 :] if found else []
    return walks


def asked_again(nights: int) -> tuple[str, ...]:
    return (counted(nights, "night"),)


def to_the_last(rows: Sequence[tuple[str, Row]]) -> tuple[str, ...]:
    """Where a walk along lettered rows ends if nothing is found: "to H"."""
    return (f"to {rows[-1][0]}",) if rows and rows[-1][0] else ()


def city_letter(number: int) -> str:
    """What the city with this number in its list, from 1, is called: U to Z, far from the letters
    of rows."""
    return letters(26 - MOST_CITIES + number)


def asked_of_cities(
    been: Sequence[str], day: int, to_come: Sequence[int], cities: Sequence[str]
) -> tuple[str, ...]:
    """When, where one has been since home, how many nights one stays in each city to come, and
    which are left, all by their letters: ("day 4", "home V", "2, 1 nights", "U X")."""
    left = (" ".join(cities),) if cities else ()
    each = _in_turn(to_come, len(been) - 1 + len(to_come))  # home is no stop
    nights = f"{each} {'night' if [*to_come] == [1] else 'nights'}"
    return (f"day {day}", " ".join(been), nights, *left)


def nights_tried(shapes: Iterable[Sequence[int]]) -> str:
    """How they may be spent in one city after the other, what is tried now first: "3 and 1; 2 and 2
    nights"."""
    return f"{'; '.join(_in_turn(shape, len(shape)) for shape in shapes)} nights"


def _in_turn(nights: Sequence[int], stops: int) -> str:
    """A trip to two cities has another word between them: "3, " began both "3, 1" and "3, 2, 1",
    and small models took the one for the other (dev/LOG.md, 2026-11-28)."""
    return (" and " if stops == 2 else ", ").join(map(str, nights))


def nights_in(city: str, nights: int) -> str:
    return f"{city} {counted(nights, 'night')}"


def priced(city: str, nights: int, stay: Accommodation | None) -> str:
    """A stay by its price, in a city by its letter: "V 3 nights 159"."""
    return f"{nights_in(city, nights)} {f'{stay.price_usd:g}' if stay else NONE}"


def stay_for(city: str, nights: int, stay: Accommodation | None) -> str:
    """What a place to stay is chosen for: "V 3 nights 159 V". The city once more, beside the letter
    of the row, which lists of other cities have, too."""
    return f"{priced(city, nights, stay)} {city}"


def beside(
    city: str, nights: int, stay: Accommodation | None, least: Accommodation | None
) -> RowStep:
    """A city's price, and beside it the least one before it, then the digits of both, in pairs, as
    far as the first that differ: "W 3 nights 249, 233, 22 43 dear"."""
    price = priced(city, nights, stay)
    if stay is None or least is None:
        return RowStep("", (price,), OK if stay else NO)
    is_less = stay.price_usd < least.price_usd
    digits = digits_compared(stay.price_usd, least.price_usd)
    said = (f"{price}{ENDS}", f"{least.price_usd:g}{ENDS}", *digits)
    return RowStep("", said, OK if is_less else DEAR)


def digits_compared(*prices_usd: float) -> list[str]:
    """249, 233 → "22", "43", to the first that differ, or to the ends; a shorter number begins with
    "0"."""
    is_whole = all(float(price).is_integer() for price in prices_usd)
    digits = [f"{price if is_whole else 100 * price:.0f}" for price in prices_usd]
    width = max(map(len, digits))
    compared = list[str]()
    for pair in zip(*(each.zfill(width) for each in digits), strict=True):
        compared.append("".join(pair))
        if len({*pair}) > 1:
            return compared
    return [*compared, 2 * ENDS]


def along(
    rows: Iterable[tuple[str, Row]],
    look: Callable[[str, Row, Row | None], RowStep],
    cheapest_first: bool,
    to: Row | None = None,
) -> tuple[tuple[RowStep, ...], Row | None]:
    """What was looked at, and the row that was found. In order of price the first that is ok ends
    the walk, or `to`; else `look` is given the one found so far, and the walk goes to the end."""
    steps: list[RowStep] = []
    found: Row | None = None
    for letter, row in rows:
        steps.append(look(letter, row, None if cheapest_first else found))
        if steps[-1].judged == OK:
            found = row
            if cheapest_first and to in (None, row):
                break
    return tuple(steps), found


def asked_of_stays(query: Query, nights: int) -> tuple[str, ...]:
    wishes = query.local_constraint
    asked = [counted(nights, "night"), counted(query.party_size, "person")]
    if wishes.room_type is not None:
        asked.insert(0, f"{room_asked(wishes)}{WANTED}")
    if wishes.house_rule is not None:
        asked.append(f"{FORBIDDEN_BY_RULE[wishes.house_rule]}{WANTED}")
    return tuple(asked)


def room_asked(wishes: LocalConstraint) -> str:
    """In the words of the tables: 'entire room' → 'Entire home/apt'."""
    if wishes.room_type == "not shared room":
        return "not Shared room"
    return next(iter(ROOM_TYPES[str(wishes.room_type)]))


def look_at_stay(
    query: Query, nights: int, letter: str, row: Accommodation, found: Accommodation | None
) -> RowStep:
    """`found`: the cheapest row so far that fits."""
    wishes, price = query.local_constraint, f"{row.price_usd:g}"
    if found is not None and row.price_usd >= found.price_usd:
        return RowStep(letter, (price,), DEAR)
    looks = [(price, True)]  # what it says, and whether that fits
    if wishes.room_type is not None:
        room = marked(row.room_type, room_asked(wishes).removeprefix("not "))
        looks.append((room, row.room_type in ROOM_TYPES[wishes.room_type]))
    looks.append((f"{row.minimum_nights:g}", row.minimum_nights <= nights))
    looks.append((f"{row.maximum_occupancy}", row.maximum_occupancy >= query.party_size))
    if wishes.house_rule is not None:
        rule = FORBIDDEN_BY_RULE[wishes.house_rule]
        looks.append((marked(row.house_rules, rule), rule not in row.house_rules))
    misfit = next((number for number, (_, fits) in enumerate(looks, 1) if not fits), None)
    said = tuple(words for words, _ in looks[:misfit])
    return RowStep(letter, said, OK if misfit is None else NO)


def meal_walks(
    query: Query,
    rows: Sequence[tuple[str, Restaurant]],
    purposes: Sequence[str],
    cheapest_first: bool,
) -> list[RowWalk]:
    """One walk for each meal. Cheapest first, each goes on where the last one ended: a row is taken
    that serves a cuisine still wanted, or any while there are more meals left than such cuisines
    ("free"). In another order each goes along all rows, and what is wanted comes first. Where rows
    end before, the last walk takes none."""
    signs = signs_of(query)
    walks: list[RowWalk] = []
    eaten: list[Restaurant] = []
    left = iter(rows)
    for number, purpose in enumerate(purposes):
        free = free_meals(len(purposes) - number, signs, cheapest_first)
        steps, found = along(
            left if cheapest_first else rows,
            partial(look_at_meal, free, signs, eaten),
            cheapest_first,
        )
        asked = asked_of_meals(purpose, free, signs)
        done = served_first(signs, found) if found else ()
        walks.append(RowWalk(asked, steps, purpose, found, done))
        if found is None:
            break
        signs |= dict.fromkeys(done, DONE)
        eaten.append(found)
    return walks


def meals_found(query: Query, walks: Sequence[RowWalk], meals: int) -> list[Restaurant] | None:
    """What walks for so many meals have taken; None where they took too few, or not all wanted
    cuisines were served."""
    found = [cast(Restaurant, walk.taken) for walk in walks if walk.taken is not None]
    is_served = sum(len(walk.done) for walk in walks) == len(signs_of(query))
    return found if len(found) == meals and is_served else None


def signs_of(query: Query) -> dict[str, str]:
    return dict.fromkeys(query.local_constraint.cuisine or (), WANTED)


def free_meals(left: int, signs: Signs, cheapest_first: bool) -> int:
    """How many of the meals left are not needed for a cuisine that is still wanted. Where rows lie
    in any order none is free before the last such cuisine is served."""
    wanted = list(signs.values()).count(WANTED)
    return left - wanted if cheapest_first or not wanted else 0


def asked_of_meals(purpose: str, free: int, signs: Signs) -> tuple[str, ...]:
    listed = (f"{cuisine}{sign}" for cuisine, sign in signs.items())
    return (purpose, *((f"{free} free",) if free else ()), *listed)


def look_at_meal(
    free: int,
    signs: Signs,
    eaten: Sequence[Restaurant],
    letter: str,
    row: Restaurant,
    found: Restaurant | None,
) -> RowStep:
    """`eaten`: the rows that earlier meals have taken; `found`: the cheapest so far that will
    do."""
    cost = f"{row.average_cost_usd:g}"
    if row in eaten:
        return RowStep(letter, (cost,), EATEN)
    if found is not None and row.average_cost_usd >= found.average_cost_usd:
        return RowStep(letter, (cost,), DEAR)
    served = {cuisine: sign for cuisine, sign in signs.items() if cuisine in row.cuisines}
    cuisines = row.cuisines
    for cuisine, sign in served.items():
        cuisines = marked(cuisines, cuisine, sign)
    is_taken = WANTED in served.values() or free > 0
    return RowStep(letter, (cost, cuisines) if signs else (cost,), OK if is_taken else NO)


def served_first(signs: Signs, row: Restaurant) -> tuple[str, ...]:
    """The wanted cuisines of this row that no row before it has served."""
    return tuple(each for each, sign in signs.items() if sign == WANTED and each in row.cuisines)


def marked(text: str, asked: str, sign: str = WANTED) -> str:
    return text.replace(asked, f"{asked}{sign}")


# ---- ways, costs and trips


class TripStop(NamedTuple):
    letter: str  # of the city
    name: str
    way: str  # there, by its ends: "home V Dalby 33 self-driving"
    stay: str  # as it was chosen: "V 3 nights 159 V: (B) Ash Inn"
    nights: int
    way_cost: str  # "1*33"
    stay_cost: str  # "3*159"

    @property
    def city(self) -> str:
        """Such as "V Dalby"."""
        return called(self.letter, self.name)

    @property
    def costs(self) -> tuple[str, str]:
        return self.way_cost, self.stay_cost


def trip_words(people: int, stops: Sequence[TripStop], back: str) -> str:
    """A trip from home to home: the words that each city was compared by, how one comes there and
    where one stays (behind the city's name, which a plan has before it), and what all costs so far:
    "1 person, 1 car, 1 taxi; day 1, home, 3 nights, home V Dalby 33 self-driving, 1*33, V Dalby V 3
    nights 159 V: (B) Ash Inn, 1*33+3*159; day 4, V home Ely 35 self-driving"."""
    day, costs, been = 1, list[str](), [HOME, *(stop.letter for stop in stops)]
    said = [f"{counted(people, 'person')}, {vehicles(people)}"]
    for at, stop in enumerate(stops):
        to_come = [each.nights for each in stops[at:]]
        asked = asked_of_cities(been[: at + 1], day, to_come, ())
        costs.append(stop.way_cost)
        reached = ", ".join((*asked, stop.way, "+".join(costs)))
        costs.append(stop.stay_cost)
        said.append(f"{reached}, {stop.city} {stop.stay}, {'+'.join(costs)}")
        day += stop.nights
    return "; ".join((*said, f"day {day}, {back}"))


def plan_words(stops: Iterable[TripStop], full_days: Iterable[str], back: str) -> str:
    """A trip day by day, as an answer has it; `full_days` of all stops: "day 1, home V Dalby 33
    self-driving, V Dalby V 2 nights 159 V: (B) Ash Inn; day 2, V Elm Park, breakfast (A) Oak Cafe,
    lunch (B) Yew Grill, dinner (C) Fir Bistro; day 3, V home Ely 35 self-driving"."""
    days, full = list[str](), iter(full_days)
    for stop in stops:
        reached = f"{stop.way}, {stop.city} {stop.stay}"
        days += [reached, *(f"{stop.letter} {next(full)}" for _ in range(1, stop.nights))]
    return "; ".join(f"day {day}, {where}" for day, where in enumerate([*days, back], start=1))


def sights_words(city: str, sights: Sequence[str], nights: int) -> str:
    """One for each full day, behind the city's letter as in a plan: "V Elm Park, V Oak Hall"; none
    where there are too few."""
    is_enough = len(sights) >= nights - 1
    return ", ".join(f"{city} {sight}" for sight in sights[: nights - 1]) if is_enough else NONE


def eating_words(day: int, here: str, city: str, meals: int, signs: Signs) -> str:
    """In which city one eats, by the words that a trip has for coming there, how many meals, and
    which cuisines have to be among them: "day 4, V U Corbeck, 6, French!"."""
    return ", ".join((f"day {day}", f"{here} {city}", *asked_of_meals(str(meals), 0, signs)))


def vehicles(people: int) -> str:
    """Such as "2 cars, 2 taxis"."""
    cars, taxis = (math.ceil(people / SEATS[mode]) for mode in (SELF_DRIVING, "taxi"))
    return f"{counted(cars, 'car')}, {counted(taxis, 'taxi')}"


def leg_taken(here: str, there: str, way: str | None) -> str:
    """A way by its ends: "home V Dalby 33 self-driving"; "home V no" where there is none."""
    return f"{here} {there} {way or NO}"


def way_words(cost_usd: float, name: str, duration: str = "", distance: str = "") -> str:
    """In the order of a plan: "2 hours 40 mins 268 km 13 self-driving"; of a flight "1 hour 5
    minutes 72 F12345"."""
    facts = (duration, distance) if name in SEATS else (duration,)
    return " ".join(filter(None, (*facts, f"{cost_usd:g}", name)))


def way_cost(people: int, cost_usd: float, name: str) -> str:
    """Of seats in a plane, or of as many cars as they take."""
    return f"{math.ceil(people / SEATS.get(name, 1))}*{cost_usd:g}"


def nights_cost(nights: int, price_usd: float) -> str:
    return f"{nights}*{price_usd:g}"


def meals_cost(people: int, prices_usd: Iterable[float]) -> str:
    return f"{people}*({'+'.join(f'{price:g}' for price in prices_usd)})"


def left_of_budget(budget_usd: float, costs: Iterable[str]) -> str:
    """What a calculator is asked: its answer has a sign, so that two numbers need not be
    compared."""
    return f"{budget_usd:.12g}-({'+'.join(costs)})"


def left_words(left_usd: float) -> str:
    """Such as "458 left ok"."""
    return f"{left_usd:.12g} left {OK if left_usd >= 0 else DEAR}"


def to_the_cent(left_usd: float) -> float:
    """A budget that is spent to the cent leaves nothing, and not a rounding error."""
    return round(left_usd, 2) + 0.0
