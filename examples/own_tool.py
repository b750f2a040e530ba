"""A tool of one's own beside those of a dialect, and a policy that uses it. What else a tool may
do, docs/tools.md says.

    python examples/own_tool.py
"""

from dataclasses import replace

import tripwright
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.policies.base import ScriptedPolicy, ask
from tripwright.world.records import Restaurant


class MoreTools(TravelTools):
    def find_restaurants(self, city: str, most_usd: int) -> list[Restaurant]:
        """Find the restaurants of a city that are cheap enough.

        Args:
            city: The city to eat in.
            most_usd: The most that a meal may cost a person, in US dollars.
        """
        rows = self.search_restaurants(city)
        return [row for row in rows if row.average_cost_usd <= most_usd]


def dine(session: tripwright.Session) -> None:
    for row in ask(session, "find_restaurants", city="Oraby", most_usd=25):
        print(row["name"], row["average_cost_usd"])
    session.say("<answer>[]</answer>")


compact = dialect_named("compact")
dialect = replace(compact, face=replace(compact.face, core=MoreTools, names=None))
world = tripwright.load_world("nano", seed=7)
requests = tripwright.load_domain("travelplanner").generator.draw(world, 1, 3)
(episode,) = tripwright.play(ScriptedPolicy("diner", dine), requests, world, dialect=dialect)
print(episode.transcript.calls[0].name, "was called; passed:", episode.passed)
