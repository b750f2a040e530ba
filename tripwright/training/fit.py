"""How much memory a recipe's stages will take, from its numbers alone; nothing is loaded.

    held all the while    weights and their masters, optimizer state, the reference of a KL term,
                          what Python and torch take
    while it plays        keys and values of every row (training's or validation's), weights in the
                          sampler's precision, the logits of one token a row
    while it learns       gradients, what the backward pass needs of every token (activations; of
                          each layer its input alone, where the recipe has them checkpointed),
                          weights in the products' precision, logits of the tokens that carry
                          loss; on a CPU what the heap has freed and not filled again

A stage's peak is what is held and the larger of the other two. Episodes are taken to be as long as
the dialect allows, so it is what a run may need, not what it mostly does. The counts are of this
engine's own code: what its layers save is derived term by term in `activation_bytes`, and a test
holds that to what torch saves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch

from tripwright.inference.decoder import BLOCK, MOST_IN_BLOCKS, round_up
from tripwright.inference.models import AUTO, memory_bytes, precision_named
from tripwright.learning.optim import OptimizerSettings
from tripwright.learning.vocabulary import CHUNK, keeps_logits
from tripwright.rl.settings import RolloutSettings
from tripwright.sft.copy_pretraining import GAP, CopyPretrainingSettings
from tripwright.sft.trainer import SftSettings
from tripwright.training.model_shapes import BYTES, ModelSize
from tripwright.training.recipe import Recipe

FP32 = BYTES["float32"]  # of masters, and of the optimizer's state
EIGHT_BIT = 1 + FP32 / 256  # bytes of a number of its state, with a scale for each 256 of them
NARROWED = "weights for products"  # as autocast makes them, kept as long as a layer's activations
GB = 1e9
# Python, torch and transformers before a model is loaded; measured on Linux with torch 2.13 for the
# CPU
PROCESS_GB = 0.45
# Layers' activations that glibc's heap has freed and not filled again (a run gives nothing back,
# `keep_freed_memory`). Measured: 2 to 4 of them beside the live tensors, which are counted 3% to
# 37% too high here, because logits and layers are not there at once (benchmarks/activations.py)
FREED_LAYERS = 1.5
# Of logits that are kept (`learning.vocabulary`): for fine-tuning what the gradient needs, and the
# gradient, in the products' format; for a policy's loss logits as they are and at the temperature,
# and the gradients of both, in fp32.
KEPT_COPIES, LOSS_COPIES = 2, 4
CHUNK_COPIES = 3  # of those made in chunks, in fp32
# of an episode's tokens that the agent says: the expert's in the compact dialect; far fewer in the
# others
AGENT_SHARE = 0.4


@dataclass(frozen=True)
class StageMemory:
    """Bytes by what they are for. `playing` is empty where nothing is played; `host` is in the
    machine's memory and not in the GPU's, and no part of the peak."""

    stage: str
    held: dict[str, float]
    learning: dict[str, float]
    playing: dict[str, float] = field(default_factory=dict)
    host: dict[str, float] = field(default_factory=dict)

    @property
    def peak(self) -> float:
        return sum(self.held.values()) + max(
            sum(self.learning.values()), sum(self.playing.values())
        )


def memory(recipe: Recipe, model: ModelSize, device: str = "cpu") -> list[StageMemory]:
    """One entry for each stage that the recipe has, in order."""
    stages = []
    if recipe.copy_pretraining is not None:
        rows, length = copied(recipe.copy_pretraining)
        dtype = recipe.copy_pretraining.dtype
        held = _held(recipe, model, recipe.copy_pretraining.optimizer, device)
        learning = _learning(recipe, model, rows, length, 0.5, dtype, device)
        stages.append(StageMemory("copy_pretraining", held, learning))
    if recipe.sft is not None:
        rows = recipe.sft.micro_batch_size or recipe.sft.batch_size
        length = sft_tokens(recipe.sft, recipe, model)
        learning = _learning(recipe, model, rows, length, 1.0, recipe.sft.dtype, device)
        held = _held(recipe, model, recipe.sft.optimizer, device)
        stages.append(StageMemory("sft", held, learning))
    if recipe.rl is not None:
        name, settings = recipe.rl
        held = _held(recipe, model, settings.optimizer, device)
        if settings.has_reference:
            held["reference model"] = float(
                trained_parameters(recipe, model) * trained_bytes(recipe)
            )
        learning = _learning(
            recipe,
            model,
            settings.micro_batch_size,
            episode_tokens(recipe, model),
            AGENT_SHARE,
            settings.dtype,
            device,
            LOSS_COPIES,
        )
        stages.append(StageMemory(name, held, learning, _playing(recipe, model, settings, device)))
    return [_offloaded(stage) for stage in stages] if device == "cuda" else stages


def _offloaded(stage: StageMemory) -> StageMemory:
    """The parts that are named so, on the host."""
    host = {name: size for name, size in stage.held.items() if name.startswith("offloaded")}
    held = {name: size for name, size in stage.held.items() if name not in host}
    return replace(stage, held=held, host=host)


def episode_tokens(recipe: Recipe, model: ModelSize) -> int:
    """The longest that an episode can be."""
    return min(recipe.dialect.dialect().context_tokens, model.positions)


def copied(settings: CopyPretrainingSettings) -> tuple[int, int]:
    """Rows of a step of the warm-up with the longest strings, and tokens of a row with its gap."""
    longest = max(settings.lengths)
    return max(1, settings.tokens_per_step // (2 * longest)), round((2 + GAP) * longest)


def sft_tokens(settings: SftSettings, recipe: Recipe, model: ModelSize) -> int:
    return min(settings.max_tokens or episode_tokens(recipe, model), model.positions)


def weight_bytes(recipe: Recipe) -> int:
    """Of a weight as it is held, whatever the checkpoint has."""
    return BYTES[recipe.model.weights]


def trained_bytes(recipe: Recipe) -> int:
    """Of one that is trained: an adapter's is in fp32."""
    return FP32 if recipe.model.lora is not None else weight_bytes(recipe)


def trained_parameters(recipe: Recipe, model: ModelSize) -> int:
    """All of the model's, or its adapter's: two factors for each layer that has them."""
    lora, s = recipe.model.lora, model.shape
    if lora is None:
        return model.parameters
    queries, keys = s.heads * s.head_size, s.kv_heads * s.head_size
    ends = {
        "q_proj": s.hidden + queries,
        "k_proj": s.hidden + keys,
        "v_proj": s.hidden + keys,
        "o_proj": queries + s.hidden,
        "gate_proj": s.hidden + s.feed_forward,
        "up_proj": s.hidden + s.feed_forward,
        "down_proj": s.feed_forward + s.hidden,
    }
    return s.layers * lora.rank * sum(ends[target] for target in set(lora.targets))


def _held(
    recipe: Recipe, model: ModelSize, optimizer: OptimizerSettings, device: str
) -> dict[str, float]:
    trained, size = trained_parameters(recipe, model), trained_bytes(recipe)
    muon = model.matrix_parameters if optimizer.name == "muon" else 0
    states = 2 * (trained - muon) + muon  # AdamW keeps two numbers a weight, Muon one
    held: dict[str, float] = {"weights": model.parameters * weight_bytes(recipe)}
    if recipe.model.lora is not None:
        held["adapter"] = trained * size
    offloaded = "offloaded " if optimizer.state == "offloaded" and device == "cuda" else ""
    if size < FP32 or offloaded:
        held[f"{offloaded}masters"] = trained * FP32
    each = EIGHT_BIT if optimizer.state == "8bit" else FP32
    held[f"{offloaded}optimizer state"] = states * each
    return {**held, "Python and torch": PROCESS_GB * GB} if device == "cpu" else held


def _learning(
    recipe: Recipe,
    model: ModelSize,
    rows: int,
    length: int,
    share: float,
    dtype: str,
    device: str,
    logit_copies: int | None = None,
) -> dict[str, float]:
    """`share` of the tokens carry loss, and have logits; `logit_copies` in fp32, or KEPT_COPIES in
    the products' format."""
    s, length = model.shape, round_up(length - 1)  # as `collate` has it: the last predicts nothing
    precision = precision_name(dtype, device, recipe.model.weights)
    places, size, held = rows * length, BYTES[precision], weight_bytes(recipe)
    per_layer = activation_bytes(model, precision, length if device == "cpu" else 0)
    if (lora := recipe.model.lora) is not None:  # what stands between the two factors
        per_layer += len(lora.targets) * lora.rank * size
    again = recipe.model.checkpoint_activations
    whole_layers = 1 if again else s.layers
    # the stream between layers is in the weights' format
    inputs = s.layers * s.hidden * held if again else 0
    narrowed = whole_layers * s.layer_parameters + s.vocabulary * s.hidden
    tokens = int(places * share)
    if keeps_logits(tokens, s.vocabulary):
        each = FP32 * logit_copies if logit_copies is not None else size * KEPT_COPIES
        logits = float(tokens * s.vocabulary * each)
    else:  # and the output layer's gradient, where it has one, before it is added to the others
        output = 0 if lora else s.vocabulary * s.hidden * held
        logits = float(CHUNK * FP32 * CHUNK_COPIES + output)
    return {
        "gradients": float(trained_parameters(recipe, model) * trained_bytes(recipe)),
        # one more: the layer whose backward pass is under way
        "activations": places * (inputs + per_layer * (whole_layers + 1)),
        "freed in the heap": places * per_layer * FREED_LAYERS if device == "cpu" else 0.0,
        NARROWED: 0.0 if size == held else float(narrowed * size),
        "logits": logits,
    }


def activation_bytes(model: ModelSize, dtype: str, cpu_length: int = 0) -> float:
    """What one layer keeps of one token for its backward pass. `cpu_length`: on a CPU, the row's
    length, where attention in blocks keeps its weights.

    Inputs of the seven linear layers (two norms' outputs, attention's output, the MLP's product),
    the norms' own results, rotated queries and keys, values, attention's output, and the MLP's gate
    before and after its activation with the other factor.
    """
    s = model.shape
    queries, keys = s.heads * s.head_size, s.kv_heads * s.head_size
    normed = (queries + keys) if model.kind == "qwen3" else 0
    numbers: float = (
        4 * s.hidden + normed + (queries + keys) + keys + 2 * queries + 4 * s.feed_forward
    )
    size = BYTES[precision_name(dtype)]
    in_blocks = 0 < cpu_length <= MOST_IN_BLOCKS
    if in_blocks:  # its weights, and not its result
        numbers += s.heads * min(cpu_length, (cpu_length + BLOCK) / 2) - queries
    if size == 4:
        # and one scale a norm, and a head of a fused kernel
        scales = 2 + (s.heads + s.kv_heads if normed else 0) + (0 if in_blocks else s.heads)
        return 4 * (numbers + scales)
    widened = 4 * (2 * s.hidden + normed)  # norms compute in fp32
    return 2 * numbers + widened


def precision_name(dtype: str, device: str = "cpu", weights: str = "float32") -> str:
    """What "auto" comes to: the weights' format where it is a narrow one; on a GPU bfloat16,
    whatever this processor does."""
    if dtype == AUTO and (device == "cuda" or weights != "float32"):
        return "bfloat16"
    return str(precision_named(dtype)).removeprefix("torch.")


def _playing(
    recipe: Recipe, model: ModelSize, settings: RolloutSettings, device: str
) -> dict[str, float]:
    """The larger of what training and validation play; on a server (`settings.server`) training's
    episodes take nothing here. The cache is made for all rows at once (`InferenceEngine`)."""
    plays = []
    if settings.server is None:
        episodes = settings.prompts_per_step * settings.group_size
        rows = settings.max_concurrent_rollouts or episodes
        plays.append((rows, recipe.dialect.dialect().context_tokens))
    if recipe.validation is not None:
        context = recipe.held_out_dialect.context_tokens
        plays.append((recipe.evaluation.max_concurrent_rollouts, context))
    if not plays:
        return {}
    s, size = model.shape, BYTES[precision_name(settings.dtype, device, recipe.model.weights)]
    positions = max(rows * round_up(min(context, model.positions)) for rows, context in plays)
    same = size == weight_bytes(recipe)
    return {
        "sampler's weights": 0.0 if same else float(model.parameters * size),
        "keys and values": 2.0 * s.layers * s.kv_heads * s.head_size * positions * size,
        "logits of a token": max(rows for rows, _ in plays) * s.vocabulary * 4.0 * 3,
    }


def total_memory_gb(device: str) -> float | None:
    """Of this machine or its first GPU; None where it is not told."""
    if device == "cuda":
        return (
            float(torch.cuda.get_device_properties(0).total_memory) / GB
            if torch.cuda.is_available()
            else None
        )
    here = memory_bytes()
    return None if here is None else here / GB
