"""docs/rewards.md: the two rewards on the page are trained with as it says, and replay still knows
what passed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.files import TINY_TOML, read_lines
from tripwright.cli.main import main
from tripwright.domains import dialect_named, domain_named
from tripwright.episode import Episode, open_session
from tripwright.errors import UserError
from tripwright.policies.base import ask
from tripwright.rewards.spec import check_reward_spec, resolve_reward
from tripwright.transcript import Segment, ToolCall, Transcript

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rewards.md").read_text(encoding="utf-8")
KNOWN = domain_named("travelplanner").rewards


@pytest.fixture
def my_rewards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's module, in the folder where commands are given."""
    (code,) = re.findall(r'```python\n("""Rewards that look.*?)```', PAGE, re.DOTALL)
    (tmp_path / "my_rewards.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "my_rewards", raising=False)
    return tmp_path


def test_a_penalty_takes_from_the_total_and_nothing_from_passing(my_rewards, lab):
    calls = [ToolCall("a", {"b": 1}, "x", error=n == 2) for n in range(3)]
    repeated = [Segment("assistant", "", [1] * 300, [1] * 300, call=call) for call in calls]
    episode = Episode(lab.trip, Transcript(repeated), lab.final)
    names = ("my_rewards:short", "my_rewards:clean_calls")
    short, clean = (resolve_reward(name, KNOWN)(episode) for name in names)
    assert short.total == pytest.approx(5 - 0.5) and short.parts["length"] == pytest.approx(-0.5)
    assert clean.total == pytest.approx(5 - 0.2 - 0.6)
    assert (clean.parts["errors"], clean.parts["repeats"]) == (-0.2, -0.6)
    assert short.passed(episode) and clean.passed(episode)
    failed = replace(episode, verdict=lab.half)
    assert not resolve_reward("my_rewards:short", KNOWN)(failed).passed(failed)


@pytest.mark.parametrize("on_repeated", ["end", "error", "answer"])
def test_a_repeated_call_is_charged_whatever_the_dialect_does_with_it(my_rewards, lab, on_repeated):
    clean = resolve_reward("my_rewards:clean_calls", KNOWN)
    session = open_session(lab.trip, replace(dialect_named("planner_r1"), on_repeated=on_repeated))
    rows = [ask(session, "search_restaurants", city=lab.trip.request.dest) for _ in range(2)]
    assert rows[0] and session.transcript.repeated_calls == 1
    assert rows[1] == (rows[0] if on_repeated == "answer" else [])
    assert clean(Episode(lab.trip, session.transcript, lab.final)).parts["repeats"] == -0.3


def test_replay_keeps_what_failed_and_not_what_was_long(my_rewards, lab):
    pytest.importorskip("torch")
    from tripwright.training.grpo import ReplayBuffer, ReplaySettings
    from tripwright.training.rollouts import RolloutGroup

    long = Transcript([Segment("assistant", "", [1] * 900, [1] * 900)])
    groups = [
        RolloutGroup(n, lab.trips().at(n), [Episode(lab.trip, long, verdict)] * 2)
        for n, verdict in enumerate((lab.final, lab.half))
    ]
    for group in groups:
        group.rewards = group.rewarded(resolve_reward("my_rewards:short", KNOWN))
        assert max(made.total for made in group.rewards if made is not None) < 5
    buffer = ReplayBuffer(ReplaySettings(every=1, share=0.5), lab.trips())
    buffer.remember(groups)
    assert [number for number, _ in buffer.due(1, 4)] == [1]


def test_a_recipe_trains_with_both_and_nobody_else_imports_them(my_rewards):
    (stages,) = re.findall(r'^stages = \[\["my_rewards.*\]$', PAGE, re.MULTILINE)
    model = TINY_TOML.replace("[model]", 'on_repeated = "error"\n[model]')
    recipe = f"""{model}
[grpo]
steps = 2
prompts_per_step = 2
group_size = 2
micro_batch_size = 2
[grpo.curriculum]
{stages.replace("20", "1")}
[grpo.replay]
every = 2
[evaluation]
queries = 2
difficulty_queries = 2
"""
    (my_rewards / "recipe.toml").write_text(recipe)
    assert main(["train", "recipe.toml", "--out", "runs/own"]) == 0
    rows = read_lines(Path("runs/own/metrics.jsonl"))
    first, second = (row for row in rows if row["stage"] == "rl")
    assert "reward_length" in first and "reward_errors" not in first
    assert {"reward_errors", "reward_repeats"} <= second.keys()
    (my_rewards / "my_rewards.py").write_text("raise SystemExit('this code was run')")
    __import__("sys").modules.pop("my_rewards", None)
    assert main(["report", "runs/own"]) == 0
    assert main(["examine", "recipe.toml", "--out", "runs/own"]) == 0


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("stage9", "unknown reward 'stage9'. Accepted: dense, success, stage1"),
        ("my rewards:short", "unknown reward"),
        ({}, "without weights"),
    ],
)
def test_what_can_be_no_reward_is_refused_unimported(named, why):
    with pytest.raises(UserError, match=re.escape(why)):
        check_reward_spec(named, KNOWN)


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("no_such_module:f", "cannot be imported (ModuleNotFoundError"),
        ("broken_rewards:f", "cannot be imported (SyntaxError"),
        ("my_rewards:f", "cannot be imported (AttributeError"),
        ("my_rewards:PER_TOKEN", "is no function"),
    ],
)
def test_a_function_that_is_not_there_is_one_line(my_rewards, named, why):
    (my_rewards / "broken_rewards.py").write_text("def f(:")
    with pytest.raises(UserError, match=re.escape(why)):
        resolve_reward(named, KNOWN)


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("1.0", "returned 1.0. Expected a RewardBreakdown"),
        ("None", "returned None"),
        ("RewardBreakdown(float('nan'), {})", "of finite numbers"),
        ("RewardBreakdown(1.0, {}, ('pace',))", "'pace', which these verdicts have not. Accepted"),
    ],
)
def test_what_a_function_returns_is_looked_at(my_rewards, lab, returned, why, monkeypatch):
    imported = "from tripwright.rewards.reward import RewardBreakdown"
    (my_rewards / "odd_rewards.py").write_text(f"{imported}\nf = lambda episode: {returned}\n")
    monkeypatch.delitem(__import__("sys").modules, "odd_rewards", raising=False)
    with pytest.raises(UserError, match=re.escape(why)):
        resolve_reward("odd_rewards:f", KNOWN)(Episode(lab.trip, Transcript(), lab.final))


@pytest.mark.parametrize("stage", ['"no_such_module:f"', "{hard_makro = 1.0}"])
def test_a_bad_reward_is_said_before_a_cold_start_is_spent(my_rewards, stage):
    (my_rewards / "recipe.toml").write_text(
        f"[sft]\nsteps = 2\n[grpo]\nsteps = 1\n[grpo.curriculum]\nstages = [[{stage}, 1]]\n"
    )
    assert main(["train", "recipe.toml", "--out", "runs/bad"]) == 2
    assert not Path("runs").exists()


def test_weights_of_terms_stand_in_a_recipe(lab):
    episode = Episode(lab.trip, Transcript(), lab.half)
    reward = resolve_reward({"commonsense_macro": 2.0, "hard_micro": 1.0}, KNOWN)
    assert reward(episode).total == 2.0
    with pytest.raises(UserError, match="weighs 'turns_macro', which these verdicts have not"):
        resolve_reward({"turns_macro": 1.0}, KNOWN)(episode)
