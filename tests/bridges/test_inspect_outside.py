"""Natural Plan and STAR's questions in Inspect, end to end: a tiny model behind an
OpenAI-compatible address, made-up data in the published formats, Inspect's own log, our run
folder."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "inspect_ai", reason="Inspect AI is an extra: pip install 'tripwright[inspect]'"
)

from inspect_ai import Task, eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, get_model

from tripwright.bridges.inspect_ai import natural_plan, star_search
from tripwright.cli.main import main
from tripwright.evals.outside.star_search import PROMPT

TRIP_PLAN = """Here is the trip plan for visiting the 2 European cities for 5 days:
**Day 1-3:** Visit Rome for 3 days.
**Day 3:** Fly from Rome to Oslo.
**Day 3-5:** Visit Oslo for 3 days."""


def trips(path: Path, *answers: str) -> Path:
    examples = {
        f"trip_planning_example_{number}": {
            "num_cities": str(2 + number % 2),
            "cities": "Rome**Oslo",
            "durations": "3**3",
            "prompt_0shot": "You plan to visit 2 European cities for 5 days in total.",
            "prompt_5shot": "You plan to visit 2 European cities for 5 days in total. SOLUTION:",
            "golden_plan": TRIP_PLAN,
            "pred_5shot_pro": answer,
        }
        for number, answer in enumerate(answers)
    }
    path.write_text(json.dumps(examples))
    return path


def evaluated(
    task: Task, tmp_path: Path, model: str | Model = "mockllm/model", **more: Any
) -> EvalLog:
    (log,) = eval(
        task, model=model, log_dir=str(tmp_path / "logs"), log_format="json", display="none", **more
    )
    assert log.status == "success" and log.results is not None
    return log


def accuracy(log: EvalLog, of: str = "all") -> float:
    assert log.results is not None
    return log.results.scores[0].metrics[of].value


def imported(log: EvalLog, out: Path) -> dict[str, Any]:
    words = ["outside", "import", str(log.location), "--harness", "inspect", "--out", str(out)]
    assert main(words) == 0
    score: dict[str, Any] = json.loads((out / "score.json").read_text())
    return score


@pytest.fixture
def endpoint(serve: Callable[..., str]) -> Callable[[Callable[[list[dict[str, str]]], str]], Model]:
    """endpoint(say) → an Inspect model at an address that answers by `say`."""

    def start(say: Callable[[list[dict[str, str]]], str]) -> Model:
        def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
            message = {"role": "assistant", "content": say(request["messages"])}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}
            body = {"id": "1", "object": "chat.completion", "created": 1, "model": request["model"]}
            return 200, json.dumps({**body, "choices": [choice], "usage": usage}).encode(), {}

        return get_model("openai-api/here/tiny", base_url=serve(answer), api_key="none")

    return start


def test_a_tiny_model_plays_natural_plan_to_the_end(
    endpoint: Callable[..., Model],
    tiny_model: Callable[..., Any],
    nano_tokenizer: Any,
    tmp_path: Path,
) -> None:
    torch = pytest.importorskip("torch")
    model = tiny_model("qwen3", len(nano_tokenizer), seed=1)

    def say(messages: list[dict[str, str]]) -> str:
        prompt = nano_tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )["input_ids"]
        with torch.no_grad():
            ids = model.generate(prompt, max_new_tokens=8, do_sample=False)
        return str(nano_tokenizer.decode(ids[0, prompt.shape[1] :]))

    task = natural_plan(str(trips(tmp_path / "trip.json", "", "", "")))
    log = evaluated(task, tmp_path, endpoint(say), epochs=2)
    assert accuracy(log) == 0.0
    score = imported(log, tmp_path / "run")
    final = score["metrics"]["final"]
    assert (score["n"], final["value"], final["low"]) == (6, 0.0, 0.0) and 0 < final["high"] < 1
    assert score["metrics"]["completion_tokens_mean"]["value"] == 8
    assert score["rules"] == "verified by inspect natural_plan_trip"
    assert main(["report", str(tmp_path / "run")]) == 0


def test_inspects_figures_are_the_imports(tmp_path: Path) -> None:
    """Answers that the file itself holds, as Gemini's in the published ones."""
    file = trips(tmp_path / "trip.json", TRIP_PLAN, "I cannot.", TRIP_PLAN, "Day " + "1" * 5000)
    log = evaluated(natural_plan(str(file), answers="pred_5shot_pro"), tmp_path)
    score = imported(log, tmp_path / "run")
    assert accuracy(log) == score["metrics"]["final"]["value"] == 0.5
    assert accuracy(log, "2 cities") == score["levels"]["2 cities"]["final"]["value"] == 1.0
    assert score["levels"]["3 cities"]["final"]["value"] == 0.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda examples: [], "is none of Natural Plan's files"),
        (lambda examples: {"a": {"x": 1}}, "is none of Natural Plan's files"),
        (lambda examples: {k: {**e, "prompt_5shot": 3} for k, e in examples.items()}, "a text"),
        (lambda examples: {k: {**e, "cities": "Rome"} for k, e in examples.items()}, "golden plan"),
    ],
)
def test_another_file_is_refused_before_anything_is_asked(
    change: Callable[[Any], Any], words: str, tmp_path: Path
) -> None:
    file = trips(tmp_path / "trip.json", TRIP_PLAN)
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(PrerequisiteError, match=words):
        natural_plan(str(file))


@pytest.fixture
def wikipedia(serve: Callable[..., str]) -> str:
    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        if "boom" in request["queries"][0]:
            return 500, b"ill", {}
        document = {"id": "1", "contents": '"Italy"\nThe capital of Italy is Rome.'}
        found = [{"document": document, "score": 1.0}]
        return 200, json.dumps({"result": [found]}).encode(), {}

    return serve(answer)


def test_stars_questions_are_searched_and_scored(
    endpoint: Callable[..., Model],
    wikipedia: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One finds the answer, one answers wrongly, one never answers, and one meets a dead server,
    which is no fault of the model's."""
    monkeypatch.setattr("tripwright.tools.toolbox.RETRIES_S", (0.0,))
    sent: list[list[dict[str, str]]] = []

    def say(messages: list[dict[str, str]]) -> str:
        sent.append(messages)
        question = messages[1]["content"]
        query = "boom" if "boom" in question else "capital of Italy"
        call = json.dumps({"name": "Search", "arguments": {"query": query}})
        if len(messages) == 2 or "endless" in question:
            return f"<think>I look it up.</think>\n<tool_call>\n{call}\n</tool_call>"
        answer = "Rome" if "Italy" in question else "Paris"
        return f"<think>It says so.</think>\n<answer>{answer}</answer>"

    questions = {
        "nq": ["capital of Italy", "capital of Spain"],
        "musique": ["an endless search", "boom"],
    }
    for name, texts in questions.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.jsonl").write_text(
            "".join(
                json.dumps({"id": f"t{n}", "question": text, "golden_answers": ["Rome"]}) + "\n"
                for n, text in enumerate(texts)
            )
        )
    log = evaluated(star_search(str(tmp_path), wikipedia), tmp_path, endpoint(say))
    samples = {str(sample.id): sample for sample in log.samples or []}
    system, user, *rest = max(sent, key=len)
    assert system["role"] == "system" and system["content"].startswith(PROMPT[:200])
    assert user == {"role": "user", "content": "an endless search?"}
    assert rest[1] == {
        "role": "user",
        "content": (
            '<tool_response>\nDoc 1(Title: "Italy") The capital of Italy is Rome.\n</tool_response>'
        ),
    }
    assert samples["musique/t0"].metadata["stop_reason"] == "max_calls"
    assert samples["musique/t1"].error is not None

    score = imported(log, tmp_path / "run")
    assert (score["n"], score["unscored"]) == (3, 1)
    assert math.isclose(score["metrics"]["final"]["value"], 1 / 3)
    assert score["metrics"]["mean_over_parts"]["value"] == 0.25  # (1/2 + 0) / 2
    assert score["levels"]["nq"]["final"]["k"] == 1


def test_what_is_no_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="'wiki' is not a URL"):
        star_search(str(tmp_path), "wiki")
