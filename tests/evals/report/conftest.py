"""Made-up run folders for the report's analyses: a few episodes whose figures can be counted by
hand. Test data, not measurements."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import verdict_record
from tests.files import write_lines
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES
from tripwright.statistics.rates import rate

REQUEST = "Plan two days from Northport to Ashford."
DAY = {
    "days": 1,
    "current_city": "from Northport to Ashford",
    "transportation": "Flight Number: F100, from Northport to Ashford, cost: 90",
    "breakfast": "-",
    "attraction": "Old Mill, Ashford;",
    "lunch": "Blue Door, Ashford",
    "dinner": "-",
    "accommodation": "Quiet Loft, Ashford",
}
ROWS = json.dumps({"rows": ["F100", "Old Mill", "Blue Door", "Quiet Loft"]})


def call(
    name: str,
    result: str = ROWS,
    *,
    error: bool = False,
    fault: str | None = None,
    **arguments: Any,
) -> list[dict[str, Any]]:
    """A turn with a call, and the tool's answer."""
    text = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    made = {"name": name, "arguments": arguments, "result": result, "error": error, "fault": fault}
    return [segment("assistant", text, 2, call=made), segment("tool", result, 1)]


def segment(role: str, text: str, tokens: int = 0, **fields: Any) -> dict[str, Any]:
    """Tokens of the agent carry loss."""
    ids, mask = list(range(1, tokens + 1)), [int(role == "assistant")] * tokens
    made = {"role": role, "text": text, "token_ids": ids, "loss_mask": mask}
    return made | {"call": None, "problem": None} | fields


def refused(text: str, problem: str) -> list[dict[str, Any]]:
    """A turn that got an error message and no end."""
    return [segment("assistant", text, 2, problem=problem), segment("tool", "refused")]


def turn(text: str = "<answer>[]</answer>") -> list[dict[str, Any]]:
    return [segment("assistant", text, 2)]


def episode(
    id: str,
    turns: list[list[dict[str, Any]]],
    *,
    passed: bool = True,
    stop: str = "answer",
    plan: Any = (DAY,),
    failed: tuple[str, ...] = (),
    scored: bool = True,
    **more: Any,
) -> dict[str, Any]:
    facts = {name: name not in failed for name in COMMONSENSE_NAMES}
    hard = {"valid_cost": "valid_cost" not in failed}
    verdict = verdict_record(passed, {"commonsense": facts, "hard": hard}, total_cost=90.0)
    asked = {"asked": {group["name"]: group["asked"] for group in verdict["groups"]}}
    segments = [segment("user", REQUEST), *(each for turn in turns for each in turn)]
    request = {"org": "Northport", "dest": "Ashford", "days": 2, "level": "easy"}
    request |= {"query": f"{REQUEST} {id}", "local_constraint": {}}
    transcript = {"segments": segments, "stop_reason": stop, "answer": None, "fault": None}
    return {
        "id": id,
        "domain": "travelplanner",
        "request": request,
        "world": "made-up",
        "transcript": transcript | {"usage": {}},
        "plan": None if plan is None else list(plan),
        **({"verdict": verdict} if scored else {"verdict": None, **asked}),
        **more,
    }


def write_evaluation(
    folder: Path, episodes: list[dict[str, Any]], *, rules: str = "strict", **card: Any
) -> Path:
    """RUN/eval/NAME with its transcripts, score and card."""
    folder.mkdir(parents=True)
    write_lines(folder / "transcripts.jsonl", episodes)
    passed = sum(bool(each["verdict"] and each["verdict"]["final"]) for each in episodes)
    metrics = {
        name: rate(passed, len(episodes)) for name in ("final", "schema", "commonsense_micro")
    }
    card = {
        "policy": {"kind": "expert"},
        "dialect": {"name": "compact", "face": "compact"},
        "rules": rules,
        **card,
    }
    (folder / "score.json").write_text(
        json.dumps({"n": len(episodes), "rules": rules, "metrics": metrics, "run_card": card})
    )
    return folder


def rl_rows(steps: int, best: float, flops: float = 1e12) -> list[dict[str, Any]]:
    """Passes rise evenly to `best`; each step costs as much."""
    return [
        {
            "stage": "rl", "step": step, "seconds": 10.0 * step, "reward_mean": 5 * best * step / steps, "pass_rate": best * step / steps,
            "flops_update_total": flops * step, "flops_total": 3 * flops * step, "peak_memory_mb": 900.0, "strict_gap": 0.1,
            "schema_rate": 1.0, "commonsense_micro": 0.5,
            "completion_tokens_mean": 400.0, "stopped_by_length": 0.0, "constraints": {"is_not_absent": 0.5},
        }
        for step in range(1, steps + 1)
    ]  # fmt: skip


@pytest.fixture
def make() -> "type[Make]":
    return Make


class Make:
    """The functions above, as tests get them."""

    call = staticmethod(call)
    refused = staticmethod(refused)
    turn = staticmethod(turn)
    episode = staticmethod(episode)
    evaluation = staticmethod(write_evaluation)
    rl_rows = staticmethod(rl_rows)
    day = DAY
    rows = ROWS
    request = REQUEST


def training_run(folder: Path) -> Path:
    """A training run with two checkpoints examined, a trained agent, and metrics."""
    found = [call("get_cities", state="S"), call("search_flights", origin="Northport"), turn()]
    lost = [
        call("search_flights", origin="Northport"),
        call("search_flights", "no such city", error=True, origin="Narnia"),
        turn("?"),
    ]
    failed: dict[str, Any] = {"passed": False, "stop": "max_turn_tokens", "plan": None}
    for name, passing in (("step-20", 2), ("step-40", 5), ("after_rl", 8)):
        lines = [episode(f"q{i}", found) for i in range(passing)]
        for i in range(passing, 10):
            lines.append(episode(f"q{i}", lost, failed=("valid_cost", "is_not_absent"), **failed))
        write_evaluation(folder / "eval" / name, lines)
    write_lines(folder / "metrics.jsonl", rl_rows(60, 0.8))
    return folder


@pytest.fixture(scope="module")
def made_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests that only read it."""
    return training_run(tmp_path_factory.mktemp("made") / "run")


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[[], Path]:
    return lambda: training_run(tmp_path / "run")
