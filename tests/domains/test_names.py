"""Names of domains, dialects and faces: what comes twice is said, whoever came first."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

from tripwright import domains
from tripwright.domains import domain_named
from tripwright.domains.domain import Requests
from tripwright.domains.place import same_place
from tripwright.errors import UserError

OWN = domain_named("travelplanner")
FACE = replace(OWN.dialects[0].face, name="mine")
DIALECT = replace(OWN.dialects[0], name="mine", face=FACE)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"name": "travelplanner"}, "domain 'travelplanner'"),
        ({"dialects": (replace(DIALECT, name="compact"),)}, "dialect 'compact'"),
        ({"dialects": (replace(DIALECT, face=replace(FACE, name="compact")),)}, "face 'compact'"),
        ({}, ""),
    ],
)
def test_a_name_that_comes_twice_is_said(changed, what, monkeypatch):
    theirs = replace(OWN, **{"name": "mine", "dialects": (DIALECT,), **changed})
    monkeypatch.setitem(sys.modules, "their.domain", SimpleNamespace(DOMAIN=theirs))
    monkeypatch.setattr(domains, "_modules", lambda: (*domains.ROWS.values(), "their.domain"))
    find = domains.domains.__wrapped__
    if not what:
        assert list(find()) == ["travelplanner", "deeptravel", "mine"]
        return
    with pytest.raises(
        UserError,
        match=(
            rf"The {what} is of two domains: 'travelplanner' \(.*\) and '{theirs.name}'"
            r" \(their\.domain\)"
        ),
    ):
        find()


def test_a_name_out_of_a_file_may_be_anything():
    with pytest.raises(UserError, match="Unknown domain"):
        domain_named(["x"])


def test_a_request_is_of_the_domain_whose_fields_it_has(monkeypatch):
    class Words(BaseModel):
        query: str

    named = replace(OWN, name="mine", requests=Requests(Words, made_by="hand"))
    known = {"travelplanner": OWN, "mine": named}
    monkeypatch.setattr(domains, "domains", lambda: known)
    find = domains.domain_of_request
    trip = dict.fromkeys(OWN.requests.fields)
    assert find(trip) is OWN and find({"query": "Where?"}) is named and find({"x": 1}) is None
    known["other"] = replace(named, name="other")
    assert find(trip) is OWN and find({"query": "Where?"}) is None
    assert find(Words(query="Where?")) is named and find(None) is None


def test_a_domain_without_a_generator_is_told_to_name_files():
    bare = replace(OWN, generator=None)
    with pytest.raises(UserError):
        bare.generated()
    floor = [name for name, player in bare.baselines.items() if player.is_floor]
    assert floor == ["fixed_plan", "meal_at_home"]
    assert [*bare.baselines] == ["first_row", "cheapest_row", *floor, "expert"]


def test_the_same_place_is_one_world_or_one_day_of_the_same_services():
    assert same_place({"name": "w", "content_hash": "a"}) == "a"
    day = {"tools": {"flight_search": "x 1"}, "snapshot": "2026-06-20", "mode": "record"}
    assert same_place(day) == same_place(day | {"mode": "replay", "store": "other"})
    assert same_place(day) != same_place(day | {"snapshot": "2026-06-21"})
    assert same_place({"name": "generated"}) is None
