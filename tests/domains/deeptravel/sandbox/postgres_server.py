"""A real PostgreSQL server for one test run or benchmark: its own folder, a Unix socket in it, no
network."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "tripwright"


def programs() -> Path | None:
    """The folder with initdb and pg_ctl: Debian keeps it out of PATH."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda folder: float(folder.parent.name),
        reverse=True,
    )
    if on_path := shutil.which("initdb"):
        folders.append(Path(on_path).parent)
    return next(
        (
            folder
            for folder in folders
            if (folder / "initdb").exists() and (folder / "pg_ctl").exists()
        ),
        None,
    )


@contextmanager
def server() -> Iterator[str]:
    """The URL of its database `postgres`. Raises LookupError where PostgreSQL is not installed."""
    if (binaries := programs()) is None:
        raise LookupError("no PostgreSQL server here: apt-get install postgresql")
    # the path of a socket has at most 107 characters
    folder = Path(tempfile.mkdtemp(prefix="tripwright-pg-", dir="/tmp"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    data, log = folder / "data", folder / "log"
    settings = (
        f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=50 -c"
        " fsync=off"
    )

    def run(program: str, *words: str) -> None:
        command = [*as_user, str(binaries / program), "-D", str(data), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            raise RuntimeError(
                f"{program}: {done.stderr}{done.stdout}{log.read_text() if log.exists() else ''}"
            )

    try:
        run("initdb", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        run("pg_ctl", "-l", str(log), "-o", settings, "-w", "-t", "60", "start")
        try:
            yield f"postgresql://{USER}@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def schema(server_url: str, name: str) -> Iterator[str]:
    """The URL of an empty schema, gone afterwards: much faster than a database."""
    import psycopg

    with psycopg.connect(server_url, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}".encode())
        try:
            yield f"{server_url}&options=-csearch_path%3D{name}"
        finally:
            db.execute(f"DROP SCHEMA {name} CASCADE".encode())
