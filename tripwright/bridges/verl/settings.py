"""A recipe as verl's configuration: dotted keys and their values. What a recipe asks for and verl
cannot be told is refused by name, before anything is started."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tripwright.bridges.verl import FOLDER, NAME, policy_loss_name
from tripwright.errors import UserError
from tripwright.training.grpo import GrpoSettings
from tripwright.training.recipe import ClusterSettings, Recipe

PLUGIN = "tripwright.bridges.verl.inside.plugin"
TRAIN, CONFIGURATION = "train.parquet", "config.yaml"
ADAPTER = "adapter"  # with [model.lora]: what RL begins with
# as a dual clip: ratios are at most e^20 (training/losses.py), so it never acts
NO_DUAL = 1e9
KL_NAMES = {"k2": "mse", "k3": "low_var_kl"}  # of our estimators at verl
ACTOR, REFERENCE = "actor_rollout_ref.actor", "actor_rollout_ref.ref"
ROLLOUT, MODEL = "actor_rollout_ref.rollout", "actor_rollout_ref.model"
# its own default
ATTENTION, FLASH = f"{MODEL}.override_config.attn_implementation", "flash_attention_2"


def check_for_verl(recipe: Recipe) -> tuple[GrpoSettings, ClusterSettings]:
    """The recipe's settings of RL, and its machines. Raises UserError for all that verl does not
    do."""
    if recipe.rl is None:
        raise UserError("verl does reinforcement learning: the recipe has no [grpo] table.")
    name, settings = recipe.rl
    if not isinstance(settings, GrpoSettings):
        raise UserError(f"[{name}] is not done by verl here: take [grpo], or --engine local.")
    refusals = list(_refusals(recipe, settings, recipe.verl or ClusterSettings()))
    if recipe.verl is None:
        refusals.append(
            "a recipe without machines; give a table [verl], for instance nodes = 2 and"
            ' gpus_per_node = 8 (docs/cluster.md), or sampler = "cpu" to try it without a GPU'
        )
    if recipe.verl is None or refusals:
        raise UserError(f"not done by verl here: {'. Nor: '.join(refusals)}. Or: --engine local.")
    return settings, recipe.verl


def _refusals(recipe: Recipe, grpo: GrpoSettings, verl: ClusterSettings) -> Iterator[str]:
    summed = grpo.aggregation != "token-mean" or grpo.loss_scale_factor != 1
    refused = {
        "[grpo.branching]; leave it out": grpo.branching,
        "[grpo.server]; leave it out: verl has servers of its own": grpo.server,
        # verl's reference is the base, without an adapter
        "[grpo.kl] with [model.lora] after another stage; leave one of them out": (
            grpo.has_reference and recipe.model.lora and recipe.stages[-2] != "start"
        ),
        "code of your own (grpo.loss, grpo.advantage.function); leave it out": grpo.own,
        "narrow model.weights; leave them in float32": recipe.model.weights != "float32",
        "grpo.optimizer other than adamw": grpo.optimizer.name != "adamw",
        "grpo.optimizer.state (verl.offload moves it to the machine's memory); leave it out": (
            grpo.optimizer.state != "float32"
        ),
        'grpo.max_minutes; set it to "none", and grpo.steps or grpo.max_epochs': grpo.max_minutes,
        # how many new requests a step takes then depends on what comes out
        'grpo.max_epochs with [grpo.replay] or grpo.filter.refill; set it to "none", and grpo.steps'
        "": (grpo.max_epochs and (grpo.replay or grpo.filter.refill)),
        # verl adds up these terms over all tokens alike
        '[grpo.kl] or grpo.entropy_bonus with another grpo.aggregation than "token-mean", or with a'
        " grpo.loss_scale_factor": (grpo.has_reference or grpo.entropy_bonus) and summed,
        f"grpo.dtype {grpo.dtype} on a CPU; leave it out": (
            verl.sampler == "cpu" and grpo.dtype not in ("auto", "float32")
        ),
        "verl.tensor_parallel that does not divide the number of GPUs": (
            verl.gpus % verl.tensor_parallel
        ),
        # verl shares a row among GPUs inside flash attention alone
        f"verl.sequence_parallel with another attention than {FLASH}; leave one of them out": (
            verl.sequence_parallel > 1 and attention_of(verl) != FLASH
        ),
    }
    return (words for words, found in refused.items() if found)


def attention_of(verl: ClusterSettings) -> str:
    """The implementation of attention that the trained model is loaded with."""
    default = "sdpa" if verl.sampler == "cpu" else FLASH
    return str((verl.options or {}).get(ATTENTION, default))


def length_of(recipe: Recipe) -> tuple[int | None, float]:
    """(the steps of RL, what `RlLoop.progress` is after them: 1 or a little more). Epochs are
    counted in the file of requests; None where it is not there yet."""
    grpo, _ = check_for_verl(recipe)
    each, requests = grpo.prompts_per_step, 1
    if grpo.max_epochs is not None:
        file = Path(recipe.data.queries or "")
        if not file.is_file():
            return None, 1.0
        requests = sum(1 for _ in recipe.domain.requests.read(file))

    def progress(step: int) -> float:
        by_steps = step / grpo.steps if grpo.steps else 0.0
        return max(by_steps, step * each / requests / (grpo.max_epochs or math.inf))

    steps = next(step for step in itertools.count(1) if progress(step) >= 1)
    return steps, progress(steps)


def configuration(recipe: Recipe, model: str, run: Path) -> dict[str, Any]:
    """verl's keys that are not its defaults. `model`: what RL starts from, a folder or a name;
    `run`: the run folder, which every node must see under this path."""
    grpo, verl = check_for_verl(recipe)
    folder = run.absolute() / FOLDER
    return {
        **_data(recipe, grpo, folder),
        **_model(recipe, model, verl, folder),
        **_actor(recipe, grpo, verl),
        **_rollout(recipe, grpo, verl),
        **_trainer(recipe, grpo, verl, folder),
        **(_on_cpu(verl) if verl.sampler == "cpu" else {}),
        **(verl.options or {}),
    }


def _data(recipe: Recipe, grpo: GrpoSettings, folder: Path) -> dict[str, Any]:
    dialect = recipe.dialect.dialect()
    return {
        "data.train_files": str(folder / TRAIN),
        "data.val_files": str(folder / TRAIN),  # verl wants one; it plays none
        "data.train_batch_size": grpo.prompts_per_step,
        "data.max_prompt_length": dialect.max_prompt_tokens or dialect.context_tokens,
        "data.max_response_length": dialect.max_response_tokens or dialect.context_tokens,
        "data.return_raw_chat": True,
        "data.shuffle": False,  # trips are numbered, and come in the order of their numbers
        "data.dataloader_num_workers": 0,
        "data.filter_overlong_prompts": False,  # such an episode ends without a turn, and counts
    }


def _model(recipe: Recipe, model: str, verl: ClusterSettings, folder: Path) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    if (lora := recipe.model.lora) is not None:
        keys = {
            f"{MODEL}.lora_rank": lora.rank,
            f"{MODEL}.lora_alpha": lora.alpha,
            f"{MODEL}.target_modules": list(lora.targets),
            f"{MODEL}.lora_adapter_path": str(folder / ADAPTER),
            f"{ACTOR}.checkpoint.save_lora_only": True,
        }
        if verl.sampler != "cpu":  # servers read the base themselves, and are sent the adapter
            keys[f"{ROLLOUT}.load_format"] = "safetensors"
    return keys | {
        f"{MODEL}.path": model,
        f"{MODEL}.enable_gradient_checkpointing": recipe.model.checkpoint_activations
        or verl.sampler != "cpu",
        f"{MODEL}.use_remove_padding": verl.sampler != "cpu",
    }


def _actor(recipe: Recipe, grpo: GrpoSettings, verl: ClusterSettings) -> dict[str, Any]:
    tokens = recipe.dialect.dialect().context_tokens * grpo.micro_batch_size
    optimizer, kept = grpo.optimizer, ["model", "optimizer", "extra"]
    whole = [] if recipe.model.lora else ["hf_model"]  # of an adapter: `inside/trainer.py`
    return {
        f"{ACTOR}.strategy": "fsdp2",
        f"{ACTOR}.ppo_mini_batch_size": -(-grpo.prompts_per_step // grpo.minibatches),
        f"{ACTOR}.ppo_epochs": grpo.epochs_per_batch,
        f"{ACTOR}.use_dynamic_bsz": True,
        f"{ACTOR}.ppo_max_token_len_per_gpu": -(-tokens // verl.sequence_parallel),
        f"{ACTOR}.ulysses_sequence_parallel_size": verl.sequence_parallel,
        f"{ACTOR}.policy_loss.loss_mode": policy_loss_name(grpo.loss),
        f"{ACTOR}.loss_agg_mode": "token-mean",
        f"{ACTOR}.clip_ratio": grpo.clip.low,
        f"{ACTOR}.clip_ratio_low": grpo.clip.low,
        f"{ACTOR}.clip_ratio_high": grpo.clip.high,
        f"{ACTOR}.clip_ratio_c": NO_DUAL if grpo.clip.dual is None else grpo.clip.dual,
        f"{ACTOR}.calculate_entropy": True,
        f"{ACTOR}.entropy_coeff": grpo.entropy_bonus,
        f"{ACTOR}.use_kl_loss": grpo.has_reference,
        f"{ACTOR}.kl_loss_coef": grpo.kl.beta,
        f"{ACTOR}.kl_loss_type": KL_NAMES.get(grpo.kl.estimator, "low_var_kl"),
        f"{ACTOR}.optim.lr": optimizer.adamw_learning_rate,
        f"{ACTOR}.optim.betas": list(optimizer.betas),
        f"{ACTOR}.optim.weight_decay": optimizer.weight_decay,
        f"{ACTOR}.optim.clip_grad": optimizer.grad_clip,
        f"{ACTOR}.optim.lr_warmup_steps": grpo.warm_up_steps,
        f"{ACTOR}.optim.min_lr_ratio": 1 - (1 - grpo.final_rate) * length_of(recipe)[1],
        f"{ACTOR}.fsdp_config.param_offload": verl.offload,
        f"{ACTOR}.fsdp_config.optimizer_offload": verl.offload,
        f"{ACTOR}.checkpoint.save_contents": [*kept, *whole],
        f"{ACTOR}.checkpoint.load_contents": kept,
    }


def _rollout(recipe: Recipe, grpo: GrpoSettings, verl: ClusterSettings) -> dict[str, Any]:
    dialect, held_out = recipe.dialect.dialect(), recipe.held_out_dialect
    window = max(dialect.context_tokens, held_out.context_tokens if recipe.validation else 0)
    at_once = grpo.max_concurrent_rollouts or grpo.prompts_per_step * grpo.group_size
    servers = verl.gpus // verl.tensor_parallel
    return {
        f"{ROLLOUT}.name": NAME if verl.sampler == "cpu" else verl.sampler,
        f"{ROLLOUT}.mode": "async",
        f"{ROLLOUT}.n": grpo.group_size,
        f"{ROLLOUT}.seed": recipe.seed,
        f"{ROLLOUT}.temperature": grpo.temperature,
        f"{ROLLOUT}.top_p": 1.0,
        f"{ROLLOUT}.top_k": -1,
        f"{ROLLOUT}.max_model_len": window,
        f"{ROLLOUT}.max_num_seqs": max(1, -(-at_once // servers)),
        f"{ROLLOUT}.tensor_model_parallel_size": verl.tensor_parallel,
        f"{ROLLOUT}.gpu_memory_utilization": verl.memory_share,
        f"{ROLLOUT}.calculate_log_probs": True,
        f"{ROLLOUT}.agent.num_workers": verl.episode_workers,
        f"{ROLLOUT}.agent.default_agent_loop": NAME,
    }


def _trainer(
    recipe: Recipe, grpo: GrpoSettings, verl: ClusterSettings, folder: Path
) -> dict[str, Any]:
    steps, _ = length_of(recipe)
    return {
        "algorithm.adv_estimator": "grpo",
        "algorithm.use_kl_in_reward": False,
        # old log-probabilities: the sampler's, or the trainer's
        "algorithm.rollout_correction.bypass_mode": not grpo.importance.asks_trainer,
        "reward.num_workers": 1,  # rewards are computed in the loop
        "trainer.v1.trainer_mode": NAME,
        "trainer.nnodes": verl.nodes,
        "trainer.n_gpus_per_node": verl.gpus_per_node,
        "trainer.total_training_steps": steps,
        "trainer.total_epochs": steps,  # the steps end it
        "trainer.save_freq": recipe.checkpoint.every_steps or (steps and max(1, steps // 10)),
        "trainer.max_actor_ckpt_to_keep": recipe.checkpoint.keep,
        "trainer.test_freq": -1,  # ours is played in verl's place
        "trainer.val_before_train": False,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": str(folder),
        "trainer.logger": ["console"],
        "trainer.project_name": NAME,
        "trainer.experiment_name": recipe.name,
    }


def _on_cpu(verl: ClusterSettings) -> dict[str, Any]:
    """fp32 all through: `dtype` alone leaves bf16's autocast on."""
    precision = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    engine = {
        "use_torch_compile": False,
        "fsdp_config.use_torch_compile": False,
        "fsdp_config.dtype": "float32",
        "fsdp_config.mixed_precision": precision,
    }
    return {
        "trainer.device": "cpu",
        ATTENTION: "sdpa",
        **{f"{part}.{key}": value for part in (ACTOR, REFERENCE) for key, value in engine.items()},
        f"{REFERENCE}.strategy": "fsdp2",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
    }


def nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as the tables that they name."""
    tree: dict[str, Any] = {}
    for key, value in keys.items():
        *path, last = key.split(".")
        here = tree
        for part in path:
            here = here.setdefault(part, {})
        here[last] = value
    return tree
