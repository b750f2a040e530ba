"""The weights and figures after some steps of every way to train, bit for bit, from commands and
recipes so small that a run takes seconds.

Floating point depends on the processor and on torch, so the hashes are kept for each kind of
machine; on another these tests are skipped. That a stopped run goes on bit for bit is tested in
tests/training/test_resume*.py and tests/cli/test_train.py.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

RECIPES = Path(__file__).parent / "recipes"
# recipes with a cold start of their own; the others begin with that of grpo
WITH_A_START = ("grpo", "deeptravel")
# parts of the names of figures that no machine gives twice, and of those that read a model's words
# (tests/domains/travelplanner/test_written_work.py): these read more as time goes by
NOT_PINNED = ("seconds", "per_second", "mfu", "peak_memory", "hours", "true_steps", "wrong_step")
BF16_SIGNS = {"_is_avx512_bf16_supported": "avx512_bf16", "_is_amx_tile_supported": "amx"}

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(),
    reason="the hashes are of training on a processor, and here it takes the GPU",
)


def machine() -> str:
    """What equal weights depend on. The model of the processor too: products are summed in an order
    that fits its caches."""
    signs = [
        name for check, name in BF16_SIGNS.items() if getattr(torch.cpu, check, lambda: False)()
    ]
    bf16 = "bf16 by " + " and ".join(signs) if signs else "no bf16"
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").split("\n\n")[0].splitlines() if info.is_file() else []
    facts = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    processor = " ".join(facts.get(key, "?") for key in ("vendor_id", "cpu family", "model"))
    return (
        f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {bf16},"
        f" {processor}, 1 thread"
    )


def hash_of_tensors(path: Path) -> str:
    """Of a safetensors file: sorted names, types, shapes, raw bytes."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header, body, digest = json.loads(raw[8 : 8 + size]), raw[8 + size :], hashlib.sha256()
    for name in sorted(header.keys() - {"__metadata__"}):
        tensor = header[name]
        start, end = tensor["data_offsets"]
        digest.update(f"{name} {tensor['dtype']} {tensor['shape']}\n".encode() + body[start:end])
    return digest.hexdigest()[:12]


def outcome(run: Path, hash_of: Callable[[str], str]) -> dict[str, str]:
    """Hashes by name: the weights of every stage, and each figure of metrics.jsonl over all steps
    of its stage."""
    found = {
        f"weights of {path.parent.name}": hash_of_tensors(path)
        for path in sorted(run.glob("model/*/model.safetensors"))
    }
    figures: dict[str, list[Any]] = defaultdict(list)
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        step = json.loads(line)
        for key, value in step.items():
            if not any(part in key for part in NOT_PINNED):
                figures[f"{step['stage']} {key}"].append([step["step"], value])
    return found | {
        name: hash_of(json.dumps(values, sort_keys=True)) for name, values in figures.items()
    }


Runs = Callable[..., Path]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, tripwright: Callable[..., list[str]]) -> Runs:
    """runs(recipe, …) → its run folder, trained once. In the folder above are a world, two queries
    and three requests in it."""
    folder = tmp_path_factory.mktemp("training")
    tripwright(folder, "world", "build", "--out", "nano", "--scale", "nano", "--seed", 7)
    of_queries = "--count 2 --levels 1:1:1 --seed 1 --workers 1 --out queries.jsonl"
    tripwright(folder, "query", "make", "--world", "nano", *of_queries.split())
    of_requests = "--count 3 --constraints with --seed 1 --out requests.jsonl"
    tripwright(folder, "request", "make", "--world", "nano", *of_requests.split())

    def trained(name: str, verb: str, dtype: str = "auto") -> Path:
        run = folder / dtype / name
        if not run.is_dir():
            text = (RECIPES / f"{name}.toml").read_text(encoding="utf-8")
            for data in ("nano", "queries.jsonl", "requests.jsonl"):
                text = text.replace(f'"{data}"', f'"../{data}"')
            run.parent.mkdir(exist_ok=True)
            recipe = run.with_suffix(".toml")
            recipe.write_text(
                text.replace('dtype = "auto"', f'dtype = "{dtype}"'), encoding="utf-8"
            )
            tripwright(run.parent, verb, recipe.name, "--out", name)
        return run

    return trained


def test_fine_tuning(runs, hash_of, pins):
    run = runs("sft", "sft")
    tokenizer = json.loads((run / "model" / "start" / "tokenizer.json").read_text(encoding="utf-8"))
    found = {"tokenizer": hash_of(json.dumps(tokenizer, sort_keys=True)), **outcome(run, hash_of)}
    pins.table("training", "sft", machine(), found, run)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("grpo", "auto"),
        *(
            pytest.param(name, "auto", marks=pytest.mark.slow)
            for name in ("deeptravel", "ppo", "rft", "arpo", "evidence")
        ),
        *(pytest.param(name, "float32", marks=pytest.mark.slow) for name in ("grpo", "deeptravel")),
    ],
)
def test_reinforcement(name, dtype, runs, hash_of, records, pins):
    """Cold starts are by heart, on a transcript or two: then some episodes pass and some do not,
    and there is something to learn from."""
    start = runs(name if name in WITH_A_START else "grpo", "train", dtype)
    run = runs(name, "train", dtype)
    steps = [step for step in records(run / "metrics.jsonl") if step["stage"] == "rl"]
    assert (
        sum(step["grad_norm"] > 0 and step["kept_groups"] > 0 for step in steps) >= len(steps) // 2
    ), "hardly a step has a signal"
    assert any(step["replayed"] for step in steps) == (name == "deeptravel"), (
        "failed requests come back in DeepTravel's recipe alone"
    )
    before, after = (
        hash_of_tensors(path / "model.safetensors")
        for path in (start / "model" / "sft", run / "model" / "rl")
    )
    assert before != after
    row = name if dtype == "auto" else f"{name} in {dtype}"
    pins.table(
        "training", row, machine(), {"weights it begins with": before, **outcome(run, hash_of)}, run
    )
