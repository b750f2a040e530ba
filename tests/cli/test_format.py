"""`tripwright format` as a user types it: by the parser, and by a real endpoint that dies, lies and
comes back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import completion
from tests.files import read_lines, write_lines
from tests.made import proven, trip
from tripwright.cli.main import main
from tripwright.domains.travelplanner.plan.itinerary import render_itinerary
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.scoring.score import score_file
from tripwright.world.generator import build_world
from tripwright.world.store import World


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, and 6 itineraries: 4 of the expert, one refusal, one missing."""
    folder = tmp_path_factory.mktemp("format")
    world = build_world(folder / "world", "nano", 2)
    lines, plans = list[dict[str, Any]](), list[Any]()
    for query in make_queries(world, 6, 1):
        plans.append(proven(query, world))
        itinerary = render_itinerary(query, plans[-1])
        lines.append({"query": query.record(), "itinerary": itinerary})
    lines[2]["itinerary"], plans[2] = "I am sorry, I cannot plan this.", None
    lines[4]["itinerary"], plans[4] = None, None
    write_lines(folder / "itineraries.jsonl", lines)
    (folder / "expected.json").write_text(json.dumps(plans))
    return folder


class Formatter:
    """An endpoint that formats as the parser would; `mood` says how it misbehaves."""

    def __init__(self, folder: Path, serve: Callable[..., str]) -> None:
        self.mood, self.requests = "well", 0
        asked = read_lines(folder / "itineraries.jsonl")
        made = zip(asked, expected(folder), strict=True)
        self.plans = {line["itinerary"]: plan for line, plan in made}
        self.url = serve(self.answer)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        self.requests += 1
        itinerary = request["messages"][-1]["content"].partition("Planning text: ")[2]
        if self.mood == "half" and self.requests % 2:
            return 500, b"{}", {}
        return completion(json.dumps(self.plans.get(itinerary) or []))


@pytest.fixture
def formatter(folder: Path, serve: Callable[..., str]) -> Formatter:
    return Formatter(folder, serve)


def command(folder: Path, out: Path, *words: str) -> list[str]:
    return ["format", str(folder / "itineraries.jsonl"), "--out", str(out), *words]


def by(formatter: Formatter, *words: str) -> list[str]:
    model = f"--model m --base-url {formatter.url} --retries 0 --concurrency 1"
    return [*model.split(), *words]


def plans(out: Path) -> list[Any]:
    return [line["plan"] for line in read_lines(out)]


def expected(folder: Path) -> list[Any]:
    return json.loads((folder / "expected.json").read_text())


def test_the_parser_and_then_the_judge(folder, tmp_path, typed):
    out = tmp_path / "new" / "plans.jsonl"
    told = typed(command(folder, out))
    assert told.out.split()[:4] == ["itineraries", "6", "plans", "4"]
    assert "line 3: no line" in told.err
    assert plans(out) == expected(folder)
    assert [path.name for path in out.parent.iterdir()] == ["plans.jsonl"]
    judged = list(score_file(out, World.open(folder / "world"), "official"))
    assert [line["final"] for line in judged[:6]] == [plan is not None for plan in expected(folder)]


def test_what_the_model_was_not_asked_is_asked_by_the_same_command(
    folder, tmp_path, formatter, typed
):
    out = tmp_path / "plans.jsonl"
    formatter.mood, asking = "half", command(folder, out, *by(formatter, "--json"))
    counts = {"itineraries": 6, "plans": 2, "unreadable": 1, "unscored": 3}
    assert typed(asking).record == counts and len(plans(out)) == 3
    with out.open("a") as torn:
        torn.write('{"line": 1, "que')
    formatter.mood, asked = "well", formatter.requests
    counts |= {"plans": 4, "unreadable": 2, "unscored": 0}
    assert typed(asking).record == counts and plans(out) == expected(folder)
    assert formatter.requests - asked == 3  # what is there is not asked again


def test_a_file_of_something_else_is_not_touched(folder, tmp_path, formatter, refused):
    out = tmp_path / "plans.jsonl"
    assert main(command(folder, out)) == 0  # by the parser
    before = out.read_bytes()
    assert "not made from these itineraries" in refused(command(folder, out, *by(formatter)))
    assert out.read_bytes() == before
    other = tmp_path / "other.jsonl"
    other.write_bytes(mine := (folder / "itineraries.jsonl").read_bytes())
    for words in (command(folder, other), ["format", str(other), "--out", str(other)]):
        assert main(words) == 2 and other.read_bytes() == mine


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "No itinerary file at"),
        ("", "No itinerary in"),
        ("{", "in.jsonl:1: not JSON"),
        ("[]", 'in.jsonl:1: expected an object with "query" and "itinerary"'),
        ('{"query": {}, "itinerary": 5}', 'expected an object with "query" and "itinerary"'),
        ('{"query": {}, "itinerary": ""}', "in.jsonl:1: query field 'org'"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, text, told, refused):
    path = tmp_path / "in.jsonl"
    if text is not None:
        path.write_text(text)
    before = sorted(tmp_path.iterdir())
    problem = refused(f"format {path} --out {tmp_path}/new/out.jsonl")
    assert told in problem
    assert sorted(tmp_path.iterdir()) == before


def test_a_model_needs_its_endpoint(folder, tmp_path, refused):
    asking = command(folder, tmp_path / "out.jsonl", "--model", "m")
    assert "--model and --base-url go together" in refused(asking)


@pytest.mark.parametrize("is_text", [False, True])
def test_a_request_without_its_text_or_without_its_fields(tmp_path, is_text):
    fields = trip(date=[]).record() | dict.fromkeys(("people_number", "budget", "query"))
    query = "Three days in A, please." if is_text else fields
    line = {"query": query, "itinerary": "Day 1: in A\n- Lunch: [X] in A"}
    (tmp_path / "in.jsonl").write_text(json.dumps(line))
    assert main(["format", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "out.jsonl")]) == 0
    assert plans(tmp_path / "out.jsonl")[0][0]["lunch"] == "X, A"


def test_the_answers_of_a_run_are_read_and_scored(folder, tmp_path, formatter):
    """By the parser and by a model: the plans of the run itself, under the same verdicts."""
    queries = tmp_path / "q.jsonl"
    lines = (folder / "itineraries.jsonl").read_text().splitlines()
    write_lines(queries, (json.loads(line)["query"] for line in lines))
    world, run = ["--world", str(folder / "world")], tmp_path / "run"
    play = ["run", "--policy", "expert", "--dialect", "star", "--queries", str(queries)]
    assert main([*play, *world, "--out", str(run)]) == 0
    episodes = read_lines(run / "transcripts.jsonl")
    formatter.plans = {each["transcript"]["answer"]: each["plan"] for each in episodes}
    for name, words in (("parser", []), ("model", by(formatter))):
        out = tmp_path / f"{name}.jsonl"
        assert main(["format", str(run), "--out", str(out), *words]) == 0
        assert plans(out) == [each["plan"] for each in episodes] and all(plans(out))
        judged = list(score_file(out, World.open(folder / "world"), "strict"))[:-1]
        assert [line["final"] for line in judged] == [each["verdict"]["final"] for each in episodes]


def test_a_run_of_another_domain_is_refused(tmp_path, refused):
    record = {"id": "e1", "domain": "deeptravel", "request": {}, "transcript": {}, "verdict": {}}
    write_lines(tmp_path / "transcripts.jsonl", [record])
    assert "Episode 'e1' is of domain deeptravel" in refused(
        f"format {tmp_path} --out {tmp_path}/out.jsonl"
    )
