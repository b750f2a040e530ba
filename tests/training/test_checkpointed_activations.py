"""What a layer computes twice in place of keeping it: the same losses, gradients and runs, to the
last bit, in every stage."""

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.inference import decoder as decoding
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import load_model
from tripwright.training import stages
from tripwright.training.batches import collate, token_logprobs
from tripwright.training.grpo import Grpo, Kl
from tripwright.training.ppo import PpoSettings
from tripwright.training.recipe import CheckpointSettings, Reinforcement
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import FineTuning

STAGES = ("copy_pretraining", "sft", "rl")


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def recipe(tiny_recipe: Any) -> Any:
    """Of two layers, with a reference model and a bonus that moves the weights where no episode is
    worth anything."""
    grpo = replace(tiny_recipe.rl.settings, steps=4, entropy_bonus=0.1, kl=Kl(0.01))
    return replace(
        tiny_recipe,
        model=replace(tiny_recipe.model, shape=replace(tiny_recipe.model.shape, layers=2)),
        rl=Reinforcement("grpo", grpo),
        checkpoint=CheckpointSettings(every_steps=2, every_minutes=None),
    )


def checkpointed(recipe: Any) -> Any:
    return replace(recipe, model=replace(recipe.model, checkpoint_activations=True))


def alone(recipe: Any, stage: str) -> Any:
    """Of its stages only this one."""
    return replace(recipe, **{name: None for name in STAGES if name != stage})


def trained(run: RunFolder) -> RunFolder:
    stages.take_stages(run)
    return run


def assert_the_same(one: RunFolder, other: RunFolder) -> None:
    for stage in [name for name in STAGES if one.done(name)]:
        here, there = (load_model(run.model(stage))[0].state_dict() for run in (one, other))
        assert all(torch.equal(here[name], there[name]) for name in here), stage


# ---- an update


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["qwen3", "qwen2", "llama"])
def test_loss_and_gradients_are_those_of_an_update_that_keeps_all(kind, dtype, tiny_model):
    model, rng = tiny_model(kind, 50, scale=3.0), torch.Generator().manual_seed(0)
    rows = [torch.randint(50, (n,), generator=rng).tolist() for n in (300, 180, 5)]
    batch = collate([(ids, [1] * len(ids), [0.0] * len(ids)) for ids in rows])
    found = []
    for again in (False, True):
        decoder = Decoder(model)
        decoder.checkpoint_activations = again
        model.zero_grad()
        loss = -token_logprobs(decoder, batch, dtype, batch.mask > 0).mean()
        loss.backward()
        found.append([loss.detach(), *(p.grad.clone() for p in model.parameters())])
    assert all(torch.equal(kept, again) for kept, again in zip(*found, strict=True))


def test_what_needs_no_gradient_computes_nothing_twice(tiny_model, monkeypatch):
    monkeypatch.delattr(decoding, "checkpoint")  # to call it would be an error
    decoder, ids = Decoder(tiny_model("qwen3", 50)), torch.zeros(1, 64, dtype=torch.long)
    decoder.checkpoint_activations = True
    with torch.no_grad():
        decoder.hidden(ids, torch.arange(64)[None])


# ---- runs


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
def test_every_stage_does_it_and_leaves_the_same_weights(algorithm, recipe, tmp_path, monkeypatch):
    if algorithm == "ppo":
        ppo = PpoSettings(steps=2, prompts_per_step=2, micro_batch_size=2, entropy_bonus=0.1)
        recipe = alone(replace(recipe, rl=Reinforcement("ppo", ppo)), "rl")
    keeps = trained(RunFolder(tmp_path / "keeps", recipe))
    layers: dict[str, int] = dict.fromkeys(STAGES, 0)
    genuine, drive = decoding.checkpoint, RunFolder.drive

    def counted_drive(run: RunFolder, stage: str, *others: Any) -> None:
        def counted(*inputs: Any, **options: Any) -> Any:
            layers[stage] += 1
            return genuine(*inputs, **options)

        monkeypatch.setattr(decoding, "checkpoint", counted)
        drive(run, stage, *others)

    monkeypatch.setattr(RunFolder, "drive", counted_drive)
    again = trained(RunFolder(tmp_path / "again", checkpointed(recipe)))
    assert all(layers[stage] for stage in STAGES if keeps.done(stage)), layers
    assert_the_same(keeps, again)


class Killed(BaseException):
    pass


@pytest.mark.parametrize(("stage", "loop"), [("sft", FineTuning), ("rl", Grpo)])
def test_a_killed_run_goes_on_with_it_or_without_bit_for_bit(
    stage, loop, recipe, tmp_path, monkeypatch
):
    """Who runs out of memory may switch it on and go on."""
    recipe = alone(recipe, stage)
    whole = trained(RunFolder(tmp_path / "whole", recipe))
    for name, first in (("with", checkpointed(recipe)), ("without", recipe)):
        take_step = loop.take_step

        def or_die(self: Any, take_step: Any = take_step) -> Any:
            if self.step == 3:
                raise Killed
            return take_step(self)

        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(loop, "take_step", or_die)
            trained(RunFolder(tmp_path / name, first))
        killed = RunFolder(tmp_path / name, checkpointed(recipe))
        assert (killed.folder / "checkpoints").exists()
        assert_the_same(whole, trained(killed))
