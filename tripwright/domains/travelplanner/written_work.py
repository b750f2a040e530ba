"""The steps that a policy wrote, checked against the rows that it had been shown (row B13).

They are read by writing: what would be true is rendered by the records of the expert
(`expert/work.py`) from the shown rows and the request, and compared with what stands there. So
there is one grammar, and whoever shows work in other words has no steps. Each step is held to its
own place alone: after a wrong one, what follows can be true again.

A way is true where it was shown for that leg, on whatever day: which of them to take is the agent's
to choose. That there is none is true where the last search for it says so. A cost is that of the
ways, nights and meals last noted, and the sum of a trip is asked of the costs that were said.

Not read: letters of cities and dates, said again; what a call is made for ("Look at", "From");
which cities are driven or flown to, and left for which end; how nights may be spent; "Eaten"; in
which city one eats, what one sees there, and the plan, which the answer says again.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from tripwright.domains.domain import Counts, Grounding, Json
from tripwright.domains.travelplanner.expert import work
from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES, SEATS
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.tools.calculator import MAX_MAGNITUDE, evaluate
from tripwright.episode import Episode
from tripwright.tools.answer import ToolError, unanswered
from tripwright.tools.face import letters
from tripwright.transcript import Rows, Segment, ToolCall, Transcript

# of a step: what is asked for, said again; a row that is looked at; what was chosen, by its name.
# Of the cities of a trip: the price of one beside the others', which is taken. Of ways: which was
# taken, all of a trip's. Of costs: of a trip or of meals, all that the sum is asked of, what the
# budget has left
KINDS = (
    *("stay: asked", "stay: row", "stay: choice"),
    *("city: asked", "city: price", "city: choice"),
    *("way: choice", "way: trip"),
    *("meal: asked", "meal: row", "meal: choice", "cost: term", "cost: asked", "cost: sum"),
)
PURPOSES = tuple(meal.title() for meal in MEALS)
HEADS = (work.GO, work.BACK, work.TRIP, work.EATING, work.SEE, work.PLAN, work.COST)
NO_WAY = ("no_flights", "unknown_search", "no_road", "no_road_data", "road_over_a_day")
Found = tuple[str, str, bool]  # kind, said, whether it is true
Called = list[tuple[str, Any]]  # (letter, row)
# letter of a city → its name, its places to stay, as far as they were shown
Stays = dict[str, tuple[str, Called]]


class Sentence(NamedTuple):
    """A walk and its choice, or one of them."""

    head: str  # for what
    asked: str
    steps: list[str]  # rows looked at
    said: str  # what is chosen


class ShownWay(NamedTuple):
    name: str  # a flight's number, "self-driving" or "taxi"
    cost_usd: float  # of a seat, or a car
    words: str


class ChosenStay(NamedTuple):
    city: str
    words: str
    nights: int
    price_usd: float
    here: str  # where one is before, by its letter; empty if one cannot know


Look = Callable[[str, Any, Any], work.RowStep]
Leg = tuple[str, str, ShownWay | None]  # from, to, by letters


class WrittenStep(NamedTuple):
    kind: str
    said: str
    is_true: bool


def written_steps(query: Query, transcript: Transcript) -> list[WrittenStep]:
    """In order. None where the face hides what decides, or the answer's rows are not kept, or the
    request has wishes that nobody knows, other days than dates, or a budget that nobody can
    calculate with."""
    wishes = query.local_constraint
    is_known = wishes.room_type in (None, *ROOM_TYPES)
    if not is_known or wishes.house_rule not in (None, *FORBIDDEN_BY_RULE):
        return []
    if query.days != len(query.date) or not abs(query.budget) <= MAX_MAGNITUDE:
        return []
    steps: list[WrittenStep] = []
    shown: Rows | None = None
    city, letter_of, stays_of, ways = "", dict[str, str](), Stays(), WrittenWays(query)
    restaurants: Rows | None = None  # last shown
    said, said_in_vain = "", ""
    for segment in transcript.segments:
        if segment.role == "assistant":
            said = segment.text
            if shown is not None and said != said_in_vain:
                note = _note(segment)
                kind, letter = shown.kind, letter_of.get(city, city)
                is_of_stays = kind == "Accommodation"
                table = shown if is_of_stays else restaurants
                summed = [*ways.sums(note, shown)]  # of the trip so far: another may come behind it
                rows = _called(table, note) if table else []
                if is_of_stays and rows:
                    stays_of[letter] = city, rows
                found = (*read_note(query, note, kind, rows, letter, stays_of, ways), *summed)
                steps += [WrittenStep(*each) for each in found]
        if segment.call is not None:
            ways.look(segment.call)
            # the same turn is said again then
            said_in_vain = said if unanswered(segment.call.fault) else ""
            asked_before = city
            city = str(segment.call.arguments.get("city", ""))
            shown = _with_page(shown if city == asked_before else None, segment.call.rows)
            if shown is None:
                continue
            if shown.kind == "City":
                letter_of = ways.letter_of = _city_letters(query, shown)
            elif shown.kind == "Restaurant":
                restaurants = shown
            elif shown.problem == "no_accommodations":
                stays_of[letter_of.get(city, city)] = city, []
    return steps


def _city_letters(query: Query, shown: Rows) -> dict[str, str]:
    cities = [record["city"] for record in shown.records() if record["city"] != query.org]
    in_order = map(work.city_letter, range(1, work.MOST_CITIES + 1))
    return {query.org: work.HOME} | dict(zip(cities, in_order, strict=False))


def _note(segment: Segment) -> str:
    """What stands before the call or the answer; a thought, where there is one."""
    said, tag, _ = segment.text.partition("</think>")
    return (said.partition("<think>")[2] if tag else segment.text.partition("<")[0]).strip()


def _with_page(before: Rows | None, rows: Rows | None) -> Rows | None:
    """A further page goes on with the answer before it."""
    if before is None or rows is None or rows.page == 1 or rows.kind != before.kind:
        return rows
    return Rows(rows.kind, rows.fields, (*before.values, *rows.values))


def _called(shown: Rows, note: str) -> Called:
    """Each row with its letter, where the note uses letters; none where the face hides what
    decides."""
    fields = {"Accommodation": work.STAY_FIELDS, "Restaurant": work.MEAL_FIELDS}.get(shown.kind)
    if fields is None or not {*fields, "name"} <= set(shown.fields):
        return []
    rows = [SimpleNamespace(**record) for record in shown.records()]
    if any(vars(row)[field] is None for row in rows for field in (*fields, "name")):
        return []
    numbered = [(letters(number), row) for number, row in enumerate(rows, start=1)]
    of_rows = numbered[: 26 - work.MOST_CITIES]  # the other letters are those of cities, too
    price = "price_usd" if shown.kind == "Accommodation" else "average_cost_usd"
    looked = (f"{work.called(letter, f'{vars(row)[price]:g}')} " for letter, row in of_rows)
    chosen = (work.named(letter, row.name) for letter, row in of_rows)
    has_letters = any(words in note for words in itertools.chain(looked, chosen))
    return [(letter if has_letters else "", row) for letter, row in numbered]


# ---- rows and cities


def read_note(
    query: Query,
    note: str,
    kind: str,
    rows: Called,
    city: str,
    stays_of: Stays,
    ways: WrittenWays,
) -> Iterator[Found]:
    """What stands in the note behind an answer of this kind, about rows, cities and ways. `rows`:
    the places to stay that the answer has shown, or the restaurants last shown."""
    names = [*_names(rows), *ways.shown_legs()]
    is_of_stays = kind == "Accommodation"
    own_heads = (name for name, _ in _choices(query, city, rows)) if is_of_stays else PURPOSES
    heads = {work.STAY, *HEADS, *own_heads}
    for each, (_, its) in stays_of.items():
        names += [f"{nights}: {taken}" for nights, taken in _choices(query, each, its)]
    sentences = list(_sentences(note, heads, names))
    others = [e for e in sentences if e.head in HEADS or _compared(query, e.steps)]
    # a choice of nothing where nothing is left
    nothing = [e for e in sentences if not e.steps and (e.head, e.said) == (work.STAY, work.NONE)]
    own = [e for e in sentences if e not in others and e not in nothing]
    if is_of_stays:
        yield from _stays(query, own, rows, city) if rows else ()
        own = []
    else:  # elsewhere than behind restaurants a sum may stand
        own = [e for e in own if rows and (kind == "Restaurant" or e.head in PURPOSES)]
    meals: list[Sentence] = []
    for sentence in sentences:
        head, asked, steps, said = sentence
        if sentence in own:
            meals.append(sentence)
            continue
        yield from _meals(query, meals, rows)
        if sentence in others:
            yield from _cities(query, asked, steps, "" if head in HEADS else said, stays_of, ways)
        if head in HEADS:
            eaten = (meal.said for meal in meals if meal.head in PURPOSES)
            prices = [_price_usd(taken, rows) for taken in eaten]
            yield from ways.read(head, said, prices if head == work.COST else [])
        meals = []
    yield from _meals(query, meals, rows)


def _price_usd(taken: str, rows: Called) -> float | None:
    """None where no row has this name, or several have it."""
    named = zip(_names(rows), rows, strict=True)
    prices = {row.average_cost_usd for name, (_, row) in named if name == taken}
    return prices.pop() if len(prices) == 1 else None


def _names(rows: Called) -> list[str]:
    return [work.named(letter, row.name) for letter, row in rows]


def _are_lettered(rows: Called) -> bool:
    """Only rows in order of price have letters."""
    return any(letter for letter, _ in rows)


def _stays(query: Query, sentences: list[Sentence], rows: Called, city: str) -> Iterator[Found]:
    nights, at = query.days - 1, -1
    forms: Callable[[int], tuple[str, ...]] = partial(work.asked_of_stays, query)
    lengths, last = range(1, query.days), work.to_the_last(rows)
    for head, asked, steps, said in sentences:
        if asked:
            ends = last if asked.rpartition(", ")[2].startswith("to ") else ()
            if query.visiting_city_number > 1:  # how long in each is the agent's to choose
                said_so = (n for n in lengths if asked == ", ".join((*forms(n), *ends)))
                nights = next(said_so, nights)
            yield "stay: asked", asked, asked == ", ".join((*forms(nights), *ends))
        look = partial(work.look_at_stay, query, nights)
        looked, at, found = _walked("stay: row", steps, rows, at, look)
        yield from looked
        if said and head == work.STAY:
            yield "stay: choice", said, _is_choice(said, rows, found, bool(steps))
        elif said:  # of one of several lengths; the next walk begins with the row that it took
            nights = next((n for n in lengths if head.startswith(work.nights_in(city, n))), nights)
            chosen = f"{head}: {said}"
            yield "stay: choice", chosen, chosen == _stay(query, city, nights, rows)[1]
            forms, at = work.asked_again, max(at - 1, -1) if last else -1


def _choices(query: Query, city: str, rows: Called) -> Iterator[tuple[str, str]]:
    """(for how long, what) a choice in a city may say."""
    for nights in range(1, query.days):
        yield work.stay_for(city, nights, None), work.NONE
        for name, (_, row) in zip(_names(rows), rows, strict=True):
            yield work.stay_for(city, nights, row), name


def _compared(query: Query, steps: list[str]) -> int:
    """For how many nights the cities are that are compared; 0 where these steps are of rows."""
    cities = map(work.city_letter, range(1, work.MOST_CITIES + 1))
    every = ((n, work.nights_in(city, n)) for city in cities for n in range(1, query.days))
    return next((n for n, words in every if steps and steps[0].startswith(f"{words} ")), 0)


def _stay(query: Query, city: str, nights: int, rows: Called) -> tuple[Any, str]:
    """The cheapest row that fits, and the words for it."""
    look = partial(work.look_at_stay, query, nights)
    row = work.along(rows, look, _are_lettered(rows))[1]
    names = zip(_names(rows), rows, strict=True)
    taken = next((name for name, (_, each) in names if each is row), work.NONE)
    return row, f"{work.stay_for(city, nights, row)}: {taken}"


def _cities(
    query: Query, asked: str, steps: list[str], said: str, stays_of: Stays, ways: WrittenWays
) -> Iterator[Found]:
    """Prices of the same nights in several cities, and the least of them."""
    nights, words, least = _compared(query, steps), work.NONE, None
    if not nights:
        return
    letters = [step.partition(" ")[0] for step in steps]
    free = (at for at in ways.reached() if {*letters}.isdisjoint(at[0]))
    stops = query.visiting_city_number + 1  # home is no stop
    may = {
        ", ".join(work.asked_of_cities(been, day, to_come, letters)): been[-1]
        for been, day in free
        for to_come in _shared(query.days - day, stops - len(been))
        if to_come[0] == nights
    }
    yield "city: asked", asked, asked in may
    for step in steps:
        city = next((each for each in stays_of if step.startswith(f"{each} ")), "")
        name, rows = stays_of.get(city, ("", []))
        row, stay = _stay(query, city, nights, rows)
        yield "city: price", step, step == work.beside(city, nights, row, least).words()
        if row is not None and said.startswith(f"{work.nights_in(city, nights)} "):
            ways.stay_in(ChosenStay(name, stay, nights, row.price_usd, may.get(asked, "")))
        if step.endswith(f" {work.OK}") and row is not None:
            words, least = stay, row
    if said:
        yield "city: choice", said, said == words


def _shared(nights: int, stops: int) -> Iterator[tuple[int, ...]]:
    """All ways to share them among so many stops, none where a city has no letter."""
    shared = itertools.product(work.LENGTHS, repeat=stops) if 0 < stops <= work.MOST_CITIES else ()
    return (each for each in shared if sum(each) == nights)


def _meals(query: Query, sentences: list[Sentence], rows: Called) -> Iterator[Found]:
    signs, at, taken, eaten = work.signs_of(query), -1, list[Any](), list[str]()
    last, counts = work.to_the_last(rows), _meal_counts(query, sentences)
    is_lettered = _are_lettered(rows)  # there a walk goes on where the last one ended
    for _, asked, steps, said in sentences:
        if asked:
            purpose = PURPOSES[len(taken) % len(PURPOSES)]
            ends = last if asked.rpartition(", ")[2].startswith("to ") else ()
            frees = [work.free_meals(count - len(taken), signs, is_lettered) for count in counts]
            asks = (work.asked_of_meals(purpose, free, signs) for free in frees)
            forms = [", ".join((*words, *ends)) for words in asks]
            counts = [c for c, form in zip(counts, forms, strict=True) if form == asked] or counts
            yield "meal: asked", asked, asked in forms
        free = work.free_meals(counts[0] - len(taken), signs, is_lettered)
        look = partial(work.look_at_meal, free, signs, taken)
        looked, at, found = _walked("meal: row", steps, rows, at if is_lettered else -1, look)
        yield from looked
        if said:
            names = zip(rows, _names(rows), strict=True)
            others = [each for each, name in names if name not in eaten]
            is_true = _is_choice(said, others, found, bool(steps))
            eaten.append(said)
            if said == work.NONE and found is None:
                left = rows[at + 1 :] if is_lettered or steps else rows
                # a walk that is shown goes to the end
                is_true = not left if steps else work.along(left, look, is_lettered)[1] is None
            yield "meal: choice", said, is_true
            taken.append(found)
            signs |= dict.fromkeys(work.served_first(signs, found) if found else (), work.DONE)


def _meal_counts(query: Query, sentences: list[Sentence]) -> list[int]:
    """How many meals a city may have. On a trip to several that is the agent's to choose, by the
    nights: as many as it says, or more where a walk ends in vain."""
    said, a_day = [each.said for each in sentences if each.said], len(MEALS)
    if query.days <= 3 or work.NONE not in said:
        return [a_day if query.days == 3 else len(said)]
    return list(range(a_day, a_day * (query.days - 1), a_day))


def _walked(
    kind: str, steps: list[str], rows: Called, at: int, look: Look
) -> tuple[list[Found], int, Any]:
    """(what each step says, the number of the last row, the row last said to be ok) of a walk that
    goes on behind row `at`."""
    has_letters = _are_lettered(rows)
    looked: list[Found] = []
    found: Any = None
    for step in steps:
        number, first = at + 1, step.partition(" ")[0]
        letter, row = rows[number] if number < len(rows) else ("", None)
        # one that is called by another's letter is wrong, and what follows goes on from there
        at = next((n for n, (each, _) in enumerate(rows) if each and each == first), number)
        # in order of price, what was found ends the walk
        is_true = (
            row is not None and step == look(letter, row, None if has_letters else found).words()
        )
        looked.append((kind, step, is_true))
        if step.endswith(f" {work.OK}") and at < len(rows):
            found = rows[at][1]
    return looked, at, found


def _sentences(note: str, heads: Collection[str], names: Sequence[str]) -> Iterator[Sentence]:
    """A walk and its choice, or a choice alone. A walk that breaks off has no choice. "French
    done." is left out."""
    asked, steps = "", list[str]()
    while note:
        before, colon, rest = note.partition(": ")
        if not colon:
            break
        ends = (head for head in heads if before == head or before.endswith(f". {head}"))
        head = max(ends, key=len, default="")  # names may hold full stops of their own
        if head:
            is_long = head in (work.TRIP, work.EATING, work.PLAN)
            said, note = _to_the_end(rest) if is_long else _name(rest, names)
            yield Sentence(head, asked, steps, said)
            asked, steps = "", []
            while _is_done(note.partition(". ")[0]):
                note = note.partition(". ")[2]
            continue
        if asked:
            yield Sentence("", asked, steps, "")
        walk, note = _walk(rest)
        steps = walk.split("; ") if walk else []  # prose is no walk
        asked = before.rpartition(". ")[2] if walk else ""
    if asked:
        yield Sentence("", asked, steps, "")


def _walk(rest: str) -> tuple[str, str]:
    """(a walk, what follows it): it ends with what becomes of a row. "" for prose."""
    words = [f" {judged}" for judged in work.JUDGED]
    end = min((rest.find(f"{w}.") + len(w) for w in words if f"{w}." in rest), default=0)
    if not end or ": " in rest[:end]:
        return "", rest.partition(". ")[2]
    return rest[:end], rest[end + 2 :]


def _to_the_end(rest: str) -> tuple[str, str]:
    """A trip: it ends where its cost begins, or with the note: names may hold full stops."""
    said, cost, note = rest.partition(f". {work.COST}: ")
    return said if cost else said.removesuffix("."), f"{work.COST}: {note}" if cost else ""


def _is_done(sentence: str) -> bool:
    return sentence.removesuffix(".").endswith(work.DONE) and ": " not in sentence


def _name(rest: str, names: Sequence[str]) -> tuple[str, str]:
    """(name, what follows it). One of `names` may hold a full stop of its own."""
    for name in names:
        if rest == f"{name}." or rest.startswith(f"{name}. "):
            return name, rest[len(name) + 2 :]
    name, _, rest = rest.partition(". ")
    return name.removesuffix("."), rest


def _is_choice(said: str, rows: Called, found: Any, is_walk: bool) -> bool:
    """Whether it is the name of the row that a walk found; without a walk, of any row."""
    return said in _names([each for each in rows if not is_walk or each[1] is found])


# ---- ways, costs and the sum


@dataclass
class WrittenWays:
    """What was shown of ways, and what the last sentences chose."""

    query: Query
    letter_of: Mapping[str, str] = field(default_factory=dict)  # city → what it is called
    # what was taken from home on, by letters, as far as one can know; the way back and its cost
    path: dict[str, work.TripStop] = field(default_factory=dict)
    _back: tuple[str, str] | None = None
    is_known: bool = True
    # by the leg's ends; None: there was no way when it was asked for
    _shown: dict[tuple[str, str], list[ShownWay | None]] = field(default_factory=dict)
    _stay: ChosenStay | None = None  # the last one
    _was_trip: bool = False  # what the next cost is of, unless meals stand before it
    _costs: str = ""  # of the trip just said, in its own words
    _eaten: str = ""  # of its meals so far; wanted cuisines are seen to before the trip is said
    _calculated: str = ""  # the expression, if the last call has one

    def look(self, call: ToolCall) -> None:
        """At what a search for a way has shown, or what a calculator was asked."""
        asked = call.arguments
        self._calculated = str(asked.get("expression", ""))
        origin = str(asked.get("origin", asked.get("departure")))  # STAR's word
        ways = self._shown.setdefault((origin, str(asked.get("destination"))), [])
        for row in call.rows.records() if call.rows else ():
            mode, number = str(row.get("mode") or asked.get("mode")), row.get("number")
            usd, name = (row.get("price_usd"), str(number)) if number else (None, mode)
            if usd is None and mode in SEATS:
                usd, name = row.get("cost_usd"), mode
            if usd is not None:
                facts = [str(row.get(fact) or "") for fact in ("duration", "distance")]
                ways.append(ShownWay(name, usd, work.way_words(usd, name, *facts)))
        if call.rows and call.rows.problem in NO_WAY:
            ways.append(None)

    def stay_in(self, stay: ChosenStay) -> None:
        self._stay, self._back, self._costs = stay, None, ""

    def reached(self) -> list[tuple[Sequence[str], int]]:
        """Where one has been, and on which day that is: at home, and after each stop of the way so
        far; if one cannot know, in any cities of the state on any day."""
        if not self.is_known:
            letters = [letter for letter in self.letter_of.values() if letter != work.HOME]
            stops = range(min(self.query.visiting_city_number, len(letters) + 1))
            paths = (path for n in stops for path in itertools.permutations(letters, n))
            been = ((work.HOME, *path) for path in paths)
            return list(itertools.product(been, range(1, self.query.days)))
        days = itertools.accumulate((stop.nights for stop in self.path.values()), initial=1)
        letters = [work.HOME, *self.path]
        return [(letters[:count], day) for count, day in enumerate(days, start=1)]

    def read(self, head: str, said: str, meals: Sequence[float | None]) -> Iterator[Found]:
        """`meals`: what those cost that the note has just chosen, if one can know."""
        if head in (work.GO, work.BACK):
            legs = self._named(head)
            several = said.split(", ")  # where no work is shown
            yield "way: choice", said, all(each in legs for each in several)
            self._go(head, said, legs.get(said))
        elif head == work.TRIP:
            if trip := self.trip():
                yield "way: trip", said, said == trip
            self._was_trip = True
        elif head == work.COST and meals:
            known = [price for price in meals if price is not None]
            if len(known) == len(meals):
                cost = work.meals_cost(self.query.party_size, known)
                is_further = self._costs and self._eaten  # of this trip
                yield "cost: term", said, said == (f"{self._eaten}+{cost}" if is_further else cost)
            self._eaten = said
        elif head == work.COST and self._was_trip:
            if self.trip() and self._back:
                there = itertools.chain(*(stop.costs for stop in self.path.values()))
                yield "cost: term", said, said == "+".join((*there, self._back[1]))
            self._was_trip, self._costs = False, said
            if not self.query.local_constraint.cuisine:
                self._eaten = ""
        elif head == work.COST:  # of meals of which no work is shown
            self._eaten = said

    def trip(self) -> str:
        """Its words; none where a way was taken that nobody has shown."""
        if not self.is_known or self._back is None:
            return ""
        return work.trip_words(self.query.party_size, [*self.path.values()], self._back[0])

    def _go(self, head: str, said: str, leg: Leg | None) -> None:
        if self._stay is None:
            return
        here, there, way = leg or ("", "", None)
        if way is None:  # there is none, or nobody has shown it
            self.is_known &= leg is not None
            return
        cost = work.way_cost(self.query.party_size, way.cost_usd, way.name)
        if head == work.BACK:
            self._back = said, cost
            return
        letters = [work.HOME, *self.path]
        self.is_known = here == work.HOME or (self.is_known and here in letters)
        city, stay, nights, price_usd, _ = self._stay
        costs = cost, work.nights_cost(nights, price_usd)
        stop = work.TripStop(there, city, said, stay, nights, *costs)
        before = letters[1 : letters.index(here) + 1] if here in letters else []
        self.is_known &= bool(there) and there not in before
        self.path = {**{each: self.path[each] for each in before}, there: stop}

    def _named(self, head: str) -> dict[str, Leg]:
        """By the words for them, to the city that was chosen or from it home. Where none was, a way
        has its own name alone."""
        if self._stay is None:
            shown = (way for ways in self._shown.values() for way in ways if way)
            return {way.name: ("", "", way) for way in shown}
        city, at, legs = self._stay.city, self._stay.here, dict[str, Leg]()
        for (here, there), ways in self._shown.items():
            is_there = there == city and at in ("", self.letter_of.get(here, ""))
            if (here, there) == (city, self.query.org) if head == work.BACK else is_there:
                legs |= self._legs(here, there, ways)
        return legs

    def shown_legs(self) -> list[str]:
        """The words for each."""
        return [w for ends, ways in self._shown.items() for w, _ in self._legs(*ends, ways)]

    def _legs(
        self, here: str, there: str, ways: Sequence[ShownWay | None]
    ) -> Iterator[tuple[str, Leg]]:
        ends = self.letter_of.get(here, ""), self.letter_of.get(there, "")
        for way in filter(None, ways) if ways[-1:] != [None] else ways:
            to = work.called(ends[1], there) if way else ends[1]
            yield work.leg_taken(ends[0], to, way and way.words), (*ends, way)

    def sums(self, note: str, shown: Rows) -> Iterator[Found]:
        """Such as "458 left ok", of a calculator's answer or behind what it would be asked; before
        it, whether all costs of the trip were asked."""
        budget = work.left_of_budget(self.query.budget, ()).removesuffix(")")
        for sentence in note.removesuffix(".").split(". "):
            terms, _, said = sentence.rpartition(": ")
            is_left = said.endswith((f" left {work.OK}", f" left {work.DEAR}"))
            if not is_left or said[0] not in "-0123456789":
                continue
            asked = terms or self._calculated
            if self._costs:
                costs = filter(None, (self._costs, self._eaten))
                yield "cost: asked", asked, asked == work.left_of_budget(self.query.budget, costs)
            try:
                numbers = [row[0] for row in shown.values if shown.kind == "Number"]
                left = evaluate(terms) if terms else next(iter(numbers), None)
            except ToolError:  # these terms cannot be added up
                left = None
            is_known = left is not None and asked.startswith(budget)
            words = work.left_words(work.to_the_cent(left)) if left is not None else ""
            yield "cost: sum", said, is_known and said == words


# ---- what is counted


def figures(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Of a training step: the share of written steps that are true, and of the episodes with such
    steps those in which a step of each kind is the first wrong one. Empty where nobody shows
    work."""
    written = [
        steps
        for episode in episodes
        if (steps := written_steps(cast(Query, episode.task.request), episode.transcript))
    ]
    if not written:
        return {}
    every = [step for steps in written for step in steps]
    first = Counter(wrong.kind for steps in written if (wrong := _first_wrong(steps)))
    return {
        "true_steps": sum(step.is_true for step in every) / len(every),
        "first_wrong_step": {kind: first[kind] / len(written) for kind in KINDS if first[kind]},
    }


def _first_wrong(steps: Sequence[WrittenStep]) -> WrittenStep | None:
    return next((step for step in steps if not step.is_true), None)


def _of_record(record: Json) -> list[WrittenStep]:
    """None of a request that is not whole: a report shows the rest of such a record."""
    try:
        query = Query.model_validate(record["request"])
    except ValidationError:
        return []
    return written_steps(query, Transcript.from_json(record["transcript"]))


def wrong_steps(record: Json) -> Counts | None:
    """Kind → (wrong ones, all of them)."""
    steps = _of_record(record)
    every, wrong = Counter(s.kind for s in steps), Counter(s.kind for s in steps if not s.is_true)
    return {kind: (wrong[kind], every[kind]) for kind in every} or None


def first_wrong_step(record: Json) -> Counts | None:
    steps = _of_record(record)
    wrong = _first_wrong(steps)
    found = {kind: (int(wrong is not None and kind == wrong.kind), 1) for kind in KINDS}
    return found if steps else None


GROUNDINGS = (
    Grounding(
        "Work shown that is not true",
        "Share of the episodes with steps of such a kind in which at least one is not what the"
        " shown rows and the request make true: a word miscopied, a row left out, a wrong ok or"
        " no.",
        wrong_steps,
        KINDS,
    ),
    Grounding(
        "The first step that is not true",
        "Share of the episodes that show work in which the first untrue step is of this kind.",
        first_wrong_step,
        KINDS,
        of_every_answer=True,
    ),
)
