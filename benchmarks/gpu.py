"""What a GPU does with models of real shapes and random weights: the update at 0.6 and 8 billion
parameters on rows of 8,192 and 32,768 tokens, rollouts of our engine, the quickstart.

    python benchmarks/gpu.py [--json] [--quickstart-minutes 6]

Without a GPU the same code runs with 29 million parameters on a CPU, in two minutes, and without
the quickstart: that shows that the script works, and says nothing of a GPU.

Each part has a process of its own, so that its peak of memory is its own. The update is that of
fine-tuning, driven as `tripwright train` drives it: two steps of four rows (two on a CPU), one a
pass, every token with loss; weights in bfloat16 with fp32 masters, activations checkpointed,
AdamW's state in fp32, or offloaded where `tripwright fit` says that this card is too small for it.
The second step counts. `mfu` (model FLOPs utilisation) is of its passes, by the vendor's data sheet
(on a CPU by torch's best product); the optimizer's seconds stand apart, because so few rows are no
real step. Rollouts are nano trips: random weights say noise until their turn is full. `fit_gb` is
not measured: it is what the estimate says of the same update.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from activations import SHAPE, Rows, new_weights, recipe_of
from rollouts import sessions

from tripwright.agent.chat import ChatFormat
from tripwright.domains import dialect_named, domain_named
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.inference.models import convert_weights, device_named, precision_named
from tripwright.training.fit import KNOWN_MODELS, ModelSize, memory, peak, total_memory_gb
from tripwright.training.metrics import mfu, peak_flops, peak_memory_mb, update_flops
from tripwright.training.nano import make_tokenizer
from tripwright.training.recipe import Recipe
from tripwright.training.run_folder import keep_freed_memory
from tripwright.training.sft import FineTuning
from tripwright.training.trips import GeneratedTrips, expert_sessions

ROWS = {"cpu": 2, "cuda": 4}  # of an update, one a pass
SIZES = {
    "29M": ModelSize("29M", "qwen3", SHAPE, True, 32769),
    **{name: KNOWN_MODELS[f"Qwen/Qwen3-{name}"] for name in ("0.6B", "8B")},
}
EPISODES = {"cpu": 4, "cuda": 64}


def fitting(size: ModelSize, tokens: int, device: str) -> tuple[Recipe, float] | None:
    """With the largest state of the optimizer that fits, and what `fit` says of it in GB."""
    recipe = recipe_of("bfloat16", True, False, tokens)
    assert recipe.sft is not None
    for state in ("float32", "offloaded"):
        sft = replace(
            recipe.sft,
            batch_size=ROWS[device],
            optimizer=replace(recipe.sft.optimizer, state=state),
        )
        changed = replace(recipe, sft=sft)
        needed = peak(memory(changed, size, device))
        if needed < 0.95 * (total_memory_gb(device) or 0.0):
            return changed, needed
    return None


def on_device(size: ModelSize, device: torch.device) -> Any:
    """Random weights in bfloat16, made where they stay."""
    torch.set_default_dtype(torch.bfloat16)
    try:
        with device:
            return new_weights(size.shape, size.tied)
    finally:
        torch.set_default_dtype(torch.float32)


def update(name: str, tokens: int, device: torch.device) -> dict[str, Any]:
    size = SIZES[name]
    if (found := fitting(size, tokens, device.type)) is None:
        return {"left_out": "fit says that it is too large for this device"}
    recipe, fit_gb = found
    assert recipe.sft is not None
    model = on_device(size, device)
    convert_weights(model, precision_named("bfloat16"))
    loop = FineTuning(model, Rows(tokens), recipe.sft)  # type: ignore[arg-type]
    loop.decoder.checkpoint_activations = True
    steps, step = list[float](), loop.optimizers.step

    def timed(scale: float) -> float:
        settle(device)
        began = time.perf_counter()
        norm = step(scale)
        settle(device)
        steps.append(time.perf_counter() - began)
        return norm

    loop.optimizers.step = timed  # type: ignore[method-assign]
    loop.take_step()
    settle(device)
    began = time.perf_counter()
    loop.take_step()
    settle(device)
    seconds = time.perf_counter() - began
    rows = ROWS[device.type]
    work = update_flops(size.shape, [tokens] * rows, tokens * rows)
    share = mfu(work, seconds - steps[-1], peak_flops(device, torch.bfloat16))
    return {
        "optimizer_state": recipe.sft.optimizer.state,
        "tokens_per_second": rows * tokens / seconds,
        "seconds": seconds,
        "optimizer_seconds": steps[-1],
        "mfu": share,
        "peak_gb": peak_memory_mb(device) / 1e3,
        "fit_gb": fit_gb,
    }


def play(name: str, episodes: int, device: torch.device) -> dict[str, Any]:
    """`episodes` trips at once. The vocabulary is a nano tokenizer's."""
    domain = domain_named("travelplanner")
    trips = itertools.islice(GeneratedTrips(domain, ("nano",), 0, 4), 24)
    played = list(expert_sessions(trips, dialect_named("compact"), None))
    words = set[str]().union(*(domain.generator.names(each.tools.world) for each in played))
    texts = [segment.text for each in played for segment in each.transcript.segments]
    chat = ChatFormat(make_tokenizer(texts, words, domain.generator.closed_lists))
    shape = replace(SIZES[name].shape, vocabulary=len(chat.tokenizer))
    model = on_device(replace(SIZES[name], shape=shape), device)
    policy = LocalPolicy(model.eval(), chat, Sampling(1.0, episodes))
    list(policy.play(sessions(2, chat)))
    waiting = sessions(episodes, chat)
    settle(device)
    began = time.perf_counter()
    list(policy.play(waiting))
    settle(device)
    seconds = time.perf_counter() - began
    return {
        "decoded_tokens_per_second": policy.figures["decoded_tokens"] / seconds,
        "prefilled_tokens": policy.figures["prefilled_tokens"],
        "rows_per_pass": policy.figures["rows_per_pass"],
        "seconds": seconds,
        "peak_gb": peak_memory_mb(device) / 1e3,
    }


def quickstart(minutes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = ["-m", "tripwright", "quickstart", "--out", folder, "--minutes", str(minutes)]
        subprocess.run([sys.executable, *command], check=True, stdout=sys.stderr)
        score = json.loads((Path(folder) / "score.json").read_text())
        return {"seconds": time.perf_counter() - began, "final": score["metrics"]["final"]}


def settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def parts(device: torch.device) -> list[tuple[str, str, int]]:
    """(what, model, tokens of a row or episodes at once)"""
    episodes = EPISODES[device.type]
    if device.type == "cpu":
        return [("update", "29M", 2048), ("rollouts", "29M", episodes)]
    lengths = itertools.product(("0.6B", "8B"), (8192, 32768))
    return [
        *(("update", name, tokens) for name, tokens in lengths),
        *(("rollouts", name, episodes) for name in ("0.6B", "8B")),
    ]


def in_a_process(part: tuple[str, str, int]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--part", *map(str, part)]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        return {"failed": (ended.stderr.strip().splitlines() or ["no word"])[-1]}
    figures: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return figures


def machine(device: torch.device) -> dict[str, Any]:
    there = torch.cuda.get_device_name(device) if device.type == "cuda" else "no GPU"
    return {
        "date": datetime.date.today().isoformat(),
        "device": there,
        "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "load": os.getloadavg()[0],
        "threads": torch.get_num_threads(),
        "says_nothing_of_a_gpu": device.type == "cpu",
    }


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--json", action="store_true")
    asked.add_argument("--quickstart-minutes", type=int, default=6, help="0: without it")
    asked.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    given = asked.parse_args()
    device = device_named("auto")
    if given.part:
        keep_freed_memory()  # as a run does
        what, name, number = given.part
        print(json.dumps({"update": update, "rollouts": play}[what](name, int(number), device)))
        return
    found = machine(device)
    if not given.json:
        print(line(found))
        if device.type == "cpu":
            print("NO GPU HERE: these are a CPU's figures of a model of 29 million parameters.")
    found["parts"] = []
    for part in parts(device):
        figures = in_a_process(part)
        found["parts"].append(dict(zip(("what", "model", "size"), part, strict=True)) | figures)
        if not given.json:
            print(*part, line(figures))
    if device.type == "cuda" and given.quickstart_minutes:
        found["quickstart"] = quickstart(given.quickstart_minutes)
        if not given.json:
            print("quickstart", line(found["quickstart"]))
    if given.json:
        print(json.dumps(found, indent=2))


def line(figures: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in figures.items()
    )


if __name__ == "__main__":
    main()
