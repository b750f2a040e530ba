from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.world.folder import write_world
from tripwright.world.records import WorldTables


@pytest.fixture
def folder(tmp_path: Path) -> str:
    cities = [("Boston", "Massachusetts")]
    write_world(tmp_path / "w", WorldTables(cities, [], [], [("Café", "Boston", "Tea", "12", "4.0")], [], []))
    return str(tmp_path / "w")


def test_prints_the_answer(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", "search_restaurants", '{"city": "Boston"}', "--world", folder]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "Café"
    assert main(["tool", "search_restaurants", '{"city": "Boston"}', "--world", folder, "--face", "compact"]) == 0
    assert capsys.readouterr().out == '{"rows":[[12,"Tea","Café"]]}\n'


def test_every_face_can_be_tried(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", "SearchRestaurant", '{"city": "Boston"}', "--world", folder, "--face", "star"]) == 0
    assert "1. [Café] Avg. Cost $12. Cuisines: Tea. Rating: 4.0\n" in capsys.readouterr().out
    assert main(["tool", "RestaurantSearch", '{"city": "Boston"}', "--world", folder, "--face", "official"]) == 0
    assert capsys.readouterr().out.startswith("Name  Average Cost Cuisines  Aggregate Rating   City\n")
    assert main(["tool", "--list", "--face", "star"]) == 0
    assert [s["function"]["name"] for s in json.loads(capsys.readouterr().out)][:2] == ["SearchCity", "SearchFlight"]


def test_a_page_of_a_long_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eaten = [(f"Café {n}", "Boston", "Tea", "12", "4.0") for n in range(1, 46)]
    write_world(tmp_path / "w", WorldTables([("Boston", "Massachusetts")], [], [], eaten, [], []))
    asked = ["tool", "search_restaurants", '{"city": "Boston"}', "--world", str(tmp_path / "w")]
    assert main([*asked, "--page", "3"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["page"], answer["pages"], answer["total_rows"]) == (3, 3, 45) and answer["rows"][0]["name"] == "Café 41"
    assert main([*asked, "--page", "2", "--page-rows", "44"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["Café 45"]
    assert main([*asked, "--page", "4"]) == 2
    assert "Page 4 does not exist: the pages are 1 to 3." in capsys.readouterr().err
    assert main(["tool", "--list", "--page", "1"]) == 0
    assert capsys.readouterr().out.count('"page"') == 4


def test_lists_the_schemas_without_a_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", "--list"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search_restaurants", '{"city": "Bostn"}', "--world", "W"], "Did you mean 'Boston'?"),
        (["search_restaurants", "{city: Boston}", "--world", "W"], "not valid JSON"),
        (["eat", "{}", "--world", "W"], "Unknown tool 'eat'"),
        (["get_cities", "{}", "--world", "W", "--face", "round"], "The faces are planner_r1, compact"),
        (["get_cities", "{}"], "--world DIR"),
        (["get_cities", "{}", "--world", "/nowhere"], "No world at '/nowhere'"),
        ([], "The tools are search_flights"),
        (["--face", "official"], "The tools are FlightSearch, "),
        (["SearchRestaurant", '{"city": "Oz"}', "--world", "W", "--face", "star"], "There is no restaurant in Oz."),
        (
            ["SearchRestaurant", "{", "--world", "W", "--face", "star", "--page", "1"],
            "Tool calling error: The arguments are not valid JSON",
        ),
        (["get_cities", '{"state": "Massachusetts"}', "--world", "W", "--page", "1"], "Unknown argument 'page'"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(folder: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", *(folder if word == "W" else word for word in words)]) == 2
    out, err = capsys.readouterr()
    assert not out and said in err and err.count("\n") == 1
