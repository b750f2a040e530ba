"""`inspect eval tripwright/trips` and `inspect eval tripwright/played`: a query file in a world,
and a run folder that exists already, with our verdicts as Inspect scores.

The dialect says of which domain the requests are. What is kept open for live tools is closed when
the process ends, because a task of Inspect has no end of its own.

`final` says whether a sample passed, with every fact in words; `facts` says it constraint by
constraint. Its figures are `score_records`' own, from the records that the solver kept: the same
episodes have the same figures here and in a run folder's score.json. They count every epoch as a
sample of its query, so that intervals take whole queries, as there."""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # printed as one line, without a traceback
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from tripwright.agent.dialect import Dialect
from tripwright.bridges.inspect_ai.solvers import EPISODE, Recorded, Setup, episode, recorded
from tripwright.domains import dialect_named
from tripwright.domains.domain import PlaceOptions
from tripwright.errors import UserError
from tripwright.evals.choose import choose_policy, open_tasks, policy_names, settled_rules
from tripwright.evals.outcome import Outcome
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.evals.scoreboard import score_records
from tripwright.policies.settings import PolicyChoice, PolicySettings
from tripwright.runs import TRANSCRIPTS, Run, episode_lines
from tripwright.verdict import State, Verdict

_NO_EPISODE = (
    "no episode to judge: it did not end, because of a limit of Inspect's or because another solver"
    " played"
)


@metric(scores="unreduced")
def rates() -> Metric:
    """T4's rates, pass^k and means as score.json has them, each with the ends of its interval; the
    final pass rate by level."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        score = _score(scores)
        estimates = {
            **score["metrics"],
            **{
                f"final_{level}": metrics["final"]
                for level, metrics in score.get("levels", {}).items()
            },
        }
        return _numbers(estimates)

    return measure


@metric(scores="unreduced")
def constraints() -> Metric:
    """The share that passes each constraint among the episodes it applies to; these sum up to the
    micro rates."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        return {
            name: estimate["value"]
            for name, estimate in _score(scores)["constraints"].items()
            if estimate["value"] is not None
        }

    return measure


@scorer(metrics=[accuracy(), stderr()])
def final() -> Scorer:
    """Correct where every fact passes; the explanation names those that do not."""

    async def judge(state: TaskState, target: Target) -> Score:
        record = state.store.get(EPISODE)
        if record is None or record["verdict"] is None:
            return Score.unscored(reason="scoring_failed", explanation=_NO_EPISODE)
        transcript = record["transcript"]
        verdict = Verdict.from_record(record["verdict"])
        plan = record.get("plan")
        return Score(
            value=CORRECT if verdict.final else INCORRECT,
            answer=(
                json.dumps(plan, ensure_ascii=False) if plan is not None else transcript["answer"]
            ),
            explanation=explained(record),
            metadata={"stop_reason": transcript["stop_reason"], **verdict.details},
        )

    return judge


@scorer(metrics=[rates(), constraints()])
def facts() -> Scorer:
    """1 or 0 for every constraint that the episode is held to; what was not evaluated did not
    pass."""

    async def judge(state: TaskState, target: Target) -> Score:
        record = state.store.get(EPISODE)
        if record is None or record["verdict"] is None:
            return Score.unscored(reason="scoring_failed", explanation=_NO_EPISODE)
        outcome = Outcome.of(record)
        value: dict[str, str | int | float | bool | None] = {
            "delivered": int(outcome.delivered),
            "schema": int(outcome.schema_valid),
        }
        value |= {name: int(name in outcome.passed) for name in outcome.asked}
        return Score(
            value=value, explanation=explained(record), metadata={EPISODE: without_words(record)}
        )

    return judge


def explained(record: Mapping[str, Any]) -> str:
    """One line per fact that did not pass: its group, its name, its state and why."""
    verdict = Verdict.from_record(record["verdict"])
    lines = [f"Stopped by: {record['transcript']['stop_reason']}."]
    if verdict.schema_problem:
        lines.append(f"The answer cannot be read: {verdict.schema_problem}")
    if verdict.error:
        lines.append(f"The rules raised {verdict.error} on this answer.")
    for group in verdict.groups[1:]:
        if group.facts is None:
            lines.append(f"{group.name}: not looked at.")
            continue
        for fact in group.facts.values():
            if fact.state in (State.FAILED, State.NOT_EVALUATED):
                lines.append(
                    f"{group.name} {fact.name}: {fact.state.replace('_', ' ')}"
                    + (f". {fact.message}" if fact.message else ".")
                )
    return "\n".join([*lines, "Every fact passed."] if verdict.final else lines)


def without_words(record: Mapping[str, Any]) -> dict[str, Any]:
    """What `score_records` reads of a record. Words and tokens are in the sample already; of a
    turn's mask its sum is kept, the number of sampled tokens."""
    transcript = record["transcript"]
    segments = [
        {"role": segment["role"], "loss_mask": [sum(segment.get("loss_mask") or ())]}
        for segment in transcript["segments"]
    ]
    outcome = {name: transcript.get(name) for name in ("stop_reason", "fault", "usage")}
    return {**record, "transcript": {**outcome, "segments": segments}}


def _score(scores: list[SampleScore]) -> dict[str, Any]:
    records = [score.score.metadata[EPISODE] for score in scores if score.score.metadata]
    return score_records(records, "", {})


def _numbers(estimates: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Each value with its ends; what was not measured is left out."""
    numbers: dict[str, float] = {}
    for name, estimate in estimates.items():
        if estimate["value"] is not None:
            numbers |= {
                name: estimate["value"],
                f"{name}_low": estimate["low"],
                f"{name}_high": estimate["high"],
            }
    return numbers


INSPECT = "inspect"  # the policy that is Inspect's own model
Arguments = ParamSpec("Arguments")


def in_one_line(make: Callable[Arguments, Task]) -> Callable[Arguments, Task]:
    """A user's mistake as Inspect prints one."""

    @wraps(make)
    def made(*args: Arguments.args, **named: Arguments.kwargs) -> Task:
        try:
            return make(*args, **named)
        except UserError as error:
            raise PrerequisiteError(str(error)) from None

    return made


@task
@in_one_line
def trips(  # long: each option of the task is a parameter
    queries: str,
    world: str | None = None,
    policy: str = INSPECT,
    dialect: str = "planner_r1",
    rules: str | None = None,
    samples: int = 1,
    policy_model: str | None = None,
    base_url: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    temperature: float = 0.0,
    seed: int = 0,
    rows: int = 16,
    native_tools: bool = True,
    services: str | None = None,
    store: str | None = None,
    snapshot: str | None = None,
    replay: bool = False,
) -> Task:
    """Trip requests to plan with tools, judged as `tripwright run` judges them. `policy` "inspect"
    is the model of `--model`; the others are those of `tripwright run --policy`, with
    `policy_model` for its `--model`. The other parameters are that command's options."""
    spoken = dialect_named(dialect)
    judged_by = settled_rules(spoken, rules)
    chosen = _chosen(
        policy,
        spoken,
        PolicySettings(
            policy_model,
            base_url,
            api_key_env,
            temperature,
            seed=seed,
            rows=rows,
            native_tools=native_tools,
        ),
    )
    options = PlaceOptions(
        Path(world) if world else None,
        Path(services) if services else None,
        store,
        snapshot,
        replay,
    )
    opened = ExitStack()
    atexit.register(opened.close)
    tasks, place = open_tasks(Path(queries), spoken, options, opened)
    identity, decoding = (
        ({"kind": INSPECT}, {}) if chosen is None else (dict(chosen.identity), chosen.decoding)
    )
    if policy == "local" and policy_model:
        identity["fingerprint"] = model_fingerprint(policy_model)
    card = run_card(identity, decoding, spoken, judged_by, Path(queries), place.identity, samples)
    setup = Setup(
        {each.id: each for each in tasks},
        spoken,
        judged_by,
        chosen.policy if chosen else None,
        chosen.chat if chosen else None,
        native_tools,
        samples,
    )
    return Task(
        dataset=MemoryDataset(
            [_sample(each.id, each.domain, each.query.record()) for each in tasks],
            name=Path(queries).stem,
        ),
        solver=episode(setup),
        scorer=[final(), facts()],
        epochs=samples,
        # a dead endpoint costs its samples, which --retry-on-error or eval-retry play again
        fail_on_error=False,
        config=GenerateConfig(max_tokens=spoken.max_turn_tokens),
        metadata={"run_card": card},
    )


@task
@in_one_line
def played(run: str) -> Task:
    """The episodes of a run folder, as they were played and judged: for the viewer, and for scores
    beside those of other tasks."""
    played_run = Run.at(Path(run))
    path = played_run.transcripts
    if not path.is_file():
        raise UserError(
            f"No run in '{run}': expected a folder with {TRANSCRIPTS}, as 'tripwright run --out"
            f" {run}' makes it."
        )
    samples, places = [], {}
    for line in episode_lines(path):
        samples.append(line.read(_played_sample))
        places[str(samples[-1].id)] = line.place
    if not samples:
        raise UserError(f"No finished episode in '{path}'.")
    return Task(
        dataset=MemoryDataset(samples, name=played_run.folder.name),
        solver=recorded(Recorded(path, places)),
        scorer=[final(), facts()],
        fail_on_error=False,
        metadata={"run_card": dict(played_run.card) or None},
    )


def _chosen(name: str, dialect: Dialect, settings: PolicySettings) -> PolicyChoice | None:
    # the terminal is Inspect's
    players = (INSPECT, *(each for each in policy_names() if each != "person"))
    if name not in players:
        raise UserError(f"Unknown policy '{name}'. The policies are {', '.join(players)}.")
    if name != INSPECT:
        return choose_policy(name, settings, dialect)
    if settings.model or settings.base_url:
        raise UserError(
            "Policy 'inspect' is the model of --model: leave policy_model and base_url out, or"
            " choose -T policy=endpoint."
        )
    return None


def _played_sample(record: Mapping[str, Any]) -> Sample:
    return _sample(str(record["id"]), record["domain"], record["request"])


def _sample(id: str, domain: str, request: Mapping[str, Any]) -> Sample:
    return Sample(
        input=request["query"],
        id=id,
        metadata={"level": request.get("level"), "domain": domain, "request": dict(request)},
    )
