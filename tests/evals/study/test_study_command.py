"""`tripwright study make | agreement | export | import | serve`, as it is typed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import append, checked, read


def test_from_runs_to_figures(
    run_folder: Any, lines: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        str(run_folder(name, [lines["errand"](n) for n in range(5)])) for name in ("alpha", "beta")
    ]
    out = str(tmp_path / "study")
    assert main(["study", "make", *runs, "--out", out, "--per-run", "3", "--seed", "4"]) == 0
    assert "6 items from 2 runs, 3 requests answered by several" in capsys.readouterr().err
    study = Study.open(Path(out))
    for rater in ("ann", "bob"):
        for item in study.items:
            append(study, checked(study, item, rater, dict.fromkeys(study.keys, True)))
    assert main(["study", "agreement", out]) == 0
    said = capsys.readouterr().out
    assert (
        "Itinerary feasibility" in said
        and "all 7 TRUE" in said
        and "100.0%" in said
        and "alpha (" not in said
    )
    assert main(["study", "agreement", out, "--unblind", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["runs"]["alpha"]["true"]["all"]["value"] == 1.0
    verdicts = tmp_path / "judge.jsonl"
    verdicts.write_text(
        "".join(json.dumps({"id": f"r{n}", "reward": float(n > 0)}) + "\n" for n in range(5))
    )
    assert main(["study", "agreement", out, "--verdicts", f"alpha={verdicts}", "--json"]) == 0
    of_alpha = [entry.id for entry in study.key.values() if entry.run == "alpha"]
    judged = json.loads(capsys.readouterr().out)["verdicts"]["judge: joint"]
    assert (judged["agreement"]["n"], judged["too_strict"]) == (3, of_alpha.count("r0"))
    assert main(["study", "agreement", out, "--verdicts", str(verdicts)]) == 2
    assert "Of which run are the verdicts" in capsys.readouterr().err
    assert main(["study", "export", out, "--out", str(tmp_path / "labels.csv")]) == 0
    assert main(["study", "import", out, str(tmp_path / "labels.csv")]) == 0
    assert "imported 12 labels of 2 raters" in capsys.readouterr().err
    assert (
        main(
            [
                "study",
                "export",
                out,
                "--out",
                str(tmp_path / "people.jsonl"),
                "--merge",
                "--run",
                "beta",
            ]
        )
        == 0
    )
    labelled = [json.loads(line) for line in (tmp_path / "people.jsonl").read_text().splitlines()]
    assert len(labelled) == 3 and all(
        line["passes"] is True and line["run"] == "beta" for line in labelled
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["make", "nowhere", "--out", "x"], "No transcripts at 'nowhere'"),
        (["agreement", "nowhere"], "No study in 'nowhere'"),
        (["export", "nowhere", "--out", "x.csv"], "No study in 'nowhere'"),
        (["import", "nowhere", "x.csv"], "No study in 'nowhere'"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", *words]) == 2
    said = capsys.readouterr().err
    assert problem in said and said.count("\n") == 1


def test_the_server_says_where_it_is_and_stops_in_order(study: Study) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    command = [
        sys.executable,
        "-m",
        "tripwright",
        "study",
        "serve",
        str(study.folder),
        "--port",
        "0",
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        said = server.stderr.readline()
        found = re.search(r"at (http://127\.0\.0\.1:\d+) \(8 items\)", said)
        assert found, said
        body = json.dumps(
            {"rater": "ann", "item": next(iter(study.items)), "values": {"clarity": True}}
        ).encode()
        request = urllib.request.Request(
            f"{found[1]}/api/labels", body, {"content-type": "application/json"}, method="PUT"
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        assert json.load(opener.open(request, timeout=30))["saved"]
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    assert len(read(study)["ann"]) == 1
