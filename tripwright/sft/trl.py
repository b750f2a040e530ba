"""Fine-tuning with TRL's SFTTrainer: the way for models that need a GPU, or several (under
`accelerate launch`).

The same `[sft]` table and the same files as `sft`. TRL writes the tokens and the masks itself from
messages (`assistant_only_loss`), where it can: its templates train on a turn's stop token, on the
line break after it, and on the empty thoughts that Qwen3's template writes. The tokens are ours
(`chat_masks`), given to TRL as labels, where a file brings its own ids, where turns have structured
calls (Arrow would fill their arguments with nulls), and where TRL knows no way to mark the
template's assistant turns. Measured with TRL 1.16.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tripwright.agent.dialect import Dialect
from tripwright.errors import UserError
from tripwright.files import Journal
from tripwright.inference.local import load_model
from tripwright.inference.models import merged
from tripwright.runs import METRICS, rewind_metrics
from tripwright.sft.data import Figures, read_rows
from tripwright.sft.files import TrainingConversation, read_conversations
from tripwright.sft.trainer import SftSettings
from tripwright.transcript import StopReason

SAVED_EVERY, KEPT = 50, 2  # steps between two of TRL's own checkpoints, and how many of them stay


@dataclass(frozen=True)
class TrlRows:
    """Rows of a data set. `masked`: TRL makes tokens and masks from `messages`; else the rows have
    `input_ids` and `labels`."""

    rows: list[dict[str, Any]]
    masked: bool
    figures: Figures
    why: str = ""  # not masked: because of what


def fine_tune_with_trl(
    settings: SftSettings, pretrained: str, dialect: Dialect, seed: int, out: str | Path
) -> Path:
    """The fine-tuned model's folder, OUT/model/sft; metrics go to OUT/metrics.jsonl. Goes on from
    the last checkpoint under OUT/trl.

    Raises UserError before anything is loaded for what TRL cannot do.
    """
    check_for_trl(settings, pretrained)
    trl, datasets = _libraries()
    folder, model_folder = Path(out), Path(out) / "model" / "sft"
    if model_folder.is_dir():
        return model_folder
    model, tokenizer = load_model(pretrained)
    model = merged(model)
    most_tokens = min(
        settings.max_tokens or dialect.context_tokens, model.config.max_position_embeddings
    )
    data = rows_for_trl(settings, tokenizer, dialect.schemas(), most_tokens)
    print(
        "sft:"
        f" {data.figures.line(most_tokens)}{' Tokens and masks are ours: ' + data.why + '.' if data.why else ''}",  # noqa: E501
        file=sys.stderr,
    )
    trainer = trl.SFTTrainer(
        # steps of 1e-6 are lost in bf16's rounding; `bf16` computes in bf16 all the same
        model=model.float(),
        processing_class=tokenizer,
        args=trl.SFTConfig(**trl_settings(settings, folder, most_tokens, seed, data.masked)),
        train_dataset=datasets.Dataset.from_list(data.rows),
        callbacks=[_metrics_callback(folder / METRICS)],
    )
    checkpoints = any((folder / "trl").glob("checkpoint-*"))
    trainer.train(resume_from_checkpoint=True if checkpoints else None)
    partial = model_folder.with_name("sft.partial")
    trainer.save_model(str(partial))  # on every process: sharded weights are gathered
    if trainer.is_world_process_zero():
        tokenizer.save_pretrained(partial)
        os.replace(partial, model_folder)
        shutil.rmtree(folder / "trl", ignore_errors=True)
    return model_folder


def check_for_trl(settings: SftSettings, pretrained: str | None) -> None:
    """Raises UserError for what TRL does not do, with what to write instead."""
    if settings.data is None:
        raise UserError(
            "TRL fine-tunes on a file: give [sft] data (make one with 'tripwright run' and"
            " 'tripwright data collect')."
        )
    if pretrained is None:
        raise UserError(
            "TRL fine-tunes a model that exists: give [model] pretrained, a folder or a name."
        )
    if settings.optimizer.name != "adamw":
        raise UserError(
            f"TRL has no optimizer '{settings.optimizer.name}' of ours: set sft.optimizer.name to"
            ' "adamw".'
        )
    if settings.max_minutes is not None:
        raise UserError(
            "TRL ends by steps or epochs: set sft.steps or sft.max_epochs, and sft.max_minutes to"
            ' "none".'
        )
    if settings.batch_size % (settings.micro_batch_size or settings.batch_size):
        raise UserError(
            f"sft.batch_size ({settings.batch_size}) must be a multiple of sft.micro_batch_size"
            f" ({settings.micro_batch_size}) for TRL."
        )


def trl_settings(
    settings: SftSettings, folder: Path, most_tokens: int, seed: int, masked: bool
) -> dict[str, Any]:
    """Ours in TRL's words. `batch_size` counts one process; under several each has its own."""
    rate, cuda = settings.optimizer, torch.cuda.is_available()
    rows = settings.micro_batch_size or settings.batch_size
    return {
        "output_dir": str(folder / "trl"),
        "assistant_only_loss": masked,
        "max_length": most_tokens,
        "packing": settings.packing,
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": settings.batch_size // rows,
        "max_steps": -1 if settings.max_epochs is not None else settings.steps,
        "num_train_epochs": settings.max_epochs or 1.0,
        "learning_rate": rate.adamw_learning_rate,
        "weight_decay": rate.weight_decay,
        "adam_beta1": rate.betas[0],
        "adam_beta2": rate.betas[1],
        "max_grad_norm": rate.grad_clip,
        "lr_scheduler_type": "polynomial",  # of power 1: a line to its end
        "lr_scheduler_kwargs": {
            "lr_end": rate.adamw_learning_rate * settings.final_rate * 0.999999,
            "power": 1.0,
        },  # must be below the start
        "warmup_steps": settings.warm_up,  # below 1: a share
        "bf16": settings.dtype == "bfloat16" or (settings.dtype == "auto" and cuda),
        "fp16": settings.dtype == "float16",
        "use_cpu": not cuda,
        "seed": seed,
        "logging_steps": 1,
        "report_to": [],
        "save_steps": SAVED_EVERY,
        "save_total_limit": KEPT,
        "disable_tqdm": True,
    }


def rows_for_trl(
    settings: SftSettings, tokenizer: Any, schemas: list[dict[str, Any]] | None, most_tokens: int
) -> TrlRows:
    """The file's conversations as TRL's rows. Raises UserError where it holds nothing to train
    on."""
    conversations = [c for c in read_conversations(settings.data or "") if not _unscored(c)]
    template, why = _training_template(tokenizer)
    if any(
        c.token_ids is not None or (c.transcript is not None and c.transcript.has_tokens)
        for c in conversations
    ):
        why = "the file brings its own ids"
    elif any(message.get("tool_calls") for c in conversations for message in c.messages):
        why = "the turns have structured calls"
    elif any(
        c.train is not None
        and not all(
            own for own, m in zip(c.train, c.messages, strict=True) if m["role"] == "assistant"
        )
        for c in conversations
    ):
        why = "some turns of the assistant are left out"
    if why:
        rows, figures = read_rows(settings, tokenizer, schemas, most_tokens)
        labels = [
            [t if own else -100 for t, own in zip(row.token_ids, row.loss_mask, strict=True)]
            for row in rows
        ]
        return TrlRows(
            [{"input_ids": r.token_ids, "labels": x} for r, x in zip(rows, labels, strict=True)],
            False,
            figures,
            why,
        )
    return _message_rows(conversations, settings, tokenizer, schemas, most_tokens, template)


def _message_rows(
    conversations: list[TrainingConversation],
    settings: SftSettings,
    tokenizer: Any,
    schemas: Any,
    most_tokens: int,
    template: str | None,
) -> TrlRows:
    rows, figures = [], Figures()
    for conversation in conversations:
        figures.read += 1
        messages = conversation.messages
        tools = conversation.tools
        if conversation.transcript is not None:
            messages = [
                {"role": s.role, "content": s.text} for s in conversation.transcript.segments
            ]
            tools = conversation.tools if conversation.says_tools else schemas
        if not any(message["role"] == "assistant" for message in messages):
            figures.without_turns += 1
            continue
        encoded = tokenizer.apply_chat_template(
            messages,
            tools=tools,
            chat_template=template,
            tokenize=True,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        length, mask = len(encoded["input_ids"]), encoded["assistant_masks"]
        if length > most_tokens and settings.too_long != "cut":
            if settings.too_long == "refuse":
                raise UserError(
                    f"{conversation.where}: {length} tokens, {most_tokens} are allowed"
                    " (sft.max_tokens, sft.too_long)."
                )
            figures.too_long += 1
            continue
        if not any(mask[1:most_tokens]):
            figures.without_turns += 1
            continue
        figures.cut += length > most_tokens
        figures.used += 1
        figures.tokens += min(length, most_tokens)
        figures.trained_tokens += sum(mask[:most_tokens])
        rows.append(
            {
                "messages": messages,
                "tools": json.dumps(tools, ensure_ascii=False) if tools else None,
            }
        )
    if not rows:
        raise UserError(f"'{settings.data}' holds nothing to train on: {figures.line(most_tokens)}")
    if not any(row["tools"] for row in rows):
        rows = [{"messages": row["messages"]} for row in rows]
    return TrlRows(rows, True, figures)


def _unscored(conversation: TrainingConversation) -> bool:
    return (
        conversation.transcript is not None
        and conversation.transcript.stop_reason == StopReason.UNSCORED
    )


def _training_template(tokenizer: Any) -> tuple[str | None, str]:
    """(the template with markers that TRL would take, None where the tokenizer's own has them; why
    there is none)."""
    from trl.chat_template_utils import get_training_chat_template, has_generation_markers

    if has_generation_markers(tokenizer.chat_template or ""):
        return None, ""
    try:
        return get_training_chat_template(tokenizer), ""
    except ValueError:  # a template that TRL has no marked version of
        return None, "TRL cannot mark the assistant's turns in this chat template"


def _libraries() -> tuple[Any, Any]:
    try:
        import datasets
        import trl
    except ModuleNotFoundError as error:
        raise UserError(
            f"The engine 'trl' needs the package '{error.name}': pip install 'tripwright[trl]'."
        ) from None
    datasets.disable_progress_bars()
    return trl, datasets


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
            row = {
                **{k: v for k, v in logs.items() if k != "num_tokens"},
                "tokens": logs.get("num_tokens"),
            }
            self.journal.append(
                {"stage": "sft", "step": state.global_step, "seconds": seconds, **row}
            )

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                self.journal.close()

    return Metrics()
