"""Exports hold the transcript's messages to the letter, and its ids and masks as stored."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines
from tripwright.agent.chat import ChatFormat
from tripwright.cli.main import extra_of
from tripwright.data.export import export, message_rows
from tripwright.data.trajectories import StoredEpisode, collect, open_runs, read_trajectories
from tripwright.domains import dialect_named, domain_of
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.query import read_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import open_session
from tripwright.errors import UserError

DIALECTS = ("planner_r1", "compact", "star")


@pytest.fixture(scope="module")
def trajectories(made: Path, tmp_path_factory: pytest.TempPathFactory) -> list[StoredEpisode]:
    """Of all three dialects."""
    path = tmp_path_factory.mktemp("collected") / "all.jsonl"
    collect(open_runs([made / dialect for dialect in DIALECTS]), path)
    return list(read_trajectories([path]))


def said(trajectory: StoredEpisode) -> list[tuple[str, str]]:
    return [(segment.role, segment.text) for segment in trajectory.transcript.segments]


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    return pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()


def test_messages_are_the_transcript_s_to_the_letter(trajectories, tmp_path):
    path = tmp_path / "new" / "train.parquet"
    assert export(trajectories, path) == 18
    rows = parquet_rows(path)
    for row, trajectory in zip(rows, trajectories, strict=True):
        assert [(message["role"], message["content"]) for message in row["messages"]] == said(
            trajectory
        )
        assert row["train"] == [message["role"] == "assistant" for message in row["messages"]]
        # played as text: no ids are made up
        assert row["input_ids"] is None and row["loss_mask"] is None
        tools = trajectory.record["tools"]
        assert (row["tools"] is None) == (tools is None)
        assert tools is None or json.loads(row["tools"]) == tools
        assert row["id"] == trajectory.id
        assert row["level"] == trajectory.request.level
        assert row["days"] == trajectory.request.days
        assert json.loads(row["query"]) == trajectory.record["request"]


def test_json_lines_hold_what_parquet_holds(trajectories, tmp_path):
    export(trajectories, tmp_path / "a.jsonl")
    export(trajectories, tmp_path / "a.parquet")
    assert read_lines(tmp_path / "a.jsonl") == parquet_rows(tmp_path / "a.parquet")


def test_stored_ids_come_out_as_stored(world, made, small_tokenizer):
    chat, dialect = ChatFormat(small_tokenizer), dialect_named("planner_r1")
    queries = read_queries(made / "queries.jsonl")[:3]
    sessions = list(
        ExpertPolicy().play(
            open_session(TripTask(str(n), query, world), dialect, chat)
            for n, query in enumerate(queries)
        )
    )
    domain = domain_of(dialect)
    played = [
        StoredEpisode(str(n), domain, each.task.request, each.transcript, None, {"tools": None})
        for n, each in enumerate(sessions)
    ]
    for row, session in zip(message_rows(played), sessions, strict=True):
        transcript = session.transcript
        assert row["input_ids"] == transcript.token_ids
        assert row["loss_mask"] == transcript.loss_mask
        assert sum(row["loss_mask"]) > 0
        assert row["train"] == [message["role"] == "assistant" for message in row["messages"]]


def test_a_run_s_own_file_does_not_say_which_tools_it_had(made, tmp_path):
    with pytest.raises(UserError, match="does not say which tools it was given"):
        export(read_trajectories([made / "star" / "transcripts.jsonl"]), tmp_path / "a.jsonl")
    assert not list(tmp_path.iterdir())


def test_parquet_needs_an_extra_and_jsonl_needs_none(trajectories, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError) as missing:
        export(trajectories, tmp_path / "a.parquet")
    assert extra_of(missing.value.name or "") == "data"
    assert export(trajectories, tmp_path / "a.jsonl") == 18


def test_a_file_is_replaced_whole_or_not_at_all(trajectories, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    export(trajectories, path)
    before = path.read_bytes()

    def broken() -> Any:
        yield from trajectories[:2]
        raise UserError("the rest cannot be read")

    with pytest.raises(UserError):
        export(broken(), path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]
