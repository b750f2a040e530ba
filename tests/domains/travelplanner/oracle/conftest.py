"""What the oracle's tests share: a solution as the judge reads it."""

from collections.abc import Callable

import pytest

from tests.made import official
from tripwright.domains.travelplanner.oracle.planner import Solution
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.world.store import World


@pytest.fixture(scope="session")
def passes_at_its_cost() -> Callable[[Query, Solution, World], None]:
    """Asserts that official and strict rules accept the solution's plan, each at the solution's
    cost, which is made the budget."""

    def check(query: Query, solution: Solution, world: World) -> None:
        plan = official(query, solution, world)
        just_enough = query.model_copy(update={"budget": solution.cost_usd})
        for verdict in (
            judge(just_enough, plan, world, "official"),
            judge(just_enough, plan, world, "strict"),
        ):
            assert verdict.final, (query, verdict)
            assert verdict.details["total_cost"] == pytest.approx(solution.cost_usd), verdict.rules

    return check
