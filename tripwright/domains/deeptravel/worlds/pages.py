"""Web pages about a closed world, made from its facts, so that `web_search` has something true to
find offline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tripwright.domains.deeptravel.tools.answers import WebPage
from tripwright.domains.deeptravel.worlds.city import CityMap
from tripwright.domains.deeptravel.worlds.ways import Ways
from tripwright.world.records import road_distance_km
from tripwright.world.store import World

SITE = "https://guide.example"
SHOWN = 5  # names in a snippet
TOPICS = {  # what a page is about → the words that ask for it
    "sights": (
        "sights sight attractions attraction museum museums park visit see do things tourist"
        " itinerary"
    ),
    "food": "food eat restaurant restaurants dinner lunch breakfast cuisine",
    "stay": "stay hotel hotels accommodation accommodations sleep room",
    "arrive": (
        "arrive get reach travel way train trains flight flights airport station road drive"
        " transport"
    ),
}
_ASKED = {word: topic for topic, words in TOPICS.items() for word in words.split()}


def search(world: World, ways: Ways, maps: Mapping[str, CityMap], query: str) -> list[WebPage]:
    """Pages about the cities that the query names, those first that it asks for; about two cities,
    the way between them before all."""
    cities = _named(world, query)
    topics = {_ASKED[word] for word in re.findall(r"[a-z]+", query.casefold()) if word in _ASKED}
    pages: list[tuple[bool, WebPage]] = []
    if len(cities) > 1:
        pages.append((False, _way(ways, cities[0], cities[1])))
    for city in cities:
        pages += [
            (bool(topics) and topic not in topics, page)
            for topic, page in _about(world, maps[city])
        ]
    return [page for _, page in sorted(pages, key=lambda entry: entry[0])]


def _named(world: World, query: str) -> list[str]:
    """The cities of the world that the query names, in its order; at most two."""
    folded = query.casefold()
    places: list[tuple[int, int, str]] = []
    for city in world.cities:
        if city.casefold() in folded and (
            at := re.search(rf"(?<!\w){re.escape(city.casefold())}(?!\w)", folded)
        ):
            places.append((at.start(), -len(city), city))
    return [city for _, _, city in sorted(places)][:2]


def _about(world: World, place: CityMap) -> Iterator[tuple[str, WebPage]]:
    city, slug = place.city, _slug(place.city)
    sights = [sight.name for sight in world.attractions(city)]
    meals = sorted(world.restaurants(city), key=lambda meal: -meal.rating)
    stays = sorted(world.accommodations(city), key=lambda stay: -stay.rating)
    where = f"{city} lies in {world.cities[city]}."
    if sights:
        many = (
            f"Among the {len(sights)} sights of {city}"
            if len(sights) > SHOWN
            else f"The sights of {city}"
        )
        yield (
            "sights",
            WebPage(
                f"What to see in {city}",
                f"{SITE}/{slug}/sights",
                f"{where} {many}: {_listed(sights)}.",
            ),
        )
    if meals:
        text = _listed([f"{meal.name} ({meal.cuisines})" for meal in meals])
        yield (
            "food",
            WebPage(
                f"Where to eat in {city}", f"{SITE}/{slug}/food", f"Well liked in {city}: {text}."
            ),
        )
    if stays:
        text = _listed([stay.name for stay in stays])
        yield (
            "stay",
            WebPage(
                f"Where to stay in {city}",
                f"{SITE}/{slug}/stay",
                f"Guests of {city} rate these best: {text}.",
            ),
        )
    text = f"Trains stop at {place.station}. Planes land at {place.airport}, outside the city."
    yield "arrive", WebPage(f"How to get to {city}", f"{SITE}/{slug}/arrive", text)


def _way(ways: Ways, origin: str, destination: str) -> WebPage:
    road, trains = ways.world.ground(origin, destination), ways.timetable(origin, destination)
    km = (road_distance_km(road.distance) if road else None) or ways.road_km(origin, destination)
    sentences = [
        (
            f"By road it is {round(km):,} km from {origin} to {destination}."
            if km
            else f"No road joins {origin} and {destination}."
        )
    ]
    if trains:
        fastest = min(trains, key=lambda run: run.minutes)
        sentences.append(
            f"{len(trains)} direct trains a day; the fastest, {fastest.number}, takes"
            f" {fastest.minutes} minutes."
        )
    else:
        sentences.append("No direct train.")
    return WebPage(
        f"From {origin} to {destination}",
        f"{SITE}/{_slug(origin)}/to/{_slug(destination)}",
        " ".join(sentences),
    )


def _listed(names: list[str]) -> str:
    return "; ".join(names[:SHOWN])


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
