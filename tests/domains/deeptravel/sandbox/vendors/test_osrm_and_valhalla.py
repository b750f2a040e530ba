"""The clients of OSRM and Valhalla against a local server that answers as their documentations
show."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.limits import LocalLimits
from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import (
    PointOfInterest,
    Provenance,
    ProviderAnswer,
    RouteLeg,
)
from tripwright.domains.deeptravel.vendors.osrm import PUBLIC_URLS, Osrm
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.domains.deeptravel.vendors.valhalla import Valhalla
from tripwright.errors import UserError
from tripwright.world.geography import Position

NOW = datetime(2026, 6, 20, 11, 30, tzinfo=UTC)
CALL = {"origin_name": "Friedrichstraße", "destination_name": "Torstraße", "city_name": "Berlin"}
# https://github.com/Project-OSRM/osrm-backend/blob/master/docs/http.md: the example of a route
# object in the frame of an answer.
OSRM_ROUTE = {
    "distance": 90.0,
    "duration": 300.0,
    "weight": 300.0,
    "weight_name": "duration",
    "geometry": {
        "type": "LineString",
        "coordinates": [[120.0, 10.0], [120.1, 10.0], [120.2, 10.0], [120.3, 10.0]],
    },
    "legs": [
        {"distance": 30.0, "duration": 100.0, "steps": []},
        {"distance": 60.0, "duration": 200.0, "steps": []},
    ],
}
OSRM_ANSWER = {"code": "Ok", "routes": [OSRM_ROUTE], "waypoints": []}
# https://valhalla.github.io/valhalla/api/turn-by-turn/api-reference/#outputs-of-a-route
VALHALLA_ANSWER = {
    "trip": {
        "status": 0,
        "status_message": "Found route between points",
        "units": "kilometers",
        "language": "en-US",
        "locations": [
            {"type": "break", "lat": 52.517, "lon": 13.388},
            {"type": "break", "lat": 52.529, "lon": 13.397},
        ],
        "legs": [{"summary": {"time": 180.5, "length": 1.42}, "shape": "", "maneuvers": []}],
        "summary": {
            "time": 180.5,
            "length": 1.42,
            "has_toll": False,
            "has_highway": False,
            "has_ferry": False,
        },
    }
}


class Atlas:
    """A provider of places that knows two streets and counts who asks."""

    name, version, tools = "atlas", "7", frozenset(("poi_search",))

    def __init__(self, terms: Terms | None = None):
        self.terms = terms or Terms(attribution="© Atlas")
        self.asked: list[tuple[str, str]] = []
        self.fault: ProviderFault | None = None

    def ask(self, tool: str, arguments: Any) -> ProviderAnswer:
        self.asked.append((arguments["query"], arguments["city_name"]))
        if self.fault:
            raise self.fault
        spots = {"Friedrichstraße": (52.517037, 13.388860), "Torstraße": (52.529407, 13.397634)}
        here = spots.get(arguments["query"])
        places = (
            (
                PointOfInterest("without a position", "Berlin"),
                PointOfInterest(arguments["query"], "Berlin", "", "", *here),
            )
            if here
            else ()
        )
        return ProviderAnswer(places, Provenance("atlas", "7", "2026-06-20T09:30:00Z"))


@pytest.fixture
def atlas() -> Atlas:
    return Atlas()


@pytest.fixture
def osrm(vendor: Any, atlas: Atlas) -> Any:
    client = Osrm(Positions(atlas), base_url=vendor.base_url, now=lambda: NOW)
    yield client
    client.close()


@pytest.fixture
def valhalla(vendor: Any, atlas: Atlas) -> Any:
    client = Valhalla(Positions(atlas), base_url=vendor.base_url, now=lambda: NOW)
    yield client
    client.close()


def test_osrm_answers_minutes_and_kilometres_between_two_names(osrm: Any, vendor: Any) -> None:
    vendor.on("/route/v1/driving/*", OSRM_ANSWER)
    found = osrm.ask("route_planning", CALL)
    assert found.records == (
        RouteLeg("Friedrichstraße", "Torstraße", "Berlin", "driving", 5.0, 0.09),
    )
    assert (found.note, found.refused) == ("", False)
    asked = vendor.asked[0]
    # longitude first
    assert asked.path == "/route/v1/driving/13.388860,52.517037;13.397634,52.529407"
    assert asked.query == {"overview": "false"}
    assert asked.headers["user-agent"].startswith("tripwright/")


def test_osrm_names_its_source_and_that_of_the_places(osrm: Any, vendor: Any) -> None:
    vendor.on("/route/v1/driving/*", OSRM_ANSWER)
    source = osrm.ask("route_planning", CALL).source
    assert (source.provider, source.fetched_at, source.may_store) == (
        "osrm",
        "2026-06-20T11:30:00Z",
        True,
    )
    assert "OpenStreetMap contributors, ODbL" in source.attribution and source.attribution.endswith(
        "© Atlas"
    )
    assert (
        source.version
        == osrm.version
        == f"1; server={vendor.base_url}; mode=driving; places=atlas 7"
    )
    assert osrm.terms.requests_per_second == 1.0


def test_a_route_may_be_kept_only_if_the_places_may(vendor: Any) -> None:
    client = Osrm(Positions(Atlas(Terms(may_store=False))), base_url=vendor.base_url)
    vendor.on("/route/v1/driving/*", OSRM_ANSWER)
    assert client.terms.may_store is False
    assert client.ask("route_planning", CALL).source.may_store is False


@pytest.mark.parametrize("code", ["NoRoute", "NoSegment"])
def test_osrm_no_way_is_an_answer(osrm: Any, vendor: Any, code: str) -> None:
    vendor.on(
        "/route/v1/driving/*",
        vendor.answer({"code": code, "message": "Impossible route between points"}, 400),
    )
    found = osrm.ask("route_planning", CALL)
    assert (found.records, found.refused) == ((), False)
    assert found.note == "There is no way (driving) from 'Friedrichstraße' to 'Torstraße'."


@pytest.mark.parametrize(
    "body",
    [
        {"code": "InvalidQuery", "message": "Query string malformed"},
        {"code": ["NoRoute"]},
        [],
        "NoRoute",
    ],
)
def test_osrm_every_other_refusal_is_our_fault(osrm: Any, vendor: Any, body: Any) -> None:
    vendor.on("/route/v1/driving/*", vendor.answer(body, 400))
    with pytest.raises(ProviderFault) as fault:
        osrm.ask("route_planning", CALL)
    assert fault.value.kind == "bad_response" and "400" in str(fault.value)


@pytest.mark.parametrize(
    "answer",
    [
        {"code": "Ok"},
        {"code": "Ok", "routes": []},
        {"code": "Ok", "routes": [{"distance": 90.0}]},
        {"code": "Ok", "routes": [{"distance": "far", "duration": 300.0}]},
        {"code": "Ok", "routes": [{"distance": -1, "duration": 300.0}]},
        {"code": "Ok", "routes": [{"distance": float("nan"), "duration": 300.0}]},
        {"code": "Ok", "routes": [[300.0, 90.0]]},
        {"code": "Maybe", "routes": [OSRM_ROUTE]},
    ],
)
def test_osrm_a_missing_field_is_a_bad_response(osrm: Any, vendor: Any, answer: Any) -> None:
    vendor.on("/route/v1/driving/*", answer)
    with pytest.raises(ProviderFault) as fault:
        osrm.ask("route_planning", CALL)
    assert fault.value.kind == "bad_response"


def test_osrm_another_mode_is_another_server_and_another_key(vendor: Any, atlas: Atlas) -> None:
    assert len(set(PUBLIC_URLS.values())) == 3
    client = Osrm(Positions(atlas), base_url=vendor.base_url, mode="walking")
    vendor.on("/route/v1/foot/*", OSRM_ANSWER)
    assert client.ask("route_planning", CALL).records[0].mode == "walking"
    assert "mode=walking" in client.version
    with pytest.raises(UserError, match="one of driving, walking, cycling: found 'flying'"):
        Osrm(Positions(atlas), mode="flying")


def test_valhalla_answers_minutes_and_kilometres(valhalla: Any, vendor: Any) -> None:
    vendor.on("/route", VALHALLA_ANSWER)
    found = valhalla.ask("route_planning", CALL)
    assert found.records == (
        RouteLeg("Friedrichstraße", "Torstraße", "Berlin", "driving", 3.0, 1.42),
    )
    assert vendor.asked[0].json == {
        "locations": [{"lat": 52.517037, "lon": 13.38886}, {"lat": 52.529407, "lon": 13.397634}],
        "costing": "auto",
        "units": "kilometers",
        "directions_type": "none",
    }
    assert valhalla.terms.requests_per_second == 1.0 and "Valhalla" in found.source.attribution


def test_valhalla_miles_become_kilometres(valhalla: Any, vendor: Any) -> None:
    vendor.on("/route", {"trip": {"units": "miles", "summary": {"time": 600, "length": 10}}})
    assert valhalla.ask("route_planning", CALL).records[0].distance_km == 16.09


@pytest.mark.parametrize("code", [154, 170, 171, 442])
def test_valhalla_no_way_is_an_answer(valhalla: Any, vendor: Any, code: int) -> None:
    refusal = {
        "error_code": code,
        "error": "No path could be found for input",
        "status_code": 400,
        "status": "Bad Request",
    }
    vendor.on("/route", vendor.answer(refusal, 400))
    found = valhalla.ask("route_planning", CALL)
    assert (found.records, found.refused) == ((), False) and "no way" in found.note


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"error_code": 100, "error": "Failed to parse json request", "status_code": 400}, 400),
        ({"error_code": [171]}, 400),
        ({"error_code": 106, "error": "Try any of"}, 404),
        ({"trip": {"units": "kilometers"}}, 200),
        ({"trip": {"units": "kilometers", "summary": {"time": 1}}}, 200),
        ({"trip": {"units": ["kilometers"], "summary": {"time": 1, "length": 1}}}, 200),
        ({"trip": {"units": "versts", "summary": {"time": 1, "length": 1}}}, 200),
        ({"trip": {"summary": {"time": 1, "length": 1}}}, 200),
    ],
)
def test_valhalla_every_other_answer_is_our_fault(
    valhalla: Any, vendor: Any, answer: Any, status: int
) -> None:
    vendor.on("/route", vendor.answer(answer, status))
    with pytest.raises(ProviderFault) as fault:
        valhalla.ask("route_planning", CALL)
    assert fault.value.kind == "bad_response"


def test_an_unknown_name_is_the_callers_mistake_and_no_route_is_asked_for(
    osrm: Any, vendor: Any
) -> None:
    found = osrm.ask("route_planning", CALL | {"destination_name": "Nowhere"})
    assert (found.records, found.refused, found.note) == (
        (),
        True,
        "No place named 'Nowhere' in Berlin is known.",
    )
    blank = osrm.ask("route_planning", CALL | {"origin_name": "  "})
    assert blank.refused and blank.note.startswith("The origin_name is empty")
    assert vendor.asked == []


def test_positions_are_asked_for_once_and_faults_are_not_remembered(
    osrm: Any, vendor: Any, atlas: Atlas
) -> None:
    vendor.on("/route/v1/driving/*", OSRM_ANSWER)
    atlas.fault = ProviderFault("timeout", "the atlas sleeps")
    with pytest.raises(ProviderFault, match="the atlas sleeps"):
        osrm.ask("route_planning", CALL)
    atlas.fault = None
    for _ in range(3):
        osrm.ask("route_planning", CALL)
    osrm.ask(
        "route_planning",
        CALL | {"origin_name": "Torstraße", "destination_name": "FRIEDRICHSTRASSE"},
    )
    assert atlas.asked == [("Friedrichstraße", "Berlin")] * 2 + [("Torstraße", "Berlin")]


def test_positions_keep_to_the_vendors_budget_together_with_whoever_shares_the_limits() -> None:
    """One second apart, and a sandbox's request for the same vendor takes a turn too."""
    slept: list[float] = []
    limits = LocalLimits()
    positions = Positions(Atlas(Terms(requests_per_second=1.0)), limits, slept.append)
    limits.reserve("atlas", 1.0, 1)  # the sandbox asks for something else
    assert positions.of_city("Friedrichstraße") == Position(52.517037, 13.388860)
    positions.of_city("Torstraße")
    assert [round(seconds) for seconds in slept] == [1, 2]


def test_what_a_vendor_of_places_asks_for_pauses_that_vendor() -> None:
    limits = LocalLimits()
    atlas = Atlas()
    atlas.fault = ProviderFault("rate_limit", "slow down", retry_after_s=30.0)
    with pytest.raises(ProviderFault, match="slow down"):
        Positions(atlas, limits).of_city("Torstraße")
    assert limits.paused_s("atlas") > 20


def test_threads_may_share_one_client(osrm: Any, vendor: Any) -> None:
    vendor.on("/route/v1/driving/*", OSRM_ANSWER)
    found: list[ProviderAnswer] = []
    threads = [
        threading.Thread(target=lambda: found.append(osrm.ask("route_planning", CALL)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len({one.to_json() for one in found}) == 1
