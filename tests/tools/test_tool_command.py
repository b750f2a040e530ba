import inspect
import shlex
from pathlib import Path

import pytest

from tests.made import made_tables, meal
from tripwright.cli.main import main
from tripwright.cli.tool import tool
from tripwright.world.store import write_world


@pytest.fixture
def folder(tmp_path: Path) -> str:
    tables = made_tables({"Boston": "Massachusetts"}, meals=[meal("Café", "Boston", usd=12)])
    write_world(tmp_path / "w", tables)
    return str(tmp_path / "w")


@pytest.mark.parametrize(
    ("tool", "face", "said"),
    [
        ("search_restaurants", "compact", '{"rows":[["A",12,"Tea","(A) Café"]]}\n'),
        ("SearchRestaurant", "star", "1. [Café] Avg. Cost $12. Cuisines: Tea. Rating: 4.0\n"),
    ],
)
def test_every_face_can_be_tried(folder, typed, tool, face, said):
    answer = typed(f"""tool {tool} '{{"city": "Boston"}}' --world {folder} --face {face}""")
    assert said in answer.out
    assert tool in [s["function"]["name"] for s in typed(f"tool --list --face {face}").record]


def test_a_page_of_a_long_answer(tmp_path, refused, typed):
    eaten = [meal(f"Café {n}", "Boston") for n in range(1, 46)]
    write_world(tmp_path / "w", made_tables({"Boston": "Massachusetts"}, meals=eaten))
    at, rows = ["--world", str(tmp_path / "w"), "--page-rows"], list[list[str]]()
    for arguments, count in (('{"city": "Boston"}', 44), ('{"city": "Boston", "page": 3}', 20)):
        answer = typed(["tool", "search_restaurants", arguments, *at, str(count)]).record
        rows.append([row["name"] for row in answer["rows"]])
    assert (len(rows[0]), rows[1][0]) == (44, "Café 41")
    assert (answer["page"], answer["pages"], answer["total_rows"]) == (3, 3, 45)
    assert "Page 4 does not exist: the pages are 1 to 3." in refused(
        ["tool", "search_restaurants", '{"city": "Boston", "page": 4}', *at, "20"]
    )
    assert typed("tool --list --page-rows 1").out.count('"page"') == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search_restaurants", '{"city": "Bostn"}', "--world", "W"], '{"error": "Unknown'),
        (["search_restaurants", "{city: Boston}", "--world", "W"], "JSON"),
        (["eat", "{}", "--world", "W"], "'eat'"),
        (["get_cities", "{}", "--world", "W", "--face", "round"], "planner_r1, compact"),
        (["get_cities", "{}"], "--world DIR"),
        (["get_cities", "{}", "--world", "/nowhere"], "'/nowhere'"),
        ([], "search_flights"),
        (["--face", "star"], "SearchFlight"),
        (["SearchRestaurant", '{"city": "Oz"}', "--world", "W", "--face", "star"], "Oz"),
        (["SearchRestaurant", "{", "--world", "W", "--face", "star", "--page-rows", "9"], "JSON"),
        (["get_cities", '{"page": 1}', "--world", "W", "--page-rows", "9"], "'page'"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(folder, words, said, refused):
    assert said in refused("tool", [*(folder if word == "W" else word for word in words)])


def examples() -> list[list[str]]:
    """The words of each command line that the help shows."""
    lines = [
        line.strip() for line in (inspect.getdoc(tool) or "").partition("Examples:")[2].splitlines()
    ]
    return [shlex.split(line)[1:] for line in lines if line.startswith("tripwright tool ")]


def test_the_examples_of_the_help_answer(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["world", "build", "--out", "worlds/nano", "--scale", "nano", "--seed", "7"]) == 0
    # The official tables and live services are not here; recorded answers have tests of their own
    # (test_live_command.py).
    ours = [words for words in examples() if not {"worlds/real", "runs/live.sqlite"} & set(words)]
    assert len(ours) >= 6
    for words in ours:
        assert main(words) == 0, (words, capsys.readouterr().err)


def test_the_example_on_the_official_tables_answers(real_world, tmp_path, typed, monkeypatch):
    (tmp_path / "worlds").mkdir()
    (tmp_path / "worlds" / "real").symlink_to(real_world.folder)
    monkeypatch.chdir(tmp_path)
    (words,) = [words for words in examples() if "worlds/real" in words]
    assert "35 flights" in typed(words).out
