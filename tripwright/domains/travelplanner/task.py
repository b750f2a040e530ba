"""One trip of TravelPlanner's to plan in a closed world: the seven tools of Planner-R1 (row P1), a
plan judged by constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tripwright.domains.travelplanner.plan.formatter import Formatter
from tripwright.domains.travelplanner.plan.itinerary import FormattedPlan, parse_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_answer
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import RULES, judge
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, applicable_hard
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.episode import Asked, Episode, Session, WorldTask
from tripwright.errors import UserError
from tripwright.runs import UNJUDGED
from tripwright.tools.face import Face
from tripwright.transcript import Transcript
from tripwright.verdict import FORMAT, SCHEMA
from tripwright.world.store import World

NAME = "travelplanner"  # in the registry of domains
BUDGET_SPENT = "budget_spent"  # share of the budget that a plan spends, of plans that pass


def trip_query(session: Session) -> Query:
    """What a session asks, for policies that know TravelPlanner's requests alone."""
    request = session.task.request
    if not isinstance(request, Query):
        raise UserError(
            "This policy plans TravelPlanner's trips, found a request of another kind:"
            f" '{request.query[:80]}'."
        )
    return request


def check_tools(face: Face) -> None:
    """Raises UserError for a face that does not offer the searches."""
    if "search_flights" not in face.names:
        raise UserError(
            f"This policy plans with TravelPlanner's tools, which face '{face.name}' does not"
            " offer: choose another dialect."
        )


@dataclass(frozen=True)
class TripTask(WorldTask):
    """A record of one of its episodes holds the `plan`, in the official format, or null where none
    could be read, `read_by`: what read it, and of one that passes the measure BUDGET_SPENT. A
    `formatter` reads answers in words, in place of the parser of one printed layout (row S2); where
    it fails the episode is unscored."""

    id: str
    request: Query
    world: World
    rules: str = RULES[0]  # of `rules.evaluate`, which judge it
    formatter: Formatter | None = field(default=None, compare=False, repr=False)
    judged_at_once: int = 1

    domain = NAME

    def judged(self, transcript: Transcript, plan_format: str) -> Episode:
        read, by = FormattedPlan(None, f"no answer: {transcript.stop_reason}"), ""
        if transcript.answer is not None:
            read, by = self._read(transcript.answer, plan_format)
        more: dict[str, Any] = {"plan": read.plan, **({"read_by": by} if by else {})}
        if read.unscored:
            transcript.fault = read.problem
            return Episode(self, transcript, None, more)
        if (why := self.request.local_constraint.unread) is not None:
            transcript.fault = f"the request is not understood: {why}"
            return Episode(self, transcript, None, more | {UNJUDGED: True})
        verdict = judge(self.request, read.plan, self.world, self.rules, read.problem)
        cost_usd = verdict.details["total_cost"]
        if verdict.final and cost_usd is not None:
            more["measures"] = {BUDGET_SPENT: [cost_usd / self.request.budget, 1]}
        return Episode(self, transcript, verdict, more)

    def asked(self, transcript: Transcript) -> Asked:
        return {
            FORMAT: (SCHEMA,),
            "commonsense": COMMONSENSE_NAMES,
            "hard": applicable_hard(self.request),
        }

    def _read(self, answer: str, plan_format: str) -> tuple[FormattedPlan, str]:
        """What was read out of an answer, and by what. With `plan_format` "json" an itinerary in
        words is no plan."""
        city_of = city_lookup(self.world)
        parse = parse_answer(answer)
        if parse.days is not None:
            return FormattedPlan(to_official(parse.days, city_of)), "json"
        if plan_format == "json" or answer.startswith(("[", "{", "```json")):
            return FormattedPlan(None, parse.problem), "json"
        if self.formatter is not None:
            return self.formatter.read(self.request, answer, city_of), self.formatter.name
        return parse_itinerary(answer), "parser"
