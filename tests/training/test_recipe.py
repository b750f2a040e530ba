"""A recipe is read whole or refused in one line; the files in recipes/ are what they say they
are."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tripwright.errors import UserError

pytest.importorskip("torch")

from tripwright.domains.travelplanner.queries.sample import Mix
from tripwright.training.grpo import GrpoSettings
from tripwright.training.recipe import EvaluationSettings, Recipe, check_needs, load_recipe
from tripwright.training.stages import quickstart_recipe

SERVER = 'kind = "vllm"\nurl = "http://127.0.0.1:8000"\nweights = "w"\n'
RECIPES = Path(__file__).resolve().parents[2] / "recipes"


def test_the_quickstart_on_file_is_the_one_built_in():
    assert load_recipe(RECIPES / "nano" / "quickstart.toml") == quickstart_recipe(30)


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
        ("[dpo]", r"unknown setting 'dpo'\. Accepted: .*grpo, ppo, rft, rl"),
        ("[rl]", "rl: setting 'algorithm' is missing"),
        ("[grpo]\nentropy_bonus = -1", r"'entropy_bonus': .*greater .*equal to 0 \(found -1"),
        ("sed = 1", r"unknown setting 'sed'\. Accepted: name, seed"),
        ("[faults]\nprobability = 2.0", r"recipe\.toml: faults: .* from 0 to 1"),
        ("[grpo]\ngroups = 8", r"grpo: unknown setting 'groups'\. Accepted: .*group"),
        ('[live]\nstore = "s"', r"live: setting 'snapshot' is missing"),
        ("seed = true", r"setting 'seed': .*integer.* \(found True\)"),
        ('[sft]\nsteps = "none"', r"sft would never end"),
        ("seed = 1.5", r"setting 'seed': .*integer.* \(found 1\.5\)"),
        ("[data.mix]\nlevels = [1, 2]", r"setting 'levels'"),
        ("grpo = 3", r"expected a table of settings, found 3"),
        ('[grpo.server]\nkind = "tgi"\nurl = "http://x"\nweights = "w"', r"setting 'kind'"),
        ('[ppo.server]\nkind = "vllm"\nurl = "x:1"\nweights = "w"', r"found 'x:1'"),
        (f"[grpo]\n[grpo.branching]\n[grpo.server]\n{SERVER}", r"grpo\.branching is of our own"),
        (f"[rft]\ntool_threads = 2\n[rft.server]\n{SERVER}", r"rft\.tool_threads is of our own"),
        (f"[grpo.server]\n{SERVER}max_gap = 0", r"gap"),
        ('[sft]\ntoo_long = "shorten"', r"'too_long': .*'drop', 'cut' or 'refuse'"),
        ('[dialect]\nname = "french"', r"Unknown dialect 'french'"),
        ("[dialect]\ncontext_tokens = 100", r"max_turn_tokens \(224\) must be below"),
        ("[model.shape]\npositions = 512", r"the model has 512 positions, the dialect needs 1280"),
        ("[evaluation]\ncontext_tokens = 4096", r"has 2048 positions, the evaluation needs 4096"),
        ('[data]\nworld = "worlds/nano"', r"data\.world and data\.queries belong together"),
        ("[grpo]\ngroup_size = 1", r"'group_size': .*greater .*equal to 2 \(found 1"),
        ('[sft]\ndtype = "int8"', r"unknown sft\.dtype 'int8'"),
        ('[grpo]\naggregation = "sum"', r"grpo: setting 'aggregation': .*'token-mean'"),
        ('[grpo.curriculum]\nstages = [["stage4", 3]]', r"unknown reward 'stage4'\. Accepted"),
        ("[grpo.curriculum]\nstages = []", r"'stages': .*at least 1 item"),
        ('[sft.optimizer]\nname = "sgd"', r"setting 'name': .*'muon' or 'adamw' \(found 'sgd'\)"),
        ("[grpo]\n[ppo]", r"one table of reinforcement learning a recipe: found \[grpo\]\[ppo\]"),
        ("[grpo.filter]\nrefill = true", r"grpo: filter.refill .* give filter\.min_std"),
        ('[grpo.kl]\nestimator = "k4"', r"grpo: kl: setting 'estimator': .*'k2' or 'k3' \("),
        ('[grpo.advantage]\nnormalise = "rank"', r"'normalise': .*'group', 'batch' or 'none'"),
        ('[grpo]\nout_of_loss = ["too_long"]', r"setting 'out_of_loss'.*context_overflow"),
        ("[grpo.branching]\ninitial = 9", r"branching\.initial is at most group_size \(8\), found"),
        ('[dialect]\non_malformed = "retry"', r"setting 'on_malformed'.*'end' or 'error'"),
        ('[grpo.curriculum]\nkind = "epochs"', r"generated trips have no epochs: give data\."),
        ("[grpo]\nmax_epochs = 5", r"generated trips have no epochs"),
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
    recipe = load_recipe(
        RECIPES / "nano" / "deeptravel.toml",
        [
            "grpo.clip.high=0.28",
            "grpo.replay=none",
            "name = my run",
            "sft={}",
            "sft.max_minutes=none",
        ],
    )
    assert recipe.name == "my run" and recipe.sft is not None and recipe.sft.max_minutes is None
    assert recipe.rl is not None and isinstance(recipe.rl.settings, GrpoSettings)
    assert recipe.rl.settings.clip.high == 0.28 and recipe.rl.settings.replay is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("grpo.clip.hihg=0.28", r"clip: unknown setting 'hihg'\. Accepted: low, high, dual"),
        ("grpo.steps", r"expected KEY=VALUE"),
        ("grpo..steps=3", r"expected KEY=VALUE"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(change, why):
    with pytest.raises(UserError, match=why) as refused:
        load_recipe(RECIPES / "nano" / "grpo.toml", [change])
    assert "\n" not in str(refused.value)


def test_a_missing_recipe_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"No recipe at '.*nowhere\.toml'"):
        load_recipe(tmp_path / "nowhere.toml")


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
