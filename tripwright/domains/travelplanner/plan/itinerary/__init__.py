"""Itineraries in words of one printed layout (row S2): a plan as a text for travellers, and such a
text as a plan.

`parse_itinerary` reads what `render_itinerary` writes and nothing else: what is written otherwise
is a problem that quotes the line and says what was expected. Free wordings are the formatter's
(`plan/formatter.py`), which asks a model.
"""

from tripwright.domains.travelplanner.plan.itinerary.reading import FormattedPlan, parse_itinerary
from tripwright.domains.travelplanner.plan.itinerary.writing import render_itinerary

__all__ = ["FormattedPlan", "parse_itinerary", "render_itinerary"]
