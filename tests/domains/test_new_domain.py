"""docs/new-domain.md, followed to the letter: its files are taken out of the page, its commands are
run.

The slow test takes its recipe as it stands; the other shortens every stage to a few steps.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "new-domain.md").read_text(encoding="utf-8")
FILES = dict(
    re.findall(r"^### `(dinner/\w+\.py)`\n\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)
RECIPE = re.search(r"```toml\n(# tripwright sft .*?)```", PAGE, re.DOTALL)
ENTRY_POINT = re.search(
    r"```toml\n\[project\.entry-points\.(\"[^\"]+\")\]\n(.*?)```", PAGE, re.DOTALL
)
PLAYED, TRAINED = (
    block.splitlines() for block in re.findall(r"```\n(tripwright .*?)```", PAGE, re.DOTALL)
)
TRAINS_ON_SERVED = """
from dataclasses import replace
from tripwright.training.recipe import load_recipe
from tripwright.training.stages import tools_of
recipe = load_recipe("dinner.toml")
recipe = replace(recipe, data=replace(recipe.data, world="town", queries="town/requests.jsonl"))
print(tools_of(recipe, "{url}", recipe.dialect.dialect()).world["content_hash"])
"""
SHORT = {
    "steps = 2500": "steps = 3",
    "steps = 10": "steps = 1",
    "prompts_per_step = 8": "prompts_per_step = 2",
    "group_size = 4": "group_size = 2",
    "queries = 300": "queries = 6",
    "difficulty_queries = 600": "difficulty_queries = 8",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the page's package, installed as pip would leave it: files, and an entry point
    beside them."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    installed = tmp_path / "dinner-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: dinner\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(
        f"[{ENTRY_POINT[1].strip(chr(34))}]\n{ENTRY_POINT[2].replace(chr(34), '')}"
    )
    (tmp_path / "dinner.toml").write_text(RECIPE[1])
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    paths = [str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def run(command: str, folder: Path, code: int = 0) -> str:
    words = [sys.executable, "-m", *command.split()]
    done = subprocess.run(
        words, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stderr if code else done.stdout


def run_all(commands: list[str], folder: Path) -> None:
    """One after the other, in one process: each would spend seconds on importing."""
    words = [command.split()[1:] for command in commands]
    python(
        f"from tripwright.cli.main import main\nfor w in {words}: assert main(w) == 0, w", folder
    )


def python(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def served(folder: Path, world: str) -> Iterator[str]:
    """The address at which the tools of a world are served."""
    words = [sys.executable, "-m", "tripwright", "serve", "tools", "--world", world, "--port", "0"]
    with subprocess.Popen(
        words, cwd=folder, env=environment(folder), stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            said = server.stderr.readline()
            found = re.search(r"http://\S+?:\d+", said)
            assert found is not None, said
            yield found[0]
        finally:
            server.terminate()
            server.communicate(timeout=60)


def test_requests_are_made_played_compared_and_reported(package):
    assert len(FILES) == 5
    run_all([command.replace("--count 100", "--count 12") for command in PLAYED], package)
    expert, rows = (
        json.loads((package / "runs" / name / "score.json").read_text())["metrics"]
        for name in ("expert", "rows")
    )
    assert expert["final"]["value"] == 1.0 > rows["final"]["value"]
    assert {"table_micro", "table_macro", "wishes_micro", "wishes_macro"} < expert.keys()
    line = json.loads(
        (package / "runs" / "expert" / "transcripts.jsonl").read_text().splitlines()[0]
    )
    shown = line["transcript"]["segments"][2]["call"]["rows"]
    assert shown["kind"] == "Restaurant"
    assert shown["fields"] == ["price_usd", "seats", "name"]
    assert shown["units"] == {"price_usd": "USD"}
    assert "Wishes" in (package / "runs" / "expert" / "report.html").read_text()
    assert "find_restaurants" in run("tripwright tool --list --face dinner", package)
    assert "Make a town" in run("tripwright dinner --help", package)


def test_a_recipe_is_held_to_the_strictest_rules_of_its_domain(package):
    domain = package / "dinner" / "domain.py"
    text = domain.read_text().replace(
        "DOMAIN = Domain(\n", 'DOMAIN = Domain(\n    judge=Judge(rules=("harsh", "lenient")),\n'
    )
    domain.write_text(f"from tripwright.domains.judging import Judge\n{text}")
    recipe = (package / "dinner.toml").read_text()
    lenient = recipe.replace("[grpo]\n", '[grpo]\nrules = "lenient"\n')
    (package / "lenient.toml").write_text(lenient)
    code = (
        "from tripwright.training.recipe import load_recipe\n"
        "for recipe in map(load_recipe, ('dinner.toml', 'lenient.toml')):\n"
        "    print(recipe.evaluation.rules, recipe.rl.settings.rules)"
    )
    assert python(code, package) == "harsh harsh\nharsh lenient"


def test_its_tools_are_served(package):
    pytest.importorskip("starlette")
    httpx2 = pytest.importorskip("httpx2")
    run("tripwright dinner make --out town --count 1", package)
    with served(package, "town") as url:
        assert httpx2.get(f"{url}/tools").json()["faces"] == ["dinner"]
        answer = httpx2.post(f"{url}/tools/find_restaurants", json={"cuisine": "Thai"})
        assert answer.status_code == 200
        assert answer.json()["error"] is False
        assert answer.json()["rows"]["kind"] == "Restaurant"
        assert httpx2.get(f"{url}/docs").status_code == 200
        assert httpx2.get(f"{url}/world").json()["content_hash"] == "town-7"
        call = 'tripwright tool find_restaurants {"cuisine":"Thai"} --face dinner --world town'
        assert run(call, package).strip() == answer.json()["text"]
        assert python(TRAINS_ON_SERVED.format(url=url), package) == "town-7"
    run("tripwright world build --scale nano --seed 1 --out nano", package)
    refused = run("tripwright serve tools --world nano --face dinner --port 0", package, code=2)
    assert "No world at" in refused


def test_a_model_is_trained_and_examined(package):
    pytest.importorskip("torch")
    text = (package / "dinner.toml").read_text()
    for long, short in SHORT.items():
        assert text.count(long) >= 1
        text = text.replace(f"\n{long}\n", f"\n{short}\n")
    tokens = "tokenizer_transcripts = 24\nsuperwords = 60\n"
    text = text.replace("[copy_pretraining]\n", f"{tokens}[copy_pretraining]\nmax_steps = 3\n")
    text = text.replace("hidden = 128, layers = 3", "hidden = 32, layers = 1")
    (package / "dinner.toml").write_text(text)
    run_all(TRAINED, package)
    difficulty = json.loads((package / "runs" / "dinner" / "difficulty.json").read_text())
    assert difficulty["expert"]["value"] == 1.0
    assert {"after_sft", "after_rl", "emptied_tools"} <= {
        path.name for path in (package / "runs" / "dinner" / "eval").iterdir()
    }
    assert (package / "runs" / "dinner" / "report.html").is_file()


@pytest.mark.slow
def test_learning_beats_the_better_baseline_by_20_points(package):
    pytest.importorskip("torch")
    run_all(TRAINED, package)
    folder = package / "runs" / "dinner"
    difficulty = json.loads((folder / "difficulty.json").read_text())
    learned = json.loads((folder / "eval" / "after_rl" / "score.json").read_text())["metrics"][
        "final"
    ]["value"]
    assert (
        learned
        >= max(difficulty["cheapest_row"]["value"], difficulty["dearest_row"]["value"]) + 0.20
    )
