"""Duffel's client against a local server that answers as its documentation shows."""

from __future__ import annotations

import copy
import json
import time
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    HotelOffer,
    Money,
    PointOfInterest,
    Provenance,
    ProviderAnswer,
)
from tripwright.domains.deeptravel.vendors.duffel import Duffel
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.errors import UserError
from tripwright.tools.http import RefusedCall

TOKEN = "duffel_test_s3cret-of-mine"
FLIGHT = {
    "depart_city_name": "London",
    "arrival_city_name": "New York",
    "depart_date": "2020-06-13",
    "depart_poi": "",
    "arrival_poi": "",
}
STAY = {
    "city_name": "London",
    "checkin_date": "2023-06-04",
    "checkout_date": "2023-06-07",
    "hotel_name": "",
}


class Atlas:
    """A provider of places that knows London."""

    name, version, tools = "atlas", "1", frozenset(("poi_search",))
    terms = Terms(attribution="© Atlas")

    def ask(self, tool: str, arguments: Any) -> ProviderAnswer:
        known = (
            (PointOfInterest("London", "London", latitude=51.5071, longitude=-0.1416),)
            if arguments["query"] == "London"
            else ()
        )
        return ProviderAnswer(known, Provenance("atlas", "1", "2026-06-20T09:30:00Z"))


@pytest.fixture
def examples() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "duffel_examples.json").read_text())
    return found


@pytest.fixture
def duffel(vendor: Any, examples: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("DUFFEL_ACCESS_TOKEN", TOKEN)
    new_york = {"type": "city", "name": "New York", "iata_code": "NYC", "iata_city_code": "NYC"}
    vendor.on("/places/suggestions", examples["places"], {"data": [new_york]})
    vendor.on("/air/offer_requests", vendor.answer(examples["offer_request"], 201))
    vendor.on("/stays/search", examples["stays_search"])
    vendor.on("/stays/search_results/*", examples["all_rates"])
    client = Duffel(
        Positions(Atlas()),
        base_url=vendor.base_url,
        now=lambda: datetime(2026, 6, 20, 9, 30, tzinfo=UTC),
    )
    yield client
    client.close()


def test_the_published_offer_becomes_a_flight(duffel: Any, vendor: Any) -> None:
    found = duffel.ask("flight_search", FLIGHT)
    assert found.records == (
        FlightOffer(
            number="BA 1234",
            carrier="British Airways",
            depart_city="London",
            depart_airport="Heathrow (LHR)",
            arrive_city="New York",
            arrive_airport="John F. Kennedy International Airport (JFK)",
            departs_at="2020-06-13T16:38",
            arrives_at="2020-06-13T19:04",
            minutes=146,
            stops=0,
            price=Money(45.0, "GBP"),
        ),
    )
    assert (
        found.source.provider == "duffel"
        and found.source.fetched_at == "2026-06-20T09:30:00Z"
        and found.source.may_store
    )
    assert vendor.paths() == ["/places/suggestions", "/places/suggestions", "/air/offer_requests"]
    assert [asked.query for asked in vendor.asked[:2]] == [{"name": "London"}, {"name": "New York"}]
    search = vendor.asked[-1]
    assert (
        search.query["return_offers"] == "true"
        and 2_000 <= int(search.query["supplier_timeout"]) <= 60_000
    )
    assert (
        search.headers["duffel-version"] == "v2"
        and search.headers["authorization"] == f"Bearer {TOKEN}"
    )
    assert search.json["data"] == {
        "slices": [{"origin": "LON", "destination": "NYC", "departure_date": "2020-06-13"}],
        "passengers": [{"type": "adult"}],
        "cabin_class": "economy",
    }


def test_a_city_is_looked_up_once(duffel: Any, vendor: Any) -> None:
    first, second = duffel.ask("flight_search", FLIGHT), duffel.ask("flight_search", FLIGHT)
    assert first == second and vendor.paths().count("/places/suggestions") == 2


def test_two_segments_are_one_journey_and_fares_of_one_flight_are_one_row(
    duffel: Any, vendor: Any, examples: dict[str, Any]
) -> None:
    offers = examples["offer_request"]["data"]["offers"]
    dear, connecting = copy.deepcopy(offers[0]), copy.deepcopy(offers[0])
    dear["total_amount"] = "245.00"
    piece = connecting["slices"][0]["segments"][0]
    onward = copy.deepcopy(piece) | {
        "departing_at": "2020-06-13T20:00:00",
        "arriving_at": "2020-06-14T00:10:00",
    }
    onward |= {
        "marketing_carrier": {"iata_code": "ZZ", "name": "Duffel Airways"},
        "marketing_carrier_flight_number": "38",
    }
    connecting["slices"][0] |= {"segments": [piece, onward], "duration": "P1DT1H2M"}
    connecting["total_amount"] = "12.50"
    vendor.on("/air/offer_requests", {"data": {"offers": [dear, connecting, offers[0]]}})
    rows = duffel.ask("flight_search", FLIGHT).records
    assert [
        (row.number, row.carrier, row.stops, row.minutes, row.price.amount) for row in rows
    ] == [
        ("BA 1234, ZZ 38", "British Airways, Duffel Airways", 1, 1502, 12.5),
        ("BA 1234", "British Airways", 0, 146, 45.0),
    ]


def test_without_a_duration_the_time_zones_say_how_long_it_takes(
    duffel: Any, vendor: Any, examples: dict[str, Any]
) -> None:
    offer = examples["offer_request"]["data"]["offers"][0]
    del offer["slices"][0]["duration"]
    vendor.on("/air/offer_requests", examples["offer_request"])
    assert duffel.ask("flight_search", FLIGHT).records[0].minutes == 146 + 5 * 60


def test_a_named_airport_narrows_the_search_down(
    duffel: Any, vendor: Any, examples: dict[str, Any]
) -> None:
    offers = examples["offer_request"]["data"]["offers"]
    other = copy.deepcopy(offers[0])
    other["slices"][0]["segments"][0] |= {"marketing_carrier_flight_number": "9"}
    other["slices"][0]["segments"][0]["origin"] |= {"name": "Gatwick", "iata_code": "LGW"}
    offers.append(other)
    vendor.on("/air/offer_requests", examples["offer_request"])
    assert [
        row.number
        for row in duffel.ask("flight_search", FLIGHT | {"depart_poi": "gatwick"}).records
    ] == ["BA 9"]
    assert [
        row.number for row in duffel.ask("flight_search", FLIGHT | {"depart_poi": "LHR"}).records
    ] == ["BA 1234"]
    assert len(duffel.ask("flight_search", FLIGHT | {"depart_poi": "Big Ben"}).records) == 2


@pytest.mark.parametrize("lost", ["slices", "total_amount", "total_currency", "owner"])
def test_a_missing_field_leaves_the_value_or_the_row_out(
    duffel: Any, vendor: Any, examples: dict[str, Any], lost: str
) -> None:
    offers = examples["offer_request"]["data"]["offers"]
    broken = copy.deepcopy(offers[0])
    broken["slices"][0]["segments"][0]["marketing_carrier_flight_number"] = "77"
    del broken[lost]
    offers.append(broken)
    vendor.on("/air/offer_requests", examples["offer_request"])
    rows = {row.number: row for row in duffel.ask("flight_search", FLIGHT).records}
    assert rows["BA 1234"].price == Money(45.0, "GBP")
    if lost == "slices":
        assert set(rows) == {"BA 1234"}
    else:
        assert (rows["BA 77"].price is None) == lost.startswith("total")


def test_offers_of_which_none_can_be_read_are_a_fault(duffel: Any, vendor: Any) -> None:
    vendor.on("/air/offer_requests", {"data": {"offers": [{"id": "off_1"}, 7, None]}})
    with pytest.raises(ProviderFault) as caught:
        duffel.ask("flight_search", FLIGHT)
    assert caught.value.kind == "bad_response"


@pytest.mark.parametrize(
    "example", ["places", "offer_request", "stays_search", "all_rates", "validation_error"]
)
def test_no_spoilt_answer_breaks_anything(
    duffel: Any,
    examples: dict[str, Any],
    spoilt: Any,
    monkeypatch: pytest.MonkeyPatch,
    example: str,
) -> None:
    paths = {
        "/places/suggestions": "places",
        "/air/offer_requests": "offer_request",
        "/stays/search": "stays_search",
    }
    answers = dict(examples)

    def request(method: str, path: str, **how: Any) -> Any:
        if example == "validation_error" and path == "/air/offer_requests":
            raise RefusedCall(422, "rejected", answers[example])
        return answers[paths.get(path, "all_rates")]

    monkeypatch.setattr(duffel._http, "request", request)
    flight = FLIGHT | {"arrival_city_name": "Heathrow"}
    call = (
        ("hotel_search", STAY | {"hotel_name": "Duffel Test Hotel"})
        if example in ("stays_search", "all_rates")
        else ("flight_search", flight)
    )
    outcomes = set()
    for body in spoilt(examples[example]):
        answers[example] = body
        duffel._places.clear()
        try:
            outcomes.add(type(ProviderAnswer.from_json(duffel.ask(*call).to_json())))
        except ProviderFault as fault:
            assert fault.kind == "bad_response"
            outcomes.add(ProviderFault)
    assert outcomes == {ProviderAnswer, ProviderFault}


def test_no_offers_are_an_answer(duffel: Any, vendor: Any) -> None:
    vendor.on("/air/offer_requests", {"data": {"offers": []}})
    found = duffel.ask("flight_search", FLIGHT)
    assert (
        found.records == ()
        and "No flight from London to New York" in found.note
        and not found.refused
    )


def test_a_city_that_is_only_alike_is_refused(duffel: Any, vendor: Any) -> None:
    vendor.on(
        "/places/suggestions", {"data": [{"type": "city", "name": "Londrina", "iata_code": "LDB"}]}
    )
    found = duffel.ask("flight_search", FLIGHT)
    assert found.refused and "Londrina" in found.note and vendor.paths() == ["/places/suggestions"]


def test_the_code_of_an_airport_and_a_city_without_a_code_of_its_own_are_understood(
    duffel: Any, vendor: Any, examples: dict[str, Any]
) -> None:
    bristol = {
        "type": "airport",
        "name": "Bristol Airport",
        "city_name": "Bristol",
        "iata_code": "BRS",
        "iata_city_code": None,
    }
    vendor.on("/places/suggestions", examples["places"], {"data": [bristol]})
    duffel.ask(
        "flight_search",
        FLIGHT | {"depart_city_name": "lhr", "arrival_city_name": "Brístol, United Kingdom"},
    )
    assert vendor.asked[-1].json["data"]["slices"][0] | {"departure_date": ""} == {
        "origin": "LHR",
        "destination": "BRS",
        "departure_date": "",
    }


@pytest.mark.parametrize(
    "wrong", [{"depart_date": "tomorrow"}, {"depart_date": "2026-6-1"}, {"depart_city_name": ""}]
)
def test_a_wrong_call_is_refused_before_anyone_is_asked(
    duffel: Any, vendor: Any, wrong: dict[str, str]
) -> None:
    assert duffel.ask("flight_search", FLIGHT | wrong).refused
    assert "/air/offer_requests" not in vendor.paths()


def test_the_published_search_result_becomes_a_hotel(duffel: Any, vendor: Any) -> None:
    found = duffel.ask("hotel_search", STAY)
    assert found.records == (
        HotelOffer(
            name="Duffel Test Hotel",
            city="London",
            checkin_date="2023-06-04",
            checkout_date="2023-06-07",
            address="1 Silver Street, W1J 9BR, London, England, GB",
            price=Money(799.0, "GBP"),
            rating=3.0,
            latitude=51.5071,
            longitude=-0.1416,
        ),
    )
    assert vendor.asked[-1].json["data"] == {
        "rooms": 1,
        "guests": [{"type": "adult"}],
        "check_in_date": "2023-06-04",
        "check_out_date": "2023-06-07",
        "location": {
            "radius": 5,
            "geographic_coordinates": {"latitude": 51.5071, "longitude": -0.1416},
        },
    }
    assert "© Atlas" in found.source.attribution


def test_a_named_hotel_is_asked_for_all_its_rooms(duffel: Any, vendor: Any) -> None:
    found = duffel.ask("hotel_search", STAY | {"hotel_name": "test hotel"})
    assert [(row.room, row.price) for row in found.records] == [
        ("Single", Money(610.0, "GBP")),
        ("Double Suite", Money(799.0, "GBP")),
    ]
    assert (
        vendor.paths()[-1]
        == "/stays/search_results/srr_0000ASVBuJVLdmqtZDJ4ca/actions/fetch_all_rates"
    )
    assert "No hotel named 'Ritz'" in duffel.ask("hotel_search", STAY | {"hotel_name": "Ritz"}).note


def test_rates_that_say_nothing_leave_what_the_search_found(duffel: Any, vendor: Any) -> None:
    vendor.on(
        "/stays/search_results/*",
        {
            "data": {
                "accommodation": {
                    "name": "Duffel Test Hotel",
                    "rooms": [{"name": "Attic", "rates": None}],
                }
            }
        },
    )
    assert [
        row.price
        for row in duffel.ask("hotel_search", STAY | {"hotel_name": "Duffel Test Hotel"}).records
    ] == [Money(799.0, "GBP")]


@pytest.mark.parametrize(
    "part", ["cheapest_rate_total_amount", "check_in_date", "location", "name", "rating", "results"]
)
def test_a_stay_without_a_field(
    duffel: Any, vendor: Any, examples: dict[str, Any], part: str
) -> None:
    result = examples["stays_search"]["data"]["results"][0]
    for body in (result, result["accommodation"], examples["stays_search"]["data"]):
        body.pop(part, None)
    vendor.on("/stays/search", examples["stays_search"])
    if part in ("name", "results"):
        with pytest.raises(ProviderFault) as caught:
            duffel.ask("hotel_search", STAY)
        assert caught.value.kind == "bad_response"
    else:
        (hotel,) = duffel.ask("hotel_search", STAY).records
        assert (hotel.price is None) == (part == "cheapest_rate_total_amount")
        assert (hotel.checkin_date, hotel.city) == ("2023-06-04", "London")


@pytest.mark.parametrize(
    "wrong", [{"checkout_date": "2023-06-04"}, {"checkin_date": "June"}, {"city_name": "Atlantis"}]
)
def test_a_wrong_stay_is_refused(duffel: Any, vendor: Any, wrong: dict[str, str]) -> None:
    assert duffel.ask("hotel_search", STAY | wrong).refused
    assert vendor.asked == []


def test_what_the_vendor_rejects_about_the_call_is_an_answer(
    duffel: Any, vendor: Any, examples: dict[str, Any]
) -> None:
    vendor.on("/air/offer_requests", vendor.answer(examples["validation_error"], 422))
    found = duffel.ask("flight_search", FLIGHT)
    assert (
        found.refused
        and found.note == "Invalid departure date: departure_date must be after 2026-06-20"
    )


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (
            {"type": "airline_error", "title": "Airline error", "message": "no connection"},
            422,
            "server_error",
        ),
        (
            {
                "type": "invalid_request_error",
                "code": "missing_header",
                "message": "Duffel-Version",
            },
            400,
            "bad_response",
        ),
        (
            {
                "type": "validation_error",
                "title": "Bad",
                "message": "too many",
                "source": {"pointer": "/passengers"},
            },
            422,
            "bad_response",
        ),
        ({"type": "rate_limit_error", "title": "Too many requests"}, 400, "rate_limit"),
        ({}, 404, "bad_response"),
    ],
)
def test_what_the_vendor_rejects_for_other_reasons_is_a_fault(
    duffel: Any, vendor: Any, error: dict[str, Any], status: int, kind: str
) -> None:
    vendor.on("/air/offer_requests", vendor.answer({"errors": [error]}, status))
    with pytest.raises(ProviderFault) as caught:
        duffel.ask("flight_search", FLIGHT)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        ("flight_search", "/places/suggestions"),
        ("flight_search", "/air/offer_requests"),
        ("hotel_search", "/stays/search"),
    ],
)
def test_every_failure_is_its_fault(
    duffel: Any, vendor: Any, failure: Any, tool: str, path: str
) -> None:
    vendor.on(path, failure.answer)
    with pytest.raises(ProviderFault) as caught:
        duffel.ask(tool, FLIGHT if tool == "flight_search" else STAY)
    assert (caught.value.kind, caught.value.retry_after_s) == (failure.kind, failure.retry_after_s)


def test_the_date_of_the_rate_limit_header_is_understood(duffel: Any, vendor: Any) -> None:
    headers = {
        "ratelimit-limit": "60",
        "ratelimit-remaining": "0",
        "ratelimit-reset": formatdate(time.time() + 50, usegmt=True),
    }
    vendor.on(
        "/air/offer_requests",
        vendor.answer({"errors": [{"type": "rate_limit_error"}]}, 429, headers),
    )
    with pytest.raises(ProviderFault) as caught:
        duffel.ask("flight_search", FLIGHT)
    assert (
        caught.value.kind == "rate_limit"
        and caught.value.retry_after_s is not None
        and 0 <= caught.value.retry_after_s <= 50
    )


def test_the_token_is_in_no_message_and_in_no_answer(duffel: Any, vendor: Any) -> None:
    for status in (400, 401, 422, 429, 500):
        repeated = {
            "errors": [
                {"type": "validation_error", "title": "Odd", "message": f"Bearer {TOKEN} is odd"}
            ]
        }
        vendor.on("/air/offer_requests", vendor.answer(repeated, status))
        try:
            said = duffel.ask("flight_search", FLIGHT).to_json()
        except ProviderFault as fault:
            said = str(fault)
        assert TOKEN not in said and "***" in said
    assert TOKEN not in duffel.version and TOKEN not in repr(vars(duffel.terms))


@pytest.mark.parametrize("token", ["", "duffel_live_abc", "duffel_test_a b", "duffel_test_é"])
def test_a_token_that_is_none_or_live_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("DUFFEL_ACCESS_TOKEN", token)
    with pytest.raises(UserError, match="DUFFEL_ACCESS_TOKEN") as caught:
        Duffel()
    assert "\n" not in str(caught.value) and (not token or token not in str(caught.value))


def test_live_answers_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUFFEL_ACCESS_TOKEN", "duffel_live_abc")
    live = Duffel(allow_live_token=True)
    assert not live.terms.may_store and "mode=live" in live.version
    with pytest.raises(UserError, match="test_hotels"):
        Duffel(allow_live_token=True, test_hotels=True)


def test_the_test_hotels_need_no_map(
    vendor: Any, examples: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUFFEL_ACCESS_TOKEN", TOKEN)
    vendor.on("/stays/search", examples["stays_search"])
    without_map = Duffel(base_url=vendor.base_url)
    with pytest.raises(ProviderFault, match="provider of places"):
        without_map.ask("hotel_search", STAY)
    assert Duffel(base_url=vendor.base_url, test_hotels=True).ask("hotel_search", STAY).records
    assert vendor.asked[-1].json["data"]["location"]["geographic_coordinates"] == {
        "latitude": -24.38,
        "longitude": -128.32,
    }
