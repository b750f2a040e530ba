"""Sentences as people type them, on both desks: read whole, with what cannot be kept named, or
asked back; never planned with something lost. A request's own sentence is read as the request."""

import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("text_to_num", reason="numbers in words want the package text2num")

from tripwright.domains import domain_named
from tripwright.domains.deeptravel.place import LiveSource
from tripwright.domains.deeptravel.requests.intents import TripSurvey
from tripwright.domains.deeptravel.requests.make import RequestScope, make_requests
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.desk import EMPTY, Desk, Understood, sentence
from tripwright.domains.place import Place
from tripwright.domains.travelplanner.desk import values as trip_values
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.world.generator import build_tables
from tripwright.world.store import World

WORLD = World.in_memory(build_tables("nano", 7))
PROVIDER = WorldProvider(WORLD)
TRIPS, ERRANDS = (domain_named(name).desk for name in ("travelplanner", "deeptravel"))
PLACES = {
    "trips": Place(WORLD, WORLD.name, {}),
    "errands": Place(LiveSource(PROVIDER, WORLD.name, {}), WORLD.name, {}),
}
DESKS = {"trips": TRIPS, "errands": ERRANDS}
STRANGERS = Path(__file__).parents[3] / "shared" / "research" / "strangers" / "wordings.txt"
TRIP = "From Oraby to Keldon 2022-03-04 to 2022-03-06 for 2 people, $1500"


def read(desk: str, text: str) -> Understood:
    found = DESKS[desk].read(text, PLACES[desk])
    assert "".join(text[span.start : span.end] for span in found.spans) == text
    return found


WHOLE = {
    # words → what is in the form, of what is asked here; what cannot be kept
    "Duneworth to Orford March 8-10, 5 of us (3 kids: 2, 6 and 11), $2.5k, no driving": (
        {"party_size": 5, "children": 3, "budget_usd": 2500, "transportation": "no self-driving"}
        | {"house_rules": ["children under 10"], "depart_date": "2022-03-08"},
        1,
    ),
    "From Halmarsh to Brenberg, 2 nights from 2 March 2022, 2 adults and a toddler, max 1800$": (
        {"party_size": 3, "children": 1, "return_date": "2022-03-04", "budget_usd": 1800},
        1,
    ),
    "Leaving Orford for Tamisby on 3.3.2022, back 5.3.2022, just me, seven hundred fifty bucks": (
        {"party_size": 1, "budget_usd": 750, "return_date": "2022-03-05"},
        0,
    ),
    "from oraby to keldon 4/3/2022 to 6/3/2022, my wife and I, $1,300, whole apartment": (
        {"depart_date": "2022-03-04", "party_size": 2, "room_type": "entire room"},
        0,
    ),
    "Oraby to Keldon, 4 to 6 March, two adults, sorry, three adults, 400 dollars each": (
        {"party_size": 3, "budget_usd": 1200},
        0,
    ),
    f"{TRIP}, Italian and French food, smoking and pets allowed": (
        {"cuisines": ["Italian", "French"], "house_rules": ["smoking", "pets"]},
        0,
    ),
    f"{TRIP}, hotel with pool, we are vegan, step free access": ({"budget_usd": 1500}, 3),
    f"{TRIP} but ideally $1300, with our dog": ({"house_rules": ["pets"]}, 1),
    f"{TRIP}, and I hate flying": ({"transportation": "no flight"}, 0),
}


@pytest.mark.parametrize("text", WHOLE)
def test_a_sentence_is_read_whole(text):
    found, (values, cannot) = read("trips", text), WHOLE[text]
    assert not found.missing and not found.unread and len(found.cannot) == cannot, found
    assert {name: found.values[name] for name in values} == values
    assert TRIPS.request(found.values, PLACES["trips"])


# what is asked for, or words that are not understood
ASKED = [
    (f"{TRIP}, late checkout", "late checkout"),
    (f"{TRIP}, not on a Sunday", "not"),
    (f"{TRIP}, no more than $300 for the hotel", "no more than $300 for the hotel"),
    (f"{TRIP}, my brother joins on the second day", "brother"),
    (f"{TRIP} excluding flights", "excluding"),
    ("Bitte eine Reise von Oraby nach Keldon", "Bitte eine Reise von Oraby nach Keldon"),
    ("Oraby to Keldon, 4 to 6 March, $900", "party_size"),
    ("Oraby to Keldon, 4 to 6 March, 2 people, £900", "budget_usd"),
    ("Oraby to Keldon, 4 to 6 March, 2 people, $900-$1200", "budget_usd"),
    ("Oraby to Keldon next weekend, 2 people, $900", "depart_date"),
    ("Oraby to Keldon tomorrow, back in two days, 2 people, $900", "depart_date"),
    ("Oraby to Keldon from 6 March to 4 March 2022, 2 people, $900", "return_date"),
    ("Oraby to Keldon from 30 February to 3 March 2022, 2 people, $900", "depart_date"),
    ("Oraby to Keldon, 4 to 6 May 2022, 2 people, $900", "depart_date"),
    ("Lisbon to Keldon, 4 to 6 March, 2 people, $900", "origin"),
    ("Oraby to Kelden, 4 to 6 March, 2 people, $900", "destination"),
    ("Oraby to Keldon and then Orford, 4 to 6 March, 2 people, $900", "destination"),
    ("Oraby to Keldon, 4 to 6 March, 4 people 2 kids, $900", "party_size"),
    ("Oraby to Keldon, 4 to 6 March, 0 people, $900", "party_size"),
    ("Oraby to Keldon, 4 to 8 March 2022, 2 people, $900", "destination"),  # for a state
    ("something cheaper", "something cheaper"),
    ("What can you do?", "What"),
    ("word " * 2_000, "word"),
]


@pytest.mark.parametrize(("text", "what"), ASKED)
def test_what_is_unclear_is_asked_back(text, what):
    found = read("trips", text)
    assert what in found.missing or any(what in words for words in found.unread), found
    assert found.problem is None or found.unread


def test_a_name_with_a_slip_is_asked_for_with_the_nearest():
    found = read("trips", "Oraby to Kelden, 4 to 6 March, 2 people, $900")
    assert "Keldon" in found.missing["destination"]


@pytest.mark.parametrize(
    ("text", "values", "cannot"),
    [
        ("Orford to Tamisby on 4 March for two nights, 2 adults 2 kids", {"party_size": 4}, 1),
        ("orford to tamisby 4 march one way, 1 person", {"depart_date": "2022-03-04"}, 0),
        ("Orford to Tamisby 4-6 March, 2 people, no flights", {"transport": "train"}, 0),
        (
            "Orford to Tamisby 4-6 March, 2 people, home by 6 pm, cat friendly room",
            {"return_by": "18:00"},
            1,
        ),
    ],
)
def test_the_errand_desk_reads_the_same_words(text, values, cannot):
    found = read("errands", text)
    assert not found.missing and not found.unread and len(found.cannot) == cannot, found
    assert values.items() <= dict(found.values).items()
    assert "one way" in found.sentence or "return_date" in found.values


def test_an_errand_without_its_way_back_is_asked_for_it():
    assert set(read("errands", "Orford to Tamisby on 4 March, 2 people").missing) == {"return_date"}


def test_sentences_of_strangers():
    """Each on the desk that has its cities."""
    if not STRANGERS.is_file():
        pytest.skip(f"no {STRANGERS.name} beside this checkout")
    whole = 0
    for text in STRANGERS.read_text().splitlines():
        found = read("errands" if "helonhurst" in text else "trips", text)
        assert found.sentence or found.unread
        whole += not found.unread and not set(found.missing) - {"party_size", "return_date"}
        if not found.unread and not found.missing:
            desk = "errands" if "helonhurst" in text else "trips"
            DESKS[desk].request(found.values, PLACES[desk])
    assert whole >= 15


def requests(desk: str) -> list[dict[str, Any]]:
    if desk == "errands":
        scope = RequestScope.of(WORLD)
        drawn = {"constraints": "mixed", "weights": (1, 1, 1), "plain_share": 0.2}
        made, _ = make_requests(TripSurvey(PROVIDER), scope, 60, **drawn, seed=5)
        asked = [request.model_dump(include={f.name for f in form(desk)}) for request, _ in made]
        return [each | ({"nights": None} if each["return_date"] else {}) for each in asked]
    rng, rules = random.Random(1), ["smoking", "parties", "children under 10", "visitors", "pets"]
    asked = [trip_values(query) for query in make_queries(WORLD, 60, 1)]
    for each in asked:
        each["house_rules"] = rng.sample(rules, rng.randint(0, 4))
        if each["destination"] in WORLD.cities:
            each["without"] = [row.name for row in WORLD.accommodations(each["destination"])[:2]]
    return asked


def form(desk: str) -> Any:
    return DESKS[desk].form(PLACES[desk])


@pytest.mark.parametrize("desk", DESKS)
def test_a_requests_sentence_is_read_as_the_request(desk):
    for values in requests(desk):
        said = {name: value for name, value in values.items() if value not in (*EMPTY, ())}
        words = sentence(form(desk), said)
        found = read(desk, words)
        assert not found.unread and not found.missing and not found.cannot, words
        lists = {name: sorted(map(str, value)) for name, value in said.items() if _many(value)}
        plain = {name: value for name, value in said.items() if name not in lists}
        assert {name: found.values[name] for name in plain} == plain
        assert {name: sorted(found.values[name]) for name in lists} == lists
        assert found.values.keys() == said.keys()


def _many(value: Any) -> bool:
    return isinstance(value, list | tuple)


# ---- words about a plan

PLAN = {
    "cost": 1000.0,
    "route": [{"name": "Oraby"}, {"name": "Keldon"}, {"name": "Oraby"}],
    "parts": [
        {
            "items": [
                {"kind": "stay", "text": "Talovale Nook", "alternative": False},
                {"kind": "stay", "text": "Holorlow Yard", "alternative": True},
                {"kind": "attraction", "text": "Kendale Market", "alternative": False},
            ]
        }
    ],
}


@pytest.mark.parametrize(
    ("words", "after"),
    [
        ("four people instead of two", {"party_size": 4}),
        ("a day later", {"depart_date": "2022-03-05", "return_date": "2022-03-07"}),
        (
            "one night less and no flights",
            {"return_date": "2022-03-05", "transportation": "no flight"},
        ),
        ("another hotel", {"without": ["Talovale Nook"]}),
        ("without Kendale Market", {"without": ["Kendale Market"]}),
        ("Italian food", {"cuisines": ["French", "Italian"]}),
        ("make it 2 days", {"return_date": "2022-03-05"}),
        ("no dogs", {"house_rules": []}),
    ],
)
def test_words_about_a_plan_are_other_wishes(words, after):
    values = {**read("trips", TRIP).values, "cuisines": ["French"], "house_rules": ["pets"]}
    found = TRIPS.change(words, values, PLAN, 0.5, PLACES["trips"])
    assert found.values == {**values, **after} and not found.unread and not found.missing
    assert {change.field for change in found.changes} == set(after)
    assert all(change.before != change.after for change in found.changes)


@pytest.mark.parametrize(
    ("words", "comfort", "after", "budget"),
    [
        ("more comfortable, please", 0.5, 0.75, None),
        ("something cheaper", 0.5, 0.25, None),
        ("something cheaper", 0.0, None, 900),
        ("something cheaper", None, None, 900),
    ],
)
def test_comfort_has_steps_and_the_budget_is_cut_where_it_has_no_lower_one(
    words, comfort, after, budget
):
    values = read("trips", TRIP).values
    found = TRIPS.change(words, values, PLAN, comfort, PLACES["trips"])
    assert found.comfort == after and len(found.changes) == 1 and not found.cannot
    assert found.values == {**values, **({"budget_usd": budget} if budget else {})}


def test_a_city_that_was_left_out_can_come_back():
    values = {**read("trips", TRIP).values, "without": ["Kendale Market", "Keldon"]}
    found = TRIPS.change("add Keldon and without Talovale Nook", values, PLAN, 0.5, PLACES["trips"])
    assert found.values["without"] == ["Kendale Market", "Talovale Nook"] and not found.missing


@pytest.mark.parametrize("words", ["more comfortable", "cheaper and more comfortable"])
def test_comfort_that_cannot_be_more_is_named(words):
    found = TRIPS.change(words, read("trips", TRIP).values, PLAN, 1.0, PLACES["trips"])
    assert "more comfortable" in found.cannot and not found.changes and found.comfort is None


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("book me a helicopter", "unread"),
        ("add Orford", "missing"),
        ("skip Keldon", "missing"),
        ("four people instead of five", "missing"),
        ("skip a city", "missing"),
        ("another city", "missing"),
        ("one more night", "missing"),  # which takes a state
        ("€500", "missing"),
    ],
)
def test_a_change_that_is_not_understood_changes_nothing(words, where):
    values = read("trips", TRIP).values
    found = asdict(TRIPS.change(words, values, PLAN, 0.5, PLACES["trips"]))
    assert found[where] and found["could_say"]
    assert not found["changes"] or where == "missing"


def test_changes_of_an_errand():
    values = {**read("errands", "Oraby to Keldon, 4 to 6 March 2022, 2 people").values}
    desk: Desk = ERRANDS
    place = PLACES["errands"]
    found = desk.change("another hotel, and home by 18:00", values, PLAN, None, place)
    assert found.values == {**values, "hotel": "Holorlow Yard", "return_by": "18:00"}
    assert desk.change("more comfortable", values, PLAN, None, place).cannot
    assert desk.change("any room is fine", values, PLAN, None, place).values == values
