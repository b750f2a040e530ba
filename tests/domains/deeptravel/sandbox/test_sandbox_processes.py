"""What the sandbox is for: a vendor that cannot be relied on, many processes, processes that are
killed, and keys that nobody may see."""

import hashlib
import json
import logging
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, redirect_stdout
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.domains.deeptravel.sandbox import unstable
from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.sandbox.sandbox import (
    NotRecorded,
    Retries,
    Sandbox,
    copy_day,
    describe,
    recorded_providers,
)
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer
from tripwright.llm.http import ProviderFault, Redaction

SOON = Retries(most=8, first_wait_s=0.01, longest_wait_s=0.5)


def recorder(work: Callable[..., Any], out: Path, **settings: Any) -> BaseProcess:
    """A process that records into a store and writes what it got to `out`, each line as it comes. A
    fork: it has imported everything already."""

    def run() -> None:
        with out.open("w", buffering=1) as file, redirect_stdout(file):
            print(json.dumps({"counts": work(**settings)}))

    process = get_context("fork").Process(target=run)
    process.start()
    return process


def kept(store: Store, day: str) -> dict[str, str]:
    return {
        entry.question.key: hashlib.sha256(entry.body).hexdigest() for entry in store.recorded(day)
    }


def said(out: Path) -> list[dict[str, Any]]:
    text = out.read_text() if out.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def test_recorded_from_an_unstable_vendor_and_replayed_three_times(store_name, tmp_path):
    """Prices change at every request, a tenth of the requests fail, and the vendor is asked faster
    than it likes."""
    terms = Terms(requests_per_second=180)
    client = unstable.Unstable(tmp_path / "log", 40, terms=terms, hang_s=0.3)
    store = Store(store_name)
    sandbox = Sandbox({"flight_search": client}, store, unstable.DAY, retries=SOON)
    rounds = random.Random(1)
    episodes = [[unstable.question(rounds.randrange(50)) for _ in range(3)] for _ in range(200)]

    def observed(one: Sandbox) -> list[str]:
        calls = [call for calls in episodes for call in calls]
        with ThreadPoolExecutor(8) as pool:
            asked = pool.map(lambda arguments: one.ask("flight_search", arguments), calls)
            return [answer.to_json() for answer in asked]

    recorded = observed(sandbox)
    counts = sandbox.counts.as_dict()["total"]
    assert counts["unanswered"] == 0 and sum(counts["faults"].values()) > 0
    assert counts["answered_live"] == len(set(recorded))
    requests, _ = client.seen()
    for _ in range(3):
        replay = Sandbox(recorded_providers(store, unstable.DAY), store, unstable.DAY, replay=True)
        assert observed(replay) == recorded
        nothing = Sandbox({}).counts.as_dict()["total"]
        assert replay.counts.as_dict()["total"] | {"hits": 0} == nothing | {"asked": 600}
    assert client.seen()[0] == requests
    store.close()


def test_eight_processes_lose_nothing_and_ask_each_key_once(store_name, tmp_path):
    client = unstable.Unstable(tmp_path / "log")
    asked = {"store": store_name, "client": client, "questions": 60}
    outs = [tmp_path / f"out {number}" for number in range(8)]
    numbered = enumerate(outs)
    processes = [recorder(unstable.record, out, **asked, shuffle=n) for n, out in numbered]
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    lines = [said(out) for out in outs]
    counts = [found.pop()["counts"] for found in lines]
    _, answers = client.seen()
    assert answers.total() == len(answers) == 60, Counter(answers.values())
    store = Store(store_name, create=False)
    expected = kept(store, unstable.DAY)
    assert len(expected) == 60
    for found in lines:
        assert {line["key"]: line["sha256"] for line in found} == expected
    assert sum(count["answered_live"] for count in counts) == 60
    assert sum(count["asked"] for count in counts) == 480
    store.close()


def test_a_kill_loses_no_committed_answer_and_blocks_no_key(store_name, tmp_path):
    client, out = unstable.Unstable(tmp_path / "log"), tmp_path / "out"
    asked = {"store": store_name, "client": client, "questions": 25}
    process = recorder(unstable.record, out, **asked, shuffle=1)
    while len(said(out)) < 6:
        assert process.is_alive()
        time.sleep(0.002)
    process.kill()
    process.join(60)
    heard = [line for line in said(out) if "key" in line]
    assert process.exitcode == -signal.SIGKILL
    store = Store(store_name, create=False)
    found = kept(store, unstable.DAY)
    assert all(found[line["key"]] == line["sha256"] for line in heard)
    counts = unstable.record(**asked, shuffle=2)
    assert (counts["asked"], counts["unanswered"]) == (25, 0)
    whole = kept(store, unstable.DAY)
    assert len(whole) == 25 and whole.items() >= found.items()
    # one answer at most was under way to the killed process
    assert client.seen()[1].total() <= 25 + 1
    store.close()


# ---- secrets


def test_no_key_of_the_environment_gets_in_anywhere(
    store_name, tmp_path, monkeypatch, caplog, capfd
):
    """The vendor repeats the key in its answer, a client puts it into a fault, a model writes it
    into a question."""
    secret = 'sk-live-"5f3/9a'
    monkeypatch.setenv("UNSTABLE_API_KEY", secret)
    caplog.set_level(logging.DEBUG)
    store = Store(store_name)
    client = unstable.Unstable(tmp_path / "log", faults=0, key=os.environ["UNSTABLE_API_KEY"])
    sandbox = Sandbox({"flight_search": client}, store, unstable.DAY)
    asked = sandbox.ask("flight_search", unstable.question(1))
    assert asked.records[0].carrier == "Unstable Airways ***"
    sandbox.ask("flight_search", {**unstable.question(2), "depart_poi": f"my key is {secret}"})
    total = sandbox.counts.as_dict()["total"]
    assert (total["redacted"], total["answered_live"]) == (2, 2)
    asked_of = [entry.question.arguments for entry in store.recorded(unstable.DAY)]
    assert any('"depart_poi":"my key is ***"' in arguments for arguments in asked_of)

    def failing(tool: str, arguments: Any) -> ProviderAnswer:
        said = f"https://vendor.example/?key={secret} answered nonsense"
        raise ProviderFault("bad_response", said)

    monkeypatch.setattr(client, "ask", failing)
    with pytest.raises(ProviderFault) as error:
        sandbox.ask("flight_search", unstable.question(3))
    replay = Sandbox({"flight_search": client}, store, unstable.DAY, replay=True)
    with pytest.raises(NotRecorded):
        replay.ask("flight_search", unstable.question(4))
    with closing(Store(str(tmp_path / "day.sqlite"))) as exported:
        copy_day(store, unstable.DAY, exported)
    printed = capfd.readouterr()
    seen: list[Any] = [asked, error.value, sandbox.counts.as_dict(), describe(store, unstable.DAY)]
    seen += [printed.out, printed.err, caplog.text, store.name, list(store.recorded(unstable.DAY))]
    store.close()
    seen += [path.read_bytes() for path in tmp_path.iterdir() if path.name != "log"]
    for thing in seen:
        assert "5f3" not in str(thing)


def test_which_values_are_secrets():
    secrets = {"TAVILY_API_KEY": "tvly-123456", "db_password": "tvly-123456-and-more"}
    secrets |= {"DUFFEL_ACCESS_TOKEN": "duffel_test_é/="}
    others = {"MONKEY": "chimpanzee", "KEYBOARD": "en_US.UTF-8", "SHORT_KEY": "Wuhan"}
    hide = Redaction(secrets | others)
    assert hide("tvly-123456, tvly-123456-and-more") == "***, ***"
    for ascii_only in (True, False):
        assert hide(json.dumps(["duffel_test_é/="], ensure_ascii=ascii_only)) == '["***"]'
    assert hide("?key=duffel_test_%C3%A9%2F%3D") == "?key=***"
    assert hide.within({"tvly-123456": ["tvly-123456", 1]}) == {"tvly-123456": ["***", 1]}
    assert hide("a chimpanzee in Wuhan, en_US.UTF-8") == "a chimpanzee in Wuhan, en_US.UTF-8"
