"""What people see of a world: lists with filters, and one line for what there is not."""

import pytest

from tripwright.errors import UserError
from tripwright.world.browse import LISTINGS, Filters, browse
from tripwright.world.generator import build_world
from tripwright.world.store import World


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build_world(tmp_path_factory.mktemp("browse") / "nano", "nano", 4)


def test_every_list_has_its_columns(nano):
    city, date = next(iter(nano.cities)), nano.dates[0]
    asked = {"flights": Filters(origin=city, date=date), "roads": Filters(origin=city)}
    for what in LISTINGS:
        columns, rows = browse(nano, what, asked.get(what, Filters()))
        found = list(rows)
        assert found and all(len(row) == len(columns) for row in found)


def test_filters_hold_for_every_row_and_drop_no_other(nano):
    state = next(iter(nano.states))
    filters = Filters(state=state, word="private")
    expected = [
        row
        for city in nano.states[state]
        for row in nano.accommodations(city)
        if row.room_type == "Private room"
    ]
    assert list(browse(nano, "hotels", filters)[1]) == expected
    origin, destination = next(iter(nano.routes()))
    found = list(
        browse(
            nano, "flights", Filters(origin=origin, destination=destination, date=nano.dates[1])
        )[1]
    )
    assert found == nano.flights(origin, destination, nano.dates[1])
    ((_, _, days, flights, low, high, _, _),) = browse(
        nano, "routes", Filters(origin=origin, destination=destination)
    )[1]
    prices = [
        flight.price_usd
        for date in nano.dates
        for flight in nano.flights(origin, destination, date) or []
    ]
    assert (flights, low, high) == (len(prices), min(prices), max(prices))
    assert days <= len(nano.dates)
    assert all("Thai" in str(row) for row in browse(nano, "restaurants", Filters(word="thai"))[1])


def test_routes_are_exactly_the_pairs_with_flights(nano):
    pairs = [
        (a, b)
        for a in nano.cities
        for b in nano.cities
        if any(nano.flights(a, b, date) for date in nano.dates)
    ]
    assert sorted(nano.routes()) == sorted(pairs)
    origin = pairs[0][0]
    assert sorted(nano.routes(origin)) == sorted(pair for pair in pairs if pair[0] == origin)
    assert list(nano.routes("Nowhere")) == []


@pytest.mark.parametrize(
    ("what", "filters", "told"),
    [
        ("cars", Filters(), "Unknown list 'cars'. Accepted: cities, routes"),
        ("flights", Filters(state="x"), "--state does not apply to flights. The filters"),
        ("hotels", Filters(city="Nowhere"), "has no city 'Nowhere'"),
        ("flights", Filters(), "Which flights"),
    ],
)
def test_what_there_is_not_is_one_line(nano, what, filters, told):
    with pytest.raises(UserError, match=told) as problem:
        list(browse(nano, what, filters)[1])
    assert "\n" not in str(problem.value)


def test_the_command_says_when_a_list_is_cut(nano, typed):
    told = typed(f"world browse {nano.folder} cities --count 3")
    assert sum(city in told.out for city in nano.cities) == 3 and "the first 3 rows" in told.err
    rows = typed(f"world browse {nano.folder} cities --count 0 --json").records
    assert [row["city"] for row in rows] == list(nano.cities)
    none = typed(f"world browse {nano.folder} restaurants --word 'no such dish'")
    assert "0 rows" in none.err


def test_info_says_size_dates_and_coverage(nano, typed):
    told = typed(f"world info {nano.folder} --verify").out
    assert nano.content_hash in told
    record = typed(f"world info {nano.folder} --verify --json").record
    assert (record["first_date"], record["last_date"]) == ("2022-03-01", "2022-03-14")
    assert record["flights_complete"] and record["size_mb"] > 0 and record["verified"]
