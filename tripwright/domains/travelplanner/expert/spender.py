"""Style "spender": the expert of somebody who never looks at a price.

Everything is as in style "direct", but in each city a place to stay is drawn from all that fit the
wishes and hold the party, whatever it costs. So a part of its plans breaks the budget, and whoever
imitates it does the same; a reward can teach what it does not show (docs/log.md, 2026-11-26).
"""

from __future__ import annotations

import random
from dataclasses import replace

from tripwright.domains.travelplanner.expert.direct import expert_solution
from tripwright.domains.travelplanner.oracle.options import stays
from tripwright.domains.travelplanner.oracle.planner import CityChoice, Solution
from tripwright.domains.travelplanner.query import Query
from tripwright.world.store import World


def spender_solution(query: Query, world: World) -> Solution:
    """The same request, the same choices. What they cost together nobody adds up: None."""
    solution = expert_solution(query, world)
    if solution.cost_usd is None or solution.cost_usd > query.budget:
        return solution
    draw = random.Random(query.query)

    def drawn(stop: CityChoice) -> CityChoice:
        fitting = (each for each in stays(query, world, stop.city) if each.fits(stop.nights))
        return replace(stop, stay=draw.choice([e for e in fitting if e.rooms <= stop.stay.rooms]))

    return replace(solution, cost_usd=None, cities=tuple(map(drawn, solution.cities)))
