"""A closed world behind the six live tools: its own facts, and made ones that agree with it and are
equal everywhere."""

from __future__ import annotations

import itertools
import pickle
import random
import subprocess
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.provider import Provider, ProviderFault
from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    HotelOffer,
    PointOfInterest,
    ProviderAnswer,
    RouteLeg,
    TrainOffer,
    WebPage,
)
from tripwright.domains.deeptravel.worlds.city import FASTEST_KMH, LONGEST_KM, dice_of
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.errors import UserError
from tripwright.world.folder import write_world
from tripwright.world.generator import build_tables
from tripwright.world.geography import Position, great_circle_km
from tripwright.world.records import Ground, WorldTables, road_distance_km
from tripwright.world.store import World

DAY = "2022-03-03"
NO_ROAD = Ground("", "", "", "")


@pytest.fixture(scope="module")
def world() -> World:
    return World.in_memory(build_tables("nano", 7))


@pytest.fixture(scope="module")
def provider(world: World) -> WorldProvider:
    return WorldProvider(world)


def flights(provider: Provider, origin: str, destination: str, **more: Any) -> ProviderAnswer:
    return provider.ask(
        "flight_search",
        {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": DAY, **more},
    )


def trains(
    provider: Provider, origin: str, destination: str, is_transfer: int = 0, day: str = DAY
) -> list[TrainOffer]:
    asked = {
        "depart_city_name": origin,
        "arrival_city_name": destination,
        "depart_date": day,
        "is_transfer": is_transfer,
    }
    found = provider.ask("train_search", asked)
    assert not found.refused
    return [record for record in found.records if isinstance(record, TrainOffer)]


def hotels(
    provider: Provider,
    city: str,
    checkin: str = "2022-03-03",
    checkout: str = "2022-03-05",
    name: str = "",
) -> ProviderAnswer:
    return provider.ask(
        "hotel_search",
        {"city_name": city, "checkin_date": checkin, "checkout_date": checkout, "hotel_name": name},
    )


def all_pairs(world: World) -> list[tuple[str, str]]:
    return list(itertools.permutations(world.cities, 2))


def test_flights_are_the_worlds_own_by_departure_with_the_day_of_arrival(
    world: World, provider: WorldProvider
) -> None:
    over_night = 0
    for origin, destination in all_pairs(world):
        rows = world.flights(origin, destination, DAY) or []
        offers = flights(provider, origin, destination).records
        assert sorted(row.number for row in rows) == sorted(
            offer.number for offer in offers if isinstance(offer, FlightOffer)
        )
        assert [offer.departs_at for offer in offers] == sorted(
            offer.departs_at for offer in offers
        )  # type: ignore[union-attr]
        for row in rows:
            (offer,) = (
                offer
                for offer in offers
                if isinstance(offer, FlightOffer) and offer.number == row.number
            )
            assert (
                offer.price == (row.price_usd, "USD")
                and offer.departs_at == f"{DAY}T{row.departure_time}"
            )
            assert offer.arrives_at.endswith(row.arrival_time)
            shift = (
                datetime.fromisoformat(offer.arrives_at) - datetime.fromisoformat(offer.departs_at)
            ).total_seconds() / 60
            # time zones, and no day too few or too many
            assert abs(shift - offer.minutes) <= 4 * 60
            assert {offer.depart_airport, offer.arrive_airport} == {
                f"{origin} Airport",
                f"{destination} Airport",
            }
            over_night += offer.arrives_at[:10] > DAY
    assert over_night > 0


def test_trains_obey_the_road(world: World, provider: WorldProvider) -> None:
    served = 0
    for origin, destination in all_pairs(world):
        lengths = [
            road_distance_km(road.distance)
            for road in (world.ground(origin, destination), world.ground(destination, origin))
            if road
        ]
        known = [km for km in lengths if km]
        found = trains(provider, origin, destination)
        if not known or max(known) > LONGEST_KM:
            assert not found
        for train in found:
            served += 1
            assert 60 * max(known) / train.minutes <= 1.06 * FASTEST_KMH < 200
            assert (
                train.price is not None
                and train.price.currency == "USD"
                and 5 <= train.price.amount <= 250
            )
            assert (train.depart_station, train.arrive_station) == (
                f"{origin} Central Station",
                f"{destination} Central Station",
            )
        assert bool(found) == bool(trains(provider, destination, origin)) and len(found) == len(
            trains(provider, destination, origin)
        )
        assert len({train.number for train in found}) == len(found)
    assert served > 100


def test_trains_and_flights_go_by_the_same_clocks(world: World, provider: WorldProvider) -> None:
    compared = 0
    for origin, destination in all_pairs(world):
        flown, ridden = (
            flights(provider, origin, destination).records,
            trains(provider, origin, destination),
        )
        if flown and ridden:
            assert isinstance(flown[0], FlightOffer)
            assert ahead_minutes(flown[0]) == ahead_minutes(ridden[0])
            compared += 1
    assert compared > 20


def ahead_minutes(offer: FlightOffer | TrainOffer) -> float:
    lasted = datetime.fromisoformat(offer.arrives_at) - datetime.fromisoformat(offer.departs_at)
    return lasted.total_seconds() / 60 - offer.minutes


def test_a_change_of_trains_is_offered_on_request_and_can_be_made(
    world: World, provider: WorldProvider
) -> None:
    changed = 0
    for origin, destination in all_pairs(world):
        direct, both = (
            trains(provider, origin, destination),
            trains(provider, origin, destination, is_transfer=1),
        )
        assert set(direct) <= set(both) and all(train.transfers == 0 for train in direct)
        for journey in set(both) - set(direct):
            first, second = journey.number.split(", ")
            assert journey.transfers == 1 and first != second
            assert ahead_minutes(journey) % 60 == 0  # waiting included: what is left are time zones
            changed += 1
    assert changed > 10


def test_the_timetable_is_the_same_every_day(provider: WorldProvider, world: World) -> None:
    origin, destination = next((a, b) for a, b in all_pairs(world) if trains(provider, a, b))
    here, later = (
        trains(provider, origin, destination),
        trains(provider, origin, destination, day="2023-07-01"),
    )
    assert [(train.number, train.departs_at[10:]) for train in here] == [
        (train.number, train.departs_at[10:]) for train in later
    ]


def test_a_hotel_costs_the_whole_stay_and_keeps_its_minimum_of_nights(
    world: World, provider: WorldProvider
) -> None:
    shown = hidden = 0
    for city in world.cities:
        rows = {stay.name: stay for stay in world.accommodations(city)}
        offers = [
            offer for offer in hotels(provider, city).records if isinstance(offer, HotelOffer)
        ]
        assert {offer.name for offer in offers} == {
            name for name, stay in rows.items() if stay.minimum_nights <= 2
        }
        assert [offer.price for offer in offers] == sorted(
            offer.price for offer in offers if offer.price
        )
        for offer in offers:
            assert (
                offer.price == (2 * rows[offer.name].price_usd, "USD")
                and offer.rating == rows[offer.name].rating
            )
            assert offer.address.endswith(city) and offer.latitude is not None
        shown, hidden = shown + len(offers), hidden + len(rows) - len(offers)
    assert shown > 30 and hidden > 30


def test_a_minimum_of_nights_that_hides_the_hotel_asked_for_is_said(
    world: World, provider: WorldProvider
) -> None:
    stay = next(
        stay
        for city in world.cities
        for stay in world.accommodations(city)
        if stay.minimum_nights == 5
    )
    found = hotels(provider, stay.city, name=stay.name)
    assert (
        not found.records
        and not found.refused
        and found.note == f"{stay.name} takes guests for 5 nights or more, not for 2."
    )
    five = hotels(provider, stay.city, checkout="2022-03-08", name=stay.name.upper())
    assert [offer.name for offer in five.records if isinstance(offer, HotelOffer)] == [stay.name]


def test_ways_fit_the_positions_and_are_the_same_there_and_back(
    world: World, provider: WorldProvider
) -> None:
    city = next(iter(world.cities))
    places = [
        place
        for query in ("sights", "restaurants", "hotels", "station", "airport")
        for place in pois(provider, city, query)
    ]
    assert len(places) > 10 and len({place.category for place in places}) == 5
    for one, other in itertools.combinations(places, 2):
        there, back = (
            ways(provider, city, one.name, other.name),
            ways(provider, city, other.name, one.name),
        )
        assert [(leg.mode, leg.minutes) for leg in there] == [
            (leg.mode, leg.minutes) for leg in back
        ]
        straight = great_circle_km(
            *(Position(place.latitude or 0, place.longitude or 0) for place in (one, other))
        )
        for leg in there:
            assert straight * 0.95 - 0.2 <= leg.distance_km <= straight * 1.4 + 0.2
            assert (
                leg.distance_km / leg.minutes * 60
                <= {"walking": 6.2, "public transport": 19, "driving": 30}[leg.mode]
            )
        assert any(leg.mode == "walking" for leg in there) == (there[0].distance_km <= 4)


def pois(provider: Provider, city: str, query: str) -> list[PointOfInterest]:
    found = provider.ask("poi_search", {"query": query, "city_name": city})
    return [place for place in found.records if isinstance(place, PointOfInterest)]


def ways(provider: Provider, city: str, origin: str, destination: str) -> list[RouteLeg]:
    found = provider.ask(
        "route_planning",
        {"origin_name": origin, "destination_name": destination, "city_name": city},
    )
    return [leg for leg in found.records if isinstance(leg, RouteLeg)]


def test_places_are_found_by_name_by_kind_and_by_what_they_are_known_for(
    world: World, provider: WorldProvider
) -> None:
    city = next(iter(world.cities))
    hotel, meal, sight = (
        world.accommodations(city)[0],
        world.restaurants(city)[0],
        world.attractions(city)[0],
    )
    for name in (hotel.name, meal.name, sight.name):
        assert [place.name for place in pois(provider, city, name.upper())] == [name]
        assert pois(provider, city, f"Where is {name}?")[0].name == name
    cuisine = meal.cuisines.split(", ")[0]
    assert pois(provider, city, f"best {cuisine} food in {city}")[0].name in {
        row.name for row in world.restaurants(city) if cuisine in row.cuisines
    }
    nothing = provider.ask("poi_search", {"query": "volcano", "city_name": city})
    assert (
        not nothing.records
        and not nothing.refused
        and nothing.note == f"Nothing in {city} is found for 'volcano'."
    )


def test_a_flight_from_a_place_comes_with_the_ways_to_the_airport(
    world: World, provider: WorldProvider
) -> None:
    origin, destination = next((a, b) for a, b in all_pairs(world) if world.flights(a, b, DAY))
    hotel = world.accommodations(origin)[0].name
    plain = flights(provider, origin, destination).records
    feeders = flights(
        provider,
        origin,
        destination,
        depart_poi=hotel,
        arrival_poi=f"{destination} Central Station",
    ).records[len(plain) :]
    legs = [leg for leg in feeders if isinstance(leg, RouteLeg)]
    assert {(leg.origin, leg.destination) for leg in legs} == {
        (hotel, f"{origin} Airport"),
        (f"{destination} Airport", f"{destination} Central Station"),
    }


def test_pages_tell_the_worlds_facts(world: World, provider: WorldProvider) -> None:
    one, other = next((a, b) for a, b in all_pairs(world) if trains(provider, a, b))
    pages = [
        page
        for page in provider.ask("web_search", {"query": f"how to travel {one} to {other}"}).records
        if isinstance(page, WebPage)
    ]
    assert (
        pages[0].title == f"From {one} to {other}"
        and f"{len(trains(provider, one, other))} direct trains a day" in pages[0].snippet
    )
    sights, *_ = provider.ask("web_search", {"query": f"things to see in {one}"}).records
    assert isinstance(sights, WebPage) and all(
        sight.name in sights.snippet for sight in world.attractions(one)[:5]
    )
    nothing = provider.ask("web_search", {"query": "the weather on Mars"})
    assert not nothing.records and "No page is found for 'the weather on Mars'" in nothing.note


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "flight_search",
            {"depart_city_name": "Ashelmnt", "arrival_city_name": "Orford", "depart_date": DAY},
            "Did you mean 'Ashelmont'?",
        ),
        (
            "train_search",
            {"depart_city_name": "Orford", "arrival_city_name": "ashelmont", "depart_date": DAY},
            "Did you mean 'Ashelmont'?",
        ),
        (
            "train_search",
            {"depart_city_name": "Orford", "arrival_city_name": "x" * 900, "depart_date": DAY},
            f"'{'x' * 60}…'.",
        ),
        (
            "hotel_search",
            {"city_name": "Orford", "checkin_date": DAY, "checkout_date": DAY},
            "Check-out 2022-03-03 is not after",
        ),
        (
            "hotel_search",
            {"city_name": "Orford", "checkin_date": "soon", "checkout_date": DAY},
            "checkin_date 'soon' is no day",
        ),
        (
            "train_search",
            {
                "depart_city_name": "Orford",
                "arrival_city_name": "Ashelmont",
                "depart_date": "9999-12-31",
            },
            "is no day",
        ),
        (
            "route_planning",
            {"city_name": "Orford", "origin_name": "Orford Airprt", "destination_name": "x"},
            "Did you mean 'Orford Airport'?",
        ),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(
    provider: WorldProvider, tool: str, arguments: dict[str, Any], said: str
) -> None:
    found = provider.ask(tool, arguments)
    assert found.refused and not found.records and said in found.note and "\n" not in found.note


def test_what_the_world_does_not_know_is_unknown_and_no_refusal() -> None:
    cities = [("Boston", "Massachusetts"), ("Salem", "Massachusetts")]
    bare = WorldProvider(
        World.in_memory(
            WorldTables(
                cities, [], [], [], [], [], covered_searches=[("Boston", "Salem", "2022-03-01")]
            )
        )
    )
    found = flights(bare, "Boston", "Salem")
    assert not found.refused and "unknown, not 'no flights'" in found.note
    assert not trains(bare, "Boston", "Salem", is_transfer=1)  # no road
    assert hotels(bare, "Boston").note == "No hotels in Boston."
    # a city without sights has ways too
    leg, *_ = ways(bare, "Boston", "Boston Airport", "Boston Central Station")
    assert leg.minutes > 0 and pois(bare, "Boston", "airport")[0].latitude is None


def test_an_answer_says_which_world_it_is_of_and_never_what_time_it_is(
    world: World, provider: WorldProvider
) -> None:
    source = hotels(provider, "Orford").source
    assert source.provider == provider.name == "world" and source.version == provider.version
    assert (
        world.content_hash in provider.version
        and source.fetched_at == "2022-03-01T00:00:00Z"
        and source.may_store
    )
    assert (
        hotels(WorldProvider(world, "2026-06-20"), "Orford").source.fetched_at
        == "2026-06-20T00:00:00Z"
    )
    with pytest.raises(ProviderFault, match="not 'book_flight'"):
        provider.ask("book_flight", {})
    with pytest.raises(UserError, match="tomorrow"):
        WorldProvider(world, "tomorrow")


def asked_of_all_kinds(provider: Provider, world: World) -> str:
    """Answers as they would be stored."""
    cities = list(world.cities)[:6]
    answers = [hotels(provider, city) for city in cities]
    answers += [
        provider.ask("poi_search", {"query": "restaurant", "city_name": city}) for city in cities
    ]
    answers += [
        provider.ask("web_search", {"query": f"{a} to {b}"}) for a, b in itertools.pairwise(cities)
    ]
    legs = {
        "origin_name": f"{cities[0]} Airport",
        "destination_name": world.restaurants(cities[0])[0].name,
        "city_name": cities[0],
    }
    answers.append(provider.ask("route_planning", legs))
    for a, b in itertools.permutations(cities, 2):
        answers.append(flights(provider, a, b))
        answers.append(
            provider.ask(
                "train_search",
                {
                    "depart_city_name": a,
                    "arrival_city_name": b,
                    "depart_date": DAY,
                    "is_transfer": 1,
                },
            )
        )
    assert all(ProviderAnswer.from_json(answer.to_json()) == answer for answer in answers)
    return "\n".join(answer.to_json() for answer in answers)


IN_ANOTHER_PROCESS = """
import pickle, sys
provider = pickle.load(sys.stdin.buffer)
for city in sys.argv[1:]:
    for other in sys.argv[1:]:
        print(provider.ask("train_search", {"depart_city_name": city, "arrival_city_name": other, "depart_date": "2022-03-03"}).to_json())
    print(provider.ask("hotel_search", {"city_name": city, "checkin_date": "2022-03-03", "checkout_date": "2022-03-05"}).to_json())
"""  # noqa: E501


def test_the_same_world_gives_the_same_answers_in_every_process(
    world: World, provider: WorldProvider, tmp_path: Path
) -> None:
    copied = write_world(tmp_path / "nano", build_tables("nano", 7))
    assert copied.content_hash == world.content_hash
    in_folder = WorldProvider(copied)
    assert (
        asked_of_all_kinds(in_folder, copied)
        == asked_of_all_kinds(provider, world)
        == asked_of_all_kinds(WorldProvider(world), world)
    )
    cities = list(world.cities)[:4]
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, *cities]
    elsewhere = subprocess.run(
        command, input=pickle.dumps(in_folder), capture_output=True, check=True
    )
    here = []
    for city in cities:
        for other in cities:
            here.append(
                provider.ask(
                    "train_search",
                    {"depart_city_name": city, "arrival_city_name": other, "depart_date": DAY},
                ).to_json()
            )
        here.append(hotels(provider, city).to_json())
    assert elsewhere.stdout.decode("utf-8").splitlines() == here


def test_the_official_tables_are_answered_from_too(real_world: World) -> None:
    provider = WorldProvider(real_world)
    dice = random.Random(0)
    cities = list(real_world.cities)
    found: Counter[str] = Counter()
    for _ in range(120):
        origin, destination = dice.sample(cities, 2)
        asked = {
            "depart_city_name": origin,
            "arrival_city_name": destination,
            "depart_date": "2022-03-16",
        }
        for train in trains(provider, origin, destination, is_transfer=1):
            km = road_distance_km(
                (
                    real_world.ground(origin, destination)
                    or real_world.ground(destination, origin)
                    or NO_ROAD
                ).distance
            )
            assert km is not None and (train.transfers or 60 * km / train.minutes < 200)
            found["train_search"] += 1
        for tool, arguments in (
            ("flight_search", asked),
            (
                "hotel_search",
                {"city_name": origin, "checkin_date": "2022-03-16", "checkout_date": "2022-03-19"},
            ),
            ("poi_search", {"query": "museum", "city_name": origin}),
            ("web_search", {"query": f"{origin} to {destination}"}),
            (
                "route_planning",
                {
                    "origin_name": f"{origin} Airport",
                    "destination_name": f"{origin} Central Station",
                    "city_name": origin,
                },
            ),
        ):
            answer = provider.ask(tool, arguments)
            assert not answer.refused and (answer.records or answer.note)
            found[tool] += len(answer.records)
    assert all(found[tool] > 10 for tool in provider.tools - {"flight_search"}), found
    flight, *_ = provider.ask(
        "flight_search",
        {"depart_city_name": "Houston", "arrival_city_name": "Dallas", "depart_date": "2022-03-07"},
    ).records
    assert isinstance(flight, FlightOffer) and flight.carrier == "Texas Airlines"


def test_another_world_has_other_trains(world: World) -> None:
    other = World.in_memory(build_tables("nano", 8))
    assert other.content_hash != world.content_hash
    assert dice_of(world, "line", "a", "b").random() != dice_of(other, "line", "a", "b").random()
