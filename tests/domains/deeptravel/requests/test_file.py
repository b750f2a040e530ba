"""Files of requests; difficulty is what repeated attempts say."""

import json

import pytest

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.file import (
    AttemptCount,
    measured,
    read_attempts,
    read_requests,
    staged,
    write_requests,
)
from tripwright.errors import UserError

WORDS = (
    "Please plan a trip from Suzhou to Wuhan on June 26, 2026, returning on June 28, 2026. I must"
    " arrive by 15:00."
)


def request(name: str, query: str = WORDS, **more: object) -> TravelRequest:
    said = {"origin": "Suzhou", "destination": "Wuhan", "arrive_by": "15:00"}
    said |= {"depart_date": "2026-06-26", "return_date": "2026-06-28"}
    return TravelRequest(id=name, query=query, **{**said, **more})


THREE = [request("a"), request("b"), request("c", level="hard")]


def test_request_files_are_read_back_and_bad_lines_named(tmp_path):
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
            read_requests(path)
    write_requests(path, [THREE[0], THREE[0]])
    with pytest.raises(UserError, match=":2: found the id 'a'"):
        read_requests(path)


# ---- difficulty


def episode(name: str, query: str, final: bool | None) -> str:
    verdict = None if final is None else {"final": final}
    return json.dumps({"id": name, "request": {"query": query}, "verdict": verdict}) + "\n"


def test_difficulty_is_one_minus_the_share_that_passed(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    tries = [("q1", "A", None), ("q1", "A", True), ("q2", "A", False), ("q3", "B", None)]
    lines = [episode(*each) for each in (*tries, ("q4", "C", True))]
    (run / "transcripts.jsonl").write_text("".join(lines))
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
def test_what_is_no_episode_is_refused(tmp_path, text, problem):
    (tmp_path / "t.jsonl").write_text(text + "\n")
    with pytest.raises(UserError, match=problem):
        read_attempts([tmp_path / "t.jsonl"])


def test_stages_share_no_request_and_hold_a_little_of_the_other_kind():
    asked = [request(str(number), str(number)) for number in range(100)]
    tried = {
        str(number): AttemptCount(4, 4 if number < 40 else 1 if number < 60 else 0)
        for number in range(90)
    }
    sft, rl = staged(asked, tried, 0.1, seed=1)
    names = [one.id for one in (*sft, *rl)]
    assert sorted(names, key=int) == [one.id for one in asked[:90]]
    hard_in_sft = sum(one.level == "hard" for one in sft)
    easy_in_rl = sum(one.level == "easy" for one in rl)
    assert (hard_in_sft, easy_in_rl) == (4, 6)  # a tenth of what stands beside them
    assert (sft, rl) == staged(asked, tried, 0.1, seed=1) != staged(asked, tried, 0.1, seed=2)
    assert not any(one.level != "easy" for one in staged(asked, tried, 0)[0])
