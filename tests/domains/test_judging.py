"""A model that takes part in judging: STAR's formatter and DeepTravel's judge, in runs and in
training, alive and dead."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import completion
from tripwright.cli.main import main
from tripwright.domains import dialect_named, domain_named
from tripwright.domains.deeptravel.verifiers.findings import RUBRICS
from tripwright.domains.travelplanner.plan.itinerary import parse_itinerary
from tripwright.episode import closed, open_session
from tripwright.errors import UserError
from tripwright.runs import episodes
from tripwright.training.trips import GeneratedTrips, Trips

COUNT = 4


class Model:
    """An endpoint that formats itineraries as the parser reads them, and is satisfied with every
    answer of a traveller's request. `alive` False: it answers with 503."""

    def __init__(self, serve: Callable[..., str]):
        self.alive, self.requests, self.at_once, self.most_at_once = True, 0, 0, 0
        self._lock = threading.Lock()
        self.url = serve(self.answer)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        with self._lock:
            self.requests += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        threading.Event().wait(0.05)
        with self._lock:
            self.at_once -= 1
        if not self.alive:
            return 503, b"{}", {}
        text = self._format(request) if len(request["messages"]) == 1 else self._judge(request)
        return completion(text, usage={"prompt_tokens": 1000, "completion_tokens": 100})

    def _format(self, request: dict[str, Any]) -> str:
        _, _, text = request["messages"][0]["content"].partition("Planning text: ")
        days = parse_itinerary(text).plan or []
        return json.dumps([{**day, "day": day["days"]} for day in days])

    def _judge(self, request: dict[str, Any]) -> str:
        whole = "[Tool call" not in request["messages"][1]["content"]
        rubrics = dict.fromkeys(RUBRICS if whole else ("parameters", "reflects"), "met")
        conclusion = "very_satisfied" if whole else "satisfied"
        return json.dumps(
            {"reason": "so", "rubrics": rubrics, "problems": [], "conclusion": conclusion}
        )

    def settings(self, **more: Any) -> dict[str, Any]:
        return {"model": "m", "base_url": self.url, "retries": 0, **more}

    def file(self, folder: Path, **more: Any) -> str:
        path = folder / "judging.toml"
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in self.settings(**more).items())
        path.write_text("".join(lines))
        return str(path)


@pytest.fixture
def model(serve: Callable[..., str]) -> Model:
    return Model(serve)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    world = ["--world", str(place / "world")]
    make = ["world", "build", "--scale", "nano", "--seed", "7", "--out", str(place / "world")]
    assert main(make) == 0
    count = ["--count", str(COUNT), "--seed", "1"]
    assert main(["query", "make", *world, *count, "--out", str(place / "trips.jsonl")]) == 0
    assert main(["request", "make", *world, *count, "--out", str(place / "errands.jsonl")]) == 0
    return place


def run(place: Path, dialect: str, judging: str, out: Path) -> int:
    policy, requests = (
        ("errand-expert", "errands") if dialect.startswith("deeptravel") else ("expert", "trips")
    )
    words = ["run", "--policy", policy, "--dialect", dialect, "--quiet", "--rounds", "1"]
    words += ["--queries", str(place / f"{requests}.jsonl"), "--world", str(place / "world")]
    return main([*words, "--judging", judging, "--out", str(out)])


def score(out: Path) -> dict[str, Any]:
    return json.loads((out / "score.json").read_text())


def test_a_formatter_reads_answers_in_words_and_nothing_is_paid_for_twice(place, model, tmp_path):
    """Row S2. Which one read an answer stands on the episode."""
    file, out = model.file(tmp_path), tmp_path / "run"
    assert run(place, "star", file, out) == 0
    lines = list(episodes(out / "transcripts.jsonl"))
    assert [line["read_by"] for line in lines] == ["formatter:m"] * COUNT
    assert score(out)["metrics"]["final"]["k"] == COUNT == model.requests
    assert score(out)["run_card"]["judging"]["model"] == "m"
    (out / "transcripts.jsonl").unlink()
    (out / "run_card.json").unlink()
    assert run(place, "star", file, out) == 0 and model.requests == COUNT


def test_a_dead_formatter_leaves_episodes_unscored_and_the_same_command_goes_on(
    place, model, tmp_path
):
    model.alive, file, out = False, model.file(tmp_path), tmp_path / "run"
    assert run(place, "star", file, out) == 1
    assert (score(out)["unscored"], score(out)["n"]) == (COUNT, 0)
    lines = list(episodes(out / "transcripts.jsonl"))
    assert all("server_error" in line["transcript"]["fault"] for line in lines)
    model.alive = True
    assert run(place, "star", file, out) == 0
    assert score(out)["metrics"]["final"]["k"] == COUNT


def test_the_paper_s_markdown_is_judged_by_a_model_alone(place, model, tmp_path, capsys):
    """Rows D3, D4. Without one it is refused."""
    assert run(place, "deeptravel", model.file(tmp_path), tmp_path / "run") == 0
    assert score(tmp_path / "run")["rules"] == "verified by judge:m"
    assert score(tmp_path / "run")["metrics"]["final"]["k"] == COUNT
    assert run(place, "planner_r1", model.file(tmp_path), tmp_path / "json") == 2
    assert "answers in JSON, which no model need read" in capsys.readouterr().err


def test_judging_stops_when_it_has_cost_enough(place, model, tmp_path, capsys):
    """1,000 prompt tokens at 1,000 USD a million are a dollar; what is judged is kept."""
    limits = {"price_in": 1000.0, "price_out": 0.0, "concurrency": 1}
    out = tmp_path / "run"
    assert run(place, "star", model.file(tmp_path, max_cost_usd=2.0, **limits), out) == 1
    assert "max_cost_usd of 2: this has cost $2" in capsys.readouterr().err
    assert run(place, "star", model.file(tmp_path, max_cost_usd=9.0, **limits), out) == 0
    assert model.requests == COUNT


def test_training_s_trips_are_judged_by_the_model_several_at_once(model, tmp_path):
    """As RL closes the episodes of a step: the expert's answers of four trips."""
    domain, dialect = domain_named("travelplanner"), dialect_named("star")
    settings = domain.judge.settings(dialect, model.settings(concurrency=3), "recipe")
    with domain.judge.opened(settings, tmp_path) as judged:
        trips = Trips(domain, GeneratedTrips(domain, ("nano",), 0, 4), judged=judged)
        sessions = [open_session(next(trips), dialect) for _ in range(COUNT)]
        finished = list(closed(domain.expert().play(sessions)))
    assert {episode.task.id for episode in finished} == {f"train-{n}" for n in range(COUNT)}
    assert all(episode.passed for episode in finished)
    assert model.requests == COUNT and 1 < model.most_at_once <= 3


def test_a_recipe_has_the_table_that_its_domain_takes(tmp_path):
    pytest.importorskip("torch")
    from tripwright.training.recipe import load_recipe

    path, endpoint = tmp_path / "recipe.toml", 'model = "m"\nbase_url = "http://x/v1"\n'
    start = '[model]\npretrained = "x/y"\n[dialect]\nname = '
    path.write_text(f'{start}"star"\n[judging]\n{endpoint}')
    assert load_recipe(path).judging.temperature == 0.0
    path.write_text(f'{start}"deeptravel"\n[judging]\n{endpoint}votes = 3\n[grpo]\n')
    assert load_recipe(path).judging.votes == 3
    for text, why in (
        (f"[judging]\n{endpoint}", "answers in JSON"),
        (f'{start}"deeptravel"\n[grpo]\n', r"Name one in \[judging\]"),
        (f'{start}"star"\n[judging]\nmodel = "m"', "'base_url' is missing"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=why):
            load_recipe(path)
