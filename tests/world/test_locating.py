"""Cities lie where their sights are, unless roads or flights say otherwise."""

import pytest

from tripwright.world.geography import KM_PER_MILE, Position, great_circle_km, locate

TRUE = {f"City{i}": Position(32 + 2.1 * (i % 7), -118 + 2.9 * (i % 16)) for i in range(40)}
ROADS: dict[tuple[str, str], float | None] = {
    (a, b): great_circle_km(TRUE[a], TRUE[b]) / (0.80 + 0.08 * ((i + j) % 3) / 2)
    for i, a in enumerate(TRUE)
    for j, b in enumerate(TRUE)
    if a != b and (i * j) % 3 == 1
}
MILES = {
    ("City9", other): great_circle_km(TRUE["City9"], TRUE[other]) / KM_PER_MILE
    for other in ("City2", "City20", "City33", "City30")
}


def off(found: dict[str, Position], city: str) -> float:
    return great_circle_km(found[city], TRUE[city])


def test_sights_that_the_roads_bear_out_stay():
    assert locate(TRUE, ROADS, MILES) == TRUE


@pytest.mark.parametrize("wrong", [Position(58.4, -135.7), None])
def test_sights_in_another_city_of_the_name_give_way_to_the_roads(wrong):
    sights = {city: place for city, place in TRUE.items() if city != "City7"} | (
        {"City7": wrong} if wrong else {}
    )
    found = locate(sights, ROADS, {})
    assert off(found, "City7") < 100
    assert {city: place for city, place in found.items() if city != "City7"} == {
        c: p for c, p in TRUE.items() if c != "City7"
    }


def test_flights_contradict_sights_and_where_they_meet_is_the_city():
    assert not any("City9" in route for route in ROADS)
    found = locate(TRUE | {"City9": Position(53.5, -2.2)}, ROADS, MILES)
    assert off(found, "City9") < 20


def test_what_nothing_tells_stays_unknown():
    one = dict(list(MILES.items())[:1])
    assert "City9" not in locate(TRUE | {"City9": Position(53.5, -2.2)}, ROADS, one)
    assert "Atlantis" not in locate(TRUE, ROADS | {("Atlantis", "City0"): 800.0}, {})


def test_roads_that_agree_with_contradicted_sights_do_not_bring_them_back():
    flown = {
        ("City7", other): 4 * great_circle_km(TRUE["City7"], TRUE[other]) / KM_PER_MILE
        for other in ("City1", "City4")
    }
    assert any("City7" in route for route in ROADS)
    assert "City7" not in locate(TRUE, ROADS, flown)
