"""What a recipe will take, before it starts: memory of its stages, time of a step, and what to
change where it does not fit. Nothing is loaded or downloaded.

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

Time is FLOPs that are counted (`metrics`) at a share of what this processor's matrix product
reaches. A GPU's time is not estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig

from tripwright.errors import UserError
from tripwright.files import check_model_files
from tripwright.inference.decoder import BLOCK, MOST_IN_BLOCKS, round_up
from tripwright.inference.models import (
    AUTO,
    SUPPORTED,
    base_of,
    device_named,
    is_adapter,
    memory_bytes,
    precision_named,
)
from tripwright.training.batches import CHUNK, keeps_logits
from tripwright.training.data_source import RL, trips_of
from tripwright.training.grpo import GrpoSettings
from tripwright.training.metrics import ModelShape, peak_flops, rollout_flops, update_flops
from tripwright.training.optim import OptimizerSettings
from tripwright.training.recipe import ClusterSettings, Recipe, changed
from tripwright.training.rollouts import RolloutSettings
from tripwright.training.sft import GAP
from tripwright.training.trips import expert_sessions

GB = 1e9
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8}
FP32 = BYTES["float32"]  # of masters, and of the optimizer's state
EIGHT_BIT = 1 + FP32 / 256  # bytes of a number of its state, with a scale for each 256 of them
NARROWED = "weights for products"  # as autocast makes them, kept as long as a layer's activations
# Python, torch and transformers before a model is loaded; measured on Linux with torch 2.13 for the
# CPU
PROCESS_GB = 0.45
# Layers' activations that glibc's heap has freed and not filled again (a run gives nothing back,
# `keep_freed_memory`). Measured: 2 to 4 of them beside the live tensors, which are counted 3% to
# 37% too high here, because logits and layers are not there at once (benchmarks/activations.py)
FREED_LAYERS = 1.5
# Of logits that are kept (`batches`): for fine-tuning what the gradient needs, and the
# gradient, in the products' format; for a policy's loss logits as they are and at the temperature,
# and the gradients of both, in fp32.
KEPT_COPIES, LOSS_COPIES = 2, 4
CHUNK_COPIES = 3  # of those made in chunks, in fp32
# of an episode's tokens that the agent says: the expert's in the compact dialect; far fewer in the
# others
AGENT_SHARE = 0.4


# ---- the model's sizes: from config.json, a table of published models, or the recipe's own shape

FIXED_TOKENS = 3698  # bytes, letters and control tokens of the tokenizer that a new model gets


@dataclass(frozen=True)
class ModelSize:
    """`positions`: how many the model has."""

    name: str
    kind: str  # one of SUPPORTED
    shape: ModelShape
    tied: bool
    positions: int

    @property
    def parameters(self) -> int:
        s = self.shape
        norms = 2 * s.hidden + (2 * s.head_size if self.kind == "qwen3" else 0)
        biases = (s.heads + 2 * s.kv_heads) * s.head_size if self.kind == "qwen2" else 0
        embeddings = s.vocabulary * s.hidden * (1 if self.tied else 2)
        return embeddings + s.layers * (s.layer_parameters + norms + biases) + s.hidden


def _published(name: str, *sizes: int, tied: bool = False) -> ModelSize:
    kind, positions = ("qwen3", 40960) if name.startswith("Qwen3") else ("qwen2", 32768)
    return ModelSize(f"Qwen/{name}", kind, ModelShape(*sizes), tied, positions)


# hidden, layers, heads, key-value heads, head size, feed-forward, vocabulary: as their config.json
# have them
_BASES = [
    _published("Qwen2.5-0.5B", 896, 24, 14, 2, 64, 4864, 151936, tied=True),
    _published("Qwen2.5-1.5B", 1536, 28, 12, 2, 128, 8960, 151936, tied=True),
    _published("Qwen2.5-3B", 2048, 36, 16, 2, 128, 11008, 151936, tied=True),
    _published("Qwen2.5-7B", 3584, 28, 28, 4, 128, 18944, 152064),
    _published("Qwen2.5-14B", 5120, 48, 40, 8, 128, 13824, 152064),
    _published("Qwen2.5-32B", 5120, 64, 40, 8, 128, 27648, 152064),
    _published("Qwen2.5-72B", 8192, 80, 64, 8, 128, 29568, 152064),
    _published("Qwen3-0.6B", 1024, 28, 16, 8, 128, 3072, 151936, tied=True),
    _published("Qwen3-1.7B", 2048, 28, 16, 8, 128, 6144, 151936, tied=True),
    _published("Qwen3-4B", 2560, 36, 32, 8, 128, 9728, 151936, tied=True),
    _published("Qwen3-8B", 4096, 36, 32, 8, 128, 12288, 151936),
    _published("Qwen3-14B", 5120, 40, 40, 8, 128, 17408, 151936),
    _published("Qwen3-32B", 5120, 64, 64, 8, 128, 25600, 151936),
]
_INSTRUCT = [replace(size, name=f"{size.name}-Instruct") for size in _BASES if "2.5" in size.name]
KNOWN_MODELS = {size.name: size for size in (*_BASES, *_INSTRUCT)}


def size_of(recipe: Recipe, instead: str | None = None) -> ModelSize:
    """Of the recipe's model, or of the folder or name given `instead`. Raises UserError where
    neither is known here."""
    name = instead or recipe.model.pretrained
    if name is None:
        sizes = asdict(recipe.model.shape)
        positions = sizes.pop("positions")
        # at most: fewer superwords may be found
        entries = recipe.domain.generated().closed_lists
        vocabulary = FIXED_TOKENS + len(entries) + recipe.model.superwords
        shape = ModelShape(**sizes, vocabulary=vocabulary)
        return ModelSize("a new model", "qwen3", shape, True, positions)
    name = base_of(name) if is_adapter(name) else name
    check_model_files(name)
    try:
        config = AutoConfig.from_pretrained(name, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError):
        if name in KNOWN_MODELS:
            return KNOWN_MODELS[name]
        raise UserError(
            f"The model '{name}' is not here, nor a Qwen2.5 or Qwen3 model by name. Make or"
            " download it first, or say with --model which one to reckon with."
        ) from None
    kind = str(config.model_type)
    if kind not in SUPPORTED:
        raise UserError(f"'{name}' is a model of type '{kind}'. Accepted: {', '.join(SUPPORTED)}.")
    tied, positions = config.tie_word_embeddings, config.max_position_embeddings
    return ModelSize(name, kind, ModelShape.of(config), tied, positions)


# ---- memory


class _Stage(NamedTuple):
    """One stage's updates: `rows` of a step, `micro` of them at once, as long as they may be, and
    the share of their tokens that carries loss. `rl`: where it plays, too. It ends by `steps` or
    `minutes`, where they are known."""

    name: str
    dtype: str
    optimizer: OptimizerSettings
    rows: int
    micro: int
    length: int
    loss_share: float
    rl: RolloutSettings | None = None
    steps: int | None = None
    minutes: float | None = None


def _stages(recipe: Recipe, model: ModelSize) -> list[_Stage]:
    """Those that the recipe has, in order."""
    stages = []
    episode = min(recipe.dialect.dialect().context_tokens, model.positions)  # the longest
    if (copy := recipe.copy_pretraining) is not None:
        longest = max(copy.lengths)  # of strings; a row holds one twice, with a gap
        rows, length = max(1, copy.tokens_per_step // (2 * longest)), round((2 + GAP) * longest)
        stage = _Stage("copy_pretraining", copy.dtype, copy.optimizer, rows, rows, length, 0.5)
        stages.append(stage._replace(steps=copy.max_steps))
    if (sft := recipe.sft) is not None:
        micro = sft.micro_batch_size or sft.batch_size
        length = min(sft.max_tokens or episode, model.positions)
        stage = _Stage("sft", sft.dtype, sft.optimizer, sft.batch_size, micro, length, 1.0)
        stages.append(stage._replace(steps=sft.steps, minutes=sft.max_minutes))
    if recipe.rl is not None:
        name, rl = recipe.rl
        rows, micro = rl.prompts_per_step * rl.group_size * rl.epochs_per_batch, rl.micro_batch_size
        stage = _Stage(name, rl.dtype, rl.optimizer, rows, micro, episode, AGENT_SHARE, rl)
        stages.append(stage._replace(steps=rl.steps, minutes=rl.max_minutes))
    return stages


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
        work = max(sum(self.learning.values()), sum(self.playing.values()))
        return sum(self.held.values()) + work


def peak(stages: list[StageMemory]) -> float:
    """In GB."""
    return max(stage.peak for stage in stages) / GB


def memory(recipe: Recipe, model: ModelSize, device: str = "cpu") -> list[StageMemory]:
    """One entry for each stage that the recipe has, in order."""
    found = []
    for stage in _stages(recipe, model):
        held, host = _held(recipe, model, stage, device)
        playing = _playing(recipe, model, stage.rl, device) if stage.rl is not None else {}
        learning = _learning(recipe, model, stage, device)
        found.append(StageMemory(stage.name, held, learning, playing, host))
    return found


def trained_bytes(recipe: Recipe) -> int:
    """Of a weight that is trained: an adapter's is in fp32."""
    return FP32 if recipe.model.lora is not None else BYTES[recipe.model.weights]


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
    recipe: Recipe, model: ModelSize, stage: _Stage, device: str
) -> tuple[dict[str, float], dict[str, float]]:
    """(on the device, in the machine's memory beside a GPU's)"""
    optimizer, trained = stage.optimizer, trained_parameters(recipe, model)
    size, offloaded = trained_bytes(recipe), optimizer.state == "offloaded" and device == "cuda"
    # the matrices inside the layers
    muon = model.shape.layers * model.shape.layer_parameters if optimizer.name == "muon" else 0
    states = 2 * (trained - muon) + muon  # AdamW keeps two numbers a weight, Muon one
    of_optimizer: dict[str, float] = {}
    if size < FP32 or offloaded:
        of_optimizer["masters"] = trained * FP32
    each = EIGHT_BIT if optimizer.state == "8bit" else FP32
    of_optimizer["optimizer state"] = states * each
    held: dict[str, float] = {"weights": model.parameters * BYTES[recipe.model.weights]}
    if recipe.model.lora is not None:
        held["adapter"] = trained * size
    if not offloaded:
        held |= of_optimizer
    if device == "cpu":
        held["Python and torch"] = PROCESS_GB * GB
    if stage.rl is not None and stage.rl.has_reference:
        held["reference model"] = float(trained * size)
    return held, {f"offloaded {n}": b for n, b in of_optimizer.items()} if offloaded else {}


def _learning(recipe: Recipe, model: ModelSize, stage: _Stage, device: str) -> dict[str, float]:
    # as `collate` has it: the last token predicts nothing
    s, length = model.shape, round_up(stage.length - 1)
    precision = precision_name(stage.dtype, device, recipe.model.weights)
    places, size, held = stage.micro * length, BYTES[precision], BYTES[recipe.model.weights]
    per_layer = activation_bytes(model, precision, length if device == "cpu" else 0)
    if (lora := recipe.model.lora) is not None:  # what stands between the two factors
        per_layer += len(lora.targets) * lora.rank * size
    again = recipe.model.checkpoint_activations
    whole_layers = 1 if again else s.layers
    # the stream between layers is in the weights' format
    inputs = s.layers * s.hidden * held if again else 0
    narrowed = whole_layers * s.layer_parameters + s.vocabulary * s.hidden
    tokens = int(places * stage.loss_share)
    if keeps_logits(tokens, s.vocabulary):
        each = FP32 * LOSS_COPIES if stage.rl is not None else size * KEPT_COPIES
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
        plays.append((settings.rollouts_at_once, recipe.dialect.dialect().context_tokens))
    if recipe.validation is not None:
        context = recipe.held_out_dialect.context_tokens
        plays.append((recipe.evaluation.max_concurrent_rollouts, context))
    if not plays:
        return {}
    s, size = model.shape, BYTES[precision_name(settings.dtype, device, recipe.model.weights)]
    positions = max(rows * round_up(min(context, model.positions)) for rows, context in plays)
    same = size == BYTES[recipe.model.weights]
    return {
        "sampler's weights": 0.0 if same else float(model.parameters * size),
        "keys and values": 2.0 * s.layers * s.kv_heads * s.head_size * positions * size,
        "logits of a token": max(rows for rows, _ in plays) * s.vocabulary * 4.0 * 3,
    }


def total_memory_gb(device: str) -> float | None:
    """Of this machine or its first GPU; None where it is not told."""
    if device == "cuda":
        if not torch.cuda.is_available():
            return None
        return float(torch.cuda.get_device_properties(0).total_memory) / GB
    here = memory_bytes()
    return None if here is None else here / GB


def check_memory(recipe: Recipe, shards: int = 1) -> None:
    """Raises UserError where what a stage holds in any case, and the gradients, is more than there
    is: weights, optimizer state, a reference, all of it divided among so many devices (`shards`).
    (The whole estimate is what a run may need at most, so it is no reason to refuse one.)"""
    device = device_named(recipe.model.device).type
    there_gb = total_memory_gb(device)
    try:
        size = size_of(recipe)
    except UserError:  # a name on a hub that is not known here
        return
    for stage in memory(recipe, size, device):
        least_gb = (sum(stage.held.values()) + stage.learning["gradients"]) / shards / GB
        if there_gb is not None and least_gb > there_gb:
            raise UserError(
                f"'{size.name}' is too large to be trained here: {stage.stage} takes at least"
                f" {least_gb:.1f} GB for {', '.join(stage.held)} and gradients, of {there_gb:.1f}"
                " GB. 'tripwright fit' says what to change; docs/sft.md, how TRL divides it."
            )


# ---- several GPUs, reckoned for verl 0.9.1 and TRL 1.16 as they are read; nothing was measured

NUMBERS_OF_DEVICES, CARDS_GB = (1, 8, 16), (80, 141)
# verl computes every token's logits: these, their softmax for the entropy, and the gradient
VERL_COPIES, HALF = 3, BYTES["bfloat16"]


class DevicePeak(NamedTuple):
    """Of each of so many GPUs, in GB, and whether cards of so many GB are enough."""

    devices: int
    checkpoint_activations: bool
    peak_gb: float
    fits: dict[str, bool]


def clusters(recipe: Recipe) -> list[Recipe]:
    """The recipe on its [verl]'s GPUs, and on 8 and on 16 with that table or its defaults; none
    where it has nothing that verl trains on GPUs."""
    table = recipe.verl or ClusterSettings()
    if recipe.rl is None or table.sampler == "cpu":
        return []
    tables = [replace(table, nodes=n // 8, gpus_per_node=8) for n in NUMBERS_OF_DEVICES[1:]]
    by_number = {each.gpus: each for each in (*tables, *filter(None, [recipe.verl]))}
    return [replace(recipe, verl=by_number[n]) for n in sorted(by_number)]


def device_peaks(recipe: Recipe, model: ModelSize) -> list[DevicePeak]:
    """Our engine's on one GPU, without checkpointed activations and with them; and on more verl's,
    or TRL's where the recipe fine-tunes alone, which always have them."""
    found = []
    for on in (False, True):
        settings = replace(recipe.model, checkpoint_activations=on)
        most = peak(memory(replace(recipe, model=settings), model, "cuda"))
        found.append(DevicePeak(1, on, most, {f"{card}_gb": most <= card for card in CARDS_GB}))
    if recipe.rl is None and recipe.sft is not None:
        return found + [trl_peak(recipe, model, number) for number in NUMBERS_OF_DEVICES[1:]]
    return found + [verl_peak(each, model) for each in clusters(recipe)]


def trl_peak(recipe: Recipe, model: ModelSize, devices: int) -> DevicePeak:
    """By recipes/accelerate_fsdp.yaml: weights, optimizer state and gradients sharded in fp32, a
    layer of them gathered at a time; TRL checkpoints activations, and makes logits in chunks."""
    plain = replace(recipe.model, checkpoint_activations=True, weights="float32")
    stage, s = memory(replace(recipe, model=plain), model, "cuda")[-1], model.shape
    sharded = sum(stage.held.values()) + stage.learning.pop("gradients")
    layer = (s.layer_parameters + s.vocabulary * s.hidden) * FP32
    most = (sharded / devices + sum(stage.learning.values()) + layer) / GB
    return DevicePeak(devices, True, most, {f"{card}_gb": most <= card for card in CARDS_GB})


def verl_peak(recipe: Recipe, model: ModelSize) -> DevicePeak:
    """FSDP2 shards weights, optimizer state and gradients, in fp32, over all GPUs and gathers a
    layer at a time, in bf16; a reference waits in the CPUs' memory. An update holds one
    micro-batch, of which each GPU of `sequence_parallel` has its part. While it plays, `offload`
    leaves the GPU to the sampler, which holds the weights once for `tensor_parallel` GPUs and keys
    and values of one context at least."""
    verl, s, stage = recipe.verl, model.shape, _stages(recipe, model)[-1]
    assert verl is not None
    held, _ = _held(recipe, model, stage, "cuda")
    held.pop("reference model", None)
    narrow = replace(recipe.model, checkpoint_activations=True, weights="bfloat16")
    learning = _learning(replace(recipe, model=narrow), model, stage, "cuda")
    logits = stage.micro * stage.length * s.vocabulary * HALF * VERL_COPIES
    row = (learning["activations"] + logits) / verl.sequence_parallel
    layer = (s.layer_parameters + s.vocabulary * s.hidden) * HALF
    gradients = trained_parameters(recipe, model) * FP32
    updating = ((sum(held.values()) + gradients) / verl.gpus + row + layer) / GB
    if recipe.model.lora is not None and verl.sampler == "sglang":  # its base does not sleep
        updating += model.parameters * HALF / verl.tensor_parallel / GB
    waiting = 0.0 if verl.offload else sum(held.values()) / verl.gpus / GB
    cached = 2 * s.layers * s.kv_heads * s.head_size * stage.length * HALF
    sampler = (model.parameters * HALF + cached) / verl.tensor_parallel / GB
    given = {card: verl.memory_share * card for card in CARDS_GB}
    fits = {
        f"{card}_gb": max(updating, waiting + share) <= card and sampler <= share
        for card, share in given.items()
    }
    return DevicePeak(verl.gpus, True, max(updating, waiting + sampler), fits)


# ---- what to change: the first ones cost nothing but time

LEAST_ROWS = 8  # episodes played at once: with fewer, time grows more than memory shrinks


class Change(NamedTuple):
    """One setting, as a recipe has it, and the peak in GB once it and all changes before it are
    made."""

    setting: str
    peak_gb: float


def changes(
    recipe: Recipe, model: ModelSize, most_gb: float, device: str
) -> tuple[list[Change], bool]:
    """(the changes in order, whether they suffice). Each one saves something; after the last that
    is needed there are no more. What saves nothing yet may do so once something else is smaller, so
    every step looks at all of them again."""
    smaller, settings = recipe, dict[str, str]()
    while (now := peak(memory(smaller, model, device))) > most_gb:
        for setting in _candidates(smaller, device):
            candidate = changed(smaller, [setting])
            if peak(memory(candidate, model, device)) < 0.99 * now:
                break
        else:
            break
        # in the place of a smaller step of the same change
        settings[setting.partition(" = ")[0]] = setting
        smaller = candidate
    needed = list[Change]()
    for setting in settings.values():
        recipe = changed(recipe, [setting])
        needed.append(Change(setting, peak(memory(recipe, model, device))))
    return needed, now <= most_gb


def _candidates(recipe: Recipe, device: str) -> Iterator[str]:
    rl, sft = recipe.rl, recipe.sft
    if sft is not None and (sft.micro_batch_size or sft.batch_size) > 1:
        yield "sft.micro_batch_size = 1"
    if rl is not None and rl.settings.micro_batch_size > 1:
        yield f"{rl.algorithm}.micro_batch_size = 1"
    if not recipe.model.checkpoint_activations:
        yield "model.checkpoint_activations = true"
    if rl is not None:
        name, settings = rl
        evaluated = recipe.evaluation.max_concurrent_rollouts
        for table, rows in ((name, settings.rollouts_at_once), ("evaluation", evaluated)):
            while rows > LEAST_ROWS:
                rows = max(LEAST_ROWS, rows // 2)
                yield f"{table}.max_concurrent_rollouts = {rows}"
        halves = device == "cuda" or precision_name(AUTO) != "float32"
        if precision_name(settings.dtype, device) == "float32" and halves:
            yield f'{name}.dtype = "bfloat16"'
    tables = [recipe.copy_pretraining, sft, rl.settings if rl else None]
    products = {precision_name(table.dtype, device) for table in tables if table is not None}
    if recipe.model.weights == "float32" and products == {"bfloat16"}:
        yield 'model.weights = "bfloat16"'
    if device == "cuda":
        stages = [("sft", sft.optimizer)] if sft is not None else []
        stages = [(rl.algorithm, rl.settings.optimizer), *stages] if rl is not None else stages
        for state in ("8bit", "offloaded"):  # the latter takes the machine's memory
            for name, optimizer in stages:
                if optimizer.name == "adamw" or state == "offloaded":
                    yield f'{name}.optimizer.state = "{state}"'
    if rl is not None and isinstance(rl.settings, GrpoSettings) and rl.settings.kl.beta:
        yield f"{rl.algorithm}.kl.beta = 0.0"  # no reference model


# ---- the work and the time of a step

SAMPLE = 16  # of the expert's episodes, from which lengths are taken
# characters a token: of a large tokenizer (English and JSON), and of the small one of a new model
LARGE_TOKENIZER, NEW_TOKENIZER = 3.6, 3.8
# Of the processor's measured peak, what a step of the nano model reaches: some 180 GFLOP/s to learn
# and 130 to play, on two cores with bf16 instructions. It tells minutes from days, no more.
REACHED = 0.2


class Lengths(NamedTuple):
    """Tokens of an episode in the mean, and how many of them the agent says. `measured`: from the
    expert's episodes, else at most."""

    episode: int
    agent: int
    measured: bool


def lengths(recipe: Recipe, model: ModelSize, tokens: int | None = None) -> Lengths:
    """`tokens` is what the user says. On generated trips the expert plays some; on a user's own, an
    episode is as long as it can be."""
    most = min(recipe.dialect.dialect().context_tokens, model.positions)
    if tokens is not None:
        return Lengths(min(tokens, most), max(1, min(tokens, most) // 4), False)
    if recipe.data.queries is not None:
        return Lengths(most, max(1, most // 8), False)
    trips = trips_of(recipe, RL)
    requests = [trips.request_at(number) for number in range(SAMPLE)]
    sessions = expert_sessions(requests, recipe.dialect.dialect(), None)
    segments = [s for session in sessions for s in session.transcript.segments]
    characters = SAMPLE * (NEW_TOKENIZER if model.shape.vocabulary < 20_000 else LARGE_TOKENIZER)
    episode = round(sum(len(segment.text) for segment in segments) / characters)
    agent = sum(len(segment.text) for segment in segments if segment.role == "assistant")
    return Lengths(min(most, episode), max(1, round(agent / characters)), True)


class StepWork(NamedTuple):
    """Of one step of a stage; `steps` and `seconds_at_most` of the whole one, None where that is
    not known. `seconds` is None on a GPU."""

    stage: str
    tokens: int
    update_flops: float
    rollout_flops: float = 0.0
    seconds: float | None = None
    steps: int | None = None
    seconds_at_most: float | None = None


def steps_of(
    recipe: Recipe, model: ModelSize, lengths: Lengths, device: str = "cpu"
) -> list[StepWork]:
    """One entry for each stage that the recipe has, in order. Groups that agree are not computed in
    an update; here all are counted."""
    works = []
    for stage in _stages(recipe, model):
        length, said = stage.length, int(stage.length * stage.loss_share)
        if stage.name != "copy_pretraining":
            length = min(length, lengths.episode)
            said = lengths.agent if stage.rl is not None else length
        updated, rolled = update_flops(model.shape, [length] * stage.rows, said * stage.rows), 0.0
        tokens = stage.rows * length
        if stage.rl is not None:
            episodes = stage.rl.prompts_per_step * stage.rl.group_size
            tokens = episodes * length
            rolled = rollout_flops(model.shape, [(0, length)] * episodes, said * episodes)
        seconds = None
        if device == "cpu":
            name = precision_name(stage.dtype, weights=recipe.model.weights)
            peak_rate = peak_flops(device, precision_named(name))
            seconds = (updated + rolled) / (REACHED * peak_rate) if peak_rate else None
        limits = [seconds * stage.steps] if seconds and stage.steps else []
        limits += [stage.minutes * 60] if stage.minutes else []
        most = min(limits, default=None)
        works.append(StepWork(stage.name, tokens, updated, rolled, seconds, stage.steps, most))
    return works


# ---- all of it


def estimate(
    recipe: Recipe, device: str, available_gb: float | None, model: str | None, tokens: int | None
) -> dict[str, Any]:
    """Bytes, FLOPs, seconds, tokens; GB where it says so. `available_gb` None: what this machine
    has; `model` None: the recipe's; `tokens`: mean length of an episode, where it is known."""
    size = size_of(recipe, model)
    stages = memory(recipe, size, device)
    if not stages:
        raise UserError(f"Recipe '{recipe.name}' has no stage, so there is nothing to estimate.")
    available = available_gb if available_gb is not None else total_memory_gb(device)
    episode = lengths(recipe, size, tokens)
    steps = steps_of(recipe, size, episode, device)
    at_most = [work.seconds_at_most for work in steps if work.seconds_at_most is not None]
    needed, enough = changes(recipe, size, available, device) if available else ([], None)
    return {
        "model": {
            "name": size.name,
            "parameters": size.parameters,
            "trained_parameters": trained_parameters(recipe, size),
            "weight_bytes": BYTES[recipe.model.weights],
            **asdict(size.shape),
        },
        "memory": [{**asdict(stage), "peak": stage.peak} for stage in stages],
        "peak_gb": peak(stages),
        "devices": [p._asdict() for p in (device_peaks(recipe, size) if device == "cuda" else [])],
        "available_gb": available,
        "fits": None if available is None else peak(stages) <= available,
        "changes": [change._asdict() for change in needed],
        "changes_suffice": enough,
        "episode": episode._asdict(),
        "steps": [work._asdict() for work in steps],
        "minutes_at_most": sum(at_most) / 60 if len(at_most) == len(steps) else None,
    }
