"""What an expert says, turn by turn: notes, calls and the answer, in the session's dialect: the
face's names of tools, as many pages of an answer as it takes to see what is chosen, and a plan as
JSON or, after a thought in every turn, as an itinerary in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.plan.itinerary import render_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.tools.face import Face
from tripwright.tools.signatures import PAGE
from tripwright.world.records import Flight
from tripwright.world.store import World


class Turns:
    """`note` is what the next turn says before its call: it is said once."""

    def __init__(self, face: Face, plan_format: str, page_rows: int | None):
        self.texts: list[str] = []
        self.note = ""
        self._face, self._plan_format, self._page_rows = face, plan_format, page_rows

    def call(
        self, tool: str, rows: Sequence[Any] = (), names: Sequence[str] = (), **arguments: Any
    ) -> None:
        """A call by the core's names, and one for each further page up to the last that shows a
        row of `names`."""
        name, arguments_shown = self._face.offer.call_of(tool, arguments)
        for page in range(1, self._pages(list(rows), names) + 1):
            self._say(
                write_call(name, {**arguments_shown, PAGE: page} if page > 1 else arguments_shown)
            )

    def can(self, tool: str) -> bool:
        """Whether the face offers it, by the core's name."""
        return self._face.offer.core_name(self._face.offer.name_of(tool)) == tool

    def answer(self, query: Query, days: list[dict[str, Any]], world: World) -> None:
        for day in days:
            _only_what_the_face_shows(day, self._face)
        if self._plan_format == "itinerary":
            parse = parse_days(days)
            assert parse.days is not None, parse.problem
            self._say(
                f"<answer>\n{render_itinerary(query, to_official(parse.days, city_lookup(world)))}</answer>"  # noqa: E501
            )
        else:
            self._say(
                f"<answer>{json.dumps(days, ensure_ascii=False, separators=(',', ':'))}</answer>"
            )

    def _say(self, text: str) -> None:
        if (
            self._plan_format == "itinerary"
        ):  # STAR, Appendix E (row S1): a thought opens every turn
            self.note = f"<think>{self.note.strip() or 'Next.'}</think>\n"
        self.texts.append(self.note + text)
        self.note = ""

    def _pages(self, rows: list[Any], wanted_names: Sequence[str]) -> int:
        if self._page_rows is None or not rows:
            return 1
        names = [
            row.number if isinstance(row, Flight) else row.name for row in self._face.in_order(rows)
        ]
        return 1 + max((names.index(name) for name in wanted_names), default=0) // self._page_rows


def _only_what_the_face_shows(day: dict[str, Any], face: Face) -> None:
    """A plan repeats what was read: facts about a flight that this face does not show are left out,
    or '-' where Planner-R1's schema wants a value."""
    leg = day["transportation"]
    if isinstance(leg, dict) and leg["mode"] == "flight":
        fields = face.tables[Flight].fields
        if "distance_miles" not in fields:
            leg["distance"] = "-"
        for key in ("departure_time", "arrival_time"):
            if key not in fields:
                del leg[key]
