"""One device and one number format, said once and obeyed by whatever loads a model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.agent.chat import ChatFormat
from tripwright.cli.main import main
from tripwright.domains import dialect_named
from tripwright.errors import UserError
from tripwright.evals.evaluate import choose_policy
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling, load_model, load_to_sample
from tripwright.inference.models import device_named
from tripwright.policies.settings import PolicySettings
from tripwright.training import held_out, stages
from tripwright.training.recipe import check_needs
from tripwright.training.run_folder import RunFolder


def with_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


@pytest.mark.parametrize(
    ("name", "gpus", "device"),
    [
        ("auto", 0, "cpu"),
        ("auto", 2, "cuda"),
        ("cpu", 2, "cpu"),
        ("cuda", 1, "cuda"),
        ("cuda:1", 2, "cuda:1"),
    ],
)
def test_a_device_has_a_name(name, gpus, device, monkeypatch):
    with_gpus(monkeypatch, gpus)
    assert device_named(name) == torch.device(device)


@pytest.mark.parametrize(
    ("name", "gpus", "there"),
    [
        ("cuda", 0, r"there is no GPU that torch can use\. Accepted: auto, cpu\.$"),
        ("cuda:1", 1, r"there is 1 GPU\. Accepted: auto, cpu, cuda, cuda:0\.$"),
        ("tpu", 0, r"No device 'tpu' here: "),
    ],
)
def test_a_device_that_is_not_here_is_told_with_those_that_are(name, gpus, there, monkeypatch):
    with_gpus(monkeypatch, gpus)
    with pytest.raises(UserError, match=there):
        device_named(name)


@pytest.fixture
def folder(tmp_path: Path, talker: Any, caller: Any) -> Path:
    talker.save_pretrained(tmp_path / "model")
    caller.tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_policy_is_loaded_in_the_format_that_it_is_sampled_in(dtype, folder, monkeypatch):
    model, tokenizer = load_to_sample(folder, "auto", dtype)
    policy = LocalPolicy(model, ChatFormat(tokenizer), Sampling(dtype=dtype))
    assert {str(p.dtype) for p in policy.model.parameters()} == {f"torch.{dtype}"}
    exact = Decoder(load_model(folder, policy.model.device)[0])
    narrow = Decoder(policy.model)
    assert torch.equal(exact.cos, narrow.cos)  # rotary frequencies keep theirs
    monkeypatch.delattr("tripwright.inference.local.copy")  # to make a copy would be an error
    list(policy.play([]))


def test_a_model_is_loaded_on_the_device(folder):
    model, _ = load_model(folder, "meta", torch.bfloat16)  # which holds nothing
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("meta", torch.bfloat16)}
    assert Decoder(model).device.type == "meta"


def test_run_and_serve_hand_them_on(folder, capsys):
    pytest.importorskip("fastapi")
    settings = PolicySettings(model=str(folder), dtype="bfloat16", device="cpu")
    choice = choose_policy(settings, dialect_named("compact"))
    assert choice.policy.model.dtype == torch.bfloat16 and choice.decoding["dtype"] == "bfloat16"
    with pytest.raises(UserError, match="No device 'cuda:7' here"):
        choose_policy(replace(settings, device="cuda:7"), dialect_named("compact"))
    with pytest.raises(UserError, match="Unknown dtype 'int4'"):
        choose_policy(replace(settings, dtype="int4"), dialect_named("compact"))
    assert main(["serve", "--model", str(folder), "--device", "cuda:7", "--port", "0"]) == 2
    assert "No device 'cuda:7' here" in capsys.readouterr().err


def test_training_and_examination_obey_the_recipe(tmp_path, tiny_recipe, monkeypatch):
    recipe = replace(tiny_recipe, model=replace(tiny_recipe.model, weights="bfloat16"))
    run = RunFolder(tmp_path, recipe)
    stages.make(run)
    asked = []

    def loading(folder: Path, *how: Any) -> Any:
        asked.append(how)
        raise UserError("enough")

    monkeypatch.setattr(stages, "load_model", loading)
    monkeypatch.setattr(held_out, "load_model", loading)
    exam = held_out.requests_of_exam(recipe, 1)
    for work in (
        lambda: stages.take(run, "copy_pretraining"),
        lambda: stages.take(run, "sft"),
        lambda: stages.take(run, "rl"),
        lambda: held_out.evaluate(run, exam, run.model("start"), "exam"),
    ):
        with pytest.raises(UserError, match="enough"):
            work()
    assert asked == [(device_named("auto"), torch.bfloat16)] * 4
    absent = replace(recipe, model=replace(recipe.model, device="cuda:7"))
    with pytest.raises(UserError, match="No device 'cuda:7' here"):
        check_needs(absent)
    RunFolder(tmp_path, absent)  # what may change between two starts
