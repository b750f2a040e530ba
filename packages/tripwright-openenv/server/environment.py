"""One client's episodes, one after the other: the tools, the limits and the judge are tripwright's,
the loop and the model are the client's."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from threading import Lock
from typing import Any
from uuid import uuid4

from openenv.core.env_server import mcp_types as mcp
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

from tripwright.bridges import OpenEpisode, task_set
from tripwright.errors import UserError, printable

SPLITS, TASKS = ("train", "validation", "test"), 1000  # of each
_making = Lock()
_made = lru_cache(4096)(lambda split, first, **how: task_set(split, 1, first=first, **how)[0])
TEXT = {"type": "string", "description": "The whole message."}
ANSWER = mcp.Tool(
    name="answer",
    description="Takes a message as it stands: the final answer, in the form that was asked for.",
    input_schema={"type": "object", "properties": {"text": TEXT}, "required": ["text"]},
)


class TripOpening(Observation):
    """What an episode begins with, in the forms of chat completions."""

    messages: list[dict[str, Any]]
    tool_schemas: list[dict[str, Any]]


class TripEnvironment(Environment[Action, Observation, State]):
    """What the model does wrong is answered. What is raised is an error at the client: EpisodeFault
    where our side fails, UserError for what cannot be played."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._episode: OpenEpisode | None = None
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "train",
        index: int | None = None,
        row: dict[str, Any] | None = None,
        **how: Any,
    ) -> TripOpening:
        """Row `index` of a split or, without it, the one that the seed draws, played as `how` says
        in the words of `task_set`. Or a row of the client's, which says all that itself."""
        if odd := how if row else how.keys() - {"dialect", "rules", "reward", "scale"}:
            known = "reset takes dialect, rules, reward, scale, or a row alone"
            raise UserError(f"{known}: found {', '.join(odd)}.")
        if row is None:
            number = random.Random(seed).randrange(TASKS) if index is None else index
            with _making:  # the rollouts of a group begin together
                row = _made(split, self.get_task(split, number)["index"], **how)
        self.close()
        self._episode = OpenEpisode(row)
        self._state = State(episode_id=episode_id or uuid4().hex, task=row.get("id"))
        return TripOpening(messages=self._episode.messages, tool_schemas=self._episode.tools)

    def step(self, action: Action, timeout_s: float | None = None, **_: Any) -> Observation:
        if isinstance(action, mcp.ListToolsAction) and self._episode is None:
            self.reset(index=0)  # a client may ask for the tools first
        if (episode := self._episode) is None:
            raise UserError("No episode is under way: reset comes first.")
        self._state.step_count += 1
        if not isinstance(action, mcp.CallToolAction):
            return mcp.ListToolsObservation(tools=[*map(_tool, episode.tools), ANSWER], reward=0.0)
        arguments, more = action.arguments, action.metadata
        if action.tool_name == ANSWER.name:
            text = arguments.get("text")
            shown = episode.answer(text if isinstance(text, str) else json.dumps(arguments))
        else:  # as the model wrote them, where the client says so
            written, said = more.get("arguments", arguments), str(more.get("said", ""))
            shown = episode.call(action.tool_name, written, said)
        called = printable(action.tool_name)  # halves of characters cannot be sent
        seen = mcp.CallToolObservation(tool_name=called, result=shown, reward=0.0)
        if episode.over:
            outcome = episode.outcome()
            seen.reward, seen.done, seen.metadata = outcome.pop("reward"), True, outcome
        return seen

    @property
    def state(self) -> State:
        return self._state

    def close(self) -> None:
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    # ---- which tasks there are (their rows hold a solution, and stay here)

    def list_splits(self) -> list[str]:
        return list(SPLITS)

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        if split not in SPLITS or not isinstance(index, int) or not 0 <= index < TASKS:
            raise IndexError(f"Tasks: {'|'.join(SPLITS)}, 0 to {TASKS - 1}; found {split} {index}.")
        return {"id": f"{split}-{index}", "split": split, "index": index}

    def get_task_range(self, split: str, start: Any = None, stop: Any = None) -> list[Any]:
        return [self.get_task(split, index) for index in range(TASKS)[start:stop]]

    list_tasks = get_task_range

    def num_tasks(self, split: str) -> int:
        return len(self.list_tasks(split))


def _tool(schema: dict[str, Any]) -> mcp.Tool:
    told = dict(schema["function"])
    return mcp.Tool(input_schema=told.pop("parameters"), **told)
