"""STAR's B.4: people say how faithfully formatters read plans out of itineraries in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.evals.study.dimensions import reading_dimensions
from tripwright.world.generator import build_world

Json = dict[str, Any]


@pytest.fixture
def readings(tmp_path: Path) -> list[Path]:
    """What two formatters made of the same run: one reads truly, one loses every lunch."""
    world = build_world(tmp_path / "world", "nano", 2)
    queries = tmp_path / "q.jsonl"
    queries.write_text(
        "".join(json.dumps(query.record()) + "\n" for query in make_queries(world, 6, 1))
    )
    play = ["run", "--policy", "expert", "--dialect", "star", "--queries", str(queries)]
    assert main([*play, "--world", str(tmp_path / "world"), "--out", str(tmp_path / "run")]) == 0
    true, lossy = tmp_path / "true.jsonl", tmp_path / "lossy.jsonl"
    assert main(["format", str(tmp_path / "run"), "--out", str(true)]) == 0
    lines = [json.loads(line) for line in true.read_text().splitlines()]
    for line in lines:
        line["plan"] = [{**day, "lunch": "-"} for day in line["plan"]]
    lossy.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [true, lossy]


def test_agreement_with_people_is_drawn_and_counted(
    readings: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, labels = tmp_path / "study", tmp_path / "labels.jsonl"
    files = [str(path) for path in readings]
    make = ["study", "make", *files, "--formatted", "--per-run", "4", "--out", str(study)]
    assert main(make) == 0
    assert "8 items from 2 runs, 4 requests answered by several" in capsys.readouterr().err
    items = [json.loads(line) for line in (study / "items.jsonl").read_text().splitlines()]
    keys = [json.loads(line) for line in (study / "key.jsonl").read_text().splitlines()]
    names = [dimension.key for dimension in reading_dimensions()]
    rows = []
    for item, key in zip(items, keys, strict=True):
        text = item["answer"]["text"]
        words, plan = text.split("# The plan as read")
        faithful = plan.count("- lunch: ") == words.count("- Lunch: [")
        assert faithful or key["run"] == "lossy"
        assert item["calls"] == [] and not key["verdicts"]
        says = dict.fromkeys(names, True) | {"meals": faithful}
        rows += [{"item": item["item"], "rater": rater, **says} for rater in ("Ann", "Bo")]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["study", "import", str(study), str(labels)]) == 0
    capsys.readouterr()
    assert main(["study", "agreement", str(study), "--unblind", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert set(figures["dimensions"]) == {*names, "all"} and figures["verdicts"] == {}
    meals = {run: said["true"]["meals"]["k"] for run, said in figures["runs"].items()}
    assert meals == {"true": 4, "lossy": 0}
    assert figures["runs"]["lossy"]["true"]["accommodation"]["k"] == 4


def test_answers_that_are_data_are_not_labelled(
    readings: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line: Json = json.loads(readings[0].read_text().splitlines()[0])
    line["transcript"]["answer"] = json.dumps(line["plan"])
    (path := tmp_path / "data.jsonl").write_text(json.dumps(line) + "\n")
    assert main(["study", "make", str(path), "--formatted", "--out", str(tmp_path / "s")]) == 2
    assert "nothing was read out of any answer" in capsys.readouterr().err
