"""One GRPO step of ours against one of TRL 1.16 (GRPOTrainer with `environment_factory`), the same
work in both.

    .venv/bin/python benchmarks/trl_step.py --out runs/bench-trl

Both engines load the same weights (a Qwen3 of hidden size 128 and 2 layers, fp32, with a tokenizer
made here), and play the same prompts of 440 tokens, 8 × 8 episodes of 8 turns unless told
otherwise. They run in two processes, step by step in turns (ours, theirs, ours, …), so that only
one works at a time, with the same number of threads; whatever else the machine does meets both.

**What is forced.** Episodes of two engines that sample freely would differ in length, so what is
sampled is a script: in every turn but the last a call of one tool, in the last an answer, 40 tokens
each with the stop token; the tool's answer is 100 tokens with the frame around it. Sampling is paid
for in both: the distribution is computed, a token is drawn, and then the script's token is played.
(In TRL a LogitsProcessor leaves that one token to draw from; in ours a subclass of
`InferenceEngine` replaces the drawn tokens, with their own log-probabilities.) Rewards are
scripted, too, so that no group agrees and every row is trained on; ours parses and judges the
answers all the same. Tokens, turns and masks of all rows are compared by digest after every step,
and the gradient norms of the first one.

**What is measured**, wall and CPU seconds of the process: *rollouts* (TRL's
`_generate_and_score_completions`, our `explore`: opening, generation, tools, rewards), *update*
(what is left of the step: forward, backward, optimizer, and our metrics), and the step. Medians
over --repeats, after one step that is not counted (of two turns only, in the runs of the growth).
The optimizer is AdamW in both, 8 rows in a forward pass, no gradient checkpointing; TRL's other
settings are its defaults. Peak memory is of the process, libraries included: the memory with the
model loaded is given beside it. One more step runs under torch's profiler.

Exit code 1 if the two did not play the same.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from panels import picture
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from transformers.utils import logging

from tripwright.agent.chat import ChatFormat
from tripwright.domains import dialect_named, domain_named
from tripwright.evals.report.charts import Lines, Series
from tripwright.files import write_atomically
from tripwright.training.nano import NanoShape, new_model
from tripwright.training.trips import GeneratedTrips, expert_sessions

# tokens: a prompt, what the model says in a turn, a tool's answer in its frame
PROMPT, TURN, TOOL = 440, 40, 100
ROWS, LEARNING_RATE = 8, 1e-6  # rows in a forward pass of the update
SYSTEM = "Plan the trip with the tools, one call a turn. Then give the plan in <answer>."
SCHEMA = {  # as `transformers` makes it of the peer's method
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search for what is offered in a place.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "The place, and the number of the page."}
            },
            "required": ["place"],
        },
        "return": {"type": "string"},
    },
}
TEMPLATE = "qwen3_instruct_2507.jinja"
PARTS = ("rollouts", "update", "step")


# ---- the work


def make_tokenizer(texts: Sequence[str], template: str) -> PreTrainedTokenizerFast:
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        [*texts, *[template] * 8],
        trainers.BpeTrainer(
            vocab_size=2000, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token=special[0], eos_token=special[2], chat_template=template
    )


def fitted(words: Iterator[str], tokens: int, measure: Callable[[str], int]) -> str:
    """Words until `measure` says `tokens`, passing over those that would be too many."""
    text = next(words)
    while measure(text) < tokens:
        longer = f"{text} {next(words)}"
        if measure(longer) <= tokens:
            text = longer
    return text


def make_job(
    folder: Path, template: str, prompts: int, group: int, turns: int, **settings: Any
) -> None:
    """Writes model, tokenizer and script to a folder."""
    trips = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 8), 64)
    played = list(expert_sessions(trips, dialect_named("compact"), None))
    texts = [segment.text for session in played for segment in session.transcript.segments[1:]]
    tokenizer = make_tokenizer(texts, template)
    model = new_model(NanoShape(128, 2, 4, 2, 32, 384, positions=8192), tokenizer, seed=0)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    chat, rng = ChatFormat(tokenizer, [SCHEMA]), random.Random(0)
    found = [s.text for session in played for s in session.transcript.segments if s.role == "tool"]
    words = itertools.cycle(" ".join(found).split())
    shown = [
        fitted(words, TOOL, lambda text: len(chat.tool_answer(text, TOOL).ids)) for _ in range(64)
    ]
    filler = chat.encode("I need to know more about this place before I can plan the days. " * 8)

    def said(text: str) -> list[int]:
        ids = chat.said(text)
        assert len(ids) <= TURN, f"a turn of {len(ids)} tokens does not fit in {TURN}"
        return [*filler[: TURN - len(ids)], *ids]

    def call(row: int, turn: int) -> list[int]:
        return said(
            '\n<tool_call>\n{"name": "search", "arguments": {"place":'
            f' "{row}-{turn}"}}}}\n</tool_call>'
        )

    rows = range(prompts * group)
    job = {
        "system": SYSTEM,
        "schemas": [SCHEMA],
        "prompt_tokens": PROMPT,
        "users": [
            fitted(words, PROMPT, lambda text: len(chat.opening(SYSTEM, text)))
            for _ in range(prompts)
        ],
        "calls": [[call(row, turn) for turn in range(turns - 1)] for row in rows],
        "answers": [said("\n<answer>[]</answer>") for _ in rows],
        "texts": {
            f"{row}-{turn}": shown[(row * turns + turn) % len(shown)]
            for row in rows
            for turn in range(turns - 1)
        },
        "rewards": [round(rng.random(), 3) for _ in rows],
        "completion_tokens": turns * TURN + (turns - 1) * TOOL,
        "group": group,
        "turns": turns,
        "rows": ROWS,
        "learning_rate": LEARNING_RATE,
        **settings,
    }
    write_atomically(folder / "job.json", json.dumps(job))


# ---- both sides in turns


class Worker:
    """One engine in a process of its own, which works when it is told to."""

    def __init__(self, script: str, folder: Path, threads: int):
        quiet = {
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_VERBOSITY": "error",
            "TOKENIZERS_PARALLELISM": "false",
        }
        environment = {
            **os.environ,
            **quiet,
            "OMP_NUM_THREADS": str(threads),
            "PYTHONWARNINGS": "ignore",
        }
        self.name, self.log = script, folder / f"{script}.log"
        command = [sys.executable, str(Path(__file__).with_name(script)), str(folder)]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
            )

    def step(self) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write("step\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.process.wait()
            sys.exit(
                f"{self.name} ended with exit code {self.process.returncode}:"
                f" {self.log.read_text(encoding='utf-8')[-2000:]}"
            )
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()


def compare(
    given: argparse.Namespace, template: str, group: int, turns: int, threads: int, growth: bool
) -> dict[str, Any]:
    """All steps of one setting: medians of both engines, how they compare, and whether they played
    the same."""
    repeats = given.growth_repeats if growth else given.repeats
    profile = not growth and threads == given.threads[0]
    steps = 1 + repeats + profile
    lines: dict[str, list[dict[str, Any]]] = {"ours": [], "trl": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {
            "threads": threads,
            "steps": steps,
            "profile": profile,
            "warm_up_turns": 2 if growth else turns,
        }
        make_job(folder, template, given.prompts, group, turns, **settings)
        workers = {
            "ours": Worker("trl_step_ours.py", folder, threads),
            "trl": Worker("trl_step_peer.py", folder, threads),
        }
        try:
            for step in range(steps):
                for engine, worker in workers.items():
                    lines[engine].append(worker.step())
                    kind = (
                        "warm-up"
                        if step == 0
                        else (
                            "profiled"
                            if profile and step == steps - 1
                            else f"step {step}/{repeats}"
                        )
                    )
                    wall, cpu = lines[engine][-1]["seconds"]["step"]
                    size = f"{given.prompts} × {group} × {turns} turns, {threads} threads"
                    print(
                        f"{size}: {engine} {kind}: {wall:.1f} s, {cpu:.1f} s of CPU",
                        file=sys.stderr,
                        flush=True,
                    )
        finally:
            for worker in workers.values():
                worker.end()
    return {
        "group": group,
        "turns": turns,
        "threads": threads,
        **summed_up(lines, slice(1, 1 + repeats)),
    }


def summed_up(lines: dict[str, list[dict[str, Any]]], counted: slice) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for engine, all_steps in lines.items():
        steps = all_steps[counted]
        median = {
            part: {
                kind: statistics.median(step["seconds"][part][k] for step in steps)
                for k, kind in enumerate(("wall", "cpu"))
            }
            for part in PARTS
        }
        found[engine] = {
            **median,
            **{key: steps[0][key] for key in ("tokens", "turns", "sampled_tokens", "row_tokens")},
            "grad_norm": all_steps[0]["grad_norm"],
            "memory_mb": {"loaded": steps[-1]["memory_mb"][0], "peak": steps[-1]["memory_mb"][1]},
            "profile": all_steps[-1].get("profile"),
            "steps": [step["seconds"] for step in steps],
        }
    found["times"] = {
        part: {
            kind: found["trl"][part][kind] / found["ours"][part][kind] for kind in ("wall", "cpu")
        }
        for part in PARTS
    }
    found["same"] = all(a["digest"] == b["digest"] for a, b in zip(*lines.values(), strict=True))
    return found


# ---- what came out


def table(row: dict[str, Any]) -> str:
    ours, trl = row["ours"], row["trl"]
    text = [
        f"\n{row['group']} rollouts a prompt, {row['turns']} turns, {ours['row_tokens']:.0f} tokens"
        f" a row, {row['threads']} threads"
    ]
    text.append(f"{'':<12}{'ours':>20}{'TRL':>20}{'times':>16}   (wall, CPU seconds)")
    for part in PARTS:
        cells = [f"{engine[part]['wall']:.2f}, {engine[part]['cpu']:.2f}" for engine in (ours, trl)]
        times = f"{row['times'][part]['wall']:.1f}, {row['times'][part]['cpu']:.1f}"
        text.append(f"{part:<12}{cells[0]:>20}{cells[1]:>20}{times:>16}")
    for what in ("peak", "loaded"):
        text.append(
            f"{'MB ' + what:<12}{ours['memory_mb'][what]:>20,.0f}{trl['memory_mb'][what]:>20,.0f}"
        )
    for what in ("prefilled_tokens", "decoded_tokens"):
        text.append(f"{what[:-7]:<12}{ours['tokens'][what]:>20,}{trl['tokens'][what]:>20,}")
    if ours["profile"]:
        text.append(
            f"{'non-matrix':<12}{ours['profile']['outside_matrix']:>20.0%}{trl['profile']['outside_matrix']:>20.0%}"
        )
    text.append(
        f"{'grad norm':<12}{ours['grad_norm']:>20.6f}{trl['grad_norm']:>20.6f}   same tokens:"
        f" {'yes' if row['same'] else 'NO'}"
    )
    return "\n".join(text)


def draw(rows: Sequence[dict[str, Any]], group: int, turns: int, threads: int) -> str:
    """Rollouts, step and memory by turns, and the step by group size."""
    by_turns = sorted(
        (row for row in rows if row["group"] == group and row["threads"] == threads),
        key=lambda row: row["turns"],
    )
    by_group = sorted(
        (row for row in rows if row["turns"] == turns and row["threads"] == threads),
        key=lambda row: row["group"],
    )
    cpu = "CPU seconds"
    panels = (
        ("Rollouts of a step", by_turns, "turns", cpu, lambda found: found["rollouts"]["cpu"]),
        ("Whole step", by_turns, "turns", cpu, lambda found: found["step"]["cpu"]),
        ("Whole step", by_group, "group", cpu, lambda found: found["step"]["cpu"]),
        ("Peak memory", by_turns, "turns", "MB", lambda found: found["memory_mb"]["peak"]),
    )
    drawings = []
    for title, shown, axis, unit, value in panels:
        lines = [
            Series(name, tuple((float(row[axis]), value(row[engine])) for row in shown), colour)
            for colour, (engine, name) in enumerate((("ours", "tripwright"), ("trl", "TRL")))
        ]
        label = "rollouts of a prompt" if axis == "group" else axis
        chart = Lines(title, label, unit, lines, width=480, height=240)
        drawings.append((f"{title}, by {label}", chart))
    return picture(
        "A GRPO step of tripwright and of TRL: time and memory by turns and group size",
        drawings,
        columns=2,
    )


def trl_template() -> str:
    """The chat template that TRL trains with: it refuses others, to the letter."""
    found = importlib.util.find_spec("trl")
    if found is None or found.origin is None:
        sys.exit("TRL is not installed: pip install 'tripwright[trl]' jmespath")
    return next(Path(found.origin).parent.rglob(TEMPLATE)).read_text(encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for trl_step.json and trl_step.svg"
    )
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--group", type=int, default=8, help="rollouts of a prompt")
    parser.add_argument(
        "--turns",
        type=int,
        nargs="+",
        default=[8, 16, 32],
        help="the first is the one compared in full, the rest are growth",
    )
    parser.add_argument(
        "--groups", type=int, nargs="*", default=[4, 8, 16], help="group sizes for the growth"
    )
    parser.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=[2, 1],
        help="the growth is measured with the first",
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--growth-repeats", type=int, default=1)
    given = parser.parse_args()
    if (
        min(given.turns) < 2
        or min(given.group, *given.groups, 2) < 2
        or min(given.prompts, given.repeats, given.growth_repeats) < 1
    ):
        parser.error("needs 2 turns, 2 rollouts of a prompt, 1 prompt and 1 repeat at least")
    if any(given.prompts * group % ROWS for group in (given.group, *given.groups)):
        parser.error(
            f"prompts times rollouts must be a multiple of {ROWS}, the rows of a forward pass"
        )
    logging.disable_progress_bar()
    torch.set_num_threads(1)  # here only the job is made; the workers have their own
    versions = {name: version(name) for name in ("trl", "transformers", "torch")}
    template, load = trl_template(), os.getloadavg()
    settings = [(given.group, given.turns[0], threads, False) for threads in given.threads]
    settings += [(given.group, turns, given.threads[0], True) for turns in given.turns[1:]]
    settings += [
        (group, given.turns[0], given.threads[0], True)
        for group in given.groups
        if group != given.group
    ]
    rows = []
    for group, turns, threads, growth in settings:
        rows.append(compare(given, template, group, turns, threads, growth))
        print(table(rows[-1]), flush=True)
    print(
        f"\nload before {load[0]:.1f}, after {os.getloadavg()[0]:.1f};"
        f" {', '.join(f'{k} {v}' for k, v in versions.items())}"
    )
    given.out.mkdir(parents=True, exist_ok=True)
    told = {
        "versions": versions,
        "load_before": load,
        "load_after": os.getloadavg(),
        "prompts": given.prompts,
        "runs": rows,
    }
    write_atomically(given.out / "trl_step.json", json.dumps(told, indent=1) + "\n")
    write_atomically(
        given.out / "trl_step.svg", draw(rows, given.group, given.turns[0], given.threads[0])
    )
    return int(not all(row["same"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
