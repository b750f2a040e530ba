"""`score` and `submission` as a user meets them: figures on stdout, problems on stderr, and the
promised exit codes. What a line is judged and counted as, `tests/evals` says."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tests.made import proven
from tripwright.cli.main import main
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.world.generator import build_tables
from tripwright.world.store import write_world

Printed = tuple[int, str, str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, three requests, their plans (official format), and the same plans with a bus nobody
    runs on the first day."""
    folder = tmp_path_factory.mktemp("place")
    world = write_world(folder / "w", build_tables("nano", 3))
    requests = list(make_queries(world, 3, 2))
    records = [request.record() for request in requests]
    plans = [proven(request, world) for request in requests]
    by_bus = [
        [day | {"transportation": bus(day["transportation"])} for day in plan] for plan in plans
    ]
    for name, made in (("plans", plans), ("hacked", by_bus)):
        pairs = zip(records, made, strict=True)
        write_lines(
            folder / f"{name}.jsonl", [{"query": query, "plan": plan} for query, plan in pairs]
        )
    write_lines(folder / "q.jsonl", records)
    write_lines(folder / "empty.jsonl", [])
    write_lines(folder / "others.jsonl", [records[0] | {"query": "Somewhere else."}])
    return folder


def test_a_wrong_world_is_asked_about_once(place, run, tmp_path):
    lines = read_lines(place / "plans.jsonl")
    far = [
        {**line, "query": {**line["query"], "org": f"Far{place}"}}
        for place, line in enumerate(lines)
    ]
    write_lines(tmp_path / "some.jsonl", [*lines, *far])
    write_lines(tmp_path / "all.jsonl", far)
    for name in ("some", "all"):
        code, _, err = run(f"score {{t}}/{name}.jsonl --world {{p}}/w")
        assert code == 2 and err.count("right world") == 1 and "Expected" not in err


def bus(said: str) -> str:
    return said if said == "-" else "Bus, from " + said.partition("from ")[2].partition(",")[0]


@pytest.fixture
def run(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(words: str) -> Printed:
        """{p} is the folder of the plans, {t} a new one."""
        code = main(words.format(p=place, t=tmp_path).split())
        return code, *capsys.readouterr()

    return run


def last(printed: str) -> dict[str, Any]:
    return json.loads(printed.splitlines()[-1])


def test_a_part_of_a_split_is_scored_and_said_to_be_one(run):
    code, out, err = run("score {p}/plans.jsonl --world {p}/w --split validation")
    assert code == 0 and "3 of 180 validation queries" in err
    words = " ".join(out.split())
    assert "final_pass_rate 1.7% [0.6%, 4.8%] 3/180 100.0% [43.9%, 100.0%] 3/3" in words


def test_few_plans_have_no_rates_and_show_has_their_other_problems(run, place, tmp_path):
    lines = read_lines(place / "plans.jsonl")
    for line in lines[1:]:
        line["plan"][1] |= {"accommodation": "Nowhere Inn", "transportation": "-"}
    write_lines(tmp_path / "few.jsonl", lines)
    code, out, _ = run("score {t}/few.jsonl --world {p}/w")
    assert code == 0 and "%" not in out and out.count("Within sandbox: day 2, accomm") == 2
    assert " more)" in out and f"tripwright show {tmp_path}/few.jsonl --line N" in out
    write_lines(tmp_path / "few.jsonl", lines * 2)
    assert "final_pass_rate" in run("score {t}/few.jsonl --world {p}/w")[1]


def test_the_hacking_meter_shows_where_the_bus_gets_through(run):
    words = "--world {p}/w --compare official strict"
    code, out, _ = run(f"score {{p}}/hacked.jsonl {words} --json")
    *compared, summary = map(json.loads, out.splitlines())
    assert (code, summary["kind"], summary["n"]) == (0, "comparison", 3)
    assert [line["final"] for line in compared] == [{"official": True, "strict": False}] * 3
    assert summary["final"]["gap"] == 1.0 and summary["final"]["only_strict"]["n"] == 0
    assert summary["final"]["only_official"]["lines"] == [1, 2, 3]
    gaps = summary["constraints"].values()
    holes = [gap["only_official"] for gap in gaps if gap["only_official"]["failed"]]
    assert holes and all(hole["failed"] + hole["not_reached"] == hole["n"] for hole in holes)
    rates = [gap[rules] for gap in gaps for rules in ("official", "strict")]
    assert all(rate["numerator"] <= rate["denominator"] for rate in rates)
    code, out, _ = run(f"score {{p}}/hacked.jsonl {words}")
    assert code == 0 and "+100.0%" in out
    code, out, _ = run(f"score {{p}}/plans.jsonl {words} --json")
    final = last(out)["final"]
    assert code == 0 and final["only_official"]["lines"] == []
    assert final["official"]["numerator"] == final["strict"]["numerator"] == 3


def test_a_submission_is_written_checked_and_scored(run):
    code, out, _ = run(
        "submission write {p}/plans.jsonl --queries {p}/q.jsonl --out {t}/new/s.jsonl --json"
    )
    assert (code, last(out)["plans"], last(out)["missing"]) == (0, 3, 0)
    assert run("submission check {t}/new/s.jsonl --queries {p}/q.jsonl")[0] == 0
    code, out, _ = run("score {t}/new/s.jsonl --queries {p}/q.jsonl --world {p}/w --json")
    assert (code, last(out)["final_pass_rate"]["numerator"]) == (0, 3)
    code, out, _ = run("submission check {p}/plans.jsonl")
    assert code == 1 and "plans.jsonl:1: 'idx'" in out


def test_texts_that_come_again_are_told_once(run, tmp_path):
    lines = [{"idx": idx, "query": "To Aston, please.", "plan": None} for idx in range(45)]
    write_lines(tmp_path / "s.jsonl", lines)
    code, out, _ = run("submission check {t}/s.jsonl")
    assert code == 1 and out.count("\n") == 1 and "s.jsonl:2: 'query' is that of" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("score {p}/plans.jsonl --world {p}/w --split dev", "'dev'"),
        ("score {p}/plans.jsonl --world {p}/w --rules Strict", "'Strict'"),
        ("score {p}/plans.jsonl --world {p}/w --compare official nice", "'nice'"),
        ("score {p}/plans.jsonl --world {p}/w --compare strict strict", "both rule sets"),
        ("score {p}/plans.jsonl --world {p}/w --rules star --compare official star", "--rules out"),
        ("score {p}/plans.jsonl --world {p}/w --queries {p}/none", "No query file"),
        ("score {p}/q.jsonl --world {p}/w", "no line of it can be judged"),
        ("score {p}/empty.jsonl --world {p}/w", "No plans in"),
        ("score {p}/plans.jsonl --world {p}/w --queries {p}/others.jsonl", "unknown query"),
        ("score {p}/w --world {p}/w", "holds no transcripts.jsonl"),
        ("submission write {p}/empty.jsonl --queries {p}/q.jsonl --out {p}/s.jsonl", "No plan in"),
        ("submission write {p}/plans.jsonl --queries {p}/q.jsonl --out {p}", "is a folder"),
        ("submission write {p}/plans.jsonl --queries {p}/others.jsonl --out {p}/s.jsonl", "none"),
        ("submission check {p}/none", "No submission file"),
    ],
)
def test_a_mistake_is_one_line(place, run, words, said):
    before = sorted(place.iterdir())
    code, out, err = run(words)
    assert (code, out) == (2, "")
    assert err.startswith("tripwright: ") and err.count("\n") == 1 and said in err
    assert sorted(place.iterdir()) == before


def test_what_is_not_as_it_should_be_is_named_and_the_rest_is_done(place, run, tmp_path):
    good = read_lines(place / "plans.jsonl")
    query = good[0]["query"]
    off = [{**day, "lunch": 7} for day in query["oracle"]["plan"]]
    other_texts = [{**good[0], "query": {**query, "query": f"request {n}"}} for n in range(46)]
    for name, lines, flags, n, said in (
        ("bad", ["oops", *good], "", 4, "line 1: not JSON"),
        (
            "far",
            [good[0], {**good[1], "query": {**query, "org": "Far"}}],
            "",
            2,
            "line 2: 'Far' is no city",
        ),
        ("off", [good[0], {**good[1], "plan": off}], "", 2, "line 2: day 1: field 'lunch'"),
        ("many", other_texts, "--split train", 46, "the train split has 45"),
        ("again", good[:1] * 3, "--queries {p}/q.jsonl", 3, "line 2: a second plan"),
    ):
        write_lines(tmp_path / f"{name}.jsonl", lines)
        code, out, err = run(f"score {{t}}/{name}.jsonl --world {{p}}/w --json {flags}")
        assert (code, last(out)["n"]) == (2, n) and said in err, name
    code, out, err = run("score {t}/again.jsonl --world {p}/w --queries {p}/q.jsonl")
    assert code == 2 and "1 of 3 queries" in err
    words = "score {t}/again.jsonl --world {p}/w --queries {p}/q.jsonl --compare official strict"
    code, out, _ = run(f"{words} --json")
    assert (code, last(out)["n"], last(out)["unanswered"]) == (2, 3, 2)
    code, out, _ = run("score {t}/again.jsonl --world {p}/w --json")
    assert code == 0 and (last(out)["n"], last(out)["requests"]) == (3, 1)
    words = "submission write {t}/bad.jsonl --queries {p}/q.jsonl --out {t}/s.jsonl"
    code, _, err = run(words)
    assert code == 2 and "line 1: not JSON" in err
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 3


def test_words_that_are_not_understood_are_told_once_and_end_well_if_anything_is_scored(
    place, run, tmp_path
):
    unread = {"query": "Aston by blimp, please.", "plan": None}
    for lines, code, n in (
        ([unread, *read_lines(place / "plans.jsonl"), unread], 0, 3),
        ([unread], 1, 0),
    ):
        write_lines(tmp_path / "unread.jsonl", lines)
        for flags in ("", "--compare official strict"):
            ended, out, err = run(f"score {{t}}/unread.jsonl --world {{p}}/w --json {flags}")
            assert (ended, last(out)["n"]) == (code, n) and err.count("'blimp'") == 1
            assert run(f"score {{t}}/unread.jsonl --world {{p}}/w {flags}")[0] == code
            assert "warning: " in err and "worst_case" in last(out)
