"""`tripwright tool` with the faces of the six live tools, answered from a closed world."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.made import flight, made_tables
from tripwright.world.store import write_world

DAY = "2022-03-16"
WAY = json.dumps({"depart_city_name": "Boston", "arrival_city_name": "Salem", "depart_date": DAY})


@pytest.fixture
def folder(tmp_path: Path) -> str:
    times = "23:50", "00:20", "0 hours 30 minutes"
    flights = [flight("F1", "Boston", "Salem", 88, DAY, times, "15.0")]
    cities = dict.fromkeys(("Boston", "Salem"), "Massachusetts")
    tables = made_tables(cities, flights, [("Boston", "Salem", "26 mins", "25.9 km")])
    write_world(tmp_path / "w", tables)
    return str(tmp_path / "w")


@pytest.fixture
def said(typed: Callable[..., Any]) -> Callable[..., str]:
    """said(*words) → the answer of `tripwright tool`, without a word on stderr."""

    def run(*words: str) -> str:
        printed = typed("tool", words)
        assert not printed.err
        return printed.out

    return run


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("flight_search", WAY.replace("Salem", "Slem"), "Did you mean 'Salem'?"),
        ("search_flights", "{}", "Unknown tool 'search_flights'"),
        ("web_search", "{}", "Missing argument 'query'"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(folder, name, arguments, problem, refused):
    assert problem in refused(["tool", name, arguments, "--world", folder, "--face", "deeptravel"])


def test_a_recorded_answer_is_given_again_and_nobody_is_asked(folder, tmp_path, said, refused):
    stored = ["--face", "deeptravel", "--store", str(tmp_path / "live.sqlite")]
    replay = [*stored, "--snapshot", DAY, "--replay"]
    live = said("flight_search", WAY, "--world", folder, *stored)
    assert said("flight_search", WAY, *replay) == live
    assert f"not recorded in the snapshot of {DAY}" in refused(
        ["tool", "web_search", '{"query": "x"}', *replay]
    )
    assert "answer from a closed world" in refused(
        ["tool", "flight_search", WAY, "--face", "star", *stored[2:]]
    )
