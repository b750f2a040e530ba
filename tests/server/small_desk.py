"""A desk for tests of the server: its form has one number, which picks a drawn request. As an app
it reads its settings from the environment: STATE, and SECONDS that each call takes."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from tripwright.domains import domain_named
from tripwright.domains.desk import (
    Desk,
    FieldProblem,
    FormField,
    FormProblems,
    PlanPart,
    Span,
    TripView,
    Understood,
)
from tripwright.domains.place import Place
from tripwright.episode import Session
from tripwright.server import TripServer
from tripwright.server.agency import Agency, Planner
from tripwright.server.trips import make_app
from tripwright.tools.toolbox import Tools

DOMAIN = domain_named("travelplanner")
WORLD = DOMAIN.generator.world("nano", 7)
REQUESTS = list(DOMAIN.generator.draw(WORLD, 4, 1))
PLACE = Place(WORLD, WORLD.name, {})


def request(values: Any, place: Place) -> Any:
    number = values.get("number")
    if not isinstance(number, int) or not 0 <= number < len(REQUESTS):
        problem = FieldProblem("number", f"No request {number!r}.", ("0", "3"))
        raise FormProblems((problem,))
    return REQUESTS[number]


def read(text: str, place: Place) -> Understood:
    return Understood({}, (Span(0, len(text), None),), {"number": "Which request?"})


def view(record: Any, place: Place) -> TripView:
    days = [
        PlanPart(f"day{day}", str(entry), None, "", ())
        for day, entry in enumerate(record["plan"] or [], start=1)
    ]
    return TripView("A trip", tuple(days), (), record["verdict"]["final"])


DESK = Desk(
    form=lambda place: (FormField("number", "Number", "count", required=True, low=0, high=3),),
    read=read,
    request=request,
    change=lambda text, values, view, comfort, place: read(text, place),
    view=view,
    no_plan=lambda asked, place: None,
    routes="tripwright.domains.travelplanner.routes.plan_routes",
)


@dataclass
class SlowExpert:
    """The expert with a pause before every call, so that a test can come between two."""

    seconds: float
    name: str = "slow"

    def play(self, sessions: Any) -> Iterator[Session]:
        def slowed(session: Session) -> Session:
            tools: Tools = session.tools
            call = tools.call

            def paused(*words: Any, **more: Any) -> Any:
                time.sleep(self.seconds)
                return call(*words, **more)

            tools.call = paused
            return session

        yield from DOMAIN.expert().play(map(slowed, sessions))


def agency(seconds: float = 0.0) -> Agency:
    dialect = DOMAIN.dialects[0]
    policy = (lambda: SlowExpert(seconds)) if seconds else DOMAIN.expert
    return Agency(DOMAIN, DESK, PLACE, {"expert": Planner("The expert", policy, dialect)})


def app() -> FastAPI:
    """Of a process that a test may kill."""
    seconds = float(os.environ.get("SECONDS_A_CALL", "0"))
    return make_app(agency(seconds), TripServer(state=Path(os.environ["STATE"])))
