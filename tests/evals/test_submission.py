"""The leaderboard's file: what is written passes the check and scores the same; every way to get
the format wrong is named."""

import csv
import json
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main
from tripwright.domains.travelplanner.oracle.planner import plan_days, solve
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.scoring.lines import QueryFile
from tripwright.domains.travelplanner.scoring.score import score_file
from tripwright.domains.travelplanner.verbs.submission import (
    Submission,
    SubmissionCheck,
    read_submission,
)
from tripwright.errors import UserError
from tripwright.world.store import World

DAY = {
    "days": 1,
    "current_city": "from A to B",
    "transportation": "Taxi, from A to B, duration: 1 hour, distance: 9 km, cost: 9",
    "breakfast": "-",
    "lunch": "Inn, the Old, B",
    "dinner": "-",
    "attraction": "Lake, B;Hill, B;",
    "accommodation": "Inn, B",
}

NANO, STORED = 3, True  # of `world`


@pytest.fixture(scope="module")
def requests(world: World) -> list[Query]:
    return list(make_queries(world, 4, 1))


@pytest.fixture
def queries(requests: list[Query], tmp_path: Path) -> QueryFile:
    records = (request.record() | {"idx": idx} for idx, request in enumerate(requests))
    return QueryFile(write_lines(tmp_path / "queries.jsonl", records))


def lines(path: Path, *records: Any) -> Path:
    return write_lines(path, records)


def written(
    queries: QueryFile, source: Path, world: World | None = None
) -> tuple[Submission, list[dict[str, Any]]]:
    submission = read_submission(source, queries, world)
    return submission, [json.loads(line) for line in submission.lines()]


def test_plans_come_in_the_order_of_the_split_and_score_the_same(
    world, requests, queries, tmp_path
):
    plans = [(request, plan_days(request, solve(request, world))) for request in requests]
    given = [{"query": request.record(), "plan": plan} for request, plan in plans]
    source = lines(tmp_path / "plans.jsonl", given[2], given[0], {"idx": 1, "plan": None})
    submission, records = written(queries, source, world)
    assert [(record["idx"], record["query"]) for record in records] == [
        (i, request.query) for i, request in enumerate(requests)
    ]
    assert [record["plan"] is None for record in records] == [False, True, False, True]
    assert (len(submission.plans), submission.notes) == (2, [])
    out = lines(tmp_path / "submission.jsonl", *records)
    assert problems(out, queries) == []
    judged = list(score_file(out, world, "official", queries))
    assert [verdict["final"] for verdict in judged[:-1]] == [True, False, True, False]


def test_from_texts_to_the_file_in_one_command(world, requests, tmp_path, capsys):
    """As the test split is published: where it starts and goes, and the text. A wish that nobody
    understands leaves its plan without a verdict, and in the file."""
    rows = [{"org": q.org, "dest": q.dest, "query": q.query} for q in requests]
    rows[2]["query"] += " We insist on rooms with a view of the sea."
    with (tmp_path / "test.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    out = tmp_path / "submission.jsonl"
    place = f"--queries {tmp_path}/test.csv --out {out}"
    words = f"submission write {tmp_path}/run --policy first-row {place}"
    assert main(words.split()) == 2 and "give --world" in capsys.readouterr().err
    assert main([*words.split(), "--world", str(world.folder)]) == 0
    records = read_lines(out)
    assert [record["query"] for record in records] == [row["query"] for row in rows]
    assert records[2]["plan"] and problems(out, QueryFile(tmp_path / "test.csv")) == []
    score = json.loads((tmp_path / "run/score.json").read_text())
    assert (score["n"], score["unscored"]) == (3, 1)


def test_another_domains_dialect_is_one_line(world, refused, tmp_path):
    (tmp_path / "split.csv").write_text("query\nA trip.\n")
    given = ["--queries", f"{tmp_path}/split.csv", "--world", str(world.folder), "--out", "x.jsonl"]
    policy = ["--policy", "expert", "--dialect", "deeptravel"]
    assert "planner_r1" in refused("submission write", [f"{tmp_path}/run", *given, *policy])


def test_of_a_run_the_later_line_of_an_episode_counts(requests, queries, tmp_path):
    def episode(key: str, place: int, plan: Any) -> dict[str, Any]:
        return {"id": key, "request": requests[place].record(), "plan": plan}

    run, tried_again = tmp_path / "transcripts.jsonl", episode("q1", 1, [DAY])
    lines(run, episode("q1", 1, None), episode("q2", 2, [DAY]), tried_again)
    _, records = written(queries, tmp_path)
    assert [record["plan"] for record in records] == [None, [DAY], [DAY], None]
    dead = episode("q3", 3, None) | {"verdict": None, "transcript": {"fault": "HTTP 503"}}
    assert written(queries, lines(run, tried_again, dead))[0].notes == [(2, "unscored: HTTP 503")]
    lines(run, tried_again, episode("q1-s01", 1, [DAY]))
    with pytest.raises(UserError, match=r"transcripts.jsonl:2: a second plan .* line 1"):
        written(queries, tmp_path)


def test_what_gives_no_plan_is_noted_and_p3_needs_its_world(world, queries, tmp_path):
    source = lines(
        tmp_path / "plans.jsonl",
        "oops",
        {"idx": 99, "plan": None},
        {"idx": 0, "plan": [{"city": "A"}]},
    )
    submission, records = written(queries, source, world)
    assert [line for line, _ in submission.notes] == [1, 2, 3]
    assert [record["plan"] for record in records] == [None] * 4
    with pytest.raises(UserError, match=r"plans.jsonl:3: .*give the world with --world"):
        written(queries, source)
    with pytest.raises(UserError, match="No plans at"):
        written(queries, tmp_path / "none")


ODD = [None, 7, "", " ", "Inn", "Lake, B;", "from A", "\ud800", 1e400, [], {}, [DAY], {"to": "B"}]


def test_what_is_written_passes_the_check_whatever_was_handed_in(world, requests, tmp_path):
    rng, counts = random.Random(3), Counter[str]()
    plans = [[plan_days(r, solve(r, world)), r.record()["oracle"]["plan"]] for r in requests]
    for numbered, start in [(True, 0), (True, 1), (False, 0), (False, 1)] * 30:
        idx_of = [{"idx": start + place} if numbered else {} for place in range(4)]
        asked = [r.record() | idx for r, idx in zip(requests, idx_of, strict=True)]
        path, given = write_lines(tmp_path / "q.jsonl", asked), ["oops", ""]
        for place, request in enumerate(requests):
            plan = json.loads(json.dumps(rng.choice(plans[place])))
            for _ in range(rng.choice((0, 1, 1, 3))):
                days = [day for day in plan if isinstance(day, dict)]
                holder = rng.choice([plan, *days])
                slot = rng.choice([*holder, "x"] if isinstance(holder, dict) else range(len(plan)))
                holder[slot] = rng.choice(ODD)
                if rng.random() < 0.2:
                    del holder[slot]
            said = {"plan": rng.choice((plan, plan, json.dumps(plan), rng.choice(ODD)))}
            named = {"idx": start + place, "query": rng.choice((request.query, request.query, ""))}
            given.insert(rng.randrange(3), json.dumps(named | said))
        with suppress(UserError):  # numbered neither from 0 nor from 1
            submission, records = written(
                QueryFile(path), lines(tmp_path / "p.jsonl", *given), world
            )
            assert problems(lines(tmp_path / "s.jsonl", *records), QueryFile(path)) == [], given
            counts.update(kept=len(submission.plans), noted=len(submission.notes))
    assert min(counts["kept"], counts["noted"]) > 100


def problems(path: Path, queries: QueryFile | None = None) -> list[tuple[int, str]]:
    return list(SubmissionCheck(path, queries).problems())


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"idx": "0"}, "'idx' must be a whole number, found a string"),
        ({"idx": 5}, "'idx' is out of order: expected the next, found 5 instead of 0"),
        ({"query": {"query": "?"}}, "'query' must be the text of the request, found an object"),
        ({"plan": "[{}]"}, "'plan' must be a list of days or null, found a string"),
        ({"plan": [{"city": "A"}]}, "Planner-R1's schema"),
        ({"plan": [{}]}, "every day of the plan is empty"),
        ({"plan": [{}, DAY]}, "found an empty day 1"),
        ({"plan": [7, DAY]}, "a day must be an object, found a number (day 1)"),
        ({"plan": [DAY | {"accommodation": None}]}, "must be text, '-' for none, found null"),
        ({"plan": [DAY | {"accommodation": "Inn"}]}, "warning: 'accommodation' must be 'Name"),
        ({"plan": [DAY | {"current_city": "from A"}]}, "must be a city, or 'from A to B'"),
        ({"plan": [DAY | {"attraction": "Lake, B"}]}, "warning: 'attraction' must be"),
        ({"plan": [DAY | {"transportation": "Bus, from A to B"}]}, "warning: 'transp"),
        ({"plan": [dict(list(DAY.items())[:-1])]}, "warning: 'accommodation' is missing"),
        ({"plan": [DAY | {"transportation": "flight number F1"}]}, "'Flight Number: F"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, changed, expected):
    path = lines(tmp_path / "s.jsonl", {"idx": 0, "query": "?", "plan": [DAY]} | changed)
    check = SubmissionCheck(path)
    found = [*check.problems(), *((line, f"warning: {told}") for line, told in check.warnings)]
    ((line, told),) = found
    assert line == 1
    assert expected in told
    assert expected.startswith("warning") == told.startswith("warning")


def test_a_last_sight_is_given_its_semicolon_where_we_read_it(queries, tmp_path):
    """The official code looks only at what stands before a semicolon."""
    sights = ["Lake, B", "Lake, B;Hill, B", "Lake, B; ", "a walk"]
    days = [DAY | {"attraction": each} for each in sights]
    submission = read_submission(
        lines(tmp_path / "p.jsonl", *({"idx": at, "plan": [day]} for at, day in enumerate(days))),
        queries,
    )
    written_sights = [submission.plans[at][0]["attraction"] for at in range(4)]
    assert written_sights == ["Lake, B;", "Lake, B;Hill, B;", "Lake, B; ", "a walk"]
    assert (submission.completed, submission.notes) == (2, [])


def test_a_key_that_comes_twice_is_named(tmp_path):
    path = lines(tmp_path / "s.jsonl", {"idx": 0, "query": "x", "plan": [DAY, {}, {}]})
    path.write_text(path.read_text().replace('"dinner": ', '"dinner": "Elsewhere", "dinner": ', 1))
    assert problems(path) == [(1, "a key comes twice in an object, found 'dinner'")]


def test_order_texts_and_number_are_checked_against_the_split(requests, queries, tmp_path):
    a, b, c, d = (
        {"idx": idx, "query": request.query, "plan": None} for idx, request in enumerate(requests)
    )
    for handed_in, told in (
        ([a, b, c, d], []),
        ([b, a, d, c], [(1, "not the text of the request at this place")]),
        ([a, c, d], [(2, "found 2 instead of 1"), (3, "3 lines for 4 requests")]),
        ([a, b, b, c, d], [(3, "found 1 instead of 2"), (5, "5 lines for 4 requests")]),
        ([a, "", b, c, d, ""], [(2, "blank"), (3, "found 1 instead of 2"), (5, "5 lines")]),
        ([a, b | {"query": "?"}, c, d], [(2, "not the text of the request at this place")]),
        ([a, b, c, d, d], [(5, "5 lines for 4 requests")]),
        ([a, b, c, d | {"plan": [DAY, {}, {}]}], [(4, "an empty day 2"), (4, "an empty day 3")]),
        ([""], [(1, "the file is empty")]),
        (["{", b, c, d], [(1, "not JSON")]),
    ):
        found = problems(lines(tmp_path / "s.jsonl", *handed_in), queries)
        assert [line for line, _ in found] == [line for line, _ in told], found
        assert all(words in each for (_, words), (_, each) in zip(told, found, strict=True)), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "No query in"),
        ("{", ":1: not JSON"),
        ('{"query": 7}', ":1: expected a query record with its text"),
        ('{"query": "a", "idx": "x"}', ":1: 'idx' must be a whole number"),
        ('{"query": "a"}\n{"query": " a "}', "have the same text"),
        ('{"query": "a", "idx": 1}\n{"query": "b", "idx": 1}', "have the same idx"),
    ],
)
def test_a_bad_query_file_is_one_user_error(tmp_path, text, expected):
    (tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(UserError, match=expected):
        QueryFile(tmp_path / "q.jsonl")


def test_from_which_number_a_file_counts_is_found_out_or_asked_for(tmp_path):
    texts = [f"request {place}" for place in range(3)]
    queries = lines(tmp_path / "q.jsonl", *({"query": text} for text in texts))

    def places(*numbers: int) -> dict[int, Any]:
        plans = lines(tmp_path / "p.jsonl", *({"idx": idx, "plan": [DAY]} for idx in numbers))
        return read_submission(plans, QueryFile(queries)).plans

    assert set(places(0, 1)) == {0, 1}
    assert set(places(2, 3)) == {1, 2}
    for unclear in ((1, 2), (0, 3)):
        with pytest.raises(UserError, match="from 0 or from 1"):
            places(*unclear)


def test_a_wish_that_is_not_understood_is_played_once_and_handed_in(
    world, requests, tmp_path, typed, refused
):
    """As in the published test split, which has no fields for wishes: its plan is unscored in the
    run and in `score`, is no fault to try again, and stands in the submission. `solve`, which would
    plan without the wish, refuses it."""
    kept = ("org", "dest", "days", "date", "query")
    split = [{key: request.record()[key] for key in kept} for request in requests]
    split[1]["query"] += " We would like it gezellig."
    file, out = write_lines(tmp_path / "split.jsonl", split), tmp_path / "run"
    run = f"run --policy greedy-search --queries {file} --world {world.folder} --out {out} --quiet"
    for _ in range(2):
        typed(run)
    records = read_lines(out / "transcripts.jsonl")
    assert [record["verdict"] is None for record in records] == [False, True, False, False]
    assert "gezellig" in records[1]["transcript"]["fault"] and records[1]["plan"]
    score = json.loads(typed(f"score {out} --world {world.folder} --json").out.splitlines()[-1])
    assert (score["n"], score["unscored"]) == (3, 1)
    typed(f"submission write {out} --queries {file} --out {tmp_path / 'sub.jsonl'}")
    handed_in = read_lines(tmp_path / "sub.jsonl")
    assert handed_in[1]["plan"] == records[1]["plan"]
    typed(f"query check {file} --world {world.folder}", code=1)
    assert "gezellig" in refused(f"solve {file} --world {world.folder}")
