"""What every client of open data and of web search owes whoever asks it, whatever its vendor
does."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.provider import PASSING, Provider, ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import PointOfInterest, Provenance, ProviderAnswer
from tripwright.domains.deeptravel.vendors.nominatim import Nominatim
from tripwright.domains.deeptravel.vendors.osrm import Osrm
from tripwright.domains.deeptravel.vendors.overpass import Overpass
from tripwright.domains.deeptravel.vendors.photon import Photon
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.domains.deeptravel.vendors.searxng import Searxng
from tripwright.domains.deeptravel.vendors.tavily import Tavily
from tripwright.domains.deeptravel.vendors.valhalla import Valhalla

KEY = "tvly-dev-4dF7secret0kEy"
ARGUMENTS = {
    "poi_search": {"query": "museums", "city_name": "Berlin"},
    "route_planning": {"origin_name": "A", "destination_name": "B", "city_name": "Berlin"},
    "web_search": {"query": "museums"},
}


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """What other tests have left, if it is collected at the bottom of JSON that is too deep, fails
    there and is held against this test."""
    gc.disable()
    yield
    gc.enable()


class Atlas:
    name, version, tools, terms = "atlas", "7", frozenset(("poi_search",)), Terms()

    def ask(self, tool: str, arguments: Any) -> ProviderAnswer:
        return ProviderAnswer(
            (PointOfInterest("Berlin", "Berlin", "", "city", 52.517, 13.388),),
            Provenance("atlas", "7", "2026-06-20T09:30:00Z"),
        )


MADE: dict[str, Callable[..., Any]] = {
    "nominatim": Nominatim,
    "photon": Photon,
    "searxng": Searxng,
    "tavily": Tavily,
    "osrm": lambda **options: Osrm(Positions(Atlas()), **options),
    "overpass": lambda **options: Overpass(Positions(Atlas()), **options),
    "valhalla": lambda **options: Valhalla(Positions(Atlas()), **options),
}


@pytest.fixture(params=list(MADE))
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    return MADE[request.param]


def call(provider: Provider) -> ProviderAnswer:
    tool = next(iter(provider.tools))
    return provider.ask(tool, ARGUMENTS[tool])


def test_a_failure_is_a_fault_of_the_right_kind_and_nothing_else(
    make: Any, vendor: Any, failure: Any
) -> None:
    vendor.on("*", failure.answer)
    with pytest.raises(ProviderFault) as fault:
        call(make(base_url=vendor.base_url))
    assert (fault.value.kind, fault.value.retry_after_s) == (
        failure.kind,
        pytest.approx(failure.retry_after_s),
    )
    assert (
        "\n" not in str(fault.value) and KEY not in str(fault.value) and len(str(fault.value)) < 600
    )


def test_a_vendor_that_says_nothing_is_a_timeout_that_may_pass(make: Any, vendor: Any) -> None:
    vendor.on("*", vendor.answer(hang=True))
    with pytest.raises(ProviderFault, match="did not answer within 0.1 s") as fault:
        call(make(base_url=vendor.base_url, timeout_s=0.1))
    assert fault.value.kind == "timeout" and fault.value.kind in PASSING


def test_a_vendor_that_is_not_there_is_a_connection_fault(make: Any) -> None:
    with socket.socket() as taken:  # bound and never listening: nobody can be there
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ProviderFault, match="cannot be reached") as fault:
            call(make(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}"))
    assert fault.value.kind == "connection"


@pytest.mark.parametrize("status", [301, 302, 404, 410, 414, 418])
def test_any_other_status_is_no_answer(make: Any, vendor: Any, status: int) -> None:
    vendor.on("*", vendor.answer(f"what is this? {KEY}", status, {"location": "/elsewhere"}))
    with pytest.raises(ProviderFault) as fault:
        call(make(base_url=vendor.base_url))
    assert fault.value.kind == "bad_response" and str(status) in str(fault.value)


def test_a_tool_of_somebody_else_is_a_fault(make: Any, vendor: Any) -> None:
    provider = make(base_url=vendor.base_url)
    with pytest.raises(ProviderFault, match=f"{provider.name} does not answer flight_search"):
        provider.ask("flight_search", {})
    assert vendor.asked == []


def test_every_client_says_its_terms_and_who_it_is(make: Any, vendor: Any) -> None:
    provider = make(base_url=vendor.base_url, contact="https://example.org")
    assert provider.terms.attribution and provider.terms.terms_url.startswith("https://")
    assert provider.version.startswith("1; ")
    vendor.on("*", [])
    with suppress(ProviderFault):  # an empty list is no answer of most
        call(provider)
    assert vendor.asked[0].headers["user-agent"].endswith("(https://example.org)")


@pytest.mark.parametrize("arguments", [{}, {"query": None, "city_name": 3, "origin_name": ["a"]}])
def test_arguments_that_are_missing_or_odd_are_refused(
    make: Any, vendor: Any, arguments: Any
) -> None:
    provider = make(base_url=vendor.base_url)
    assert provider.ask(next(iter(provider.tools)), arguments).refused
    assert vendor.asked == []
