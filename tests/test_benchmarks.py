"""Every benchmark starts and comes to its end, at the smallest size that it takes. What it prints
is not looked at: figures of so little work say nothing."""

import importlib.util
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import python
from tripwright.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
SMALLEST = {
    "agreement": "--requests 20 --rounds 1",
    "activations": "--way float32 --tokens 64",
    "endpoint_load": "--episodes 4 --concurrency 4 --ms-per-token 0.1 --peer-episodes 2"
    " --slow-episodes 1",
    "fuzz_judge": "--n 20",
    "fit_papers": "",
    "gpu": "--part update 29M 64",
    "judge": "--passes 1 --peer-plans 2 --data {data}",
    "kills": "--kills 1 --every-steps 2 --steps 3",
    "live_sandbox": "--questions 4 --replays 1",
    "muon": "--steps 1 --layers 1",
    "oracle": "--world {world} --out {out} --queries 1 --cpsat-seconds 1",
    "report_page": "{run} --episodes 12",
    "results": "{run} --picture {out}/picture.svg",
    "rollouts": "--model {model} --episodes 1 --threads 1",
    "serve_tools": "--world {world} --out {out} --seconds 1 --slice 0.5 --clients 2 --requests 20"
    " --load-processes 1 --workers 1",
    "serve_trips": "--travellers 2 --seconds 8 --think 0.1",
    "speedrun": "--recipe {recipe} --seeds 0 --out {out}",
    "task_set": "--rows 10",
    "tool_calls": "{world}",
    "trip_page": "--times 1",
    "trl_step": "--out {out} --prompts 4 --group 2 --groups 2 --turns 2 --threads 1 --repeats 1",
    "world": "--out {out} --scale nano --searches 40 --peer-searches 2",
}
# not started by themselves: they belong to one of the above
PARTS = {"cpsat", "endpoint_load_server", "fuzz_files", "http_load", "misread", "panels"}
PARTS |= {"trl_step_ours", "trl_step_peer"}
NEEDS = {"trl_step": "trl", "world": "pandas", "judge": "pandas", "oracle": "ortools"}
IN_A_BROWSER = {"report_page", "trip_page"}
# its exit code says whether a model passed, and so small a one passes nothing
MAY_END_WITH = {"speedrun": 1}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What benchmarks are given: a world, a run folder with two evaluations in it."""
    folder = tmp_path_factory.mktemp("benchmarks")
    world, queries, run = folder / "nano", folder / "queries.jsonl", folder / "run"
    assert main(f"world build --scale nano --seed 7 --out {world}".split()) == 0
    made = f"query make --world {world} --count 2 --seed 1 --workers 1 --out {queries}"
    assert main(made.split()) == 0
    for policy in ("cheapest-row", "expert"):
        played = f"run --policy {policy} --queries {queries} --world {world}"
        assert main(f"{played} --out {run}/eval/{policy}".split()) == 0
    return SimpleNamespace(folder=folder, world=world, run=run)


@pytest.fixture(scope="module")
def model(given: SimpleNamespace, tiny_model: Any, nano_tokenizer: Any) -> Path:
    folder: Path = given.folder / "model"
    tiny_model("qwen3", len(nano_tokenizer)).save_pretrained(folder)
    nano_tokenizer.save_pretrained(folder)
    return folder


def test_every_benchmark_is_run():
    assert {path.stem for path in BENCHMARKS.glob("*.py")} == SMALLEST.keys() | PARTS


@pytest.mark.parametrize("name", SMALLEST)
def test_it_runs(name, given, tmp_path, request):
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]} (the extras dev and trl)")
    if name in IN_A_BROWSER and not shutil.which("chromium"):
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    places = {
        "world": given.world,
        "run": given.run,
        "out": tmp_path,
        "recipe": ROOT / "tests" / "golden" / "recipes" / "sft.toml",
    }
    if "{model}" in SMALLEST[name]:
        places["model"] = request.getfixturevalue("model")
    if "{data}" in SMALLEST[name]:
        places["data"] = request.getfixturevalue("travelplanner")
    words = SMALLEST[name].format(**places).split()
    ended = python(BENCHMARKS / f"{name}.py", *words, cwd=ROOT)
    assert ended.returncode in (0, MAY_END_WITH.get(name, 0)), ended.stderr[-3000:]
    assert ended.stdout.strip()
