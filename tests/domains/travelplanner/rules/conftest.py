"""A world small enough to check by eye, and a plan in it that passes everything."""

import copy
from typing import Any

import pytest

from tests.made import flight, made_world, meal, sight, stay, trip
from tests.tools.conftest import rows
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.verdict import Verdict
from tripwright.world.store import World


@pytest.fixture(scope="session")
def world() -> World:
    return made_world(
        {"Homer": "Homeland", "Aston": "Westland", "Brook": "Westland", "Far": "Eastland"},
        flights=[
            flight("F1", "Homer", "Aston", 100),
            flight("F2", "Aston", "Homer", 120),
            flight("F2", "Far", "Homer", 7),
        ],
        roads=[
            ("Homer", "Aston", "2 hours", "1,099.9 km"),
            ("Aston", "Homer", "2 hours", "1,100 km"),
            ("Aston", "Homer", "2 hours", "5 km"),
            ("Aston", "Brook", "1 day 2 hours", "2,000 km"),
            ("Brook", "Aston", "", ""),
        ],
        meals=[
            *(meal(f"Grill {c}", "Aston", "American, Tea") for c in "ABCDEFG"),
            meal("Dal Palace", "Aston", "Indian", 20.5),
            meal("Home Cooking", "Homer", "French", 5),
        ],
        sights=[sight(name, "Aston") for name in ("Old Tower", "Lake", "Museum")],
        stays=[
            stay("Inn by the lake", "Aston", 100, "Entire home/apt", 2, "No smoking"),
            stay("Inn", "Aston", nights=3, rules="No pets & No parties", people=1),
            stay("Barn", "Aston", 10, "Shared room", rules="No visitors", people=9),
        ],
    )


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
def driven(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with a return for which this world has a row on that day."""
    there, stay, back = plan
    way = {"transportation": "Self-driving, from Homer to Aston"}
    way_back = {"transportation": "Self-driving, from Aston to Homer"}
    return [there | way, stay, back | way_back]


@pytest.fixture
def query() -> Query:
    return trip(people_number=3, budget=2000)


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
