"""`tripwright world browse`: what is unknown is not called none, and nobody waits for a number."""

from pathlib import Path
from typing import Any

import pytest

from tests.made import flight, made_tables, stay
from tripwright.world.store import World, write_world

DAY = "2022-03-01"


@pytest.fixture
def partly_known(tmp_path: Path) -> str:
    """Three cities; of one day, the searches Aston to Brook (one flight) and Brook to Aston (none)
    are known."""
    cities = {"Aston": "W", "Brook": "E", "Cove": "E"}
    rows = {"flights": [flight("F1", "Aston", "Brook")], "stays": [stay("Nook", "Aston")]}
    known = [("Aston", "Brook", DAY), ("Brook", "Aston", DAY)]
    write_world(tmp_path / "w", made_tables(cities, **rows, covered_searches=known))
    return str(tmp_path / "w")


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_an_unknown_day_is_not_called_no_flights(partly_known, as_json, refused):
    for city, date in (("Cove", DAY), ("Aston", "2022-03-02"), ("Aston", "2029-01-01")):
        line = f"world browse {partly_known} flights --from {city} --date {date}"
        said = refused(line, as_json)
        assert city in said and f"on {date} are outside this world's records." in said


def test_a_partly_known_day_says_so(partly_known, typed):
    partly = f"1 of the 2 searches from %s on {DAY} are outside this world's records\n"
    for way, said in (
        ("--from Aston", "1 row\n" + partly % "Aston"),
        ("--from Brook", "0 rows\n" + partly % "Brook"),
        ("--from Brook --to Aston", "0 rows\n"),
    ):
        assert typed(f"world browse {partly_known} flights {way} --date {DAY}").err == said
    assert "may be unknown" in typed(f"world browse {partly_known} routes --from Cove").err


@pytest.mark.parametrize("date", ["2022-13-45", "2022-02-30", "20220301", "March"])
def test_a_day_that_does_not_exist_is_one_line(partly_known, date, refused):
    line = f"world browse {partly_known} flights --from Aston --date {date}"
    assert "'--date'" in refused(line)


def test_routes_that_are_not_shown_are_not_added_up(tmp_path, typed, monkeypatch):
    cities = {f"Town {i}": "W" for i in range(30)}
    flights = [flight(f"F{i}", "Town 0", f"Town {i}") for i in range(1, 30)]
    write_world(tmp_path / "w", made_tables(cities, flights))
    asked: list[Any] = []
    look_up = World.flights
    monkeypatch.setattr(
        World, "flights", lambda self, *search: asked.append(search) or look_up(self, *search)
    )
    found = typed(f"world browse {tmp_path}/w routes --count 3").err
    assert found == "the first 3 rows; --count 0 shows all\n"
    assert len(asked) <= 4
