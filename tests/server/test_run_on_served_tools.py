"""`tripwright run --server URL`: the same episodes, with the tools in other processes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.episode import Episode, close_session


@pytest.fixture(scope="module")
def queries(world_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_queries(tmp_path_factory.mktemp("queries") / "queries.jsonl", world_folder, 8)


def made_queries(path: Path, world: Path, count: int) -> Path:
    how = ["--count", str(count), "--seed", "3", "--out", str(path)]
    assert main(["query", "make", "--world", str(world), *how]) == 0
    return path


def command(
    queries: Path, world: Path, out: Path, *words: str, policy: str = "cheapest-row"
) -> list[str]:
    where = ["--queries", str(queries), "--world", str(world), "--out", str(out)]
    return ["run", "--policy", policy, "--dialect", "compact", *where, *words]


def run(*given: Any) -> int:
    return main(command(*given))


def episodes(out: Path) -> list[dict[str, Any]]:
    return sorted(
        map(json.loads, (out / "transcripts.jsonl").read_text().splitlines()),
        key=lambda line: str(line["id"]),
    )


@pytest.mark.parametrize("faults", [(), ("--faults", "0.3")])
def test_episodes_do_not_notice_where_their_tools_run(
    queries, world_folder, server, tmp_path, faults
):
    assert run(queries, world_folder, tmp_path / "here", *faults) == 0
    assert run(queries, world_folder, tmp_path / "there", *faults, "--server", server.url) == 0
    assert episodes(tmp_path / "there") == episodes(tmp_path / "here")
    assert json.loads((tmp_path / "there" / "run_card.json").read_text())["tools"] == server.url


def test_a_server_that_dies_leaves_episodes_unscored_and_the_same_command_ends_the_run(
    queries, world_folder, served_tools, server, tmp_path, monkeypatch
):
    monkeypatch.setattr("tripwright.llm.endpoint.LONGEST_WAIT_S", 0.01)
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
    assert run(queries, world_folder, tmp_path / "out", "--server", server.url) == 0
    assert json.loads((tmp_path / "out" / "score.json").read_text())["n"] == 8


def test_mistakes_are_one_line_and_leave_no_folder(
    queries, world_folder, server, tmp_path, refused
):
    other = tmp_path / "other"
    assert main(["world", "build", "--out", str(other), "--scale", "nano", "--seed", "8"]) == 0
    made = made_queries(tmp_path / "other.jsonl", other, 2)
    out = tmp_path / "out"
    for told, requests, world, words, policy in (
        ("serves another world", made, other, [server.url], "cheapest-row"),
        ("leave --server out", queries, world_folder, [server.url], "expert"),
        ("asked of a server", queries, world_folder, [server.url, "--empty-tools"], "cheapest-row"),
        ("is not a URL", queries, world_folder, ["localhost:80"], "cheapest-row"),
    ):
        assert told in refused(command(requests, world, out, "--server", *words, policy=policy))
    assert not out.exists()
