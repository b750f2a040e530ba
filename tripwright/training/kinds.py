"""The kinds of trips that can be trained on: how they are made from a world, who shows how to plan them, and what a cold start keeps.

A dialect says which kind it speaks: one whose answers are recommendations is about errands (DeepTravel), any other about TravelPlanner's
trips. Nothing else in training asks which kind it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.agent.policies.base import Policy
from tripwright.agent.policies.expert import ExpertPolicy
from tripwright.agent.policies.rows import RowsPolicy
from tripwright.agent.session import Request, Session
from tripwright.episode import Job, Task
from tripwright.queries.sample import Mix, make_queries
from tripwright.trip.query import Query, read_queries
from tripwright.world.store import World

Draw = Callable[[World, int, int], Iterator[Any]]  # (world, how many, seed) → requests


@dataclass(frozen=True)
class Kind:
    """`draw` makes a recipe's way of drawing of its mix; `keeps` says whether an expert's session is fit to be imitated."""

    draw: Callable[[Mix | None], Draw]
    read: Callable[[str | Path], list[Any]]
    job: Callable[[str, Any, World], Job]
    expert: Callable[[], Policy]
    yardsticks: Mapping[str, Callable[[], Policy]]  # what says how hard trips are: policies without a mind, and the expert
    keeps: Callable[[Session], bool]

    def show(self, request: Request, world: World, dialect: Dialect, chat: Any) -> Session:
        """The expert's session of one request; with a ChatFormat, as token ids whose loss mask covers the assistant's turns."""
        job = self.job("expert", request, world)
        session = Session(request, job.tools(dialect, False), dialect, chat, key=job)
        return next(iter(self.expert().play([session])))


def _planner_job(id: str, request: Query, world: World) -> Job:
    return Task(id, request, world)


PLANNER = Kind(
    draw=lambda mix: partial(make_queries, mix=mix),
    read=read_queries,
    job=_planner_job,
    expert=ExpertPolicy,
    yardsticks={"first_row": lambda: RowsPolicy("first"), "cheapest_row": lambda: RowsPolicy("cheapest"), "expert": ExpertPolicy},
    keeps=lambda session: session.transcript.answer is not None,
)


def kind_of(dialect: Dialect) -> Kind:
    return PLANNER
