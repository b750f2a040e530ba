"""`tripwright run --server URL`: the same episodes, with the tools in other processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Served
from tripwright.cli.main import main
from tripwright.episode import Episode, close_session


@pytest.fixture(scope="module")
def queries(world_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queries") / "queries.jsonl"
    assert (
        main(
            [
                "query",
                "make",
                "--world",
                str(world_folder),
                "--count",
                "8",
                "--seed",
                "3",
                "--out",
                str(path),
            ]
        )
        == 0
    )
    return path


def run(queries: Path, world: Path, out: Path, *words: str, policy: str = "cheapest-row") -> int:
    where = ["--queries", str(queries), "--world", str(world), "--out", str(out)]
    return main(["run", "--policy", policy, "--dialect", "compact", *where, *words])


def episodes(out: Path) -> list[dict[str, Any]]:
    return sorted(
        map(json.loads, (out / "transcripts.jsonl").read_text().splitlines()),
        key=lambda line: str(line["id"]),
    )


@pytest.mark.parametrize("faults", [(), ("--faults", "0.3")])
def test_episodes_do_not_notice_where_their_tools_run(
    queries: Path, world_folder: Path, server: Served, tmp_path: Path, faults: tuple[str, ...]
) -> None:
    assert run(queries, world_folder, tmp_path / "here", *faults) == 0
    assert run(queries, world_folder, tmp_path / "there", *faults, "--server", server.url) == 0
    assert episodes(tmp_path / "there") == episodes(tmp_path / "here")
    assert json.loads((tmp_path / "there" / "run_card.json").read_text())["tools"] == server.url


def test_a_server_that_dies_leaves_episodes_unscored_and_the_same_command_ends_the_run(
    queries: Path,
    world_folder: Path,
    served_tools: Callable[..., Served],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tripwright.tools.remote.LONGEST_WAIT_SECONDS", 0.01)
    served, judged = served_tools("--port", "0"), []

    def close(*arguments: Any) -> Episode:
        judged.append(close_session(*arguments))
        if len(judged) == 3:
            served.stop()
        return judged[-1]

    monkeypatch.setattr("tripwright.episode.close_session", close)
    assert run(queries, world_folder, tmp_path / "out", "--server", served.url) == 0
    first = json.loads((tmp_path / "out" / "score.json").read_text())
    assert first["n"] + first["unscored"] == 8 and first["unscored"] > 0 and first["n"] >= 3
    assert (
        run(queries, world_folder, tmp_path / "out", "--server", served_tools("--port", "0").url)
        == 0
    )
    assert json.loads((tmp_path / "out" / "score.json").read_text())["n"] == 8


def test_mistakes_are_one_line_and_leave_no_folder(
    queries: Path,
    world_folder: Path,
    server: Served,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = tmp_path / "other"
    assert main(["world", "build", "--out", str(other), "--scale", "nano", "--seed", "8"]) == 0
    made = tmp_path / "other.jsonl"
    assert (
        main(
            [
                "query",
                "make",
                "--world",
                str(other),
                "--count",
                "2",
                "--seed",
                "3",
                "--out",
                str(made),
            ]
        )
        == 0
    )
    capsys.readouterr()
    for told, code in {
        "serves another world": run(made, other, tmp_path / "out", "--server", server.url),
        "cannot use --server": run(
            queries, world_folder, tmp_path / "out", "--server", server.url, policy="expert"
        ),
        "nothing is asked of a server": run(
            queries, world_folder, tmp_path / "out", "--server", server.url, "--empty-tools"
        ),
        "is not a URL": run(queries, world_folder, tmp_path / "out", "--server", "localhost:80"),
    }.items():
        assert code == 2 and told
    said = capsys.readouterr().err
    for told in (
        "serves another world",
        "cannot use --server",
        "nothing is asked of a server",
        "is not a URL",
    ):
        assert told in said
    assert len(said.splitlines()) == 4 and not (tmp_path / "out").exists()
