"""Runs of DeepTravel's kind as training data (row D6): what a verifier passed in the strict format,
and what is told of it."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.data.conftest import (
    Line,
    collected,
    failed,
    read_lines,
    samples_of,
    stopped,
    turns,
    unscored,
)
from tripwright.data import trajectories as collecting
from tripwright.data.export import export
from tripwright.data.split import REST, divide, merge, mix, write_parts
from tripwright.data.statistics import statistics
from tripwright.data.trajectories import (
    NOT_PASSED,
    ONE_OF_MANY,
    collect,
    open_runs,
    read_trajectories,
)
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.file import read_requests, write_requests
from tripwright.errors import UserError
from tripwright.training.sft_data import read_conversations
from tripwright.transcript import Transcript


@pytest.mark.parametrize("dialect", ["deeptravel_cards", "deeptravel_cards_compact"])
def test_what_the_verifier_passed_is_kept_with_what_made_it(errands, tmp_path, dialect):
    given = read_lines(errands / dialect / "transcripts.jsonl")
    passed = [line for line in given if line["verdict"]["final"]]
    found = collected(errands / dialect, tmp_path / "out.jsonl")
    left = len(given) - len(passed)
    assert len(passed) >= 5 and found["kept"] == found["requests"] == len(passed)
    assert found["judged_again"] == 0 and found["dropped"] == ({NOT_PASSED: left} if left else {})
    for line, line_of_run in zip(read_lines(tmp_path / "out.jsonl"), passed, strict=True):
        same = ("domain", "request", "transcript", "verdict", "verifier")
        assert [line[key] for key in same] == [line_of_run[key] for key in same]
        assert line["id"] == f"{dialect}/{line_of_run['id']}"
        assert line["rules"] == found["rules"] == "verified by rules"
        assert line["dialect"] == dialect
        assert line["policy"] == {"kind": "errand-expert"}
        assert line["tools"] is None
        assert len(line["world_hash"]) == 64


def test_what_is_collected_can_be_fine_tuned_on(errands, tmp_path):
    collected(errands / "deeptravel_cards_compact", tmp_path / "out.jsonl")
    read = list(read_conversations(tmp_path / "out.jsonl"))
    for conversation, line in zip(read, read_lines(tmp_path / "out.jsonl"), strict=True):
        assert conversation.transcript == Transcript.from_json(line["transcript"])
        assert "tools" in conversation.model_fields_set and conversation.tools is None


# ---- the strict format


def say(number: int, change: Callable[[str], str]) -> Callable[[Line], None]:
    """A change of what the agent said in that turn."""

    def spoil(line: Line) -> None:
        turn = turns(line)[number]
        turn["text"] = change(turn["text"])

    return spoil


def answered(change: Callable[[str], str]) -> Callable[[Line], None]:
    """A change of the answer, also where it is kept apart."""

    def spoil(line: Line) -> None:
        old = line["transcript"]["answer"]
        line["transcript"]["answer"] = change(old)
        turn = turns(line)[-1]
        turn["text"] = turn["text"].replace(old, change(old))

    return spoil


def without_argument(line: Line) -> None:
    turn = turns(line)[0]
    name, before = turn["call"]["name"], turn["text"].partition("<tool_call>")[0]
    turn["text"] = f'{before}<tool_call>{{"name":"{name}","arguments":{{}}}}</tool_call>'
    turn["call"] |= {"arguments": {}, "error": True}


def as_a_function(line: Line) -> None:
    """The paper's own way of writing a call."""
    turn = turns(line)[0]
    call = ", ".join(f'{name}="{value}"' for name, value in turn["call"]["arguments"].items())
    before = turn["text"].partition("<tool_call>")[0]
    turn["text"] = f"{before}<tool_call>{turn['call']['name']}({call})</tool_call>"


def swap(turn: int, old: str, new: str) -> Callable[[Line], None]:
    return say(turn, lambda text: text.replace(old, new))


CHOICE = "<tool_call_thinking>b</tool_call_thinking>"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (stopped, "no answer: max_turns"),
        (unscored, collecting.UNSCORED),
        (failed, NOT_PASSED),
        (without_argument, collecting.MALFORMED),
        (say(0, lambda text: text + " Now I wait."), collecting.UNREADABLE),
        (swap(0, "</think>", ""), collecting.UNREADABLE),
        (say(0, lambda text: "Well. " + text), collecting.UNREADABLE),
        (swap(1, "<tool_call>", "So: <tool_call>"), collecting.UNREADABLE),
        (say(0, lambda text: f"<think>A {CHOICE}</think>{text}"), collecting.UNREADABLE),
        (say(0, lambda text: 9 * "<think>Again.</think>\n" + text), collecting.UNREADABLE),
        (answered(lambda answer: "<think>Hm.</think> " + answer), collecting.UNREADABLE),
        (answered(lambda answer: f"```markdown\n{answer}\n```"), collecting.FENCED),
        (swap(0, "</think>", f"</think>\n{CHOICE}"), None),  # in the template's order
        (say(0, lambda text: text.partition("</think>")[2]), collecting.UNREADABLE),
        (as_a_function, None),
    ],
)
def test_what_is_not_in_the_strict_format_is_left_with_its_reason(copied, tmp_path, spoil, reason):
    def change(lines: list[Line]) -> list[Line]:
        spoil(lines[0])
        return lines

    before = collected(copied("deeptravel_cards", name="as it was"), tmp_path / "out.jsonl")
    found = collected(copied("deeptravel_cards", change), tmp_path / "out.jsonl")
    more = Counter(found["dropped"]) - Counter(before["dropped"])
    assert more == ({} if reason is None else {reason: 1})
    kept = before["kept"] - (reason is not None)
    assert found["kept"] == kept == len(read_lines(tmp_path / "out.jsonl"))


def test_samples_of_one_request_and_places_that_are_not_the_same(copied, tmp_path):
    def change(lines: list[Line]) -> list[Line]:
        return samples_of(lines[0], 3)

    runs = [
        copied("deeptravel_cards", change, name=name, world=place) for name, place in PLACES.items()
    ]
    found = collect(open_runs(runs[:1]), tmp_path / "out.jsonl", most_per_query=1)
    assert (found["requests"], found["dropped"]) == (1, {ONE_OF_MANY: 2})
    # recorded and replayed is one place, another day is not
    assert collect(open_runs(runs), tmp_path / "out.jsonl")["requests"] == 2


DAY = {"tools": {"train_search": "rail 1"}, "snapshot": "2026-06-20", "store": "live"}
PLACES = {
    "recorded": {**DAY, "mode": "record"},
    "replayed": {**DAY, "mode": "replay"},
    "later": {**DAY, "snapshot": "2026-07-01"},
}


# ---- what does not go together


def test_a_run_with_empty_tools_is_refused(copied, tmp_path):
    with pytest.raises(UserError, match="empty tools"):
        collected(copied("deeptravel_cards", emptied_tools=True), tmp_path / "out.jsonl")


def test_a_line_of_another_kind_is_no_episode_of_the_run(copied, made, tmp_path):
    def change(lines: list[Line]) -> list[Line]:
        return [*lines, read_lines(made / "star" / "transcripts.jsonl")[0] | {"id": "z"}]

    with pytest.raises(UserError, match="transcripts.jsonl:7: not an episode of a run"):
        collected(copied("deeptravel_cards", change), tmp_path / "out.jsonl")
    with pytest.raises(UserError, match="request field 'origin'"):
        emptied = lambda lines: [{**lines[0], "request": {}}]  # noqa: E731
        collected(copied("deeptravel_cards", emptied, name="empty"), tmp_path / "out.jsonl")


# ---- told and exported


def test_statistics_count_with_and_without_wishes(errands):
    episodes = list(read_trajectories([errands / "deeptravel_cards" / "transcripts.jsonl"]))
    found = statistics(episodes)
    wishes = {"with": 0, "without": 0}
    for line in read_lines(errands / "requests.jsonl"):
        wishes["with" if TravelRequest.model_validate(line).constrained else "without"] += 1
    assert {name: row["n"] for name, row in found["wishes"].items()} == wishes
    assert all(wishes.values())
    assert found["levels"]["all"]["n"] == sum(wishes.values()) == found["levels"]["all"]["requests"]
    calls = sum(len(episode.transcript.calls) for episode in episodes)
    assert found["levels"]["all"]["tool_calls"] == pytest.approx(calls / len(episodes))


def test_messages_say_whether_there_were_wishes(errands, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    collected(errands / "deeptravel_cards", tmp_path / "out.jsonl")
    episodes = list(read_trajectories([tmp_path / "out.jsonl"]))
    for name in ("a.jsonl", "a.parquet"):
        export(episodes, tmp_path / name)
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert rows == read_lines(tmp_path / "a.jsonl")
    for row, line in zip(rows, read_lines(tmp_path / "out.jsonl"), strict=True):
        request = TravelRequest.model_validate(line["request"])
        assert "days" not in row and row["wishes"] == ("with" if request.constrained else "without")
        assert json.loads(row["query"]) == line["request"]
        assert row["level"] == request.level
        assert row["tools"] is None
        assert [message["content"] for message in row["messages"]] == [
            s["text"] for s in line["transcript"]["segments"]
        ]


# ---- divided


def asked(number: int, level: str, wishes: bool, **more: Any) -> TravelRequest:
    way = {"origin": "A", "destination": "B", "depart_date": "2026-06-26"}
    fields = {"id": f"r{number}", "query": f"Trip {number}", "level": level, **way}
    wished = {"transport": "train"} if wishes else {}
    return TravelRequest.model_validate({**fields, **wished, **more})


def test_parts_keep_the_mix_of_levels_and_wishes_and_can_be_played(tmp_path):
    kinds = [("easy", True), ("easy", False), ("hard", True), ("hard", False)]
    made = [asked(10 * i + j, *kind) for i, kind in enumerate(kinds) for j in range(10)]
    write_requests(tmp_path / "all.jsonl", made)
    merged = merge([tmp_path / "all.jsonl"])
    parts = divide(merged.requests, {"train": 28, "validation": 8}, seed=1)
    for name, n in (("train", 7), ("validation", 2), (REST, 1)):
        assert mix(parts[name]) == {
            f"{level} {w}": n for level in ("easy", "hard") for w in ("with", "without")
        }
    places = write_parts(parts, tmp_path / "parts")
    read = {name: read_requests(path) for name, path in places.items()}  # as a run reads them
    given = {request.id: request for request in read_requests(tmp_path / "all.jsonl")}
    assert all(given[request.id] == request for part in read.values() for request in part)
    train, validation = ({request.id for request in read[part]} for part in parts if part != REST)
    assert not train & validation


def test_requests_of_one_id_are_refused(tmp_path):
    write_requests(tmp_path / "a.jsonl", [asked(1, "easy", True), asked(2, "easy", False)])
    write_requests(tmp_path / "b.jsonl", [asked(1, "easy", True, query="Another trip")])
    with pytest.raises(UserError, match="'b.jsonl:1' has the id 'r1' of 'a.jsonl:1'"):
        merge([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
