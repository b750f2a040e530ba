"""A world as a folder, `manifest.json` beside `world.sqlite`: written whole or not at all, and
checked when it is opened or on request."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.world.records import WorldTables
from tripwright.world.store import (
    MANIFEST_FILE,
    SCHEMA_VERSION,
    STORE_FILE,
    Report,
    World,
    connect,
    content_hash,
    write_tables,
)

PARTIAL = ".partial"
OURS = {MANIFEST_FILE, *(STORE_FILE + journal for journal in ("", "-journal", "-wal", "-shm"))}


def write_world(folder: str | Path, tables: WorldTables, report: Report | None = None) -> World:
    """Writes a new world folder and opens it. Atomic: a killed write leaves only a `.partial`
    folder, which the next one replaces.

    Raises UserError where the folder is taken, is being written by another process, or the disk is
    full.
    """
    target = check_target(Path(folder))
    with _partial_folder(target) as partial:
        try:
            db = sqlite3.connect(partial / STORE_FILE)
            # whatever interrupts the writing, this file is thrown away
            db.execute("PRAGMA journal_mode=OFF")
            db.execute("PRAGMA synchronous=OFF")
            counts = write_tables(db, tables, report)
            if report:
                report("content hash", 0)
            manifest = {
                "schema_version": SCHEMA_VERSION,
                **tables.about,
                **counts,
                "content_hash": content_hash(db),
            }
            db.close()
            (partial / MANIFEST_FILE).write_text(
                json.dumps(manifest, indent=2) + "\n", encoding="utf-8"
            )
            for path in (partial / STORE_FILE, partial / MANIFEST_FILE):
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        except (sqlite3.OperationalError, OSError) as error:
            raise UserError(
                f"'{partial}' cannot be written: {error}. Is the disk full, or the folder"
                " read-only?"
            ) from None
        check_target(target)  # another process may have written it meanwhile
        target.mkdir(exist_ok=True)
        for name in (STORE_FILE, MANIFEST_FILE):  # without its manifest it is no world yet
            os.replace(partial / name, target / name)
    return World.open(folder)


def check_target(folder: Path) -> Path:
    """`folder` in full. Raises UserError unless a world can be written there: long work should not
    begin in vain."""
    # a store without its manifest: a write was killed between the two
    ours = folder.is_dir() and {path.name for path in folder.iterdir()} <= {STORE_FILE}
    if folder.exists() and not ours:
        raise UserError(
            f"'{folder}' exists and is not empty. Choose a new folder for the world, or delete this"
            " one first."
        )
    if folder.name.endswith(PARTIAL):  # it could not be told from what a killed write has left
        raise UserError(
            f"'{folder}' ends in {PARTIAL}, the name of a world that is being written. Choose"
            " another name."
        )
    return folder.resolve()


@contextmanager
def _partial_folder(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` without what a killed write has left there, held by a lock that dies
    with this process. What else lies in it is its owner's, and stays."""
    partial = folder.with_name(folder.name + PARTIAL)
    try:
        partial.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(partial, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"'{folder}' cannot be made: {error.strerror}.") from None
    try:
        _lock(descriptor, partial)
        _clear(partial)
        try:
            yield partial
        finally:
            _clear(partial)
            with suppress(OSError):
                partial.rmdir()
    finally:
        os.close(descriptor)


def _lock(descriptor: int, partial: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # the writer before us may have moved it into its place just now
        still_there = os.fstat(descriptor).st_ino == partial.stat().st_ino
    except OSError:
        still_there = False
    if not still_there:
        raise UserError(
            f"Another process is writing '{partial.with_suffix('')}' now. Wait for it, or choose"
            " another folder."
        )


def _clear(partial: Path) -> None:
    for name in OURS:
        (partial / name).unlink(missing_ok=True)


def verify(world: World) -> tuple[str, str]:
    """(the hash that the manifest gives, the hash of the rows that are there): equal unless the
    file was changed or damaged."""
    assert world.folder is not None
    db = connect(world.folder)
    try:
        actual_hash: Any = content_hash(db)
    except sqlite3.DatabaseError as error:
        actual_hash = f"unreadable: {error}"
    finally:
        db.close()
    return world.content_hash, actual_hash
