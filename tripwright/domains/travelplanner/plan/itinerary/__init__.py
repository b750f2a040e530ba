"""Itineraries in natural language (row S2): a plan as a text for travellers, and such a text as a
plan.

`parse_itinerary` reads what `render_itinerary` writes and the layouts that row S's agents use. It
never guesses: what it cannot read is a problem that quotes the line.
"""

from tripwright.domains.travelplanner.plan.itinerary.reading import FormattedPlan, parse_itinerary
from tripwright.domains.travelplanner.plan.itinerary.writing import render_itinerary

__all__ = ["FormattedPlan", "parse_itinerary", "render_itinerary"]
