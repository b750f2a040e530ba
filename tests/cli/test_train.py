"""`tripwright train` and `sft` as commands: what they refuse, and how they are stopped and
continued."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.files import TINY_TOML
from tripwright.cli.main import main

torch = pytest.importorskip("torch")


RECIPE = f"""{TINY_TOML}
[sft]
steps = 2
batch_size = 2

[grpo]
steps = 2
prompts_per_step = 2
group_size = 2
micro_batch_size = 2
"""


pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(RECIPE)
    return path


@pytest.mark.parametrize(
    ("verb", "words"),
    [("train", "no [grpo], [ppo], [rft] or [rl] table"), ("sft", "no [sft] table")],
)
def test_a_recipe_without_the_stage_is_refused(verb, words, recipe, tmp_path, refused):
    recipe.write_text(RECIPE.partition("[sft]")[0])
    assert words in refused(f"{verb} {recipe} --out {tmp_path}/run")
    assert not (tmp_path / "run").exists()


def test_an_engine_that_is_not_there_is_refused(recipe, refused):
    assert "'local', 'verl'" in refused(f"train {recipe} --engine cloud")


def test_a_command_told_to_end_leaves_a_checkpoint(recipe, tmp_path):
    """A real process and SIGTERM; tests/training/test_resume.py goes on from there."""
    recipe.write_text(RECIPE.replace("steps = 2", "steps = 100000", 1))
    arguments = ["sft", str(recipe), "--out", str(tmp_path / "run")]
    metrics = tmp_path / "run" / "metrics.jsonl"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "tripwright", *arguments],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while process.poll() is None and not (
                metrics.is_file() and metrics.read_text().count("\n") >= 3
            ):
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert process.returncode == 143, said
    assert "finishing this step first" in said and "Traceback" not in said
    step = metrics.read_text().count("\n")
    assert [place.name for place in (tmp_path / "run").glob("checkpoints/sft/*")] == [
        f"step-{step:06d}"
    ]


def test_a_finished_run_is_left_as_it_is(recipe, tmp_path, refused):
    """And another setting on the command line is another recipe."""
    arguments = ["sft", str(recipe), "--set", "sft.steps=1", "--out", str(tmp_path / "run")]
    assert main(arguments) == 0
    before = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert main(arguments) == 0
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == before
    assert json.loads((tmp_path / "run" / "recipe.json").read_text())["sft"]["steps"] == 1
    assert "sft.batch_size: 2 -> 3" in refused(arguments, "--set sft.batch_size=3")


def test_a_mistake_in_the_data_is_mended_in_the_same_folder(recipe, tmp_path, typed, refused):
    """Until something was trained, nothing hangs on the recipe and the data of a start that was
    refused."""
    turns = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "<answer>[]</answer>"},
    ]
    data, out = tmp_path / "mine.jsonl", tmp_path / "run"
    data.write_text(json.dumps({"messages": turns}) + "\n{broken\n")
    recipe.write_text(RECIPE.replace("\nbatch_size = 2", f'\nbatch_size = 2\ndata = "{data}"'))
    said = typed(f"sft {recipe} --out {out}", code=2).err
    assert "mine.jsonl:2" in said and "Traceback" not in said
    data.write_text(json.dumps({"messages": turns}) + "\n")
    recipe.write_text(recipe.read_text().replace("steps = 2", "steps = 3"))
    assert main(["sft", str(recipe), "--out", str(out)]) == 0
    assert json.loads((out / "recipe.json").read_text())["sft"]["steps"] == 3
    recipe.write_text(recipe.read_text().replace("steps = 3", "steps = 4"))
    assert "holds a run of another recipe: sft.steps: 3 -> 4" in refused(
        f"sft {recipe} --out {out}"
    )


@pytest.mark.parametrize("name", ["runs/nano/cold_start/model/sft", "./here", "/nowhere/model"])
def test_a_model_that_is_not_there_is_told_before_anything_is_made(name, recipe, tmp_path, refused):
    recipe.write_text(RECIPE.replace("[model]\n", f'[model]\npretrained = "{name}"\n'))
    said = refused(f"train {recipe} --out {tmp_path}/run")
    assert f"model.pretrained: no folder '{name}'. Make it first" in said
    assert not (tmp_path / "run").exists()
