"""A day as a thing of its own: counted and hashed, handed on as a file, asked anew as another
day."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.cli.verbs import Verb
from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.sandbox.sandbox import (
    NotRecorded,
    RefreshCounts,
    Retries,
    Sandbox,
    Snapshot,
    check_recorded,
    copy_day,
    describe,
    recorded_providers,
    refresh,
)
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.domains.deeptravel.tools.answers import (
    RECORDS,
    Money,
    PointOfInterest,
    Provenance,
    ProviderAnswer,
    TrainOffer,
)
from tripwright.domains.deeptravel.verbs import sandbox as verbs
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault

DAY, NEXT = "2026-06-20", "2026-06-21"
VERBS = tuple(
    Verb(f"sandbox {name}", "tripwright.domains.deeptravel.verbs.sandbox", function, "")
    for name, function in (
        *(("info", "info"), ("refresh", "refresh_day"), ("export", "export_day")),
    )
)


class Railway:
    """Trains whose prices rise with every call, and places."""

    name, version, terms = "railway", "1", Terms()
    tools = frozenset(("train_search", "poi_search"))

    def __init__(self, price: float = 100.0, fault: str | None = None):
        self.price, self.fault, self.calls = price, fault, 0

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        self.calls += 1
        if self.fault:
            raise ProviderFault(self.fault, "the railway said no")
        self.price += 1
        source = Provenance(self.name, self.version, f"{DAY}T09:30:00Z", "© railway")
        if tool == "poi_search":
            place = PointOfInterest(arguments["query"], "Wuhan", latitude=30.5, longitude=114.3)
            return ProviderAnswer((place,), source)
        day = arguments["depart_date"]
        ends = ("G 7", "railway", "Suzhou", "Süd", "Wuhan", "Hankou")
        offer = TrainOffer(*ends, f"{day}T06:54", f"{day}T11:02", 248)
        return ProviderAnswer((offer, replace(offer, price=Money(self.price, "CNY"))), source)


def record(
    store: Store, trains: int = 3, places: int = 2, day: str = DAY, railway: Railway | None = None
) -> Sandbox:
    provider = railway or Railway()
    sandbox = Sandbox(dict.fromkeys(provider.tools, provider), store, day, retries=Retries(most=0))
    for number in range(trains):
        cities = {"depart_city_name": "Suzhou", "arrival_city_name": "Wuhan", "is_transfer": 0}
        sandbox.ask("train_search", {**cities, "depart_date": f"2026-07-{number + 1:02d}"})
    for number in range(places):
        sandbox.ask("poi_search", {"query": f"museum {number}", "city_name": "Wuhan"})
    return sandbox


# ---- as a file


def exported(store: Store, file: Path) -> Snapshot:
    with closing(Store(str(file))) as target:
        return copy_day(store, DAY, target)


def imported(file: Path, store: Store) -> Snapshot:
    with closing(Store(str(file), create=False)) as source:
        check_recorded(source, DAY)
        return copy_day(source, DAY, store)


def test_a_day_goes_through_a_file_unchanged(store, sqlite, tmp_path):
    """Out of either store into another and out again: the same hash, the same replay. The file is
    a store, too."""
    record(store)
    record(store, day=NEXT)
    file = tmp_path / "deeper" / "day.sqlite"
    written = exported(store, file)
    assert imported(file, sqlite) == written == describe(store, DAY) == describe(sqlite, DAY)
    assert imported(file, sqlite) == written  # twice changes nothing
    assert list(sqlite.recorded(DAY)) == list(store.recorded(DAY))
    assert not list(sqlite.recorded(NEXT))
    tools = {"poi_search": {"railway": 2}, "train_search": {"railway": 3}}
    assert (written.answers, written.tools) == (5, tools)
    assert describe(store, NEXT).content_hash != written.content_hash
    assert [path.name for path in file.parent.iterdir()] == ["day.sqlite"]


def test_the_hash_of_a_day_is_that_of_all_who_recorded_it(sqlite):
    record(sqlite)
    expected = "8a90091e42dfb23da5cf47f0516fab643d8d626a66e2b0f3a6127b548b9207bf"
    assert describe(sqlite, DAY).content_hash == expected


def test_a_file_that_contradicts_the_store_is_refused_whole(store, sqlite, tmp_path):
    record(store)
    exported(store, tmp_path / "day.sqlite")
    record(sqlite, trains=1, places=0, railway=Railway(price=500))
    before = describe(sqlite, DAY)
    with pytest.raises(UserError, match="contradicts the store .*: 1 answers of 2026-06-20 differ"):
        imported(tmp_path / "day.sqlite", sqlite)
    assert describe(sqlite, DAY) == before


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM sandbox_answer", "has no snapshot of"),
        ("UPDATE sandbox_answer SET snapshot = 'today'", "has no snapshot of"),
        (f"UPDATE sandbox_answer SET snapshot = '{NEXT}'", "has no snapshot of"),
        ("UPDATE sandbox_answer SET arguments = '{}'", "not under the key of its question"),
        ("UPDATE sandbox_answer SET body = x'7b7d'", "is damaged: an answer in it cannot"),
        ("UPDATE sandbox_answer SET body = 7", "is damaged"),
        (
            "UPDATE sandbox_answer SET body = CAST(replace(CAST(body AS TEXT), '\"may_store\"'"
            " || char(58) || 'true', '\"may_store\"' || char(58) || 'false') AS BLOB)",
            "an answer that may not be kept",
        ),
    ],
)
def test_a_file_that_is_no_day_as_it_was_recorded(sql, message, sqlite, tmp_path):
    path = tmp_path / "day.sqlite"
    with closing(Store(str(path))) as source:
        record(source)
        source._run(sql)
    with pytest.raises(UserError, match=message):
        imported(path, sqlite)
    assert not sqlite.days()


def test_no_file_without_answers(store_name, tmp_path):
    with closing(Store(store_name)) as store:
        record(store)
    out = tmp_path / "out" / "day.sqlite"
    for day, file in ((NEXT, out), ("yesterday", out), (DAY, tmp_path)):
        export = ["sandbox", "export", "--store", store_name, "--snapshot", day]
        assert main([*export, "--out", str(file)], VERBS) == 2
    assert not (tmp_path / "out").exists()


def test_a_copy_that_breaks_off_leaves_nothing(sqlite, tmp_path, monkeypatch):
    record(sqlite)
    rows = list(sqlite.recorded(DAY))

    def breaking(day: str) -> Iterator[Any]:
        yield from rows
        if reads.pop() == "the last":
            raise KeyboardInterrupt

    reads = ["the last", "checked", "described"]
    monkeypatch.setattr(sqlite, "recorded", breaking)
    with closing(Store(str(tmp_path / "day.sqlite"))) as target:
        with pytest.raises(KeyboardInterrupt):
            copy_day(sqlite, DAY, target)
        assert not target.days()


# ---- replay without the vendors' clients


def test_a_snapshot_says_who_answers(sqlite):
    record(sqlite)
    assert recorded_providers(sqlite, DAY, tools=()).keys() == {"train_search", "poi_search"}
    replay = Sandbox(recorded_providers(sqlite, DAY), sqlite, DAY, replay=True)
    # an agent is shown the tools that it was shown then, asked for or not
    assert replay.tools == RECORDS.keys()
    known, other = ({"query": each, "city_name": "Wuhan"} for each in ("museum 1", "bridge"))
    assert replay.ask("poi_search", known).records
    for tool, call in (("web_search", {"query": "museums"}), ("poi_search", other)):
        with pytest.raises(NotRecorded):
            replay.ask(tool, call)
    with pytest.raises(ProviderFault, match="railway is only replayed here"):
        replay.providers["poi_search"].ask("poi_search", {})


def test_where_several_answered_nothing_is_replayed(sqlite):
    record(sqlite)
    newer = Railway()
    newer.version = "2"
    record(sqlite, railway=newer)
    with pytest.raises(UserError, match="poi_search answered by 'railway 1', 'railway 2'"):
        recorded_providers(sqlite, DAY)


# ---- a new day


def test_trains_are_asked_again_and_places_are_copied(store):
    record(store)
    railway = Railway(price=900)
    sandbox = Sandbox({"train_search": railway}, store, NEXT)
    found = refresh(sandbox, DAY)
    assert (found.questions, found.carried, found.known, found.answered) == (3, 2, 0, 3)
    assert not found.unanswered.total()
    assert railway.calls == 3
    old, new = (
        {(each.question.tool, each.question.arguments): each.body for each in store.recorded(day)}
        for day in (DAY, NEXT)
    )
    assert old.keys() == new.keys()
    for (tool, arguments), body in new.items():
        assert (body == old[tool, arguments]) == (tool == "poi_search")
    replay = Sandbox(recorded_providers(store, NEXT), store, NEXT, replay=True)
    assert replay.ask("poi_search", {"query": "museum 1", "city_name": "Wuhan"}).records
    again = refresh(sandbox, DAY)
    assert (again.known, again.answered, railway.calls) == (3, 0, 3)


def test_a_refresh_that_was_stopped_goes_on(sqlite):
    """What was answered before is not asked again."""
    record(sqlite, trains=28)
    railway = Railway(price=900)
    sandbox = Sandbox({"train_search": railway}, sqlite, NEXT)

    def stop(found: RefreshCounts) -> None:
        if found.answered == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refresh(sandbox, DAY, threads=1, report=stop)
    found = refresh(sandbox, DAY)
    assert (found.known, found.answered, railway.calls) == (10, 18, 28)


def test_a_vendor_that_refuses_us_is_not_asked_a_thousand_times(sqlite):
    record(sqlite, trains=28)
    railway = Railway(fault="unauthorized")
    found = refresh(Sandbox({"train_search": railway}, sqlite, NEXT), DAY, threads=2)
    assert found.unanswered == {"train_search": 28}
    assert found.problems == {"train_search": "the railway said no"}
    assert found.done == 28 and railway.calls <= 6


@pytest.mark.parametrize(
    ("from_day", "tools", "message"),
    [
        (NEXT, ("train_search",), "A refresh records another day than it reads"),
        ("2026-06-01", ("train_search",), "has no snapshot of 2026-06-01"),
        (DAY, ("poi_search",), "No provider answers poi_search, which the snapshot of 2026-06-20"),
    ],
)
def test_a_refresh_that_cannot_be(from_day, tools, message, sqlite):
    record(sqlite)
    with pytest.raises(UserError, match=message):
        refresh(Sandbox({"train_search": Railway()}, sqlite, NEXT), from_day, tools)
    assert NEXT not in sqlite.days()


# ---- by hand


def test_the_command_line(store_name, tmp_path, monkeypatch, capsys):
    store = Store(store_name)
    record(store)
    shown = store.name
    store.close()
    railway = Railway(price=900)
    monkeypatch.setattr(verbs, "load_services", lambda path: {"train_search": railway})

    def run(*words: str, code: int = 0) -> str:
        assert main(["sandbox", *words], VERBS) == code, capsys.readouterr()
        said = capsys.readouterr()
        return said.out if code != 2 else said.err

    days = ["--from", DAY, "--to", NEXT, "--services", "live.toml"]
    assert "answered    3\n" in run("refresh", "--store", store_name, *days)
    figures = json.loads(run("refresh", "--store", store_name, *days, "--json"))
    assert (figures["known"], figures["calls"]["total"]["hits"], figures["store"]) == (3, 3, shown)
    assert shown in run("info", "--store", store_name)
    told = json.loads(run("info", "--store", store_name, "--snapshot", NEXT, "--json"))
    out = tmp_path / "day.sqlite"
    run("export", "--store", store_name, "--snapshot", NEXT, "--out", str(out))
    copy = str(tmp_path / "copy" / "live.sqlite")
    again = run("export", "--store", str(out), "--snapshot", NEXT, "--out", copy, "--json")
    assert json.loads(again) == told["snapshots"][0]
    railway.fault = "unauthorized"
    later = ["--from", DAY, "--to", "2026-06-22", "--services", "live.toml"]
    assert "the railway said no" in run("refresh", "--store", store_name, *later, code=1)
    assert "has no snapshot of 2026-06-30: it has 2026-06-20, 2026-06-21" in run(
        *("export", "--store", store_name, "--snapshot", "2026-06-30", "--out", str(out)), code=2
    )
    assert "No store at" in run("info", "--store", str(tmp_path / "none.sqlite"), code=2)
