"""Table 8's figures, counted by hand, and the unit that goes with them; row S3's check."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines
from tripwright.data.statistics import newcombe, reliability, statistics, token_counter
from tripwright.data.trajectories import StoredEpisode, read_trajectories
from tripwright.domains import domain_of
from tripwright.domains.travelplanner.query import Query
from tripwright.errors import UserError
from tripwright.evals.scoreboard import score_records
from tripwright.runs import Run
from tripwright.statistics.rates import rate
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript


def trajectory(level: str | None, text: str, calls: int, answer: str) -> StoredEpisode:
    asked = {"org": "A", "dest": "B", "days": 3, "date": ["1", "2", "3"], "budget": 9}
    asked |= {"visiting_city_number": 1, "people_number": 1}
    query = Query.model_validate({**asked, "query": text, "level": level})
    segments = [Segment("system", "plan"), Segment("user", text)]
    for _ in range(calls):
        segments += [
            Segment("assistant", "look", call=ToolCall("t", {}, "found it")),
            Segment("tool", "found it"),
        ]
    segments.append(Segment("assistant", f"<answer>{answer}</answer>"))
    transcript = Transcript(segments, StopReason.ANSWER, answer)
    return StoredEpisode("1", domain_of("star"), query, transcript, None, {"dialect": "star"})


GIVEN = (
    trajectory("easy", "a trip", 1, "stay"),
    trajectory("easy", "a trip", 3, "go"),
    trajectory("hard", "a hard trip", 5, "go far"),
    trajectory(None, "which trip", 0, ""),
)


def test_the_columns_by_difficulty():
    found = statistics(GIVEN)
    assert (found["unit"], found["tokenizer"]) == ("characters", None)
    assert found["dialects"] == {"star": 4}
    assert list(found["levels"]) == ["easy", "hard", "unknown", "all"]
    easy, every = found["levels"]["easy"], found["levels"]["all"]
    counted = {"n": 2, "share": 0.5, "requests": 1, "tool_calls": 2.0, "turns": 3.0}
    assert easy.items() >= counted.items()
    # plan 4, request 6, answer's tags 17; each call 4 of the turn and 8 of what it found
    assert easy["length"] == ((27 + 12 + 4) + (27 + 36 + 2)) / 2 and easy["length_max"] == 65
    assert easy["agent_length"] == ((17 + 4 + 4) + (17 + 12 + 2)) / 2 and easy["plan_length"] == 3.0
    assert every.items() >= {"n": 4, "share": 1.0, "requests": 3, "tool_calls": 9 / 4}.items()


def test_tokens_are_those_of_the_tokenizer_named(small_tokenizer, tmp_path):
    small_tokenizer.save_pretrained(tmp_path)
    found = statistics(GIVEN[:1], tmp_path)
    assert (found["unit"], found["tokenizer"]) == ("tokens", str(tmp_path))
    texts = [segment.text for segment in GIVEN[0].transcript.segments]
    tokens = sum(len(small_tokenizer.encode(text, add_special_tokens=False)) for text in texts)
    assert found["levels"]["all"]["length"] == tokens < sum(map(len, texts))


def test_wrong_tokenizers_and_files_are_one_line(tmp_path):
    with pytest.raises(UserError, match="No tokenizer in"):
        token_counter(tmp_path / "none")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(UserError, match="No trajectories in"):
        statistics(read_trajectories([tmp_path / "empty.jsonl"]))


# ---- row S3's check: one policy on two sets of queries


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
    ],
)
def test_newcombe_s_printed_examples(first, second, low, high):
    """Table II of Newcombe 1998, method 10."""
    found = newcombe(rate(*first), rate(*second))
    assert found["low"] == pytest.approx(low, abs=5e-5)
    assert found["high"] == pytest.approx(high, abs=5e-5)


def test_the_paper_s_own_figures_are_no_sure_difference():
    found = newcombe(rate(44, 200), rate(38, 180))  # 22.0% (printed: 21.9%) of 200, 21.1% of 180
    assert found["low"] < 0 < found["high"]


Lines = list[dict[str, Any]]


def outcomes(levels: str, passes: str, text: str, samples: int = 1) -> Callable[[Lines], Lines]:
    """Lines of as many requests as there are letters: e, m or h; and 1 or 0 for each sample, - for
    unscored."""

    def change(lines: Lines) -> Lines:
        made = []
        for number, passed in enumerate(passes):
            asked, known = number // samples, lines[0]
            level = {"e": "easy", "m": "medium", "h": "hard"}[levels[asked]]
            request = {**known["request"], "level": level, "query": f"{text} {asked}"}
            verdict = None if passed == "-" else {**known["verdict"], "final": passed == "1"}
            one = {"id": f"q{number}", "request": request, "verdict": verdict}
            made.append({**known, **one, "asked": {"format": ["schema"]}})
        return made

    return change


def run_of(copied: Callable[..., Path], change: Any, name: str, **card: Any) -> Run:
    """With the score that its lines have, and requests of its own."""
    folder = copied("planner_r1", change, name=name, **{"queries": {"sha256": name}, **card})
    score = score_records(read_lines(folder / "transcripts.jsonl"), "strict", {})
    (folder / "score.json").write_text(json.dumps(score))
    return Run.at(folder)


def compared(copied: Callable[..., Path], synthetic: Any, given: Any) -> dict[str, Any]:
    return reliability(run_of(copied, synthetic, "s"), run_of(copied, given, "g"))


def test_rates_differences_and_levels(copied):
    found = compared(
        copied, outcomes("eeeehhhh", "1111000-", "s"), outcomes("eehhhhhh", "11000001", "g")
    )
    assert (found["synthetic"]["k"], found["synthetic"]["n"]) == (4, 7)
    assert (found["given"]["k"], found["given"]["n"]) == (3, 8)
    assert found["difference"]["value"] == pytest.approx(4 / 7 - 3 / 8)
    assert found["unscored"] == {"synthetic": 1, "given": 0}
    assert list(found["levels"]) == ["easy", "hard"]
    assert found["levels"]["hard"]["difference"]["value"] == pytest.approx(-1 / 6)


def test_a_level_that_the_synthetic_queries_lack(copied):
    found = compared(copied, outcomes("eeee", "1111", "s"), outcomes("eehh", "1100", "g"))
    assert found["levels"]["hard"]["difference"] is None


def test_samples_of_one_request_are_not_independent(copied):
    one = compared(
        copied, outcomes("eeee", "1111" * 4, "s", samples=4), outcomes("eeee", "1100", "g")
    )
    assert one["synthetic"]["n"] == 16
    assert one["synthetic"]["low"] == pytest.approx(rate(4, 4)["low"])


def test_what_cannot_be_compared(copied):
    synthetic = run_of(copied, outcomes("ee", "10", "s"), "a")
    for why, passes, card in (
        ("of one policy: policy kind is", "10", {"policy": {"kind": "endpoint"}}),
        ("of one policy: rules is", "10", {"rules": "official"}),
        ("The same requests are in both", "10", {"queries": {"sha256": "a"}}),
        ("No scored episode in", "--", {}),
    ):
        given = run_of(copied, outcomes("ee", passes, "g"), why[:20], **card)
        with pytest.raises(UserError, match=why):
            reliability(synthetic, given)


def test_where_the_endpoint_lives_makes_no_other_policy(copied):
    policy = {"kind": "endpoint", "model": "m"}
    runs = [
        run_of(copied, outcomes("e", "1", at), at, policy=policy | {"base_url": f"http://{at}"})
        for at in ("a", "b")
    ]
    assert reliability(*runs)["difference"]["value"] == 0
