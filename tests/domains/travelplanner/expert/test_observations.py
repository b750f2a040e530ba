"""What a careful expert keeps of an answer, and which tools it needs."""

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.deeptravel.tools.live_tools import LiveToolBox
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy
from tripwright.domains.travelplanner.expert.seen import Observations, Search
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import open_session
from tripwright.errors import UserError
from tripwright.transcript import Rows
from tripwright.world.generator import build_tables
from tripwright.world.store import World

BOSTON = Search.of("search_restaurants", city="Boston")
FOUND = (("Blue Fish", "Boston"), ("Hill Top", "Boston"))
ROWS = Rows("Restaurant", ("name", "city"), FOUND, total=5, pages=3)


def test_a_whole_page_leads_to_the_next():
    observations = Observations(paged=True)
    observations.add(BOSTON, 1, False, ROWS)
    found = observations.of(BOSTON)
    assert [row["name"] for row in found.rows] == ["Blue Fish", "Hill Top"]
    assert (found.next_page, found.lost) == (2, False)


def test_of_a_page_that_was_cut_the_whole_rows_count():
    """It is asked for once more, by its number; then the rest is lost."""
    observations, search = Observations(paged=True), BOSTON
    observations.add(search, 1, False, ROWS.cut(1))
    found = observations.of(search)
    assert [row["name"] for row in found.rows] == ["Blue Fish"] and found.next_page == 1
    observations.add(search, 1, True, ROWS.cut(1))
    assert found.lost and not found.is_open and len(found.rows) == 1


@pytest.mark.parametrize(
    ("problem", "known"), [("no_restaurants", True), ("unknown_search", False), ("page", False)]
)
def test_that_there_is_nothing_is_not_that_nobody_can_tell(problem, known):
    observations = Observations(paged=False)
    observations.add(BOSTON, 1, False, Rows(problem=problem))
    assert observations.of(BOSTON).is_known is known and not observations.of(BOSTON).is_open


def test_a_face_of_other_tools_is_refused_in_one_line():
    world, dialect = World.in_memory(build_tables("nano", 11)), dialect_named("deeptravel")
    task = TripTask("q", next(make_queries(world, 1, 5)), world)
    session = open_session(task, dialect, tools=LiveToolBox(WorldProvider(world), dialect.face))
    with pytest.raises(UserError, match="TravelPlanner's tools, which face 'deeptravel' does"):
        list(ExpertPolicy(STYLES["careful"]).play([session]))
