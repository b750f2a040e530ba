"""How an expert plays, and what it says turn by turn, in the session's dialect: the face's names of
tools, as many pages of an answer as it takes to see what is chosen, and a plan as JSON or, after a
thought in every turn, as an itinerary in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.plan.itinerary import render_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import CityOf, to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.tools.face import Face
from tripwright.tools.signatures import PAGE
from tripwright.world.records import Flight
from tripwright.world.store import World

StyleName = Literal["direct", "spender", "comparing", "careful", "brief"]
Thoughts = Literal["none", "short", "long"]


@dataclass(frozen=True)
class ExpertStyle:
    """For STAR's cold-start data (row S4) and Planner-R1's schema (row P3).

    "direct" plays the oracle's plan, "spender" one with dearer places to stay, "comparing" one that
    comparisons and a sum lead to; they take no other setting. The others decide from answers alone,
    the same way for the same request and seed. `thoughts` are reasons in `<think>`; where a
    dialect asks for a thought in every turn, "none" says one word. `compared_cities` is how many
    cities beyond those asked for have their way there looked up first; `max_extra_searches` is how
    many searches, at most, compare further once a plan is found: only such as can lead to a cheaper
    one within that number.
    """

    name: StyleName = "direct"
    thoughts: Thoughts = "short"
    compared_cities: int = 0
    max_extra_searches: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.thoughts not in get_args(Thoughts):
            known = ", ".join(get_args(Thoughts))
            raise UserError(f"An expert's thoughts are {known}; found '{self.thoughts}'.")


DIRECT = ExpertStyle()
SPENDER = ExpertStyle("spender")
COMPARING = ExpertStyle("comparing")
CAREFUL = ExpertStyle("careful", "short", compared_cities=1, max_extra_searches=4)
BRIEF = ExpertStyle("brief", "none")
STYLES = {style.name: style for style in (DIRECT, SPENDER, COMPARING, CAREFUL, BRIEF)}


class Turns:
    """`note` is what the next turn says before its call: it is said once."""

    def __init__(self, dialect: Dialect):
        self.texts: list[str] = []
        self.note = ""
        self._dialect, self._face = dialect, dialect.face

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
            only_what_the_face_shows(day, self._face)
        self._say(answer_text(query, days, self._dialect.plan_format, city_lookup(world)))

    def _say(self, text: str) -> None:
        # STAR, Appendix E (row S1): a thought opens every turn
        if self._dialect.plan_format == "itinerary":
            self.note = f"<think>{self.note.strip() or 'Next.'}</think>\n"
        self.texts.append(self.note + text)
        self.note = ""

    def _pages(self, rows: list[Any], wanted_names: Sequence[str]) -> int:
        page_rows = self._dialect.page_rows
        if page_rows is None or not rows:
            return 1
        names = [
            row.number if isinstance(row, Flight) else row.name for row in self._face.in_order(rows)
        ]
        return 1 + max((names.index(name) for name in wanted_names), default=0) // page_rows


def answer_text(
    query: Query,
    days: list[dict[str, Any]],
    plan_format: str,
    city_of: CityOf | None = None,
) -> str:
    """A plan in Planner-R1's schema as the answer of a dialect."""
    if plan_format == "json":
        return f"<answer>{json.dumps(days, ensure_ascii=False, separators=(',', ':'))}</answer>"
    parse = parse_days(days)
    assert parse.days is not None, parse.problem
    return f"<answer>\n{render_itinerary(query, to_official(parse.days, city_of))}</answer>"


def only_what_the_face_shows(day: dict[str, Any], face: Face) -> None:
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
