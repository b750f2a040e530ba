"""A run that is interrupted, torn, refused and taken up again; and the score of its lines."""

import copy
import io
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.baselines import RowsPolicy
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, HARD_NAMES
from tripwright.domains.travelplanner.scoring.score import Tally
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Policy, Session
from tripwright.errors import UserError
from tripwright.evals.report import write_report
from tripwright.evals.run import ProgressLine, run
from tripwright.evals.run_card import (
    git_state,
    model_fingerprint,
    queries_entry,
    run_card,
    settle_card,
)
from tripwright.evals.scoreboard import score_records
from tripwright.runs import episodes
from tripwright.world.generator import build_tables
from tripwright.world.store import World

DIALECT = dialect_named("planner_r1")
CARD: dict[str, Any] = {"policy": {"kind": "test"}, "rules": "strict", "date": "today"}


@pytest.fixture(scope="module")
def tasks() -> list[TripTask]:
    world = World.in_memory(build_tables("nano", 8))
    return [
        TripTask(f"q{i:02d}", query, world) for i, query in enumerate(make_queries(world, 20, 1))
    ]


class Faulty:
    """The expert, whose endpoint fails in some episodes; the run may be killed after some more."""

    name = "faulty"

    def __init__(self, failing: Iterable[str] = (), killed_after: int | None = None):
        self.failing, self.killed_after = set(failing), killed_after
        self.played: list[str] = []

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            if self.killed_after is not None and len(self.played) >= self.killed_after:
                raise KeyboardInterrupt
            self.played.append(session.task.id)
            if session.task.id in self.failing:
                session.fail("dead")
                yield session
            else:
                yield from ExpertPolicy().play([session])


def go(
    policy: Policy, tasks: list[TripTask], out: Path, card: dict[str, Any] = CARD, **more: Any
) -> dict[str, Any]:
    return run(policy, tasks, out, DIALECT, card=card, progress=False, **more)


def test_a_run_leaves_its_card_its_lines_and_its_score(tasks, tmp_path):
    score = go(ExpertPolicy(), tasks, tmp_path / "run")
    assert score == json.loads((tmp_path / "run" / "score.json").read_text())
    low = pytest.approx(0.839, abs=1e-3)
    assert score["metrics"]["final"] == {"value": 1.0, "low": low, "high": 1.0, "k": 20, "n": 20}
    assert (score["n"], score["unscored"], score["rules"]) == (20, 0, "strict")
    card = json.loads((tmp_path / "run" / "run_card.json").read_text())
    assert score["run_card"] == CARD | {"transcripts_version": 2} == card
    assert score["stop_reasons"] == {"answer": 20} and "warning" not in score
    assert set(score["constraints"]) == {*COMMONSENSE_NAMES, *HARD_NAMES}
    # the expert emits no tokens, which is not 0 tokens
    assert score["metrics"]["completion_tokens_mean"]["value"] is None
    assert 4 <= score["metrics"]["turns_mean"]["value"] <= 8
    assert write_report(tmp_path / "run").is_file()
    names = "report.html run_card.json score.json transcripts.jsonl".split()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == names


@pytest.mark.parametrize("tear", [b"", b'{"id": "q07", "que', b"\xff\xfe"])
def test_an_interrupted_run_is_taken_up_where_it_stopped(tasks, tmp_path, tear):
    whole = go(ExpertPolicy(), tasks, tmp_path / "whole")
    first, second = Faulty(killed_after=7), Faulty()
    with pytest.raises(KeyboardInterrupt):
        go(first, tasks, tmp_path / "run")
    with (tmp_path / "run" / "transcripts.jsonl").open("ab") as lines:
        lines.write(tear)
    assert not (tmp_path / "run" / "score.json").exists()
    score = go(second, tasks, tmp_path / "run")
    assert first.played + second.played == [task.id for task in tasks]
    assert score == whole
    ids = [record["id"] for record in episodes(tmp_path / "run" / "transcripts.jsonl")]
    assert ids == [task.id for task in tasks]
    assert go(third := Faulty(), tasks, tmp_path / "run") == whole and not third.played


def test_no_score_of_fewer_episodes_stands_beside_an_unfinished_run(tasks, tmp_path):
    run(Faulty(), tasks[:4], tmp_path, DIALECT, card=CARD, progress=False)
    with pytest.raises(KeyboardInterrupt):
        run(Faulty(killed_after=3), tasks, tmp_path, DIALECT, card=CARD, progress=False)
    assert not (tmp_path / "score.json").exists()
    assert run(Faulty(), tasks, tmp_path, DIALECT, card=CARD, progress=False)["n"] == len(tasks)


def test_unscored_episodes_are_out_of_the_rates_and_are_tried_again(tasks, tmp_path):
    score = go(Faulty(failing=["q03", "q04"]), tasks, tmp_path / "run")
    assert (score["n"], score["unscored"]) == (18, 2)
    assert score["metrics"]["final"]["value"] == 1.0 and score["metrics"]["final"]["n"] == 18
    assert score["worst_case"]["final"]["k"] == 18 and score["worst_case"]["final"]["n"] == 20
    assert score["worst_case"]["commonsense_micro"]["n"] == 160
    assert "2 of 20 episodes are unscored" in score["warning"]
    assert score["stop_reasons"] == {"answer": 18, "unscored": 2}
    again = Faulty(failing=["q04"])
    assert go(again, tasks, tmp_path / "run")["unscored"] == 1
    assert again.played == ["q03", "q04"]
    assert go(Faulty(), tasks, tmp_path / "run") == go(ExpertPolicy(), tasks, tmp_path / "whole")


def test_nothing_scored_is_no_rate_of_zero(tasks, tmp_path):
    score = go(Faulty(failing=[task.id for task in tasks]), tasks, tmp_path / "run")
    assert score["metrics"]["final"] == {"value": None, "low": 0.0, "high": 1.0, "k": 0, "n": 0}
    assert score["worst_case"]["final"]["value"] == 0.0 and score["levels"] == {}


def test_two_runs_do_not_write_one_folder(tasks, tmp_path):
    class Second:
        name = "second"

        def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
            with pytest.raises(UserError, match="Another run is writing"):
                go(ExpertPolicy(), tasks, tmp_path / "run")
            yield from ExpertPolicy().play(sessions)

    assert go(Second(), tasks, tmp_path / "run")["n"] == 20


def test_tasks_with_one_id_are_a_mistake_of_the_caller(tasks, tmp_path):
    with pytest.raises(ValueError, match="same id"):
        go(ExpertPolicy(), [tasks[0], tasks[0]], tmp_path / "run")


# ---- the card


def a_card(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    queries = tmp_path / "queries.jsonl"
    queries.write_text(changes.pop("text", "{}\n"))
    world = World.in_memory(build_tables("nano", changes.pop("world_seed", 8)))
    settings: dict[str, Any] = {
        "policy": {"kind": "endpoint", "model": "m", "base_url": "http://a/v1"}, "decoding": {"temperature": 0.0}, "dialect": DIALECT,
        "rules": "official", "place": {"name": world.name, "content_hash": world.content_hash}, **changes,
    }  # fmt: skip
    return run_card(queries=queries_entry(queries), **settings)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"policy": {"kind": "endpoint", "model": "n", "base_url": "http://a/v1"}}, "policy model"),
        ({"samples": 4}, "samples is 1 there and 4 here"),
        ({"emptied_tools": True}, "emptied_tools is false there and true here"),
    ],
)
def test_a_folder_is_continued_only_by_what_made_it(tmp_path, changes, told):
    settle_card(tmp_path / "run", a_card(tmp_path))
    with pytest.raises(UserError) as problem:
        settle_card(tmp_path / "run", a_card(tmp_path, **changes))
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)
    assert str(problem.value).count(" there and ") == 1


def test_what_does_not_matter_may_differ(tmp_path):
    first = settle_card(tmp_path / "run", a_card(tmp_path))
    policy = {"kind": "endpoint", "model": "m", "base_url": "http://b:9/v1"}
    moved = a_card(tmp_path, policy=policy) | {"date": "later", "git": None}
    moved["queries"] = moved["queries"] | {"path": "elsewhere.jsonl"}
    assert settle_card(tmp_path / "run", moved) == first


def test_transcripts_of_nobody_knows_what_are_not_continued(tmp_path):
    (tmp_path / "transcripts.jsonl").write_text("")
    with pytest.raises(UserError, match=r"no run_card\.json"):
        settle_card(tmp_path, CARD)
    (tmp_path / "run_card.json").write_text("{")
    with pytest.raises(UserError, match="not a run card"):
        settle_card(tmp_path, CARD)


def test_outside_a_checkout_there_is_no_revision(tmp_path):
    assert git_state(tmp_path / "tripwright") is None
    (tmp_path / ".git").write_text("broken")
    (tmp_path / "tripwright").mkdir()
    assert git_state(tmp_path / "tripwright") is None


def test_a_retrained_checkpoint_is_another_model(tmp_path):
    assert model_fingerprint("Qwen/Qwen3-8B") is None
    (tmp_path / "model.safetensors").write_bytes(b"0" * 3_000_000)
    before = model_fingerprint(tmp_path)
    assert before == model_fingerprint(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"0" * 2_999_999 + b"1")
    assert model_fingerprint(tmp_path) != before


# ---- the score


@pytest.fixture(scope="module")
def lines(tasks: list[TripTask], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Episodes of a policy that passes some, with one unscored."""
    out = tmp_path_factory.mktemp("lines")
    go(RowsPolicy("cheapest"), tasks[:12], out / "rows")
    go(Faulty(failing=["q19"]), tasks[12:], out / "expert")
    runs = (out / name / "transcripts.jsonl" for name in ("rows", "expert"))
    return [line for run in runs for line in episodes(run)]


def test_the_rates_are_those_of_the_tally(tasks, tmp_path):
    """T4's metrics, counted a second way over the verdicts themselves."""
    from tripwright.domains.travelplanner.rules.evaluate import judge
    from tripwright.episode import play

    episodes = list(play(RowsPolicy("cheapest"), tasks, DIALECT))
    tally = Tally()
    for episode in episodes:
        request, world = episode.task.request, episode.task.world
        tally.add(request, judge(request, episode.more["plan"], world))
    summary = tally.summary("official")
    records = [json.loads(json.dumps(episode.record())) for episode in episodes]
    metrics = score_records(records, "official", {})["metrics"]
    names = {"delivery": "delivery_rate", "final": "final_pass_rate"}
    for ours in (*names, "commonsense_micro", "commonsense_macro", "hard_micro", "hard_macro"):
        of_tally = summary[names.get(ours, ours)]
        counts = of_tally["numerator"], of_tally["denominator"]
        assert (metrics[ours]["k"], metrics[ours]["n"]) == counts, ours


def test_the_constraints_add_up_to_the_micro_rates(lines):
    score = score_records(lines, "official", {})
    for micro, names in (("commonsense_micro", COMMONSENSE_NAMES), ("hard_micro", HARD_NAMES)):
        found = [score["constraints"][name] for name in names]
        for count in ("k", "n"):
            assert sum(each[count] for each in found) == score["metrics"][micro][count]
    assert sum(level["final"]["n"] for level in score["levels"].values()) == score["n"] == 19
    levels = list(score["levels"])
    assert levels == [level for level in ("easy", "medium", "hard") if level in levels]


def test_the_order_of_the_lines_does_not_matter_and_the_later_line_counts(lines):
    score = score_records(lines, "official", {})
    shuffled = lines[:]
    random.Random(0).shuffle(shuffled)
    assert score_records(iter(shuffled), "official", {})["metrics"] == score["metrics"]
    better = copy.deepcopy(lines[12]) | {"id": "q19"}
    assert score_records([*lines, better], "official", {})["unscored"] == 0
    assert score_records([better, *lines], "official", {})["unscored"] == 1


def test_samples_of_a_query_are_one_query_in_every_interval(tasks, tmp_path):
    once = go(Faulty(), tasks[:10], tmp_path / "once")
    many = [task.renamed(f"{task.id}-s{sample}") for task in tasks[:10] for sample in range(4)]
    score = go(Faulty(), many, tmp_path / "many")
    assert score["metrics"]["final"]["n"] == 40
    assert score["metrics"]["final"]["low"] == once["metrics"]["final"]["low"]
    assert score["metrics"]["pass^4"]["value"] == 1.0 and "pass^4" not in once["metrics"]


def test_sampled_tokens_are_counted_else_the_endpoints_figure(lines):
    counted, sampled = copy.deepcopy(lines[0]), copy.deepcopy(lines[1])
    counted["transcript"]["usage"] = {"completion_tokens": 70.0}
    sampled["transcript"]["segments"][2]["loss_mask"] = [1] * 30
    score = score_records([counted, sampled, lines[2]], "official", {})
    assert score["metrics"]["completion_tokens_mean"]["value"] == 50.0
    assert score["metrics"]["completion_tokens_mean"]["n"] == 2


# ---- progress


def test_progress_is_a_few_lines_in_a_log_and_one_on_a_terminal(
    tasks, tmp_path, capsys, monkeypatch
):
    run(Faulty(failing=["q03"]), tasks, tmp_path / "run", DIALECT, card=CARD)
    printed = capsys.readouterr()
    assert printed.out == "" and "\r" not in printed.err
    assert "20/20 episodes, pass 100.0% [83%, 100%], 1 unscored, " in printed.err.splitlines()[-1]
    assert len(printed.err.splitlines()) < 10
    run(Faulty(), tasks, tmp_path / "run", DIALECT, card=CARD)
    assert "19 of 20 episodes are there already" in capsys.readouterr().err

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    run(Faulty(), tasks, tmp_path / "other", DIALECT, card=CARD)
    assert "20/20 episodes" in terminal.getvalue() and terminal.getvalue().count("\n") == 1
    assert ProgressLine(0).text().startswith("0/0 episodes")
