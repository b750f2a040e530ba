"""No room left in the middle of a run: it stops, says where, and the same command goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import python
from tripwright.cli.main import main
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.runs import TRANSCRIPTS, episodes
from tripwright.world.generator import build_tables
from tripwright.world.store import write_world


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    write_world(folder / "world", build_tables("nano", 7))
    words = ["request", "make", "--world", str(folder / "world"), "--count", "5", "--seed", "1"]
    assert main([*words, "--out", str(folder / "requests.jsonl")]) == 0
    return folder


def start(folder: Path, out: Path, *more: str) -> int:
    return main(
        [
            *("run", "--policy", "errand-expert", "--dialect", "deeptravel_cards"),
            *("--queries", str(folder / "requests.jsonl"), "--world", str(folder / "world")),
            *("--out", str(out), *more),
        ]
    )


def test_a_run_stops_where_its_store_is_full_and_goes_on_with_the_same_command(
    folder, tmp_path, monkeypatch, capsys
):
    store, out = tmp_path / "live.sqlite", tmp_path / "run"
    connect = Store._connect

    def small(self: Store) -> Any:
        db = connect(self)
        db.execute("PRAGMA max_page_count = 12")  # what SQLite says of a full disk, too
        return db

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_connect", small)
        assert start(folder, out, "--store", str(store)) == 2
    said = capsys.readouterr().err
    assert f"The store {store} cannot be used: database or disk is full." in said
    assert "the same command goes on" in said and "Traceback" not in said
    lines = list(episodes(out / TRANSCRIPTS))
    assert len(lines) < 5 and all(line["verdict"] for line in lines)  # none was left unscored
    assert start(folder, out, "--store", str(store)) == 0
    lines = list(episodes(out / TRANSCRIPTS))
    assert len(lines) == 5 and all(line["verdict"] for line in lines)


LIMITED = """
import resource, sys
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
"""


def test_a_line_that_finds_no_room_is_not_in_the_journal_and_the_file_is_named(tmp_path):
    """Nor does a part of it come with what is written once there is room."""
    path = tmp_path / "j.jsonl"
    code = f"""{LIMITED}
from pathlib import Path
from tripwright.files import Journal
with Journal(Path(sys.argv[1])) as journal:
    journal.append({{"n": 1}})
    limit(1000)
    try:
        journal.append({{"n": 2, "long": "x" * 5000}})
    except OSError as error:
        print(error.filename)
    limit(resource.RLIM_INFINITY)
    journal.append({{"n": 3}})
"""
    ran = python("-c", code, path, check=True)
    assert ran.stdout.strip() == str(path)
    assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [1, 3]
