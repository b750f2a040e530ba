"""Mistakes that once cost a new user a traceback, silence, or half a run folder: one clear line and
exit code 2."""

import json

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a world, queries for it, and the same queries for a world that does not
    exist."""
    folder = tmp_path_factory.mktemp("place")
    assert main(["world", "build", "--out", str(folder / "w"), "--seed", "7"]) == 0
    assert (
        main(
            [
                "query",
                "make",
                "--world",
                str(folder / "w"),
                "--count",
                "2",
                "--out",
                str(folder / "q.jsonl"),
            ]
        )
        == 0
    )
    records = read_lines(folder / "q.jsonl")
    write_lines(folder / "far.jsonl", ({**record, "org": "Atlantis"} for record in records))
    (folder / "dateless.jsonl").write_text(json.dumps({**records[0], "date": []}) + "\n")
    (folder / "empty").write_text("")
    (folder / "t.jsonl").write_text("{}\n")
    past = ["1999-03-09", "1999-03-10", "1999-03-11"]
    (folder / "past.jsonl").write_text(json.dumps({**records[0], "date": past}) + "\n")
    (folder / "mixed.jsonl").write_text(
        (folder / "q.jsonl").read_text() + json.dumps({**records[0], "org": "Atlantis"}) + "\n"
    )
    run = f"run --policy expert --quiet --queries {folder}/q.jsonl --world {folder}/w"
    assert main([*run.split(), "--out", str(folder / "run_1")]) == 0
    errand = {
        "origin": "Ashelmont",
        "destination": "Orford",
        "depart_date": "2022-03-01",
        "query": "To Orford, please.",
    }
    (folder / "r.jsonl").write_text(json.dumps(errand) + "\n")
    past_errand = {**errand, "depart_date": "1999-03-01"}
    (folder / "r_past.jsonl").write_text(json.dumps(past_errand) + "\n")
    (folder / "r_far.jsonl").write_text(json.dumps({**errand, "origin": "Atlantis"}) + "\n")
    (folder / "plans.json").write_text(
        json.dumps([{"query": each, "plan": []} for each in records])
    )
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("solve {place}/empty --world {place}/w", "No queries in"),
        ("score {place}/empty --world {place}/w", "No plans in"),
        ("query make --world {place}/w --out {place}", "is a folder"),
        ("query make --world {place}/w --out {place}/empty/x", "cannot use"),
        ("query make --world {place}/w --seed -1 --out {place}/x", "--seed"),
        ("world build --out {place}/new --seed -1", "--seed"),
        *(
            (
                "run --policy errand-expert --dialect deeptravel_cards --queries {place}/"
                + name
                + " --world {place}/w --out {place}/run",
                told,
            )
            for name, told in (
                ("r_past.jsonl", "the world's days are 2022-03-01 to 2022-03-14"),
                ("r_far.jsonl", "'Atlantis' is no city of world"),
            )
        ),
        ("study make {place}/run_1 --out {place}/w", "is not empty"),
        ("show {place}/plans.json --world {place}/w", "expected a list of days, or an object"),
        (
            "query make --world {place}/w --not-in {place}/q.jsonl --out {place}/q.jsonl --restart",
            "is what the command reads",
        ),
        (
            "data collect {place}/t.jsonl --out {place}/t.jsonl --restart",
            "is what the command reads",
        ),
        (
            "outside import {place}/r.jsonl --harness inspect --out {place}/i",
            "no result of inspect",
        ),
        ("score {place} --world {place}/w", "holds no transcripts.jsonl (found"),
        (
            "run --policy errand-expert --dialect deeptravel_cards --queries {place}/r.jsonl"
            " --world {place}/w --store {place}/new --snapshot someday --out {place}/run",
            "expected one like 2026-06-20",
        ),
        (
            (
                "run --policy first-row --queries {place}/dateless.jsonl --world {place}/w --out"
                " {place}/run"
            ),
            "expected 3 days",
        ),
        (
            "run --policy expert --queries {place}/past.jsonl --world {place}/w --out {place}/run",
            "the world's days are 2022-03-01 to 2022-03-14",
        ),
        (
            "run --policy expert --queries {place}/mixed.jsonl --world {place}/w --out {place}/run",
            "mixed.jsonl:3: 1 of 3 queries start in no city of world",
        ),
        (
            (
                "run --policy expert --queries {place}/q.jsonl --world {place}/w --out {place}/run"
                " --timeout nan"
            ),
            "--timeout",
        ),
        (
            (
                "run --policy expert --dialect compact --queries {place}/r.jsonl --world {place}/w"
                " --out {place}/run"
            ),
            "travellers' requests",
        ),
        (
            (
                "run --policy errand-expert --dialect deeptravel_cards --queries {place}/q.jsonl"
                " --world {place}/w --out {place}/run"
            ),
            "TravelPlanner",
        ),
        (
            (
                "run --policy errand-expert --dialect deeptravel_cards --rules strict --queries"
                " {place}/r.jsonl --world {place}/w --out {place}/run"
            ),
            "--rules are not of travellers' requests",
        ),
        (
            (
                "run --policy expert --queries {place}/q.jsonl --world {place}/w --out {place}/run"
                " --top-p 7"
            ),
            "--top-p",
        ),
    ],
)
def test_it_is_one_line_and_leaves_nothing(place, refused, words, said):
    before = sorted(place.iterdir())
    problem = refused(words.format(place=place))
    assert said in problem
    assert sorted(place.iterdir()) == before


def test_queries_of_another_world_are_noticed(place, typed):
    told = typed(f"solve {place}/far.jsonl --world {place}/w --json")
    assert [json.loads(line)["status"] for line in told.out.splitlines()] == ["infeasible"] * 2
    assert "is it the right world?" in told.err


def test_a_trip_on_none_of_the_worlds_days_has_no_plan(place, refused, typed):
    """It could be driven, as roads have no dates: of 2022, nobody knows about 1999."""
    words = [str(place / "past.jsonl"), "--world", str(place / "w")]
    solved = typed("solve", words, "--why --json").record
    assert solved["status"] == "infeasible" and "the world's days are 2022-03-01" in solved["why"]
    assert solved["explanation"]["conflict"] == ["dates: 1999-03-09 to 1999-03-11"]
    assert [change["kind"] for change in solved["changes"]] == ["dates"]
    assert "cannot be met: the world's days are" in typed("query check", words, code=1).out
    record = json.loads((place / "past.jsonl").read_text())
    plan = json.dumps({"query": record, "plan": record["oracle"]["plan"]})
    (place / "plan.json").write_text(plan)
    problem = refused(f"score {place}/plan.json", words[1:])
    assert "the world's days are" in problem


@pytest.mark.parametrize("verb", ["sft", "train"])
def test_a_recipe_without_the_stage_makes_no_folder(place, refused, verb):
    pytest.importorskip("torch")
    recipe = place / "empty"
    assert (
        "there is nothing to" in refused(f"{verb} {recipe} --out {place}/trained")
        and not (place / "trained").exists()
    )


def test_the_same_command_continues_a_run_after_midnight(place, refused):
    """Without --snapshot the day of the run's first start counts, not that of the next."""
    run = (
        f"run --policy errand-expert --dialect deeptravel_cards --queries {place}/r.jsonl --world"
        f" {place}/w --out {place}/days --store {place}/s"
    )
    assert main([*run.split(), "--snapshot", "2026-06-20"]) == 0
    assert main(run.split()) == 0
    assert (
        json.loads((place / "days" / "run_card.json").read_text())["world"]["snapshot"]
        == "2026-06-20"
    )
    assert len((place / "days" / "transcripts.jsonl").read_text().splitlines()) == 1
    assert "holds another run" in refused(run, "--snapshot 2026-06-21")
