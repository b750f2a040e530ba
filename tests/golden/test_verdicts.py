"""What the judge says of plans, line for line, and what the exact planner answers on the given
queries: the authors' data is not in this repository, so one hash per line of the commands' output
is kept. A failure names the lines."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines

RULES = ("official", "strict", "star")


@pytest.fixture(scope="module")
def given(
    travelplanner: Path,
    tmp_path_factory: pytest.TempPathFactory,
    tripwright: Callable[..., list[str]],
    records: Callable[..., Any],
) -> Path:
    """A folder with the imported world `real`, the 2,330 plans whose official verdicts are known,
    and the given queries."""
    folder = tmp_path_factory.mktemp("given")
    tripwright(folder, "world", "import", travelplanner / "database", "--out", "real")
    with gzip.open(travelplanner / "verdicts_dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    write(
        folder / "plans.jsonl", [{"query": case["query"], "plan": case["plan"]} for case in cases]
    )
    train, validation = (
        records(travelplanner / "queries" / f"{name}.jsonl") for name in ("train", "validation_dev")
    )
    write(folder / "queries.jsonl", [*train, *validation])
    write(
        folder / "annotated.jsonl",
        [{"query": query, "plan": query["annotated_plan"]} for query in train],
    )
    return folder


def write(path: Path, found: list[Any]) -> None:
    write_lines(path, found)


def kept(path: Path, lines: list[str]) -> list[str]:
    """The lines, which are also written down, to be compared by eye."""
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return lines


def answer_of(line: str) -> str:
    """The object of a line of `solve --json`, less the request and the time that it took."""
    return json.dumps(
        {k: value for k, value in json.loads(line).items() if k not in ("query", "seconds")},
        ensure_ascii=False,
    )


@pytest.mark.parametrize("rules", RULES)
def test_verdicts_on_the_given_plans(rules, given, tripwright, pins):
    path = given / f"verdicts_{rules}.jsonl"
    found = kept(
        path,
        tripwright(given, "score", "plans.jsonl", "--world", "real", "--rules", rules, "--json"),
    )
    assert len(found) == 2330 + 1  # the summary is the last
    pins.lines(f"verdicts_{rules}", found, path)


def test_rule_sets_compared(given, tripwright, pins):
    path = given / "compared.jsonl"
    words = "score plans.jsonl --world real --compare official strict --json"
    found = kept(path, tripwright(given, *words.split()))
    pins.lines("verdicts_compared_summary", found[-1:], path)


@pytest.mark.parametrize("options", ["", "--cheapest", "--k 3"])
def test_solved_queries(options, given, tripwright, pins):
    name = "solved" + options.replace("--", "_").replace(" ", "")
    lines = tripwright(
        given, "solve", "queries.jsonl", "--world", "real", "--json", *options.split()
    )
    found = kept(given / f"{name}.jsonl", [answer_of(line) for line in lines])
    assert len(found) == 116
    pins.lines(name, found, given / f"{name}.jsonl")


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("whose", ["annotated", "solved"])
def test_verdicts_on_annotated_and_solved_plans(whose, rules, given, tripwright, records, pins):
    if whose == "solved":
        solved = [
            json.loads(line)["plan"]
            for line in tripwright(given, "solve", "queries.jsonl", "--world", "real", "--json")
        ]
        pairs = zip(records(given / "queries.jsonl"), solved, strict=True)
        write(
            given / "solved_plans.jsonl", [{"query": query, "plan": plan} for query, plan in pairs]
        )
    plans = "annotated.jsonl" if whose == "annotated" else "solved_plans.jsonl"
    path = given / f"{whose}_{rules}.jsonl"
    found = kept(
        path, tripwright(given, "score", plans, "--world", "real", "--rules", rules, "--json")
    )
    pins.lines(f"verdicts_{whose}_{rules}", found, path)
