"""`inspect eval tripwright/trips` and `inspect eval tripwright/played`: a query file in a world, and a run folder that exists already.

A file of travellers' requests is played the same way, with a dialect of DeepTravel's. What is kept open for live tools is closed when the
process ends, because a task of Inspect has no end of its own.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, cast

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # printed as one line; every other exception comes with a traceback
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig

from tripwright.agent.dialect import Dialect
from tripwright.bridges.inspect_ai.scorers import facts, final
from tripwright.bridges.inspect_ai.solvers import Recorded, Setup, episode, recorded
from tripwright.domains import dialect_named
from tripwright.domains.deeptravel.tools.live_source import live_source
from tripwright.domains.domain import PlaceOptions
from tripwright.domains.travelplanner.rules.evaluate import Rules, check_rules
from tripwright.errors import UserError
from tripwright.evals.choose import NAMES, Chosen, Settings, choose_policy
from tripwright.evals.jobs import errands, read_requests, read_tasks
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.evals.scoreboard import verified_by
from tripwright.runs import TRANSCRIPTS, Run, episode_lines
from tripwright.world.store import World

INSPECT = "inspect"  # the policy that is Inspect's own model
PLAYERS = (INSPECT, *(name for name in NAMES if name != "person"))  # the terminal is Inspect's
Arguments = ParamSpec("Arguments")


def _in_one_line(make: Callable[Arguments, Task]) -> Callable[Arguments, Task]:
    """A user's mistake as Inspect prints one."""

    @wraps(make)
    def made(*args: Arguments.args, **named: Arguments.kwargs) -> Task:
        try:
            return make(*args, **named)
        except UserError as error:
            raise PrerequisiteError(str(error)) from None

    return made


@task
@_in_one_line
def trips(
    queries: str,
    world: str | None = None,
    policy: str = INSPECT,
    dialect: str = "planner_r1",
    rules: str = "official",
    samples: int = 1,
    policy_model: str | None = None,
    base_url: str | None = None,
    temperature: float = 0.0,
    seed: int = 0,
    rows: int = 16,
    native_tools: bool = True,
    services: str | None = None,
    store: str | None = None,
    snapshot: str | None = None,
    replay: bool = False,
) -> Task:
    """Trip requests to plan with tools, judged as `tripwright run` judges them. `policy` "inspect" is the model of `--model`; the others
    are those of `tripwright run --policy`, with `policy_model` for its `--model`. The other parameters are that command's options."""
    check_rules(rules)
    spoken = dialect_named(dialect)
    chosen = _chosen(policy, spoken, Settings(policy_model, base_url, temperature, seed=seed, rows=rows, native_tools=native_tools))
    live = spoken.plan_format == "recommendations"
    if live:
        options = PlaceOptions(Path(world) if world else None, Path(services) if services else None, store, snapshot, replay)
        jobs, place, rules = _errands(Path(queries), options)
    elif services or store or snapshot or replay:
        raise UserError(f"services, store, snapshot and replay are of dialect 'deeptravel', found '{dialect}'.")
    elif world is None:
        raise UserError("Which world? Give its folder with -T world=DIR, as made by 'tripwright world build' or 'world import'.")
    else:
        jobs, place = _trips(Path(queries), World.open(world))
    identity, decoding = ({"kind": INSPECT}, {}) if chosen is None else (dict(chosen.identity), chosen.decoding)
    if policy == "local" and policy_model:
        identity["fingerprint"] = model_fingerprint(policy_model)
    card = run_card(identity, decoding, spoken, rules, Path(queries), place, samples)
    setup = Setup(
        {job.id: job for job in jobs},
        spoken,
        cast(Rules, "official" if live else rules),
        chosen.policy if chosen else None,
        chosen.chat if chosen else None,
        native_tools,
        samples,
    )
    return Task(
        dataset=MemoryDataset([_sample(job.id, job.record()) for job in jobs], name=Path(queries).stem),
        solver=episode(setup),
        scorer=[final(), facts()],
        epochs=samples,
        fail_on_error=False,  # a dead endpoint costs its samples, which --retry-on-error or eval-retry play again
        config=GenerateConfig(max_tokens=spoken.max_turn_tokens),
        metadata={"run_card": card},
    )


@task
@_in_one_line
def played(run: str) -> Task:
    """The episodes of a run folder, as they were played and judged: for the viewer, and for scores beside those of other tasks."""
    played_run = Run.at(Path(run))
    path = played_run.transcripts
    if not path.is_file():
        raise UserError(f"No run in '{run}': expected a folder with {TRANSCRIPTS}, as 'tripwright run --out {run}' makes it.")
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


def _chosen(name: str, dialect: Dialect, settings: Settings) -> Chosen | None:
    if name not in PLAYERS:
        raise UserError(f"Unknown policy '{name}'. The policies are {', '.join(PLAYERS)}.")
    if name != INSPECT:
        return choose_policy(name, settings, dialect)
    if settings.model or settings.base_url:
        raise UserError("Policy 'inspect' is the model of --model: leave policy_model and base_url out, or choose -T policy=endpoint.")
    return None


def _trips(queries: Path, world: World) -> tuple[Sequence[Task], Mapping[str, Any]]:
    return read_tasks(queries, world), {"name": world.name, "content_hash": world.content_hash}


def _errands(requests: Path, options: PlaceOptions) -> tuple[Sequence[Task], Mapping[str, Any], str]:
    found = read_requests(requests)  # before a store is made
    opened = ExitStack()
    live = opened.enter_context(live_source(options))
    atexit.register(opened.close)
    jobs = errands(found, live)
    return jobs, live.identity, verified_by(jobs[0].verifier.name)


def _played_sample(record: Mapping[str, Any]) -> Sample:
    return _sample(str(record["id"]), {name: record[name] for name in ("query", "request") if name in record})


def _sample(id: str, request: Mapping[str, Any]) -> Sample:
    """`request` under the key that says its kind."""
    asked = next(iter(request.values()))
    return Sample(input=asked["query"], id=id, metadata={"level": asked.get("level"), **request})
