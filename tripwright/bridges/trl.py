"""Fine-tuning with TRL's SFTTrainer: the way for models that need a GPU, or several (`accelerate
launch` or `torchrun` starts one process for each).

Of several processes the one of rank 0 leads: it has the run folder's lock and writes all that is
not a process's own part of a checkpoint. The others read, and wait for it where they depend on what
it writes. A step has the recipe's `batch_size` conversations, however many processes share them.

The same `[sft]` table, the same files and the same tokens as `sft`, given to TRL as ids and labels.
(TRL's own masks, `assistant_only_loss`, train on what ours do and on the template's frame as well:
a test compares them. Measured with TRL 1.16.)
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import torch

from tripwright.agent.dialect import Dialect
from tripwright.errors import UserError
from tripwright.files import Journal
from tripwright.inference.local import load_model
from tripwright.inference.models import merged
from tripwright.runs import METRICS, rewind_metrics
from tripwright.training.recipe import Recipe
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import SftSettings
from tripwright.training.sft_data import Figures, read_rows

SAVED_EVERY = 50  # steps between two of TRL's own checkpoints, where the recipe does not say
WHOLE = "whole"  # a file in a checkpoint of which every process has written its part


def leads() -> bool:
    """Whether this process is the one that writes the run folder."""
    return os.environ.get("RANK", "0") == "0"


def processes() -> int:
    """How many train together, as the launcher says."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def shards() -> int:
    """Into how many parts weights, gradients and optimizer state are divided: one for each process
    under FSDP; without it every process holds them all."""
    return processes() if os.environ.get("ACCELERATE_USE_FSDP") == "true" else 1


def train(run: RunFolder) -> None:
    """The stage "sft" of a run folder, from its last whole checkpoint under RUN/trl."""
    settings, pretrained = check(run.recipe)
    import datasets  # here, for what is refused is said without them
    import trl

    datasets.disable_progress_bars()
    folder, model_folder = run.folder, run.model("sft")
    if run.done("sft"):
        return
    if run.leads:
        run.settle_data()
        for torn in set((folder / "trl").glob("checkpoint-*")) - set(_whole(folder)):
            shutil.rmtree(torn)
    model, tokenizer = load_model(pretrained)
    model, dialect = merged(model), run.recipe.dialect.dialect()
    most_tokens = min(
        settings.max_tokens or dialect.context_tokens, model.config.max_position_embeddings
    )
    rows, figures = rows_for_trl(settings, tokenizer, dialect, most_tokens)
    if run.leads:
        print(f"sft: {figures.line(most_tokens)}", file=sys.stderr)
    args = trl.SFTConfig(**trl_settings(run.recipe, folder, most_tokens, len(rows)))
    args.distributed_state.wait_for_everyone()  # the folder is as the leader has settled it
    newest = max(_whole(folder), key=lambda place: int(place.name[11:]), default=None)
    trainer = trl.SFTTrainer(
        # steps of 1e-6 are lost in bf16's rounding; `bf16` computes in bf16 all the same
        model=model.float(),
        processing_class=tokenizer,
        args=args,
        train_dataset=datasets.Dataset.from_list(rows),
        callbacks=[_metrics_callback(folder / METRICS)],
    )
    trainer.train(resume_from_checkpoint=str(newest) if newest else None)
    if trainer.is_fsdp_enabled:  # checkpoints may be in parts; the model is one
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    partial = model_folder.with_name("sft.partial")
    trainer.save_model(str(partial))  # on every process: sharded weights are gathered
    if run.leads:
        tokenizer.save_pretrained(partial)
        os.replace(partial, model_folder)
        shutil.rmtree(folder / "trl", ignore_errors=True)
    # The others wait for it. (They sleep for gloo's sake: a group that ends with Python's lock held
    # waits for its threads, and one that has just gathered something may wait for that lock.)
    while not run.done("sft"):
        time.sleep(0.5)
    trainer.accelerator.end_training()


def _whole(folder: Path) -> list[Path]:
    """The checkpoints under RUN/trl that were written to their end."""
    return [place.parent for place in (folder / "trl").glob(f"checkpoint-*/{WHOLE}")]


def check(recipe: Recipe) -> tuple[SftSettings, str]:
    """The recipe's settings of SFT, and the model that it begins with. Raises UserError for what
    TRL does not do, with what to write instead."""
    settings, pretrained = recipe.sft, recipe.model.pretrained
    if settings is None or settings.data is None:
        raise UserError(
            "TRL fine-tunes on a file: give [sft] data (make one with 'tripwright run' and"
            " 'tripwright data collect')."
        )
    if pretrained is None:
        raise UserError(
            "TRL fine-tunes a model that exists: give [model] pretrained, a folder or a name."
        )
    refused = {
        'sft.optimizer.name other than "adamw"': settings.optimizer.name != "adamw",
        'sft.max_minutes; set it to "none", and sft.steps or sft.max_epochs': settings.max_minutes,
        'sft.optimizer.state other than "float32"': settings.optimizer.state != "float32",
        "[model.lora]": recipe.model.lora is not None,
        f"sft.batch_size = {settings.batch_size} that is no multiple of sft.micro_batch_size ="
        f" {_rows(settings)} times {processes()} processes": (
            settings.batch_size % (_rows(settings) * processes())
        ),
        "[validation]; leave it out, and examine the run afterwards": (
            recipe.validation is not None and recipe.rl is None
        ),
    }
    for words in (words for words, found in refused.items() if found):
        raise UserError(f"not done by TRL: {words}.")
    return settings, pretrained


def _rows(settings: SftSettings) -> int:
    """Conversations of one pass of one process."""
    return settings.micro_batch_size or max(1, settings.batch_size // processes())


def trl_settings(recipe: Recipe, folder: Path, most_tokens: int, count: int) -> dict[str, Any]:
    """Ours in TRL's words: a step's `batch_size` conversations are shared by all processes. Of
    steps and epochs over the `count` rows the first to come ends it, as with our engine."""
    settings, _ = check(recipe)
    rate, cuda, steps = settings.optimizer, torch.cuda.is_available(), settings.steps
    if steps is not None and settings.max_epochs is not None:
        steps = min(steps, math.ceil(settings.max_epochs * count / settings.batch_size))
    rows = _rows(settings)
    if settings.schedule == "cosine":
        shape, falls = "cosine_with_min_lr", {"min_lr_rate": settings.final_rate}
    else:  # a polynomial of power 1 is a line; its end must be below its start
        end = rate.adamw_learning_rate * settings.final_rate * 0.999999
        shape, falls = "polynomial", {"lr_end": end, "power": 1.0}
    return {
        "output_dir": str(folder / "trl"),
        "max_length": most_tokens,
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": settings.batch_size // (rows * processes()),
        "max_steps": -1 if steps is None else steps,
        "num_train_epochs": settings.max_epochs or 1.0,
        "learning_rate": rate.adamw_learning_rate,
        "weight_decay": rate.weight_decay,
        "adam_beta1": rate.betas[0],
        "adam_beta2": rate.betas[1],
        "max_grad_norm": rate.grad_clip,
        "lr_scheduler_type": shape,
        "lr_scheduler_kwargs": falls,
        "warmup_steps": settings.warm_up,  # below 1: a share
        "bf16": settings.dtype == "bfloat16" or (settings.dtype == "auto" and cuda),
        "fp16": settings.dtype == "float16",
        "use_cpu": not cuda,
        "seed": recipe.seed,
        "logging_steps": 1,
        "report_to": [],
        "save_steps": recipe.checkpoint.every_steps or SAVED_EVERY,
        "save_total_limit": recipe.checkpoint.keep,
        "disable_tqdm": True,
    }


def rows_for_trl(
    settings: SftSettings, tokenizer: Any, dialect: Dialect | None, most_tokens: int
) -> tuple[list[dict[str, list[int]]], Figures]:
    """The file's conversations as ids and labels. Raises UserError where it holds nothing to train
    on."""
    rows, figures = read_rows(settings, tokenizer, dialect, most_tokens)
    return [
        {
            "input_ids": row.token_ids,
            "labels": [
                token if own else -100
                for token, own in zip(row.token_ids, row.loss_mask, strict=True)
            ],
        }
        for row in rows
    ], figures


def _metrics_callback(path: Path) -> Any:
    from transformers import TrainerCallback

    class Metrics(TrainerCallback):
        """One line of metrics a step, as our own stages write them."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.began = time.monotonic()
            if state.is_world_process_zero:
                self.before = rewind_metrics(path, "sft", state.global_step)
                self.journal = Journal(path)

        def on_log(
            self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any
        ) -> None:
            if not state.is_world_process_zero or not logs or "loss" not in logs:
                return
            seconds = round(self.before + time.monotonic() - self.began, 2)
            row = {"stage": "sft", "step": state.global_step, "seconds": seconds, **logs}
            self.journal.append({**row, "tokens": row.pop("num_tokens", None)})

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            args.distributed_state.wait_for_everyone()  # until each has written its part
            if state.is_world_process_zero:
                self.journal.sync()  # never a state without the metrics that led to it
                (Path(args.output_dir) / f"checkpoint-{state.global_step}" / WHOLE).touch()

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                self.journal.close()

    return Metrics()
