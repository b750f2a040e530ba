"""What the expert knows at the end of an episode, before it writes its answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from tripwright.domains.deeptravel.expert.choice import Choice
from tripwright.domains.deeptravel.expert.observations import SeenRow
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.tools.answers import HotelOffer


@dataclass
class Findings:
    """`near`: the way from a hotel to the place it is to be near. `visits`: the way to a place.
    `places`: where a place lies. `total`: what the first choices cost the party, None where that is
    not known."""

    request: TravelRequest
    there: Choice = Choice()
    back: Choice | None = None
    stay: Choice = Choice()
    near: dict[str, SeenRow] = field(default_factory=dict)
    visits: dict[str, SeenRow] = field(default_factory=dict)
    places: dict[str, SeenRow] = field(default_factory=dict)
    total: float | None = None

    @property
    def over_budget(self) -> bool:
        """So far as the total is known."""
        budget = self.request.total_budget
        return budget is not None and self.total is not None and self.total > budget

    def km_away(self, hotel: HotelOffer) -> float | None:
        """From the place it is to be near; None where nobody has looked."""
        way = self.near.get(hotel.name)
        return way.record.distance_km if way else None
