"""An episode through a trainer's proxy: the agent loop, the tools and the judge are ours, the model
is whatever OpenAI-compatible address the trainer gives to a rollout (docs/gateway.md).

Such proxies keep the tokens that were sampled, and find them again by the conversation, which only
grows (`converse`). No sampling setting is sent: they are the trainer's.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from threading import Lock
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_named, domain_of
from tripwright.errors import UserError, json_at, named, printable
from tripwright.evals.evaluate import play, read_requests
from tripwright.llm.client import ChatEndpoint
from tripwright.policies.base import ScriptedPolicy
from tripwright.policies.endpoint import converse

WAIT_S = 600.0  # for a turn; proxies hold requests while weights change
_threads = ThreadPoolExecutor(1024, "play_through")  # one plays one episode
_making = Lock()  # of worlds: the rollouts of a group begin together
_made = lru_cache(16)(lambda domain, scale, seed: domain_named(domain).world(scale, seed))


class EpisodeFault(RuntimeError):
    """Our side failed (a dead proxy, a dead tool host): the episode has no verdict."""


async def play_through(
    task: dict[str, Any], *, base_url: str, api_key: str, model: str, session: str
) -> dict[str, Any]:
    """Plays a row of `task_set`, or one of yours, by the model behind a trainer's proxy.

        row = {"world": "worlds/real", "request": query}
        played = await play_through(row, base_url=url, api_key=key, model="default", session="r-17")
        print(played["reward"], played["passed"], played["stop"], played["metrics"])

    `world` is a folder or, with a `seed`, the scale of a generated one. `session` goes with every
    request as X-Session-ID. What the model does wrong is in the reward. Raises EpisodeFault where
    our side or the proxy fails, UserError for a row that cannot be played and for a proxy that
    refuses for good (a wrong key, an unknown model).
    """
    headers = {"X-Session-ID": session}
    endpoint = ChatEndpoint(
        base_url, model, api_key=api_key, headers=headers, timeout_s=WAIT_S, max_retries=0
    )
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(_threads, _played, task, endpoint)
    finally:  # a rollout that is cancelled asks nothing more
        endpoint.stop()


def _played(task: dict[str, Any], endpoint: ChatEndpoint) -> dict[str, Any]:
    dialect, world = dialect_of(task), world_of(task)
    reward = named("reward", task.get("reward") or "success", domain_of(dialect).rewards)
    policy = ScriptedPolicy(endpoint.model, partial(converse, endpoint))
    (episode,) = play(policy, [request_of(task)], world, dialect=dialect, rules=task.get("rules"))
    transcript = episode.transcript
    if not episode.scored:
        raise EpisodeFault(transcript.fault)
    worth = reward(episode)
    counts = {"turns": transcript.turns, "calls": len(transcript.calls), **transcript.usage}
    return {
        "reward": float(worth.total),
        "passed": episode.passed,
        "stop": str(transcript.stop_reason),
        "metrics": {name: float(value) for name, value in {**worth.parts, **counts}.items()},
    }


def dialect_of(task: dict[str, Any]) -> Dialect:
    """The row's, as it is played here: nothing leaves the context, and a turn that cannot be read
    is answered."""
    spoken, _ = read_requests([request_of(task)], task.get("dialect"))
    return replace(spoken, on_overflow="end", on_malformed="error")


def request_of(task: dict[str, Any]) -> Any:
    if absent := [name for name in ("world", "request") if not task.get(name)]:
        raise UserError(f"A task needs '{absent[0]}', found {', '.join(task) or 'nothing'}.")
    request = task["request"]
    return json_at(request.encode(), "'request'") if isinstance(request, str) else request


def world_of(task: dict[str, Any]) -> Any:
    """The row's: open where it is generated, else its folder."""
    if (seed := task.get("seed")) is None:
        return task["world"]
    if not hasattr(seed, "__index__"):
        raise UserError(f"The 'seed' of a task is a whole number, found {printable(seed)}.")
    with _making:
        return _made(domain_of(dialect_of(task)).name, task["world"], seed)
