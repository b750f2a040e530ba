"""Steps about rows, as they stand in a note: read by writing what the rows make true.

There is one grammar: the records of the expert (`expert/work.py`) render it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from tripwright.domains.travelplanner.expert.work import (
    COST,
    DONE,
    EATING,
    JUDGED,
    LENGTHS,
    MOST_CITIES,
    NONE,
    OK,
    PLAN,
    STAY,
    TRIP,
    RowStep,
    along,
    asked_again,
    asked_of_cities,
    asked_of_meals,
    asked_of_stays,
    beside,
    city_letter,
    free_meals,
    look_at_meal,
    look_at_stay,
    named,
    nights_in,
    served_first,
    signs_of,
    stay_for,
    to_the_last,
)
from tripwright.domains.travelplanner.oracle.options import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.written_ways import HEADS, ChosenStay, Found, WrittenWays

PURPOSES = tuple(meal.title() for meal in MEALS)
Called = list[tuple[str, Any]]  # (letter, row)
Sentence = tuple[
    str, str, list[str], str
]  # for what, what is asked, rows looked at, what is chosen
# letter of a city → its name, its places to stay, as far as they were shown
Stays = dict[str, tuple[str, Called]]


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
    heads = {STAY, *HEADS, *PURPOSES}
    names = [*(named(letter, row.name) for letter, row in rows), *ways.shown_legs(), *ways.seen()]
    if kind == "Accommodation":
        heads = {STAY, *HEADS, *(name for name, _ in _choices(query, city, rows))}
    for each, (_, its) in stays_of.items():
        names += [f"{nights}: {taken}" for nights, taken in _choices(query, each, its)]
    sentences = list(_sentences(note, heads, names))
    others = [e for e in sentences if e[0] in HEADS or _compared(query, e[2])]
    # a choice of nothing where nothing is left
    own = [e for e in sentences if e not in others and (e[2] or (e[0], e[3]) != (STAY, NONE))]
    if kind == "Accommodation":
        yield from _stays(query, own, rows, city) if rows else ()
        own = []
    else:  # elsewhere than behind restaurants a sum may stand
        own = [e for e in own if rows and (kind == "Restaurant" or e[0] in PURPOSES)]
    meals: list[Sentence] = []
    for sentence in sentences:
        head, asked, steps, said = sentence
        if sentence in own:
            meals.append(sentence)
            continue
        yield from _meals(query, meals, rows, ways.meals_to_come)
        if sentence in others:
            yield from _cities(query, asked, steps, "" if head in HEADS else said, stays_of, ways)
        if head in HEADS:
            eaten = (taken for purpose, *_, taken in meals if purpose in PURPOSES)
            prices = [(taken, _price_usd(taken, rows)) for taken in eaten]
            yield from ways.read(head, said, prices if head == COST else [])
        meals = []
    yield from _meals(query, meals, rows, ways.meals_to_come)


def _price_usd(taken: str, rows: Called) -> float | None:
    """None where no row has this name, or several have it."""
    prices = {row.average_cost_usd for letter, row in rows if named(letter, row.name) == taken}
    return prices.pop() if len(prices) == 1 else None


def _stays(query: Query, sentences: list[Sentence], rows: Called, city: str) -> Iterator[Found]:
    nights, at = query.days - 1, -1
    forms: Callable[[int], tuple[str, ...]] = partial(asked_of_stays, query)
    lengths, last = range(1, query.days), to_the_last(rows)
    for head, asked, steps, said in sentences:
        if asked:
            ends = last if asked.rpartition(", ")[2].startswith("to ") else ()
            if query.visiting_city_number > 1:  # how long in each is the agent's to choose
                said_so = (n for n in lengths if asked == _listed((*forms(n), *ends)))
                nights = next(said_so, nights)
            yield "stay: asked", asked, _listed((*forms(nights), *ends))
        look = partial(look_at_stay, query, nights)
        looked, at, found = _walked("stay: row", steps, rows, at, look)
        yield from looked
        if said and head == STAY:
            yield "stay: choice", said, _choice(said, rows, found, bool(steps))
        elif said:  # of one of several lengths; the next walk begins with the row that it took
            nights = next((n for n in lengths if head.startswith(nights_in(city, n))), nights)
            yield "stay: choice", f"{head}: {said}", _stay(query, city, nights, rows)[1]
            forms, at = asked_again, max(at - 1, -1) if last else -1


def _choices(query: Query, city: str, rows: Called) -> Iterator[tuple[str, str]]:
    """(for how long, what) a choice in a city may say."""
    for nights in range(1, query.days):
        yield stay_for(city, nights, None), NONE
        yield from ((stay_for(city, nights, row), named(letter, row.name)) for letter, row in rows)


def _compared(query: Query, steps: list[str]) -> int:
    """For how many nights the cities are that are compared; 0 where these steps are of rows."""
    cities = map(city_letter, range(1, MOST_CITIES + 1))
    every = ((n, nights_in(city, n)) for city in cities for n in range(1, query.days))
    return next((n for n, words in every if steps and steps[0].startswith(f"{words} ")), 0)


def _stay(query: Query, city: str, nights: int, rows: Called) -> tuple[Any, str]:
    """The cheapest row that fits, and the words for it."""
    is_lettered = any(letter for letter, _ in rows)
    row = along(rows, partial(look_at_stay, query, nights), is_lettered)[1]
    letter = next((letter for letter, each in rows if each is row), "")
    taken = NONE if row is None else named(letter, row.name)
    return row, f"{stay_for(city, nights, row)}: {taken}"


def _cities(
    query: Query, asked: str, steps: list[str], said: str, stays_of: Stays, ways: WrittenWays
) -> Iterator[Found]:
    """Prices of the same nights in several cities, and the least of them."""
    nights, words, least = _compared(query, steps), NONE, None
    if not nights:
        return
    letters = [step.partition(" ")[0] for step in steps]
    free = (at for at in ways.reached() if {*letters}.isdisjoint(at[0]))
    stops = query.visiting_city_number + 1  # home is no stop
    may = {
        _listed(asked_of_cities(been, day, to_come, letters)): (been[-1], day)
        for been, day in free
        for to_come in _shared(query.days - day, stops - len(been))
        if to_come[0] == nights
    }
    yield "city: asked", asked, asked if asked in may else [*may][-1] if may else ""
    for step in steps:
        city = next((each for each in stays_of if step.startswith(f"{each} ")), "")
        name, rows = stays_of.get(city, ("", []))
        row, stay = _stay(query, city, nights, rows)
        yield "city: price", step, beside(city, nights, row, least).words()
        if row is not None and said.startswith(f"{nights_in(city, nights)} "):
            at = may.get(asked, ("", 0))
            ways.stay_in(ChosenStay(name, stay, nights, row.price_usd, *at))
        if step.endswith(f" {OK}") and row is not None:
            words, least = stay, row
    if said:
        yield "city: choice", said, words


def _shared(nights: int, stops: int) -> Iterator[tuple[int, ...]]:
    """All ways to share them among so many stops, none where a city has no letter."""
    shared = product(LENGTHS, repeat=stops) if 0 < stops <= MOST_CITIES else ()
    return (each for each in shared if sum(each) == nights)


def _meals(query: Query, sentences: list[Sentence], rows: Called, to_come: int) -> Iterator[Found]:
    """`to_come`: as many meals as were said before, 0 if one cannot know."""
    signs, at, taken, eaten = signs_of(query), -1, list[Any](), list[str]()
    last, counts = to_the_last(rows), [to_come] if to_come else _meal_counts(query, sentences)
    # only rows in order of price have letters, and there a walk goes on where the last one ended
    is_lettered = any(letter for letter, _ in rows)
    for _, asked, steps, said in sentences:
        if asked:
            purpose = PURPOSES[len(taken) % len(PURPOSES)]
            ends = last if asked.rpartition(", ")[2].startswith("to ") else ()
            frees = [free_meals(count - len(taken), signs, is_lettered) for count in counts]
            forms = [_listed((*asked_of_meals(purpose, free, signs), *ends)) for free in frees]
            counts = [c for c, form in zip(counts, forms, strict=True) if form == asked] or counts
            yield "meal: asked", asked, asked if asked in forms else forms[0]
        free = free_meals(counts[0] - len(taken), signs, is_lettered)
        look = partial(look_at_meal, free, signs, taken)
        looked, at, found = _walked("meal: row", steps, rows, at if is_lettered else -1, look)
        yield from looked
        if said:
            others = [each for each in rows if named(each[0], each[1].name) not in eaten]
            chosen = _choice(said, others, found, bool(steps))
            eaten.append(said)
            if said == NONE and found is None:
                left = rows[at + 1 :] if is_lettered or steps else rows
                # a walk that is shown goes to the end
                is_in_vain = not left if steps else along(left, look, is_lettered)[1] is None
                chosen = NONE if is_in_vain else chosen
            yield "meal: choice", said, chosen
            taken.append(found)
            signs |= dict.fromkeys(served_first(signs, found) if found else (), DONE)


def _meal_counts(query: Query, sentences: list[Sentence]) -> list[int]:
    """How many meals a city may have. On a trip to several that is the agent's to choose, by the
    nights: as many as it says, or more where a walk ends in vain."""
    said, a_day = [said for *_, said in sentences if said], len(MEALS)
    if query.days <= 3 or NONE not in said:
        return [a_day if query.days == 3 else len(said)]
    return list(range(a_day, a_day * (query.days - 1), a_day))


def _walked(
    kind: str, steps: list[str], rows: Called, at: int, look: Callable[[str, Any, Any], RowStep]
) -> tuple[list[Found], int, Any]:
    """(what each step says, the number of the last row, the row last said to be ok) of a walk that
    goes on behind row `at`. One of a single row may be a short one: it is true where that is the
    row that a long one would take."""
    has_letters = any(letter for letter, _ in rows)
    if len(steps) == 1:
        whole, taken = along(rows[at + 1 :] if has_letters else rows, look, has_letters)
        if [step.words() for step in whole if step.judged == OK][-1:] == steps:
            number = next(number for number, (_, row) in enumerate(rows) if row is taken)
            return [(kind, steps[0], steps[0])], number, taken
    looked: list[Found] = []
    found: Any = None
    for step in steps:
        at, letter, row = _next(step, rows, at)
        # in order of price, what was found ends the walk
        expected = look(letter, row, None if has_letters else found).words() if row else ""
        looked.append((kind, step, expected))
        found = _said_ok(step, rows, at) or found
    return looked, at, found


def _said_ok(step: str, rows: Called, at: int) -> Any:
    return rows[at][1] if step.endswith(f" {OK}") and at < len(rows) else None


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
            said, note = _to_the_end(rest) if head in (TRIP, EATING, PLAN) else _name(rest, names)
            yield head, asked, steps, said
            asked, steps = "", []
            while _is_done(note.partition(". ")[0]):
                note = note.partition(". ")[2]
            continue
        if asked:
            yield "", asked, steps, ""
        walk, note = _walk(rest)
        steps = walk.split("; ") if walk else []  # prose is no walk
        asked = before.rpartition(". ")[2] if walk else ""
    if asked:
        yield "", asked, steps, ""


def _walk(rest: str) -> tuple[str, str]:
    """(a walk, what follows it): it ends with what becomes of a row. "" for prose."""
    words = [f" {judged}" for judged in JUDGED]
    end = min((rest.find(f"{w}.") + len(w) for w in words if f"{w}." in rest), default=0)
    if not end or ": " in rest[:end]:
        return "", rest.partition(". ")[2]
    return rest[:end], rest[end + 2 :]


def _to_the_end(rest: str) -> tuple[str, str]:
    """A trip: it ends where its cost begins, or with the note: names may hold full stops."""
    said, cost, note = rest.partition(f". {COST}: ")
    return said if cost else said.removesuffix("."), f"{COST}: {note}" if cost else ""


def _is_done(sentence: str) -> bool:
    return sentence.removesuffix(".").endswith(DONE) and ": " not in sentence


def _name(rest: str, names: Sequence[str]) -> tuple[str, str]:
    """(name, what follows it). One of `names` may hold a full stop of its own."""
    for name in names:
        if rest == f"{name}." or rest.startswith(f"{name}. "):
            return name, rest[len(name) + 2 :]
    name, _, rest = rest.partition(". ")
    return name.removesuffix("."), rest


def _next(step: str, rows: Called, at: int) -> tuple[int, str, Any]:
    """(its number, letter, row) of the row that has to come after row `at`. One that is called by
    another's letter is wrong, and what follows goes on from there."""
    number = at + 1
    letter, row = rows[number] if number < len(rows) else ("", None)
    first = step.partition(" ")[0]
    called = next((n for n, (each, _) in enumerate(rows) if each and each == first), number)
    return called, letter, row


def _choice(said: str, rows: Called, found: Any, is_walk: bool) -> str:
    """The name of the row that a walk found; without a walk, any row's own name will do."""
    names = [named(letter, row.name) for letter, row in rows if not is_walk or row is found]
    return said if said in names else names[0] if names and is_walk else ""


def _listed(asked: tuple[str, ...]) -> str:
    return ", ".join(asked)
