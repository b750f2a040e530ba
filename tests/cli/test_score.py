"""`score` and `submission` as a user meets them: figures on stdout, problems on stderr, and the
promised exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.domains.travelplanner.oracle.planner import plan_days, solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.world.folder import write_world
from tripwright.world.generator import build_tables
from tripwright.world.store import World


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, three requests, their plans (official format), and the same plans with a bus nobody
    runs on the first day."""
    folder = tmp_path_factory.mktemp("place")
    world = write_world(folder / "w", build_tables("nano", 3))
    requests = list(make_queries(world, 3, 2))
    plans = [official(plan_days(request, solve(request, world)), world) for request in requests]
    records = [request.record() for request in requests]
    write(folder / "q.jsonl", records)
    write(
        folder / "plans.jsonl",
        [{"query": query, "plan": plan} for query, plan in zip(records, plans, strict=True)],
    )
    hacked = [
        [day | {"transportation": bus(day["transportation"])} for day in plan] for plan in plans
    ]
    write(folder / "empty.jsonl", [])
    write(
        folder / "others.jsonl", [record | {"query": "Somewhere else."} for record in records[:1]]
    )
    write(folder / "text.jsonl", [{"query": records[0], "plan": "Day 1: off we go."}])
    write(
        folder / "hacked.jsonl",
        [{"query": query, "plan": plan} for query, plan in zip(records, hacked, strict=True)],
    )
    return folder


def official(days: Any, world: World) -> list[dict[str, Any]]:
    parsed = parse_days(days).days
    assert parsed is not None
    return to_official(parsed, city_lookup(world))


def bus(said: str) -> str:
    return said if said == "-" else "Bus, from " + said.partition("from ")[2].partition(",")[0]


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def run(place: Path, words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words.format(p=place).split())
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_part_of_a_split_is_scored_and_said_to_be_one(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(place, "score {p}/plans.jsonl --world {p}/w --split validation", capsys)
    assert code == 0
    assert (
        "3 of 180 validation queries answered: 177 missing count as not delivered under the"
        " official denominators." in err
    )
    words = " ".join(out.split())
    assert "final pass rate 1.7% [0.6%, 4.8%] 3/180 100.0% [43.9%, 100.0%] 3/3" in words
    assert "  3 days " in out
    assert "Within sandbox" in out


def test_the_hacking_meter_shows_where_the_bus_gets_through(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(
        place, "score {p}/hacked.jsonl --world {p}/w --compare official strict --json", capsys
    )
    assert code == 0
    *compared, summary = [json.loads(line) for line in out.splitlines()]
    assert [line["final"] for line in compared] == [{"official": True, "strict": False}] * 3
    assert summary["kind"] == "comparison" and summary["n"] == 3
    assert summary["final"]["gap"] == 1.0
    assert summary["final"]["only_official"]["lines"] == [1, 2, 3]
    assert summary["final"]["only_strict"]["n"] == 0
    holes = {
        name: gap["only_official"]
        for name, gap in summary["constraints"].items()
        if gap["only_official"]["failed"]
    }
    assert holes and all(
        hole["failed"] + hole["not_reached"] == hole["n"] for hole in holes.values()
    )
    for name, gap in summary["constraints"].items():
        for rules in ("official", "strict"):
            assert gap[rules]["numerator"] <= gap[rules]["denominator"], name
    code, out, _ = run(
        place, "score {p}/hacked.jsonl --world {p}/w --compare official strict", capsys
    )
    assert code == 0
    assert out.count("passes official, fails strict") == 3
    assert "100.0%" in out and "+100.0%" in out


def test_honest_plans_open_no_gap(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        place, "score {p}/plans.jsonl --world {p}/w --compare official strict --json", capsys
    )
    summary = json.loads(out.splitlines()[-1])
    assert code == 0
    assert (summary["final"]["official"]["numerator"], summary["final"]["strict"]["numerator"]) == (
        3,
        3,
    )
    assert summary["final"]["only_official"]["lines"] == []


def test_a_submission_is_written_checked_and_scored(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(
        place,
        "submission write {p}/plans.jsonl --queries {p}/q.jsonl --out {p}/new/s.jsonl",
        capsys,
    )
    assert (code, out.strip().partition(": ")[2]) == (0, "3 plans for 3 requests")
    code, out, _ = run(place, "submission check {p}/new/s.jsonl --queries {p}/q.jsonl", capsys)
    assert (code, out.strip().partition(": ")[2]) == (
        0,
        "the format is right; 3 plans for 3 requests",
    )
    code, out, _ = run(
        place, "score {p}/new/s.jsonl --queries {p}/q.jsonl --world {p}/w --json", capsys
    )
    assert (code, json.loads(out.splitlines()[-1])["final_pass_rate"]["numerator"]) == (0, 3)
    code, out, _ = run(place, "submission check {p}/plans.jsonl", capsys)
    assert code == 1
    assert f"{place}/plans.jsonl:1: 'idx' must be a whole number, found nothing" in out
    code, out, _ = run(place, "submission check {p}/plans.jsonl --json", capsys)
    assert code == 1
    assert json.loads(out.splitlines()[-1]) == {
        "kind": "summary",
        "problems": len(out.splitlines()) - 1,
        "requests": 3,
        "plans": 3,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "score {p}/plans.jsonl --world {p}/w --split dev",
            "Unknown split 'dev'. Available: train, validation, test.",
        ),
        ("score {p}/plans.jsonl --world {p}/w --compare official nice", "Unknown rules 'nice'"),
        ("score {p}/plans.jsonl --world {p}/w --compare strict strict", "Nothing to compare"),
        (
            "score {p}/plans.jsonl --world {p}/w --rules strict --compare official star",
            "leave --rules out",
        ),
        ("score {p}/plans.jsonl --world {p}/w --queries {p}/none", "No query file at"),
        ("submission write {p}/empty.jsonl --queries {p}/q.jsonl --out {p}/s.jsonl", "No plan in"),
        ("submission write {p}/plans.jsonl --queries {p}/q.jsonl --out {p}", "is a folder"),
        ("submission write {p}/none --queries {p}/q.jsonl --out {p}/s.jsonl", "No plans at"),
        (
            "submission write {p}/plans.jsonl --queries {p}/q.jsonl --restart"
            " --out {p}/plans.jsonl",
            "is what the command reads",
        ),
        (
            "submission write {p}/plans.jsonl --queries {p}/others.jsonl --out {p}/s.jsonl",
            "none of",
        ),
        ("submission check {p}/none", "No submission file at"),
        (
            "score {p}/q.jsonl --world {p}/w",
            "none of its 3 lines can be judged. line 1: expected an",
        ),
        ("score {p}/empty.jsonl --world {p}/w", "No plans in"),
        ("score {p}/text.jsonl --world {p}/w", "become plans with 'tripwright format'"),
        ("score {p}/plans.jsonl --world {p}/w --queries {p}/others.jsonl", "line 1: unknown query"),
        (
            "score {p}/w --world {p}/w",
            "holds no transcripts.jsonl (found manifest.json, world.sqlite)",
        ),
    ],
)
def test_a_mistake_is_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    before = sorted(place.iterdir())
    code, out, err = run(place, words, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("tripwright: ") and err.count("\n") == 1 and said in err
    assert sorted(place.iterdir()) == before


def test_bad_lines_are_named_with_their_numbers_and_the_rest_is_done(
    place: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good = (place / "plans.jsonl").read_text().splitlines()
    far = json.loads(good[1])
    far["query"]["org"] = "Rivendell"
    (tmp_path / "far.jsonl").write_text("\n".join([good[0], json.dumps(far)]))
    code, out, err = run(place, f"score {tmp_path}/far.jsonl --world {{p}}/w --json", capsys)
    assert code == 2
    assert json.loads(out.splitlines()[-1])["n"] == 2
    assert "line 2: org 'Rivendell' is no city of world" in err
    (tmp_path / "bad.jsonl").write_text("\n".join(["oops", *good]))
    code, _, err = run(
        place,
        f"submission write {tmp_path}/bad.jsonl --queries {{p}}/q.jsonl --out {tmp_path}/s.jsonl",
        capsys,
    )
    assert code == 2
    assert "line 1: not JSON" in err
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 3
    many = [
        json.dumps(
            {"query": {**json.loads(good[0])["query"], "query": f"request {n}"}, "plan": None}
        )
        for n in range(46)
    ]
    (tmp_path / "many.jsonl").write_text("\n".join(many))
    code, _, err = run(place, f"score {tmp_path}/many.jsonl --world {{p}}/w --split train", capsys)
    assert code == 2
    assert "46 plans, but the train split has 45" in err


def test_a_file_of_queries_never_looks_whole_where_it_is_not(
    place: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = (place / "plans.jsonl").read_text().splitlines()[0]
    (tmp_path / "repeats.jsonl").write_text(f"{first}\n" * 3)
    words = f"score {tmp_path}/repeats.jsonl --world {{p}}/w"
    code, out, err = run(place, f"{words} --queries {{p}}/q.jsonl", capsys)
    assert code == 2
    assert "1 plan for 3 requests, strict rules" in out and "33.3% [6.1%, 79.2%] 1/3" in " ".join(
        out.split()
    )
    assert "100.0%" not in out.partition("constraints")[0]
    assert "1 of 3 queries" in err and "line 3: a second plan for the request of line 1" in err
    compare = f"{words} --queries {{p}}/q.jsonl --compare official strict --json"
    code, out, _ = run(place, compare, capsys)
    summary = json.loads(out.splitlines()[-1])
    assert (code, summary["n"], summary["unanswered"]) == (2, 3, 2)
    code, out, _ = run(place, words, capsys)
    assert code == 0 and "3 plans for 1 request, strict rules" in out


def test_a_plan_off_its_schema_is_one_that_does_not_count(
    place: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    query = json.loads((place / "q.jsonl").read_text().splitlines()[0])
    days = [day | {"attraction": "X"} for day in query["oracle"]["plan"]]
    write(tmp_path / "off.jsonl", [{"query": query, "plan": days}])
    code, out, err = run(place, f"score {tmp_path}/off.jsonl --world {{p}}/w", capsys)
    assert code == 2 and "1 of 1 lines gave no plan that counts" in err
    assert "day 1: field 'attraction': input should be '-' or a list, found 'X'" in out
    crash = [{"days": 1, "current_city": 3}]
    write(tmp_path / "crash.jsonl", [{"query": query, "plan": crash}])
    words = f"score {tmp_path}/crash.jsonl --world {{p}}/w --rules official"
    code, out, _ = run(place, words, capsys)
    assert code == 0 and "TypeError: here the official evaluator stops" in out


def test_a_submission_that_repeats_a_text_or_leaves_plans_out_is_told_so(
    place: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = [{"idx": idx, "query": "To Aston, please.", "plan": None} for idx in range(45)]
    write(tmp_path / "s.jsonl", lines)
    code, out, _ = run(place, f"submission check {tmp_path}/s.jsonl", capsys)
    assert code == 1 and "s.jsonl:2: the 'query' of line 1 again (and in 43 more lines)" in out
    assert out.count("\n") == 1
    write(tmp_path / "s.jsonl", lines[:1])
    code, out, _ = run(place, f"submission check {tmp_path}/s.jsonl", capsys)
    assert (code, out) == (0, f"{tmp_path}/s.jsonl: the format is right; 0 plans for 1 request\n")
