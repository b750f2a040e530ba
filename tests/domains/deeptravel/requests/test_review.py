"""People tick requests and better their words; difficulty is what repeated attempts say; nothing is
accepted that was not looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.difficulty import (
    AttemptCount,
    measured,
    read_attempts,
    staged,
)
from tripwright.domains.deeptravel.requests.file import iter_requests, read_requests, write_requests
from tripwright.domains.deeptravel.requests.review import accept, read_review, write_review
from tripwright.errors import UserError

WORDS = (
    "Please plan a trip from Suzhou to Wuhan on June 26, 2026, returning on June 28, 2026. I must"
    " arrive by 15:00."
)


def request(name: str, query: str = WORDS, **more: object) -> TravelRequest:
    said = {
        "origin": "Suzhou",
        "destination": "Wuhan",
        "depart_date": "2026-06-26",
        "return_date": "2026-06-28",
        "arrive_by": "15:00",
    }
    return TravelRequest(id=name, query=query, **{**said, **more})


THREE = [request("a"), request("b"), request("c", level="hard")]


@pytest.mark.parametrize("form", ("md", "csv"))
def test_only_what_is_ticked_is_accepted(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"review.{form}"
    text = write_review(THREE, form)
    path.write_text(text)
    assert accept(THREE, read_review(path), path).accepted == []
    ticked = text.replace("[ ] b", "[x] b") if form == "md" else text.replace("\n,b,", "\nyes,b,")
    path.write_text(ticked)
    found = accept(THREE, read_review(path), path)
    assert found.accepted == [THREE[1]] and found.edited == 0
    assert [(name, why) for _, name, why in found.refused] == [
        ("a", "not ticked"),
        ("c", "not ticked"),
    ]
    assert all(name in ticked.splitlines()[line - 1] for line, name, _ in found.refused)


def test_bettered_words_are_taken_over_where_they_ask_for_the_same(tmp_path: Path) -> None:
    path = tmp_path / "review.md"
    bettered = (
        "I need a trip from Suzhou to Wuhan on June 26, 2026, returning after 2 nights. I have to"
        " be there by 3 pm."
    )
    other = WORDS.replace("15:00", "16:00")
    unreadable = "Somewhere nice, please."
    text = write_review(THREE, "md").replace("[ ]", "[x]").split(WORDS)
    path.write_text(bettered.join(text[:2]) + other + unreadable.join(text[2:]))
    found = accept(THREE, read_review(path), path)
    assert [(one.id, one.query) for one in found.accepted] == [
        ("a", bettered)
    ] and found.edited == 1
    assert found.accepted[0].model_copy(update={"query": WORDS}) == THREE[0]
    whys = {name: why for _, name, why in found.refused}
    assert "arrive by 16:00" in whys["b"] and "15:00" in whys["b"] and "cannot be read" in whys["c"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    (
        ("r.md", "## [maybe] a", ":1: expected"),
        ("r.md", "## [?] a", "neither a tick"),
        ("r.md", "nothing", "No request in"),
        ("r.csv", "id,request\na,b\n", "no column 'accept'"),
        ("r.csv", "accept,id,request\nperhaps,a,b\n", ":2: 'perhaps'"),
        ("r.csv", 'accept,id,request\nx,a,"b\n', "not CSV"),
        ("none.md", None, "No review file"),
    ),
)
def test_what_is_no_review_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=problem):
        read_review(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        ("## [x] zz\n> w", "id of no request"),
        ("## [x] a\n> w\n## [x] a\n> w", "reviewed before, in line 1"),
    ),
)
def test_a_review_of_another_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "review.md"
    path.write_text(text)
    with pytest.raises(UserError, match=problem):
        accept(THREE, read_review(path), path)


def test_request_files_are_read_back_and_bad_lines_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    write_requests(path, THREE)
    assert read_requests(path) == THREE
    for line, problem in (
        ("{", "not JSON"),
        ("[]", "JSON object"),
        (json.dumps({**THREE[0].record(), "party_size": 0}), "party_size"),
        (json.dumps({**THREE[0].record(), "wish": 1}), "wish"),
    ):
        path.write_text(f"{json.dumps(THREE[1].record())}\n\n{line}\n")
        with pytest.raises(UserError, match=f":3: .*{problem}"):
            list(iter_requests(path))
    write_requests(path, [THREE[0], THREE[0]])
    with pytest.raises(UserError, match=":2: the id 'a' is that of line 1"):
        read_requests(path)


# ---- difficulty


def episode(name: str, query: str, final: bool | None) -> str:
    return (
        json.dumps(
            {
                "id": name,
                "request": {"query": query},
                "verdict": None if final is None else {"final": final},
            }
        )
        + "\n"
    )


def test_difficulty_is_one_minus_the_share_that_passed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "transcripts.jsonl").write_text(
        episode("q1", "A", None)
        + episode("q1", "A", True)
        + episode("q2", "A", False)
        + episode("q3", "B", None)
        + episode("q4", "C", True)
    )
    other = tmp_path / "more.jsonl"
    other.write_text(episode("q1", "A", False) + episode("q2", "A", False))
    tried = read_attempts([run, other])
    # unscored attempts are none, and runs are told apart
    assert tried == {"A": AttemptCount(4, 1), "C": AttemptCount(1, 1)}
    assert (tried["A"].difficulty, tried["A"].level) == (0.75, "hard")
    asked = [request(name, name) for name in "ABC"]
    assert measured(asked, tried) == {"A": AttemptCount(4, 1)}
    with pytest.raises(UserError, match="requests tried at all: 2"):
        measured(asked, tried, least=9)


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        ("{}", ":1: not an episode"),
        ("{", ":1: not an episode"),
        ('{"id":1,"query":"x","verdict":null}', ":1: "),
    ),
)
def test_what_is_no_episode_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "t.jsonl").write_text(text + "\n")
    with pytest.raises(UserError, match=problem):
        read_attempts([tmp_path / "t.jsonl"])


def test_stages_share_no_request_and_hold_a_little_of_the_other_kind() -> None:
    asked = [request(str(number), str(number)) for number in range(100)]
    tried = {
        str(number): AttemptCount(4, 4 if number < 40 else 1 if number < 60 else 0)
        for number in range(90)
    }
    stages = staged(asked, tried, other_share=0.1, seed=1)
    names = [[one.id for one in group] for group in (stages.sft, stages.rl, stages.left)]
    assert sorted(sum(names, []), key=int) == [one.id for one in asked]
    hard_in_sft = sum(one.level == "hard" for one in stages.sft)
    easy_in_rl = sum(one.level == "easy" for one in stages.rl)
    assert (hard_in_sft, easy_in_rl) == (4, 6)  # a tenth of what stands beside them
    assert len(stages.left) == 10 and stages == staged(
        asked, tried, other_share=0.1, seed=1
    ) != staged(asked, tried, 0.1, seed=2)
    assert not any(one.level != "easy" for one in staged(asked, tried, other_share=0).sft)
