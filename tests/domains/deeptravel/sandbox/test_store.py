"""What a store promises."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator

import pytest

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.sandbox.sandbox import SandboxQuestion, StoredAnswer
from tripwright.domains.deeptravel.sandbox.store import CHUNK_ROWS, Store
from tripwright.errors import UserError
from tripwright.llm.endpoint import Budgets

DAY = "2026-06-20"


def recorded(number: int = 0, body: bytes = b"{}", day: str = DAY) -> StoredAnswer:
    return StoredAnswer(
        SandboxQuestion("poi_search", "maps", "1", f'{{"query":"{number}"}}', day), body
    )


def test_the_first_answer_stays(store):
    key = recorded().question.key
    assert store.find(key) is None
    assert store.keep(recorded(body="Zoë \0".encode())) == "Zoë \0".encode()
    assert store.keep(recorded(body=b"later")) == "Zoë \0".encode() == store.find(key)


KEY = recorded().question.key


def in_a_fork(work: Callable[[], bool]) -> int:
    """The number of a process that ends with 0 where `work` says yes."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_key_is_locked_for_other_processes_until_its_owner_ends_however_it_ends(
    store, store_name
):
    number = int(KEY[:15], 16)
    with store.locked(KEY):
        assert ended(in_a_fork(lambda: not store._lock(number) and store._lock(number + 1))) == 0
    read, write = os.pipe()

    def holding() -> bool:
        with Store(store_name).locked(KEY):
            os.write(write, b"!")
            time.sleep(60)
        return False

    child = in_a_fork(holding)
    assert os.read(read, 1) == b"!" and not store._lock(number)
    os.kill(child, signal.SIGKILL)
    assert ended(child) == -signal.SIGKILL
    with store.locked(KEY):
        pass


@pytest.fixture(params=[True, False], ids=["local", "stored"])
def limits(request: pytest.FixtureRequest, store: Store) -> Budgets | Store:
    return Budgets() if request.param else store


def test_turns_come_at_the_rate_of_the_vendor(limits):
    terms = Terms(requests_per_second=0.1)
    assert limits.take("v", terms.between_s) == 0
    for _ in range(2):  # whoever looks takes nothing
        assert limits.take("v", terms.between_s) == pytest.approx(10, abs=5)
    assert limits.take("another", terms.between_s) == 0
    assert not any(limits.take("unlimited", 0.0) for _ in range(9))


def test_a_pause_is_never_shortened(limits):
    limits.pause("v", 500)
    limits.pause("v", 1)
    for terms in (Terms(), Terms(requests_per_second=0.1)):
        assert 450 < limits.take("v", terms.between_s) <= 500


def test_a_budget_is_of_all_who_open_the_store(store, store_name):
    terms, other = Terms(requests_per_second=0.1), Store(store_name)
    assert store.take("v", terms.between_s) == 0 and other.take("v", terms.between_s) > 0
    other.close()


def test_all_of_a_day_by_key_however_much_it_is(store):
    many = [recorded(number, body=b"%d" % number) for number in range(CHUNK_ROWS + 7)]
    store.keep_all(many)
    store.keep_all([*many, recorded(0, b"other day", "2026-06-21")])
    found = list(store.recorded(DAY))
    assert found == sorted(many, key=lambda entry: entry.question.key)
    assert store.days() == [DAY, "2026-06-21"]
    assert store.vendors(DAY) == [("poi_search", "maps", "1")]


def test_all_or_none(store):
    def breaking() -> Iterator[StoredAnswer]:
        yield recorded(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.keep_all(breaking())
    assert store.find(recorded(1).question.key) is None
    store.keep_all([recorded(1)])  # it goes on
    assert store.find(recorded(1).question.key) == b"{}"


def test_a_forked_process_uses_a_connection_of_its_own(store):
    store.keep(recorded(1, b"parent"))

    def work() -> bool:
        store.keep(recorded(2, b"child"))
        return store.find(recorded(1).question.key) == b"parent"

    assert ended(in_a_fork(work)) == 0
    assert store.find(recorded(2).question.key) == b"child"
    assert store.keep(recorded(3, b"parent still")) == b"parent still"


@pytest.mark.parametrize("name", ["postgresql://user:hunter2@host/db", "http://host/db", "", " "])
def test_a_store_of_no_known_kind(name):
    with pytest.raises(UserError, match=r"is not known: expected a path like") as error:
        Store(name)
    assert "hunter2" not in str(error.value)


def test_no_store_where_one_is_expected(tmp_path):
    with pytest.raises(UserError, match="No store at '.*none.sqlite'"):
        Store(str(tmp_path / "none.sqlite"), create=False)
    assert not list(tmp_path.iterdir())


def test_no_store_where_a_folder_or_a_file_stands_in_the_way(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("a note")
    for create in (True, False):
        with pytest.raises(UserError, match="is a folder: a store is a file, for instance"):
            Store(str(tmp_path), create)
    for below in ("a.sqlite", "runs/a.sqlite"):
        with pytest.raises(UserError, match="notes.txt' is a file, expected a folder"):
            Store(str(file / below))
    assert [path.name for path in tmp_path.iterdir()] == [
        "notes.txt"
    ] and file.read_text() == "a note"


def test_a_file_that_is_something_else_stays_as_it_is(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("a note that is no database, and long enough to have a header " * 10)
    with pytest.raises(UserError, match="cannot be used: file is not a database"):
        Store(str(text))
    for table, create in (("city", True), ("city", False), ("sandbox_x", False)):
        other = tmp_path / f"{table}-{create}.sqlite"
        with sqlite3.connect(other) as db:
            db.execute(f"CREATE TABLE {table} (name TEXT)")
        db.close()
        before = other.read_bytes()
        with pytest.raises(UserError, match="is no store of live tools"):
            Store(str(other), create)
        assert other.read_bytes() == before and text.read_text().startswith("a note")


def test_sqlite_says_what_is_wrong_while_it_is_used(tmp_path):
    opened = Store(str(tmp_path / "live.sqlite"))
    opened._run("DROP TABLE sandbox_answer")
    with pytest.raises(UserError, match="The store .*live.sqlite cannot be used: no such table"):
        opened.find("k")
    opened.close()


def test_a_damaged_file_is_one_line(tmp_path):
    """Not only at opening: the first pages may be whole."""
    path = tmp_path / "live.sqlite"
    store = Store(str(path))
    store.keep_all(recorded(number, b"x" * 2000) for number in range(200))
    store.close()
    pages = bytearray(path.read_bytes())
    pages[4 * 4096 : -4096] = b"\xff" * (len(pages) - 5 * 4096)
    path.write_bytes(pages)
    damaged = Store(str(path), create=False)
    with pytest.raises(UserError, match="cannot be used: database disk image is malformed"):
        list(damaged.recorded(DAY))
    damaged.close()


def test_locks_that_cannot_be_made_are_one_line(tmp_path):
    store = Store(str(tmp_path / "live.sqlite"))
    (tmp_path / "live.sqlite.lock").mkdir()
    with pytest.raises(UserError, match="live.sqlite cannot be used: .*live.sqlite.lock"):
        store._lock(1)
    store.close()
