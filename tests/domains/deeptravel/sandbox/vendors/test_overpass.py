"""Overpass's client against a local server that answers as its documentation shows."""

from __future__ import annotations

from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import PointOfInterest, Provenance, ProviderAnswer
from tripwright.domains.deeptravel.vendors.overpass import Overpass, overpass_ql
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.errors import UserError
from tripwright.world.geography import Position

BERLIN = Position(52.517, 13.388)
CALL = {"query": "museums", "city_name": "Berlin"}
# The frame: https://dev.overpass-api.de/output_formats.html; an area has its middle through `out
# center`.
HEADER = {
    "version": 0.6,
    "generator": "Overpass API",
    "osm3s": {
        "timestamp_osm_base": "2017-03-17T22:05:02Z",
        "copyright": (
            "The data included in this document is from www.openstreetmap.org. The data is made"
            " available under ODbL."
        ),
    },
}
NEAR = {
    "type": "node",
    "id": 1,
    "lat": 52.518,
    "lon": 13.389,
    "tags": {"tourism": "museum", "name": "Kleines Museum"},
}
KNOWN = {
    "type": "way",
    "id": 2,
    "center": {"lat": 52.521, "lon": 13.397},
    "nodes": [11, 12, 13, 11],
    "tags": {
        "tourism": "museum",
        "name": "Pergamonmuseum",
        "name:en": "Pergamon Museum",
        "wikidata": "Q157298",
        "addr:street": "Bodestraße",
        "addr:housenumber": "1-3",
        "addr:postcode": "10178",
        "addr:city": "Berlin",
    },
}
FAR_AND_KNOWN = {
    "type": "node",
    "id": 3,
    "lat": 52.6,
    "lon": 13.3,
    "tags": {"historic": "city_gate", "name": "Tor", "wikipedia": "de:Tor"},
}


class Atlas:
    name, version, tools, terms = (
        "atlas",
        "7",
        frozenset(("poi_search",)),
        Terms(attribution="© Atlas"),
    )

    def ask(self, tool: str, arguments: Any) -> ProviderAnswer:
        places = (
            (PointOfInterest("Berlin", "Berlin", "", "city", *BERLIN),)
            if arguments == {"query": "Berlin", "city_name": ""}
            else ()
        )
        return ProviderAnswer(places, Provenance("atlas", "7", "2026-06-20T09:30:00Z"))


@pytest.fixture
def overpass(vendor: Any) -> Any:
    client = Overpass(Positions(Atlas()), base_url=vendor.base_url)
    yield client
    client.close()


def test_notable_places_come_first_then_near_ones(overpass: Any, vendor: Any) -> None:
    vendor.on("/api/interpreter", HEADER | {"elements": [NEAR, FAR_AND_KNOWN, KNOWN]})
    found = overpass.ask("poi_search", CALL)
    assert found.records == (
        PointOfInterest(
            "Pergamon Museum", "Berlin", "Bodestraße 1-3, 10178 Berlin", "museum", 52.521, 13.397
        ),
        PointOfInterest("Tor", "Berlin", "", "city gate", 52.6, 13.3),
        PointOfInterest("Kleines Museum", "Berlin", "", "museum", 52.518, 13.389),
    )
    assert (
        "ODbL" in found.source.attribution
        and found.source.attribution.endswith("© Atlas")
        and found.source.may_store
    )


def test_the_answer_does_not_depend_on_the_order_of_the_elements(
    overpass: Any, vendor: Any
) -> None:
    vendor.on(
        "/api/interpreter",
        {"elements": [NEAR, KNOWN, FAR_AND_KNOWN]},
        {"elements": [FAR_AND_KNOWN, KNOWN, NEAR]},
    )
    first, second = (overpass.ask("poi_search", CALL).records for _ in range(2))
    assert first == second


def test_the_question_is_posted_as_a_form(overpass: Any, vendor: Any) -> None:
    vendor.on("/api/interpreter", HEADER | {"elements": []})
    found = overpass.ask("poi_search", CALL)
    asked = vendor.asked[0]
    assert (asked.method, asked.path) == ("POST", "/api/interpreter")
    expected = (
        '[out:json][timeout:25];(nwr["tourism"="museum"]["name"](around:10000,52.517000,13.388000););out'
        " body center 500;"
    )
    assert asked.form == {"data": expected}
    assert asked.headers["user-agent"].startswith("tripwright/")
    assert (found.records, found.refused, found.note) == (
        (),
        False,
        "No 'museums' found within 10 km of Berlin.",
    )


@pytest.mark.parametrize(
    ("query", "filter_of_it"),
    [
        ("Museum", '["tourism"="museum"]'),
        ("the best museums in Berlin", '["tourism"="museum"]'),
        ("galleries", '["tourism"="gallery"]'),
        ("churches near the centre", '["building"="church"]'),
        ("theme parks", '["tourism"="theme_park"]'),
        ("cafés", '["name"~"cafés",i]'),
        ("Pergamon Museum", '["name"~"Pergamon Museum",i]'),
        ("Pergamon Museum, Berlin", '["name"~"Pergamon Museum",i]'),
        ("Pergamon Museum in berlin", '["name"~"Pergamon Museum",i]'),
        ("Berlin", '["name"~"Berlin",i]'),
    ],
)
def test_a_kind_is_looked_for_by_its_tags_and_all_else_by_name(
    query: str, filter_of_it: str
) -> None:
    assert f"nwr{filter_of_it}" in overpass_ql(query, "Berlin", BERLIN, 10)


def test_sights_are_of_several_kinds() -> None:
    assert overpass_ql("things to do", "Berlin", BERLIN, 10).count("nwr[") == 3


@pytest.mark.parametrize(
    "query", ['x"];out;[', "a\\", '\\"a', "a[(*", "a}}", 'my museum"][', "a\nb"]
)
def test_nothing_in_a_query_leaves_its_quotes(overpass: Any, vendor: Any, query: str) -> None:
    vendor.on("/api/interpreter", {"elements": []})
    overpass.ask("poi_search", {"query": query, "city_name": "Berlin"})
    asked = vendor.asked[0].form["data"]
    outside, quoted, escaped = [], False, False
    for letter in asked:
        if not quoted:
            outside.append(letter)
        if escaped:
            escaped = False
        elif quoted and letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
    assert not quoted
    assert (
        "".join(outside)
        == '[out:json][timeout:25];(nwr["~",i]["](around:10000,52.517000,13.388000););out body'
        " center 500;"
    )


@pytest.mark.parametrize(
    "remark",
    [
        'runtime error: Query timed out in "query" at line 4 after 2 seconds.',
        "runtime error: out of memory",
    ],
)
def test_half_an_answer_with_a_remark_is_a_fault(overpass: Any, vendor: Any, remark: str) -> None:
    vendor.on("/api/interpreter", HEADER | {"elements": [NEAR], "remark": remark})
    with pytest.raises(ProviderFault, match="gave up: runtime error") as fault:
        overpass.ask("poi_search", CALL)
    assert fault.value.kind == "server_error"


def test_a_remark_about_nothing_bad_is_none(overpass: Any, vendor: Any) -> None:
    vendor.on("/api/interpreter", HEADER | {"elements": [NEAR], "remark": "runtime remark: Test"})
    assert len(overpass.ask("poi_search", CALL).records) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "node", "lat": 52.5, "lon": 13.4},
        {"type": "node", "lat": 52.5, "lon": 13.4, "tags": {"name": ""}},
        {"type": "node", "lat": 52.5, "lon": 13.4, "tags": ["name"]},
        {"type": "node", "tags": {"name": "nowhere"}},
        {"type": "way", "center": {"lat": 95, "lon": 13.4}, "tags": {"name": "off the globe"}},
        {"type": "way", "center": [52.5, 13.4], "tags": {"name": "a list"}},
        None,
    ],
)
def test_what_has_no_name_or_position_is_skipped_and_nothing_but_such_is_a_fault(
    overpass: Any, vendor: Any, odd: Any
) -> None:
    vendor.on("/api/interpreter", {"elements": [odd, NEAR]}, {"elements": [odd]})
    assert [place.name for place in overpass.ask("poi_search", CALL).records] == ["Kleines Museum"]
    with pytest.raises(ProviderFault) as fault:
        overpass.ask("poi_search", CALL)
    assert fault.value.kind == "bad_response"


def test_an_unknown_city_is_the_callers_mistake(overpass: Any, vendor: Any) -> None:
    found = overpass.ask("poi_search", {"query": "museums", "city_name": "Atlantis"})
    assert (found.refused, found.note) == (True, "No city named 'Atlantis' is known.")
    assert overpass.ask("poi_search", {"query": "museums", "city_name": ""}).note.startswith(
        "The city_name is empty"
    )
    assert vendor.asked == []


def test_settings_are_in_the_version_and_wrong_ones_are_said(vendor: Any) -> None:
    positions = Positions(Atlas())
    versions = {
        Overpass(positions, **options).version
        for options in ({}, {"radius_km": 5.0}, {"max_results": 3}, {"language": "de"})
    }
    assert len(versions) == 4
    for radius_km in (0.0, -1.0, 101.0, float("nan")):
        with pytest.raises(UserError, match="radius_km of 'overpass' is above 0 and at most 100"):
            Overpass(positions, radius_km=radius_km)


def test_the_budget_is_as_published(overpass: Any) -> None:
    assert (overpass.terms.requests_per_second, overpass.terms.burst) == (0.5, 2)
    assert (
        overpass.terms.terms_url
        == "https://dev.overpass-api.de/overpass-doc/en/preface/commons.html"
    )
