"""Which models can be loaded and played here: number formats and devices, checks of a folder before
a weight is read, and LoRA adapters.

On a CPU bfloat16 can be four times as fast as float32 where there are instructions for it, and is
four times as slow where there are none, because every product is then widened first (measured: 40
against 160 GFLOP/s on a Cascade Lake). Instructions alone say little: an Intel Xeon of 2023 with
AVX-512 BF16, whose AMX a virtual machine hides, makes 165 against 290.

LoRA adapters are those of `peft` (Hu et al. 2021): beside the frozen weights W of a linear layer
stand two small matrices A (rank, inputs) and B (outputs, rank), and it computes
W·x + alpha/rank·B·A·x. `peft` puts its own modules in the place of a model's linear layers, and
`Decoder` computes base and adapter (`linear`), in training and in sampling alike: nothing is
merged, and a token's log-probability is the same in both. Only a folder that a verb or a stage asks
for as a plain model is merged (`merged`).

A folder with an adapter holds `adapter_model.safetensors`, `adapter_config.json` and a tokenizer.
Its config names the base: a folder (relative to the adapter's own, or not) or a name on the hub.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import platform
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Lt, MinLen
from torch import Tensor

from tripwright.errors import UserError, first_line
from tripwright.files import is_no_model, json_object, model_file, open_file, write_atomically
from tripwright.runs import model_in

AUTO = "auto"
_NAMED = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
PRECISIONS = (AUTO, *_NAMED)  # what a run may ask for
# for sampling only, to compare without rounding: autocast knows no such products
DOUBLE = "float64"


def device_named(name: str) -> torch.device:
    """`auto` is the first GPU where there is one, else the CPU. Raises UserError for a device that
    is not here, with those that are."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    accepted = ["cpu", *(["cuda"] if gpus else []), *(f"cuda:{number}" for number in range(gpus))]
    if name == AUTO:
        name = "cuda" if gpus else "cpu"
    if name not in accepted:
        there = f"{gpus} GPU{'s' * (gpus != 1)}" if gpus else "no GPU that torch can use"
        raise UserError(
            f"No device '{name}' here: there is {there}. Accepted: auto, {', '.join(accepted)}."
        )
    return torch.device(name)


def precision_named(name: str, weight: torch.Tensor | None = None) -> torch.dtype:
    """`auto` is what a model with such weights is multiplied in: their own format where that is
    narrower than float32, bfloat16 on a GPU, else `fastest()`. Raises UserError for a name that is
    neither in PRECISIONS nor DOUBLE."""
    if name == DOUBLE:
        return torch.float64
    if name not in PRECISIONS:
        raise UserError(f"Unknown dtype '{name}'. Accepted: {', '.join(PRECISIONS)}.")
    if name != AUTO:
        return _NAMED[name]
    if weight is not None and weight.dtype in (torch.bfloat16, torch.float16):
        return weight.dtype
    on_gpu = weight is not None and weight.device.type == "cuda"
    return torch.bfloat16 if on_gpu else fastest()


def convert_weights(model: Any, dtype: torch.dtype) -> None:
    """In place, one parameter at a time; an adapter's stay. Buffers stay: in bfloat16 the
    frequencies of rotary positions are off by a radian at position 2,000."""
    for parameter in base_parameters(model):
        parameter.data = parameter.data.to(dtype)


def fastest() -> torch.dtype:
    """bfloat16 where this processor is known to multiply it faster than float32. Known, not tried:
    on a busy machine a trial comes out otherwise now and then, and a run would not go on bit for
    bit."""
    # torch names its checks with an underscore, so that they may go: without them float32 is right
    # everywhere, if not the fastest
    amx, bf16 = (
        getattr(torch.cpu, f"_is_{sign}_supported", bool)() for sign in ("amx_tile", "avx512_bf16")
    )
    return torch.bfloat16 if amx or (bf16 and "Intel" not in _vendor()) else torch.float32


@functools.cache
def _vendor() -> str:
    """Text that names it: "… GenuineIntel …", "… AuthenticAMD …"."""
    info = Path("/proc/cpuinfo")
    return info.read_text(encoding="utf-8")[:200] if info.is_file() else platform.processor()


def autocast(dtype: torch.dtype, device: str = "cpu") -> AbstractContextManager[object]:
    """Matrix products in `dtype`, weights as they are. A weight is narrowed where it is used, once
    a pass: kept for a second use, it would stay when the layer is done."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device, dtype=dtype, cache_enabled=False)


SUPPORTED = ("qwen3", "qwen2", "llama")
FULL, SLIDING = "full_attention", "sliding_attention"  # of a config's layer_types
# frequencies of positions that do not change with a text's length; `Decoder` reads them once
ROPE = ("default", "linear", "llama3", "yarn")
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
GB = 1e9


def check_known(config: Any) -> None:
    """Raises UserError for a `transformers` config of a model that `Decoder` cannot compute, with
    who can."""
    kinds = set(getattr(config.get_text_config(), "layer_types", None) or ())
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    for name, found, known in (
        ("model_type", config.model_type, SUPPORTED),
        ("layer_types", ", ".join(sorted(kinds - {SLIDING})) or FULL, (FULL,)),
        ("rope_type", rope, ROPE),
        ("hidden_act", getattr(config, "hidden_act", None), ("silu",)),
    ):
        if found not in known:
            layers = f" with layers of {', '.join(sorted(kinds))}" if kinds - {FULL} else ""
            raise UserError(
                f"Our engine computes {name} {', '.join(known)}; this model has '{found}'{layers}."
                " Let a server play it (vLLM or SGLang, and --policy endpoint) and verl train it"
                " (--engine verl with one of them, docs/cluster.md), or take another model."
            )
    if SLIDING in kinds:
        raise UserError(
            "Local generation attends to the whole context; this model has layers with"
            f" sliding-window attention ({config.sliding_window:,} tokens). Where no context is"
            " longer, set use_sliding_window to false in its config.json; else take another model."
        )


def check_whole(folder: Path) -> None:
    """Raises UserError for a folder whose weights are not all there, or more than this machine's
    memory holds."""
    index, none = folder / INDEX, f"No model could be loaded from '{folder}'"
    from safetensors import SafetensorError, safe_open

    names = [SINGLE]
    if index.is_file():
        weights = (json_object(model_file(index)) or {}).get("weight_map")
        if not isinstance(weights, dict) or not weights:
            raise UserError(f"{none}: {INDEX} names no weights. Download it again.")
        names = sorted(set(map(str, weights.values())))
    if outside := [name for name in names if Path(name).name != name]:
        raise UserError(f"{none}: {INDEX} names {outside[0]!r}, expected a file of this folder.")
    for name in names:
        try:
            with safe_open(folder / name, "pt"):
                pass
        except (FileNotFoundError, SafetensorError) as error:
            raise UserError(
                f"{none}: {name} is missing, no safetensors file, or cut short ({error})."
                " Download the model again, to its end."
            ) from None
    needed, there = sum((folder / name).stat().st_size for name in names), memory_bytes()
    if there is not None and needed > there:
        raise UserError(
            f"'{folder}' is too large for this machine: its weights alone take {needed / GB:.1f} GB"
            f" of {there / GB:.1f} GB. Take a smaller model, or serve it elsewhere and play it by"
            " --policy endpoint."
        )


def memory_bytes() -> int | None:
    """Of this machine; None where it is not told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
Layer = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# those that `Decoder` calls; it reads the others' weights
LAYERS: tuple[Layer, ...] = get_args(Layer)
# of a config of peft's: what we hand on, and what says nothing about the layers' arithmetic
_READ = ("r", "lora_alpha", "lora_dropout", "target_modules", "use_rslora")
_SILENT = {
    "base_model_name_or_path",
    "auto_mapping",
    "inference_mode",
    "init_lora_weights",
    "megatron_core",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "revision",
    "task_type",
}
_PREFIX = "base_model.model."  # of the names in peft's files


@dataclass(frozen=True)
class LoraSettings:
    """`rank`, `alpha` and `dropout` are peft's r, lora_alpha and lora_dropout, `targets` its
    target_modules. Dropout acts in fine-tuning alone: in RL a token's log-probability is the
    sampler's own."""

    rank: Annotated[int, Ge(1)] = 16
    alpha: Annotated[float, Gt(0)] = 32.0
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    targets: Annotated[tuple[Layer, ...], MinLen(1)] = LAYERS


def check_peft(why: str) -> None:
    """Raises UserError where peft is not installed."""
    if find_spec("peft") is None:
        raise UserError(f"{why} needs the 'lora' extra: pip install 'tripwright[lora]'.")


def is_adapter(folder: str | Path) -> bool:
    return (Path(folder) / CONFIG).is_file()


def adapter_of(source: Path) -> Path:
    """`source`, or of a run the adapter of its last finished stage."""
    last = model_in(source)
    if not is_adapter(last):
        raise UserError(
            f"No adapter in '{last}', so nothing is to be merged. Expected a folder with {CONFIG},"
            " or a run whose last finished stage trained one ([model.lora])."
        )
    return last


def has_adapter(model: Any) -> bool:
    return bool(getattr(model, "_hf_peft_config_loaded", False))


def add_adapter(model: Any, settings: LoraSettings, base: str, seed: int) -> None:
    """A new one, in place: A at random, B zero, so that the model says what it said before. `base`
    is what the adapter's folder will name."""
    from peft import LoraConfig

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model.add_adapter(
            LoraConfig(
                r=settings.rank,
                lora_alpha=settings.alpha,
                lora_dropout=settings.dropout,
                target_modules=list(settings.targets),
            )
        )
    _name_base(model, base)
    for _, parameter in adapter_parameters(model):
        # in the base's format its small steps would be lost to rounding
        parameter.data = parameter.data.float()


def linear(layer: Any, x: Tensor) -> Tensor:
    """`layer(x)`, x (…, inputs) → (…, outputs), with an adapter where the layer has one. Its
    factors go by the products' format, and what they say is added in place: `peft`'s pass keeps x
    in fp32 once more for every layer, and makes three tensors of the outputs' size."""
    if not hasattr(layer, "lora_A"):
        plain: Tensor = layer(x)
        return plain
    out, (name,) = layer.base_layer(x), layer.active_adapters
    a = layer.lora_A[name].weight.to(x.dtype)
    inner = F.linear(layer.lora_dropout[name](x), a).flatten(0, -2).to(out.dtype)
    b = layer.lora_B[name].weight.to(out.dtype)
    out.view(-1, out.shape[-1]).addmm_(inner, b.T, alpha=layer.scaling[name])
    return out


def adapter_parameters(model: Any) -> list[tuple[str, Any]]:
    return [(name, p) for name, p in model.named_parameters() if ".lora_" in name]


def base_parameters(model: Any) -> list[Any]:
    """All but those of an adapter."""
    return [p for name, p in model.named_parameters() if ".lora_" not in name]


def base_of(folder: str | Path) -> str:
    """What the adapter in `folder` is for: a folder, or a name on the hub. Raises UserError where
    it names none, or one that is not there."""
    name = _config(Path(folder)).get("base_model_name_or_path")
    if not isinstance(name, str) or not name:
        raise UserError(
            f"'{folder}' is an adapter that names no base: write a folder or a name on the hub into"
            f" base_model_name_or_path of its {CONFIG}."
        )
    base = str(Path(folder) / name) if (Path(folder) / name).is_dir() else name
    if is_no_model(base):
        raise UserError(
            f"'{folder}' is an adapter of '{name}', and there is no such folder. Put the base"
            f" there, or write where it is into base_model_name_or_path of {CONFIG}."
        )
    if is_adapter(base):
        raise UserError(
            f"'{folder}' is an adapter of '{name}', which is an adapter itself: merge that one"
            " first (tripwright merge)."
        )
    return base


def name_base(folder: Path, base: str, run: Path, **more: Any) -> None:
    """Into the config of an adapter. A base of the same run is named from there, so that a run may
    be moved."""
    there = Path(base).resolve()
    if there.is_dir() and there.is_relative_to(run.resolve()):
        base = os.path.relpath(there, folder.resolve())
    config = {**_config(folder), "base_model_name_or_path": base, **more}
    write_atomically(folder / CONFIG, json.dumps(config, indent=2))


def put_adapter(model: Any, folder: str | Path) -> None:
    """The adapter of `folder` onto its base, in place, in fp32 and frozen. Raises UserError for one
    that is not whole, is of another model, or is no plain LoRA."""
    from peft import LoraConfig
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    config = _config(Path(folder))
    settings = {key: config[key] for key in _READ if key in config}
    _check_plain(config, folder)
    base = config["base_model_name_or_path"]
    try:
        open_file(model_file(Path(folder) / WEIGHTS), most=memory_bytes()).close()
        found = load_file(Path(folder) / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"'{Path(folder) / WEIGHTS}' cannot be read: {first_line(error)}. Copy the adapter"
            " again."
        ) from None
    model.add_adapter(LoraConfig(**settings))
    _name_base(model, base)
    needed = {_file_name(name): parameter for name, parameter in adapter_parameters(model)}
    shapes = {name: tuple(tensor.shape) for name, tensor in found.items()}
    for name in sorted({*needed, *shapes}):
        here, there = tuple(needed[name].shape) if name in needed else None, shapes.get(name)
        if here != there:
            raise UserError(
                f"'{folder}' does not fit its base '{base}': {name.removeprefix(_PREFIX)} is"
                f" {_shown(there)} in the adapter, expected {_shown(here)}. Name the model that it"
                f" was trained on in {CONFIG}."
            )
    for name, parameter in needed.items():
        parameter.data = found[name].to(parameter.device, torch.float32)
        parameter.requires_grad_(False)


def save_model(model: Any, folder: Path) -> None:
    """`save_pretrained`; of a model with an adapter the adapter alone, under peft's names. (That of
    `transformers` would ask the hub about the base's vocabulary.)"""
    if not has_adapter(model):
        model.save_pretrained(folder)
        return
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {_file_name(name): p.detach().cpu() for name, p in adapter_parameters(model)}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    model.peft_config["default"].save_pretrained(folder)


def merged(model: Any) -> Any:
    """The plain model with W + alpha/rank·B·A in the place of W, in the base's format and in place;
    a model without an adapter as it is."""
    if not has_adapter(model):
        return model
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, layer in list(model.named_modules()):
        if isinstance(layer, BaseTunerLayer):
            layer.merge(safe_merge=True)
            parent, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(parent), leaf, layer.get_base_layer())
    model._hf_peft_config_loaded = False
    del model.peft_config
    return model.requires_grad_(True)


@torch.no_grad()
def merged_state(model: Any) -> dict[str, Tensor]:
    """The state that `merged` would have, by its names; the model stays as it is."""
    state: dict[str, Tensor] = model.state_dict()
    for name, layer in model.named_modules():
        if hasattr(layer, "get_delta_weight"):
            (adapter,) = layer.active_adapters
            base = state[f"{name}.base_layer.weight"]
            state[f"{name}.base_layer.weight"] = base + layer.get_delta_weight(adapter).to(base)
    return {
        name.replace(".base_layer.", "."): tensor
        for name, tensor in state.items()
        if ".lora_" not in name
    }


def frozen_copy(model: Any) -> Any:
    """A copy to be read. Of what is not trained it has the same tensors, so beside an adapter it
    takes an adapter's memory."""
    shared = {id(p): p for p in model.parameters() if not p.requires_grad}
    return copy.deepcopy(model, shared).eval()


def _file_name(name: str) -> str:
    """Of a parameter, in peft's files: without the adapter's own name."""
    return _PREFIX + name.replace(".default.", ".")


def _name_base(model: Any, base: str) -> None:
    """`add_adapter` writes where the model was loaded from."""
    model.peft_config["default"].base_model_name_or_path = base


def _config(folder: Path) -> dict[str, Any]:
    config = json_object(model_file(folder / CONFIG))
    if config is None or config.get("peft_type") != "LORA":
        found = "no JSON object" if config is None else f"peft_type {config.get('peft_type')!r}"
        raise UserError(f"'{folder / CONFIG}' is not of a LoRA adapter of peft: found {found}.")
    return config


def _check_plain(config: dict[str, Any], folder: str | Path) -> None:
    """A setting that is not known may change the arithmetic, or name code to be imported."""
    for key, value in config.items():
        if key not in _SILENT and key not in _READ and value and (key, value) != ("bias", "none"):
            raise UserError(
                f"'{folder}' is not plain LoRA: {CONFIG} sets {key} = {value!r}. Merge it into its"
                " base with peft (merge_and_unload), and name that folder."
            )
    targets = config.get("target_modules")
    if not isinstance(targets, list) or not set(targets) <= set(LAYERS):
        raise UserError(
            f"'{folder}' adapts {targets!r}. Accepted in target_modules: {', '.join(LAYERS)}."
        )


def _shown(shape: tuple[int, ...] | None) -> str:
    return "none" if shape is None else " x ".join(map(str, shape))
