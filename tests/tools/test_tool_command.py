from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.world.store import WorldTables, write_world


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
    ],
)
def test_mistakes_are_one_line_and_exit_2(folder: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tool", *(folder if word == "W" else word for word in words)]) == 2
    out, err = capsys.readouterr()
    assert not out and said in err and err.count("\n") == 1
