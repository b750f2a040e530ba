"""A file of requests checked: good ones pass, and each way of being bad is found, named and counted
once."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.travelplanner.queries.files import check_queries, make_file
from tripwright.domains.travelplanner.queries.sample import Mix
from tripwright.domains.travelplanner.query import Query, iter_queries
from tripwright.world.store import World

ALL = Mix(days=(3, 5, 7), levels=(0, 1, 1))
NANO, STORED = 21, True  # of `world`


@pytest.fixture(scope="module")
def given(world: World, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, Query]]:
    """Ten requests that can be met, then four that cannot."""
    folder: Path = tmp_path_factory.mktemp("made")
    make_file(world, folder / "good", 10, 5, ALL, workers=1)
    infeasible = replace(ALL, keep="infeasible", slack=(0.6, 0.9))
    make_file(world, folder / "bad", 4, 5, infeasible, workers=1)
    (folder / "q").write_text((folder / "good").read_text() + (folder / "bad").read_text())
    return list(iter_queries(folder / "q"))


def changed(query: Query, change: Any) -> Query:
    record = copy.deepcopy(query.record())
    change(record)
    return Query.model_validate(record)


def kinds_after(world: World, query: Query, change: Any) -> list[tuple[str, str]]:
    ((line, problems),) = check_queries([(1, changed(query, change))], world, workers=1)
    assert line == 1
    return [(problem.kind, problem.text) for problem in problems]


def test_what_is_made_is_found_good_by_one_process_and_by_two(world, given):
    one = list(check_queries(given, world, workers=1))
    assert one == [(line, []) for line in range(1, 15)]
    broken = [
        (line, query if line % 3 else changed(query, lambda record: record.update(budget=11)))
        for line, query in given
    ]
    alone = list(check_queries(broken, world, workers=1))
    assert [line for line, problems in alone if problems] == [3, 6, 9, 12]
    assert list(check_queries(broken, world, workers=2)) == alone


def proof(**changed: Any) -> Any:
    return lambda record: record["oracle"].update(changed)


def text(old: str, new: str) -> Any:
    return lambda record: record.update(query=record["query"].replace(old, new))


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (proof(cheapest_cost_usd=1.0), "wrong", "cheapest cost is 1.0, the world's is "),
        (proof(plan="text"), "wrong", "plan cannot be read: "),
        (lambda r: r["oracle"]["plan"].pop(), "wrong", "plan does not pass the judge: "),
        (lambda r: r["oracle"]["plan"][0].update(accommodation="Nowhere"), "wrong", "judge: "),
        (lambda r: r.update(oracle=[]), "wrong", "'oracle' is not an object"),
        (lambda r: r.update(feasible=False), "wrong", "can be met for $"),
        (text("2022", "2023"), "ambiguous", "date: it must say "),
        (lambda r: r.update(query="Somewhere nice."), "ambiguous", "org: it must say "),
    ],
)
def test_one_thing_wrong_is_one_problem(world, given, change, kind, said):
    ((found, problem),) = kinds_after(world, given[0][1], change)
    assert found == kind and said in problem and "\n" not in problem


def test_a_plan_that_only_the_official_rules_let_pass_is_wrong(world, given):
    """A city trip that goes elsewhere: the official code never compares its destination."""
    query = next(query for _, query in given if query.days == 3)
    others = (c for c, state in world.cities.items() if state != world.cities[query.org])
    other = next(city for city in others if city != query.dest)
    problems = kinds_after(world, query, lambda record: record.update(dest=other))
    assert any(kind == "wrong" and "(strict rules)" in text for kind, text in problems)


def test_too_little_money_is_infeasible_unless_said_so(world, given):
    def poor(record: dict[str, Any]) -> None:
        record.update(budget=20)
        del record["oracle"]

    (kind, text), (other, _) = kinds_after(world, given[0][1], poor)
    assert kind == "infeasible" and text.startswith("cannot be met: the cheapest plan costs $")
    assert other == "ambiguous"  # the text still gives the old budget

    labelled = given[10][1]
    (kind, _), *rest = kinds_after(world, labelled, lambda record: record.pop("feasible"))
    assert kind == "infeasible" and {k for k, _ in rest} <= {"wrong"}


def test_a_request_for_another_world_is_no_crash(world, given):
    elsewhere = {"org": "Atlantis", "dest": "Utopia"}
    problems = kinds_after(world, given[0][1], lambda record: record.update(elsewhere))
    assert problems[0] == ("infeasible", "cannot be met: 'Atlantis' is not a city in this world.")
    assert {kind for kind, _ in problems} == {"infeasible", "wrong", "ambiguous"}
