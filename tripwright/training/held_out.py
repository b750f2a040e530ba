"""Requests that no stage trains on, and how they are played: by `evals.run`, for examinations and
for validation while training alike."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.domains.judging import opened, rules_without_choice
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import dialect_entry, environment
from tripwright.files import json_object, write_atomically
from tripwright.inference.local import LocalPolicy
from tripwright.inference.sampling import Sampling
from tripwright.learning.trips import GeneratedTrips
from tripwright.policies.base import Policy
from tripwright.rewards.spec import terms
from tripwright.runs import SCORE, TRANSCRIPTS, episodes
from tripwright.statistics.rates import mean
from tripwright.tools.faults import Faults
from tripwright.training.data_source import file_hash, generator_fingerprint, requests_in
from tripwright.training.recipe import DENSE_REWARD, Recipe, describe_changes
from tripwright.verdict import Verdict

CONDITIONS = "conditions.json"


@dataclass(frozen=True)
class HeldOut:
    """`queries` and `world` are what a run card says of the requests and of what answers them;
    `origin` what two sets of requests must have in common to be the same."""

    tasks: Sequence[Task]
    queries: dict[str, Any]
    world: dict[str, Any]
    origin: dict[str, Any]


def held_out(recipe: Recipe, file: str | None, count: int, first_world: int) -> HeldOut:
    """All requests of `file` in the recipe's own place; without one `count` generated ones, in
    worlds from `first_world` on. Raises UserError where the file holds none that fit."""
    domain, data = recipe.domain, recipe.data
    if file is not None:
        place, requests = requests_in(recipe, file)
        identity = {"path": file, "sha256": file_hash(file)}
        tasks = [domain.task(f"q{line:06d}", request, place.source) for line, request in requests]
        same = {"file": identity["sha256"], "world": domain.same_place(place.identity)}
        return HeldOut(tasks, identity, place.identity, same)
    trips = GeneratedTrips(
        domain, (data.scale,), first_world, recipe.evaluation.per_world, recipe.mix
    )
    generated = [domain.task("", *trips.at(number)) for number in range(count)]
    queries = {
        "count": count,
        "first_world": generated[0].where,
        "last_world": generated[-1].where,
    }
    origin = {
        "queries": count,
        "per_world": recipe.evaluation.per_world,
        "scale": data.scale,
        "mix": dataclasses.asdict(recipe.mix),
        "generator": generator_fingerprint(domain.name, data.scale),
    }
    tasks = [task.renamed(f"{task.where}-{n:04d}") for n, task in enumerate(generated)]
    return HeldOut(tasks, queries, {"name": "generated, never trained on"}, origin)


def rules_of(recipe: Recipe) -> str:
    """The set of rules, or what a score says of a domain with one way to judge."""
    if recipe.domain.rules:
        return recipe.evaluation.rules
    return rules_without_choice(recipe.domain, recipe.judging)


def conditions(recipe: Recipe, requests: HeldOut) -> dict[str, Any]:
    """What two evaluations must have in common to be compared."""
    decoding = dataclasses.asdict(recipe.evaluation.decoding)
    settings = {"rules": rules_of(recipe), "decoding": decoding, **requests.origin}
    if recipe.evaluation.context_tokens is not None:
        settings["context_tokens"] = recipe.evaluation.context_tokens
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def settle(folder: Path, requests: HeldOut, now: dict[str, Any], refusal: str, advice: str) -> None:
    """Requests and conditions written down in `folder`; raises UserError ("`refusal`: what differs.
    `advice`") where others stand there."""
    path = folder / CONDITIONS
    if path.is_file() and (differing := describe_changes(json_object(path) or {}, now)):
        raise UserError(f"{refusal}: {differing}. {advice}")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(now, indent=2))
    lines = (
        json.dumps({"id": task.id, "world": task.where, **task.query.record()}) + "\n"
        for task in requests.tasks
    )
    write_atomically(folder / "queries.jsonl", "".join(lines))


def play_model(
    recipe: Recipe,
    requests: HeldOut,
    model: Any,
    chat: ChatFormat,
    folder: Path,
    identity: dict[str, Any],
    emptied_tools: bool = False,
    faults: Faults | None = None,
) -> dict[str, Any]:
    """The score of a model on these requests, decoded as the recipe's evaluations are. The dense
    reward is added to its metrics, last: a score without it is not finished."""
    settings = recipe.evaluation
    how = settings.decoding
    sampling = Sampling(
        how.temperature,
        settings.max_concurrent_rollouts,
        recipe.seed,
        recipe.sampling_dtype,
        1.0 if how.top_p is None else how.top_p,
        how.top_k,
    )
    policy = LocalPolicy(model, chat, sampling)
    score = play(recipe, requests, policy, folder, identity, chat, emptied_tools, faults)
    score["metrics"][DENSE_REWARD] = mean(
        [sum(parts.values()) for parts in reward_terms(folder).values()], seed=0
    )
    write_atomically(folder / SCORE, json.dumps(score, indent=2) + "\n")
    return score


def finished_score(folder: Path) -> dict[str, Any] | None:
    """Of a model's evaluation that came to its end."""
    score = json_object(folder / SCORE)
    return score if score is not None and DENSE_REWARD in score["metrics"] else None


def play(
    recipe: Recipe,
    requests: HeldOut,
    policy: Policy,
    folder: Path,
    identity: dict[str, Any],
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    faults: Faults | None = None,
) -> dict[str, Any]:
    """The score of one policy, in `folder`; resumable. What has no `chat` is a script, which
    samples nothing."""
    dialect, how = recipe.held_out_dialect, recipe.evaluation.decoding
    decoding: dict[str, Any] = {"temperature": how.temperature if chat is not None else 0.0}
    if decoding["temperature"] > 0:
        decoding |= {"seed": recipe.seed, "top_p": how.top_p, "top_k": how.top_k}
    card = {
        "policy": identity,
        "decoding": decoding,
        "rules": rules_of(recipe),
        "dialect": dialect_entry(dialect),
        "queries": requests.queries,
        "world": requests.world,
        "samples": 1,
        "emptied_tools": emptied_tools,
        **environment(dialect),
    }
    if recipe.judging is not None:
        card |= {"judging": recipe.judging.card()}
    folder.mkdir(parents=True, exist_ok=True)
    with opened(recipe.domain, recipe.judging, folder) as judged:
        return run_episodes(
            policy,
            map(judged, requests.tasks),
            folder,
            dialect,
            chat,
            rules_of(recipe),
            emptied_tools,
            card,
            progress=chat is not None,
            faults=faults,
        )


def reward_terms(evaluation: Path) -> dict[str, dict[str, float]]:
    """Episode id → the terms that add up to the dense reward; scored episodes only."""
    return {
        record["id"]: terms(Verdict.from_record(record["verdict"]))
        for record in episodes(evaluation / TRANSCRIPTS)
        if record["verdict"] is not None
    }
