"""`tripwright fit`: the figures, for people and for programs, and the exit code."""

from contextlib import nullcontext
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tripwright.bridges.trl import check as check_for_trl
from tripwright.bridges.verl.launch import plan_lines
from tripwright.errors import UserError
from tripwright.training.fit import check_memory, clusters
from tripwright.training.recipe import load_recipe
from tripwright.training.recipe_list import all_recipes, recipe_named

ROOT = Path(__file__).resolve().parents[2]


SFT = 'threads = 1\n[model]\npretrained = "Qwen/Qwen3-8B"\n[sft]\nsteps = 5\ndtype = "float32"\n'


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "large.toml"
    path.write_text(SFT)
    return str(path)


def test_enough_memory_is_exit_code_0_and_too_little_1(recipe, typed):
    text = typed(f"fit {recipe} --memory 200 --device cuda --tokens 500").out
    assert "parameters: 8,190,735,360" in text
    text = typed(f"fit {recipe} --memory 24 --device cuda --tokens 500", code=1).out
    assert "sft.micro_batch_size = 1" in text


@pytest.mark.parametrize("name", [entry.name for entry in all_recipes(ROOT / "recipes")])
def test_nothing_is_advertised_that_a_start_refuses(name, typed, monkeypatch):
    """Every recipe, every engine, cards of 80 and 141 GB, every number of GPUs: verl's
    plan (--dry-run) is made for just those that are offered."""
    found = typed(f"fit {name} --model Qwen/Qwen3-8B --device cuda --tokens 500 --json").record
    read = load_recipe(recipe_named(name).path, ['model.pretrained = "Qwen/Qwen3-8B"'])
    assert found["peak_gb"] in [row["peak_gb"] for row in found["devices"][:2]]
    assert found["available_gb"] or found["fits"] is found["changes_suffice"] is None, "no GPU here"
    offered = [row["devices"] for row in found["devices"][2:]]
    for machines in clusters(read):
        with nullcontext() if machines.verl.gpus in offered else pytest.raises(UserError):
            assert list(plan_lines(machines, Path("run")))
    if "--engine trl" in next(e.command for e in all_recipes(ROOT / "recipes") if e.name == name):
        check_for_trl(read)
    monkeypatch.setattr("tripwright.training.fit.device_named", lambda _: torch.device("cuda"))
    for card in (80, 141):
        monkeypatch.setattr("tripwright.training.fit.total_memory_gb", lambda _, gb=card: gb)
        for row in found["devices"][:2]:
            if row["fits"][f"{card}_gb"]:
                check_memory(read)


def test_time_is_estimated_on_this_machine(tmp_path, typed):
    path = tmp_path / "small.toml"
    path.write_text(
        "threads = 1\n[model.shape]\nhidden = 32\nlayers = 1\nhead_size = 16\nfeed_forward ="
        ' 48\n[sft]\nsteps = 5\ndtype = "float32"\n'
    )
    found = typed(f"fit {path} --json").record
    (step,) = found["steps"]
    assert step["seconds"] > 0 and found["episode"]["measured"] and found["fits"]
    assert step["seconds_at_most"] == 5 * step["seconds"] == 60 * found["minutes_at_most"]


def test_its_advice_is_settings_that_can_be_given(recipe, typed):
    command = f"fit {recipe} --memory 60 --device cuda --tokens 500 --json"
    changes = typed(command, code=1).record["changes"]
    given = [word for change in changes for word in ("--set", change["setting"])]
    found = typed(command, given, code=1).record
    assert found["peak_gb"] == changes[-1]["peak_gb"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (SFT, ["--device", "tpu"], "--device"),
        (SFT, ["--memory", "0"], "--memory"),
        (SFT, ["--memory", "nan"], "--memory"),
        (SFT, ["--tokens", "1"], "--tokens"),
        ("name = 'x'\n", [], "has no stage"),
        (SFT.replace("Qwen/Qwen3-8B", "nowhere/at-all"), [], "'nowhere/at-all' is not here"),
        ("[sft\n", [], "not TOML"),
        ('[grpo]\nloss = "nowhere:loss"\n', [], "'nowhere:loss' cannot be imported"),
        ('[grpo.curriculum]\nstages = [["nowhere:r", 1]]\n', [], "Reward 'nowhere:r' cannot be"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(text, options, words, tmp_path, refused):
    path = tmp_path / "r.toml"
    path.write_text(text)
    error = refused(f"fit {path}", options)
    assert words in error
