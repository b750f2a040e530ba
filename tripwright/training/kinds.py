"""The kinds of trips that can be trained on: how they are made from a world, who shows how to plan them, and what a cold start keeps.

A dialect says which kind it speaks: one whose answers are recommendations is about errands (DeepTravel), any other about TravelPlanner's
trips. Nothing else in training asks which kind it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Request, Session
from tripwright.domains.deeptravel.baselines import ErrandRows
from tripwright.domains.deeptravel.expert import ErrandExpert
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.file import read_requests
from tripwright.domains.deeptravel.requests.intents_draw import Places
from tripwright.domains.deeptravel.requests.intents_make import make_requests
from tripwright.domains.deeptravel.requests.intents_proof import Survey
from tripwright.domains.deeptravel.task import Errand, format_problem
from tripwright.domains.deeptravel.tools.live_source import LiveSource
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.travelplanner.baselines import RowsPolicy
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Task, close_session
from tripwright.learning.trips import Draw
from tripwright.policies.base import Policy
from tripwright.world.store import World

MOST_PROVIDERS = 8  # kept at hand; each holds its world, and training opens new worlds without end


@dataclass(frozen=True)
class Kind:
    """`draw` makes a way of drawing requests of a recipe's mix; `keeps` says whether an expert's session is fit to be imitated."""

    draw: Callable[[Mix | None], Draw]
    read: Callable[[str | Path], list[Any]]
    job: Callable[[str, Any, Any], Task]  # (id, request, its world or source of live answers)
    expert: Callable[[], Policy]
    yardsticks: Mapping[str, Callable[[], Policy]]  # what says how hard trips are: policies without a mind, and the expert
    keeps: Callable[[Session], bool]
    judges: str | None = None  # what judges in place of rules of plans
    with_every_turn: Callable[[Task], Task] | None = None  # the job with verdicts that hold the turns of failed trajectories, too

    def judged_by(self, rules: str) -> str:
        """What a score says of who judged, where the recipe asks for these rules."""
        return self.judges or rules

    def show(self, request: Request, place: Any, dialect: Dialect, chat: Any) -> Session:
        """The expert's session of one request; with a ChatFormat, as token ids whose loss mask covers the assistant's turns."""
        job = self.job("expert", request, place)
        session = Session(request, job.tools(dialect, False), dialect, chat, key=job)
        return next(iter(self.expert().play([session])))


def kind_of(dialect: Dialect) -> Kind:
    return ERRANDS if dialect.plan_format == "recommendations" else PLANNER


def expert_sessions(trips: Iterable[tuple[Any, Any]], dialect: Dialect, chat: Any) -> Iterator[Session]:
    """The expert's session of each (request, world); with a ChatFormat, as token ids."""
    return (kind_of(dialect).show(request, world, dialect, chat) for request, world in trips)


def _planner_job(id: str, request: Query, world: World) -> Task:
    return TripTask(id, request, world)


PLANNER = Kind(
    draw=lambda mix: partial(make_queries, mix=mix),
    read=read_queries,
    job=_planner_job,
    expert=ExpertPolicy,
    yardsticks={"first_row": lambda: RowsPolicy("first"), "cheapest_row": lambda: RowsPolicy("cheapest"), "expert": ExpertPolicy},
    keeps=lambda session: session.transcript.answer is not None,
)


def _errands_in(mix: Mix | None, world: World, count: int, seed: int) -> Iterator[TravelRequest]:
    """With and without wishes, easy, medium and hard by the mix's weights."""
    survey, places = Survey(_provider(world)), Places(tuple(world.cities), world.dates)
    made, _ = make_requests(survey, places, count, constraints="mixed", weights=(mix or Mix()).levels, seed=seed)
    return (found.request for found in made)


@lru_cache(maxsize=MOST_PROVIDERS)
def _provider(world: World) -> WorldProvider:
    """One for all trips of a world, since it remembers the maps of the cities it was asked about."""
    return WorldProvider(world)


def _errand(id: str, request: TravelRequest, place: World | LiveSource) -> Task:
    if isinstance(place, World):
        return Errand(id, request, _provider(place), place.name)
    return Errand(id, request, place.ask, place.where)


def _with_every_turn(job: Task) -> Task:
    return replace(job, every_turn=True) if isinstance(job, Errand) else job


def _verified(session: Session) -> bool:
    """Row D6: what the verifiers pass, in the strict format."""
    verdict = close_session(session).verdict
    return verdict is not None and verdict.final and format_problem(session.transcript) is None


ERRANDS = Kind(
    draw=lambda mix: partial(_errands_in, mix),
    read=read_requests,
    job=_errand,
    expert=ErrandExpert,
    yardsticks={"first_row": lambda: ErrandRows("first"), "cheapest_row": lambda: ErrandRows("cheapest"), "expert": ErrandExpert},
    keeps=_verified,
    judges=f"verified by {RuleVerifier.name}",
    with_every_turn=_with_every_turn,
)
