"""`tripwright examine`: a trained run on unseen trips, with its controls, alone and against
another."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.files import write_lines
from tests.training.rollout_server import LyingServer
from tripwright.agent.chat import ChatFormat
from tripwright.cli import examine
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.episode import open_session
from tripwright.errors import UserError
from tripwright.evals.report.folder import ReportedRun
from tripwright.evals.report.sections import metrics_section
from tripwright.inference.local import load_model
from tripwright.llm.endpoint import Pace
from tripwright.runs import episodes
from tripwright.statistics.rates import rate
from tripwright.training import held_out, stages
from tripwright.training.recipe import DialectSettings, ValidationSettings
from tripwright.training.run_folder import RunFolder
from tripwright.training.served import server_at
from tripwright.world.generator import build_tables
from tripwright.world.store import write_world

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def recipe(tiny_recipe: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = dataclasses.replace(tiny_recipe, copy_pretraining=None)
    monkeypatch.setattr("tripwright.training.recipe.load_recipe", lambda path, changes=(): found)
    monkeypatch.setattr(examine, "recipe_file", lambda path: path)
    return found


@pytest.fixture
def trained(recipe: Any, tmp_path: Path) -> Path:
    run = RunFolder(tmp_path / "run", recipe)
    stages.make(run)
    stages.take(run, "sft")
    return run.folder


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between attempts."""
    monkeypatch.setattr(Pace, "sleep", lambda pace, seconds: True)


def test_every_finished_stage_is_examined_and_nothing_twice(recipe, trained, capsys, monkeypatch):
    examine.examine(Path("tiny.toml"), trained)
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("strict", "expert", "after_sft"))
    assert "after_rl" not in printed
    assert json.loads((trained / "eval/after_sft/score.json").read_text())["rules"] == "strict"

    stages.take(RunFolder(trained, recipe), "rl")
    held = list[str]()
    play = held_out.run_episodes

    def noted(*args: Any, **more: Any) -> Any:
        held.append(args[2].name)
        return play(*args, **more)

    monkeypatch.setattr(held_out, "run_episodes", noted)
    examine.examine(Path("tiny.toml"), trained)
    printed = capsys.readouterr().out
    assert held == ["after_rl", "emptied_tools"]
    assert "RL against the cold start" in printed
    assert json.loads((trained / "comparison.json").read_text())["final"]["n"] == 4


def test_without_a_model_nothing_is_made(recipe, tmp_path):
    with pytest.raises(UserError, match="No run folder at"):
        examine.examine(Path("tiny.toml"), tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no trained model"):
        examine.examine(Path("tiny.toml"), tmp_path / "empty")
    assert not (tmp_path / "nowhere").exists()


def test_other_conditions_are_refused(recipe, trained, tmp_path, monkeypatch, capsys):
    examine.examine(Path("tiny.toml"), trained)
    evaluation = dataclasses.replace(recipe.evaluation, rules="official")
    official = dataclasses.replace(recipe, evaluation=evaluation)
    monkeypatch.setattr("tripwright.training.recipe.load_recipe", lambda path, changes=(): official)
    with pytest.raises(UserError, match="under other conditions: rules: strict -> official. Put"):
        examine.examine(Path("tiny.toml"), trained)


def test_requests_without_levels_and_an_evaluation_without_scores(recipe, tmp_path, monkeypatch):
    final = {"final": rate(0, 0)}
    none: dict[str, Any] = {"metrics": final, "parties": {"2": final}}
    monkeypatch.setattr(held_out.HeldOut, "play", lambda *args: none)
    run = RunFolder(tmp_path / "run", recipe)
    held_out.measure_difficulty(run)
    assert json.loads((run.folder / "difficulty.json").read_text())["levels"]["expert"] == {}


def test_a_model_is_examined_with_the_prompt_that_it_is_trained_on(recipe, tmp_path):
    """Dialect planner_r1 shows its tools through the chat template: a prompt without their schemas
    is another prompt."""
    shape = dataclasses.replace(recipe.model.shape, positions=8192)
    dialect = DialectSettings("planner_r1", max_turns=1, max_turn_tokens=8, context_tokens=8192)
    model = dataclasses.replace(recipe.model, shape=shape)
    official = dataclasses.replace(recipe, dialect=dialect, model=model)
    run = RunFolder(tmp_path / "run", official)
    stages.make(run)
    model, tokenizer = load_model(run.model("start"))
    tokenizer.chat_template = Path("tests/tokens/templates/qwen3.jinja").read_text()
    run.save("sft", model, tokenizer)
    exam = held_out.requests_of_exam(official, 4)
    held_out.evaluate(run, exam, run.model("sft"), "after_sft")
    chat = ChatFormat(tokenizer, official.dialect.dialect().schemas())
    trained = open_session(exam.tasks[0], official.dialect.dialect(), chat)
    examined = next(episodes(run.folder / "eval/after_sft/transcripts.jsonl"))
    opening = examined["transcript"]["segments"][0]["token_ids"]
    assert '"search_flights"' in tokenizer.decode(opening)
    assert opening == trained.transcript.segments[0].token_ids


@pytest.mark.parametrize("dialect", ["star", "planner_r1"])
def test_a_recipe_with_requests_of_its_own_is_examined_in_its_own_place(
    dialect, recipe, tmp_path, capsys
):
    world = write_world(tmp_path / "world", build_tables("nano", 5))
    files = {}
    for name, seed in (("train", 1), ("exam", 2)):
        queries = (query.record() for query in make_queries(world, 3, seed))
        files[name] = write_lines(tmp_path / f"{name}.jsonl", queries)
    data = dataclasses.replace(recipe.data, world=str(world.folder), queries=str(files["train"]))
    spoken = DialectSettings(dialect, max_turn_tokens=8, context_tokens=8192)
    shape = dataclasses.replace(recipe.model.shape, positions=8192)
    model = dataclasses.replace(recipe.model, shape=shape)
    own = dataclasses.replace(recipe, data=data, dialect=spoken, model=model)
    run = RunFolder(tmp_path / "run", own)
    stages.make(run)
    shutil.copytree(run.model("start"), run.model("rl"))
    with pytest.raises(UserError, match="name the exam's with eval"):
        held_out.examine(own, run.folder)
    settings = dataclasses.replace(own.evaluation, file=str(files["exam"]))
    figures = held_out.examine(dataclasses.replace(own, evaluation=settings), run.folder)
    assert figures["final"]["after_rl"]["n"] == 3 and figures["final"]["expert"]["k"] == 3
    card = json.loads((run.folder / "eval/after_rl/run_card.json").read_text())
    assert card["world"]["content_hash"] == world.content_hash
    assert card["queries"]["path"] == str(files["exam"])


def test_a_server_that_has_the_model_plays_it_as_it_is_played_here(at_once, recipe, trained):
    """Greedy, in fp32: the same tokens. The server says which stage it has."""

    def said() -> list[list[int]]:
        records = episodes(trained / "eval/after_sft/transcripts.jsonl")
        played = sorted((record["id"], record["transcript"]["segments"]) for record in records)
        return [part["token_ids"] for _, parts in played for part in parts]

    stages.take(RunFolder(trained, recipe), "rl")
    held_out.examine(recipe, trained)
    here, compared = said(), (trained / "comparison.json").read_text()
    (trained / "eval/after_sft/score.json").unlink()  # else it was examined
    model, tokenizer = load_model(trained / "model/sft", weights=torch.float32)
    server = LyingServer(model, tokenizer, trained)
    try:
        server.api.name = "elsewhere/model/sft"
        with pytest.raises(UserError, match=r"--base-url: that server has 'elsewhere/model/sft'"):
            held_out.examine(recipe, trained, base_url=server.url)
        server.api.name = "run/model/sft"
        figures = held_out.examine(recipe, trained, base_url=f"{server.url}/v1")
    finally:
        server.stop()
    assert here == said() and sum(map(len, here)) > 100
    card = json.loads((trained / "eval/after_sft/run_card.json").read_text())
    assert (card["policy"]["stage"], card["policy"]["server"]) == ("sft", "SGLang")
    assert "after_sft" in figures["final"] and "emptied_tools" not in figures["final"]
    assert figures["comparisons"] and compared == (trained / "comparison.json").read_text()
    with pytest.raises(UserError, match="cannot be reached"):
        held_out.examine(recipe, trained, base_url=server.url)


def test_the_exam_asks_nothing_that_chose_the_checkpoint(recipe, trained, tmp_path):
    world = write_world(tmp_path / "world", build_tables("nano", 5))
    queries, files = [query.record() for query in make_queries(world, 4, 1)], {}
    for name, part in (("chosen", queries[:3]), ("apart", queries[3:]), ("exam", queries[2:])):
        files[name] = str(write_lines(tmp_path / f"{name}.jsonl", part))
    data = dataclasses.replace(recipe.data, world=str(world.folder), queries=files["apart"])
    validation = ValidationSettings(every=2, file=files["chosen"])
    own = dataclasses.replace(recipe, data=data, validation=validation)
    for name, both in (("chosen", "3 of the exam's 3"), ("exam", "1 of the exam's 2")):
        exam = dataclasses.replace(own.evaluation, file=files[name])
        with pytest.raises(UserError, match=f"{both} requests .* choose the checkpoint, too"):
            held_out.examine(dataclasses.replace(own, evaluation=exam), trained)
    exam = dataclasses.replace(own.evaluation, file=files["apart"])
    held_out.check_apart(dataclasses.replace(own, evaluation=exam))


def test_the_server_of_a_finished_model_is_shown_no_token(at_once, tmp_path, monkeypatch):
    """It may be anybody's; the token is for changing weights."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="answers at"):
        server_at("http://127.0.0.1:9", 64)
    assert not list(tmp_path.iterdir())  # none was made


def test_the_floor_of_a_reward_is_measured_and_reported(recipe, trained):
    stages.take(RunFolder(trained, recipe), "rl")
    assert "floor" not in held_out.examine(recipe, trained)["final"]
    floor = json.loads((trained / "difficulty.json").read_text())["floor"]
    assert list(floor) == ["fixed_plan", "meal_at_home"]
    home = floor["meal_at_home"]["metrics"]
    assert home["commonsense_micro"]["value"] == 0.5 == home["dense_reward"]["value"]
    earned = [of["metrics"]["dense_reward"]["value"] for of in floor.values()]
    assert 0.5 <= max(earned) < 5
    run = ReportedRun(trained)
    assert {row["reward_floor"] for row in run.rl} == {max(earned)}
    (table,) = metrics_section(run.exam).parts
    assert {"Floor: fixed plan", "Floor: meal at home"} <= {cell.text for cell in table.head}
