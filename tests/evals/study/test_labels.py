"""A label that was acknowledged is on disk, whatever happens next."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.evals.study import labels as module
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import LabelProblem, append, checked, rater_name, read

WRITER = """
import sys
from pathlib import Path
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import append, checked
study = Study.open(Path(sys.argv[1]))
items = list(study.items)
for number in range(int(sys.argv[3])):
    append(study, checked(study, items[number % len(items)], sys.argv[2], {"clarity": number % 2 == 0}, note=str(number)))
    print(number, flush=True)
"""


def first(study: Study) -> str:
    return next(iter(study.items))


def file_of(study: Study, rater: str) -> Path:
    return study.folder / "labels" / f"{rater}.jsonl"


def test_the_last_judgement_wins_and_all_are_kept(study: Study) -> None:
    for values in ({"clarity": True}, {"clarity": False, "intention": True}, {"clarity": None}):
        append(study, checked(study, first(study), "Ann", values, note="n"))
    assert read(study)["ann"][first(study)].values == {}
    assert len(file_of(study, "ann").read_text().splitlines()) == 3


def test_a_torn_line_is_cut_off_and_costs_only_itself(study: Study) -> None:
    append(study, checked(study, first(study), "ann", {"clarity": True}))
    with file_of(study, "ann").open("a") as file:
        file.write('{"item": "torn')
    assert read(study)["ann"][first(study)].values == {"clarity": True}
    append(study, checked(study, first(study), "ann", {"clarity": False}))
    assert read(study)["ann"][first(study)].values == {"clarity": False}
    assert [
        json.loads(line)["values"] for line in file_of(study, "ann").read_text().splitlines()
    ] == [
        {"clarity": True},
        {"clarity": False},
    ]


def test_a_clock_that_is_set_back_does_not_bring_back_an_old_judgement(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter(["2026-06-20T10:00:00.000000Z", "2026-06-20T09:00:00.000000Z"])
    monkeypatch.setattr(module, "now", lambda: next(moments))
    append(study, checked(study, first(study), "ann", {"clarity": True}))
    written = append(study, checked(study, first(study), "ann", {"clarity": False}))
    assert written.at == "2026-06-20T10:00:00.000001Z"
    assert read(study)["ann"][first(study)].values == {"clarity": False}


def test_processes_that_write_at_once_lose_nothing(study: Study) -> None:
    commands = [
        [sys.executable, "-c", WRITER, str(study.folder), rater, "40"]
        for rater in ("ann", "ann", "bob")
    ]
    writers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len(file_of(study, "ann").read_text().splitlines()) == 80
    assert {rater: len(said) for rater, said in read(study).items()} == {"ann": 8, "bob": 8}


def test_a_kill_loses_nothing_that_was_acknowledged(study: Study) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(study.folder), "ann", "1000000"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    for _ in range(25):
        writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged = 25 + sum(line.endswith("\n") for line in writer.stdout)
    writer.wait(60)
    append(study, checked(study, first(study), "ann", {"clarity": True}, note="after"))
    notes = [json.loads(line)["note"] for line in file_of(study, "ann").read_text().splitlines()]
    assert (
        notes[:acknowledged] == [str(number) for number in range(acknowledged)]
        and notes[-1] == "after"
    )


@pytest.mark.parametrize(
    ("said", "name"),
    [("  Ann   LEE ", "ann lee"), ("Zoë", "zoë"), ("李雷", "李雷"), ("J. O'Neil-2", "j. o'neil-2")],
)
def test_names_that_a_person_would_call_the_same_are_one_rater(
    said: str, name: str, study: Study
) -> None:
    assert rater_name(said) == name
    append(study, checked(study, first(study), said, {"clarity": True}))
    assert list(read(study)) == [name]


@pytest.mark.parametrize(
    "said", ["", "  ", "../ann", ".ann", "a/b", "a\x00b", "x" * 41, "界" * 27, None, 3, ["ann"]]
)
def test_names_that_cannot_be_files_are_refused(said: Any) -> None:
    with pytest.raises(LabelProblem, match="A rater's name"):
        rater_name(said)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"item": "item-99"}, "No item 'item-99'"),
        ({"item": ["x"]}, "No item"),
        ({"values": {"beauty": True}}, "No dimension 'beauty'"),
        ({"values": {"clarity": "TRUE"}}, "'clarity' must be true, false or null"),
        ({"values": {"clarity": 1}}, "'clarity' must be true, false or null"),
        ({"values": None}, "Expected the dimensions"),
        ({"note": "x" * 4001}, "at most 4,000"),
        ({"note": None}, "A note is text"),
        ({"at": "yesterday"}, "A moment looks like"),
    ],
)
def test_what_is_no_label_is_refused(changed: dict[str, Any], words: str, study: Study) -> None:
    with pytest.raises(LabelProblem, match=words):
        checked(study, **{"item": first(study), "rater": "ann", "values": {}, **changed})


def test_a_file_that_somebody_broke_is_named_with_its_line(study: Study) -> None:
    append(study, checked(study, first(study), "ann", {}))
    with file_of(study, "ann").open("a") as file:
        file.write('{"item": "item-99", "rater": "ann", "values": {}}\n')
    with pytest.raises(UserError, match=r"ann\.jsonl:2: No item 'item-99'"):
        read(study)
