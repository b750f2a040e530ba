"""Every recipe loads and says what it is, every row of docs/recipes.md is planned, and recipes that
are compared differ in nothing else; any recipe is read whole or refused in one line."""

import importlib.util
import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError

pytest.importorskip("torch")

from tripwright.bridges.trl import check
from tripwright.bridges.verl.settings import check_for_verl
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import Mix
from tripwright.rewards.curriculum import Curriculum
from tripwright.training.fit import memory, peak, size_of
from tripwright.training.grpo import GrpoSettings
from tripwright.training.losses import Clip
from tripwright.training.recipe import (
    EvaluationSettings,
    Recipe,
    check_needs,
    differing,
    load_recipe,
)
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
    changes = [value for option, value in pairwise(options) if option == "--set"]
    before, after = (load_recipe(recipe_named(name).path, each) for each in ((), changes))
    assert before != after
    if "--engine" in options:
        check_for_verl(after)
    if "runs/" in (after.model.pretrained or ""):
        after = replace(after, model=replace(after.model, pretrained=None))
    assert memory(after, size_of(after), "cuda")
    if "data_" in options[-1] and options[-1][-1].isdigit():  # row S8, at equal gradient steps
        count = int(options[-1].rpartition("_")[2])
        assert count * after.rl.settings.max_epochs == 1000 * 5
        lengths = [epochs for _, epochs in after.rl.settings.curriculum.stages]
        assert sum(lengths) == after.rl.settings.max_epochs


def test_the_tables_have_every_row():
    assert len(COMMANDS) == 26


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
    for name, first, second in (("8b", 100, 300), ("32b", 50, 350)):
        stages = (("stage1", first), ("stage2", second), ("stage3", 100))
        assert grpo(f"planner_r1/{name}").curriculum == Curriculum(stages=stages)


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
        stated = [line for line in lines if line.startswith("# engine: ")]
        assert stated == [fit_papers.engine_line(entry)], entry.name


# ---- a recipe is read whole or refused in one line


SERVER = 'kind = "vllm"\nurl = "http://127.0.0.1:8000"\nweights = "w"\n'
RECIPES = Path(__file__).resolve().parents[2] / "recipes"


def load(tmp_path: Path, text: str) -> Recipe:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return load_recipe(path)


def test_an_empty_recipe_is_all_defaults(tmp_path):
    strict = EvaluationSettings(rules="strict")  # the strictest of the domain
    assert load(tmp_path, "") == Recipe(evaluation=strict)


def test_arrays_are_tuples_whole_numbers_are_fractions_and_none_is_none(tmp_path):
    recipe = load(
        tmp_path,
        '[data.mix]\ndays = [3, 5]\nslack = [1, 2]\nstyle = "rich"\n[sft]\nsteps = "none"\n'
        'max_minutes = 2\n[grpo.clip]\ndual = "none"',
    )
    assert recipe.data.mix == Mix(days=(3, 5), slack=(1.0, 2.0), style="rich")
    assert recipe.sft is not None and recipe.sft.steps is None and recipe.sft.max_minutes == 2.0
    assert isinstance(recipe.rl.settings, GrpoSettings)
    assert recipe.rl.settings.clip.dual is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[dpo]", r"unknown setting 'dpo'.* Accepted: .*grpo, ppo, rft, rl"),
        ("[rl]", "rl: setting 'algorithm' is missing"),
        ("sed = 1", r"unknown setting 'sed'\. Did you mean seed"),
        ("[faults]\nprobability = 2.0", r"recipe\.toml: faults: .* from 0 to 1"),
        ("[grpo]\ngroups = 8", r"grpo: unknown setting 'groups'\. Did you mean group_size"),
        ('[live]\nstore = "s"', r"live: setting 'snapshot' is missing"),
        ("seed = true", r"setting 'seed': .*integer.* \(found True\)"),
        ('[sft]\nsteps = "none"', r"sft would never end"),
        ("[data.mix]\nlevels = [1, 2]", r"setting 'levels'"),
        ("grpo = 3", r"expected a table of settings, found 3"),
        ('[grpo.server]\nkind = "tgi"\nurl = "http://x"\nweights = "w"', r"setting 'kind'"),
        ('[ppo.server]\nkind = "vllm"\nurl = "x:1"\nweights = "w"', r"found 'x:1'"),
        (f"[grpo]\n[grpo.branching]\n[grpo.server]\n{SERVER}", r"grpo\.branching is of our own"),
        (f"[rft]\ntool_threads = 2\n[rft.server]\n{SERVER}", r"rft\.tool_threads is of our own"),
        (f"[grpo.server]\n{SERVER}max_gap = 0", r"gap"),
        ('[dialect]\nname = "french"', r"Unknown dialect 'french'"),
        ("[dialect]\ncontext_tokens = 100", r"max_turn_tokens \(224\) must be below"),
        ("[model.shape]\npositions = 512", r"the model has 512 positions, the dialect needs 1280"),
        ("[evaluation]\ncontext_tokens = 4096", r"has 2048 positions, the evaluation needs 4096"),
        ('[data]\nworld = "worlds/nano"', r"data\.world and data\.queries belong together"),
        ("[grpo]\ngroup_size = 1", r"'group_size': .*greater .*equal to 2 \(found 1"),
        ('[sft]\ndtype = "int8"', r"unknown sft\.dtype 'int8'"),
        ('[grpo.curriculum]\nstages = [["stage4", 3]]', r"unknown reward 'stage4'\. Accepted"),
        ("[grpo.curriculum]\nstages = []", r"'stages': .*at least 1 item"),
        ("[grpo]\n[ppo]", r"one table of reinforcement learning a recipe: found \[grpo\]\[ppo\]"),
        ("[grpo.filter]\nrefill = true", r"grpo: filter.refill .* give filter\.min_std"),
        ('[grpo.kl]\nestimator = "k4"', r"grpo: kl: setting 'estimator': .*'k2' or 'k3' \("),
        ('[grpo]\nout_of_loss = ["too_long"]', r"setting 'out_of_loss'.*context_overflow"),
        ("[grpo.branching]\ninitial = 9", r"branching\.initial is at most group_size \(8\), found"),
        ('[grpo.curriculum]\nkind = "epochs"', r"generated trips have no epochs: give data\."),
        ('[data]\nscale = "pico"', r"unknown data\.scale 'pico'\. Accepted: nano"),
        ('loggers = ["carrier_pigeon"]', r"setting 'loggers': .*'tensorboard' or 'wandb'"),
        ("[sft.optimizer]\nbetas = [1.5, 0.9]", r"'betas': .*less than 1"),
        ("[data.mix]\ndays = [4]", r"data\.mix: a mix needs days out of 3, 5, 7 .*, found days 4"),
        ("[data.mix]\nslack = [1.5, 1.2]", r"data\.mix: slack is a range from low to high"),
        ("[model.shape]\nheads = 3", r"heads \(3\) must be a multiple of kv_heads \(2\)"),
        ("[grpo]\nmax_minutes = nan", r"setting 'max_minutes'.*number|max_minutes must be a numb"),
        ('[data]\ntraining_scales = ["nano", "pico"]', r"unknown data\.training_scales 'pico'\."),
    ],
)
def test_a_bad_recipe_is_refused_in_one_line(text, why, tmp_path):
    with pytest.raises(UserError, match=why) as refused:
        load(tmp_path, text)
    assert "\n" not in str(refused.value)


def test_a_recipe_says_what_differs_from_its_base(tmp_path):
    """A table of the base goes with "none", and a base may have one itself."""
    (tmp_path / "first.toml").write_text(
        'base = "nano/grpo"\nseed = 7\n[grpo]\nsteps = 3\n[grpo.replay]\nevery = 2\n'
    )
    recipe = load(tmp_path, 'base = "first.toml"\n[grpo]\ngroup_size = 4\nreplay = "none"\n')
    grpo = load_recipe(RECIPES / "nano" / "grpo.toml")
    assert grpo.rl is not None and isinstance(grpo.rl.settings, GrpoSettings)
    settings = replace(grpo.rl.settings, steps=3, group_size=4)
    assert recipe == replace(grpo, seed=7, rl=grpo.rl._replace(settings=settings))
    other = load(tmp_path, 'base = "first.toml"\ngrpo = "none"\n[ppo]\nsteps = 1\n')
    assert other.rl is not None and other.rl.algorithm == "ppo"


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ("nano/gpro", r"base: No recipe 'nano/gpro'\. Did you mean nano/grpo"),
        ("recipe.toml", r"its base begins from this recipe again\."),
        (3, r"base is the name or the file of another recipe, found 3\."),
    ],
)
def test_a_base_that_cannot_be_is_refused(base, why, tmp_path):
    with pytest.raises(UserError, match=why):
        load(tmp_path, f"base = {base!r}")


def test_settings_go_over_a_recipe_and_are_checked_as_it_is():
    changes = ["grpo.clip.high=0.28", "grpo.replay=none", "sft={}", "sft.max_minutes=none"]
    recipe = load_recipe(RECIPES / "nano" / "deeptravel.toml", [*changes, "name = my run"])
    assert recipe.name == "my run" and recipe.sft is not None and recipe.sft.max_minutes is None
    assert recipe.rl is not None and isinstance(recipe.rl.settings, GrpoSettings)
    assert recipe.rl.settings.clip.high == 0.28 and recipe.rl.settings.replay is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("grpo.clip.hihg=0.28", r"clip: unknown setting 'hihg'\. Did you mean high"),
        ("grpo.steps", r"expected KEY=VALUE"),
        ("grpo..steps=3", r"expected KEY=VALUE"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(change, why):
    with pytest.raises(UserError, match=why) as refused:
        load_recipe(RECIPES / "nano" / "grpo.toml", [change])
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ('[data]\nworld = "no/world"\nqueries = "no/queries.jsonl"', "data.world: nothing at"),
        ('[sft]\ndata = "no/messages.jsonl"', "sft.data: nothing at 'no/messages.jsonl'"),
    ],
)
def test_files_that_are_not_there_are_named(text, missing, tmp_path):
    recipe = load(tmp_path, text)  # which reads no data, so that recipes can be listed anywhere
    with pytest.raises(UserError, match=re.escape(missing)):
        check_needs(recipe)
