"""Every recipe loads and says what it is, every row of docs/recipes.md is planned, and
recipes that are compared differ in nothing else."""

import importlib.util
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tripwright.bridges.trl import check
from tripwright.bridges.verl.settings import check_for_verl
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.rewards import PLANNER_R1_8B
from tripwright.training.fit import memory, peak, size_of
from tripwright.training.grpo import GrpoSettings
from tripwright.training.losses import Clip
from tripwright.training.recipe import Recipe, differing, load_recipe
from tripwright.training.recipe_list import recipe_named
from tripwright.transcript import OVERLONG

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "recipes"
NAMES = sorted(
    path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.toml")
)
COMMANDS = re.findall(
    r"^\| .* \| `(tripwright .* --set .*)` \|$", (ROOT / "docs" / "recipes.md").read_text(), re.M
)


def recipe(name: str, *changes: str) -> Recipe:
    return load_recipe(FOLDER / f"{name}.toml", changes)


def grpo(name: str, *changes: str) -> GrpoSettings:
    rl = recipe(name, *changes).rl
    assert rl is not None and isinstance(rl.settings, GrpoSettings)
    return rl.settings


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_and_says_what_it_is(name):
    loaded, lines = recipe(name), (FOLDER / f"{name}.toml").read_text().splitlines()
    verb = "train" if loaded.rl is not None else "sft"
    command = rf"# tripwright {verb} recipes/{name}\.toml( --engine (trl|verl))? --out runs/\S+"
    assert re.fullmatch(command, lines[0])
    heads = [line[2:].partition(": ") for line in lines if line.startswith("# ")]
    for key in ("does", "rows", "needs", "memory", "time"):
        assert [bool(text) for head, _, text in heads if head == key] == [True]
    (rows,) = (text.split(", ") for head, _, text in heads if head == "rows")
    assert all(re.fullmatch(r"[PSDB]\d+", row) for row in rows)
    if not name.startswith(("nano/", "nano_errands/", "hour/")):
        assert any("NEVER RUN HERE" in line for line in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_row_of_the_tables_is_planned(command):
    """It changes what it says, and what it takes is reckoned."""
    program, verb, name, *options = shlex.split(command)
    assert (program, verb) == ("tripwright", "train") and options[-2] == "--out"
    changes = [
        value for option, value in zip(options, options[1:], strict=False) if option == "--set"
    ]
    before, after = (load_recipe(recipe_named(name).path, each) for each in ((), changes))
    assert before != after
    if "--engine" in options:
        check_for_verl(after)
    start = after.model.pretrained or ""
    known = (
        replace(after, model=replace(after.model, pretrained=None)) if "runs/" in start else after
    )
    assert memory(known, size_of(known), "cuda")
    if "data_" in options[-1] and options[-1][-1].isdigit():  # row S8, at equal gradient steps
        count = int(options[-1].rpartition("_")[2])
        assert count * after.rl.settings.max_epochs == 1000 * 5
        lengths = [epochs for _, epochs in after.rl.settings.curriculum.stages]
        assert sum(lengths) == after.rl.settings.max_epochs


def test_the_tables_have_every_row():
    assert len(COMMANDS) == 40


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("nano/")])
def test_nano_recipes_share_their_start_their_trips_and_their_budget(name):
    loaded = recipe(name)
    if loaded.rl is None or name == "nano/quickstart":
        return
    one, other = loaded.rl.settings, grpo("nano/grpo_stage1")
    assert loaded.model == recipe("nano/grpo_stage1").model and loaded.copy_pretraining is None
    assert loaded.data == recipe("nano/grpo_stage1").data
    for shared in ("steps", "prompts_per_step", "group_size", "rules", "optimizer", "curriculum"):
        assert getattr(one, shared) == getattr(other, shared)


@pytest.mark.parametrize("few", ["", "few_"])
def test_rl_and_its_control_take_the_same_time_from_the_same_start(few):
    rl, control = recipe(f"hour/{few}rl"), recipe(f"hour/{few}control")
    assert rl.sft.max_minutes + rl.rl.settings.max_minutes == control.sft.max_minutes
    assert rl.model.pretrained == control.model.pretrained and control.rl is None
    assert rl.sft.expert_transcripts == control.sft.expert_transcripts


def test_errands_compare_replay_with_plain_grpo():
    """Both from one start, with D5's reward and the same time; only what row D7 adds differs."""
    ours, plain = grpo("nano_errands/deeptravel"), grpo("nano_errands/grpo")
    added = {name: getattr(plain, name) for name in ("clip", "filter", "replay", "kl")}
    assert replace(ours, **added) == plain
    assert recipe("nano_errands/deeptravel").model == recipe("nano_errands/grpo").model


# ---- what the papers print


def test_planner_r1():
    """Rows P4 to P7 and P9."""
    for name, size in (("8b", "8B"), ("32b", "32B")):
        loaded, settings = recipe(f"planner_r1/{name}"), grpo(f"planner_r1/{name}")
        assert loaded.model.pretrained == f"Qwen/Qwen3-{size}" and loaded.sft is None
        assert loaded.dialect.dialect() == dialect_named("planner_r1")
        batch = settings.prompts_per_step, settings.group_size, settings.minibatches
        assert (settings.steps, *batch, settings.epochs_per_batch) == (500, 16, 8, 2, 1)
        assert settings.clip == Clip(0.2, 0.2, 3.0) and settings.aggregation == "trajectory-mean"
        rates = settings.kl.beta, settings.entropy_bonus, settings.temperature, settings.final_rate
        assert rates == (0, 0, 1.0, 1.0)
        optimizer = settings.optimizer
        steps = optimizer.adamw_learning_rate, optimizer.weight_decay, optimizer.grad_clip
        assert (optimizer.name, *steps) == ("adamw", 1e-6, 0.01, 1.0)
    assert grpo("planner_r1/8b").curriculum == PLANNER_R1_8B
    stages = (("stage1", 50), ("stage2", 350), ("stage3", 100))
    assert grpo("planner_r1/32b").curriculum.stages == stages


@pytest.mark.parametrize(
    ("name", "stages", "branches"),
    [
        ("1.5b_arpo", (("macro", 5),), True),
        ("3b_curriculum", (("sum", 2), ("macro", 2), ("success", 1)), False),
        ("7b_sum", (("sum", 5),), False),
    ],
)
def test_star(name, stages, branches):
    """Rows S5, S6 and S12."""
    loaded, settings = recipe(f"star/{name}"), grpo(f"star/{name}")
    batch = settings.prompts_per_step, settings.group_size, settings.max_epochs, settings.steps
    assert batch == (32, 8, 5, None) and settings.temperature == 1.0
    assert settings.optimizer.adamw_learning_rate == 2e-6 and settings.kl.beta == 0
    assert settings.aggregation == "group-token-mean" and settings.out_of_loss == OVERLONG
    assert settings.clip.low < settings.clip.high
    assert (settings.curriculum.kind, settings.curriculum.stages) == ("epochs", stages)
    assert (settings.branching is not None) == branches
    dialect = loaded.dialect.dialect()
    assert (dialect.name, dialect.max_calls, dialect.context_tokens) == ("star", 60, 30 * 1024)


@pytest.mark.parametrize(
    ("name", "epochs"),
    [("star/sft", 4), ("star/sft_3b", 4), ("star/sft_1.5b", 6), ("deeptravel/cold_start", 2)],
)
def test_fine_tuning(name, epochs):
    """Rows S4 and D6; TRL takes them as they are."""
    loaded = recipe(name)
    settings, _ = check(loaded)
    assert (settings.batch_size, settings.max_epochs, settings.steps) == (32, epochs, None)
    assert settings.optimizer.adamw_learning_rate == 5e-6 and settings.warm_up == 0.1


def test_deeptravel():
    """Row D7. What the paper does not print is said in the recipe's comments."""
    loaded, settings = recipe("deeptravel/rl"), grpo("deeptravel/rl")
    assert settings.group_size == 8 and settings.optimizer.adamw_learning_rate == 5e-7
    assert settings.filter.min_std == 0.1 and settings.replay is not None and settings.kl.beta > 0
    assert settings.curriculum.stages[0][0] == "success"
    dialect = loaded.dialect.dialect()
    limits = dialect.max_turns, dialect.max_response_tokens
    assert (dialect.name, *limits) == ("deeptravel", 8, 32 * 1024)
    assert loaded.judging is not None  # rows D3 and D4
    assert loaded.live is not None and loaded.live.services == "live.toml"
    assert not loaded.live.replay and loaded.data.world is None


# ---- what recipes say of their memory is what `tripwright fit` reckons


REAL = {
    path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "recipes/real").glob("*.toml")
}


def peak_gb(loaded: Recipe) -> float:
    return peak(memory(loaded, size_of(loaded), "cuda"))


@pytest.mark.parametrize("name", REAL)
def test_it_fits_the_card_that_it_is_for(name):
    (stated,) = re.findall(r"^# memory: ([\d.]+) GB .*not verified on a GPU", REAL[name], re.M)
    card = 141 if "of 141 GB" in REAL[name] else 80
    found = peak_gb(recipe(f"real/{name}"))
    assert stated == f"{found:.1f}" and found < card


@pytest.mark.parametrize("name", ["planner_r1_8b", "star_7b"])
def test_offloaded_state_lets_a_smaller_card_do_as_it_says(name):
    loaded = recipe(f"real/{name}")

    def away(table: Any) -> Any:
        return table and replace(table, optimizer=replace(table.optimizer, state="offloaded"))

    rl = loaded.rl._replace(settings=away(loaded.rl.settings))
    moved = replace(loaded, sft=away(loaded.sft), rl=rl)
    stages = memory(moved, size_of(moved), "cuda")
    host = max(sum(stage.host.values()) for stage in stages) / 1e9
    words = " ".join(REAL[name].replace("\n#", "").split())
    assert f"{peak(stages):.1f}" in words and f"{host:.1f}" in words and peak(stages) < 80


def test_stars_cold_start_on_one_gpu_differs_in_formats_alone():
    own, papers = (recipe(name).record()["sft"] for name in ("real/star_7b", "star/sft"))
    assert {path for path, *_ in differing(papers, own)} == {"dtype", "optimizer.state"}


def test_the_papers_recipes_and_the_table_say_what_fit_reckons():
    """`python benchmarks/fit_papers.py --write` makes them again."""
    found = importlib.util.spec_from_file_location("fit_papers", ROOT / "benchmarks/fit_papers.py")
    fit_papers = importlib.util.module_from_spec(found)
    found.loader.exec_module(fit_papers)
    assert f"\n{fit_papers.table()}\n" in (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
    for entry in fit_papers.papers_recipes():
        lines = Path(entry.path).read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith("# engine: ")] == [
            fit_papers.engine_line(entry)
        ], entry.name
