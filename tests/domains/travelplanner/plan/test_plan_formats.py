"""How answers are read: row P3's JSON in every dialect, an itinerary in words where the dialect
allows it."""

from dataclasses import replace

import pytest

from tripwright.agent.dialect import Dialect
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.baselines import RowsPolicy
from tripwright.domains.travelplanner.expert import expert_turns
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, close_session, open_session, play
from tripwright.tools.faults import Faults, FaultyTools
from tripwright.world.generator import build_tables
from tripwright.world.store import World

STAR, JSON_ONLY = dialect_named("star"), dialect_named("planner_r1")


@pytest.fixture(scope="module")
def task() -> TripTask:
    world = World.in_memory(build_tables("nano", 11))
    return TripTask("q1", next(make_queries(world, 1, 5, Mix(days=(3,)))), world)


@pytest.fixture(scope="module")
def as_json(task: TripTask) -> str:
    """The expert's answer, tags included."""
    return expert_turns(task.request, task.world, JSON_ONLY)[-1]


@pytest.fixture(scope="module")
def in_words(task: TripTask) -> str:
    return expert_turns(task.request, task.world, STAR)[-1]


def answered(task: TripTask, dialect: Dialect, answer: str) -> Episode:
    session = open_session(task, dialect)
    session.say(answer)
    return close_session(session)


def problem_of(episode: Episode) -> str:
    """Why an answer could not be read; "" where it could."""
    facts = episode.verdict.groups[0].facts if episode.verdict else None
    return (facts or {})["schema"].message or ""


def test_both_say_the_same_plan(task, as_json, in_words):
    said = answered(task, STAR, in_words)
    assert said.more["plan"] is not None and said.verdict is not None and said.verdict.final
    assert said.more["plan"] == answered(task, JSON_ONLY, as_json).more["plan"]


def test_json_is_read_in_every_dialect(task, as_json):
    one, other = (answered(task, dialect, as_json).more["plan"] for dialect in (STAR, JSON_ONLY))
    assert one == other is not None


def test_words_are_no_plan_where_json_is_asked_for(task, in_words):
    found = answered(task, JSON_ONLY, in_words)
    assert found.more["plan"] is None and "not valid JSON" in problem_of(found)
    assert found.verdict is not None and not found.verdict.final


def test_what_is_meant_as_json_is_judged_as_json(task):
    for text in ('[{"days": 1}]', "[{", '{"day": 1}', "```json\n[1,\n```"):
        found = answered(task, STAR, f"<answer>{text}</answer>")
        assert found.more["plan"] is None and problem_of(found) == problem_of(
            answered(task, JSON_ONLY, f"<answer>{text}</answer>")
        )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no line begins a day"),
        ("Have a nice trip!", "no line begins a day"),
        ("Day 1: in Aston\n- Travel: by dragon from A to B", "line 2"),
        ("Day 2: in Aston", "expected day 1; found 'Day 2: in Aston'"),
        ("Day 1: in Aston\n" * 20_000, "is not read"),
    ],
)
def test_words_that_cannot_be_read_are_a_failed_answer_that_says_why(task, text, problem):
    found = answered(task, STAR, f"<answer>{text}</answer>")
    assert found.more["plan"] is None and problem in problem_of(found) and found.scored


# ---- what an episode opens with


def test_pages_and_faults_reach_the_tools(task):
    session = open_session(task, replace(STAR, page_rows=2), faults=Faults(probability=1.0, seed=3))
    assert isinstance(session.tools, FaultyTools) and session.tools.faults.seed == 3
    assert "page" in session.tools.schemas[1]["function"]["parameters"]["properties"]
    assert not isinstance(open_session(task, STAR).tools, FaultyTools)


def test_a_policy_that_takes_rows_reads_them_whatever_the_text(task):
    in_words, as_json = (
        next(play(RowsPolicy("first"), [task], dialect)) for dialect in (STAR, JSON_ONLY)
    )
    assert [day["accommodation"] for day in in_words.more["plan"]] == [
        day["accommodation"] for day in as_json.more["plan"]
    ]
