"""The expert's work, shown: every step is true of a row, and the last one is the choice."""

from dataclasses import replace
from typing import get_args

import pytest

from tests.made import trip
from tripwright.agent.dialect import ShownWork
from tripwright.domains.travelplanner.dialects import DIALECTS
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.expert.work import (
    digits_compared,
    meal_walks,
    meals_found,
    stay_walk,
)
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, play
from tripwright.world.generator import build_tables
from tripwright.world.records import Accommodation, Restaurant
from tripwright.world.store import World

(COMPACT,) = (dialect for dialect in DIALECTS if dialect.name == "compact")


def stay(name: str, price: int, room: str, nights: int, places: int, rules: str) -> Accommodation:
    return Accommodation(name, room, price, nights, 4.0, rules, places, "Aston")


STAYS = [
    ("A", stay("Attic", 66, "Shared room", 1, 9, "No pets")),
    ("B", stay("Barn", 159, "Private room", 3, 9, "No pets")),
    ("C", stay("Cabin", 170, "Private room", 2, 4, "No pets")),
    ("D", stay("Den", 190, "Private room", 1, 6, "No pets & No smoking")),
    ("E", stay("Flat", 211, "Private room", 1, 6, "No parties")),
]
MEALS = [
    (letter, Restaurant(name, "Aston", cuisines, cost, 4.0))
    for letter, name, cuisines, cost in (
        ("A", "Diner", "Tea", 17),
        ("B", "Cafe", "Bakery", 26),
        ("C", "Grill", "Indian", 34),
        ("D", "Oven", "Italian, French", 40),
    )
]


def query(**wishes: object) -> Query:
    return trip(people_number=5, budget=900, local_constraint=wishes)


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        (249, 233, ["22", "43"]),
        (61, 164, ["01"]),
        (249, 249, ["22", "44", "99", ",,"]),
        (99.5, 99, ["99", "99", "50"]),
    ],
)
def test_two_prices_are_compared_as_far_as_they_differ(one, other, pairs):
    assert digits_compared(one, other) == pairs


def test_rows_are_looked_at_down_to_the_first_that_fits():
    walk = stay_walk(
        query(**{"room type": "private room", "house rule": "smoking"}), 2, STAYS, True
    )
    assert walk.words() == (
        "Private room!, 2 nights, 5 people, No smoking!: A 66 Shared room no; B 159 Private room! 3"
        " no; C 170 Private room! 2 4 no; D 190 Private room! 1 6 No pets & No smoking! no; E 211"
        " Private room! 1 6 No parties ok. Stay: (E) Flat."
    )
    plain = stay_walk(query(), 2, STAYS, True)
    assert plain.words() == "2 nights, 5 people: A 66 1 9 ok. Stay: (A) Attic."
    unlettered = stay_walk(query(), 2, [("", STAYS[0][1])], True)
    assert unlettered.words() == "2 nights, 5 people: 66 1 9 ok. Stay: Attic."
    further = stay_walk(query(), 2, STAYS, True, STAYS[3][1])
    assert further.words() == (
        "2 nights, 5 people: A 66 1 9 ok; B 159 3 no; C 170 2 4 no; D 190 1 6 ok. Stay:"
        f" (D) {STAYS[3][1].name}."
    )
    others = stay_walk(query(**{"room type": "not shared room"}), 1, STAYS, True)
    assert others.words().startswith("not Shared room!, 1 night, 5 people: A 66 Shared room! no;")
    assert stay_walk(query(**{"room type": "entire room"}), 2, STAYS, True).taken is None


def test_a_meal_that_nobody_asked_for_is_taken_while_one_is_free():
    assert words(["French"], MEALS) == (
        "Breakfast, 2 free, French!: A 17 Tea ok. Breakfast: (A) Diner. Lunch, 1 free, French!: B"
        " 26 Bakery ok. Lunch: (B) Cafe. Dinner, French!: C 34 Indian no; D 40 Italian, French! ok."
        " Dinner: (D) Oven. French done."
    )
    assert words(["Indian", "French"], [*MEALS[3:], *MEALS[:3], *MEALS[3:]]) == (
        "Breakfast, 1 free, Indian!, French!: D 40 Italian, French! ok. Breakfast: (D) Oven. French"
        " done. Lunch, 1 free, Indian!, French done: A 17 Tea ok. Lunch: (A) Diner. Dinner,"
        " Indian!, French done: B 26 Bakery no; C 34 Indian! ok. Dinner: (C) Grill. Indian done."
    )
    for asked, meals in ((query(cuisine=["Greek"]), 1), (query(), 5)):
        walks = meal_walks(asked, MEALS, [f"Meal {number}" for number in range(meals)], True)
        assert walks[-1].taken is None and meals_found(asked, walks, meals) is None
        assert walks[-1].words().endswith(f"Meal {meals - 1}: none.")


def words(cuisine: list[str], rows: list[tuple[str, Restaurant]]) -> str:
    walks = meal_walks(query(cuisine=cuisine), rows, ("Breakfast", "Lunch", "Dinner"), True)
    return " ".join(walk.words() for walk in walks)


def episodes(world: World, queries: list[Query], shows_work: ShownWork) -> list[Episode]:
    tasks = [TripTask(str(number), each, world) for number, each in enumerate(queries)]
    return list(play(ExpertPolicy(), tasks, replace(COMPACT, shows_work=shows_work)))


def agent_characters(played: list[Episode]) -> int:
    return sum(len(s.text) for e in played for s in e.transcript.segments if s.role == "assistant")


@pytest.mark.parametrize("seed", [3, 4])
def test_it_plans_the_same_and_says_more(seed):
    """Nothing but the notes differs; on nearly every trip the work leads where the oracle went."""
    world = World.in_memory(build_tables("nano", seed))
    queries = list(make_queries(world, 40, seed, Mix()))
    plain, shown = (episodes(world, queries, length) for length in get_args(ShownWork))
    assert agent_characters(plain) < agent_characters(shown)
    assert all(episode.verdict.final for episode in shown)
    assert [e.transcript.answer for e in shown] == [e.transcript.answer for e in plain]
    on_stays = wished = on_meals = 0
    for episode, request in zip(shown, queries, strict=True):
        notes = [s.text for s in episode.transcript.segments if s.role == "assistant"]
        on_stays += any(" ok. Stay: " in note for note in notes)
        wished += bool(request.local_constraint.cuisine)
        on_meals += any("Breakfast: " in note and "!" in note for note in notes)
    assert on_stays >= 38 and wished >= on_meals >= wished - 2 > 0


def test_other_faces_show_their_own_words():
    """In a dialect whose face hides what decides, nothing is said that was not shown."""
    world = World.in_memory(build_tables("nano", 3))
    tasks = [TripTask(str(n), q, world) for n, q in enumerate(make_queries(world, 6, 3))]
    for dialect in DIALECTS:
        for episode in play(ExpertPolicy(), tasks, replace(dialect, shows_work="long")):
            assert episode.verdict.final
