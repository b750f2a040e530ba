"""DeepTravel as a domain: what the registry knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Annotated

from annotated_types import Ge

from tripwright.domains.deeptravel.baselines import HABIT_OF, errand_rows
from tripwright.domains.deeptravel.cards import page_of
from tripwright.domains.deeptravel.desk import CHECKS, DESK, world_at
from tripwright.domains.deeptravel.dialects import DIALECTS
from tripwright.domains.deeptravel.expert.play import ErrandExpert
from tripwright.domains.deeptravel.place import LiveSource, open_place
from tripwright.domains.deeptravel.request import LABELS, MADE_BY, TravelRequest
from tripwright.domains.deeptravel.requests.intents import Proof, TripSurvey, prove, request_key
from tripwright.domains.deeptravel.requests.make import LEVELS, RequestScope, make_requests
from tripwright.domains.deeptravel.rewards import REWARDS
from tripwright.domains.deeptravel.task import (
    COUNTERPARTS,
    GROUNDINGS,
    NAME,
    Errand,
    figures,
    unjudged,
)
from tripwright.domains.deeptravel.verifiers.findings import RUBRICS
from tripwright.domains.deeptravel.verifiers.judge import JudgeSettings, judging
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.domain import Domain, Generator, Player, ReportHooks, Requests
from tripwright.domains.judging import Judge, JudgingModel
from tripwright.domains.place import Place
from tripwright.episode import Session, Task, close_session
from tripwright.errors import UserError
from tripwright.verdict import verified_by
from tripwright.world.generator import load_world, names_of_world
from tripwright.world.scales import SCALES
from tripwright.world.store import World

Weight = Annotated[int, Ge(0)]
PLAIN_SHARE = 0.03  # of the requests that are drawn in generated worlds
MOST_PROVIDERS = 8  # kept at hand; each holds its world, and training opens new worlds without end


@dataclass(frozen=True)
class LevelMix:
    """Weights of easy, medium and hard requests."""

    levels: tuple[Weight, Weight, Weight] = (4, 3, 3)

    def __post_init__(self) -> None:
        if not any(self.levels):
            raise UserError(f"a mix needs a level with weight, found levels {self.levels}.")


def _draw(
    world: World, count: int, seed: int, mix: LevelMix | None = None
) -> Iterator[TravelRequest]:
    """Easy, medium and hard by the mix's weights, nearly all with wishes: one without is met by
    nearly any row, and teaches no choosing. Drawn as for tiny models, whose rows do not say which
    offer is an entire home; what cannot be met where rows say it is drawn anew."""
    make = partial(
        make_requests, places=RequestScope.of(world), constraints="mixed", plain_share=PLAIN_SHARE
    )
    tiny, full = (TripSurvey(_provider(world), homes=homes) for homes in ("many", "large"))
    made, _ = make(tiny, count=count, weights=(mix or LevelMix()).levels, seed=seed)
    requests = [proven.request for proven in made]
    for number, request in enumerate(requests):
        if not isinstance(prove(request, full), Proof):
            weights = [level == request.level for level in LEVELS]
            known, dice = frozenset(map(request_key, requests)), -(seed * count + number + 1)
            ((other, _),), _ = make(full, count=1, weights=weights, seed=dice, excluded=known)
            requests[number] = other.model_copy(update={"id": request.id})
    return iter(requests)


@lru_cache(maxsize=MOST_PROVIDERS)
def _provider(world: World) -> WorldProvider:
    """One for all trips of a world, since it remembers the maps of the cities it was asked
    about."""
    return WorldProvider(world)


def _task(id: str, request: TravelRequest, source: World | LiveSource) -> Task:
    if isinstance(source, World):
        return Errand(id, request, _provider(source), source.name)
    return Errand(id, request, source.ask, source.where)


def _closed(source: World | LiveSource) -> World | None:
    """The world that answers, where one does."""
    return source if isinstance(source, World) else getattr(source.ask, "world", None)


def _wishes(place: Place) -> Iterator[TravelRequest]:
    provider = world_at(place)
    return _draw(provider.world, 6, 1) if provider is not None else iter(())


def _world_names(source: World | LiveSource) -> set[str]:
    if (world := _closed(source)) is None:
        raise UserError(
            "A new model's tokenizer is made with the names of a closed world, and live services"
            " tell none: give model.pretrained."
        )
    return names_of_world(world)


def _stranger(request: TravelRequest, place: Place) -> str | None:
    """A closed world knows nothing of other places and days."""
    if (world := _closed(place.source)) is None:
        return None
    if request.origin not in world.cities:
        return f"'{request.origin}' is no city of world '{world.name}': is it the right world?"
    days = world.dates
    if days and not days[0] <= request.depart_date <= days[-1]:
        return (
            f"the world's days are {days[0]} to {days[-1]}; the trip leaves on"
            f" {request.depart_date}."
        )
    return None


def _verified(session: Session) -> bool:
    """Row D6: what the verifiers pass; an answer outside the contract never does."""
    return close_session(session).passed


def _every_turn(task: Task) -> Task:
    return replace(task, every_turn=True) if isinstance(task, Errand) else task


_BASELINES = {  # policy → its name in an examination
    "errand-first-row": "first_row",
    "errand-cheapest": "cheapest_row",
    "errand-in-time": "in_time",
}

DOMAIN = Domain(
    name=NAME,
    title="travellers' requests",
    dialects=DIALECTS,
    requests=Requests(TravelRequest, MADE_BY, refusal=_stranger),
    task=_task,
    open=open_place,
    players={
        "errand-expert": Player(ErrandExpert, keeps=_verified),
        **{
            name: Player(partial(errand_rows, name), baseline=_BASELINES.get(name))
            for name in HABIT_OF
        },
    },
    rewards=REWARDS,
    judge=Judge(
        name=verified_by(RuleVerifier.name),
        versions={verified_by(RuleVerifier.name): 2},
        facts={"trajectory": RUBRICS, "turns": ()},
        model=JudgingModel(JudgeSettings, judging),
        refusal=unjudged,
        ungated={"turns": _every_turn},
        figures=figures,
    ),
    generator=Generator(
        world=load_world, draw=_draw, mix=LevelMix, scales=SCALES, names=_world_names
    ),
    report=ReportHooks(
        titles=CHECKS,
        labels=LABELS,
        page=lambda record: page_of(record["transcript"].get("answer") or ""),
        ungrounded=GROUNDINGS,
        counterparts=COUNTERPARTS,
    ),
    desk=replace(DESK, wishes=_wishes),
    live="tripwright.domains.deeptravel.routes.live_answers",
)
