"""Every recipe loads, and the papers' figures are in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tripwright.rewards.curriculum import Curriculum
from tripwright.rl.grpo import Filter, GrpoSettings
from tripwright.sft.trl import check_for_trl
from tripwright.tools.faults import Faults
from tripwright.training.recipe import load_recipe
from tripwright.training.recipe_tables import Recipe
from tripwright.transcript import OVERLONG

FOLDER = Path(__file__).parents[2] / "recipes"
NAMES = sorted(
    path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.toml")
)


def recipe(name: str) -> Recipe:
    return load_recipe(FOLDER / f"{name}.toml")


def grpo(name: str) -> GrpoSettings:
    rl = recipe(name).rl
    assert rl is not None and isinstance(rl.settings, GrpoSettings)
    return rl.settings


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_and_says_what_it_is(name: str) -> None:
    loaded, lines = recipe(name), (FOLDER / f"{name}.toml").read_text().splitlines()
    verb = "train" if loaded.rl is not None else "sft"
    assert (
        lines[0].startswith(f"# tripwright {verb} recipes/{name}.toml ")
        and " --out runs/" in lines[0]
    )
    for key in ("does", "rows", "needs", "memory", "time"):
        assert sum(line.startswith(f"# {key}: ") for line in lines) == 1
    (rows,) = (
        line.removeprefix("# rows: ").split(", ") for line in lines if line.startswith("# rows: ")
    )
    assert all(row[0] in "PSDB" and row[1:].isdigit() for row in rows)
    if not name.startswith(("nano/", "nano_errands/", "hour/")):
        assert any("NEVER RUN HERE" in line for line in lines)


def test_nano_recipes_that_are_laid_side_by_side_differ_in_the_algorithm_alone() -> None:
    """Their rewards and the weight of a token are the same, unless the algorithm is about that."""
    plain = grpo("nano/grpo_stage1")
    star = replace(plain, aggregation="group-token-mean", clip=grpo("nano/star").clip)
    star = replace(star, out_of_loss=OVERLONG)
    replay, formula = grpo("nano/deeptravel"), grpo("nano/grpo").advantage
    for name, expected in {
        "grpo": replace(plain, aggregation="trajectory-mean", advantage=formula),
        "evidence": replace(plain, credit="evidence"),
        "star": star,
        "dapo": replace(star, filter=Filter(0.0)),
        "dapo_refill": replace(star, filter=Filter(0.0, refill=True, max_rounds=4)),
        "arpo": replace(star, branching=grpo("nano/arpo").branching),
        "deeptravel": replace(
            plain, clip=replay.clip, filter=Filter(0.1), replay=replay.replay, kl=replay.kl
        ),
    }.items():
        assert grpo(f"nano/{name}") == expected, name


def test_there_is_one_for_every_algorithm_and_stage() -> None:
    algorithms = (
        "grpo star dapo dapo_refill arpo deeptravel ppo rft sft cold_start quickstart".split()
    )
    rewards = "grpo_stage1 grpo_stage2 grpo_stage3 curriculum adaptive".split()
    assert {f"nano/{name}" for name in (*algorithms, *rewards)} <= set(NAMES)
    assert {
        "planner_r1/8b",
        "planner_r1/32b",
        "star/1.5b_arpo",
        "star/3b_curriculum",
        "star/7b_sum",
    } <= set(NAMES)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if name.startswith("nano/")
        and name not in ("nano/quickstart", "nano/cold_start", "nano/speedrun")
    ],
)
def test_nano_recipes_share_their_start_their_trips_and_their_budget(name: str) -> None:
    loaded = recipe(name)
    assert (
        loaded.model.pretrained == "runs/nano/cold_start/model/sft"
        and loaded.copy_pretraining is None
    )
    if loaded.rl is not None:
        _, settings = loaded.rl
        assert (settings.steps, settings.prompts_per_step, settings.group_size, settings.rules) == (
            200,
            8,
            8,
            "strict",
        )
        assert loaded.data.rl_mix is not None and loaded.data.rl_mix.levels == (1, 3, 3)
        assert settings.optimizer.name == "adamw" and settings.optimizer.adamw_learning_rate == 1e-4


@pytest.mark.parametrize("few", ["", "few_"])
def test_rl_and_its_control_take_the_same_time_from_the_same_start(few: str) -> None:
    rl, control = recipe(f"hour/{few}rl"), recipe(f"hour/{few}control")
    assert (
        rl.sft is not None and control.sft is not None and rl.rl is not None and control.rl is None
    )
    assert rl.sft.max_minutes is not None and rl.rl.settings.max_minutes is not None
    assert rl.sft.max_minutes + rl.rl.settings.max_minutes == control.sft.max_minutes
    assert (
        rl.model.pretrained == control.model.pretrained
        and rl.sft.expert_transcripts == control.sft.expert_transcripts
    )


def test_what_sets_the_nano_recipes_apart() -> None:
    assert (
        grpo("nano/grpo").aggregation == "trajectory-mean"
        and grpo("nano/grpo").advantage.population
    )
    for stage in ("stage1", "stage2", "stage3"):
        assert [name for name, _ in grpo(f"nano/grpo_{stage}").curriculum.stages] == [stage]
    assert [
        round(length / 200 * 500) for _, length in grpo("nano/curriculum").curriculum.stages
    ] == [100, 300, 100]
    assert grpo("nano/adaptive").curriculum.kind == "adaptive"
    star = grpo("nano/star")
    assert (
        star.clip.high > star.clip.low
        and star.out_of_loss == OVERLONG
        and star.aggregation == "group-token-mean"
    )
    assert grpo("nano/dapo").filter.min_std == 0.0 and not grpo("nano/dapo").filter.refill
    assert grpo("nano/dapo_refill").filter.refill
    assert grpo("nano/arpo").branching is not None
    deeptravel = grpo("nano/deeptravel")
    assert (
        deeptravel.filter.min_std == 0.1
        and deeptravel.replay is not None
        and deeptravel.kl.beta > 0
    )
    assert [rl.algorithm for name in ("nano/ppo", "nano/rft") if (rl := recipe(name).rl)] == [
        "ppo",
        "rft",
    ]


@pytest.mark.parametrize(("size", "stages"), [("8b", (100, 300, 100)), ("32b", (50, 350, 100))])
def test_planner_r1(size: str, stages: tuple[int, ...]) -> None:
    """Rows P4 to P7 and P9."""
    for name in (size, f"{size}_stage1", f"{size}_stage2", f"{size}_stage3"):
        loaded, settings = recipe(f"planner_r1/{name}"), grpo(f"planner_r1/{name}")
        assert loaded.model.pretrained == f"Qwen/Qwen3-{size.upper()}"
        assert (
            settings.steps,
            settings.prompts_per_step,
            settings.group_size,
            settings.minibatches,
            settings.epochs_per_batch,
        ) == (500, 16, 8, 2, 1)
        assert (settings.clip.low, settings.clip.high, settings.clip.dual) == (0.2, 0.2, 3.0)
        assert (
            settings.kl.beta == 0
            and settings.entropy_bonus == 0
            and settings.temperature == 1.0
            and settings.final_rate == 1.0
        )
        optimizer = settings.optimizer
        assert (optimizer.adamw_learning_rate, optimizer.weight_decay, optimizer.grad_clip) == (
            1e-6,
            0.01,
            1.0,
        )
        dialect = loaded.dialect.dialect()
        assert (
            dialect.max_turns,
            dialect.max_calls,
            dialect.max_tool_tokens,
            dialect.context_tokens,
        ) == (30, 30, 8192, 2268 + 30500)
    assert grpo(f"planner_r1/{size}").curriculum.stages == (
        ("stage1", stages[0]),
        ("stage2", stages[1]),
        ("stage3", stages[2]),
    )
    assert grpo(f"planner_r1/{size}_stage2").curriculum.stages == (("stage2", 500),)
    steps = {"8b": 3000, "32b": 2000}[size]  # of the long runs (row P8)
    long, short = grpo(f"planner_r1/{size}_{steps}"), grpo(f"planner_r1/{size}_stage1")
    assert long == replace(short, steps=steps, curriculum=Curriculum(stages=(("stage1", steps),)))


@pytest.mark.parametrize(
    ("name", "kind", "stages", "branches"),
    [
        ("1.5b_arpo", "epochs", (("macro", 5),), True),
        ("3b_curriculum", "epochs", (("sum", 2), ("macro", 2), ("success", 1)), False),
        ("7b_sum", "epochs", (("sum", 5),), False),
    ],
)
def test_star(name: str, kind: str, stages: tuple[tuple[str, float], ...], branches: bool) -> None:
    """Rows S5, S6 and S12."""
    loaded, settings = recipe(f"star/{name}"), grpo(f"star/{name}")
    assert (
        settings.prompts_per_step,
        settings.group_size,
        settings.max_epochs,
        settings.steps,
        settings.temperature,
    ) == (32, 8, 5, None, 1.0)
    assert settings.optimizer.adamw_learning_rate == 2e-6 and settings.kl.beta == 0
    assert (
        settings.aggregation == "group-token-mean"
        and settings.clip.low < settings.clip.high
        and settings.out_of_loss == OVERLONG
    )
    assert (settings.curriculum.kind, settings.curriculum.stages) == (kind, stages) and (
        settings.branching is not None
    ) == branches
    dialect = loaded.dialect.dialect()
    assert (dialect.name, dialect.max_calls, dialect.context_tokens) == ("star", 60, 30 * 1024)
    start = {"1.5b_arpo": "star_sft_1.5b", "3b_curriculum": "star_sft_3b", "7b_sum": "star_sft"}
    assert loaded.model.pretrained == f"runs/{start[name]}/model/sft"


@pytest.mark.parametrize(("size", "reward"), [("1.5b", "macro"), ("3b", "macro"), ("7b", "sum")])
def test_star_s_algorithms_differ_in_themselves_alone(size: str, reward: str) -> None:
    """Row S7, Table 4: the nine cells."""
    plain = {"1.5b": "1.5b_grpo", "3b": "3b_macro", "7b": "7b_sum"}[size]
    control, arpo = grpo(f"star/{plain}"), grpo(f"star/{size}_arpo")
    assert control.branching is None and control.curriculum.stages == ((reward, 5),)
    assert grpo(f"star/{size}_dapo") == replace(control, filter=Filter(0.0))
    assert arpo.branching is not None and replace(arpo, branching=None) == control


@pytest.mark.parametrize("count", [100, 200, 500, 2000])
def test_star_takes_as_many_steps_on_any_number_of_requests(count: int) -> None:
    """Row S8: some 155, with the stages of the curriculum in proportion."""
    baseline, settings = grpo("star/3b_curriculum"), grpo(f"star/3b_data_{count}")
    scale = 1000 / count
    stages = tuple((stage, epochs * scale) for stage, epochs in baseline.curriculum.stages)
    curriculum = replace(baseline.curriculum, stages=stages)
    assert settings == replace(baseline, max_epochs=5 * scale, curriculum=curriculum)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_star_on_one_level_differs_in_its_requests_alone(level: str) -> None:
    """Row S8."""
    baseline, loaded = recipe("star/3b_curriculum"), recipe(f"star/3b_data_{level}")
    same = replace(loaded, name=baseline.name, data=baseline.data)
    assert same == baseline and loaded.data != baseline.data


@pytest.mark.parametrize("percent", [1, 5, 10])
def test_star_with_tools_that_fail_differs_in_the_faults_alone(percent: int) -> None:
    """Row S9: the MACRO reward, and no faults in the control."""
    control, loaded = recipe("star/3b_macro"), recipe(f"star/3b_faults_{percent}")
    assert control.faults is None and loaded.faults == Faults(probability=percent / 100)
    assert replace(loaded, name=control.name, faults=None) == control
    assert grpo("star/3b_macro").curriculum.stages == (("macro", 5),)


@pytest.mark.parametrize(
    ("name", "model", "epochs"),
    [
        ("star/sft", "Qwen/Qwen2.5-7B-Instruct", 4),
        ("star/sft_3b", "Qwen/Qwen2.5-3B-Instruct", 4),
        ("star/sft_1.5b", "Qwen/Qwen2.5-1.5B-Instruct", 6),
        ("deeptravel/cold_start", "Qwen/Qwen3-8B", 2),
    ],
)
def test_fine_tuning(name: str, model: str, epochs: int) -> None:
    """Rows S4 and D6; TRL takes them as they are."""
    loaded = recipe(name)
    settings = loaded.sft
    assert settings is not None
    check_for_trl(settings, loaded.model.pretrained)
    assert loaded.model.pretrained == model
    assert (settings.batch_size, settings.max_epochs, settings.steps) == (32, epochs, None)
    assert settings.optimizer.adamw_learning_rate == 5e-6 and settings.warm_up == 0.1


def test_deeptravel() -> None:
    """Row D7. What the paper does not print is said in the recipe's comments."""
    loaded, settings = recipe("deeptravel/rl"), grpo("deeptravel/rl")
    assert (
        settings.group_size == 8
        and settings.optimizer.adamw_learning_rate == 5e-7
        and settings.filter.min_std == 0.1
    )
    assert (
        settings.replay is not None
        and settings.kl.beta > 0
        and settings.curriculum.stages[0][0] == "success"
    )
    dialect = loaded.dialect.dialect()
    limits = dialect.max_turns, dialect.context_tokens
    assert (dialect.name, *limits) == ("deeptravel", 8, 32 * 1024)
    assert loaded.judging.by == "judge"  # rows D3 and D4
    assert loaded.live is not None and loaded.live.services == "live.toml"
    assert not loaded.live.replay and loaded.data.world is None


def test_errands_compare_replay_with_plain_grpo() -> None:
    """Both from one start, with D5's reward and the same time; only what row D7 adds differs."""
    ours, plain = grpo("nano_errands/deeptravel"), grpo("nano_errands/grpo")
    assert ours.curriculum == plain.curriculum and ours.curriculum.stages[0][0] == "success"
    assert (ours.prompts_per_step, ours.group_size, ours.max_minutes, ours.optimizer) == (
        plain.prompts_per_step,
        plain.group_size,
        plain.max_minutes,
        plain.optimizer,
    )
    assert recipe("nano_errands/deeptravel").model == recipe("nano_errands/grpo").model
    assert ours.replay is not None and ours.filter.min_std == 0.1 and ours.kl.beta > 0
    assert plain.replay is None and plain.filter.min_std is None and plain.kl.beta == 0
