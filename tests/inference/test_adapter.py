"""LoRA adapters: the engine, the update and a merged model compute the same, and a folder that is
not one is refused in one line."""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling, load_model
from tripwright.inference.models import (
    CONFIG,
    LAYERS,
    WEIGHTS,
    LoraSettings,
    adapter_parameters,
    add_adapter,
    frozen_copy,
    merged,
    save_model,
)

IDS = torch.arange(40)[None] % 50
SETTINGS = LoraSettings(rank=4, alpha=8.0)


def adapted(model: Any, settings: LoraSettings = SETTINGS, seed: int = 1) -> Any:
    """With an adapter that says something: a new one's B is zero."""
    add_adapter(model, settings, "../base", seed)
    torch.manual_seed(seed)
    with torch.no_grad():
        for _, parameter in adapter_parameters(model):
            parameter.normal_(std=0.1)
    return model


def logits(model: Any) -> Any:
    decoder = Decoder(model)
    with torch.no_grad():
        return decoder.logits(decoder.hidden(IDS, torch.arange(IDS.shape[1])[None]))


@pytest.fixture(scope="module")
def folders(tiny_model: Any, nano_tokenizer: Any, tmp_path_factory: Any) -> Path:
    """A folder with `base` and its `adapter`."""
    place = tmp_path_factory.mktemp("models")
    model = tiny_model("qwen3", len(nano_tokenizer), scale=3.0)
    for name in ("base", "adapter"):
        save_model(model if name == "base" else adapted(model), place / name)
        nano_tokenizer.save_pretrained(place / name)
    return place


@pytest.fixture
def adapter(folders: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(folders, tmp_path / "models")
    return tmp_path / "models" / "adapter"


@pytest.mark.parametrize("kind", ["qwen3", "qwen2", "llama"])
def test_our_pass_is_pefts_and_a_merged_models(kind, tiny_model):
    base = tiny_model(kind, 50, scale=3.0)
    model = adapted(copy.deepcopy(base))
    ours = logits(model)
    assert (ours - logits(base)).abs().max() > 0.1
    with torch.no_grad():
        torch.testing.assert_close(ours, model(IDS).logits, atol=1e-4, rtol=1e-4)
    plain = merged(model)
    assert [name for name, _ in plain.named_parameters()] == [n for n, _ in base.named_parameters()]
    torch.testing.assert_close(logits(plain), ours, atol=1e-5, rtol=1e-5)


def test_a_new_adapter_says_what_the_base_says_and_is_the_seeds(tiny_model):
    base, weights = tiny_model("qwen3", 50).bfloat16(), []
    for seed in (0, 0, 1):
        model = copy.deepcopy(base)
        state = torch.get_rng_state()
        add_adapter(model, SETTINGS, "base", seed)
        assert torch.equal(state, torch.get_rng_state())
        assert torch.equal(logits(model), logits(base))
        trained = {name for name, p in model.named_parameters() if p.requires_grad}
        assert trained == {name for name, _ in adapter_parameters(model)}
        assert len(trained) == 2 * len(LAYERS) * 2
        assert {p.dtype for _, p in adapter_parameters(model)} == {torch.float32}
        weights.append([p.clone() for _, p in adapter_parameters(model)])
    assert all(map(torch.equal, weights[0], weights[1]))
    assert not all(map(torch.equal, weights[0], weights[2]))


def test_a_copy_to_be_read_has_the_bases_own_tensors(tiny_model):
    model = adapted(tiny_model("qwen3", 50))
    before, reference = logits(model), frozen_copy(model)
    with torch.no_grad():
        for _, parameter in adapter_parameters(model):
            parameter.zero_()
    torch.testing.assert_close(logits(reference), before, atol=0, rtol=0)
    own = {p.data_ptr() for p in model.parameters()}
    new = [name for name, p in reference.named_parameters() if p.data_ptr() not in own]
    assert new == [name for name, _ in adapter_parameters(model)]


def test_beside_a_base_in_the_samplers_format_an_adapter_is_played_as_it_is(tiny_model, chat):
    model = adapted(tiny_model("qwen3", 50).bfloat16())
    assert LocalPolicy(model, chat, Sampling(dtype="bfloat16"))._model() is model
    assert LocalPolicy(model, chat, Sampling(dtype="float32"))._model() is not model


# ---- folders


def test_a_folder_holds_an_adapter_and_names_its_base(folders):
    assert {path.name for path in (folders / "adapter").glob("*.safetensors")} == {WEIGHTS}
    assert json.loads((folders / "adapter" / CONFIG).read_text())["r"] == 4
    model, _ = load_model(folders / "adapter")
    base, _ = load_model(folders / "base")
    with torch.no_grad():
        assert (logits(model) - logits(base)).abs().max() > 0.1
    torch.testing.assert_close(logits(model), logits(adapted(base)), atol=0, rtol=0)
    assert not any(p.requires_grad for _, p in adapter_parameters(model))


def test_peft_opens_it_too(folders):
    from peft import PeftModel

    base, _ = load_model(folders / "base")
    theirs = PeftModel.from_pretrained(base, folders / "adapter").eval()
    with torch.no_grad():
        torch.testing.assert_close(
            logits(load_model(folders / "adapter")[0]), theirs(IDS).logits, atol=1e-4, rtol=1e-4
        )


def config(**changed: Any) -> Callable[[Path], None]:
    def change(adapter: Path) -> None:
        path = adapter / CONFIG
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))

    return change


def cut(adapter: Path) -> None:
    path = adapter / WEIGHTS
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda adapter: shutil.rmtree(adapter.parent / "base"), "adapter of '../base', and there"),
        (config(base_model_name_or_path=None), "names no base: write a folder or a name"),
        (config(base_model_name_or_path="../adapter"), "which is an adapter itself: merge that"),
        (config(r=8), "lora_A.weight is 4 x 64 in the adapter, expected 8 x 64"),
        (config(target_modules=["q_proj"]), "is 4 x 64 in the adapter, expected none"),
        (config(target_modules=["lm_head"]), r"adapts \['lm_head'\]. Accepted in target_modules"),
        (config(use_dora=True), "is not plain LoRA: adapter_config.json sets use_dora = True"),
        (config(megatron_config={"x": 1}), "sets megatron_config"),
        (config(peft_type="IA3"), "not of a LoRA adapter of peft: found peft_type 'IA3'"),
        (lambda adapter: (adapter / CONFIG).write_text("["), "found no JSON object"),
        (lambda adapter: (adapter / WEIGHTS).unlink(), "cannot be read: .*Copy the adapter again"),
        (cut, "cannot be read: .*Copy the adapter again"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(damage, why, adapter):
    damage(adapter)
    with pytest.raises(UserError, match=why) as refused:
        load_model(adapter)
    assert "\n" not in str(refused.value)


def test_a_base_of_another_shape_is_told(adapter, tiny_model):
    words = len(load_model(adapter)[1])
    tiny_model("qwen3", words, hidden_size=32).save_pretrained(adapter.parent / "base")
    with pytest.raises(UserError, match=r"does not fit its base '../base': .* expected .*32"):
        load_model(adapter)


def test_without_peft_the_extra_is_named(adapter, monkeypatch):
    monkeypatch.setattr("tripwright.inference.models.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"is a LoRA adapter, which needs the 'lora' extra: pip"):
        load_model(adapter)
