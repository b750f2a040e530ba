"""Requests made of atomic intents: every combination is there once, each request is proved by the
rows that the tools answer, and the files are what row D12 says."""

from collections import Counter

import pytest

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import Proof, TripSurvey, prove
from tripwright.domains.deeptravel.requests.make import (
    PAPER_LEVELS,
    ProvenRequest,
    RequestScope,
    level_of,
    make_requests,
    quotas,
)
from tripwright.domains.deeptravel.tools.answers import HotelOffer, Money, TrainOffer
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.errors import UserError
from tripwright.world.store import World

BASE = {"origin": "Suzhou", "destination": "Wuhan", "depart_date": "2026-06-26"}


NANO = 3  # of `world`


def made_of(world: World, count: int, **settings: object) -> list[ProvenRequest]:
    survey = TripSurvey(WorldProvider(world))
    return make_requests(survey, RequestScope.of(world), count, **settings)[0]


@pytest.fixture(scope="module")
def with_wishes(world: World) -> list[ProvenRequest]:
    return made_of(world, 60, seed=4)


# ---- the intents


def test_every_sensible_combination_is_enumerated_once():
    found = intents.enumerate_combinations()
    assert len(set(found)) == len(found) == 521
    assert Counter(c.shape for c in found if not c.wishes) == {
        "one_way": 1,
        "one_way_stay": 1,
        "round_trip": 1,
    }
    for wish in intents.WISHES:
        assert any(c.wishes == (wish,) for c in found)
    assert not any("return_by" in c.wishes for c in found if c.shape != "round_trip")
    assert not any({"hotel", "hotel_near"} <= set(c.wishes) for c in found)


@pytest.mark.parametrize(
    ("said", "shape", "nights", "until"),
    (
        ({}, "one_way", 0, "2026-06-26"),
        ({"nights": 2}, "one_way_stay", 2, "2026-06-28"),
        ({"return_date": "2026-06-29"}, "round_trip", 3, "2026-06-29"),
        ({"return_date": "2026-06-26"}, "round_trip", 0, "2026-06-26"),
    ),
)
def test_shape_and_nights(said, shape, nights, until):
    request = TravelRequest(**BASE, **said)
    assert intents.shape_of(request) == shape
    assert (intents.nights_of(request), intents.checkout_of(request)) == (nights, until)


def train(
    departs: str, arrives: str, price: float | None = 100.0, day: str = "2026-06-26"
) -> TrainOffer:
    paid = None if price is None else Money(price, "USD")
    arrives_at = arrives if "T" in arrives else f"{day}T{arrives}"
    ends = ("Suzhou", "", "Wuhan", "")
    return TrainOffer("G1", "", *ends, f"{day}T{departs}", arrives_at, 60, 0, paid)


def test_times_are_held_against_the_day_that_was_asked_for():
    request = TravelRequest(**BASE, depart_after="08:00", arrive_by="15:00")
    assert intents.unmet_way(request, train("08:00", "15:00")) == []
    assert intents.unmet_way(request, train("07:59", "15:01")) == ["depart_after", "arrive_by"]
    assert intents.unmet_way(request, train("23:00", "2026-06-27T01:00")) == ["arrive_by"]
    assert intents.unmet_way(
        TravelRequest(**BASE, transport="flight"), train("08:00", "15:00")
    ) == ["transport"]


def test_a_price_that_is_not_known_meets_no_budget():
    request = TravelRequest(**BASE, nights=2, nightly_budget=90, party_size=3)
    hotel = HotelOffer("Lake Inn", "Wuhan", "2026-06-26", "2026-06-28", price=Money(180, "USD"))
    assert intents.unmet_stay(request, hotel) == []
    assert intents.unmet_stay(
        request, HotelOffer("Lake Inn", "Wuhan", "2026-06-26", "2026-06-28")
    ) == ["nightly_budget"]
    # two to a room
    total = intents.total_of(request, [train("08:00", "15:00")], hotel)
    assert total is not None and total.amount == 3 * 100 + 2 * 180
    assert intents.total_of(request, [train("08:00", "15:00", None)], hotel) is None


@pytest.mark.parametrize(
    ("asked", "met"),
    (
        ("Hilton", True),
        ("hilton garden", True),
        ("Garden  Inn", True),
        ("Hil", False),
        ("Inn Garden", False),
    ),
)
def test_a_chain_is_whole_words_of_the_name(asked, met):
    assert intents.is_called("Hilton Garden Inn", asked) is met


def test_rooms_hold_the_party_as_far_as_they_say():
    hotel = HotelOffer("A", "Wuhan", "2026-06-26", "2026-06-28", guests=1)
    assert not intents.holds(hotel, TravelRequest(**BASE, party_size=2))
    assert intents.holds(hotel, TravelRequest(**BASE))
    assert intents.holds(
        HotelOffer("A", "Wuhan", "2026-06-26", "2026-06-28"), TravelRequest(**BASE, party_size=9)
    )


# ---- the proofs


def test_each_witness_is_the_row_that_the_tool_answers(world, with_wishes):
    provider = WorldProvider(world)
    for request, proof in with_wishes:
        for witness in proof.witnesses:
            record = provider.ask(witness.tool, witness.arguments).records[witness.row - 1]
            assert all(
                getattr(record, name) == value
                for name, value in witness.said.items()
                if name != "price"
            ), witness
            if witness.part == "outbound":
                assert not intents.unmet_way(request, record)
            if witness.part == "return":
                assert not intents.unmet_way(request, record, back=True)
                assert record.depart_city == request.destination
                assert record.departs_at[:10] == request.return_date
        if request.total_budget is not None:
            assert proof.cheapest is not None and proof.cheapest <= request.total_budget


def test_a_proof_needs_nothing_but_the_request(world, with_wishes):
    survey = TripSurvey(WorldProvider(world))
    for request, proof in with_wishes[:20]:
        assert prove(request, survey) == proof


def test_what_cannot_be_met_has_no_proof(world, with_wishes):
    survey = TripSurvey(WorldProvider(world))
    request, proof = next(made for made in with_wishes if made.request.total_budget is not None)

    def unmet(**changes: object) -> object:
        return prove(request.model_copy(update=changes), survey)

    assert unmet(total_budget=(proof.cheapest or 0) - 1) == "total_budget"
    assert unmet(total_budget=None, arrive_by="00:01", depart_after=None) == "arrive_by"
    assert unmet(destination="Nowhere") == "no outbound"
    staying = next(made.request for made in with_wishes if intents.nights_of(made.request))
    nowhere = staying.model_copy(
        update={"hotel": "No Such House", "hotel_near": None, "nightly_budget": None}
    )
    assert prove(nowhere, survey) == "hotel"


# ---- the files


def test_a_file_has_its_levels_and_no_trip_twice(with_wishes):
    requests = [request for request, _ in with_wishes]
    assert len({intents.request_key(request) for request in requests}) == 60
    assert len({request.query for request in requests}) == 60
    assert Counter(request.level for request in requests) == quotas(60, PAPER_LEVELS["with"])
    assert all(
        request.constrained and request.level == level_of(request, proof)
        for request, proof in with_wishes
    )
    stated = {
        *map(intents.shape_of, requests),
        *(wish for each in requests for wish in each.wishes),
    }
    assert stated == {*intents.SHAPES, *intents.WISHES}  # every intent occurs


def test_a_file_without_wishes_has_none_and_goes_by_shape(world):
    made = made_of(world, 30, constraints="without", seed=1)
    assert not any(request.constrained for request, _ in made)
    assert Counter(request.level for request, _ in made) == quotas(30, (222, 78, 200))
    assert {intents.shape_of(request) for request, _ in made if request.level == "hard"} == {
        "round_trip"
    }


def test_excluded_trips_are_not_made_again(world):
    first = made_of(world, 12, seed=5)
    keys = frozenset(intents.request_key(made.request) for made in first)
    other = made_of(world, 12, seed=5, excluded=keys)
    assert keys.isdisjoint(intents.request_key(made.request) for made in other)


def test_a_world_that_is_too_small_is_said_to_be(world):
    survey = TripSurvey(WorldProvider(world))
    pair = RequestScope(list(world.cities)[:2], world.dates[:1])
    with pytest.raises(UserError, match="still missing"):
        make_requests(survey, pair, 400, constraints="without", weights=(1, 0, 0))


@pytest.mark.parametrize(
    ("count", "weights", "shares"),
    ((500, (156, 45, 299), (156, 45, 299)), (10, (1, 1, 1), (4, 3, 3)), (1, (0, 1, 0), (0, 1, 0))),
)
def test_quotas_add_up(count, weights, shares):
    assert tuple(quotas(count, weights).values()) == shares


def test_choice_that_is_halved_is_a_bit():
    assert Proof((), None, {"outbound": (1, 4), "stay": (3, 3)}).scarcity_bits == 2
