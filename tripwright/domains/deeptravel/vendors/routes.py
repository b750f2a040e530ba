"""What OSRM and Valhalla share: a way from a named place to another one, in minutes and
kilometres."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer, RouteLeg
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.domains.deeptravel.vendors.vendor import HttpVendor, said, utc_now, with_attribution
from tripwright.errors import UserError
from tripwright.world.geography import Position

MODES = ("driving", "walking", "cycling")


class RouteVendor(HttpVendor):
    """route_planning of row D1. `positions` finds the names; the answer carries its provider's
    attribution too."""

    tools: ClassVar[frozenset[str]] = frozenset(("route_planning",))
    public_urls: ClassVar[Mapping[str, str]]  # by mode

    def __init__(
        self,
        positions: Positions,
        *,
        base_url: str = "",
        mode: str = "driving",
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 20.0,
        now: Callable[[], datetime] = utc_now,
    ):
        if mode not in MODES:
            raise UserError(
                f"The mode of '{self.name}' is one of {', '.join(MODES)}: found '{mode}'."
            )
        super().__init__(
            base_url or self.public_urls[mode],
            contact=contact,
            terms=terms,
            timeout_s=timeout_s,
            now=now,
        )
        self.terms = with_attribution(self.terms, positions.places.terms)
        self.mode = mode
        self._positions = positions

    def settings(self) -> dict[str, object]:
        return {
            "mode": self.mode,
            "places": f"{self._positions.places.name} {self._positions.places.version}",
        }

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        city = said(arguments, "city_name")
        names = (said(arguments, "origin_name"), said(arguments, "destination_name"))
        for what, name in zip(("origin_name", "destination_name"), names, strict=True):
            refusal = self.refusal_of(name, what)
            if refusal is not None:
                return refusal
        ends: list[Position] = []
        for name in names:
            position = self._positions.of_place(name, city)
            if position is None:
                return self.result(
                    (),
                    f"No place named '{name}'{f' in {city}' if city else ''} is known.",
                    refused=True,
                )
            ends.append(position)
        way = self.way(ends[0], ends[1])
        if way is None:
            return self.result(
                (), f"There is no way ({self.mode}) from '{names[0]}' to '{names[1]}'."
            )
        seconds, kilometres = way
        return self.result(
            (RouteLeg(*names, city, self.mode, round(seconds / 60, 1), round(kilometres, 2)),)
        )

    @abstractmethod
    def way(self, origin: Position, destination: Position) -> tuple[float, float] | None:
        """(seconds, kilometres), or None where no road leads. Raises ProviderFault or Refused."""
