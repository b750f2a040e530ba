"""Every command in the comments of every recipe runs as written. What is swapped is size: the
tables are those of a generated world, models are tiny, counts are small, and the models behind
addresses are one server of the test's; our engine trains in verl's place (tests/bridges has that).
Where a package is not installed its command is left out.
"""

import csv
import importlib.util
import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import completion
from tripwright.cli.main import main
from tripwright.domains import dialect_named, domain_named
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.domains.deeptravel.verifiers.findings import RUBRICS
from tripwright.domains.place import PlaceOptions
from tripwright.domains.travelplanner.expert import expert_turns
from tripwright.domains.travelplanner.plan.itinerary import parse_itinerary
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.episode import open_session
from tripwright.world.generator import build_tables, build_world
from tripwright.world.importer import SOURCES
from tripwright.world.store import World

torch = pytest.importorskip("torch")

from tripwright.training.recipe import load_recipe
from tripwright.training.recipe_list import all_recipes

TABLES = build_tables("nano", 5)
CITIES = ",".join(sorted(city for city, _ in TABLES.cities)[:4])
FOLDER = Path(__file__).parents[2] / "recipes"
SHAPE = {"hidden": 32, "layers": 1, "heads": 2, "kv_heads": 1, "head_size": 16, "feed_forward": 48}
DIALECT = {"max_turn_tokens": 24}
EXAM = {"queries": 2, "difficulty_queries": 2}
# These differ in the model's size, or in the server that is left out here, from one that runs.
ALIKE = {f"real/planner_r1_{name}" for name in ("1.7b", "8b", "8b_lora_vllm")} | {"planner_r1/32b"}
pytestmark = pytest.mark.usefixtures("one_thread")


def commands(recipe: Path) -> Iterator[str]:
    """Those that make what the recipe needs, the recipe's own, and what follows it."""
    lines = iter(recipe.read_text(encoding="utf-8").splitlines())
    own, before, after = next(lines).removeprefix("# "), [], []
    for line in lines:
        command = line.removeprefix("#").strip().removeprefix("Then: ")
        if not line.startswith("#") or not command.startswith("tripwright "):
            continue
        while command.endswith("\\"):
            command = command[:-1] + next(lines).removeprefix("#").strip()
        (after if "Then: " in line else before).append(command)
    yield from (*before, own, *after)


def tiny(recipe: Path, model: Path, url: str) -> str:
    """The recipe with other sizes."""
    loaded = load_recipe(recipe)
    tables: dict[str, dict[str, Any]] = {"dialect": dict(DIALECT), "evaluation": EXAM}
    if loaded.dialect.dialect().max_prompt_tokens is not None:  # of a small tokenizer
        tables["dialect"]["max_prompt_tokens"] = 8192
    pretrained = loaded.model.pretrained
    if pretrained is None:
        tables["model"] = {"tokenizer_transcripts": 16, "superwords": 80}
        tables["model.shape"] = {**SHAPE, "positions": loaded.held_out_dialect.context_tokens}
    elif pretrained.startswith(("Qwen/", "models/smollm2")):
        tables["model"] = {"pretrained": str(model)}
    if loaded.model.device != "auto":
        tables["model"]["device"] = "cpu"
    if loaded.copy_pretraining is not None:
        tables["copy_pretraining"] = {"max_steps": 1, "tokens_per_step": 256}
    if loaded.sft is not None:
        # more than the warm-up: transformers' schedule divides by what is left
        tables["sft"] = {"steps": 2, "batch_size": 2, "dtype": "auto"}
        if loaded.sft.expert_transcripts is not None:
            tables["sft"]["expert_transcripts"] = 4
        if loaded.sft.optimizer.state == "8bit" and not installed("bitsandbytes"):
            tables["sft.optimizer"] = {"state": "float32"}
    if loaded.validation is not None:
        tables["validation"] = {"every": 1}
    if loaded.judging is not None:
        tables["judging"] = {"base_url": url}
    if loaded.live is not None:
        tables["live"] = {"services": "live.toml"}
    if loaded.rl is not None:
        tables[loaded.rl.algorithm] = {"steps": 1, "prompts_per_step": 2, "group_size": 2}
        settings = loaded.rl.settings
        if settings.server is not None:  # tests/rl plays on servers
            tables[loaded.rl.algorithm]["server"] = "none"
        if settings.optimizer.state == "8bit" and not installed("bitsandbytes"):
            tables[f"{loaded.rl.algorithm}.optimizer"] = {"state": "float32"}
        if getattr(settings, "branching", None) is not None:
            tables[f"{loaded.rl.algorithm}.branching"] = {"initial": 1}
    texts = [
        f"[{table}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
        for table, values in tables.items()
    ]
    return f'base = "{recipe}"\nthreads = 1\n\n' + "\n".join(texts)


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def smaller(command: str, url: str) -> str:
    """A fiftieth of every count (a fifth of the small ones), 10 to 45; the test's own server, and
    the generated world's cities and days."""
    scale = 5 if "planner_r1" in command else 50

    def fewer(count: re.Match[str]) -> str:
        return f"--count {min(45, max(10, int(count[1]) // scale))}"

    command = re.sub(r"--count (\d+)", fewer, command)
    command = re.sub(r"([a-z]:)(\d+)\b", lambda n: f"{n[1]}{int(n[2]) // scale}", command)
    command = re.sub(r"--cities '[^']*'", f"--cities '{CITIES}'", command)
    command = re.sub(r"--days \S+\.\.\S+", "--days 2022-03-05..2022-03-14", command)
    return re.sub(r"https?://\S+/v1", url, command).replace(" --engine verl", "")


class Models:
    """Every model that a command asks: one that words requests by the grammar's own texts, teachers
    that know the experts' turns, a judge that is satisfied with every answer."""

    def __init__(self, home: Path):
        self.home = home

    def __call__(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        first, *rest = [each for each in request["messages"] if each["role"] != "system"]
        number = sum(each["role"] == "assistant" for each in rest)
        system = request["messages"][0]["content"]
        if system.startswith(dialect_named("star").system_prompt[:80]):
            text = self.trip_turns(first["content"])[number]
        elif system.startswith(dialect_named("deeptravel").system_prompt[:80]):
            text = self.errand_turns(first["content"])[number]
        elif "Planning text: " in first["content"]:
            days = parse_itinerary(first["content"].partition("Planning text: ")[2]).plan or []
            text = json.dumps([{**day, "day": day["days"]} for day in days])
        elif "[Evaluation Rubrics]" in system:
            text = satisfied("[Tool call" not in first["content"])
        else:
            fields = json.loads(first["content"].partition("\n\n")[2])
            text = next(q.query for q in self.queries() if is_of(q, fields))
        return completion(text)

    def queries(self) -> Iterator[Query]:
        for path in sorted((self.home / "queries").glob("*.jsonl")):
            if path.stat().st_size:  # else it is being made
                yield from read_queries(path)

    def trip_turns(self, text: str) -> list[str]:
        query, dialect = next(q for q in self.queries() if q.query in text), dialect_named("star")
        return expert_turns(query, self.world, dialect)

    def errand_turns(self, text: str) -> list[str]:
        """Of the expert, to whom the same services answer the same."""
        domain = domain_named("deeptravel")
        folder = self.home / "requests"
        files = [path for path in folder.glob("*.jsonl") if ".proofs" not in path.name]
        requests = (request for path in files for _, request in domain.requests.read(path))
        request = next(each for each in requests if each.query in text)
        with domain.open(PlaceOptions(services=self.home / "live.toml")) as place:
            task = domain.task("teacher", request, place.source)
            session = open_session(task, dialect_named("deeptravel"))
            (session,) = domain.expert().play([session])
        return [s.text for s in session.transcript.segments if s.role == "assistant"]

    @cached_property
    def world(self) -> World:
        return World.open(self.home / "worlds" / "official")


def satisfied(whole: bool) -> str:
    rubrics = dict.fromkeys(RUBRICS if whole else ("parameters", "reflects"), "met")
    conclusion = "very_satisfied" if whole else "satisfied"
    reply = {"reason": "so", "rubrics": rubrics, "problems": [], "conclusion": conclusion}
    return json.dumps(reply)


def is_of(query: Query, fields: dict[str, Any]) -> bool:
    names = ("org", "dest", "date", "people_number", "budget", "local_constraint")
    return all(query.record()[name] == fields[name] for name in names)


def write_tables(folder: Path) -> None:
    """The tables of a generated world as the official files have them."""
    folder.mkdir(parents=True)
    for source in SOURCES:
        with (folder / source.files[0]).open("w", newline="", encoding="utf-8") as text:
            csv.writer(text).writerows([source.columns, *getattr(TABLES, source.name)])


@pytest.fixture
def home(
    tmp_path: Path, nano_tokenizer: Any, tiny_model: Callable[..., Any], serve: Callable[..., str]
) -> Path:
    """A folder to work in, with the recipes in it, and what their comments tell a user to write."""
    home = tmp_path
    url = serve(Models(home))
    (home / "url").write_text(url)
    build_world(home / "worlds" / "live", "nano", 5)
    tools = "".join(f'{tool} = "world"\n' for tool in RECORDS)
    services = f'[tools]\n{tools}[vendors.world]\nfolder = "worlds/live"\nday = "2022-03-01"\n'
    (home / "live.toml").write_text(services)
    (home / "formatter.toml").write_text(f'model = "formatter"\nbase_url = "{url}"\n')
    (home / "judge.toml").write_text(f'model = "judge"\nbase_url = "{url}"\n')
    write_tables(home / "TravelPlanner" / "database")
    model = home / "models" / "qwen"
    positions = {"max_position_embeddings": 40_960}
    tiny_model("qwen3", len(nano_tokenizer), **positions).save_pretrained(model)
    nano_tokenizer.save_pretrained(model)
    for recipe in FOLDER.rglob("*.toml"):
        path = home / "recipes" / recipe.relative_to(FOLDER)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tiny(recipe, model, url), encoding="utf-8")
    return home


def test_every_command_runs(home, monkeypatch, capsys):
    """One after the other in one folder, as a reader of the recipes would give them; those that
    stand in several recipes once."""
    monkeypatch.chdir(home)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    url, finished = (home / "url").read_text(), set[str]()
    for recipe in in_order():
        for command in commands(Path(recipe.path)):
            line = smaller(command, url)
            if "--engine trl" in line and not installed("trl"):
                line = line.replace("--engine trl", "")
            if line not in finished:
                assert main(shlex.split(line)[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
            finished.add(line)
    assert len(finished) > 40


def in_order() -> list[Any]:
    """What others begin from stands first, and so do recipes that make the data of others."""
    recipes = [recipe for recipe in all_recipes(FOLDER) if recipe.name not in ALIKE]
    firsts = ("cold_start", "sft", "twenty_minutes", "7b_sum", "8b")
    return sorted(recipes, key=lambda recipe: not recipe.name.rpartition("/")[2].startswith(firsts))
