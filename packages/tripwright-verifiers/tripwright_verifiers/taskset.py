"""The tasks: rows of `tripwright.bridges.task_set`, judged by tripwright."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Literal, Self

import verifiers.v1 as vf
from pydantic import PositiveInt, model_validator

from tripwright.bridges import EpisodeFault, OpenEpisode, task_set
from tripwright.bridges.gateway import dialect_of
from tripwright.domains import domain_of
from tripwright.errors import UserError
from tripwright_verifiers.tools import TripState, TripTools, followed


class TripConfig(vf.TasksetConfig):
    split: Literal["train", "validation", "test"] = "train"
    """They share no world."""
    count: PositiveInt = 1000
    """How many tasks; four to a world."""
    scale: str = "nano"
    dialect: str | None = None
    """Prompt, tools and limits. Unset: planner_r1, of TravelPlanner; or deeptravel_cards, …"""
    rules: str | None = None
    """By which the judge goes. Unset: the strictest."""
    reward: str = "success"
    """1 where all passes, else 0; or dense, or another of the domain's."""
    tools: vf.SharedToolsetConfig = vf.SharedToolsetConfig()

    def rows(self, first: int, count: int) -> list[dict[str, Any]]:
        how = {"dialect": self.dialect, "rules": self.rules, "reward": self.reward}
        return task_set(self.split, count, first=first, scale=self.scale, **how)

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        self.rows(0, 0)
        return self


class TripData(vf.TaskData):
    row: dict[str, Any]


class TripTask(vf.Task[TripData, TripState]):
    async def setup(self, trace: vf.Trace) -> None:
        trace.state.id, trace.state.row = trace.id, json.dumps(self.data.row)
        episode, _ = await asyncio.to_thread(followed, trace.state)
        harness = trace.agent.config.harness  # none where tasks are validated
        if harness and "tripwright" not in harness.id and not episode.tools:
            raise UserError(f"{self.data.row['dialect']} calls in words: our own harness reads it")

    @vf.stop
    async def over(self, trace: vf.Trace) -> bool:
        return trace.state.over or bool(trace.state.fault)

    async def finalize(self, trace: vf.Trace) -> None:
        if trace.state.fault:  # unscored
            raise EpisodeFault(trace.state.fault)
        if "trip" not in trace.info:  # where our own harness leaves it
            trace.info["trip"] = await asyncio.to_thread(_judged, trace)

    @vf.reward
    async def verdict(self, trace: vf.Trace) -> float:
        return trace.info["trip"]["reward"]

    @vf.metric
    async def parts(self, trace: vf.Trace) -> dict[str, float]:
        return trace.info["trip"]["metrics"]

    async def validate(self, runtime: vf.Runtime) -> bool:
        return await asyncio.to_thread(_expert_passes, self.data.row)


class TripTaskset(vf.Taskset[TripTask, TripConfig]):
    @classmethod
    def toolsets(cls, config: TripConfig) -> list[vf.Toolset]:
        return [TripTools(config.tools)]

    def load(self) -> Iterator[TripTask]:
        config = self.config
        *system, _ = OpenEpisode(*config.rows(0, 1)).messages  # the same for every row
        told = system[0]["content"] if system else None
        for first in range(0, config.count, 4):  # of a world, when they are asked for
            for row in config.rows(first, min(4, config.count - first)):
                data = TripData(id=row["id"], row=row, prompt=row["query"], system_prompt=told)
                yield TripTask(data, config.task)


def _judged(trace: vf.Trace) -> dict[str, Any]:
    """By the calls that the server of tools got, and a last message without any."""
    said = trace.assistant_messages
    words = [("", trace.last_reply)] if said and not said[-1].tool_calls else []
    return followed(trace.state, *words)[0].outcome()


def _expert_passes(row: dict[str, Any]) -> bool:
    episode, domain = OpenEpisode(row), domain_of(dialect_of(row))
    next(iter(domain.expert().play([episode.session])))
    return episode.outcome()["passed"]
