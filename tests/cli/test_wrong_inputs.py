"""Mistakes that once cost a new user a traceback, silence, or half a run folder: one clear line and
exit code 2."""

import json

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main

TRIPS = "run --policy expert --world {place}/w --out {place}/run --queries {place}"
ERRANDS = (
    "run --policy errand-expert --dialect deeptravel_cards --world {place}/w --out {place}/run"
    " --queries {place}"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a world, queries for it, and the same queries for a world that does not
    exist."""
    folder = tmp_path_factory.mktemp("place")
    make = f"query make --world {folder}/w --count 2 --out {folder}/q.jsonl"
    for line in (f"world build --out {folder}/w --seed 7", make):
        assert main(line.split()) == 0
    records = read_lines(folder / "q.jsonl")
    past = ["1999-03-09", "1999-03-10", "1999-03-11"]
    far = [{**record, "org": "Atlantis"} for record in records]
    errand = {"origin": "Ashelmont", "destination": "Orford", "query": "To Orford, please."}
    errand |= {"depart_date": "2022-03-01"}
    for name, lines in {
        "far": far,
        "dateless": [{**records[0], "date": []}],
        "past": [{**records[0], "date": past}],
        "mixed": [*records, far[0]],
        "t": [{}],
        "r": [errand],
        "r_past": [{**errand, "depart_date": "1999-03-01"}],
        "r_far": [{**errand, "origin": "Atlantis"}],
    }.items():
        write_lines(folder / f"{name}.jsonl", lines)
    (folder / "empty").touch()
    plans = [{"query": each, "plan": []} for each in records]
    (folder / "plans.json").write_text(json.dumps(plans))
    return folder


WRONG = """
solve {place}/empty --world {place}/w | No query in
show {place}/plans.json --world {place}/w | expected a list of days, or an object
data collect {place}/t.jsonl --out {place}/t.jsonl --restart | is what the command reads
world build --out {place}/new --seed -1 | --seed
query make --world {place}/w --seed -1 --out {place}/x | --seed
query make --world {place}/w --out {place}/empty/x | is a file, expected a folder
query make --world {place}/w --not-in {place}/q.jsonl --out {place}/q.jsonl --restart | is what the
TRIPS/dateless.jsonl | expected 3 days
TRIPS/past.jsonl | the world's days are 2022-03-01 to 2022-03-14
TRIPS/mixed.jsonl | mixed.jsonl:3: 'Atlantis' is no city of world
TRIPS/q.jsonl --timeout nan | --timeout
TRIPS/q.jsonl --top-p 7 | --top-p
TRIPS/r.jsonl --dialect compact | travellers' requests
ERRANDS/q.jsonl | TravelPlanner
ERRANDS/r.jsonl --rules strict | --rules are not of travellers' requests
ERRANDS/r.jsonl --store {place}/new --snapshot someday | expected one like 2026-06-20
ERRANDS/r_past.jsonl | the world's days are 2022-03-01 to 2022-03-14
ERRANDS/r_far.jsonl | 'Atlantis' is no city of world
"""


@pytest.mark.parametrize("wrong", WRONG.strip().splitlines())
def test_it_is_one_line_and_leaves_nothing(place, refused, wrong):
    before = sorted(place.iterdir())
    line, why = wrong.replace("TRIPS", TRIPS).replace("ERRANDS", ERRANDS).split(" | ")
    assert why in refused(line.format(place=place))
    assert sorted(place.iterdir()) == before


def test_queries_of_another_world_are_noticed(place, typed):
    told = typed(f"solve {place}/far.jsonl --world {place}/w --json")
    assert [record["status"] for record in told.records] == ["infeasible"] * 2
    assert "is it the right world?" in told.err


def test_a_trip_on_none_of_the_worlds_days_has_no_plan(place, refused, typed):
    """It could be driven, as roads have no dates: of 2022, nobody knows about 1999."""
    world = f"--world {place}/w"
    solved = typed(f"solve {place}/past.jsonl {world} --why --json").record
    assert solved["status"] == "infeasible" and "the world's days are 2022-03-01" in solved["why"]
    assert solved["explanation"]["conflict"] == ["dates: 1999-03-09 to 1999-03-11"]
    assert [change["kind"] for change in solved["changes"]] == ["dates"]
    checked = typed(f"query check {place}/past.jsonl {world}", code=1)
    assert "cannot be met: the world's days are" in checked.out
    (record,) = read_lines(place / "past.jsonl")
    plan = json.dumps({"query": record, "plan": record["oracle"]["plan"]})
    (place / "plan.json").write_text(plan)
    assert "the world's days are" in refused(f"score {place}/plan.json {world}")


def test_the_same_command_continues_a_run_after_midnight(place, typed, refused):
    """Without --snapshot the day of the run's first start counts, not that of the next."""
    run = f"{ERRANDS}/r.jsonl --out {{place}}/days --store {{place}}/s".format(place=place)
    typed(run, "--snapshot 2026-06-20")
    typed(run)
    card = json.loads((place / "days" / "run_card.json").read_text())
    assert card["world"]["snapshot"] == "2026-06-20"
    assert len(read_lines(place / "days" / "transcripts.jsonl")) == 1
    assert "holds another run" in refused(run, "--snapshot 2026-06-21")
