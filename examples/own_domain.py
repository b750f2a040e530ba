"""The smallest domain of one's own, over worlds and tools that are there (docs/new-domain.md)."""

from dataclasses import dataclass, replace

from pydantic import BaseModel

import tripwright
from tripwright.domains import dialect_named
from tripwright.domains.domain import Player, Requests
from tripwright.episode import WorldTask
from tripwright.policies.base import ScriptedPolicy, ask
from tripwright.verdict import Group, facts_of, format_group


class Meal(BaseModel):
    query: str = "Where does one eat for the least?"
    city: str
    record = BaseModel.model_dump


@dataclass(frozen=True)
class MealTask(WorldTask):
    id: str
    request: Meal
    world: tripwright.World
    domain = "meals"

    def judged(self, transcript, plan_format):
        best = min(self.world.restaurants(self.request.city), key=lambda row: row.average_cost_usd)
        facts = facts_of(cheapest=(transcript.answer == best.name, f"{best.name} is cheaper."))
        groups = format_group(None), Group("price", ("cheapest",), facts)
        verdict = tripwright.Verdict("rules", groups, groups[1].passed)
        return tripwright.Episode(self, transcript, verdict)


def play_well(session: tripwright.Session) -> None:  # the cheapest row is the first
    rows = ask(session, "search_restaurants", city=session.task.request.city)
    session.say(f"<answer>{rows[0]['name']}</answer>")


face = replace(dialect_named("compact").face, name="meals")
dialect = tripwright.Dialect("meals", "Find the cheapest restaurant.", face)
kind, expert = Requests(Meal, "hand"), Player(lambda: ScriptedPolicy("expert", play_well))
players = {"expert": expert}
meals = tripwright.Domain(
    name="meals", title="meals", dialects=(dialect,), requests=kind, task=MealTask, players=players
)
tripwright.load_domain(meals)
world = tripwright.load_world("nano", seed=7)
requests = [Meal(city=city) for city in list(world.cities)[:3]]
print([episode.passed for episode in tripwright.play("expert", requests, world)])
print(tripwright.judge("At home", requests[0], world).group("price").facts["cheapest"].message)
