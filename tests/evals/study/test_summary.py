"""The figures of a small study that can be counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripwright.cli.study_tables import summary_text
from tripwright.errors import UserError
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import append, checked, read
from tripwright.evals.study.summary import summary
from tripwright.evals.study.verdicts import verdicts_of, written_verdicts


@pytest.fixture
def labelled(study: Study) -> Study:
    """Two raters on all eight items. Ann says of each item of the hasty run that it is not
    feasible; Bob agrees but for one."""
    hasty = [entry.item for entry in study.key.values() if entry.run == "hasty"]
    for item in study.items:
        for rater in ("ann", "bob"):
            feasible = item not in hasty or (rater == "bob" and item == hasty[0])
            append(
                study,
                checked(
                    study, item, rater, {**dict.fromkeys(study.keys, True), "feasibility": feasible}
                ),
            )
    return study


def test_shares_ties_and_agreement(labelled: Study) -> None:
    found = summary(labelled, read(labelled))
    feasibility, clarity = found["dimensions"]["feasibility"], found["dimensions"]["clarity"]
    assert (feasibility["true"]["k"], feasibility["true"]["n"], feasibility["tied"]) == (4, 8, 1)
    assert feasibility["labels"] == {"true": 9, "n": 16} and feasibility["agreement"] == 7 / 8
    # p_o = 7/8; p_e = (4·5 + 4·3)/64 = 1/2
    assert feasibility["cohen_kappa"] == pytest.approx(0.75)
    assert feasibility["fleiss_kappa"] == pytest.approx(
        (7 / 8 - (81 + 49) / 256) / (1 - (81 + 49) / 256)
    )
    assert feasibility["krippendorff_alpha"] == pytest.approx(1 - (1 / 8) / (2 * 9 * 7 / (16 * 15)))
    assert clarity["true"]["value"] == clarity["agreement"] == 1 and clarity["cohen_kappa"] is None
    assert found["dimensions"]["all"]["true"]["k"] == 4
    assert found["raters"] == {"ann": {"begun": 8, "done": 8}, "bob": {"begun": 8, "done": 8}}


def test_runs_are_named_only_when_unblinded(labelled: Study) -> None:
    blind = summary(labelled, read(labelled))
    assert "patient" not in json.dumps(blind) and "patient" not in summary_text(labelled, blind)
    open_ = summary(labelled, read(labelled), unblind=True)
    assert {run: found["true"]["feasibility"]["value"] for run, found in open_["runs"].items()} == {
        "patient": 1.0,
        "hasty": 0.0,
    }
    assert "hasty (4 items)" in summary_text(labelled, open_)


def test_verdicts_of_transcripts_are_held_against_people(labelled: Study) -> None:
    found = summary(labelled, read(labelled))["verdicts"]
    assert list(found) == ["joint", "trajectory", "rubric logic", "turns"]
    assert (
        found["rubric logic"]["against"] == "feasibility"
        and found["trajectory"]["against"] == "all"
    )
    # the tied item has no say
    assert (found["rubric logic"]["agreement"]["k"], found["rubric logic"]["agreement"]["n"]) == (
        7,
        7,
    )
    assert (
        found["trajectory"]["cohen_kappa"] == 1
        and found["trajectory"]["too_strict"] == found["trajectory"]["too_lenient"] == 0
    )


def written(path: Path, passes: dict[str, bool | None]) -> Path:
    """A file as `verify --out` leaves it; None: unscored."""
    lines = []
    for line, (id, passed) in enumerate(passes.items(), start=1):
        trajectory = {
            "conclusion": "basically_satisfied",
            "rubrics": {"logic": passed, "backup_plan": None},
        }
        verdict = {
            "line": line,
            "id": id,
            "reward": float(passed or 0),
            "trajectory": trajectory,
            "passes": passed,
            "turns": [],
        }
        lines.append(
            {"line": line, "id": id, "reward": None, "unscored": "a timeout"}
            if passed is None
            else verdict
        )
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_verdicts_of_verify_are_held_against_people(labelled: Study, tmp_path: Path) -> None:
    """Files of one name are one verifier over all runs; what passes is what `verify` was told
    (`--passing`)."""
    good = written(
        tmp_path / "a" / "judge.jsonl", {f"r{n}": True for n in range(4)} | {"of nobody": False}
    )
    tied, let_pass, refused, unscored = [
        entry.id for entry in labelled.key.values() if entry.run == "hasty"
    ]
    bad = written(
        tmp_path / "b" / "judge.jsonl",
        {tied: False, let_pass: True, refused: False, unscored: None},
    )
    found = summary(
        labelled,
        read(labelled),
        verdicts=written_verdicts(labelled, [f"patient={good}", f"hasty={bad}"]),
    )["verdicts"]
    assert list(found)[4:] == ["judge: joint", "judge: trajectory", "judge: rubric logic"]
    assert (
        found["judge: rubric logic"]["against"] == "feasibility"
        and found["judge: joint"]["against"] == "all"
    )
    # People call the four of "patient" good and those of "hasty" bad, but for one on which they are
    # tied.
    assert (
        found["judge: trajectory"]["agreement"]["k"],
        found["judge: trajectory"]["agreement"]["n"],
    ) == (5, 6)
    assert (
        found["judge: trajectory"]["too_lenient"],
        found["judge: trajectory"]["too_strict"],
    ) == (1, 0)
    figures = summary(
        labelled, read(labelled), verdicts=written_verdicts(labelled, [f"hasty={bad}"])
    )
    assert "judge: rubric logic" in summary_text(labelled, figures)


def test_a_file_of_verdicts_that_is_not_of_the_study(labelled: Study, tmp_path: Path) -> None:
    good, other = (
        written(tmp_path / "v.jsonl", {"r0": True}),
        written(tmp_path / "o.jsonl", {"q7": True}),
    )
    transcripts = tmp_path / "patient" / "transcripts.jsonl"
    for given, problem in (
        (
            str(good),
            "Of which run are the verdicts '.*v.jsonl'. Give RUN=FILE, with RUN one of patient, hasty",
        ),
        (f"patient={tmp_path / 'none.jsonl'}", "No verdicts at '.*none.jsonl'"),
        (
            f"patient={other}",
            "No verdict in '.*o.jsonl' is of an item from run 'patient': the file has 'q7', the items are 'r",
        ),
        (
            f"patient={transcripts}",
            "transcripts.jsonl:1: expected a verdict of 'tripwright verify --out'",
        ),
    ):
        with pytest.raises(UserError, match=problem):
            written_verdicts(labelled, [given])


def test_missing_labels_are_missing_and_not_false(study: Study) -> None:
    items = list(study.items)
    append(study, checked(study, items[0], "ann", {"clarity": True}))
    append(study, checked(study, items[0], "bob", {"clarity": False, "intention": True}))
    append(study, checked(study, items[1], "cid", {"clarity": True}))
    found = summary(study, read(study))["dimensions"]
    assert (
        found["clarity"]["true"]["n"],
        found["clarity"]["compared"],
        found["clarity"]["complete"],
    ) == (2, 1, 0)
    assert found["clarity"]["fleiss_kappa"] is None and found["clarity"][
        "krippendorff_alpha"
    ] == pytest.approx(0.0)
    assert (
        found["intention"]["true"] == {**found["intention"]["true"], "k": 1, "n": 1}
        and found["intention"]["agreement"] is None
    )
    assert found["all"]["true"]["n"] == 1  # Bob's: FALSE somewhere is FALSE in all


def test_three_raters_are_compared_pair_by_pair(labelled: Study) -> None:
    for item in labelled.items:
        append(labelled, checked(labelled, item, "cid", {"feasibility": True}))
    found = summary(labelled, read(labelled))["dimensions"]["feasibility"]
    assert (
        list(found["cohen_kappa_by_pair"]) == ["ann · bob", "ann · cid", "bob · cid"]
        and found["cohen_kappa"] is None
    )
    assert found["complete"] == 8 and found["fleiss_kappa"] is not None


def test_a_study_without_labels_has_no_figures(study: Study) -> None:
    found = summary(study, read(study))
    assert found["raters"] == {} and found["dimensions"]["all"]["true"]["value"] is None
    assert "nobody yet" in summary_text(study, found)


SATISFIED, WRONG = {"conclusion": "satisfied"}, {"conclusion": "tool_call_logic_error"}
VERY, BASICALLY = {"conclusion": "very_satisfied"}, {"conclusion": "basically_satisfied"}


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"domain": "travelplanner", "verdict": {"final": True}}, {"judge": True}),
        ({"domain": "outside", "verdict": None}, {}),
        (
            {
                "verdict": {"final": False},
                "verifier": {"reward": 0.0, "trajectory": None, "turns": []},
            },
            {"joint": False},
        ),
        (
            {"verifier": {"reward": 0.0, "trajectory": BASICALLY, "turns": [], "turns_saved": 2}},
            {"joint": False, "trajectory": False},
        ),
        (
            {"verifier": {"reward": 1.0, "trajectory": VERY, "turns": [SATISFIED]}},
            {"joint": True, "trajectory": True, "turns": True},
        ),
        (
            {
                "verifier": {
                    "reward": 0.0,
                    "trajectory": VERY,
                    "turns": [SATISFIED, WRONG],
                    "turns_saved": 3,
                }
            },
            {"joint": False, "trajectory": True, "turns": False},
        ),
        (
            {
                "verifier": {
                    "reward": None,
                    "trajectory": VERY,
                    "turns": [SATISFIED],
                    "turns_saved": 1,
                }
            },
            {"trajectory": True},
        ),
    ],
)
def test_verdicts_as_runs_leave_them(record: dict[str, object], found: dict[str, bool]) -> None:
    assert verdicts_of({"domain": "deeptravel", **record}) == found
