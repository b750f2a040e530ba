"""Is everything there that a trip needs? The official check for absent information (row T3), bug
for bug: None and [] count as given."""

from __future__ import annotations

from typing import Any

from tripwright.domains.travelplanner.plan.plan import FIELDS_AS_CHECKED, MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import PASS, failed
from tripwright.domains.travelplanner.rules.lookup import Lookup
from tripwright.domains.travelplanner.rules.official.route import CITY, Days, wrong_city_count
from tripwright.domains.travelplanner.rules.text import filled
from tripwright.verdict import Result

UNUSED_DAY = "You don't need to fill in the information for this or later days."
# the order decides which one is said to be missing; the city is read before
FIELDS = FIELDS_AS_CHECKED[1:]


def is_not_absent(query: Query, days: Days, lookup: Lookup) -> Result:
    day_count = sum(1 for day in days if day != {} and day[CITY] != UNUSED_DAY)
    if day_count != query.days:
        return failed("Invalid Days", None, None, f"{day_count} days", f"{query.days} days")
    if wrong := wrong_city_count(query, days, lookup):
        return wrong
    entries = 0
    for number, day in enumerate(days, start=1):
        problem = _absent(day, number, query.days)
        if problem:
            return problem
        entries += sum(1 for value in day.values() if filled(value))
    if entries / (6 * query.days) < 0.5:
        found_share = f"{entries} of {6 * query.days} entries"
        return failed(
            "The absent information is more than 50%.",
            None,
            None,
            found_share,
            "half of the entries filled in",
        )
    return PASS


def _absent(day: Any, number: int, last: int) -> Result | None:
    """Only '' and '-' are absent here: None, [] and False pass."""
    for key in FIELDS:
        if key not in day:
            return failed(f"No {key.capitalize()} Info.", number, key, "", f"an entry '{key}'")
    city, absent = day[CITY], ("", "-")
    if ("from " in city or "to " in city) and day["transportation"] in absent:
        return failed(
            f"No transportation in day {number} is not allowed.",
            number,
            "transportation",
            "",
            "a way to travel",
        )
    if "from " not in city and " to " not in city and day["attraction"] in absent:
        return failed(
            f"No attaction in day {number} is not allowed.",
            number,
            "attraction",
            "",
            "something to see",
        )
    if number != last and day["accommodation"] in absent:
        return failed(
            f"No accommodation in day {number} is not allowed.",
            number,
            "accommodation",
            "",
            "a place for the night",
        )
    if "from " not in city:
        for meal in MEALS:
            if day[meal] in absent:
                return failed(
                    f"No meal in day {number} is not allowed.",
                    number,
                    meal,
                    "",
                    "three meals on a day without travel",
                )
    return None
