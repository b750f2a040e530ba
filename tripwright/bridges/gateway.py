"""An episode through a trainer's proxy: the agent loop, the tools and the judge are ours, the model
is whatever OpenAI-compatible address the trainer gives to a rollout (docs/gateway.md). Where the
loop is the trainer's too, it holds an `OpenEpisode`.

Such proxies keep the tokens that were sampled, and find them again by the conversation, which only
grows (`converse`). No sampling setting is sent: they are the trainer's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import lru_cache
from threading import Lock, Thread
from typing import Any

from tripwright.agent.chat import EstimatedTokens
from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_named, domain_of
from tripwright.episode import close_session, open_session
from tripwright.errors import UserError, json_at, named, printable
from tripwright.evals.evaluate import open_place, open_tasks, read_requests, settled_rules
from tripwright.llm.client import ChatEndpoint, Completion, RequestedCall
from tripwright.policies.endpoint import converse, messages, notation, take
from tripwright.transcript import StopReason

OVER = "The episode is over: no call is made any more."
WAIT_S = 600.0  # for a turn; proxies hold requests while weights change
FIELDS = ("id", "query", "world", "seed", "request", "dialect", "rules", "reward")
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
    if not (isinstance(session, str) and session.isascii() and session.isprintable()):
        raise UserError(f"A session is a name in printable ASCII, found {printable(session)}.")
    headers = {"X-Session-ID": session}
    endpoint = ChatEndpoint(
        base_url, model, api_key=api_key, headers=headers, timeout_s=WAIT_S, max_retries=0
    )
    playing = Future[dict[str, Any]]()
    playing.set_running_or_notify_cancel()
    # of no executor: a process waits for its threads to end, and a fork for those it has not
    Thread(target=_play, args=(task, endpoint, playing), daemon=True).start()
    try:
        return await asyncio.wrap_future(playing)
    finally:  # a rollout that is cancelled asks nothing more
        endpoint.stop()


def _play(task: dict[str, Any], endpoint: ChatEndpoint, playing: Future[dict[str, Any]]) -> None:
    try:
        with closing(OpenEpisode(task)) as episode:
            converse(endpoint, episode.session)
            playing.set_result(episode.outcome())
    except BaseException as error:  # raised again by whoever waits
        playing.set_exception(error)


class OpenEpisode:
    """An episode whose loop is somebody else's: they ask the model, this answers its calls, keeps
    the dialect's limits and judges.

        episode = OpenEpisode(row)  # sent to the model: episode.messages, episode.tools
        while not episode.over:
            text = episode.call("search_flights", {"origin": "Boston", …})
        episode.answer("<answer>[…]</answer>")
        print(episode.outcome()["reward"])

    A call is a turn of its own. Everything that the model does wrong is answered in `text`, also a
    call that comes when the episode is over. Raises EpisodeFault where our side fails, UserError
    for a row that cannot be played. One thread at a time.
    """

    def __init__(self, task: dict[str, Any]):
        dialect, asked = _spoken(task)
        domain = domain_of(dialect)
        self._reward = named("reward", task.get("reward") or "success", domain.rewards)
        with ExitStack() as opened:
            place = opened.enter_context(open_place(world_of(task), domain))
            rules = settled_rules(dialect, task.get("rules"))
            (trip,) = open_tasks(asked, place, dialect, rules)
            self.session = open_session(trip, dialect)
            self.close = opened.pop_all().close  # of a world in a folder
        self.session.count_with(EstimatedTokens(dialect.schemas() or ()))
        how, schemas = notation(dialect, native_tools=True), self.session.tools.schemas
        self.messages = messages(self.session.transcript, how, schemas)  # system and user
        self.tools = schemas if how == "native" else []  # the others have them in the prompt

    @property
    def over(self) -> bool:
        return not self.session.goes_on()

    def call(self, name: str, arguments: Mapping[str, Any] | str, said: str = "") -> str:
        """What the model is shown. `arguments` as they were read or, better, as the model wrote
        them; `said` is what stands before the call in its message."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        shown = self._take(Completion(said, (RequestedCall("", name, text),), None, {}))
        return shown or self.session.tools.face.error(OVER, "over").text

    def answer(self, text: str) -> str:
        """Takes a message without a native call, most often the last one. What it returns answers
        it, where it was no answer but, say, a call in words; "" where nothing does."""
        return self._take(Completion(text, (), None, {}))

    def _take(self, said: Completion) -> str:
        if self.over:
            return ""
        try:
            take(self.session, said)
        except Exception as error:  # loops tell the model what was raised, and go on
            self.session.fail(f"{type(error).__name__}: {error}")
            raise
        if fault := self.session.transcript.fault:
            raise EpisodeFault(fault)
        last = self.session.transcript.segments[-1]
        return last.text if last.role == "tool" else ""

    def outcome(self) -> dict[str, Any]:
        """Judges the episode as it stands, in the form of `play_through`. One that was not over has
        had all the turns that it was given: it stops by "max_turns"."""
        transcript = self.session.transcript
        if not self.over:
            transcript.stop_reason = StopReason.MAX_TURNS
        episode = close_session(self.session)
        self.close()
        if not episode.scored:
            raise EpisodeFault(transcript.fault)
        worth = self._reward(episode)
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
    return _spoken(task)[0]


def _spoken(task: dict[str, Any]) -> tuple[Dialect, list[tuple[int, Any]]]:
    spoken, asked = read_requests([request_of(task)], task.get("dialect"))
    return replace(spoken, on_overflow="end", on_malformed="error"), asked


def request_of(task: dict[str, Any]) -> Any:
    if odd := [name for name in task if name not in FIELDS]:
        raise UserError(f"A task has no '{printable(odd[0])}'. Accepted: {', '.join(FIELDS)}.")
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
