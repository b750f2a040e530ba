"""MOTIS's client against a local server. Its documentation is an OpenAPI file without example
answers: these follow its schemas, and the matches follow what the public server answers for
"Karlsruhe Hbf"."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from tripwright import __version__
from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer, TrainOffer
from tripwright.domains.deeptravel.vendors.motis import Motis
from tripwright.errors import UserError

CALL = {
    "depart_city_name": "Karlsruhe",
    "arrival_city_name": "Paris",
    "depart_date": "2026-06-26",
    "is_transfer": 0,
}
KARLSRUHE = {
    "type": "STOP",
    "tokens": [[0, 9]],
    "name": "Karlsruhe Hbf",
    "id": "de-DELFI_de:08212:90",
    "lat": 48.993515,
    "lon": 8.402185,
    "level": 0,
    "tz": "Europe/Berlin",
    "areas": [
        {"name": "Germany", "adminLevel": 2, "matched": False},
        {"name": "Karlsruhe", "adminLevel": 6, "matched": True, "default": True},
    ],
    "score": -6.5,
    "modes": ["HIGHSPEED_RAIL", "REGIONAL_RAIL", "TRAM"],
    "importance": 0.6,
}
PARIS = KARLSRUHE | {
    "name": "Paris Est",
    "id": "fr_1",
    "lat": 48.8768,
    "lon": 2.3592,
    "tz": "Europe/Paris",
    "areas": [{"name": "Paris"}],
}
TGV = {
    "mode": "HIGHSPEED_RAIL",
    "from": {
        "name": "Karlsruhe Hbf",
        "stopId": "de-DELFI_1",
        "lat": 48.99,
        "lon": 8.4,
        "level": 0,
        "tz": "Europe/Berlin",
    },
    "to": {
        "name": "Paris Est",
        "stopId": "fr_1",
        "lat": 48.87,
        "lon": 2.35,
        "level": 0,
        "tz": "Europe/Paris",
    },
    "duration": 9120,
    "startTime": "2026-06-26T06:32:00Z",
    "endTime": "2026-06-26T09:04:00Z",
    "scheduledStartTime": "2026-06-26T06:32:00Z",
    "scheduledEndTime": "2026-06-26T09:04:00Z",
    "realTime": False,
    "scheduled": True,
    "headsign": "Paris Est",
    "agencyName": "SNCF",
    "routeShortName": "TGV",
    "tripShortName": "9570",
    "displayName": "TGV 9570",
    "legGeometry": {"points": "", "precision": 6, "length": 0},
}
WALK = {
    "mode": "WALK",
    "from": TGV["to"],
    "to": TGV["to"],
    "duration": 300,
    "startTime": "2026-06-26T09:04:00Z",
    "endTime": "2026-06-26T09:09:00Z",
}


def itinerary(*legs: dict[str, Any]) -> dict[str, Any]:
    return {
        "duration": 9120,
        "startTime": legs[0]["startTime"],
        "endTime": legs[-1]["endTime"],
        "transfers": 0,
        "legs": list(legs),
    }


def plan(*itineraries: Any) -> dict[str, Any]:
    return {
        "requestParameters": {},
        "debugOutput": {},
        "from": {},
        "to": {},
        "direct": [],
        "itineraries": list(itineraries),
    }


@pytest.fixture
def motis(vendor: Any) -> Any:
    vendor.on("/api/v1/geocode", [KARLSRUHE], [PARIS])
    vendor.on("/api/v5/plan", plan(itinerary(TGV, WALK)))
    client = Motis(
        base_url=vendor.base_url,
        contact="https://example.org/me",
        now=lambda: datetime(2026, 6, 20, 9, 30, tzinfo=UTC),
    )
    yield client
    client.close()


def test_an_itinerary_becomes_a_train_in_local_time_and_without_a_price(
    motis: Any, vendor: Any
) -> None:
    found = motis.ask("train_search", CALL)
    assert found.records == (
        TrainOffer(
            number="TGV 9570",
            operator="SNCF",
            depart_city="Karlsruhe",
            depart_station="Karlsruhe Hbf",
            arrive_city="Paris",
            arrive_station="Paris Est",
            departs_at="2026-06-26T08:32",
            arrives_at="2026-06-26T11:04",
            minutes=152,
            transfers=0,
            price=None,
        ),
    )
    assert "Transitous" in found.source.attribution and found.source.may_store
    assert vendor.paths() == ["/api/v1/geocode", "/api/v1/geocode", "/api/v5/plan"]
    assert vendor.asked[-1].query == {
        "fromPlace": "de-DELFI_de:08212:90",
        "toPlace": "fr_1",
        "time": "2026-06-25T22:00:00Z",
        "searchWindow": "86400",
        "timetableView": "true",
        "detailedTransfers": "false",
        "transitModes": "RAIL",
        "maxTransfers": "0",
    }
    assert {asked.headers["user-agent"] for asked in vendor.asked} == {
        f"tripwright/{__version__} (https://example.org/me)"
    }


def test_transfers_are_found_only_where_they_are_wanted(motis: Any, vendor: Any) -> None:
    onward = TGV | {
        "mode": "SUBWAY",
        "displayName": "M4",
        "agencyName": "RATP",
        "startTime": "2026-06-26T09:10:00Z",
        "endTime": "2026-06-26T09:22:00Z",
    }
    onward["to"] = TGV["to"] | {"name": "Montparnasse"}
    vendor.on("/api/v5/plan", plan(itinerary(TGV, WALK, onward), itinerary(TGV)))
    vendor.on("/api/v1/geocode", [KARLSRUHE], [PARIS], [KARLSRUHE], [PARIS])
    assert [offer.number for offer in motis.ask("train_search", CALL).records] == ["TGV 9570"]
    changing = motis.ask("train_search", CALL | {"is_transfer": 1}).records[-1]
    assert (changing.number, changing.operator, changing.transfers, changing.minutes) == (
        "TGV 9570, M4",
        "SNCF, RATP",
        1,
        170,
    )
    assert changing.arrive_station == "Montparnasse"
    assert "maxTransfers" not in vendor.asked[-1].query


@pytest.mark.parametrize(
    ("start", "end", "zone", "departs", "arrives"),
    [
        (
            "2026-06-26T08:32:00+02:00",
            "2026-06-26T11:04:00+02:00",
            None,
            "2026-06-26T08:32",
            "2026-06-26T11:04",
        ),
        (
            "2026-06-26T21:30:00Z",
            "2026-06-27T04:00:00Z",
            "Europe/Berlin",
            "2026-06-26T23:30",
            "2026-06-27T06:00",
        ),
        (
            "2026-06-26T06:00:00Z",
            "2026-06-26T08:00:00Z",
            "Asia/Tokyo",
            "2026-06-26T15:00",
            "2026-06-26T17:00",
        ),
    ],
)
def test_offsets(
    motis: Any, vendor: Any, start: str, end: str, zone: str | None, departs: str, arrives: str
) -> None:
    places = {
        side: {name: value for name, value in TGV[side].items() if name != "tz"}
        | ({"tz": zone} if zone else {})
        for side in ("from", "to")
    }
    vendor.on("/api/v1/geocode", [KARLSRUHE | {"tz": zone}], [PARIS | {"tz": zone}])
    vendor.on("/api/v5/plan", plan(itinerary(TGV | places | {"startTime": start, "endTime": end})))
    (offer,) = motis.ask("train_search", CALL).records
    assert (offer.departs_at, offer.arrives_at) == (departs, arrives)


def test_a_night_in_which_the_clocks_change_takes_as_long_as_it_takes(
    motis: Any, vendor: Any
) -> None:
    night = {
        "startTime": "2026-10-24T21:00:00Z",
        "endTime": "2026-10-25T05:00:00Z",
        "to": TGV["to"] | {"tz": "Europe/Berlin"},
    }
    vendor.on("/api/v5/plan", plan(itinerary(TGV | night)))
    (offer,) = motis.ask("train_search", CALL | {"depart_date": "2026-10-24"}).records
    assert (offer.departs_at, offer.arrives_at, offer.minutes) == (
        "2026-10-24T23:00",
        "2026-10-25T06:00",
        480,
    )


def test_moments_in_utc_without_a_zone_are_no_local_times(motis: Any, vendor: Any) -> None:
    bare = {side: {"name": TGV[side]["name"]} for side in ("from", "to")}
    vendor.on("/api/v1/geocode", [KARLSRUHE | {"tz": "Moon/Tranquility"}], [PARIS | {"tz": None}])
    vendor.on("/api/v5/plan", plan(itinerary(TGV | bare)))
    with pytest.raises(ProviderFault) as caught:
        motis.ask("train_search", CALL)
    assert caught.value.kind == "bad_response"
    assert (
        vendor.asked[-1].query["time"] == "2026-06-25T10:00:00Z"
        and vendor.asked[-1].query["searchWindow"] == "180000"
    )


def test_other_days_other_modes_and_cancelled_trains_are_left_out(motis: Any, vendor: Any) -> None:
    tomorrow = TGV | {"startTime": "2026-06-26T22:30:00Z", "endTime": "2026-06-27T01:00:00Z"}
    vendor.on(
        "/api/v5/plan",
        plan(
            itinerary(tomorrow),
            itinerary(TGV | {"mode": "COACH"}),
            itinerary(TGV | {"cancelled": True}),
        ),
    )
    found = motis.ask("train_search", CALL)
    assert (
        found.records == ()
        and found.note == "No direct train from Karlsruhe to Paris leaves on 2026-06-26."
        and not found.refused
    )


def test_the_most_important_station_of_the_city_is_chosen(motis: Any, vendor: Any) -> None:
    tram = KARLSRUHE | {
        "name": "Karlsruhe Marktplatz",
        "id": "tram",
        "modes": ["TRAM"],
        "importance": 0.9,
    }
    small = KARLSRUHE | {"name": "Karlsruhe West", "id": "small", "importance": 0.1}
    elsewhere = KARLSRUHE | {
        "name": "Karlsruher Strasse",
        "id": "street",
        "areas": [],
        "importance": 1.0,
    }
    vendor.on("/api/v1/geocode", [elsewhere, tram, small, KARLSRUHE], [PARIS])
    motis.ask("train_search", CALL)
    assert vendor.asked[-1].query["fromPlace"] == KARLSRUHE["id"]


def test_a_city_without_a_station_of_its_name_is_a_position(motis: Any, vendor: Any) -> None:
    city = {
        "type": "PLACE",
        "name": "Karlsruhe",
        "id": "node/1",
        "lat": 49.0068705,
        "lon": 8.4034195,
        "areas": [],
        "tz": "Europe/Berlin",
    }
    vendor.on("/api/v1/geocode", [city], [PARIS])
    motis.ask("train_search", CALL)
    assert (
        vendor.asked[-1].query["fromPlace"] == "49.006870,8.403420"
        and vendor.asked[-1].query["maxPreTransitTime"] == "3600"
    )


@pytest.mark.parametrize(
    "matches",
    [
        [],
        [KARLSRUHE | {"name": "Atlantis Karlsruhe", "areas": []}],
        [None, 7, KARLSRUHE | {"name": "Atlantis", "areas": 7}],
    ],
)
def test_an_unknown_city_is_refused(motis: Any, vendor: Any, matches: list[Any]) -> None:
    vendor.on("/api/v1/geocode", matches)
    found = motis.ask("train_search", CALL)
    assert found.refused and "'Karlsruhe'" in found.note and "/api/v5/plan" not in vendor.paths()


@pytest.mark.parametrize("wrong", [{"depart_date": "26 June"}, {"arrival_city_name": ""}])
def test_a_wrong_call_is_refused(motis: Any, vendor: Any, wrong: dict[str, str]) -> None:
    assert motis.ask("train_search", CALL | wrong).refused


def test_the_way_to_the_same_station_is_refused(motis: Any, vendor: Any) -> None:
    vendor.on("/api/v1/geocode", [KARLSRUHE])
    assert motis.ask("train_search", CALL | {"arrival_city_name": "Karlsruhe Hbf"}).refused


@pytest.mark.parametrize(
    "lost", ["mode", "from", "to", "startTime", "endTime", "displayName", "agencyName"]
)
def test_a_missing_field_leaves_the_value_or_the_row_out(
    motis: Any, vendor: Any, lost: str
) -> None:
    broken = copy.deepcopy(TGV) | {
        "tripShortName": "1",
        "routeShortName": "1",
        "displayName": "TGV 1",
    }
    del broken[lost]
    vendor.on("/api/v5/plan", plan({"legs": [broken]}, itinerary(TGV), None, {"legs": 7}))
    offers = {offer.number: offer for offer in motis.ask("train_search", CALL).records}
    assert "TGV 9570" in offers
    assert set(offers) - {"TGV 9570"} == {
        "mode": {"TGV 1"},
        "displayName": {"1"},
        "agencyName": {"TGV 1"},
    }.get(lost, set())
    if lost == "agencyName":
        assert offers["TGV 1"].operator == ""


@pytest.mark.parametrize("path", ["/api/v1/geocode", "/api/v5/plan"])
def test_no_spoilt_answer_breaks_anything(
    motis: Any, spoilt: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    answers = {"/api/v1/geocode": [KARLSRUHE, PARIS], "/api/v5/plan": plan(itinerary(TGV, WALK))}
    good = answers[path]
    monkeypatch.setattr(motis._http, "get", lambda asked, parameters: answers[asked])
    outcomes = set()
    for body in spoilt(good):
        answers[path] = body
        try:
            outcomes.add(type(ProviderAnswer.from_json(motis.ask("train_search", CALL).to_json())))
        except ProviderFault as fault:
            assert fault.kind == "bad_response"
            outcomes.add(ProviderFault)
    assert ProviderAnswer in outcomes and (path == "/api/v1/geocode" or ProviderFault in outcomes)


@pytest.mark.parametrize("path", ["/api/v1/geocode", "/api/v5/plan"])
def test_every_failure_is_its_fault(motis: Any, vendor: Any, failure: Any, path: str) -> None:
    vendor.on(path, failure.answer)
    with pytest.raises(ProviderFault) as caught:
        motis.ask("train_search", CALL)
    assert (caught.value.kind, caught.value.retry_after_s) == (failure.kind, failure.retry_after_s)


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_rejected_query_is_our_fault(motis: Any, vendor: Any, status: int) -> None:
    vendor.on("/api/v5/plan", vendor.answer({"error": "could not parse time"}, status))
    with pytest.raises(ProviderFault, match="could not parse time") as caught:
        motis.ask("train_search", CALL)
    assert caught.value.kind == "bad_response"


def test_the_public_server_is_not_asked_anonymously() -> None:
    with pytest.raises(UserError, match="contact"):
        Motis()
    assert Motis(contact="me@example.org").name == "motis"
    assert (
        Motis(contact="me@example.org").version != Motis(base_url="http://localhost:8080").version
    )
