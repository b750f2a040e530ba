"""A kill at any moment leaves no half-made world, and the same command then succeeds."""

import csv
import os
import signal
import sqlite3
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import pytest

from tests.made import made_tables, meal
from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.world.importer import SOURCES
from tripwright.world.records import WorldTables
from tripwright.world.store import MANIFEST_FILE, STORE_FILE, World, verify, write_world

CLI = [sys.executable, "-m", "tripwright"]


def kill_when(command: list[str], reached: list[Path]) -> None:
    """Starts a command and kills it, unasked, as soon as one of the files is there and holds
    something."""
    process = subprocess.Popen(
        [*CLI, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not any(
        file.exists() and file.stat().st_size for file in reached
    ):
        time.sleep(0.005)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of which the flights take a second or two."""
    folder = tmp_path_factory.mktemp("source")
    flights = (
        f"F{n}|{n % 900}|08:00|09:00|1 hours 0 minutes|2022-03-{1 + n % 28:02d}|{route}|100.0"
        for n, route in zip(range(60_000), cycle(("Brook|Aston", "Aston|Brook")))
    )
    tables = {
        "cities": ["Aston|West", "Brook|East"],
        "flights": flights,
        "grounds": ["Aston|Brook|2 hours|200 km"],
        "restaurants": ["Grill|Aston|Tea|10|4.0"],
        "attractions": ["Park|1|2|x|y|z|Aston"],
        "accommodations": ["Inn|Private room|50.0|1.0|4.0|No pets|2|Aston"],
    }
    for kind in SOURCES:
        with (folder / kind.files[0]).open("w", newline="", encoding="utf-8") as text:
            rows = csv.writer(text)
            rows.writerow(kind.columns)
            rows.writerows(row.split("|") for row in tables[kind.name])
    return folder


def test_a_killed_import_leaves_no_world_and_the_next_one_succeeds(source, tmp_path):
    folder = tmp_path / "world"
    command = ["world", "import", str(source), "--out", str(folder)]
    kill_when(command, [tmp_path / "world.partial" / STORE_FILE])
    assert not folder.exists()
    assert main(["world", "info", str(folder)]) == 2
    assert main(command) == 0
    world = World.open(folder)
    assert world.manifest["rows"]["flight"] == 60_000 and len(set(verify(world))) == 1
    assert sorted(file.name for file in folder.iterdir()) == [MANIFEST_FILE, STORE_FILE]
    assert [file.name for file in tmp_path.iterdir()] == ["world"]


def small_tables() -> WorldTables:
    return made_tables({"Aston": "West"}, meals=[meal("Grill", "Aston")])


def test_two_writers_of_one_world_do_not_meet(tmp_path):
    tables = small_tables()

    def slow_rows():
        with pytest.raises(UserError, match=r"Another process is writing '.*/w'"):
            write_world(tmp_path / "w", small_tables())
        yield meal("Grill", "Aston")

    tables.restaurants = slow_rows()
    assert write_world(tmp_path / "w", tables).restaurants("Aston")


def test_what_fails_while_writing_leaves_nothing(tmp_path):
    tables = small_tables()
    tables.restaurants = [("too", "few")]
    with pytest.raises(Exception, match=r"binding|columns|index|parameters"):
        write_world(tmp_path / "w", tables)
    assert not list(tmp_path.iterdir())


def test_a_changed_row_is_found_by_the_hash(tmp_path, typed):
    world = write_world(tmp_path / "w", small_tables())
    assert len(set(verify(world))) == 1
    db = sqlite3.connect(tmp_path / "w" / STORE_FILE)
    db.execute("UPDATE restaurant SET cost = '1'")
    db.commit()
    db.close()
    assert len(set(verify(World.open(tmp_path / "w")))) == 2
    assert "do not match the hash" in typed(f"world info {tmp_path}/w --verify", code=1).err


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, refused):
    (tmp_path / "file").write_text("x")
    for target in ("file", "file/world"):
        refused(f"world build --out {tmp_path}/{target}")
    assert os.listdir(tmp_path) == ["file"]
