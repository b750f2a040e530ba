"""What a careful expert keeps of an answer: nothing of one that is about something else than was
asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tripwright.agent.session import Session
from tripwright.domains import dialect_named
from tripwright.domains.deeptravel.tools.live_tools import LiveToolBox
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy
from tripwright.domains.travelplanner.expert.planner import Observations, Search
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.errors import UserError
from tripwright.transcript import Rows
from tripwright.world.generator import build_tables
from tripwright.world.store import World

BOSTON = Search.of("search_restaurants", city="Boston")
ROWS = Rows(
    "Restaurant",
    ("name", "city"),
    (("Blue Fish", "Boston"), ("Hill Top", "Boston")),
    total=5,
    pages=3,
)


def test_a_whole_page_leads_to_the_next() -> None:
    observations = Observations(paged=True)
    assert observations.add(BOSTON, 1, False, ROWS)
    found = observations.of(BOSTON)
    assert [row["name"] for row in found.rows] == ["Blue Fish", "Hill Top"] and (
        found.next_page,
        found.lost,
    ) == (2, False)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS.cut(0),
        replace(ROWS, values=(("Blue Fish", "Salem"),)),
        replace(ROWS, fields=("name", "cuisines"), about={"city": "Salem"}),
        replace(ROWS, page=2),
    ],
)
def test_an_answer_about_something_else_is_no_answer(rows: Rows) -> None:
    observations = Observations(paged=True)
    assert not observations.add(BOSTON, 1, False, rows)
    # asked for once more, by its number
    assert observations.of(BOSTON).rows == [] and observations.of(BOSTON).next_page == 1
    assert (
        not observations.add(BOSTON, 1, True, rows)
        and observations.of(BOSTON).lost
        and not observations.of(BOSTON).is_open
    )


def test_one_table_is_not_of_two_cities() -> None:
    observations, unnamed = (
        Observations(paged=False),
        Rows("Attraction", ("name",), (("Old Park",),), total=1),
    )
    for city, kept in (("Boston", 1), ("Salem", 0)):
        assert observations.add(Search.of("search_attractions", city=city), 1, False, unnamed)
        assert len(observations.of(Search.of("search_attractions", city=city)).rows) == kept


@pytest.mark.parametrize(
    ("problem", "known"), [("no_restaurants", True), ("unknown_search", False), ("page", False)]
)
def test_that_there_is_nothing_is_not_that_nobody_can_tell(problem: str, known: bool) -> None:
    observations = Observations(paged=False)
    assert observations.add(BOSTON, 1, False, Rows(problem=problem))
    assert observations.of(BOSTON).is_known is known and not observations.of(BOSTON).is_open


def test_a_face_of_other_tools_is_refused_in_one_line() -> None:
    world, dialect = World.in_memory(build_tables("nano", 11)), dialect_named("deeptravel")
    session = Session(
        next(make_queries(world, 1, 5)), LiveToolBox(WorldProvider(world), dialect.face), dialect
    )
    with pytest.raises(
        UserError, match="TravelPlanner's tools, which face 'deeptravel' does not offer"
    ):
        list(ExpertPolicy(STYLES["careful"]).play([session]))
