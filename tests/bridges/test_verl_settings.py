"""A recipe as verl's configuration, without verl: what is said, what is refused, what a failed run
tells, and the table of Planner-R1's B.3 held to the code."""

import dataclasses
import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from safetensors.torch import load_file

from tests.conftest import nano_world
from tests.files import write_lines
from tripwright.bridges.verl.launch import (
    VerlCommand,
    VerlLoop,
    VerlProcess,
    cause_in,
    check_ray,
    missing,
    next_lines,
    plan_lines,
    prepare,
    put_adapter_down,
    verl_python,
)
from tripwright.bridges.verl.launch import command_for as command
from tripwright.bridges.verl.settings import check_for_verl, configuration, nested
from tripwright.cli.main import main
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.errors import UserError
from tripwright.inference.models import LoraSettings, adapter_parameters, add_adapter, base_of
from tripwright.training.grpo import Grpo, Kl
from tripwright.training.loop import StageClock
from tripwright.training.recipe import ClusterSettings, load_recipe
from tripwright.training.recipe_list import recipe_named
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import SftSettings

ROOT = Path(__file__).resolve().parents[2]
CPU = ClusterSettings(gpus_per_node=2, sampler="cpu", episode_workers=1)


def recipe(name: str, verl: ClusterSettings | None = CPU, **grpo: Any) -> Any:
    stem, *changes = name.split(" --set ")
    read = load_recipe(recipe_named(stem).path, changes)
    settings = dataclasses.replace(read.rl.settings, **grpo)
    return dataclasses.replace(read, verl=verl or read.verl, rl=read.rl._replace(settings=settings))


@pytest.mark.parametrize(
    "name",
    [
        "nano/grpo",
        "nano/star",
        "nano/star --set grpo.filter.min_std=0.0",
        "nano/star --set grpo.filter.min_std=0.0 --set grpo.filter.refill=true",
        "nano/deeptravel",
        'nano/grpo --set grpo.curriculum.stages=[["stage1", 40], ["stage2", 160]]',
    ],
)
def test_the_papers_algorithms_can_be_said(name, tmp_path):
    keys = configuration(recipe(name), "model", tmp_path)
    assert keys["trainer.total_training_steps"] == 200
    assert keys["actor_rollout_ref.rollout.n"] == 8
    assert keys["actor_rollout_ref.actor.use_kl_loss"] is (name == "nano/deeptravel")


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("nano/star --set grpo.branching.initial=4", {}, "[grpo.branching]"),
        ("nano/ppo", {}, "[ppo] is not done by verl"),
        ("nano/grpo", {"max_minutes": 9.0}, "grpo.max_minutes"),
        ("nano/deeptravel", {"max_epochs": 2.0}, "grpo.max_epochs with [grpo.replay]"),
        ("nano/grpo", {"dtype": "bfloat16"}, "grpo.dtype bfloat16 on a CPU"),
        ("nano/grpo", {"entropy_bonus": 0.1}, "grpo.entropy_bonus with another grpo.aggregation"),
        ("nano/grpo", {"loss_scale_factor": 9.0, "entropy_bonus": 0.1}, "loss_scale_factor"),
    ],
)
def test_what_verl_cannot_be_told_is_refused_by_name(name, settings, words):
    with pytest.raises(UserError, match=re.escape(words)):
        check_for_verl(recipe(name, **settings))


@pytest.mark.parametrize(
    ("steps", "epochs", "prompts", "expected"),
    [(None, 5.0, 4, 9), (None, 0.4, 1, 3), (7, 5.0, 4, 7), (20, 2.5, 3, 6), (12, None, 4, 12)],
)
def test_epochs_end_where_the_local_engine_ends(steps, epochs, prompts, expected, tmp_path):
    """7 requests; and the learning rate falls as there."""
    file, made = tmp_path / "queries.jsonl", make_queries(nano_world(5), 7, 1)
    write_lines(file, (query.record() for query in made))
    how = {"steps": steps, "max_epochs": epochs, "prompts_per_step": prompts, "final_rate": 0.25}
    read = recipe("nano/grpo", **how)
    read = dataclasses.replace(
        read, data=dataclasses.replace(read.data, world="w", queries=str(file))
    )
    local: Any = object.__new__(Grpo)
    local.settings, local.step, local.clock = read.rl.settings, 0, StageClock(steps, None)
    local.trips = SimpleNamespace(position=0, per_epoch=7)
    rates = []
    while local.progress < 1:
        rates.append(1 - 0.75 * local.progress)
        local.step, local.trips.position = local.step + 1, local.trips.position + prompts
    keys = configuration(read, "model", tmp_path)
    assert keys["trainer.total_training_steps"] == local.step == expected
    least = keys["actor_rollout_ref.actor.optim.min_lr_ratio"]
    verls = [1 - (1 - least) * step / expected for step in range(expected)]
    assert verls == pytest.approx(rates)
    file.unlink()  # so epochs cannot be counted
    counted = configuration(read, "model", tmp_path)["trainer.total_training_steps"]
    assert counted == (None if epochs else expected)


def test_all_that_verl_does_not_do_is_named_at_once_with_what_to_write(tmp_path):
    changes = ["grpo.loss=mine:loss", "grpo.max_minutes=9"]
    without = load_recipe(recipe_named("nano/grpo").path, changes)
    for ask in (check_for_verl, lambda read: list(plan_lines(read, tmp_path))):
        with pytest.raises(UserError, match=r"code of your own.*max_minutes.*table \[verl\]"):
            ask(without)


def test_the_first_adapter_is_the_local_engines(tiny_model, tmp_path):
    """A new one, whose base is not read; and one that a stage before has trained. In RL neither
    drops anything out."""
    pytest.importorskip("peft")
    base, lora = tmp_path / "base", LoraSettings(rank=2, dropout=0.1)
    tiny_model("qwen3", 50).save_pretrained(base)
    (base / "model.safetensors").unlink()
    read = dataclasses.replace(recipe("nano/grpo"), seed=3)
    read = dataclasses.replace(read, model=dataclasses.replace(read.model, lora=lora))
    assert put_adapter_down(read, str(base), tmp_path / "new") == str(base)
    local = tiny_model("qwen3", 50)
    add_adapter(local, lora, "base", 3)
    found = load_file(tmp_path / "new/adapter_model.safetensors")
    for name, ours in adapter_parameters(local):
        assert found[f"base_model.model.{name.replace('.default.', '.')}"].equal(ours)
    (tmp_path / "run/verl").mkdir(parents=True)
    assert put_adapter_down(read, str(tmp_path / "new"), tmp_path / "run/verl/adapter") == str(base)
    for folder in (tmp_path / "new", tmp_path / "run/verl/adapter"):
        assert json.loads((folder / "adapter_config.json").read_text())["lora_dropout"] == 0
        assert Path(base_of(folder)).samefile(base)
    run = tmp_path / "run"
    shutil.copytree(base, run / "model/start")
    put_adapter_down(read, str(run / "model/start"), run / "verl/adapter")
    RunFolder(run, read).adopt("rl", run / "verl/adapter")
    run = run.rename(tmp_path / "moved")
    for folder in (run / "verl/adapter", run / "model/rl"):
        assert Path(base_of(folder)).samefile(run / "model/start")
    after_sft = dataclasses.replace(read, sft=SftSettings(data="x"))
    kl = dataclasses.replace(read.rl.settings, kl=Kl(0.1), aggregation="token-mean")
    check_for_verl(dataclasses.replace(read, rl=read.rl._replace(settings=kl)))
    with pytest.raises(UserError, match=r"\[grpo.kl\] with \[model.lora\]"):
        check_for_verl(dataclasses.replace(after_sft, rl=read.rl._replace(settings=kl)))


def test_options_go_over_everything(tmp_path):
    options = {"trainer.save_freq": 7, "trainer.new": {"key": 1}}
    keys = configuration(
        recipe("nano/grpo", dataclasses.replace(CPU, options=options)), "model", tmp_path
    )
    assert nested(keys)["trainer"]["save_freq"] == 7
    assert nested(keys)["trainer"]["new"] == {"key": 1}


def test_a_step_finds_as_many_rows_as_it_has_prompts(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "run").mkdir()
    small = recipe("nano/grpo", steps=2, prompts_per_step=3)
    prepare(small, tmp_path / "run", command(small, "model", tmp_path / "run", "python"))
    rows = parquet.read_table(tmp_path / "run/verl/train.parquet").to_pylist()
    assert [row["agent_name"] for row in rows] == ["tripwright"] * 3
    written = json.loads((tmp_path / "run/verl/config.yaml").read_text())
    assert written["trainer"]["v1"]["trainer_mode"] == "tripwright"


def test_a_dry_run_says_command_and_keys(tmp_path):
    text = "\n".join(plan_lines(recipe("planner_r1/8b", None), tmp_path))
    assert "python -m verl.trainer.main_ppo --config-path" in text
    assert 'actor_rollout_ref.rollout.name: "sglang"' in text


def test_the_table_of_planner_r1s_configuration_is_what_the_code_writes():
    lines = (ROOT / "docs/planner-r1-b3.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    rows = {cell[0].strip("`"): cell[2] for cell in cells if cell and cell[0].startswith("`")}
    made = configuration(recipe("planner_r1/8b", None), "Qwen/Qwen3-8B", Path("/RUN"))
    assert len(rows) > 20
    for key, ours in rows.items():
        whole = f"actor_rollout_ref.{key}" if key.startswith(("actor.", "rollout.")) else key
        assert ours == _shown(made[whole]), key


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text}`".replace("/RUN", "RUN")


def test_no_verl_is_one_line_that_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("tripwright.bridges.verl.launch.tripwright.__file__", str(tmp_path / "a/b"))
    monkeypatch.delenv("TRIPWRIGHT_VERL", raising=False)
    with pytest.raises(UserError, match="make verl"):
        verl_python()
    if subprocess.run([sys.executable, "-c", "import verl"], capture_output=True).returncode:
        monkeypatch.setenv("TRIPWRIGHT_VERL", sys.executable)
        with pytest.raises(UserError, match=r"has verl none; expected 0\.9\.1"):
            verl_python()


def test_all_that_a_start_needs_is_named_at_once(monkeypatch, tmp_path):
    """flash-attn-4, which SGLang brings, is not what verl's default attention asks for."""
    python, key = tmp_path / "python", "actor_rollout_ref.model.override_config.attn_implementation"
    python.write_text("""#!/bin/sh\necho '{"verl": "0.9.1", "flash-attn-4": "4.0.0b15"}'""")
    python.chmod(0o755)
    monkeypatch.setenv("TRIPWRIGHT_VERL", str(python))
    monkeypatch.chdir(tmp_path)
    paper = recipe("planner_r1/8b", None)
    said = [line.partition(":")[0] for line in missing(paper)]
    files = ["data.world", "data.queries", "evaluation.file", "validation.file"]
    assert said == ["sampler", "attention", *files]
    sdpa = dataclasses.replace(paper.verl, options={key: "sdpa"})
    assert "attention" not in " ".join(missing(recipe("planner_r1/8b", sdpa)))
    said = [line.partition(":")[0] for line in missing(recipe("nano/grpo"))]
    assert said == ["model.pretrained"]  # a CPU needs no sampler of verl's
    assert main(["train", "planner_r1/8b", "--engine", "verl", "--dry-run"]) == 2
    with pytest.raises(UserError, match="sequence_parallel"):
        check_for_verl(recipe("nano/grpo", dataclasses.replace(CPU, sequence_parallel=2)))


def test_a_ray_that_is_not_there_is_said_at_once(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        for address in ("auto", f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            monkeypatch.setenv("RAY_ADDRESS", address)
            check_ray()
    for address in (f"127.0.0.1:{port}", "no such host:1", "127.0.0.1:99999"):
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(UserError, match=f"RAY_ADDRESS is '{address}', and no Ray answers"):
            check_ray()


def test_the_cause_is_the_agent_loops_own_exception():
    log = (
        "(AgentLoopWorkerTQ pid=7) Error in _run_prompt for uid=train-0-step1\n"
        "(AgentLoopWorkerTQ pid=7) Traceback (most recent call last):\n"
        "(AgentLoopWorkerTQ pid=7) KeyError: 'no such city'\n"
        "ray.exceptions.RayTaskError(RuntimeError): ray::TaskRunnerV1.run()\n"
        "RuntimeError: step 1: 3 of 4 trajectories came back\n"
    )
    assert cause_in(log).startswith("an agent loop raised KeyError: 'no such city'")
    assert cause_in("one\nValueError: two\n") == "ValueError: two"
    assert cause_in("one\n") == "no reason given"


def test_a_second_signal_waits_for_no_step(monkeypatch, tmp_path):
    """The first is only noted, so what is raised while a step is awaited is the second."""

    def signalled(path: Path, after: int) -> None:
        raise KeyboardInterrupt

    (tmp_path / "verl").mkdir()
    endless = VerlCommand([sys.executable, "-c", "import time; time.sleep(60)"], {}, {})
    with pytest.raises(KeyboardInterrupt), VerlProcess(tmp_path, endless) as process:
        monkeypatch.setattr("tripwright.bridges.verl.launch.next_lines", signalled)
        VerlLoop(process, tmp_path, 2, 0).take_step()
    assert process.process.poll() is not None and not (tmp_path / "verl/stop").exists()


def test_options_stand_over_what_a_cpu_gives_to_ray(monkeypatch, tmp_path):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    asked = {"ray_kwargs.ray_init.num_cpus": 4}
    keys = command(
        recipe("nano/grpo", dataclasses.replace(CPU, options=asked)), "model", tmp_path, "python"
    ).keys
    assert keys["ray_kwargs.ray_init.num_cpus"] == 4
    assert keys["ray_kwargs.ray_init.address"] == "local"


def test_a_line_that_is_being_written_is_no_step_yet(tmp_path):
    path = tmp_path / "steps.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"st')
    assert next_lines(path, 1) == [{"step": 2}]
