"""The steps that a policy wrote, checked against the rows that it had been shown (row B13).

They are read by writing: what would be true is rendered by the records of the expert
(`expert/work.py`) from the shown rows and the request, and compared with what stands there. So
there is one grammar, and whoever shows work in other words has no steps. Each step is held to its
own place alone: after a wrong one, what follows can be true again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from pydantic import ValidationError

from tripwright.domains.domain import Counts, Grounding, Json
from tripwright.domains.travelplanner.expert.work import (
    DEAR,
    DONE,
    JUDGED,
    MEAL_FIELDS,
    NONE,
    OK,
    STAY,
    STAY_FIELDS,
    RowStep,
    along,
    asked_again,
    asked_of_meals,
    asked_of_stays,
    city_letter,
    free_meals,
    look_at_meal,
    look_at_stay,
    named,
    nights_in,
    served_first,
    signs_of,
)
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.episode import Episode
from tripwright.tools.face import letters
from tripwright.transcript import Rows, Segment, Transcript

PURPOSES = tuple(meal.title() for meal in MEALS)
# of a step: what is asked for, said again; a row that is looked at; what was chosen, by its name.
# And of the cities of a trip: the price of one beside the others', and which is taken
KINDS = (
    *("stay: asked", "stay: row", "stay: choice", "city: price", "city: choice"),
    *("meal: asked", "meal: row", "meal: choice"),
)


@dataclass(frozen=True)
class WrittenStep:
    """`expected` is what would be true at this place; empty where nothing could be."""

    turn: int  # of the agent's, from 1
    kind: str
    said: str
    expected: str

    @property
    def is_true(self) -> bool:
        return self.said == self.expected


def written_steps(query: Query, transcript: Transcript) -> list[WrittenStep]:
    """In order. None where the face hides what decides, or the answer's rows are not kept."""
    steps: list[WrittenStep] = []
    shown: Rows | None = None
    city, letter_of, stays_of = "", dict[str, str](), Stays()
    turn = 0
    for segment in transcript.segments:
        if segment.role == "assistant":
            turn += 1
            found: Iterator[Found] = iter(())
            if shown is not None:
                rows = _called(shown, _note(segment))
                letter = letter_of.get(city, city)
                if rows and shown.kind == "Accommodation":
                    stays_of[letter] = city, rows
                found = _read(query, _note(segment), shown.kind, rows, letter, stays_of)
            steps += [WrittenStep(turn, *each) for each in found]
        if segment.call is not None:
            shown = _with_page(shown, segment.call.rows)
            city = str(next(iter(segment.call.arguments.values()), ""))
            if shown is not None and shown.kind == "City":
                names = (record["city"] for record in shown.records())
                cities = [name for name in names if name != query.org]
                letter_of = {each: city_letter(n) for n, each in enumerate(cities, start=1)}
    return steps


Found = tuple[str, str, str]  # kind, said, expected
Called = list[tuple[str, Any]]  # (letter, row)
Sentence = tuple[
    str, str, list[str], str
]  # for what, what is asked, rows looked at, what is chosen
# letter of a city → its name, its places to stay, as far as they were shown
Stays = dict[str, tuple[str, Called]]


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
    fields = {"Accommodation": STAY_FIELDS, "Restaurant": MEAL_FIELDS}.get(shown.kind)
    if fields is None or not {*fields, "name"} <= set(shown.fields):
        return []
    rows = [SimpleNamespace(**record) for record in shown.records()]
    if any(vars(row)[field] is None for row in rows for field in (*fields, "name")):
        return []
    numbered = [(letters(number), row) for number, row in enumerate(rows, start=1)]
    signs = (sign.format(letter) for letter, _ in numbered for sign in (": {} ", ": ({}) "))
    has_letters = any(sign in note for sign in signs)
    return [(letter if has_letters else "", row) for letter, row in numbered]


def _read(
    query: Query, note: str, kind: str, rows: Called, city: str, stays_of: Stays
) -> Iterator[Found]:
    heads, names = {STAY, *PURPOSES}, [named(letter, row.name) for letter, row in rows]
    if kind == "Accommodation":
        heads = {STAY, *(nights for nights, _ in _choices(query, city, rows))}
    for each, (name, its) in stays_of.items():
        names += [f"{name}, {nights}: {taken}" for nights, taken in _choices(query, each, its)]
    sentences = list(_sentences(note, heads, names))
    compared = [each for each in sentences if _compares(each[2], stays_of)]
    own = [each for each in sentences if each not in compared]
    if rows:
        yield from (
            _meals(query, own, rows) if kind == "Restaurant" else _stays(query, own, rows, city)
        )
    for _, asked, steps, said in compared:
        yield from _cities(query, asked, steps, said, stays_of)


def _stays(query: Query, sentences: list[Sentence], rows: Called, city: str) -> Iterator[Found]:
    nights, at, forms = query.days - 1, -1, asked_of_stays
    lengths = range(1, query.days)
    for head, asked, steps, said in sentences:
        if asked:
            if query.visiting_city_number > 1:  # how long in each is the agent's to choose
                nights = next((n for n in lengths if asked == _listed(forms(query, n))), nights)
            yield "stay: asked", asked, _listed(forms(query, nights))
        look = partial(look_at_stay, query, nights)
        looked, at, found = _walked("stay: row", steps, rows, at, look)
        yield from looked
        if said and head == STAY:
            yield "stay: choice", said, _choice(said, rows, found, bool(steps))
        elif said:  # of one of several lengths; the next walk begins with the row that it took
            nights = next((n for n in lengths if head.startswith(nights_in(city, n))), nights)
            yield "stay: choice", f"{head}: {said}", _stay(query, city, nights, rows)[1]
            forms, at = _asked_again, at - 1 if any(letter for letter, _ in rows) else -1


def _asked_again(query: Query, nights: int) -> tuple[str, ...]:
    return asked_again(nights)


def _choices(query: Query, city: str, rows: Called) -> Iterator[tuple[str, str]]:
    """(for how long, what) a choice in a city may say."""
    for nights in range(1, query.days):
        yield nights_in(city, nights), NONE
        yield from ((nights_in(city, nights, row), named(letter, row.name)) for letter, row in rows)


def _compares(steps: list[str], stays_of: Stays) -> bool:
    return bool(steps) and any(steps[0].startswith(f"{city} ") for city in stays_of)


def _stay(query: Query, city: str, nights: int, rows: Called) -> tuple[Any, str]:
    """The cheapest row that fits, and the words for it."""
    is_lettered = any(letter for letter, _ in rows)
    row = along(rows, partial(look_at_stay, query, nights), is_lettered)[1]
    letter = next((letter for letter, each in rows if each is row), "")
    taken = NONE if row is None else named(letter, row.name)
    return row, f"{nights_in(city, nights, row)}: {taken}"


def _cities(
    query: Query, asked: str, steps: list[str], said: str, stays_of: Stays
) -> Iterator[Found]:
    """Prices of the same nights in several cities, and the least of them."""
    nights = next((n for n in range(1, query.days) if (asked,) == asked_again(n)), 0)
    words, least = "", None
    for step in steps:
        city = next((each for each in stays_of if step.startswith(f"{each} ")), "")
        name, rows = stays_of.get(city, ("", []))
        row, stay = _stay(query, city, nights, rows)
        is_less = row is not None and (least is None or row.price_usd < least.price_usd)
        yield "city: price", step, f"{nights_in(city, nights, row)} {OK if is_less else DEAR}"
        if step.endswith(f" {OK}") and row is not None:
            words, least = f"{name}, {stay}", row
    if said:
        yield "city: choice", said, words


def _meals(query: Query, sentences: list[Sentence], rows: Called) -> Iterator[Found]:
    signs, at, taken = signs_of(query), -1, list[Any]()
    meals = len(MEALS) if query.days == 3 else sum(bool(said) for *_, said in sentences)
    # only rows in order of price have letters, and there a walk goes on where the last one ended
    is_lettered = any(letter for letter, _ in rows)
    for _, asked, steps, said in sentences:
        free = free_meals(meals - len(taken), signs, is_lettered)
        if asked:
            purpose = PURPOSES[len(taken) % len(PURPOSES)]
            yield "meal: asked", asked, _listed(asked_of_meals(purpose, free, signs))
        look = partial(look_at_meal, free, signs, taken)
        looked, at, found = _walked("meal: row", steps, rows, at if is_lettered else -1, look)
        yield from looked
        if said:
            yield "meal: choice", said, _choice(said, rows, found, bool(steps))
            taken.append(found)
            signs |= dict.fromkeys(served_first(signs, found) if found else (), DONE)


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
            said, note = _name(rest, names)
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
    named = next((n for n, (each, _) in enumerate(rows) if each and each == first), number)
    return named, letter, row


def _choice(said: str, rows: Called, found: Any, is_walk: bool) -> str:
    """The name of the row that a walk found; without a walk, any row's own name will do."""
    names = [named(letter, row.name) for letter, row in rows if not is_walk or row is found]
    return said if said in names else names[0] if names and is_walk else ""


def _listed(asked: tuple[str, ...]) -> str:
    return ", ".join(asked)


# ---- what is counted


def figures(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Of a training step: the share of written steps that are true, and of the episodes with such
    steps those in which a step of each kind is the first wrong one. Empty where nobody shows
    work."""
    written = [
        steps
        for episode in episodes
        if (steps := written_steps(cast(Query, episode.task.query), episode.transcript))
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
    return (
        {kind: (int(wrong is not None and kind == wrong.kind), 1) for kind in KINDS}
        if (steps)
        else None
    )


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
