"""The peer's side of `trl_step.py`, run by it in a process of its own: plays the steps of a job's
folder with TRL's GRPOTrainer, one for every line on stdin. And what both sides are measured
with."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

MATRIX = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
ATTENTION = "aten::_scaled_dot_product"  # fused attention and its backward pass


class Job:
    """What a job's folder says: rows are prompt after prompt, each `group` times."""

    def __init__(self, folder: Path):
        self.folder, self.given = (
            folder,
            json.loads((folder / "job.json").read_text(encoding="utf-8")),
        )
        self.step = 0

    def __getattr__(self, name: str) -> Any:
        return self.given[name]

    @property
    def turns_now(self) -> int:
        return self.warm_up_turns if self.step == 0 else self.turns

    @property
    def profiled(self) -> bool:
        return bool(self.profile) and self.step == self.steps - 1

    def said(self, row: int, turn: int) -> list[int]:
        """The ids of one turn: a call, or, in the last turn, an answer with as many tokens."""
        return self.answers[row] if turn == self.turns_now - 1 else self.calls[row][turn]


class Measured:
    """One worker's steps: (wall, CPU) seconds of named parts, counted tokens, and what was played.
    A line of JSON each, on stdout."""

    def __init__(self, job: Job):
        self.job, self.out = job, os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)  # whatever a library prints must not come between the lines
        self.at_start_mb = 0.0
        self._clear()

    def _clear(self) -> None:
        self.seconds: dict[str, tuple[float, float]] = {}
        self.tokens: Counter[str] = Counter()
        self.figures: dict[str, Any] = {}
        # (ids, loss mask) of every row, prompts included
        self.played: list[tuple[list[int], list[int]]] = []

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] = time.perf_counter() - wall, time.process_time() - cpu

    @contextmanager
    def whole_step(self) -> Iterator[None]:
        """Waits for its turn, measures, and says what came out."""
        if not sys.stdin.readline():
            sys.exit(0)
        self._clear()
        self.at_start_mb = self.at_start_mb or memory_mb("VmRSS")
        profiler: Any = torch.profiler.profile() if self.job.profiled else nullcontext()
        peak = memory_mb("VmHWM")  # of a profiled step it would be the profiler's
        with profiler, self.timed("step"):
            yield
        if self.job.profiled:
            self.figures["profile"] = shares(profiler, self.seconds["step"][0])
        else:
            peak = memory_mb("VmHWM")
        (wall, cpu), (rollout_wall, rollout_cpu) = self.seconds["step"], self.seconds["rollouts"]
        self.seconds["update"] = wall - rollout_wall, cpu - rollout_cpu
        line = {
            "seconds": self.seconds,
            "tokens": self.tokens,
            "memory_mb": [self.at_start_mb, peak],
            **self._played(),
            **self.figures,
        }
        self.job.step += 1
        self.out.write(json.dumps(line) + "\n")
        self.out.flush()

    def _played(self) -> dict[str, Any]:
        """Equal digests are equal tokens, turns and masks."""
        return {
            "digest": hashlib.sha256(json.dumps(self.played).encode()).hexdigest(),
            "sampled_tokens": sum(sum(mask) for _, mask in self.played),
            "row_tokens": statistics.mean(len(ids) for ids, _ in self.played),
            "turns": statistics.mean(
                sum(a < b for a, b in pairwise(mask)) for _, mask in self.played
            ),
        }


def memory_mb(what: str) -> float:
    """VmRSS (now) or VmHWM (most so far) of this process, in MB of 10⁶ bytes. Not the kernel's
    ru_maxrss where there is another way: a process inherits that from the one that started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text().split(f"{what}:")[1].split()[0]) * 1024 / 1e6
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        * (1 if sys.platform == "darwin" else 1024)
        / 1e6
    )


def shares(profiler: Any, wall: float) -> dict[str, Any]:
    """Where the main thread's time went: matrix products and fused attention, other operations of
    torch, and Python between them. The profiler slows small operations down, so what is outside
    matrix work is an upper bound."""
    own = {
        event.key: event.self_cpu_time_total / 1e6
        for event in profiler.key_averages()
        if event.key.startswith(("aten::", "autograd::"))
    }
    matrix = sum(
        seconds for name, seconds in own.items() if name in MATRIX or name.startswith(ATTENTION)
    )
    largest = dict(sorted(own.items(), key=lambda item: -item[1])[:16])
    return {
        "wall": wall,
        "matrix": matrix,
        "operations": sum(own.values()),
        "outside_matrix": 1 - matrix / wall,
        "largest": largest,
    }


def play_trl(folder: Path) -> None:
    from datasets import Dataset
    from transformers import (
        AutoModelForCausalLM,
        AutoTokenizer,
        LogitsProcessor,
        LogitsProcessorList,
        TrainerCallback,
    )
    from trl import GRPOConfig, GRPOTrainer

    job = Job(folder)
    torch.set_num_threads(job.threads)
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder / "model"),
        AutoTokenizer.from_pretrained(folder / "model"),
    )
    measured = Measured(job)

    class Environment:
        def reset(self, **row: Any) -> None:
            self._row = 0

        def search(self, place: str) -> str:
            """Search for what is offered in a place.

            Args:
                place: The place, and the number of the page.
            """
            self._row = int(place.partition("-")[0])
            return str(job.texts[place])

        def get_reward(self) -> float:
            return float(job.rewards[self._row])

    class Script(LogitsProcessor):  # type: ignore[misc]
        """Leaves sampling one token to choose from: the script's next one."""

        def __init__(self, turn: int, rows: int, begin: int):
            self.ids, self.begin = torch.tensor([job.said(row, turn) for row in range(rows)]), begin

        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            forced = self.ids[:, input_ids.shape[1] - self.begin][:, None]
            return torch.full_like(scores, float("-inf")).scatter_(1, forced, 0.0)

    class Steps(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, *given: Any, **more: Any) -> None:
            self.turn, self.step = 0, measured.whole_step()
            self.step.__enter__()

        def on_step_end(self, *given: Any, **more: Any) -> None:
            self.step.__exit__(None, None, None)

    steps, generate = Steps(), model.generate

    def scripted_generate(input_ids: torch.Tensor, **options: Any) -> torch.Tensor:
        rows, begin = input_ids.shape
        made = generate(
            input_ids=input_ids,
            logits_processor=LogitsProcessorList([Script(steps.turn, rows, begin)]),
            **options,
        )
        steps.turn += 1
        measured.tokens.update(
            prefilled_tokens=input_ids.numel(), decoded_tokens=rows * (made.shape[1] - begin)
        )
        return made

    model.generate = scripted_generate
    arguments = GRPOConfig(
        output_dir=tempfile.mkdtemp(dir=folder),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        num_generations=job.group,
        per_device_train_batch_size=job.rows,
        gradient_accumulation_steps=len(job.rewards) // job.rows,
        max_completion_length=job.completion_tokens,
        max_steps=job.steps,
        learning_rate=job.learning_rate,
        max_grad_norm=1.0,
        shuffle_dataset=False,
        logging_strategy="no",
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    rows = [
        {"prompt": [{"role": "system", "content": job.system}, {"role": "user", "content": user}]}
        for user in job.users
    ]
    trainer = GRPOTrainer(
        model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        environment_factory=Environment,
        callbacks=[steps],
    )
    roll_out, generation, clip = (
        trainer._generate_and_score_completions,
        trainer._generate,
        trainer.accelerator.clip_grad_norm_,
    )

    def timed_rollouts(*given: Any) -> Any:
        with measured.timed("rollouts"):
            return roll_out(*given)

    def noted_generation(*given: Any) -> Any:
        found = generation(*given)
        prompts, completions, masks = found[:3]
        measured.played = [
            (p + c, [0] * len(p) + m) for p, c, m in zip(prompts, completions, masks, strict=True)
        ]
        return found

    def noted_clip(*given: Any, **more: Any) -> Any:
        norm = clip(*given, **more)
        measured.figures["grad_norm"] = float(norm)
        return norm

    trainer._generate_and_score_completions, trainer._generate = timed_rollouts, noted_generation
    trainer.accelerator.clip_grad_norm_ = noted_clip
    trainer.train()


if __name__ == "__main__":
    play_trl(Path(sys.argv[1]))
