"""README.md and docs/tour.md run as written, and the episode that README shows is a real one."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.domains import dialect_named, domain_named
from tripwright.domains.travelplanner.plan.itinerary import plan_of_text
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.episode import play

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
ON_REAL_TABLES = "## Evaluate\n"
SHORT_QUICKSTART = "tripwright train nano/quickstart --out runs/quickstart"
# What takes an hour in the recipes, in seconds.
TINY = """
[dialect]
max_turn_tokens = 32

[evaluation]
queries = 4
difficulty_queries = 6
"""
TINY_MODEL = """
[copy_pretraining]
max_steps = 1

[sft]
steps = 1

[model]
tokenizer_transcripts = 16
superwords = 80

[model.shape]
hidden = 32
layers = 1
heads = 2
kv_heads = 1
head_size = 16
feed_forward = 48
positions = 1280
"""
TINY_GRPO = """
[grpo]
steps = 1
prompts_per_step = 2
group_size = 2
"""
RECIPES = {
    "nano/quickstart": TINY_MODEL + TINY_GRPO,
    "nano/cold_start": TINY_MODEL,
    "nano/pretrained": "[sft]\nsteps = 1\n",
    "nano/grpo": TINY_GRPO,
    "nano/star": TINY_GRPO,
}


def commands(text: str) -> list[str]:
    """The lines of its shell blocks that end by themselves, without their comments."""
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).splitlines()
    whole = (line.partition(" #")[0].strip() for line in lines)
    return [line for line in whole if re.match("tripwright (?!serve)", line)]


def run(line: str, folder: Path) -> None:
    """In this process: a Python that imports torch for each line would take most of the time."""
    command = line.partition(" | head")[0]
    assert not set("|;&$<>") & set(command), line
    with contextlib.chdir(folder):
        assert main(shlex.split(command)[1:]) == 0, line


def test_the_python_prints_what_it_says():
    (code,) = re.findall(r"^```python\n(.*?)^```", TOUR, re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "tour.md", "exec"), {})
    outcomes = [line for line in printed.getvalue().splitlines() if line.startswith("passed:")]
    assert outcomes == ["passed: True reward: 5.0", "passed: False reward: 2.875"]


def test_the_episode_is_the_one_that_the_python_plays():
    (shown,) = re.findall(r"^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    trips = domain_named("travelplanner")
    world = trips.generator.world("nano", 7)
    task = trips.task("first", next(trips.generator.draw(world, 1, 3)), world)
    policies = trips.expert(), trips.baselines["cheapest_row"]()
    expert, cheapest = (next(play(policy, [task], dialect_named("compact"))) for policy in policies)
    lines = [f"{each.role}: {each.text}" for each in expert.transcript.segments]
    for line in shown.splitlines()[:-2]:
        pieces = [re.escape(piece) for piece in line.split("…")]
        assert any(re.fullmatch(".*".join(pieces), each) for each in lines), line
    (broken,) = [fact.message for fact in cheapest.verdict.failed]
    assert shown.splitlines()[-2:] == [
        f"verdict: passed, reward {trips.rewards['dense'](expert).total} of 5",
        "with the cheapest stay, Thorley Home: failed, reward"
        f" {trips.rewards['dense'](cheapest).total}: {broken}",
    ]


def test_plans_are_written_as_judging_md_shows_them():
    page = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    words, *_ = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    days = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    official, schema = (json.loads("[" + each.replace("}\n{", "},{") + "]") for each in days)
    line = json.loads((ROOT / "examples" / "plans.jsonl").read_text().splitlines()[0])
    plan, world = plan_of_text(words).plan, domain_named("travelplanner").generator.world("nano", 7)
    assert (official, schema) == (plan[:2], line["plan"][:2])
    assert judge(Query.model_validate(line["query"]), plan, world).final


@pytest.fixture
def endpoint(serve):
    """One that answers every request with the first of the examples' plans."""
    (plan, *_) = (ROOT / "examples" / "plans.jsonl").read_text().splitlines()
    text = f"<answer>{json.dumps(json.loads(plan)['plan'])}</answer>"
    answer = {"message": {"role": "assistant", "content": text}}
    body = json.dumps({"choices": [{"index": 0, "finish_reason": "stop", **answer}]}).encode()
    return serve(lambda request: (200, body, dict[str, Any]()))


def test_commands(tmp_path, endpoint, tiny_model, nano_tokenizer):
    for recipe, sizes in RECIPES.items():
        path = tmp_path / "tiny" / f"{recipe}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'base = "{recipe}"\n{TINY}{sizes}', encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    tiny_model("qwen3", len(nano_tokenizer)).save_pretrained(tmp_path / "path" / "to" / "model")
    nano_tokenizer.save_pretrained(tmp_path / "path" / "to" / "model")
    tour, rest = TOUR.split(ON_REAL_TABLES)
    tour += rest[rest.index("\n## ") :]
    for line in dict.fromkeys([*commands(README), *commands(tour)]):
        line = SHORT_QUICKSTART if line == "tripwright quickstart" else line
        line = re.sub(r"(sft|train|examine) (nano/\w+)", r"\1 tiny/\2.toml", line)
        line = line.replace("http://localhost:8000/v1", endpoint)
        run(line.replace("--policy local", "--policy local --count 3"), tmp_path)


def test_commands_on_the_real_tables(tmp_path, travelplanner, endpoint):
    for line in commands(TOUR.split(ON_REAL_TABLES)[1].partition("\n## ")[0]):
        line = line.replace("http://localhost:8000/v1", endpoint)
        line = line.replace("path/to/database", str(travelplanner / "database"))
        queries = travelplanner / "queries" / "validation_dev.jsonl"
        run(line.replace("path/to/validation.jsonl", str(queries)), tmp_path)
