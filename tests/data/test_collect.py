"""Which episodes are kept, which are not and why, and that the counts add up."""

import json

import pytest

from tests.data.conftest import (
    Line,
    collected,
    failed,
    read_lines,
    stopped,
    turns,
    unscored,
)
from tripwright.data import trajectories as collecting
from tripwright.data.trajectories import collect, open_runs
from tripwright.domains import face_named
from tripwright.errors import UserError


@pytest.mark.parametrize("dialect", ["planner_r1", "compact", "star"])
def test_the_expert_s_episodes_are_clean_and_say_what_made_them(made, tmp_path, dialect):
    found = collected(made / dialect, tmp_path / "out.jsonl")
    counts = dict.fromkeys(("episodes", "kept", "requests"), 6) | {"judged_again": 0, "dropped": {}}
    runs = {dialect: {"episodes": 6, "kept": 6}}
    assert found == {"rules": "strict", "runs": runs, **counts}
    given = read_lines(made / dialect / "transcripts.jsonl")
    card = json.loads((made / dialect / "run_card.json").read_text())
    for line, line_of_run in zip(read_lines(tmp_path / "out.jsonl"), given, strict=True):
        assert line["transcript"] == line_of_run["transcript"]
        assert line["plan"] == line_of_run["plan"]
        assert line["id"] == f"{dialect}/{line_of_run['id']}"
        assert line["rules"] == "strict"
        assert line["verdict"]["final"] is True
        assert line["dialect"] == dialect
        assert line["policy"] == {"kind": "expert"}
        assert line["world_hash"] == card["world"]["content_hash"]
        assert line["tools"] == (
            face_named("planner_r1").schemas() if dialect == "planner_r1" else None
        )


def without_plan(line: Line) -> None:
    line["plan"] = None
    failed_schema = {"passed": False, "state": "failed", "message": "not JSON"}
    line["verdict"]["groups"][0]["facts"]["schema"] |= failed_schema


def another_call_recorded(line: Line) -> None:
    turns(line)[0]["call"]["arguments"] = {"city": "Elsewhere"}


def unknown_tool(line: Line) -> None:
    turn = turns(line)[0]
    turn["text"] = turn["text"].replace(f'"name":"{turn["call"]["name"]}"', '"name":"teleport"')
    turn["call"] |= {"name": "teleport", "error": True}


def missing_argument(line: Line) -> None:
    turn = turns(line)[0]
    arguments = json.dumps(turn["call"]["arguments"], separators=(",", ":"), ensure_ascii=False)
    turn["text"] = turn["text"].replace(arguments, "{}")
    turn["call"] |= {"arguments": {}, "error": True}


def several_calls(line: Line) -> None:
    turns(line)[0]["text"] += turns(line)[1]["text"]


def two_answers(line: Line) -> None:
    turns(line)[-1]["text"] *= 2


def more_after(line: Line) -> None:
    turns(line)[0]["text"] += " And then I shall see."


def thought_not_closed(line: Line) -> None:
    unmarked = turns(line)[0]["text"].replace("<think>", "").replace("</think>", "")
    turns(line)[0]["text"] = f"<think>Hm. {unmarked}"


def fenced(line: Line) -> None:
    answer = f"```json\n{line['transcript']['answer']}\n```"
    turns(line)[-1]["text"] = f"<answer>{answer}</answer>"
    line["transcript"]["answer"] = answer


def half_a_pair(line: Line) -> None:
    turns(line)[0]["text"] = "\ud800" + turns(line)[0]["text"]


def free_words(line: Line) -> None:
    turns(line)[0]["text"] = "First the way. " + turns(line)[0]["text"]


def honest_miss(line: Line) -> None:
    turns(line)[0]["call"]["error"] = True


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (stopped, "no answer: max_turns"),
        (unscored, collecting.UNSCORED),
        (without_plan, collecting.NO_PLAN),
        (failed, "fails the strict rules"),
        (two_answers, collecting.UNREADABLE),
        (another_call_recorded, collecting.UNREADABLE),
        (unknown_tool, collecting.MALFORMED),
        (missing_argument, collecting.MALFORMED),
        (several_calls, collecting.SEVERAL_CALLS),
        (more_after, collecting.TEXT_AFTER),
        (thought_not_closed, collecting.STRAY_THOUGHT),
        (fenced, collecting.FENCED),
        (half_a_pair, collecting.NOT_TEXT),
        (free_words, None),  # row P2 asks for one call a turn and says nothing of other words
        (honest_miss, None),  # looking for what is not there is no malformed call
    ],
)
def test_what_is_not_clean_is_left_with_its_reason(copied, tmp_path, spoil, reason):
    def change(lines: list[Line]) -> list[Line]:
        spoil(lines[2])
        return lines

    found = collected(copied("planner_r1", change), tmp_path / "out.jsonl")
    assert found["dropped"] == ({} if reason is None else {reason: 1})
    assert found["kept"] == 6 - (reason is not None) == len(read_lines(tmp_path / "out.jsonl"))


@pytest.mark.parametrize(
    "spoil", [free_words, thought_not_closed], ids=["words before the thought", "not closed"]
)
def test_star_asks_for_one_thought_and_nothing_else(copied, tmp_path, spoil):
    def change(lines: list[Line]) -> list[Line]:
        spoil(lines[0])
        turn = turns(lines[1])[0]
        turn["text"] = turn["text"].partition("</think>\n")[2]
        return lines

    found = collected(copied("star", change), tmp_path / "out.jsonl")
    assert found["dropped"] == {collecting.UNREADABLE: 2}


def test_other_rules_are_judged_again_in_the_world(copied, world, tmp_path):
    def change(lines: list[Line]) -> list[Line]:
        lines[3]["plan"][1]["breakfast"] = False  # given, for the official rules
        return lines

    folder = copied("planner_r1", change, rules="official")
    with pytest.raises(UserError, match="give its world with --world"):
        collected(folder, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    found = collect(open_runs([folder]), tmp_path / "out.jsonl", [world])
    assert found["dropped"] == {"fails the strict rules": 1}
    assert (found["kept"], found["judged_again"]) == (5, 6)
    assert all(
        line["rules"] == "strict" and line["verdict"]["final"]
        for line in read_lines(tmp_path / "out.jsonl")
    )
    assert collect(open_runs([folder]), tmp_path / "official.jsonl", rules="official")["kept"] == 6


def test_the_order_in_which_episodes_ended_does_not_matter(copied, tmp_path):
    one = copied("planner_r1", name="a/run")
    other = copied("planner_r1", lambda lines: lines[::-1], name="b/run")
    collected(one, tmp_path / "one.jsonl", most_per_query=1)
    collected(other, tmp_path / "other.jsonl", most_per_query=1)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()


def test_runs_of_one_name_keep_their_ids_apart(copied, tmp_path):
    folders = [copied("planner_r1", name="a/run"), copied("planner_r1", name="b/run")]
    found = collect(open_runs(folders), tmp_path / "out.jsonl")
    assert len({line["id"] for line in read_lines(tmp_path / "out.jsonl")}) == found["kept"] == 12
    assert found["requests"] == 6 and [run["kept"] for run in found["runs"].values()] == [6, 6]


def test_an_unfinished_run_is_refused_or_taken_as_far_as_it_went(copied, tmp_path):
    folder = copied("planner_r1")
    lines = (folder / "transcripts.jsonl").read_bytes()
    (folder / "transcripts.jsonl").write_bytes(lines[:-40])  # the last line is being written
    with pytest.raises(UserError, match="it has 5 episodes, and its score.json speaks of 6"):
        open_runs([folder])
    (folder / "score.json").unlink()
    with pytest.raises(UserError, match="not finished: it has 5 episodes"):
        open_runs([folder])
    assert collect(open_runs([folder], unfinished=True), tmp_path / "out.jsonl")["kept"] == 5


def test_runs_that_cannot_be_used(copied, world, tmp_path):
    elsewhere = copied("planner_r1", name="b", world={"name": "w", "content_hash": "x"})
    with pytest.raises(UserError, match="No run was played in the world"):
        collect(open_runs([elsewhere]), tmp_path / "out.jsonl", [world])
    with pytest.raises(UserError, match="dialect 'klingon'"):
        open_runs([copied("planner_r1", name="other", dialect={"name": "klingon"})])
    with pytest.raises(UserError, match="given twice"):
        open_runs([elsewhere, elsewhere / ".." / "b"])
