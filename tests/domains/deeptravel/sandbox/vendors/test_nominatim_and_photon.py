"""The clients of Nominatim and Photon against a local server that answers as their documentations
show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tripwright import __version__
from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import PointOfInterest, ProviderAnswer
from tripwright.domains.deeptravel.vendors.nominatim import Nominatim
from tripwright.domains.deeptravel.vendors.photon import Photon
from tripwright.errors import UserError

# https://nominatim.org/release-docs/latest/api/Output/: the example of the JSON format, with the
# two changes of JSONv2.
LONDON = {
    "place_id": 100149,
    "licence": "Data © OpenStreetMap contributors, ODbL 1.0. https://osm.org/copyright",
    "osm_type": "node",
    "osm_id": "107775",
    "boundingbox": ["51.3473219", "51.6673219", "-0.2876474", "0.0323526"],
    "lat": "51.5073219",
    "lon": "-0.1276474",
    "display_name": "London, Greater London, England, SW1A 2DU, United Kingdom",
    "category": "place",
    "type": "city",
    "place_rank": 15,
    "importance": 0.9654895765402,
    "address": {
        "city": "London",
        "state_district": "Greater London",
        "state": "England",
        "postcode": "SW1A 2DU",
        "country_code": "gb",
    },
}
# https://nominatim.org/release-docs/latest/api/Search/: "bakery in berlin wedding"
BAKERY = {
    "address": {
        "bakery": "Bäcker Kamps",
        "city_district": "Mitte",
        "state": "Berlin",
        "suburb": "Wedding",
        "country_code": "de",
    },
    "category": "shop",
    "display_name": (
        "Bäcker Kamps, Bahnsteig U6, Sprengelkiez, Wedding, Mitte, Berlin, 13353, Deutschland,"
        " European Union"
    ),
    "lat": "52.5460941",
    "lon": "13.35918",
    "type": "bakery",
}
# https://github.com/komoot/photon/blob/master/docs/api-v1.md#results-for-search-and-reverse
PHOTON_ANSWER: dict[str, Any] = {
    "features": [
        {
            "properties": {
                "name": "Berlin",
                "state": "Berlin",
                "country": "Germany",
                "countrycode": "DE",
                "osm_key": "place",
                "osm_value": "city",
                "osm_type": "N",
                "osm_id": 240109189,
            },
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [13.3888599, 52.5170365]},
        },
        {
            "properties": {
                "name": "Berlin Olympic Stadium",
                "street": "Olympischer Platz",
                "housenumber": "3",
                "postcode": "14053",
                "state": "Berlin",
                "country": "Germany",
                "countrycode": "DE",
                "osm_key": "leisure",
                "osm_value": "stadium",
                "osm_type": "W",
                "osm_id": 38862723,
                "extent": [13.23727, 52.5157151, 13.241757, 52.5135972],
            },
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [13.239514674078611, 52.51467945]},
        },
    ]
}
SOMEWHERE = {"query": "bakery", "city_name": "Berlin Wedding"}


@pytest.fixture
def nominatim(vendor: Any) -> Any:
    east = timezone(timedelta(hours=2))
    client = Nominatim(
        base_url=vendor.base_url,
        contact="https://example.org",
        now=lambda: datetime(2026, 6, 20, 11, 30, tzinfo=east),
    )
    yield client
    client.close()


@pytest.fixture
def photon(vendor: Any) -> Any:
    client = Photon(base_url=vendor.base_url, now=lambda: datetime(2026, 6, 20, 9, 30, tzinfo=UTC))
    yield client
    client.close()


def test_nominatim_reads_its_published_examples(nominatim: Any, vendor: Any) -> None:
    vendor.on("/search", [LONDON, BAKERY])
    found = nominatim.ask("poi_search", SOMEWHERE)
    address = (
        "Bäcker Kamps, Bahnsteig U6, Sprengelkiez, Wedding, Mitte, Berlin, 13353, Deutschland,"
        " European Union"
    )
    assert found.records == (
        PointOfInterest(
            "London",
            "London",
            "London, Greater London, England, SW1A 2DU, United Kingdom",
            "city",
            51.5073219,
            -0.1276474,
        ),
        PointOfInterest("Bäcker Kamps", "Berlin Wedding", address, "bakery", 52.5460941, 13.35918),
    )
    assert ProviderAnswer.from_json(found.to_json()) == found


def test_nominatim_asks_as_the_documentation_and_the_policy_want_it(
    nominatim: Any, vendor: Any
) -> None:
    vendor.on("/search", [LONDON])
    nominatim.ask("poi_search", SOMEWHERE)
    assert vendor.asked[0].query == {
        "q": "bakery, Berlin Wedding",
        "format": "jsonv2",
        "addressdetails": "1",
        "limit": "10",
        "accept-language": "en",
    }
    assert (
        vendor.asked[0].headers["user-agent"] == f"tripwright/{__version__} (https://example.org)"
    )
    assert nominatim.terms.requests_per_second == 1.0 and nominatim.terms.burst == 1
    assert nominatim.terms.attribution.startswith("© OpenStreetMap contributors, ODbL")
    assert nominatim.terms.terms_url == "https://operations.osmfoundation.org/policies/nominatim/"


def test_the_source_says_who_when_and_on_what_terms(nominatim: Any, vendor: Any) -> None:
    vendor.on("/search", [LONDON])
    source = nominatim.ask("poi_search", {"query": "London", "city_name": ""}).source
    assert (source.provider, source.fetched_at, source.may_store) == (
        "nominatim",
        "2026-06-20T09:30:00Z",
        True,
    )
    assert (
        source.version == f"1; server={vendor.base_url}; format=jsonv2; language=en; max_results=10"
        and "ODbL" in source.attribution
    )
    assert vendor.asked[0].query["q"] == "London"


def test_every_setting_that_changes_an_answer_changes_the_version(vendor: Any) -> None:
    clients = [
        Nominatim(),
        Nominatim(language="de"),
        Nominatim(max_results=3),
        Photon(),
        Photon(language="de"),
        Photon(max_results=3),
    ]
    own = [Nominatim(base_url="http://localhost:8080"), Photon(base_url="http://localhost:2322/")]
    assert len({(client.name, client.version) for client in clients + own}) == 8
    assert Nominatim(contact="https://example.org", timeout_s=3.0).version == Nominatim().version


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"name": "Tower"}, PointOfInterest("Tower", "Berlin Wedding")),
        ({"name": "Tower", "lat": "north", "lon": "1"}, PointOfInterest("Tower", "Berlin Wedding")),
        ({"name": "Tower", "lat": "91", "lon": "1"}, PointOfInterest("Tower", "Berlin Wedding")),
        (
            {"name": "Tower", "lat": 51.5, "lon": 0},
            PointOfInterest("Tower", "Berlin Wedding", latitude=51.5, longitude=0.0),
        ),
        ({"name": "Tower", "address": ["London"]}, PointOfInterest("Tower", "Berlin Wedding")),
        ({"name": "Tower", "address": {"town": "Ely"}}, PointOfInterest("Tower", "Ely")),
        (
            {"name": 3, "display_name": "Tower, London"},
            PointOfInterest("Tower", "Berlin Wedding", "Tower, London"),
        ),
        (
            {"name": "To\ud800wer\nof", "type": "city_gate"},
            PointOfInterest("To?wer of", "Berlin Wedding", "", "city gate"),
        ),
    ],
)
def test_nominatim_a_field_that_is_missing_or_odd_is_left_out(
    nominatim: Any, vendor: Any, entry: Any, place: PointOfInterest
) -> None:
    vendor.on("/search", [entry])
    found = nominatim.ask("poi_search", SOMEWHERE)
    assert found.records == (place,)
    found.to_json().encode()


def test_what_has_no_name_is_skipped_and_nothing_but_such_is_a_fault(
    nominatim: Any, photon: Any, vendor: Any
) -> None:
    vendor.on("/search", [{"lat": "1", "lon": "2"}, LONDON], [{"lat": "1", "lon": "2"}])
    assert [place.name for place in nominatim.ask("poi_search", SOMEWHERE).records] == ["London"]
    with pytest.raises(ProviderFault) as fault:
        nominatim.ask("poi_search", SOMEWHERE)
    assert fault.value.kind == "bad_response"


def test_nothing_found_is_an_answer(nominatim: Any, photon: Any, vendor: Any) -> None:
    vendor.on("/search", [])
    vendor.on("/api", {"type": "FeatureCollection", "features": []})
    for client in (nominatim, photon):
        found = client.ask("poi_search", SOMEWHERE)
        assert (found.records, found.refused, found.note) == (
            (),
            False,
            "No place found for 'bakery, Berlin Wedding'.",
        )


@pytest.mark.parametrize(("query", "word"), [("  ", "empty"), ("x" * 500, "too long")])
def test_a_query_that_is_none_is_refused_before_anyone_is_asked(
    nominatim: Any, photon: Any, vendor: Any, query: str, word: str
) -> None:
    for client in (nominatim, photon):
        found = client.ask("poi_search", {"query": query, "city_name": "Berlin"})
        assert found.refused and word in found.note
    assert vendor.asked == []


def test_no_more_than_what_was_asked_for(vendor: Any) -> None:
    vendor.on("/search", [LONDON] * 5)
    vendor.on("/api", {"features": PHOTON_ANSWER["features"] * 3})
    assert (
        len(Nominatim(base_url=vendor.base_url, max_results=2).ask("poi_search", SOMEWHERE).records)
        == 2
    )
    assert (
        len(Photon(base_url=vendor.base_url, max_results=2).ask("poi_search", SOMEWHERE).records)
        == 2
    )


def test_photon_reads_its_published_example(photon: Any, vendor: Any) -> None:
    vendor.on("/api", PHOTON_ANSWER)
    found = photon.ask("poi_search", {"query": "berlin", "city_name": ""})
    assert found.records == (
        PointOfInterest("Berlin", "Berlin", "Berlin, Germany", "city", 52.5170365, 13.3888599),
        PointOfInterest(
            "Berlin Olympic Stadium",
            "",
            "Olympischer Platz 3, 14053, Berlin, Germany",
            "stadium",
            52.51467945,
            13.239514674078611,
        ),
    )
    assert vendor.asked[0].query == {"q": "berlin", "limit": "10", "lang": "en"}
    assert "ODbL" in found.source.attribution and photon.terms.requests_per_second == 1.0


@pytest.mark.parametrize(
    ("feature", "place"),
    [
        (
            {"properties": {"street": "Ring", "housenumber": "7", "city": "Linz"}},
            PointOfInterest("Ring 7", "Linz", "Ring 7, Linz"),
        ),
        (
            {"properties": {"name": "Ring"}, "geometry": {"coordinates": [13.4]}},
            PointOfInterest("Ring", "Berlin Wedding"),
        ),
        (
            {"properties": {"name": "Ring"}, "geometry": {"coordinates": ["13.4", None]}},
            PointOfInterest("Ring", "Berlin Wedding"),
        ),
        (
            {"properties": {"name": "Ring", "osm_value": 3}, "geometry": None},
            PointOfInterest("Ring", "Berlin Wedding"),
        ),
    ],
)
def test_photon_a_field_that_is_missing_or_odd_is_left_out(
    photon: Any, vendor: Any, feature: Any, place: PointOfInterest
) -> None:
    vendor.on("/api", {"features": [feature]})
    assert photon.ask("poi_search", SOMEWHERE).records == (place,)


def test_a_refusal_of_the_parameters_is_our_fault(photon: Any, vendor: Any) -> None:
    vendor.on("/api", vendor.answer({"message": "language xx is not supported"}, 400))
    with pytest.raises(ProviderFault, match="400.*language xx is not supported") as fault:
        photon.ask("poi_search", SOMEWHERE)
    assert fault.value.kind == "bad_response"


def test_a_server_of_ones_own_has_its_own_terms(vendor: Any) -> None:
    own = Terms(requests_per_second=None, attribution="our copy of OpenStreetMap")
    assert Nominatim(base_url=vendor.base_url, terms=own).terms == own


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_results": 0}, "max_results of 'nominatim' is from 1 to 50: found 0"),
        (
            {"base_url": "nominatim.example.org"},
            "base_url of 'nominatim' is no URL: expected one like https://example.org",
        ),
        ({"base_url": "https://example.org:99999"}, "is no URL"),
        ({"base_url": "https://me:pw@example.org"}, "found one with a user or a query"),
        ({"base_url": "https://example.org/?key=1"}, "found one with a user or a query"),
        ({"contact": "a\r\nX-Evil: 1"}, "plain ASCII"),
        ({"contact": "Zoë"}, "plain ASCII"),
    ],
)
def test_wrong_options_are_said_in_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        Nominatim(**options)
    assert "\n" not in str(error.value) and "me:pw" not in str(error.value)
