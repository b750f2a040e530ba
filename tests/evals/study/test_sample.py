"""What a study is drawn from, and what raters may not find in it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.evals.study.dimensions import paper_dimensions
from tripwright.evals.study.folder import Study
from tripwright.evals.study.sample import make_study, sources

SEVEN = paper_dimensions()


def drawn(study: Study) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in study.key.values():
        found.setdefault(entry.run, set()).add(entry.id)
    return found


def test_the_seven_dimensions_are_the_papers() -> None:
    assert [each.key for each in SEVEN] == [
        *(
            "intention",
            "completeness",
            "feasibility",
            "affordability",
            "clarity",
            "personalisation",
            "no_hallucination",
        ),
    ]
    assert "15%" in SEVEN[3].false and "200 s" in SEVEN[4].question
    assert all(each.true and each.false and each.question and each.short for each in SEVEN)


def test_every_run_answers_the_same_requests(run_folder: Any, lines: Any, tmp_path: Path) -> None:
    runs = [
        run_folder(name, [lines["errand"](n) for n in numbers])
        for name, numbers in (("a", range(9)), ("b", range(4, 12)))
    ]
    made = make_study(sources(runs), tmp_path / "s", SEVEN, per_run=4, seed=1)
    found = drawn(Study.open(tmp_path / "s"))
    assert found["a"] == found["b"] and len(found["a"]) == 4
    assert (made.items, made.shared_requests) == (8, 4)


def test_where_runs_share_too_little_each_adds_its_own(
    run_folder: Any, lines: Any, tmp_path: Path
) -> None:
    runs = [
        run_folder(name, [lines["errand"](n) for n in numbers])
        for name, numbers in (("a", range(3)), ("b", range(2, 9)))
    ]
    make_study(sources(runs), tmp_path / "s", SEVEN, per_run=3)
    found = drawn(Study.open(tmp_path / "s"))
    assert found["a"] == {"r0", "r1", "r2"} and len(found["b"]) == 3 and "r2" in found["b"]


def test_one_transcript_of_each_request_and_the_later_line_of_an_id(
    run_folder: Any, lines: Any, tmp_path: Path
) -> None:
    twice = [{**lines["errand"](1, answer=f"Answer {n}."), "id": f"r1-{n}"} for n in range(5)]
    again = [lines["errand"](2, answer="Old."), lines["errand"](2, answer="New.")]
    make_study(sources([run_folder("a", [*twice, *again])]), tmp_path / "s", SEVEN)
    study = Study.open(tmp_path / "s")
    answers = {item["answer"]["text"] for item in study.items.values()}
    assert len(answers) == 2 and "New." in answers


def test_unscored_transcripts_and_a_torn_last_line_are_left_out(
    run_folder: Any, lines: Any, tmp_path: Path
) -> None:
    unscored = lines["errand"](1)
    unscored["transcript"]["stop_reason"] = "unscored"
    folder = run_folder("a", [lines["errand"](0), unscored])
    with (folder / "transcripts.jsonl").open("a") as file:
        file.write('{"id": "torn')
    made = make_study(sources([folder]), tmp_path / "s", SEVEN)
    assert (made.items, made.unscored) == (1, 1)


def test_raters_see_nothing_of_the_run(run_folder: Any, lines: Any, tmp_path: Path) -> None:
    """Not its name, not the transcript's id, not a verdict, a thought, a level or the oracle's
    plan."""
    runs = [
        run_folder(
            "THE RUN",
            [lines["errand"](n, passes=False) for n in range(3)]
            + [lines["journey"](n) for n in range(3)],
        )
    ]
    make_study(sources(runs), tmp_path / "s", SEVEN)
    shown = (tmp_path / "s" / "items.jsonl").read_text()
    for secret in (
        "THE RUN",
        "nano-7",
        "SECRET",
        "SYSTEM",
        "ORACLE",
        "dissatisfied",
        "verdict",
        "verifier",
        "final",
        "level",
        "hard",
        '"r1"',
        '"q1"',
    ):
        assert secret not in shown, secret
    assert "THE RUN" in (tmp_path / "s" / "key.jsonl").read_text()


def test_equal_seeds_make_equal_studies_and_items_do_not_stand_run_by_run(
    run_folder: Any, lines: Any, tmp_path: Path
) -> None:
    runs = [run_folder(name, [lines["errand"](n) for n in range(20)]) for name in ("a", "b")]
    for out, seed in (("one", 5), ("two", 5), ("three", 6)):
        make_study(sources(runs), tmp_path / out, SEVEN, per_run=10, seed=seed)
    one, two, three = (
        [(tmp_path / out / file).read_bytes() for file in ("items.jsonl", "key.jsonl")]
        for out in ("one", "two", "three")
    )
    assert one == two != three
    first = [entry.run for entry in Study.open(tmp_path / "one").key.values()][:10]
    assert 0 < Counter(first)["a"] < 10


def test_each_rater_has_an_order_of_their_own_and_keeps_it(study: Study) -> None:
    assert study.order("ann") == Study.open(study.folder).order("ann") != study.order("bob")
    assert sorted(study.order("ann")) == sorted(study.items)


def test_requests_and_answers_are_kept_as_people_read_them(
    run_folder: Any, lines: Any, tmp_path: Path
) -> None:
    silent = lines["errand"](8, answer=None, seconds=None)
    make_study(
        sources([run_folder("a", [lines["errand"](1), lines["journey"](1), silent])]),
        tmp_path / "s",
        SEVEN,
    )
    items = {
        item["request"]["text"][:4]: item
        for item in Study.open(tmp_path / "s").items.values()
        if item["answer"]["kind"] != "none"
    }
    errand, journey = items["I go"], items["Plan"]
    assert errand["answer"]["kind"] == "markdown" and errand["seconds"] == 31.2
    assert ["Budget in all", "1,200 USD"] in errand["request"]["facts"] and [
        "Leaves",
        "2026-06-26",
    ] in errand["request"]["facts"]
    assert journey["answer"]["days"][0] == {
        "number": 1,
        "date": "2022-03-07",
        "city": "from Wynon to Rowestow",
        "lines": [["see", "Malmoor Trail, Rowestow", "Old Pier"]],
    }
    assert ["Dates", "2022-03-07 to 2022-03-09"] in journey["request"]["facts"] and [
        "Cuisines",
        "Mexican, Thai",
    ] in journey["request"]["facts"]
    (none,) = [
        item
        for item in Study.open(tmp_path / "s").items.values()
        if item["answer"]["kind"] == "none"
    ]
    assert none["answer"]["why"] == "max turns" and none["seconds"] is None


def test_what_the_agent_was_shown_stands_beside_a_tools_whole_answer(
    run_folder: Any, lines: Any, tmp_path: Path
) -> None:
    line = lines["errand"](1)
    line["transcript"]["segments"][2]["text"] = "The service is down."
    make_study(sources([run_folder("a", [line])]), tmp_path / "s", SEVEN)
    (item,) = Study.open(tmp_path / "s").items.values()
    assert item["calls"][0]["shown"] == "The service is down."


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not json", "transcripts.jsonl:2: not an episode of a run: not JSON"),
        ("[1]", "expected an object"),
        (
            '{"id": "x", "domain": "deeptravel", "request": {"query": "Go."}}',
            'expected a transcript under "transcript"',
        ),
        ('{"id": "x", "transcript": {"segments": []}}', 'no "request" of a "domain"'),
    ],
)
def test_a_line_that_is_no_transcript_is_named(
    line: str, words: str, run_folder: Any, lines: Any, tmp_path: Path
) -> None:
    folder = run_folder("a", [lines["errand"](1)])
    with (folder / "transcripts.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UserError) as caught:
        make_study(sources([folder]), tmp_path / "s", SEVEN)
    assert words in str(caught.value) and not (tmp_path / "s").exists()


def test_sources_are_named_apart_and_found(run_folder: Any, lines: Any, tmp_path: Path) -> None:
    one, two = run_folder("x/run", [lines["errand"](1)]), run_folder("y/run", [lines["errand"](1)])
    other = tmp_path / "more.jsonl"
    other.write_text(json.dumps(lines["errand"](1)) + "\n")
    assert [source.run for source in sources([one, two, other])] == [str(one), str(two), "more"]
    assert sources([one / "transcripts.jsonl"])[0].run == "run"
    for wrong, words in (
        ([tmp_path / "nowhere"], "No transcripts at"),
        ([one, one / "transcripts.jsonl"], "named twice"),
    ):
        with pytest.raises(UserError, match=words):
            sources(wrong)


def test_a_study_is_never_overwritten(study: Study, run_folder: Any, lines: Any) -> None:
    before = (study.folder / "items.jsonl").read_bytes()
    with pytest.raises(UserError, match="holds a study already"):
        make_study(sources([run_folder("c", [lines["errand"](1)])]), study.folder, SEVEN)
    assert (study.folder / "items.jsonl").read_bytes() == before
    with pytest.raises(UserError, match="No study in"):
        Study.open(study.folder.parent)
