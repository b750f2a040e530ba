"""Policies without a mind, which measure how hard a set of queries is: take the first row of every
answer, or the cheapest.

They use the real tools and give well-formed plans of distinct meals, so that what they fail on is
what the query asks to be decided.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from tripwright.agent.session import Session
from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.expert.careful import check_tools
from tripwright.domains.travelplanner.task import trip_query
from tripwright.policies.base import say

PRICES = ("price_usd", "average_cost_usd", "cost_usd")


class RowsPolicy:
    """`pick` is "first" or "cheapest". Plans 3-day trips to one city; other queries get no
    answer."""

    def __init__(self, pick: Literal["first", "cheapest"]):
        self.name, self._pick = f"{pick}-row", pick

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            check_tools(session.tools.face)
            if trip_query(session).days == 3:
                self._plan(session)
            else:
                say(session, "Only 3-day trips.")
            yield session

    def _plan(self, session: Session) -> None:
        query = trip_query(session)
        legs = [
            self._leg(session, query.org, query.dest, query.date[0]),
            self._leg(session, query.dest, query.org, query.date[2]),
        ]
        stay, meals, sights = (
            [row["name"] for row in self._rows(session, tool, city=query.dest)]
            for tool in ("search_accommodations", "search_restaurants", "search_attractions")
        )
        if session.done:
            return
        day = {"transportation": "-", "attraction": "-", "accommodation": stay[0] if stay else "-"}
        no_meals = dict.fromkeys(("breakfast", "lunch", "dinner"), "-")
        three = dict(zip(no_meals, meals, strict=False))
        out, back = {"from": query.org, "to": query.dest}, {"from": query.dest, "to": query.org}
        plan = [
            {"days": 1, "city": out, **day, "transportation": legs[0], **no_meals},
            {
                "days": 2,
                "city": query.dest,
                **day,
                "attraction": sights[:1] or "-",
                **no_meals,
                **three,
            },
            {
                "days": 3,
                "city": back,
                **day,
                "transportation": legs[1],
                "accommodation": "-",
                **no_meals,
            },
        ]
        say(session, f"<answer>{json.dumps(plan)}</answer>")

    def _leg(self, session: Session, origin: str, destination: str, date: str) -> Any:
        query = trip_query(session)
        flights = self._rows(
            session, "search_flights", origin=origin, destination=destination, date=date
        )
        roads = self._rows(
            session,
            "search_ground_transportation",
            origin=origin,
            destination=destination,
            mode="self-driving",
        )
        choices = [(row["price_usd"] * query.party_size, "flight", row) for row in flights]
        choices += [
            (row["cost_usd"] * math.ceil(query.party_size / 5), "self-driving", row)
            for row in roads
        ]
        if not choices:
            return "-"
        _, mode, row = (
            min(choices, key=lambda choice: choice[0]) if self._pick == "cheapest" else choices[0]
        )
        distance = row.get("distance", row.get("distance_miles", "-"))
        leg = {
            "mode": mode,
            "from": origin,
            "to": destination,
            "duration": row["duration"],
            "distance": str(distance),
        }
        if mode == "flight":
            return {**leg, "cost": int(row["price_usd"]), "flight_number": row["number"]}
        return {**leg, "cost": int(row["cost_usd"])}

    def _rows(self, session: Session, tool: str, **arguments: str) -> list[dict[str, Any]]:
        """The rows of one answer, in the order that this policy prefers; none of an answer that was
        cut."""
        if session.done:
            return []
        say(session, write_call(*session.tools.face.offer.call_of(tool, arguments)))
        if session.done:  # a limit, or tools that cannot answer: nothing more is said
            return []
        answer = session.transcript.calls[-1].rows
        records = answer.records() if answer is not None and answer.is_whole else []
        if self._pick == "cheapest":
            records.sort(key=lambda row: next((row[price] for price in PRICES if price in row), 0))
        return records
