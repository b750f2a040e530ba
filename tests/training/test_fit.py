"""The estimate before a run: its counts are those of the models and of what torch really keeps, and
its advice is worth following."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tripwright.errors import UserError

torch = pytest.importorskip("torch")

from tripwright.inference.decoder import Decoder
from tripwright.inference.models import LoraSettings, add_adapter, convert_weights
from tripwright.training.fit import (
    KNOWN_MODELS,
    NARROWED,
    ModelSize,
    activation_bytes,
    changes,
    device_peaks,
    lengths,
    memory,
    peak,
    size_of,
    steps_of,
    trained_parameters,
    verl_peak,
)
from tripwright.training.grpo import GrpoSettings, Kl
from tripwright.training.metrics import ModelShape, update_flops
from tripwright.training.optim import OptimizerSettings
from tripwright.training.recipe import (
    ClusterSettings,
    DialectSettings,
    EvaluationSettings,
    ModelSettings,
    Recipe,
    Reinforcement,
    ValidationSettings,
)
from tripwright.training.served import RolloutServer
from tripwright.training.sft import SftSettings

ADAMW = OptimizerSettings(name="adamw")
NANO = Recipe(
    threads=1,
    sft=SftSettings(dtype="float32", optimizer=ADAMW),
    rl=Reinforcement("grpo", GrpoSettings(dtype="float32", prompts_per_step=4)),
)
LARGE = Recipe(
    dialect=DialectSettings(
        name="planner_r1", context_tokens=8192, max_turn_tokens=2048, max_tool_tokens=2048
    ),
    model=ModelSettings(pretrained="Qwen/Qwen3-8B"),
    rl=Reinforcement("grpo", GrpoSettings(prompts_per_step=16, group_size=8, micro_batch_size=4)),
)


def checkpointed(recipe: Recipe, on: bool = True) -> Recipe:
    return replace(recipe, model=replace(recipe.model, checkpoint_activations=on))


# ---- models


@pytest.mark.parametrize(
    ("name", "parameters"),  # as published
    [
        ("Qwen/Qwen2.5-0.5B", 494_032_768),
        ("Qwen/Qwen2.5-1.5B-Instruct", 1_543_714_304),
        ("Qwen/Qwen2.5-7B-Instruct", 7_615_616_512),
        ("Qwen/Qwen3-0.6B", 596_049_920),
        ("Qwen/Qwen3-8B", 8_190_735_360),
        ("Qwen/Qwen3-32B", 32_762_123_264),
    ],
)
def test_the_table_has_the_published_numbers_of_parameters(name, parameters):
    assert KNOWN_MODELS[name].parameters == parameters


@pytest.mark.parametrize("kind", ["qwen3", "qwen2", "llama"])
def test_a_folder_is_read_from_its_configuration(kind, tiny_model, tmp_path):
    model = tiny_model(kind, 50)
    model.save_pretrained(tmp_path)
    size = size_of(Recipe(model=ModelSettings(pretrained=str(tmp_path))))
    assert size.parameters == sum(p.numel() for p in model.parameters()) and size.positions == 2048


def test_a_model_that_is_not_here_is_told(tmp_path):
    recipe = Recipe(model=ModelSettings(pretrained="runs/none/model/sft"))
    with pytest.raises(UserError, match="'runs/none/model/sft' is not here,.* say with --model"):
        size_of(recipe)
    assert size_of(recipe, "Qwen/Qwen3-8B").name == "Qwen/Qwen3-8B"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    with pytest.raises(UserError, match="a model of type 'mamba'. Accepted: qwen3, qwen2, llama"):
        size_of(recipe, str(tmp_path))


# ---- memory


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("in_blocks", [True, False])
@pytest.mark.parametrize("kind", ["qwen3", "qwen2"])
def test_activations_are_what_torch_keeps(
    kind, in_blocks, dtype, tiny_model, tmp_path, monkeypatch
):
    """Every tensor that a layer saves for its backward pass, with attention in blocks and fused,
    each storage once: the difference between models of four and two layers."""
    if not in_blocks:
        monkeypatch.setattr("tripwright.inference.decoder.MOST_IN_BLOCKS", 0)
    tiny_model(kind, 50).save_pretrained(tmp_path)
    size = size_of(Recipe(model=ModelSettings(pretrained=str(tmp_path))))
    models = [tiny_model(kind, 50, num_hidden_layers=layers) for layers in (4, 2)]
    for model in models:
        convert_weights(model, getattr(torch, dtype))
    four, two = (kept_bytes(model, False) for model in models)
    # in bf16 a tiny layer's scales of norms are a tenth of it, and are not counted
    assert activation_bytes(size, dtype, 64 if in_blocks else 0) == pytest.approx(
        (four - two) / 2 / (3 * 64), rel=0.02 if dtype == "float32" else 0.1
    )
    four, two = (kept_bytes(model, True) for model in models)  # a layer's input, and nothing else
    assert four - two == 2 * 3 * 64 * size.shape.hidden * getattr(torch, dtype).itemsize


def kept_bytes(model: Any, again: bool) -> int:
    """What is saved for the backward pass of three rows of 64 tokens."""
    weights, seen = {p.untyped_storage().data_ptr() for p in model.parameters()}, {}

    def keep(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            # the tensor as well, so that no address is used twice
            seen[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    decoder, ids = Decoder(model), torch.zeros(3, 64, dtype=torch.long)
    decoder.checkpoint_activations = again
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        hidden = decoder.hidden(ids, torch.arange(64).expand(3, -1))
    assert hidden.requires_grad
    return sum(size for size, _ in seen.values())


def test_checkpointed_activations_are_inputs_of_layers_and_two_layers():
    """Of Qwen3-8B in bf16 on a GPU: the stream between layers is in fp32, and of the weights for
    products one layer's and the output's are there at a time."""
    one_row = replace(LARGE.rl.settings, micro_batch_size=1)
    recipe = replace(LARGE, rl=Reinforcement("grpo", one_row))
    size, places = size_of(recipe), 8192
    (kept,), (again,) = (memory(checkpointed(recipe, on), size, "cuda") for on in (False, True))
    layer = activation_bytes(size, "bfloat16")
    assert kept.learning["activations"] == places * 37 * layer
    assert again.learning["activations"] == places * (36 * 4096 * 4 + 2 * layer)
    of_layer, output = size.shape.layer_parameters, 151_936 * 4096
    assert kept.learning[NARROWED] == 2 * (36 * of_layer + output)
    assert again.learning[NARROWED] == 2 * (of_layer + output)
    assert kept.held == again.held and kept.playing == again.playing


def test_several_devices_hold_what_verl_shards():
    size = size_of(LARGE)
    (stage,) = memory(checkpointed(LARGE), size, "cuda")
    assert device_peaks(LARGE, size)[1].peak_gb == peak([stage])

    def reckoned(**settings):
        return verl_peak(replace(LARGE, verl=ClusterSettings(**settings)), size)

    states = sum(stage.held.values()) + stage.learning["gradients"]
    saved = reckoned().peak_gb - reckoned(nodes=2).peak_gb
    assert saved == pytest.approx(states / 16 / 1e9)
    assert reckoned(sequence_parallel=2).peak_gb < reckoned().peak_gb
    assert [
        reckoned(**settings).fits["141_gb"]
        for settings in ({}, {"memory_share": 0.1}, {"memory_share": 0.1, "tensor_parallel": 4})
    ] == [True, False, True]
    shares = [reckoned(memory_share=0.95, offload=on).fits["141_gb"] for on in (False, True)]
    assert shares == [False, True]


def test_each_part_is_counted_by_hand():
    """Qwen3-8B on a GPU, AdamW, a row of 8,192 tokens: weights, two states and gradients of 32.8 GB
    each (in fp32, whatever is loaded), a copy in bf16 to sample from, keys and values of 128
    rows."""
    recipe = replace(
        LARGE,
        rl=Reinforcement("grpo", replace(LARGE.rl.settings, micro_batch_size=1, kl=Kl(beta=0.1))),
    )
    size = size_of(recipe)
    (stage,) = memory(recipe, size, "cuda")
    weights = 8_190_735_360 * 4
    assert stage.held == {
        "weights": weights,
        "optimizer state": 2 * weights,
        "reference model": weights,
    }
    assert stage.learning["gradients"] == weights
    assert stage.playing["sampler's weights"] == weights / 2
    assert stage.playing["keys and values"] == 2 * 36 * 128 * 8 * 128 * 8192 * 2
    assert stage.peak == sum(stage.held.values()) + max(
        sum(stage.learning.values()), sum(stage.playing.values())
    )


def test_weights_in_bfloat16_have_masters_and_no_copies():
    """Qwen3-8B: 16 bytes a weight as in fp32, but nothing narrowed beside them, and no second model
    to sample from."""
    kl = replace(LARGE.rl.settings, micro_batch_size=1, kl=Kl(beta=0.1))
    recipe = replace(
        LARGE,
        model=replace(LARGE.model, weights="bfloat16", checkpoint_activations=True),
        rl=Reinforcement("grpo", kl),
    )
    size = size_of(recipe)
    (stage,) = memory(recipe, size, "cuda")
    weights = 8_190_735_360 * 2
    assert stage.held == {
        "weights": weights,
        "masters": 2 * weights,
        "optimizer state": 4 * weights,
        "reference model": weights,
    }
    assert stage.learning["gradients"] == weights
    assert stage.learning[NARROWED] == 0 == stage.playing["sampler's weights"]
    layer = activation_bytes(size, "bfloat16")
    assert stage.learning["activations"] == 8192 * (36 * 4096 * 2 + 2 * layer)


def test_state_of_the_optimizer_in_8_bits_and_offloaded():
    size, count = size_of(LARGE), 8_190_735_360

    def stage(state: Any, device: str) -> Any:
        optimizer = replace(LARGE.rl.settings.optimizer, state=state)
        settings = replace(LARGE.rl.settings, optimizer=optimizer)
        model = replace(LARGE.model, weights="bfloat16")
        recipe = replace(LARGE, model=model, rl=Reinforcement("grpo", settings))
        return memory(recipe, size, device)[0]

    small = stage("8bit", "cuda")
    assert small.held["optimizer state"] == pytest.approx(2.03 * count, rel=0.001)
    away = stage("offloaded", "cuda")
    assert away.held == {"weights": 2 * count}
    assert away.host == {"offloaded masters": 4 * count, "offloaded optimizer state": 8 * count}
    assert stage("float32", "cuda").peak - away.peak == 12 * count
    assert stage("offloaded", "cpu") == stage("float32", "cpu")


def test_logits_of_a_large_vocabulary_are_counted_as_chunks():
    """Four times the tokens, and hardly a byte more; of a small one, four times as much."""

    def logits(recipe: Recipe, size: Any) -> float:
        return memory(recipe, size)[-1].learning["logits"]

    large, size = replace(LARGE, dialect=DialectSettings(context_tokens=2048)), size_of(LARGE)
    assert logits(large, size) == logits(LARGE, size) < 3e9
    nano, size = (
        replace(NANO, rl=None, sft=replace(NANO.sft, data="x", max_tokens=256)),
        size_of(NANO),
    )
    longer = replace(nano, sft=replace(nano.sft, max_tokens=1024))
    assert logits(longer, size) == pytest.approx(4 * logits(nano, size), rel=0.02)


def test_an_adapter_is_trained_beside_a_base_as_it_is_stored(tiny_model):
    """LoRA of rank 16 on Qwen3-8B: of the base only its 16.4 GB in bf16; gradients, optimizer state
    and the reference are the adapter's."""
    lora = LoraSettings(rank=16)
    rl = Reinforcement("grpo", replace(LARGE.rl.settings, kl=Kl(beta=0.1)))
    recipe = replace(LARGE, model=replace(LARGE.model, lora=lora, weights="bfloat16"), rl=rl)
    size = size_of(recipe)
    (stage,) = memory(recipe, size, "cuda")
    trained = 36 * 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 12288))
    assert stage.held == {
        "weights": 8_190_735_360 * 2,
        "adapter": 4 * trained,
        "optimizer state": 8 * trained,
        "reference model": 4 * trained,
    }
    assert stage.learning["gradients"] == 4 * trained
    assert stage.learning[NARROWED] == 0 == stage.playing["sampler's weights"]

    pytest.importorskip("peft")
    model = tiny_model("qwen3", 50, num_key_value_heads=1)
    lora = LoraSettings(rank=2, targets=("k_proj", "o_proj", "down_proj"))
    add_adapter(model, lora, "base", 0)
    shape = ModelShape.of(model.config)
    counted = trained_parameters(
        replace(NANO, model=ModelSettings(lora=lora)), ModelSize("tiny", "qwen3", shape, True, 99)
    )
    assert counted == sum(p.numel() for p in model.parameters() if p.requires_grad)


def test_muon_keeps_one_number_for_each_weight_of_a_matrix():
    (with_adamw, _), size = memory(NANO, size_of(NANO)), size_of(NANO)
    (with_muon, _) = memory(replace(NANO, sft=SftSettings(dtype="float32")), size)
    saved = with_adamw.held["optimizer state"] - with_muon.held["optimizer state"]
    assert saved == 4 * size.shape.layers * size.shape.layer_parameters


def test_what_a_server_samples_takes_nothing_here_and_validation_does():
    size = size_of(LARGE)
    server = RolloutServer("vllm", "http://127.0.0.1:8000", "w")
    served = replace(LARGE, rl=Reinforcement("grpo", replace(LARGE.rl.settings, server=server)))
    validated = replace(
        served,
        validation=ValidationSettings(every=1),
        evaluation=EvaluationSettings(max_concurrent_rollouts=4, context_tokens=4096),
    )
    (alone,), (both,) = (memory(recipe, size, "cuda") for recipe in (served, validated))
    assert alone.playing == {} and alone.learning == both.learning
    assert both.playing["keys and values"] == 2 * 36 * 4 * 8 * 128 * 4096 * 2


# ---- changes: each saves something, and the cheapest come first


def test_changes_are_cumulative_and_each_saves_something():
    size = size_of(LARGE)
    found, enough = changes(LARGE, size, 170.0, "cuda")
    peaks = [peak(memory(LARGE, size, "cuda")), *(change.peak_gb for change in found)]
    assert enough and peaks[-1] <= 170 < peaks[-2] and peaks == sorted(peaks, reverse=True)
    settings = [change.setting.partition(" = ")[0] for change in found]
    assert settings[0] == "grpo.micro_batch_size" and len(set(settings)) == len(settings)


def test_a_change_that_saves_nothing_yet_is_looked_at_again():
    """Playing takes the most at first, so fewer rows come first; then learning does."""
    settings = replace(LARGE.rl.settings, micro_batch_size=1)
    recipe = replace(LARGE, rl=Reinforcement("grpo", settings))
    found, enough = changes(recipe, size_of(recipe), 160.0, "cuda")
    names = [change.setting.partition(" = ")[0] for change in found]
    assert enough and names == ["grpo.max_concurrent_rollouts", "model.checkpoint_activations"]


# ---- work and time


def test_the_work_of_a_step_is_counted_without_measuring():
    size = size_of(LARGE)
    found = lengths(LARGE, size, 4000)
    assert (found.episode, found.agent, found.measured) == (4000, 1000, False)
    (work,) = steps_of(LARGE, size, found, "cuda")
    assert work.tokens == 128 * 4000 and work.seconds is None
    assert work.update_flops == pytest.approx(update_flops(size.shape, [4000] * 128, 128 * 1000))
    # 6 FLOP a token and weight of the layers, and attention
    assert work.update_flops > 6 * 6.9e9 * work.tokens


def test_lengths_are_those_of_the_experts_episodes():
    found = lengths(NANO, size_of(NANO))
    assert found.measured and 700 < found.episode < 900
    assert 0.35 < found.agent / found.episode < 0.6
