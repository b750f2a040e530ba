"""The stages that the official rules and STAR's variant of them share: what is looked at when, and
what a crash leaves.

First commonsense (all eight; a crash here leaves nothing), then, if the plan is complete and found
in the world, the five hard constraints (a crash here keeps the commonsense facts). Only what a plan
can cause is caught: a broken world file stays an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, Cost, PlanVerdict
from tripwright.domains.travelplanner.rules.lookup import Lookup
from tripwright.domains.travelplanner.rules.official.hard import total_usd, valid_cost
from tripwright.domains.travelplanner.rules.official.route import Days
from tripwright.verdict import Fact, Facts, Result
from tripwright.world.store import World

# Kinds of exception that a malformed plan or request raises in the official code and in STAR's.
PLAN_FAULTS = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)

SomeLookup = TypeVar("SomeLookup", bound=Lookup)


@dataclass(frozen=True)
class StagedRules(Generic[SomeLookup]):
    """`checks` and `wishes` run in their order, by name; `look_up` makes one plan's look-ups."""

    name: str
    look_up: Callable[[World], SomeLookup]
    checks: tuple[tuple[str, Callable[[Query, Days, SomeLookup], Result]], ...]
    wishes: tuple[tuple[str, Callable[[Query, Days, SomeLookup], Result]], ...]
    costs_of: Callable[[Query, Days, SomeLookup], Iterable[Cost]]

    def judge(self, query: Query, plan: list[Any] | None, world: World) -> PlanVerdict:
        """Facts about one plan in the official format. None and [] count as not delivered."""
        if not plan:
            return PlanVerdict.undelivered(self.name)
        lookup = self.look_up(world)
        try:
            days = plan[: query.days]
            checked = {
                name: Fact.of(name, check(query, days, lookup)) for name, check in self.checks
            }
        except PLAN_FAULTS as error:
            return PlanVerdict(self.name, True, None, None, None, type(error).__name__, False)
        facts = {name: checked[name] for name in COMMONSENSE_NAMES}
        if not (facts["is_not_absent"].passed and facts["is_valid_information_in_sandbox"].passed):
            return PlanVerdict(self.name, True, facts, None, None, None, False)
        try:
            hard_facts, costs = self._hard_facts(query, days, lookup)
        except PLAN_FAULTS as error:
            return PlanVerdict(self.name, True, facts, None, None, type(error).__name__, False)
        final = all(fact.passed for fact in facts.values()) and all(
            fact.passed is not False for fact in hard_facts.values()
        )
        return PlanVerdict(self.name, True, facts, hard_facts, total_usd(costs), None, final, costs)

    def _hard_facts(
        self, query: Query, days: Days, lookup: SomeLookup
    ) -> tuple[Facts, tuple[Cost, ...]]:
        facts = {name: Fact.of(name, check(query, days, lookup)) for name, check in self.wishes}
        costs = tuple(self.costs_of(query, days, lookup))
        facts["valid_cost"] = Fact.of("valid_cost", valid_cost(query, costs))
        return facts, costs
