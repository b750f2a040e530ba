"""`tripwright tool` with the faces of the six live tools, answered from a closed world."""

import json
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.world.folder import write_world
from tripwright.world.records import WorldTables

DAY = "2022-03-16"
WAY = json.dumps({"depart_city_name": "Boston", "arrival_city_name": "Salem", "depart_date": DAY})


@pytest.fixture
def folder(tmp_path: Path) -> str:
    cities = [("Boston", "Massachusetts"), ("Salem", "Massachusetts")]
    flights = [("F1", "88", "23:50", "00:20", "0 hours 30 minutes", DAY, "Boston", "Salem", "15.0")]
    write_world(
        tmp_path / "w",
        WorldTables(cities, flights, [("Boston", "Salem", "26 mins", "25.9 km")], [], [], []),
    )
    return str(tmp_path / "w")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["tool", *words]) == 0
    out, err = capsys.readouterr()
    assert not err
    return out


def test_a_live_tool_answers_in_both_faces(folder, capsys):
    answer = json.loads(
        said(capsys, "flight_search", WAY, "--world", folder, "--face", "deeptravel")
    )
    (row,) = answer["rows"]
    assert (row["row"], row["number"], row["arrives_at"], row["price"]) == (
        1,
        "F1",
        "2022-03-17T00:20",
        88.0,
    )
    assert answer["source"] == f"world, {DAY}T00:00:00Z"
    compact = said(capsys, "flight_search", WAY, "--world", folder, "--face", "deeptravel_compact")
    assert compact == '{"rows":[["A","F1","23:50","00:20",88]]}\n'
    trains = json.loads(
        said(capsys, "train_search", WAY, "--world", folder, "--face", "deeptravel")
    )["rows"]
    assert trains and all(8 <= train["minutes"] <= 40 for train in trains)


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("flight_search", WAY.replace("Salem", "Slem"), "Did you mean 'Salem'?"),
        ("search_flights", "{}", "Unknown tool 'search_flights'"),
        ("web_search", "{}", "Missing argument 'query'"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(folder, name, arguments, problem, capsys):
    assert main(["tool", name, arguments, "--world", folder, "--face", "deeptravel"]) == 2
    out, err = capsys.readouterr()
    assert not out and problem in err and err.count("\n") == 1


def test_a_recorded_answer_is_given_again_and_nobody_is_asked(folder, tmp_path, capsys, refused):
    stored = ["--face", "deeptravel", "--store", str(tmp_path / "live.sqlite")]
    replay = [*stored, "--snapshot", DAY, "--replay"]
    live = said(capsys, "flight_search", WAY, "--world", folder, *stored)
    assert said(capsys, "flight_search", WAY, *replay) == live
    assert f"not recorded in the snapshot of {DAY}" in refused(
        ["tool", "web_search", '{"query": "x"}', *replay]
    )
    assert "answer from a closed world" in refused(
        ["tool", "flight_search", WAY, "--face", "star", *stored[2:]]
    )
