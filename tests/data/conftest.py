"""Runs of the experts in a small world, one for each dialect, and copies of them to be spoilt."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tripwright.data.trajectories import collect, open_runs
from tripwright.domains import dialect_named
from tripwright.domains.deeptravel.expert.play import ErrandExpert
from tripwright.domains.deeptravel.requests.file import write_requests
from tripwright.domains.deeptravel.requests.intents import TripSurvey
from tripwright.domains.deeptravel.requests.make import RequestScope, make_requests
from tripwright.domains.deeptravel.task import Errand
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.evals.run import run
from tripwright.evals.run_card import queries_entry, run_card
from tripwright.world.generator import build_world
from tripwright.world.store import World

DIALECTS = ("planner_r1", "compact", "star")
ERRAND_DIALECTS = ("deeptravel_cards", "deeptravel_cards_compact")
QUERIES = 6


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """world/, queries.jsonl and a strict run folder for every dialect."""
    folder = tmp_path_factory.mktemp("trajectories")
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, QUERIES, 1))
    path = folder / "queries.jsonl"
    write_lines(path, (query.record() for query in queries))
    tasks = [
        TripTask(f"q{number:06d}", query, world) for number, query in enumerate(queries, start=1)
    ]
    place = {"name": world.name, "content_hash": world.content_hash}
    for name in DIALECTS:
        dialect = dialect_named(name)
        card = run_card({"kind": "expert"}, {}, dialect, "strict", queries_entry(path), place)
        run(ExpertPolicy(), tasks, folder / name, dialect, card=card, progress=False)
    return folder


@pytest.fixture(scope="session")
def errands(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """requests.jsonl, of the same world, and a run folder for every dialect of DeepTravel's."""
    folder = tmp_path_factory.mktemp("errands")
    provider = WorldProvider(World.open(made / "world"))
    places = RequestScope.of(provider.world)
    found, _ = make_requests(
        TripSurvey(provider), places, QUERIES, constraints="mixed", weights=(2, 1, 1), seed=1
    )
    requests = [each.request for each in found]
    write_requests(folder / "requests.jsonl", requests)
    jobs = [
        Errand(f"q{number:06d}", request, provider, provider.world.name)
        for number, request in enumerate(requests, start=1)
    ]
    place = {"tools": dict.fromkeys(sorted(provider.tools), f"world {provider.version}")}
    asked = queries_entry(folder / "requests.jsonl")
    for name in ERRAND_DIALECTS:
        dialect = dialect_named(name)
        made_by = {"kind": "errand-expert"}
        card = run_card(made_by, {}, dialect, "verified by rules", asked, place)
        run(ErrandExpert(), jobs, folder / name, dialect, card=card, progress=False)
    return folder


@pytest.fixture
def world(made: Path) -> World:
    return World.open(made / "world")


@pytest.fixture(scope="session")
def small_tokenizer() -> Any:
    """Made in a moment from a few words: nearly a token for each letter."""
    pytest.importorskip("transformers")
    from tripwright.training.nano import make_tokenizer

    return make_tokenizer(["plan the trip with the tools"] * 4, set(), superwords=0)


Line = dict[str, Any]
Lines = list[Line]


def collected(folder: Path, out: Path, most_per_query: int | None = None) -> dict[str, Any]:
    return collect(open_runs([folder]), out, most_per_query=most_per_query)


def turns(line: Line) -> Lines:
    return [segment for segment in line["transcript"]["segments"] if segment["role"] == "assistant"]


# ---- ways to spoil a line


def stopped(line: Line) -> None:
    line["transcript"] |= {"stop_reason": "max_turns", "answer": None}


def unscored(line: Line) -> None:
    line["transcript"] |= {"stop_reason": "unscored", "answer": None, "fault": "endpoint dead"}
    line |= {"plan": None, "verdict": None}


def failed(line: Line) -> None:
    line["verdict"]["final"] = False


def samples_of(line: Line, count: int) -> Lines:
    """As many episodes of the same request."""
    samples: Lines = [json.loads(json.dumps(line)) for _ in range(count)]
    for number, sample in enumerate(samples):
        sample["id"] += f"-s{number:02d}"
    return samples


@pytest.fixture
def copied(made: Path, errands: Path, tmp_path: Path) -> Callable[..., Path]:
    """copied(dialect, change, name=…, **card) → a finished run with the lines that `change` makes
    of the expert's."""

    def copy(
        dialect: str, change: Callable[[Lines], Lines] = list, /, name: str = "run", **card: Any
    ) -> Path:
        folder = tmp_path / name
        shutil.copytree((errands if dialect in ERRAND_DIALECTS else made) / dialect, folder)
        path = folder / "transcripts.jsonl"
        lines = change(read_lines(path))
        write_lines(path, lines)
        (folder / "score.json").write_text(
            json.dumps({"n": len({line["id"] for line in lines}), "unscored": 0})
        )
        known = json.loads((folder / "run_card.json").read_text())
        (folder / "run_card.json").write_text(json.dumps({**known, **card}))
        return folder

    return copy
