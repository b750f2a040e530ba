"""`data` as a user types it: from runs of the experts to the files of other trainers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripwright.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, queries and two runs of the expert, on five queries each; requests and a run of the
    errand expert on them."""
    folder = tmp_path_factory.mktemp("data")
    world, queries = str(folder / "world"), folder / "queries.jsonl"
    assert main(["world", "build", "--out", world, "--scale", "nano", "--seed", "2"]) == 0
    assert (
        main(
            [
                "query",
                "make",
                "--world",
                world,
                "--count",
                "10",
                "--seed",
                "1",
                "--out",
                str(queries),
            ]
        )
        == 0
    )
    lines = queries.read_text().splitlines(keepends=True)
    for name, half in (("a", lines[:5]), ("b", lines[5:])):
        (folder / f"{name}.jsonl").write_text("".join(half))
        run = [
            "run",
            "--policy",
            "expert",
            "--rules",
            "strict",
            "--queries",
            str(folder / f"{name}.jsonl"),
        ]
        assert main([*run, "--world", world, "--out", str(folder / "runs" / name)]) == 0
    requests = str(folder / "requests.jsonl")
    assert (
        main(
            [
                "request",
                "make",
                "--world",
                world,
                "--count",
                "6",
                "--constraints",
                "mixed",
                "--seed",
                "1",
                "--out",
                requests,
            ]
        )
        == 0
    )
    run = [
        "run",
        "--policy",
        "errand-expert",
        "--dialect",
        "deeptravel_cards_compact",
        "--queries",
        requests,
        "--world",
        world,
    ]
    assert main([*run, "--out", str(folder / "runs" / "errands")]) == 0
    return folder


@pytest.fixture(autouse=True)
def there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    capsys.readouterr()


def asked(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["data", *words.split()]) == 0
    return capsys.readouterr().out


def test_collect_and_stats(capsys: pytest.CaptureFixture[str]) -> None:
    told = asked("collect runs/a runs/b --out sft.jsonl", capsys)
    assert (
        told.splitlines()[0] == "a: 5 of 5 episodes kept"
        and told.splitlines()[-1] == "sft.jsonl: 10 trajectories of 10 requests"
    )
    found = json.loads(asked("collect runs/a --world world --out again.jsonl --json", capsys))
    assert found == {
        "out": "again.jsonl",
        "rules": "strict",
        "episodes": 5,
        "kept": 5,
        "requests": 5,
        "judged_again": 5,
        "dropped": {},
        "runs": {"a": {"episodes": 5, "kept": 5}},
    }
    assert asked("stats sft.jsonl", capsys).startswith(
        "lengths in characters; dialects: planner_r1 10\n"
    )
    assert json.loads(asked("stats sft.jsonl --json", capsys))["levels"]["all"]["n"] == 10


def test_exports(capsys: pytest.CaptureFixture[str]) -> None:
    asked("collect runs/a --out sft.jsonl --restart", capsys)
    assert asked("export sft.jsonl --layout trl --out trl.jsonl", capsys) == "trl.jsonl: 5 rows\n"
    assert (
        asked("export sft.jsonl --layout llama-factory --out lf", capsys)
        == "lf/tripwright_train.jsonl: 5 rows\n"
    )
    pytest.importorskip("pyarrow")
    assert (
        asked("export sft.jsonl --layout messages --out m --split test", capsys)
        == "m/test.parquet: 5 rows\n"
    )
    assert (
        asked(
            "export queries.jsonl --layout verl --dialect star --world world --out v.parquet",
            capsys,
        )
        == "v.parquet: 10 rows\n"
    )


def test_a_cold_start_of_deeptravel_s_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """From its run to the files, without rules and without a world."""
    found = json.loads(asked("collect runs/errands --out cold.jsonl --json", capsys))
    passed = json.loads(Path("runs/errands/score.json").read_text())["metrics"]["final"]["k"]
    assert found["kept"] + sum(found["dropped"].values()) == found["episodes"] == 6
    assert (
        found["rules"] == json.loads(Path("runs/errands/run_card.json").read_text())["rules"]
        and found["judged_again"] == 0
    )
    assert 1 <= found["kept"] == passed
    told = asked("stats cold.jsonl", capsys).splitlines()
    assert told[0] == f"lengths in characters; dialects: deeptravel_cards_compact {passed}" and any(
        line.split()[0] == "wishes" for line in told
    )
    for layout in ("trl", "messages"):
        assert (
            asked(f"export cold.jsonl --layout {layout} --out c_{layout}.jsonl", capsys)
            == f"c_{layout}.jsonl: {passed} rows\n"
        )
    assert (
        asked(
            "export requests.jsonl --layout verl --dialect deeptravel_cards --world world"
            " --out rv.jsonl",
            capsys,
        )
        == "rv.jsonl: 6 rows\n"
    )
    parts = json.loads(
        asked(
            "split requests.jsonl --parts train:4,validation:2 --out request_parts --json", capsys
        )
    )["parts"]
    assert [sum(part["mix"].values()) for part in parts.values()] == [4, 2]
    run = (
        "run --policy errand-expert --dialect deeptravel_cards_compact --queries"
        " request_parts/validation.jsonl --world world --out runs/part"
    )
    assert main(run.split()) == 0


def test_split(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(
        asked(
            "split queries.jsonl a.jsonl --parts train:6,validation:3 --seed 4 --out parts --json",
            capsys,
        )
    )
    assert (found["requests"], found["duplicates"], found["left_out"]) == (10, 5, 1)
    assert [part["n"] for part in found["parts"].values()] == [6, 3]
    told = asked(
        "split queries.jsonl a.jsonl --parts train:6,validation:3 --seed 4 --out parts --restart",
        capsys,
    )
    assert "dropped 5 duplicates ('a.jsonl:1' has the text of 'queries.jsonl:1')" in told
    assert "left out: 1 of 10 different requests" in told


def test_reliability_and_its_check(capsys: pytest.CaptureFixture[str]) -> None:
    told = asked("reliability runs/a runs/b", capsys)
    assert told.splitlines()[-1].startswith("the difference +0.0 points [-") and told.endswith(
        "is not sure\n"
    )
    assert main(["data", "reliability", "runs/a", "runs/b", "--within", "5", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["inside"] is False and found["synthetic"]["k"] == found["given"]["k"] == 5
    assert main(["data", "reliability", "runs/a", "runs/b", "--within", "60"]) == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("collect nowhere --out x.jsonl", "No run folder at 'nowhere'"),
        ("collect runs/a --out x.json", "its name ends in .jsonl"),
        (
            "collect runs/a --out x.jsonl --choose best",
            "Unknown choice 'best'. Available: first, shortest.",
        ),
        ("collect runs/a --out x.jsonl --rules kind", "Unknown rules 'kind'"),
        ("collect runs/a --out x.jsonl --rules official", "was judged under the strict rules"),
        (
            "collect runs/errands runs/a --out x.jsonl",
            "'runs/errands' holds travellers' requests and 'runs/a' holds TravelPlanner's queries",
        ),
        (
            "collect runs/errands --out x.jsonl --rules strict",
            "--rules is for what can be judged again",
        ),
        (
            "collect runs/errands --out x.jsonl --world world",
            "--world is for what can be judged again",
        ),
        (
            "stats runs/a/transcripts.jsonl runs/errands/transcripts.jsonl",
            "take those of one kind at a time",
        ),
        ("stats requests.jsonl", "requests.jsonl:1: not an episode of a run: it has no 'domain'"),
        (
            "export requests.jsonl --layout verl --dialect planner_r1 --out x",
            "and dialect 'planner_r1' answers TravelPlanner's queries",
        ),
        (
            "export runs/errands/transcripts.jsonl --layout verl --dialect deeptravel_cards"
            " --out x",
            "transcripts.jsonl:1: field 'origin'",
        ),
        (
            "split requests.jsonl queries.jsonl --parts train:1 --out x",
            "take those of one kind at a time",
        ),
        (
            "split requests.jsonl --parts train:1 --keep days --out x",
            "--keep 'days' is not level or wishes",
        ),
        ("stats nowhere.jsonl", "No file of trajectories at 'nowhere.jsonl'"),
        ("stats queries.jsonl", "queries.jsonl:1: not an episode of a run"),
        (
            "export queries.jsonl --layout alpaca --out x",
            "Unknown layout 'alpaca'. Available: messages, trl, llama-factory, verl.",
        ),
        ("export queries.jsonl --layout trl --out x", "queries.jsonl:1: not an episode of a run"),
        (
            "export runs/a/transcripts.jsonl --layout trl --out x",
            "does not say which tools it was given",
        ),
        ("export queries.jsonl --layout trl --world world --out x", "--world is for --layout verl"),
        (
            "export queries.jsonl --layout trl --split a/b --out x",
            "--split 'a/b' is no name of a file",
        ),
        (
            "export runs/a/transcripts.jsonl --layout verl --out x",
            "runs/a/transcripts.jsonl:1: field 'org'",
        ),
        ("split queries.jsonl --parts train --out x", "--parts 'train' are not names and sizes"),
        (
            "split queries.jsonl --parts train:0 --out x",
            "--parts 'train:0' are not names and sizes",
        ),
        ("split queries.jsonl --parts ../t:1 --out x", "--parts '../t:1' are not names and sizes"),
        ("split queries.jsonl --parts train:11 --out x", "ask for 11 requests, and there are 10"),
        (
            "split queries.jsonl --parts train:1 --keep budget --out x",
            "--keep 'budget' is not level or days",
        ),
        ("reliability runs/a runs/a", "given twice"),
        ("reliability runs/a nowhere", "No run folder at 'nowhere'"),
    ],
)
def test_wrong_inputs_are_one_line_and_write_nothing(
    folder: Path, words: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    assert main(["data", *words.split()]) == 2
    printed = capsys.readouterr()
    assert why in printed.err and len(printed.err.splitlines()) == 1 and not printed.out
    assert not list(folder.glob("x*"))
