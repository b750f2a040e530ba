"""Distinct meals for one city or several, as cheap as the restaurants seen allow, that serve every
wanted cuisine somewhere."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tripwright.domains.travelplanner.expert.observations import Row

MealRows = tuple[Row, ...]
Menus = dict[
    int, tuple[float, MealRows]
]  # cuisines served, as bits → (cost per person, restaurants)


def menus(rows: Sequence[Row], cuisines: Sequence[str], least: int, most: int) -> Menus:
    """For every set of wanted cuisines, the cheapest `least` to `most` of these restaurants that
    serve it."""
    cheapest = sorted(rows, key=_cost)
    masks = [
        sum(1 << i for i, cuisine in enumerate(cuisines) if cuisine in row["cuisines"])
        for row in cheapest
    ]
    best: dict[tuple[int, int], tuple[float, MealRows]] = {(0, 0): (0.0, ())}
    for index, row in enumerate(cheapest):
        # of those that serve nothing wanted, only the cheapest can matter
        if index >= most and not masks[index]:
            continue
        for (count, served), (cost, meals) in list(best.items()):
            key, total = (count + 1, served | masks[index]), cost + _cost(row)
            if count < most and (key not in best or total < best[key][0]):
                best[key] = total, (*meals, row)
    menus_by_mask: Menus = {}
    for (count, served), (cost, meals) in best.items():
        if count >= least and (served not in menus_by_mask or cost < menus_by_mask[served][0]):
            menus_by_mask[served] = cost, meals
    return menus_by_mask


def cheapest_together(
    cities: Sequence[Menus], cuisines: Sequence[str]
) -> tuple[float, tuple[MealRows, ...]] | None:
    """One menu a city that serve everything wanted between them, with the cost per person; None
    where that cannot be."""
    together: dict[int, tuple[float, tuple[MealRows, ...]]] = {0: (0.0, ())}
    for menu in cities:
        merged: dict[int, tuple[float, tuple[MealRows, ...]]] = {}
        for (served, (cost, meals)), (here, (more, row)) in itertools.product(
            together.items(), menu.items()
        ):
            key, total = served | here, cost + more
            if key not in merged or total < merged[key][0]:
                merged[key] = total, (*meals, row)
        together = merged
    return together.get((1 << len(cuisines)) - 1)


def _cost(row: Row) -> float:
    return float(row["average_cost_usd"])
