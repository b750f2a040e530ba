"""A world small enough to check by eye, and a plan in it that passes everything."""

import copy
from typing import Any

import pytest

from tests.tools.conftest import rows
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.verdict import Verdict
from tripwright.world.records import WorldTables
from tripwright.world.store import World


def _flight(number: str, origin: str, destination: str, price_usd: str) -> tuple[str, ...]:
    times = ("08:00", "09:00", "1 hours 0 minutes", "2022-03-01")
    return (number, price_usd, *times, origin, destination, "106.0")


NO_SMOKING = ("No smoking", "2", "Aston")  # house rules, guests, city


@pytest.fixture(scope="session")
def world() -> World:
    return World.in_memory(
        WorldTables(
            cities=[
                ("Homer", "Homeland"),
                ("Aston", "Westland"),
                ("Brook", "Westland"),
                ("Far", "Eastland"),
            ],
            flights=[
                _flight("F1", "Homer", "Aston", "100"),
                _flight("F2", "Aston", "Homer", "120"),
                _flight("F2", "Far", "Homer", "7"),
            ],
            grounds=[
                ("Homer", "Aston", "2 hours", "1,099.9 km"),
                ("Aston", "Homer", "2 hours", "1,100 km"),
                ("Aston", "Homer", "2 hours", "5 km"),
                ("Aston", "Brook", "1 day 2 hours", "2,000 km"),
                ("Brook", "Aston", "", ""),
            ],
            restaurants=[
                *((f"Grill {c}", "Aston", "American, Tea", "10", "4.0") for c in "ABCDEFG"),
                ("Dal Palace", "Aston", "Indian", "20.5", "4.5"),
                ("Home Cooking", "Homer", "French", "5", "4.5"),
            ],
            attractions=[
                (name, "1", "2", "x", "1", "x", "Aston") for name in ("Old Tower", "Lake", "Museum")
            ],
            accommodations=[
                ("Inn by the lake", "Entire home/apt", "100.0", "2.0", "4.0", *NO_SMOKING),
                ("Inn", "Private room", "50.0", "3.0", "4.0", "No pets & No parties", "1", "Aston"),
                ("Barn", "Shared room", "10.0", "1.0", "4.0", "No visitors", "9", "Aston"),
            ],
        )
    )


_QUERY: dict[str, Any] = {
    "org": "Homer",
    "dest": "Aston",
    "days": 3,
    "visiting_city_number": 1,
    "date": ["2022-03-01", "2022-03-02", "2022-03-03"],
    "people_number": 3,
    "budget": 2000,
    "query": "?",
    "local_constraint": {},
}

FIELDS = "current_city transportation breakfast attraction lunch dinner accommodation".split()


def plan_in(text: str) -> list[dict[str, Any]]:
    """A plan in the official format, a day on each line."""
    days = enumerate(rows(text), 1)
    return [{"days": day, **dict(zip(FIELDS, row, strict=True))} for day, row in days]


_PLAN = plan_in("""
    from Homer to Aston | Flight Number: F1, from Homer to Aston, Departure Time: 08:00 | - | Lake, Aston; | - | Grill A, Aston | Inn by the lake, Aston
    Aston | - | Grill B, Aston | Old Tower, Aston;Museum, Aston; | Dal Palace, Aston | Grill C, Aston | Inn by the lake, Aston
    from Aston to Homer | Flight Number: F2, from Aston to Homer | Grill D, Aston | - | - | - | -
""")  # noqa: E501


@pytest.fixture
def plan() -> list[dict[str, Any]]:
    return copy.deepcopy(_PLAN)


@pytest.fixture
def query() -> Query:
    return Query.model_validate(_QUERY)


def changed(plan: list[dict[str, Any]], day: int, **change: Any) -> list[dict[str, Any]]:
    return [
        {**each, **change} if number == day else each for number, each in enumerate(plan, start=1)
    ]


def asking(query: Query, **wishes: Any) -> Query:
    return query.model_copy(update={"local_constraint": LocalConstraint.model_validate(wishes)})


def stated(verdict: Verdict) -> list[str]:
    """The hard constraints that the request states."""
    facts = verdict.group("hard").facts or {}
    return [name for name, fact in facts.items() if fact.passed is not None]
