"""`tripwright request …` as typed: files, proofs, review and stages, and one line for every
mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.world.folder import write_world
from tripwright.world.generator import build_tables
from tripwright.world.store import World

MAKE = [
    "request",
    "make",
    "--nano-seed",
    "3",
    "--count",
    "12",
    "--constraints",
    "mixed",
    "--seed",
    "2",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("requests") / "few.jsonl"
    assert main([*MAKE, "--out", str(path)]) == 0
    return path


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_requests_come_with_their_proofs_and_equal_seeds_with_equal_bytes(
    made: Path, tmp_path: Path, capsys
) -> None:
    requests, proofs = lines(made), lines(made.with_name("few.proofs.jsonl"))
    assert [one["id"] for one in requests] == [one["id"] for one in proofs] and len(requests) == 12
    assert all(proof["witnesses"] for proof in proofs)
    assert main([*MAKE, "--json", "--out", str(tmp_path / "again.jsonl")]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["requests"] == 12 == sum(said["levels"].values()) and 0 < said["with_wishes"] < 12
    assert (tmp_path / "again.jsonl").read_bytes() == made.read_bytes()
    assert (tmp_path / "again.proofs.jsonl").read_bytes() == made.with_name(
        "few.proofs.jsonl"
    ).read_bytes()


def test_live_services_and_a_recorded_day_give_the_requests_of_their_world(
    tmp_path: Path, capsys
) -> None:
    """The services file names a closed world, so that what is made can be held against the world's
    own requests."""
    tables = build_tables("nano", 3)
    write_world(tmp_path / "world", tables)
    world = World.open(tmp_path / "world")
    services = tmp_path / "live.toml"
    tools = "".join(f'{tool} = "world"\n' for tool in RECORDS)
    services.write_text(f'[tools]\n{tools}[vendors.world]\nfolder = "{tmp_path / "world"}"\n')
    few = ["request", "make", "--count", "6", "--constraints", "mixed", "--seed", "2"]
    asked = [
        "--cities",
        ",".join(world.cities),
        "--days",
        f"{world.dates[0]}..{world.dates[-1]}",
        "--snapshot",
        "2026-06-20",
    ]
    kept = ["--store", str(tmp_path / "live.sqlite")]
    assert (
        main([*few, "--world", str(tmp_path / "world"), "--out", str(tmp_path / "direct.jsonl")])
        == 0
    )
    assert (
        main(
            [
                *few,
                "--services",
                str(services),
                *asked,
                *kept,
                "--out",
                str(tmp_path / "live.jsonl"),
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert (
        main([*few, "--replay", *asked, *kept, "--out", str(tmp_path / "replayed.jsonl"), "--json"])
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert (
        said["services"]["mode"] == "replay"
        and said["services"]["snapshot"] == "2026-06-20"
        and said["requests"] == 6
    )
    for name in ("live", "replayed"):
        assert (tmp_path / f"{name}.jsonl").read_bytes() == (tmp_path / "direct.jsonl").read_bytes()
        assert (tmp_path / f"{name}.proofs.jsonl").read_bytes() == (
            tmp_path / "direct.proofs.jsonl"
        ).read_bytes()


def test_review_and_accept(made: Path, tmp_path: Path, capsys) -> None:
    review, out = tmp_path / "review.md", tmp_path / "accepted.jsonl"
    assert main(["request", "review", str(made), "--out", str(review)]) == 0
    assert (
        main(["request", "accept", str(made), str(review), "--out", str(out)]) == 2
        and not out.exists()
    )
    ticked = review.read_text().replace("## [ ]", "## [x]", 3)
    review.write_text(ticked)
    capsys.readouterr()
    assert main(["request", "accept", str(made), str(review), "--out", str(out)]) == 0
    assert (
        capsys.readouterr().out
        == f"{out}: 3 of 12 requests accepted, 0 with other words; 9 not ticked\n"
    )
    assert lines(out) == lines(made)[:3]
    review.write_text(ticked.replace("\n> ", "\n> Please rather ", 1))
    capsys.readouterr()
    assert (
        main(
            ["request", "accept", str(made), str(review), "--out", str(out), "--restart", "--json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["edited"] == 1
    review.write_text(ticked.replace(str(lines(made)[0]["query"]), "Somewhere nice."))
    assert main(["request", "accept", str(made), str(review), "--out", str(out), "--restart"]) == 1
    refused, summary = capsys.readouterr().out.splitlines()
    assert "cannot be read" in refused and summary.endswith(
        "2 of 12 requests accepted, 0 with other words; 9 not ticked, 1 refused"
    )


def test_difficulty_writes_stages(made: Path, tmp_path: Path, capsys) -> None:
    requests = lines(made)
    episodes = [
        {"id": f"{one['id']}/{k}", "request": one, "verdict": {"final": place < 6 or k == 0}}
        for place, one in enumerate(requests)
        for k in range(4)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    asked = [
        "request",
        "difficulty",
        str(made),
        str(tmp_path / "t.jsonl"),
        "--out",
        str(tmp_path / "staged"),
    ]
    assert main([*asked, "--share", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["levels"] == {"easy": 6, "hard": 6}
    stages = {
        name: lines(tmp_path / "staged" / f"{name}.jsonl") for name in ("difficulty", "sft", "rl")
    }
    assert [one["difficulty"] for one in stages["difficulty"]] == [0.0] * 6 + [0.75] * 6
    assert [one["id"] for one in stages["sft"]] == [one["id"] for one in requests[:6]]
    assert {one["level"] for one in stages["rl"]} == {"hard"}
    assert main(asked) == 2  # the files are there


@pytest.mark.parametrize(
    ("argv", "problem"),
    (
        (["make", "--out", "{tmp}/o.jsonl"], "Which world?"),
        (["make", "--nano-seed", "1", "--world", "w", "--out", "{tmp}/o.jsonl"], "Which world?"),
        (
            ["make", "--services", "s.toml", "--world", "w", "--out", "{tmp}/o.jsonl"],
            "leave --world and --nano-seed out",
        ),
        (
            ["make", "--services", "s.toml", "--days", "2026-06-26", "--out", "{tmp}/o.jsonl"],
            "Give --cities",
        ),
        (
            [
                "make",
                "--services",
                "s.toml",
                "--cities",
                "A,B",
                "--days",
                "x",
                "--out",
                "{tmp}/o.jsonl",
            ],
            "--days: 'x' is no day",
        ),
        (
            [
                "make",
                "--services",
                "s.toml",
                "--cities",
                "A,B",
                "--days",
                "2026-06-26",
                "--out",
                "{tmp}/o.jsonl",
            ],
            "'s.toml' cannot be read",
        ),
        (
            ["make", "--nano-seed", "1", "--cities", "A,B", "--out", "{tmp}/o.jsonl"],
            "--cities is of live services",
        ),
        (
            ["make", "--nano-seed", "1", "--snapshot", "2026-06-26", "--out", "{tmp}/o.jsonl"],
            "--snapshot is of live services",
        ),
        (
            ["make", "--nano-seed", "1", "--constraints", "some", "--out", "{tmp}/o.jsonl"],
            "--constraints 'some'",
        ),
        (
            ["make", "--nano-seed", "1", "--levels", "1:2", "--out", "{tmp}/o.jsonl"],
            "--levels '1:2'",
        ),
        (["make", "--nano-seed", "1", "--out", "{made}"], "is there already"),
        (["make", "--nano-seed", "1", "--out", "{tmp}"], "is a folder"),
        (["review", "{tmp}/none.jsonl", "--out", "{tmp}/r.md"], "No request file"),
        (["review", "{made}", "--out", "{tmp}/r.txt"], "neither .md nor .csv"),
        (["accept", "{made}", "{tmp}/none.md", "--out", "{tmp}/a.jsonl"], "No review file"),
        (
            ["difficulty", "{made}", "{tmp}/none", "--out", "{tmp}/s"],
            "No episodes at",
        ),
        (
            ["difficulty", "{made}", "{made}", "--out", "{tmp}/s"],
            ":1: not an episode",
        ),
    ),
)
def test_mistakes_are_one_line(
    argv: list[str], problem: str, made: Path, tmp_path: Path, capsys
) -> None:
    assert main(["request", *(word.format(tmp=tmp_path, made=made) for word in argv)]) == 2
    said = capsys.readouterr().err
    assert problem in said and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ("make", "difficulty", "review", "accept"))
def test_help_has_examples(verb: str, capsys) -> None:
    assert main(["request", verb, "--help"]) == 0
    assert f"tripwright request {verb}" in capsys.readouterr().out.split("Examples:")[1]
