"""Stores and snapshots that a stranger has made: refused or read, never obeyed."""

import sqlite3
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.domains.deeptravel.sandbox.sandbox import (
    Sandbox,
    SandboxQuestion,
    StoredAnswer,
    recorded_providers,
)
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.errors import UserError

DAY = "2026-06-20"
QUESTION = SandboxQuestion("poi_search", "maps", "1", '{"query":"Tate"}', DAY)


def stored(path: Path, question: SandboxQuestion = QUESTION, body: bytes = b"{}") -> Path:
    store = Store(str(path))
    store.keep(StoredAnswer(question, body))
    store.close()
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER t AFTER INSERT ON sandbox_answer BEGIN DELETE FROM sandbox_answer; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE others (x)",
        "DROP TABLE sandbox_answer; CREATE VIEW sandbox_answer AS WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i AS key FROM n",
    ],
)
def test_a_store_with_a_trigger_or_a_view_is_refused(tmp_path, sql):
    path = stored(tmp_path / "live.sqlite")
    with sqlite3.connect(path) as db:
        db.executescript(sql)
    for create in (True, False):
        with pytest.raises(UserError, match="is no store of live tools: found other"):
            Store(str(path), create)


@pytest.mark.parametrize(
    "body", [10**9, "text", None, b"\xff", b"[]", b'{"records": [{"kind": "Flight"}]}', b"[" * 9999]
)
def test_an_answer_that_is_none_is_one_line(tmp_path, body, capsys):
    """A number in its place would ask for a gigabyte."""
    path = stored(tmp_path / "live.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA ignore_check_constraints=ON")
        if body is None:
            db.execute("UPDATE sandbox_answer SET key = 'another'")
        else:
            db.execute("UPDATE sandbox_answer SET body = ?", (body,))
    store = Store(str(path), create=False)
    replay = Sandbox(recorded_providers(store, DAY), store, DAY, replay=True)
    if body is not None:
        with pytest.raises(UserError, match="live.sqlite is damaged"):
            replay.ask("poi_search", {"query": "Tate"})
    store.close()
    for verb in ("info", "export"):
        out = ["--snapshot", DAY, "--out", str(tmp_path / "x.sqlite")] if verb == "export" else []
        main(["sandbox", verb, "--store", str(path), *out])
        assert "Traceback" not in capsys.readouterr().err
