"""The result files of other people's harnesses, read as answers with figures.

| harness | file | as written by |
|---|---|---|
| evalscope | `reviews/MODEL/BENCHMARK_SUBSET.jsonl` | 1.14.1, `ReviewResult` |
| inspect | a log in JSON (`--log-format json`) | inspect_ai 0.3.285, `EvalLog` |
| tau2 | `data/simulations/NAME/results.json` | 1.0.1, `Results` |

Figures are the harness's own; nothing is judged again. Which of them says that an answer passed:
evalscope's main score, the first score of Inspect's first scorer, tau2's reward; 1 is passed. What
a harness marks as a failure of its own side (a dead endpoint, a dead judge) is unscored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.errors import NotJson, UserError, read_json
from tripwright.files import json_lines
from tripwright.transcript import StopReason

Json = Mapping[str, Any]
DECODING = ("temperature", "top_p", "top_k", "max_tokens", "seed")


@dataclass(frozen=True)
class HarnessAnswer:
    """One answer as a harness scored it. `question` is equal for samples of the same question;
    `part` is the subset it belongs to, or how hard it is. `figures` by name, the one that decides
    first; empty where the harness's side failed, for which `fault` is the reason. `weights`: of a
    figure that is a share of several checks, how many. `tokens` were written by the model."""

    question: str
    part: str | None
    messages: tuple[tuple[str, str], ...]  # (role, text)
    figures: Mapping[str, float]
    weights: Mapping[str, int] = field(default_factory=dict)
    stop_reason: StopReason = StopReason.ANSWER
    fault: str | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class HarnessResult:
    benchmark: str
    model: str
    version: str | None
    decoding: Json
    answers: tuple[HarnessAnswer, ...]


def evalscope(path: Path) -> HarnessResult:
    """The benchmark's name is that of its report, which lies beside the reviews."""
    reports = path.parents[2].glob(f"reports/{path.parent.name}/*.json")
    names = [each.stem for each in reports if path.stem.startswith(f"{each.stem}_")]
    benchmark = max(names, key=len, default=path.stem)
    part = path.stem.removeprefix(benchmark).strip("_") or None
    answers = []
    for _, record in json_lines(path):
        sample = record["sample_score"]
        score, group = sample["score"], sample.get("group_id")
        values, main = score["value"], score.get("main_score_name")
        usable = score.get("status", "success") in ("success", "fallback", "degraded") and values
        first = {main: values[main]} if main in values else {}
        answers.append(
            HarnessAnswer(
                str(sample["sample_id"] if group is None else group),
                part,
                tuple(_messages(record.get("messages", ()))),
                _numbers({**first, **values}) if usable else {},
                (score.get("metadata") or {}).get("metric_weights", {}),
                fault=None if usable else f"evalscope: {score.get('status')}, no score",
            )
        )
    return HarnessResult(benchmark, path.parent.name, None, {}, tuple(answers))


_INSPECT_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_INSPECT_LIMITS = {
    "context": StopReason.CONTEXT_OVERFLOW,
    "token": StopReason.CONTEXT_OVERFLOW,
    "message": StopReason.MAX_TURNS,
}


def inspect(path: Path) -> HarnessResult:
    log = _object(path)
    run = log["eval"]
    settings = {**(log["plan"].get("config") or {}), **run.get("model_generate_config", {})}
    answers = []
    for sample in log["samples"]:
        figures = dict[str, float]()
        for name, score in (sample.get("scores") or {}).items():
            value = score["value"]
            parts = value if isinstance(value, dict) else {"": value}
            figures |= _numbers(
                {
                    f"{name}_{part}".rstrip("_"): _INSPECT_GRADES.get(each, each)
                    for part, each in parts.items()
                }
            )
        error = (sample.get("error") or {}).get("message")
        usage = (sample.get("model_usage") or {}).get(run["model"], {})
        level = sample.get("metadata", {}).get("level")
        answers.append(
            HarnessAnswer(
                str(sample["id"]),
                None if level is None else str(level),
                tuple(_messages(sample["messages"])),
                {} if error else figures,
                stop_reason=_INSPECT_LIMITS.get(
                    str((sample.get("limit") or {}).get("type")), StopReason.ANSWER
                ),
                fault=error or (None if figures else "Inspect gave no score"),
                tokens=usage.get("output_tokens"),
            )
        )
    version = run.get("packages", {}).get("inspect_ai")
    decoding = {name: settings[name] for name in DECODING if name in settings}
    return HarnessResult(run["task"], run["model"], version, decoding, tuple(answers))


_TAU2_STOPS = {
    "max_steps": StopReason.MAX_TURNS,
    "context_window_exceeded": StopReason.CONTEXT_OVERFLOW,
}


def tau2(path: Path) -> HarnessResult:
    """The customer is a model, and every score depends on which: it is part of the benchmark's
    name."""
    results = _object(path)
    info = results["info"]
    agent, user = info["agent_info"], info["user_info"]
    domain = info["environment_info"]["domain_name"]
    answers = []
    for run in results["simulations"]:
        reason, reward = str(run["termination_reason"]), run.get("reward_info")
        ours = reason == "infrastructure_error" or reward is None
        figures = (
            {} if ours else {"reward": reward["reward"], **(reward.get("reward_breakdown") or {})}
        )
        answers.append(
            HarnessAnswer(
                str(run["task_id"]),
                None,
                tuple(_messages(run.get("messages") or ())),
                _numbers(figures),
                stop_reason=_TAU2_STOPS.get(reason, StopReason.ANSWER),
                fault=f"tau2: {reason}" if ours else None,
            )
        )
    decoding = {**(agent.get("llm_args") or {}), "seed": info.get("seed")}
    return HarnessResult(
        f"tau2 {domain}, customer {user.get('llm')}",
        str(agent.get("llm")),
        info.get("git_commit"),
        {name: decoding[name] for name in DECODING if decoding.get(name) is not None},
        tuple(answers),
    )


HARNESSES: Mapping[str, Callable[[Path], HarnessResult]] = {
    "evalscope": evalscope,
    "inspect": inspect,
    "tau2": tau2,
}


def read_result(path: Path, harness: str) -> HarnessResult:
    """Raises UserError for what is no result of this harness, or an empty one."""
    expected = {
        "evalscope": "reviews/MODEL/BENCHMARK_SUBSET.jsonl",
        "inspect": "a log in JSON, from 'inspect eval … --log-format json' or 'log convert'",
        "tau2": "data/simulations/NAME/results.json with its simulations in it",
    }[harness]
    try:
        result = HARNESSES[harness](path)
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}.") from None
    except (
        NotJson,
        UnicodeDecodeError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
    ) as problem:
        why = f"it has no {problem}" if isinstance(problem, KeyError) else str(problem)
        raise UserError(
            f"'{path}' is no result of {harness}: {why}. Expected {expected}."
        ) from None
    if not result.answers:
        raise UserError(f"'{path}' holds no answers. Expected {expected}.")
    return result


def _object(path: Path) -> Any:
    return read_json(path.read_bytes())


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """What is a number, NaN (Inspect's "unscored") left out."""
    return {
        str(name): float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not math.isnan(value)
    }


def _messages(messages: Any) -> Iterator[tuple[str, str]]:
    """(role, text) of messages in the chat format, whose content may come in blocks; a turn's calls
    are written after its words."""
    for message in messages:
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "".join(
                block.get("text") or block.get("reasoning") or "" for block in content
            )
        for call in message.get("tool_calls") or ():
            named = call.get("function", call.get("name"))
            name = named.get("name") if isinstance(named, dict) else named
            arguments = call.get("arguments") if not isinstance(named, dict) else named["arguments"]
            content += f"\n{name}({arguments})"
        role = message["role"]
        yield (role if role in ("system", "assistant", "tool") else "user"), content.strip()
