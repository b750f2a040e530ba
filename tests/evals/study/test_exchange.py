"""Labels out and in: everything comes back as it was, and a bad file changes nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.deeptravel.verifying.labels import read_labels
from tripwright.errors import UserError
from tripwright.evals.study.exchange import exported, import_labels, merged, write_export
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import append, checked, read


def label(study: Study, rater: str, place: int, note: str = "", **values: bool | None) -> None:
    append(study, checked(study, list(study.items)[place], rater, values, note))


def all_true(study: Study, **changed: bool | None) -> dict[str, bool | None]:
    return {**dict.fromkeys(study.keys, True), **changed}


@pytest.fixture
def labelled(study: Study) -> Study:
    label(study, "ann", 0, note='=SUM(A1) says, "no"\nand more, é', **all_true(study))
    label(study, "ann", 1, note="'-1", **all_true(study, clarity=False))
    label(study, "bob", 0, **all_true(study, clarity=None))
    return study


def emptied(study: Study) -> None:
    for path in (study.folder / "labels").glob("*.jsonl"):
        path.unlink()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_what_is_exported_comes_back_as_it_was(
    suffix: str, labelled: Study, tmp_path: Path
) -> None:
    before, out = read(labelled), tmp_path / f"labels{suffix}"
    write_export(labelled, exported(labelled, before), out)
    emptied(labelled)
    assert read(labelled) == {}
    assert len(import_labels(labelled, out)) == 3
    assert read(labelled) == before


def test_an_exported_line_says_whose_it_is_and_whether_it_passes(labelled: Study) -> None:
    lines = exported(labelled, read(labelled))
    assert [(line["rater"], line["passes"]) for line in lines] == [
        ("ann", True),
        ("bob", None),
        ("ann", False),
    ]
    entry = labelled.key[lines[0]["item"]]
    assert (lines[0]["id"], lines[0]["run"]) == (entry.id, entry.run) and list(
        lines[1]["dimensions"]
    ) == list(labelled.keys)


def test_a_spreadsheet_gets_no_formula(labelled: Study, tmp_path: Path) -> None:
    write_export(labelled, exported(labelled, read(labelled)), tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        notes = [row["note"] for row in csv.DictReader(file)]
    assert not any(note[:1] in ("=", "+", "-", "@") for note in notes) and notes[0].startswith(
        "'=SUM"
    )


def test_merged_lines_are_a_labelled_file_of_what_most_say(study: Study) -> None:
    for rater, clarity in (("ann", True), ("bob", False), ("cid", False)):
        label(study, rater, 0, **all_true(study, clarity=clarity))
    label(study, "ann", 1, **all_true(study))
    for rater, tied in (("ann", True), ("bob", False)):
        label(study, rater, 2, **all_true(study, clarity=tied))
    lines = merged(study, read(study))
    assert [(line["passes"], line["dimensions"]["clarity"], line["raters"]) for line in lines] == [
        (False, False, ["ann", "bob", "cid"]),
        (True, True, ["ann"]),
    ]
    assert {"id", "passes", "dimensions"} <= set(lines[0])


def test_a_judge_can_be_calibrated_on_merged_lines(study: Study, tmp_path: Path) -> None:
    for place in range(len(study.items)):
        label(study, "ann", place, **all_true(study, feasibility=place % 2 == 0))
    write_export(study, merged(study, read(study), "hasty"), tmp_path / "people.jsonl")
    found = read_labels(tmp_path / "people.jsonl")
    assert set(found) == {entry.id for entry in study.key.values() if entry.run == "hasty"}
    assert all(said.trajectory == said.rubrics["logic"] for said in found.values())


def test_one_run_alone(labelled: Study) -> None:
    runs = {line["run"] for line in exported(labelled, read(labelled), "hasty")}
    assert runs <= {"hasty"}
    with pytest.raises(
        UserError, match=r"No run 'x' in this study: expected (patient, hasty|hasty, patient)"
    ):
        exported(labelled, read(labelled), "x")


def row(study: Study, place: int = 0, **changed: Any) -> dict[str, Any]:
    return {
        "item": list(study.items)[place],
        "rater": "eve",
        **dict.fromkeys(study.keys, "TRUE"),
        **changed,
    }


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"clarity": "perhaps"}, "'clarity' must be TRUE, FALSE or empty, found 'perhaps'"),
        ({"item": "item-77"}, "No item 'item-77'"),
        ({"rater": "../x"}, "A rater's name"),
        ({"at": "2999-01-01T00:00:00.000000Z"}, "still to come"),
        ({"at": "yesterday"}, "A moment looks like"),
        ({"item": None}, "No item"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_imported(
    changed: dict[str, Any], words: str, study: Study, tmp_path: Path
) -> None:
    rows = [row(study, 0, at=""), {**row(study, 1, at=""), **changed}, row(study, 2, at="")]
    with pytest.raises(UserError) as caught:
        import_labels(study, written(tmp_path / "x.csv", rows))
    assert str(caught.value).startswith(f"{tmp_path / 'x.csv'}:3: ") and words in str(caught.value)
    assert str(caught.value).endswith("Nothing was imported.") and read(study) == {}


def test_several_bad_lines_are_counted(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    dimensions = dict.fromkeys(study.keys, True)
    good = {"item": list(study.items)[0], "rater": "eve", "dimensions": dimensions}
    path.write_text("\n".join([json.dumps(good), "{", "[]", json.dumps(good)]) + "\n")
    with pytest.raises(UserError, match=r"x\.jsonl:2: not JSON .* \(2 more lines are bad\.\)"):
        import_labels(study, path)
    path.write_text(json.dumps(good) + "\n" + json.dumps(good) + "\n")
    with pytest.raises(
        UserError, match=r"x\.jsonl:2: 'eve' has labelled item-\d on an earlier line"
    ):
        import_labels(study, path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,rater\nitem-1,eve\n", "no 'intention': expected item, rater and intention"),
        ("", "holds no labels"),
        ("item,rater,HEADER,colour\n", "holds no labels"),
        ("item,rater,HEADER,colour\nitem-1,eve,1,1,1,1,1,1,1,red\n", "unknown column 'colour'"),
        ("item,rater,HEADER\nitem-1,eve,1\n", "not as many cells"),
        ("item,rater,HEADER\nitem-1,eve,1,1,1,1,1,1,1,1\n", "not as many cells"),
    ],
)
def test_files_of_another_shape_are_refused(
    text: str, words: str, study: Study, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text.replace("HEADER", ",".join(study.keys)))
    with pytest.raises(UserError, match=words):
        import_labels(study, path)
    with pytest.raises(
        UserError, match=r"No file at '.*x\.xlsx'\. Expected labels in \.csv or \.jsonl"
    ):
        import_labels(study, tmp_path / "x.xlsx")
    (tmp_path / "x.xlsx").touch()
    with pytest.raises(UserError, match=r"is no file ending in \.csv or \.jsonl"):
        import_labels(study, tmp_path / "x.xlsx")
    with pytest.raises(UserError, match=r"must end in \.csv or \.jsonl"):
        write_export(study, [], tmp_path / "x.txt")


def test_words_of_spreadsheets_and_case_are_understood(study: Study, tmp_path: Path) -> None:
    words = {
        "intention": "true",
        "completeness": "0",
        "feasibility": " No ",
        "affordability": "1",
        "clarity": "",
    }
    import_labels(study, written(tmp_path / "x.csv", [row(study, **words)]))
    (said,) = read(study)["eve"].values()
    assert said.values == {
        "intention": True,
        "completeness": False,
        "feasibility": False,
        "affordability": True,
        "personalisation": True,
        "no_hallucination": True,
    }


def test_an_old_export_does_not_undo_newer_labels_and_new_rows_do(
    study: Study, tmp_path: Path
) -> None:
    label(study, "eve", 0, clarity=True)
    write_export(study, exported(study, read(study)), tmp_path / "old.jsonl")
    label(study, "eve", 0, clarity=False)
    import_labels(study, tmp_path / "old.jsonl")
    assert read(study)["eve"][list(study.items)[0]].values == {"clarity": False}
    import_labels(study, written(tmp_path / "new.csv", [row(study)]))
    assert read(study)["eve"][list(study.items)[0]].passes(study.keys) is True
