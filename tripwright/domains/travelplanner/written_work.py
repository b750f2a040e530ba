"""The steps that a policy wrote, checked against the rows that it had been shown (row B13).

They are read by writing: what would be true is rendered by the records of the expert
(`expert/work.py`) from the shown rows and the request, and compared with what stands there. So
there is one grammar, and whoever shows work in other words has no steps. Each step is held to its
own place alone: after a wrong one, what follows can be true again.

Not read: letters of cities and dates, said again; what a call is made for ("Look at", "From");
which cities are driven or flown to, and left for which end; how nights may be spent; "Eaten".
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from pydantic import ValidationError

from tripwright.domains.domain import Counts, Grounding, Json
from tripwright.domains.travelplanner.expert.work import (
    HOME,
    MEAL_FIELDS,
    MOST_CITIES,
    STAY_FIELDS,
    called,
    city_letter,
    named,
)
from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.tools.calculator import MAX_MAGNITUDE
from tripwright.domains.travelplanner.written_rows import Called, Stays, read_note
from tripwright.domains.travelplanner.written_ways import WrittenWays
from tripwright.episode import Episode
from tripwright.tools.face import letters
from tripwright.tools.faults import UNANSWERED, fault_kind
from tripwright.transcript import Rows, Segment, Transcript

# of a step: what is asked for, said again; a row that is looked at; what was chosen, by its name.
# Of the cities of a trip: the price of one beside the others', which is taken, where one eats how
# often, and what one sees. Of ways: whether there is a road, which was taken, all of a trip's, its
# days. Of costs: of a trip or of meals, all that the sum is asked of, what the budget has left
KINDS = (
    *("stay: asked", "stay: row", "stay: choice"),
    *("city: asked", "city: price", "city: choice", "city: meals", "city: sights"),
    *("way: road", "way: choice", "way: trip", "way: plan"),
    *("meal: asked", "meal: row", "meal: choice", "cost: term", "cost: asked", "cost: sum"),
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
    turn, said, said_in_vain = 0, "", ""
    for segment in transcript.segments:
        if segment.role == "assistant":
            turn, said = turn + 1, segment.text
            if shown is not None and said != said_in_vain:
                note = _note(segment)
                kind, letter = shown.kind, letter_of.get(city, city)
                is_of_stays = kind == "Accommodation"
                table = shown if is_of_stays else restaurants
                summed = [*ways.sums(note, shown)]  # of the trip so far: another may come behind it
                rows = _called(table, note) if table else []
                if is_of_stays and rows:
                    stays_of[letter] = city, rows
                found = (
                    *ways.road(note),
                    *read_note(query, note, kind, rows, letter, stays_of, ways),
                    *summed,
                )
                steps += [WrittenStep(turn, *each) for each in found]
        if segment.call is not None:
            ways.look(segment.call)
            fault = segment.call.fault  # the same turn is said again then
            said_in_vain = said if fault and fault_kind(fault) in UNANSWERED else ""
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
            elif shown.kind == "Attraction" or shown.problem == "no_attractions":
                ways.see(city, [str(record["name"]) for record in shown.records()])
    return steps


def _city_letters(query: Query, shown: Rows) -> dict[str, str]:
    cities = [record["city"] for record in shown.records() if record["city"] != query.org]
    in_order = map(city_letter, range(1, MOST_CITIES + 1))
    return {query.org: HOME} | dict(zip(cities, in_order, strict=False))


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
    of_rows = numbered[: 26 - MOST_CITIES]  # the other letters are those of cities, too
    price = "price_usd" if shown.kind == "Accommodation" else "average_cost_usd"
    looked = (f"{called(letter, f'{vars(row)[price]:g}')} " for letter, row in of_rows)
    chosen = (named(letter, row.name) for letter, row in of_rows)
    has_letters = any(words in note for words in itertools.chain(looked, chosen))
    return [(letter if has_letters else "", row) for letter, row in numbered]


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
        if steps
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
