"""What is made from a seed: worlds, queries, travellers' requests, and why an impossible trip is
impossible. Everything that is trained or examined in this project begins here, so an equal seed
must go on giving equal bytes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tripwright: Callable[..., list[str]]) -> Path:
    folder = tmp_path_factory.mktemp("made")
    tripwright(folder, "world", "build", "--out", "nano", "--scale", "nano", "--seed", 7)
    return folder


def test_generated_world(place, pins):
    manifest = json.loads((place / "nano" / "manifest.json").read_text())
    pins.lines("made_world", [manifest["content_hash"]], place / "nano")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("plain", "--count 60 --days 3,5,7 --levels 1:1:1"),
        ("rich", "--count 40 --style rich"),
        ("official_elements", "--count 30 --elements official --budget official"),
        ("infeasible", "--count 12 --keep infeasible"),
    ],
)
def test_made_queries(name, options, place, tripwright, pins):
    path = place / f"{name}.jsonl"
    words = f"query make --world nano --seed 1 --workers 1 --out {name}.jsonl {options}"
    tripwright(place, *words.split())
    pins.lines(f"made_queries_{name}", path.read_text(encoding="utf-8").splitlines(), path)
    if name == "infeasible":
        lines = tripwright(place, "solve", path, "--world", "nano", "--why", "--json")
        told = [
            {k: value for k, value in json.loads(line).items() if k not in ("query", "seconds")}
            for line in lines
        ]
        pins.lines("made_queries_why", map(json.dumps, told), path)


@pytest.mark.parametrize("wishes", ["with", "without", "mixed"])
def test_made_requests(wishes, place, tripwright, pins):
    path = place / f"requests_{wishes}.jsonl"
    words = f"request make --world nano --count 40 --constraints {wishes} --seed 1"
    tripwright(place, *words.split(), "--out", path)
    pins.lines(f"made_requests_{wishes}", path.read_text(encoding="utf-8").splitlines(), path)
    proofs = path.with_suffix(".proofs.jsonl")
    pins.lines(
        f"made_requests_{wishes}_proofs", proofs.read_text(encoding="utf-8").splitlines(), proofs
    )
