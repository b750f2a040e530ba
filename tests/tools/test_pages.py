"""Long answers in pages: every row is on exactly one page, and the answer says where it stands."""

import json
from typing import Any

import pytest

from tests.made import flight, made_world, meal
from tripwright.domains import domain_named, face_named
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

FACES = [face.name for face in domain_named("travelplanner").faces]

ROWS = 34


@pytest.fixture(scope="module")
def long_world() -> World:
    eaten = [meal(f"Diner {n:02d}", "Boston", usd=90 - n) for n in range(1, ROWS + 1)]
    flights = [flight(f"F{n}", "Boston", "Salem", date="2022-03-16") for n in range(1, 4)]
    cities = dict.fromkeys(("Boston", "Salem"), "Massachusetts")
    return made_world(cities, flights, [("Boston", "Salem", "1 hour", "10 km")], eaten)


def ask(world: World, face: str, page_rows: int | None, **arguments: Any) -> str:
    box = ToolBox(world, face_named(face), page_rows=page_rows)
    name, written = box.face.offer.call_of("search_restaurants", {"city": "Boston"})
    return box.call(name, {**written, **arguments}).text


@pytest.mark.parametrize("face", FACES)
def test_the_pages_hold_every_row_once_and_in_order(long_world, face):
    whole = ask(long_world, face, None)
    names = [f"Diner {n:02d}" for n in range(1, ROWS + 1)]
    order = sorted(names, key=whole.index)
    # the small model's rows come cheapest first
    assert order == (names[::-1] if face == "compact" else names)
    pages = [ask(long_world, face, 10, page=page) for page in (1, 2, 3, 4)]
    assert ask(long_world, face, 10) == pages[0]
    found = [[name for name in order if name in page] for page in pages]
    assert [name for page in found for name in page] == order
    assert [len(page) for page in found] == [10, 10, 10, 4]


def test_sentences_say_which_rows_these_are_and_what_to_ask_for(long_world):
    assert ask(long_world, "star", 10, page=2).endswith(
        "\nRows 11-20 of 34, page 2 of 4. Ask for page 3 to see more."
    )
    assert ask(long_world, "star", 10, page=4).endswith("\nRows 31-34 of 34, page 4 of 4.")


def test_star_numbers_its_rows_through(long_world):
    heading, first, *_ = ask(long_world, "star", 10, page=2).split("\n")
    assert heading.endswith("found the following 34 restaurants:")
    assert first.startswith("11. [Diner 11]")


@pytest.mark.parametrize("face", FACES)
def test_an_answer_of_one_page_is_as_without_pages(long_world, face):
    whole = ask(long_world, face, None)
    assert ask(long_world, face, ROWS) == ask(long_world, face, ROWS, page=1) == whole


@pytest.mark.parametrize(
    ("page_rows", "page", "said"),
    [
        (10, 5, "Page 5 does not exist: the pages are 1 to 4."),
        (10, 10**30, f"Page {10**30} does not exist: the pages are 1 to 4."),
        (50, 2, "Page 2 does not exist: there is only page 1."),
        (10, 0, "Page 0 does not exist: pages are counted from 1."),
        (10, "2", "Argument 'page' must be an integer, found string '2'."),
        (10, None, "Argument 'page' must be an integer, found null."),
        (None, 1, "Unknown argument 'page'. search_restaurants takes city."),
    ],
)
def test_pages_that_are_not_there(long_world, page_rows, page, said):
    assert json.loads(ask(long_world, "planner_r1", page_rows, page=page)) == {"error": said}


@pytest.mark.parametrize("face", FACES)
def test_page_is_offered_by_searches_only_and_only_where_there_are_pages(face):
    assert not any(
        "page" in s["function"]["parameters"]["properties"] for s in face_named(face).schemas()
    )
    offered = {}
    for schema in face_named(face).schemas(paged=True):
        parameters = schema["function"]["parameters"]
        assert "page" not in parameters["required"]
        offered[face_named(face).offer.core_name(schema["function"]["name"])] = (
            parameters["properties"].get("page", {}).get("type")
        )
    no_searches = {"search_ground_transportation", "get_cities", "calculator"}
    assert {tool for tool, kind in offered.items() if kind is None} == offered.keys() & no_searches


def test_what_has_no_rows_has_no_pages(long_world):
    box = ToolBox(long_world, face_named("compact"), page_rows=1)
    state = {"state": "Massachusetts"}
    assert json.loads(box.call("get_cities", state).text) == {"cities": ["Boston", "Salem"]}
    assert "Unknown argument 'page'" in box.call("get_cities", {**state, "page": 1}).text


def test_pages_without_rows_are_a_mistake_of_ours(long_world):
    with pytest.raises(ValueError, match="at least 1 row"):
        ToolBox(long_world, face_named("compact"), page_rows=0)
