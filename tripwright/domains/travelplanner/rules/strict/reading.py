"""How the strict rules read a plan: every day becomes typed things with the exact rows they mean,
or nothing at all.

The rules that follow only look at these things, so what cannot be read here cannot slip past one
rule and count for another: it has no city, no row and no price. A plan is written by whoever is
being judged; reading is linear in its length and never raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.plan.plan import FIELDS_AS_CHECKED, MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.strict.lookup import PlaceLookup, PlaceMention
from tripwright.domains.travelplanner.rules.strict.transport import (
    PlannedLeg,
    PlannedRoute,
    read_leg,
    route_of,
)
from tripwright.world.store import World

CITY = "current_city"
# in one day; nobody sees more, and reading a list of thousands would only cost time
MOST_SIGHTS = 24


@dataclass(slots=True)
class PlannedDay:
    """One day; `start` and `end` are its cities, equal on a day without travel, None where they
    cannot be read."""

    number: int
    raw: dict[str, Any] | None  # None: not even an object
    texts: dict[str, str]  # the fields that say something
    route: PlannedRoute
    start: str | None
    end: str | None
    travels: bool  # 'from X to X' is no travel, whatever it says
    leg: PlannedLeg | None
    meals: list[PlaceMention]
    sights: list[PlaceMention]
    more_sights: str  # what follows the first MOST_SIGHTS, not read
    stay: PlaceMention | None

    def places(self) -> list[PlaceMention]:
        return (
            [*self.meals, *self.sights, self.stay]
            if self.stay is not None
            else self.meals + self.sights
        )


def read_day(number: int, day: Any, query: Query, world: World, places: PlaceLookup) -> PlannedDay:
    raw = day if isinstance(day, dict) else None
    texts = _texts(raw) if raw is not None else {}
    route = route_of(texts.get(CITY, ""), world)
    date = query.date[number - 1] if number <= len(query.date) else None
    sights, more_sights = _pieces(texts["attraction"]) if "attraction" in texts else ([], "")
    return PlannedDay(
        number,
        raw,
        texts,
        route,
        route.origin,
        route.destination,
        route.is_leg and (route.origin is None or route.origin != route.destination),
        read_leg(texts["transportation"], date, world) if "transportation" in texts else None,
        [places.place("restaurant", meal, texts[meal]) for meal in MEALS if meal in texts],
        [places.place("attraction", "attraction", piece) for piece in sights],
        more_sights,
        places.place("accommodation", "accommodation", texts["accommodation"])
        if "accommodation" in texts
        else None,
    )


def _texts(day: dict[str, Any]) -> dict[str, str]:
    """'-', '' and what is no text say nothing. Blanks do say something: a place without a name."""
    return {
        field: text
        for field in FIELDS_AS_CHECKED
        if isinstance(text := day.get(field), str) and text not in ("-", "")
    }


def _pieces(text: str) -> tuple[list[str], str]:
    """'A, X;B, X;' → its pieces, the last one too if it does not end in ';'. A blank piece between
    two others is a place without a name."""
    pieces = text.split(";", MOST_SIGHTS)
    more = pieces.pop().strip() if len(pieces) > MOST_SIGHTS else ""
    if not pieces[-1].strip():
        pieces.pop()
    return pieces, more
