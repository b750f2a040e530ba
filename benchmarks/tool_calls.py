"""What a tool call costs in each face, and what hostile arguments cost: the best of many calls, in
milliseconds.

    python benchmarks/tool_calls.py WORLD

Bars: the restaurants of the largest city stay under 0.5 ms in every face; a text of 1 MB is refused
in a few ms.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from tripwright.domains import load_domain
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

CALLS = 300


def best_ms(call: Callable[[], object]) -> float:
    found = float("inf")
    for _ in range(CALLS):
        began = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - began)
    return 1000 * found


def measured(box: ToolBox, city: str) -> Iterator[tuple[str, float]]:
    for what, core in (
        ("restaurants", "search_restaurants"),
        ("accommodations", "search_accommodations"),
        ("sights", "search_attractions"),
    ):
        name, arguments = box.face.offer.call_of(core, {"city": city})
        yield what, best_ms(lambda name=name, arguments=arguments: box.call(name, arguments))  # type: ignore[misc]
    name = box.face.offer.name_of("search_restaurants")
    # new texts: a text's hash is computed once
    large, texts = "x" * 1_000_000, iter([f"{n}" + "x" * 1_000_000 for n in range(CALLS)])
    yield "misspelt", best_ms(lambda: box.call(name, {"city": city[:-1] + "q"}))
    yield "1 MB", best_ms(lambda: box.call(name, {"city": next(texts)}))
    yield "1 MB of JSON", best_ms(lambda: box.call(name, f'{{"city": "{large}"}}'))
    wide = [[0] * 10] * 100_000
    yield "a wide list", best_ms(lambda: box.call(name, {"city": wide}))


def main() -> None:
    world = World.open(sys.argv[1])
    city = max(world.cities, key=lambda place: len(world.restaurants(place)))
    print(
        f"{city}: {len(world.restaurants(city))} restaurants, {len(world.accommodations(city))}"
        " accommodations"
    )
    for face in load_domain("travelplanner").faces:
        told = "  ".join(f"{what} {ms:.3f}" for what, ms in measured(ToolBox(world, face), city))
        print(f"{face.name:<10} {told}")


if __name__ == "__main__":
    main()
