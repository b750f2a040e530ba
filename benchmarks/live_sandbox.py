"""Records from a vendor that cannot be relied on, with eight processes at once, and replays it (row
D2).

    python benchmarks/live_sandbox.py [--questions 60] [--per-second 2] [--faults 0.1] [--replays 3]

The vendor (`unstable.py` of tests/domains/deeptravel/sandbox, which writes what it did into a log)
changes its prices at every request, answers so many requests a second and refuses the others, and
fails at a tenth of those it lets in: an error, no answer, a cut connection. Eight processes ask the
same questions in different orders; one of them is killed with SIGKILL after its fifth answer. Then
200 episodes of six calls each are replayed three times, through the tool box and its face
`deeptravel` as an agent sees them.

Exit 1 unless: every question is in the store, as every process got it, the killed one included; the
vendor answered each once (one more for the killed process, which may have been waiting for an
answer); all replays are equal byte for byte; no replay asked the vendor.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

from tripwright.domains import face_named
from tripwright.domains.deeptravel.sandbox.sandbox import Sandbox, describe, recorded_providers
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.domains.deeptravel.tools.live_tools import LiveToolBox

HELPERS = Path(__file__).parents[1] / "tests" / "domains" / "deeptravel" / "sandbox"
PROCESSES, EPISODES, CALLS = 8, 200, 6
KILLED_AFTER = 5  # answers
LIVE_CALLS = 20  # to measure what a call costs without a sandbox


def helper(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HELPERS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(
    store: str, log: Path, asked: argparse.Namespace
) -> tuple[list[list[dict[str, Any]]], float]:
    """(what each process said, seconds)."""
    started, processes = time.monotonic(), []
    for number in range(PROCESSES):
        words = ["--store", store, "--log", log, "--questions", asked.questions]
        words += ["--per-second", asked.per_second, "--asked-per-second", asked.per_second]
        words += ["--faults", asked.faults, "--shuffle", number]
        command = [sys.executable, str(HELPERS / "unstable.py"), *map(str, words)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    pipes = [process.stdout for process in processes if process.stdout]
    lines = [[json.loads(pipes[0].readline()) for _ in range(KILLED_AFTER)]]
    processes[0].send_signal(signal.SIGKILL)
    lines[0] += [json.loads(line) for line in pipes[0] if line.endswith("\n")]
    lines += [[json.loads(line) for line in pipe] for pipe in pipes[1:]]
    codes = [process.wait() for process in processes]
    if codes != [-signal.SIGKILL] + [0] * (PROCESSES - 1):
        sys.exit(f"the recorders ended with {codes}")
    return lines, time.monotonic() - started


def live(log: Path, asked: argparse.Namespace, unstable: ModuleType) -> float:
    """Calls a second without a store, one after the other."""
    terms = unstable.Terms(requests_per_second=asked.per_second)
    client = unstable.Unstable(log, asked.per_second, asked.faults, terms)
    sandbox = Sandbox({"flight_search": client}, retries=unstable.Retries(8, 0.02, 1.0))
    started = time.monotonic()
    for number in range(LIVE_CALLS):
        sandbox.ask("flight_search", unstable.question(number))
    return LIVE_CALLS / (time.monotonic() - started)


def replay(store: str, questions: int, unstable: ModuleType) -> tuple[str, float, dict[str, Any]]:
    """(hash of all observations in order, calls a second, the sandbox's counts)."""
    opened = Store(store, create=False)
    sandbox = Sandbox(recorded_providers(opened, unstable.DAY), opened, unstable.DAY, replay=True)
    tools, chosen, observed = (
        LiveToolBox(sandbox, face_named("deeptravel")),
        random.Random(5),
        hashlib.sha256(),
    )
    started = time.monotonic()
    for _ in range(EPISODES):
        for _ in range(CALLS):
            observed.update(
                tools.call(
                    "flight_search", unstable.question(chosen.randrange(questions))
                ).text.encode()
                + b"\n"
            )
    seconds = time.monotonic() - started
    opened.close()
    return observed.hexdigest(), EPISODES * CALLS / seconds, sandbox.counts.as_dict()["total"]


def problems(
    store: str,
    lines: list[list[dict[str, Any]]],
    answers: Counter[str],
    asked: argparse.Namespace,
    day: str,
) -> list[str]:
    opened, found = Store(store, create=False), []
    kept = {
        entry.question.key: hashlib.sha256(entry.body).hexdigest() for entry in opened.recorded(day)
    }
    opened.close()
    got = [line for said in lines for line in said if "key" in line]
    if len(kept) != asked.questions:
        found.append(f"{len(kept)} of {asked.questions} questions are in the store")
    if lost := sum(kept.get(line["key"]) != line["sha256"] for line in got):
        found.append(f"{lost} answers that a process got are not those in the store")
    most = max(answers.values(), default=0)
    if answers.total() > asked.questions + 1 or most > 2:
        found.append(f"the vendor answered {answers.total()} times, one question {most} times")
    return found


def measure(store: str, asked: argparse.Namespace, unstable: ModuleType) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "vendor.log"
        vendor = unstable.Unstable(log)
        lines, seconds = record(store, log, asked)
        after, answers = vendor.seen()
        found = problems(store, lines, answers, asked, unstable.DAY)
        replays = [replay(store, asked.questions, unstable) for _ in range(asked.replays)]
        if vendor.seen() != (after, answers):
            found.append("a replay asked the vendor")
        if len({observed for observed, _, _ in replays}) != 1 or any(
            counts["hits"] != EPISODES * CALLS for _, _, counts in replays
        ):
            found.append("the replays differ, or missed")
        live_rate = live(log, asked, unstable)
    report(store, lines, seconds, after, replays, live_rate, asked)
    return found


def report(
    store: str,
    lines: list[list[dict[str, Any]]],
    seconds: float,
    seen: Counter[str],
    replays: list[tuple[str, float, dict[str, Any]]],
    live_rate: float,
    asked: argparse.Namespace,
) -> None:
    totals = [said[-1]["counts"] for said in lines[1:]]
    faults: dict[str, int] = {}
    for total in totals:
        for kind, count in total["faults"].items():
            faults[kind] = faults.get(kind, 0) + count
    opened = Store(store, create=False)
    snapshot = describe(opened, opened.days()[0])
    opened.close()
    print(opened.name)
    print(
        f"  recorded      {snapshot.answers} answers of {snapshot.snapshot} in {seconds:.1f} s by"
        f" {PROCESSES} processes, one of them killed"
    )
    print(f"  vendor saw    {dict(seen)}")
    spared = sum(total["hits"] + total["shared"] for total in totals)
    print(
        f"  processes met {faults or 'no faults'}; {sum(total['retries'] for total in totals)}"
        " retries; ",
        end="",
    )
    print(f"another had asked in {spared} of {sum(total['asked'] for total in totals)} calls")
    rates = ", ".join(f"{rate:,.0f}" for _, rate, _ in replays)
    print(
        f"  replayed      {EPISODES} episodes of {CALLS} calls {len(replays)} times: {rates}"
        f" calls/s, observations {replays[0][0][:16]}…"
    )
    best = max(rate for _, rate, _ in replays)
    print(
        f"  live          {live_rate:.2f} calls/s; replay is {best / live_rate:,.0f} times as"
        " fast\n",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--per-second", type=float, default=2.0)
    parser.add_argument("--faults", type=float, default=0.1)
    parser.add_argument("--replays", type=int, default=3)
    asked = parser.parse_args()
    unstable = helper("unstable")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        found = measure(str(Path(folder) / "live.sqlite"), asked, unstable)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
