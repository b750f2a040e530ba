"""A closed world behind the six live tools: its own facts, and made ones that agree with it and are
equal everywhere."""

import itertools
import pickle
import random
import subprocess
import sys
from collections import Counter
from datetime import datetime
from typing import Any, TypeVar

import pytest

from tests.made import made_world
from tripwright.domains import face_named
from tripwright.domains.deeptravel.sandbox.provider import Provider
from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    HotelOffer,
    PointOfInterest,
    ProviderAnswer,
    RouteLeg,
    TrainOffer,
    WebPage,
)
from tripwright.domains.deeptravel.worlds.worlds import (
    FASTEST_KMH,
    LONGEST_KM,
    WorldProvider,
)
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault
from tripwright.world.generator import build_tables
from tripwright.world.geography import Position, great_circle_km
from tripwright.world.records import road_distance_km
from tripwright.world.store import World, write_world

DAY = "2022-03-03"
Kind = TypeVar("Kind")


NANO = 7  # of `world`


def flights(provider: Provider, origin: str, destination: str, **more: Any) -> ProviderAnswer:
    ends = {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": DAY}
    return provider.ask("flight_search", {**ends, **more})


def of(kind: type[Kind], found: ProviderAnswer) -> list[Kind]:
    return [record for record in found.records if isinstance(record, kind)]


def trains(
    provider: Provider, origin: str, destination: str, is_transfer: int = 0, day: str = DAY
) -> list[TrainOffer]:
    ends = {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": day}
    found = provider.ask("train_search", {**ends, "is_transfer": is_transfer})
    assert not found.refused
    return of(TrainOffer, found)


def hotels(
    provider: Provider, city: str, checkin: str = DAY, checkout: str = "2022-03-05", name: str = ""
) -> ProviderAnswer:
    nights = {"checkin_date": checkin, "checkout_date": checkout}
    return provider.ask("hotel_search", {"city_name": city, **nights, "hotel_name": name})


def all_pairs(world: World) -> list[tuple[str, str]]:
    return list(itertools.permutations(world.cities, 2))


def test_flights_are_the_worlds_own_by_departure_with_the_day_of_arrival(world, provider):
    over_night = 0
    for origin, destination in all_pairs(world):
        rows = {row.number: row for row in world.flights(origin, destination, DAY) or []}
        offers = of(FlightOffer, flights(provider, origin, destination))
        assert rows.keys() == {offer.number for offer in offers} and len(rows) == len(offers)
        times = [offer.departs_at for offer in offers]
        assert times == sorted(times)
        for offer in offers:
            row = rows[offer.number]
            assert offer.price == (row.price_usd, "USD")
            assert offer.departs_at == f"{DAY}T{row.departure_time}"
            assert offer.arrives_at.endswith(row.arrival_time)
            # time zones, and no day too few or too many
            assert abs(ahead_minutes(offer)) <= 4 * 60
            airports = (offer.depart_airport, offer.arrive_airport)
            assert airports == (f"{origin} Airport", f"{destination} Airport")
            over_night += offer.arrives_at[:10] > DAY
    assert over_night > 0


def test_trains_obey_the_road(world, provider):
    served = 0
    for origin, destination in all_pairs(world):
        roads = (world.ground(origin, destination), world.ground(destination, origin))
        known = [km for road in roads if road and (km := road_distance_km(road.distance))]
        found = trains(provider, origin, destination)
        if not known or max(known) > LONGEST_KM:
            assert not found
        for train in found:
            served += 1
            assert 60 * max(known) / train.minutes <= 1.06 * FASTEST_KMH < 200
            assert train.price is not None and train.price.currency == "USD"
            assert 5 <= train.price.amount <= 250
            stations = (train.depart_station, train.arrive_station)
            assert stations == (f"{origin} Central Station", f"{destination} Central Station")
        assert len(found) == len(trains(provider, destination, origin))
        assert len({train.number for train in found}) == len(found)
    assert served > 100


def test_trains_and_flights_go_by_the_same_clocks(world, provider):
    compared = 0
    for pair in all_pairs(world):
        flown, ridden = of(FlightOffer, flights(provider, *pair)), trains(provider, *pair)
        if flown and ridden:
            assert ahead_minutes(flown[0]) == ahead_minutes(ridden[0])
            compared += 1
    assert compared > 20


def ahead_minutes(offer: FlightOffer | TrainOffer) -> float:
    lasted = datetime.fromisoformat(offer.arrives_at) - datetime.fromisoformat(offer.departs_at)
    return lasted.total_seconds() / 60 - offer.minutes


def test_a_change_of_trains_is_offered_on_request_and_can_be_made(world, provider):
    changed = 0
    for origin, destination in all_pairs(world):
        direct = trains(provider, origin, destination)
        both = trains(provider, origin, destination, is_transfer=1)
        assert set(direct) <= set(both) and all(train.transfers == 0 for train in direct)
        for journey in set(both) - set(direct):
            first, second = journey.number.split(", ")
            assert journey.transfers == 1 and first != second
            assert ahead_minutes(journey) % 60 == 0  # waiting included: what is left are time zones
            changed += 1
    assert changed > 10


def test_the_timetable_is_the_same_every_day(provider, world):
    ends = next((a, b) for a, b in all_pairs(world) if trains(provider, a, b))
    here, later = (
        [(train.number, train.departs_at[10:]) for train in trains(provider, *ends, day=day)]
        for day in (DAY, "2023-07-01")
    )
    assert here == later


def test_a_hotel_costs_the_whole_stay_and_keeps_its_minimum_of_nights(world, provider):
    shown = hidden = 0
    for city in world.cities:
        rows = {stay.name: stay for stay in world.accommodations(city)}
        offers = of(HotelOffer, hotels(provider, city))
        fitting = {name for name, stay in rows.items() if stay.minimum_nights <= 2}
        assert {offer.name for offer in offers} == fitting
        prices = [offer.price for offer in offers if offer.price]
        assert prices == sorted(prices)
        for offer in offers:
            assert offer.price == (2 * rows[offer.name].price_usd, "USD")
            assert offer.rating == rows[offer.name].rating
            assert offer.address.endswith(city) and offer.latitude is not None
        shown, hidden = shown + len(offers), hidden + len(rows) - len(offers)
    assert shown > 30 and hidden > 30


def test_a_minimum_of_nights_that_hides_the_hotel_asked_for_is_said(world, provider):
    stays = (stay for city in world.cities for stay in world.accommodations(city))
    stay = next(stay for stay in stays if stay.minimum_nights == 5)
    found = hotels(provider, stay.city, name=stay.name)
    assert not found.records and not found.refused
    assert found.note == f"{stay.name} takes guests for 5 nights or more, not for 2."
    five = hotels(provider, stay.city, checkout="2022-03-08", name=stay.name.upper())
    assert [offer.name for offer in of(HotelOffer, five)] == [stay.name]


def test_ways_fit_the_positions_and_are_the_same_there_and_back(world, provider):
    city = next(iter(world.cities))
    fastest = {"walking": 6.2, "public transport": 19, "driving": 30}
    kinds = ("sights", "restaurants", "hotels", "station", "airport")
    places = [place for query in kinds for place in pois(provider, city, query)]
    assert len(places) > 10 and len({place.category for place in places}) == 5
    for one, other in itertools.combinations(places, 2):
        there = ways(provider, city, one.name, other.name)
        back = [(leg.mode, leg.minutes) for leg in ways(provider, city, other.name, one.name)]
        assert [(leg.mode, leg.minutes) for leg in there] == back
        ends = (Position(each.latitude or 0, each.longitude or 0) for each in (one, other))
        straight = great_circle_km(*ends)
        for leg in there:
            assert straight * 0.95 - 0.2 <= leg.distance_km <= straight * 1.4 + 0.2
            assert leg.distance_km / leg.minutes * 60 <= fastest[leg.mode]
        assert any(leg.mode == "walking" for leg in there) == (there[0].distance_km <= 4)


def pois(provider: Provider, city: str, query: str) -> list[PointOfInterest]:
    found = provider.ask("poi_search", {"query": query, "city_name": city})
    return of(PointOfInterest, found)


def ways(provider: Provider, city: str, origin: str, destination: str) -> list[RouteLeg]:
    asked = {"origin_name": origin, "destination_name": destination, "city_name": city}
    return of(RouteLeg, provider.ask("route_planning", asked))


def test_places_are_found_by_name_by_kind_and_by_what_they_are_known_for(world, provider):
    city = next(iter(world.cities))
    meal, tables = world.restaurants(city)[0], (world.accommodations, world.attractions)
    hotel, sight = (rows(city)[0] for rows in tables)
    for name in (hotel.name, meal.name, sight.name):
        assert [place.name for place in pois(provider, city, name.upper())] == [name]
        assert pois(provider, city, f"Where is {name}?")[0].name == name
    cuisine = meal.cuisines.split(", ")[0]
    assert pois(provider, city, f"best {cuisine} food in {city}")[0].name in {
        row.name for row in world.restaurants(city) if cuisine in row.cuisines
    }
    nothing = provider.ask("poi_search", {"query": "volcano", "city_name": city})
    assert not nothing.records and not nothing.refused
    assert nothing.note == f"Nothing in {city} is found for 'volcano'."


def test_a_flight_from_a_place_comes_with_the_ways_to_the_airport(world, provider):
    origin, destination = next((a, b) for a, b in all_pairs(world) if world.flights(a, b, DAY))
    hotel, station = world.accommodations(origin)[0].name, f"{destination} Central Station"
    found = flights(provider, origin, destination, depart_poi=hotel, arrival_poi=station)
    assert {(leg.origin, leg.destination) for leg in of(RouteLeg, found)} == {
        (hotel, f"{origin} Airport"),
        (f"{destination} Airport", station),
    }


def test_pages_tell_the_worlds_facts(world, provider):
    def pages(query: str) -> list[WebPage]:
        return of(WebPage, provider.ask("web_search", {"query": query}))

    one, other = next((a, b) for a, b in all_pairs(world) if trains(provider, a, b))
    way, *_ = pages(f"how to travel {one} to {other}")
    assert way.title == f"From {one} to {other}"
    assert f"{len(trains(provider, one, other))} direct trains a day" in way.snippet
    sights, *_ = pages(f"things to see in {one}")
    assert all(sight.name in sights.snippet for sight in world.attractions(one)[:5])
    nothing = provider.ask("web_search", {"query": "the weather on Mars"})
    assert not nothing.records and "No page is found for 'the weather on Mars'" in nothing.note


@pytest.mark.parametrize(
    ("tool", "values", "said"),
    [
        ("flight_search", ("Ashelmnt", "Orford", DAY), "Did you mean 'Ashelmont'?"),
        ("train_search", ("Orford", "ashelmont", DAY), "Did you mean 'Ashelmont'?"),
        ("train_search", ("Orford", "x" * 900, DAY), f"'{'x' * 60}…'."),
        ("route_planning", ("Orford Airprt", "x", "Orford"), "Did you mean 'Orford Airport'?"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(provider, tool, values, said):
    functions = (schema["function"] for schema in face_named("deeptravel").schemas())
    required = {each["name"]: each["parameters"]["required"] for each in functions}
    found = provider.ask(tool, dict(zip(required[tool], values, strict=True)))
    assert found.refused and not found.records and said in found.note and "\n" not in found.note


def test_what_the_world_does_not_know_is_unknown_and_no_refusal():
    cities = dict.fromkeys(("Boston", "Salem"), "Massachusetts")
    known = [("Boston", "Salem", "2022-03-01")]
    bare = WorldProvider(made_world(cities, covered_searches=known))
    found = flights(bare, "Boston", "Salem")
    assert not found.refused and "unknown, not 'no flights'" in found.note
    assert not trains(bare, "Boston", "Salem", is_transfer=1)  # no road
    assert hotels(bare, "Boston").note == "No hotels in Boston."
    # a city without sights has ways too
    leg, *_ = ways(bare, "Boston", "Boston Airport", "Boston Central Station")
    assert leg.minutes > 0 and pois(bare, "Boston", "airport")[0].latitude is None


def test_an_answer_says_which_world_it_is_of_and_never_what_time_it_is(world, provider):
    source = hotels(provider, "Orford").source
    assert source.provider == provider.name == "world" and source.version == provider.version
    assert world.content_hash in provider.version and source.may_store
    assert source.fetched_at == "2022-03-01T00:00:00Z"
    found = hotels(WorldProvider(world, "2026-06-20"), "Orford").source.fetched_at
    assert found == "2026-06-20T00:00:00Z"
    with pytest.raises(ProviderFault, match="not 'book_flight'"):
        provider.ask("book_flight", {})
    with pytest.raises(UserError, match="tomorrow"):
        WorldProvider(world, "tomorrow")


def asked_of_all_kinds(provider: Provider, world: World) -> str:
    """Answers as they would be stored."""
    cities = list(world.cities)[:6]
    answers = [hotels(provider, city) for city in cities]
    for city, after in itertools.pairwise(cities):
        answers.append(provider.ask("poi_search", {"query": "restaurant", "city_name": city}))
        answers.append(provider.ask("web_search", {"query": f"{city} to {after}"}))
    restaurant = world.restaurants(cities[0])[0].name
    way = {"origin_name": f"{cities[0]} Airport", "destination_name": restaurant}
    answers.append(provider.ask("route_planning", {"city_name": cities[0], **way}))
    for a, b in itertools.permutations(cities, 2):
        asked = {"depart_city_name": a, "arrival_city_name": b, "depart_date": DAY}
        answers.append(flights(provider, a, b))
        answers.append(provider.ask("train_search", {**asked, "is_transfer": 1}))
    assert all(ProviderAnswer.from_json(answer.to_json()) == answer for answer in answers)
    return "\n".join(answer.to_json() for answer in answers)


IN_ANOTHER_PROCESS = """
import pickle, sys
from tests.domains.deeptravel.sandbox.test_worlds import asked_of_all_kinds
provider = pickle.load(sys.stdin.buffer)
print(asked_of_all_kinds(provider, provider.world))
"""


def test_the_same_world_gives_the_same_answers_in_every_process(world, provider, tmp_path):
    copied = WorldProvider(write_world(tmp_path / "nano", build_tables("nano", 7)))
    here = asked_of_all_kinds(provider, world)
    assert asked_of_all_kinds(WorldProvider(world), world) == here
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    elsewhere = subprocess.run(command, input=pickle.dumps(copied), capture_output=True, check=True)
    assert elsewhere.stdout.decode("utf-8") == here + "\n"


def test_the_official_tables_are_answered_from_too(real_world):
    provider, day = WorldProvider(real_world), "2022-03-16"
    dice = random.Random(0)
    found: Counter[str] = Counter()
    for _ in range(80):
        origin, destination = dice.sample(list(real_world.cities), 2)
        both_ways = itertools.permutations((origin, destination))
        roads = [road for way in both_ways if (road := real_world.ground(*way))]
        for train in trains(provider, origin, destination, is_transfer=1, day=day):
            km = road_distance_km(roads[0].distance)
            assert km is not None and (train.transfers or 60 * km / train.minutes < 200)
            found["train_search"] += 1
        way = {"origin_name": f"{origin} Airport", "destination_name": f"{origin} Central Station"}
        for tool, answer in (
            ("hotel_search", hotels(provider, origin, day, "2022-03-19")),
            ("poi_search", provider.ask("poi_search", {"query": "museum", "city_name": origin})),
            ("web_search", provider.ask("web_search", {"query": f"{origin} to {destination}"})),
            ("route_planning", provider.ask("route_planning", {"city_name": origin, **way})),
        ):
            assert not answer.refused and (answer.records or answer.note)
            found[tool] += len(answer.records)
    assert all(found[tool] > 10 for tool in provider.tools - {"flight_search"}), found
    flight, *_ = flights(provider, "Houston", "Dallas", depart_date="2022-03-07").records
    assert isinstance(flight, FlightOffer) and flight.carrier == "Texas Airlines"
