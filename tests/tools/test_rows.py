"""An answer as data is what its text says: the fields, the precision and the rows that a model was
shown, and no more of them."""

import json
from typing import Any

import pytest

from tests.tools.conftest import rows
from tripwright.domains import domain_named, face_named
from tripwright.tools.answer import TEXT, ToolAnswer
from tripwright.tools.toolbox import ToolBox
from tripwright.transcript import Rows, Segment, ToolCall, Transcript
from tripwright.world.records import WorldTables
from tripwright.world.store import World

FACES = [face.name for face in domain_named("travelplanner").faces]
ROAD = {"origin": "Boston", "destination": "Salem"}
FLIGHT = {**ROAD, "date": "2022-03-01"}
RESTAURANTS = [
    ("Dear [Café], 1. [x]", "Boston", "Tea, Indian", "50", "4.8"),
    ("Corner\nBakery", "Boston", "Bakery", "12", "3.9"),
    ("Blue Fish", "Boston", "Seafood", "31", "4.0"),
    ("Hill Top", "Salem", "French", "20", "4.1"),
]


@pytest.fixture(scope="module")
def world() -> World:
    return World.in_memory(
        WorldTables(
            cities=[("Boston", "Massachusetts"), ("Salem", "Massachusetts")],
            flights=rows("""
                F1 | 120 | 08:00 | 09:15 | 1 hours 15 minutes | 2022-03-01 | Boston | Salem | 190
            """),
            grounds=rows("Boston | Salem | 26 mins | 25.9 km"),
            restaurants=RESTAURANTS,
            attractions=rows("""
                Old [Ship](1) | 42.12345678 | 2.0 | 1 Quay, Boston | (1) 2 | https://x.example | Boston
            """),  # noqa: E501
            accommodations=rows("""
                Inn & Out | Private room | 89.5 | 2 | 4.5 | No smoking & No pets | 3 | Boston
            """),
        )
    )


def ask(
    world: World, face: str, tool: str, page_rows: int | None = None, **arguments: Any
) -> ToolAnswer:
    """`tool` and `arguments` by the core's names."""
    box = ToolBox(world, face_named(face), page_rows=page_rows)
    return box.call(*box.face.offer.call_of(tool, arguments))


def values(rows: Rows, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(record[field] for field in fields) for record in rows.records()]


@pytest.mark.parametrize("face", FACES)
def test_every_tool_answers_in_rows_with_the_names_of_the_world(world, face):
    meals = ask(world, face, "search_restaurants", city="Boston").rows()
    place = (meals.first, meals.total, meals.pages, meals.is_whole)
    assert meals.kind == "Restaurant" and place == (1, 3, 1, True)
    assert meals.units == {"average_cost_usd": "USD"}
    boston = [row for row in RESTAURANTS if row[1] == "Boston"]
    expected = {(name, int(cost), cuisines) for name, _, cuisines, cost, _ in boston}
    assert set(values(meals, "name", "average_cost_usd", "cuisines")) == expected
    stay = ask(world, face, "search_accommodations", city="Boston").rows()
    fields = "name price_usd room_type minimum_nights maximum_occupancy house_rules".split()
    inn = ("Inn & Out", 89.5, "Private room", 2, 3, "No smoking & No pets")
    assert values(stay, *fields) == [inn]
    sights = ask(world, face, "search_attractions", city="Boston").rows()
    assert values(sights, "name") == [("Old [Ship](1)",)]
    flight = ask(world, face, "search_flights", **FLIGHT).rows()
    assert values(flight, "number", "price_usd", "duration") == [("F1", 120, "1 hours 15 minutes")]
    road = ask(world, face, "search_ground_transportation", **ROAD, mode="taxi").rows()
    assert road.kind == "Route"
    assert values(road, "duration", "distance", "cost_usd") == [("26 mins", "25.9 km", 25)]
    cities = ask(world, face, "get_cities", state="Massachusetts").rows().values
    assert cities == (("Boston",), ("Salem",))


def test_fields_and_precision_are_those_of_the_text(world):
    compact = ask(world, "compact", "search_flights", **FLIGHT).rows()
    assert compact.fields == ("price_usd", "duration", "number")
    planner = ask(world, "planner_r1", "search_flights", **FLIGHT).rows()
    assert planner.records()[0]["distance_miles"] == "190 miles"
    total = ask(world, "compact", "calculator", expression="0.1 + 0.2").rows()
    assert values(total, "value") == [(0.3,)]


def test_what_a_heading_says_is_said_of_all_rows(world):
    star, planner = (
        ask(world, face, "search_restaurants", city="Boston").rows()
        for face in ("star", "planner_r1")
    )
    assert star.about == {"city": "Boston"} and "city" not in star.fields
    assert planner.about == {} and values(planner, "city") == [("Boston",)] * 3
    cities = ask(world, "star", "get_cities", state="Massachusetts").rows()
    assert cities.about == {"state": "Massachusetts"}


def test_a_word_of_the_face_is_the_cores(world):
    answer = ask(world, "star", "search_ground_transportation", **ROAD, mode="self-driving")
    assert ": driving, from Boston" in answer.text
    assert values(answer.rows(), "mode") == [("self-driving",)]


@pytest.mark.parametrize("face", FACES)
def test_a_refusal_has_no_rows_and_says_why_as_the_face_does(world, face):
    answer = ask(world, face, "search_accommodations", city="Salem")
    assert answer.error and answer.rows().note
    assert (answer.rows().problem, answer.rows().values) == ("no_accommodations", ())
    unknown = ask(world, face, "search_accommodations", city="Oz").rows().problem
    # star's tools do not tell the two apart
    assert unknown == ("no_accommodations" if face == "star" else "unknown_city")


@pytest.mark.parametrize("face", FACES)
def test_pages_say_where_they_stand(world, face):
    shown = []
    for page, first in ((1, 1), (2, 3)):
        rows = ask(world, face, "search_restaurants", 2, city="Boston", page=page).rows()
        assert (rows.first, rows.total, rows.page, rows.pages) == (first, 3, page, 2)
        shown += rows.values
    assert shown == list(ask(world, face, "search_restaurants", city="Boston").rows().values)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("tool", "asked"),
    [("search_restaurants", {"city": "Boston"}), ("get_cities", {"state": "Massachusetts"})],
)
def test_of_a_cut_answer_the_rows_that_stand_whole_in_it(world, face, tool, asked):
    answer = ask(world, face, tool, **asked)
    whole, most = answer.rows(), 0
    for end in range(len(answer.text)):
        rows = answer.rows(f"{answer.text[:end]}… cut: 3 of 9 tokens shown")
        assert (rows.total, rows.pages, rows.is_whole) == (None, None, False)
        assert len(rows.values) >= most and rows.values == whole.values[: len(rows.values)]
        for (value,) in values(rows, whole.fields[-1]):
            assert str(value).splitlines()[0] in answer.text[:end]
        most = max(most, len(rows.values))
    assert most >= len(whole.values) - 1


def test_a_value_whose_end_is_not_shown_is_no_value(world):
    answer = ask(world, "star", "search_restaurants", city="Boston")
    first = answer.text.index("\n2. ")
    assert len(answer.rows(answer.text[:first]).values) == 0
    assert len(answer.rows(answer.text[: first + 1]).values) == 1


def test_nothing_is_left_of_a_refusal_that_is_cut(world):
    answer = ask(world, "star", "search_accommodations", city="Salem")
    assert answer.rows(answer.text[:-1]) == Rows(total=None, pages=None)


def test_an_answer_in_words_of_somebody_elses_tool_says_so():
    assert ToolAnswer("Doc 1 …").rows() == TEXT and TEXT.kind == "text" and TEXT.records() == []


@pytest.mark.parametrize("face", FACES)
def test_rows_come_back_from_a_transcript_and_from_a_server(world, face):
    for answer in (
        ask(world, face, "search_restaurants", 2, city="Boston"),
        ask(world, face, "search_accommodations", city="Salem"),
    ):
        call = ToolCall("search", {}, answer.text, answer.error, None, answer.rows())
        said = [Segment("assistant", "…", call=call), Segment("tool", answer.text)]
        transcript = Transcript(said)
        assert Transcript.from_json(json.loads(json.dumps(transcript.to_json()))) == transcript
        served = ToolAnswer.from_json(json.loads(json.dumps(answer.to_json())))
        half = answer.text[: len(answer.text) // 2]
        assert served == answer and served.rows() == answer.rows()
        assert served.rows(half) == answer.rows(half)
