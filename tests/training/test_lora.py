"""[model.lora]: every stage trains an adapter beside a base that stays as it is, and nothing of the
base is held or kept twice."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines
from tripwright.cli.main import main
from tripwright.domains import dialect_named
from tripwright.episode import open_session
from tripwright.errors import UserError

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling, load_model
from tripwright.inference.models import (
    LoraSettings,
    adapter_parameters,
    add_adapter,
    is_adapter,
    save_model,
)
from tripwright.training import grpo, stages
from tripwright.training.checkpoint import Checkpoints
from tripwright.training.optim import OptimizerSettings
from tripwright.training.ppo import PpoSettings
from tripwright.training.recipe import (
    CheckpointSettings,
    Recipe,
    Reinforcement,
    check_needs,
    load_recipe,
)
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import FineTuning

STAGES = ("copy_pretraining", "sft", "rl")
ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-2)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def recipe(tiny_recipe: Any) -> Any:
    """With dropout, a reference model, and a bonus that moves the weights where no episode is worth
    anything."""
    told = {"steps": 4, "entropy_bonus": 0.1, "kl": grpo.Kl(0.01), "optimizer": ADAMW}
    settings = replace(tiny_recipe.rl.settings, **told)
    return replace(
        tiny_recipe,
        model=replace(tiny_recipe.model, lora=LoraSettings(rank=4, alpha=8.0, dropout=0.1)),
        copy_pretraining=replace(tiny_recipe.copy_pretraining, optimizer=ADAMW),
        sft=replace(tiny_recipe.sft, optimizer=ADAMW),
        rl=Reinforcement("grpo", settings),
        checkpoint=CheckpointSettings(every_steps=2, every_minutes=None),
    )


def trained(folder: Path, recipe: Recipe) -> RunFolder:
    run = RunFolder(folder, recipe)
    stages.take_stages(run)
    return run


def adapter(run: RunFolder, stage: str) -> dict[str, Any]:
    return dict(adapter_parameters(load_model(run.model(stage))[0]))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_killed_in_every_stage_it_ends_with_the_same_adapter(recipe, tmp_path, monkeypatch):
    whole, held = trained(tmp_path / "whole", recipe), []
    write = Checkpoints.write

    def seen(self: Checkpoints, step: int, state: Any, facts: Any) -> Path:
        held.append(state["loop"])
        return write(self, step, state, facts)

    monkeypatch.setattr(Checkpoints, "write", seen)
    for loop in (stages.CopyPretraining, FineTuning, grpo.Grpo):
        take_step = loop.take_step

        def or_die(self: Any, take_step: Any = take_step) -> Any:
            if self.step == 3 or type(self) is stages.CopyPretraining and self.step == 2:
                raise MemoryError
            return take_step(self)

        with monkeypatch.context() as until, pytest.raises(MemoryError):
            until.setattr(loop, "take_step", or_die)
            trained(tmp_path / "killed", recipe)
    killed = trained(tmp_path / "killed", recipe)
    adapters = [adapter(whole, stage) for stage in STAGES]
    assert all(map(same, adapters, (adapter(killed, stage) for stage in STAGES)))
    assert not same(adapters[0], adapters[1]) and not same(adapters[1], adapters[2])
    # of the base, checkpoints and models hold nothing
    states = [state for of in held[-1]["optimizers"] for state in of["state"].values()]
    assert sum(len(state) == 3 for state in states) == len(adapters[0])
    assert all(loop["model"].keys() == adapters[0].keys() for loop in held)
    base, _ = load_model(whole.model("start"))
    for stage in STAGES:
        names = {path.name for path in whole.model(stage).glob("*.safetensors")}
        assert is_adapter(whole.model(stage)) and names == {"adapter_model.safetensors"}
    after = load_model(whole.model("rl"))[0].state_dict()
    for name, tensor in base.state_dict().items():
        below = name if name in after else name.replace(".weight", ".base_layer.weight")
        assert torch.equal(tensor, after[below])


@pytest.mark.usefixtures("full_precision")
def test_the_reference_is_as_a_copy_of_the_model(recipe, tmp_path, monkeypatch):
    """The adapter has learned something before RL, so its reference is not the base alone."""
    rl = recipe.rl._replace(settings=replace(recipe.rl.settings, steps=2))
    recipe = replace(recipe, copy_pretraining=None, sft=replace(recipe.sft, steps=2), rl=rl)
    shared = trained(tmp_path / "shared", recipe)
    monkeypatch.setattr(grpo, "frozen_copy", lambda model: copy.deepcopy(model).eval())
    copied = trained(tmp_path / "copied", recipe)
    assert same(adapter(shared, "rl"), adapter(copied, "rl"))
    lines = read_lines(shared.metrics)
    assert lines[-1]["kl"] > 1e-6


@pytest.mark.usefixtures("full_precision")
def test_ppo_trains_beside_a_base_of_bf16_and_another_run_begins_from_it(recipe, tmp_path):
    start = RunFolder(tmp_path / "start", recipe)
    stages.make(start)
    model, tokenizer = load_model(start.model("start"))
    start.save("sft", model.bfloat16(), tokenizer)
    settings = PpoSettings(steps=2, prompts_per_step=2, optimizer=ADAMW, entropy_bonus=0.1)
    model, rl = replace(recipe.model, pretrained=str(start.model("sft"))), ("ppo", settings)
    recipe = replace(recipe, model=model, copy_pretraining=None, sft=None, rl=Reinforcement(*rl))
    run = RunFolder(tmp_path / "run", recipe)
    stages.make(run)
    stages.take(run, "rl")
    model, _ = load_model(run.model("rl"))
    beside = dict(adapter_parameters(model))
    assert {p.dtype for p in beside.values()} == {torch.float32}
    below = {p.dtype for name, p in model.named_parameters() if name not in beside}
    assert below == {torch.bfloat16}
    assert all(p.abs().max() > 0 for name, p in beside.items() if "lora_B" in name)

    again = replace(recipe, model=replace(recipe.model, pretrained=str(run.model("rl"))))
    other = RunFolder(tmp_path / "other", again)
    stages.make(other)
    begun, _ = load_model(other.model("start"))  # a plain model, with the adapter in its weights
    assert not is_adapter(other.model("start")) and {p.dtype for p in begun.parameters()} == {
        torch.bfloat16
    }
    before = load_model(run.model("start"))[0].state_dict()
    moved = {name for name, p in begun.state_dict().items() if not torch.equal(p, before[name])}
    assert any("q_proj" in name for name in moved) and all("_proj" in name for name in moved)


def test_muon_and_a_missing_extra_are_told_before_anything_is_made(tmp_path, monkeypatch):
    file = tmp_path / "r.toml"
    file.write_text("[model.lora]\nrank = 8\n[sft]\nsteps = 1\n")
    with pytest.raises(UserError, match='needs sft.optimizer.name = "adamw"'):
        load_recipe(file)
    file.write_text('[model.lora]\n[sft]\nsteps = 1\noptimizer.name = "adamw"\n')
    recipe = load_recipe(file)
    assert recipe.model.lora == LoraSettings()
    monkeypatch.setattr("tripwright.inference.models.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"\[model.lora\] needs the 'lora' extra"):
        check_needs(recipe)


# ---- `tripwright merge`: a plain model that says what base and adapter say


@pytest.fixture
def run(talking: Any, nano_tokenizer: Any, tmp_path: Path) -> Path:
    """A run folder with a base and the adapter of its last stage."""
    model = talking(6)
    for stage in ("start", "sft"):
        if stage == "sft":
            add_adapter(model, LoraSettings(rank=4), "../start", 0)
            torch.manual_seed(0)
            for _, parameter in adapter_parameters(model):
                torch.nn.init.normal_(parameter, std=0.05)
        save_model(model, tmp_path / "run" / "model" / stage)
        nano_tokenizer.save_pretrained(tmp_path / "run" / "model" / stage)
    return tmp_path / "run"


def test_merged_and_not_merged_agree(run, caller, lab, tmp_path, capsys):
    """In logits, and token by token in greedy episodes of several turns."""
    out, adapter = tmp_path / "models" / "plain", run / "model" / "sft"
    assert main(["merge", str(run), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"model": str(out), "adapter": str(adapter)}
    assert not (out / "adapter_config.json").exists() and not list(out.parent.glob("*.partial"))
    ids = torch.arange(300)[None] % 200
    logits, episodes = [], []
    for folder in (adapter, out, run / "model" / "start"):
        model, _ = load_model(folder)
        decoder = Decoder(model)
        with torch.no_grad():
            logits.append(decoder.logits(decoder.hidden(ids, torch.arange(300)[None])))
        policy = LocalPolicy(model, caller, Sampling(dtype="float32"))
        dialect = dialect_named("compact")
        sessions = [open_session(lab.trip.renamed(f"{n}"), dialect, caller) for n in range(3)]
        played = {session.task.id: session.transcript for session in policy.play(sessions)}
        episodes.append({name: transcript.token_ids for name, transcript in played.items()})
    torch.testing.assert_close(logits[0], logits[1], atol=1e-5, rtol=1e-5)
    assert episodes[0] == episodes[1] and episodes[0] != episodes[2]


def test_what_cannot_be_merged_is_told_and_nothing_is_written(run, tmp_path, capsys):
    (tmp_path / "there").mkdir()
    plain = run / "model" / "start"
    for source, out, why in (
        (run, "there", "is there already. Choose a new folder for --out."),
        (tmp_path / "nowhere", "new", "No adapter in"),
        (plain, "new", "No adapter in"),
    ):
        assert main(["merge", str(source), "--out", str(tmp_path / out)]) == 2
        problem = capsys.readouterr().err
        assert why in problem and problem.count("\n") == 1
    plain.rename(run / "model" / "rl")
    assert main(["merge", str(run), "--out", str(tmp_path / "new")]) == 2
    assert "so nothing is to be merged" in capsys.readouterr().err
    assert not (tmp_path / "new").exists() and not list((tmp_path / "there").iterdir())
