"""Kills a training run with SIGKILL again and again, and compares what comes out with a run that
was left alone (row B6).

    python benchmarks/kills.py [--kills 20] [--seed 0] [--every-steps 5] [--steps 25]

Both runs are real processes of `tripwright train` on a tiny model: copy warm-up, cold start, GRPO.
The kills come at random steps over the whole run, each a random moment after its step, so that some
fall into a step, some into a checkpoint and some into a save; every seventh comes at a random
moment of the start. Exit 1 unless all weights and metrics are equal, bit for bit (but for what the
clock says). Edit no code meanwhile: every start reads it anew.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

RECIPE = """
threads = 1

[dialect]
max_turn_tokens = 32

[model]
tokenizer_transcripts = 16
superwords = 80
shape = {hidden = 64, layers = 2, heads = 2, kv_heads = 1, head_size = 32, feed_forward = 96, positions = 1280}

[copy_pretraining]
max_steps = {steps}

[sft]
steps = {steps}
batch_size = 2

[grpo]
steps = {steps}
prompts_per_step = 2
group_size = 2
micro_batch_size = 2
entropy_bonus = 0.1  # moves the weights where no episode is worth anything
replay = {every = 4}
"""  # noqa: E501
STAGES = ("copy_pretraining", "sft", "rl")
# in the names of figures that no two runs share
OF_THE_CLOCK = ("seconds", "per_second", "mfu", "memory", "hours")
START = 7  # every so many kills comes before the first step
PATIENCE_SECONDS = 300


def start(recipe: Path, out: Path, hash_seed: int) -> subprocess.Popen[bytes]:
    """Each process with its own order of sets and dicts of texts."""
    command = [sys.executable, "-m", "tripwright", "train", str(recipe), "--out", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": str(hash_seed)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    said = process.communicate(timeout=PATIENCE_SECONDS)[1]
    if process.returncode:
        sys.exit(f"the run failed with exit code {process.returncode}: {said.decode()[-2000:]}")


def lines(out: Path) -> list[dict[str, Any]]:
    """Whole lines only: the last one may be torn."""
    path = out / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def safe(out: Path) -> tuple[int, str]:
    """How many of the steps told need not be taken again, and what the next start goes on from."""
    finished = [stage for stage in ("start", *STAGES) if (out / "model" / stage).is_dir()]
    steps = sum(line["stage"] in finished for line in lines(out))
    for stage in STAGES:
        if stage not in finished and (
            found := sorted(out.glob(f"checkpoints/{stage}/step-" + 6 * "[0-9]"))
        ):
            return steps + int(found[-1].name[5:]), f"{stage} {int(found[-1].name[5:])}"
    return steps, f"{finished[-1]} done" if finished else "nothing"


def kill_at(process: subprocess.Popen[bytes], out: Path, step: int, delay: float) -> bool:
    """Waits until so many steps are told, and a moment longer. False if the run ended by itself."""
    began = time.monotonic()
    metrics = out / "metrics.jsonl"
    while step and not (metrics.is_file() and metrics.read_bytes().count(b"\n") >= step):
        if process.poll() is not None:
            finish(process)
            return False
        if time.monotonic() - began > PATIENCE_SECONDS:
            sys.exit(f"step {step} was not reached in {PATIENCE_SECONDS} seconds")
        time.sleep(0.02)
    time.sleep(delay)
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.wait()
    return True


def differing_metrics(whole: Path, killed: Path) -> list[str]:
    """Names of the figures that the two runs do not share, step by step."""
    one, other = lines(whole), lines(killed)
    names = {
        key
        for a, b in zip(one, other, strict=False)
        for key in a.keys() | b.keys()
        if a.get(key) != b.get(key) and not any(word in key for word in OF_THE_CLOCK)
    }
    return sorted(names | ({"number of steps"} if len(one) != len(other) else set()))


def same_weights(whole: Path, killed: Path) -> bool:
    equal = True
    for stage in ("start", *STAGES):
        one, other = (
            load_file(out / "model" / stage / "model.safetensors") for out in (whole, killed)
        )
        differing = [name for name in one if not one[name].equal(other[name])]
        print(f"  {stage:<6} {len(one)} tensors, {len(differing)} differ")
        equal = equal and not differing
    return equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every-steps", type=int, default=5, help="steps between two checkpoints")
    parser.add_argument("--steps", type=int, default=25, help="of each of the three stages")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        recipe, whole, killed = (
            Path(folder) / "tiny.toml",
            Path(folder) / "whole",
            Path(folder) / "killed",
        )
        kept = f"[checkpoint]\nevery_steps = {given.every_steps}\nevery_minutes = 'none'\n"
        recipe.write_text(RECIPE.replace("{steps}", str(given.steps)) + f"\n{kept}")
        began = time.monotonic()
        finish(start(recipe, whole, 0))
        total, alone = len(lines(whole)), time.monotonic() - began
        steps = sorted(rng.randint(1, total) for _ in range(given.kills))
        print(
            f"left alone: {total} steps in {alone:.0f} s, start included. Kills after steps {steps}"
            " or during a start.\n"
        )
        print(f"{'kill':>4}  {'steps told':>10}  {'goes on from':<12}  repeats")
        repeated, done, last, began = 0, 0, (0, 0), time.monotonic()
        for number, step in enumerate(steps, start=1):
            early = number % START == 0
            process = start(recipe, killed, number)
            delay = rng.uniform(0, alone / 15) if early else rng.uniform(0, 0.3)
            if not kill_at(
                process, killed, 0 if early else min(total, max(step, last[0] + 1)), delay
            ):
                break
            told, (kept, origin) = len(lines(killed)), safe(killed)
            # as the kill before left it: this process had not taken a step
            lost = 0 if (told, kept) == last else told - kept
            done, repeated, last = done + 1, repeated + lost, (told, kept)
            print(
                f"{number:>4}  {told:>10}  {origin:<12} "
                f" {lost}{'  (at the start)' if early else ''}",
                flush=True,
            )
        finish(start(recipe, killed, 0))
        print(
            f"\n{done} kills; {repeated} steps taken again, {repeated / total:.0%} of the run's"
            f" {total}; {time.monotonic() - began:.0f} s\n"
        )
        equal = same_weights(whole, killed)
        differing = differing_metrics(whole, killed)
        print(
            f"weights {'equal' if equal else 'DIFFER'}, metrics"
            f" {'DIFFER: ' + ', '.join(differing) if differing else 'equal'}"
        )
        sys.exit(0 if equal and not differing else 1)


if __name__ == "__main__":
    main()
