"""A provider that cannot be relied on, and a recorder that asks it: for the tests here and for
benchmarks/live_sandbox.py.

    python unstable.py --store live.sqlite --log seen.log --questions 100 --shuffle 3
"""

import argparse
import fcntl
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.sandbox.sandbox import Retries, Sandbox
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    Money,
    Provenance,
    ProviderAnswer,
)
from tripwright.llm.http import ProviderFault

DAY = "2026-06-20"
CITIES = (
    *("Suzhou", "Wuhan", "Kunming", "Shíjiāzhuāng", "Lhasa"),
    *("Ürümqi", "Xiamen", "Harbin", "Chengdu", "Guilin"),
)
FAULTS = {"error": "server_error", "hang": "timeout", "cut": "connection"}


def question(number: int) -> dict[str, str]:
    """The arguments of question `number`; all are different."""
    depart, arrive = CITIES[number % 10], CITIES[(number // 10 + number + 1) % 10]
    day = f"2026-{7 + number // 280 % 6:02d}-{1 + number // 10 % 28:02d}"
    cities = {"depart_city_name": depart, "arrival_city_name": arrive}
    return {**cities, "depart_date": day, "depart_poi": f"gate {number}"}


class Unstable:
    """Its prices change at every request. Asked by however many processes, it answers so many
    requests a second, refuses the others, and fails at a share of those that it lets in. `log` has
    a line for each request: when it was, what became of it, and what was asked. `key` it repeats
    in its answers, as no vendor should."""

    name, version, tools = "unstable", "1", frozenset(("flight_search",))

    def __init__(
        self,
        log: Path,
        per_second: float = 1000.0,
        faults: float = 0.1,
        terms: Terms | None = None,
        hang_s: float = 0.0,
        key: str = "",
        seed: int = 7,
    ):
        self.log, self.per_second, self.faults, self.hang_s = log, per_second, faults, hang_s
        self.terms, self.key, self.random = terms or Terms(), key, random.Random(seed)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        number, fate = self._admitted(arguments)
        if fate == "limited":
            raise ProviderFault("rate_limit", "too many requests", 1 / self.per_second)
        if fate != "answered":
            time.sleep(self.hang_s if fate == "hang" else 0.0)
            raise ProviderFault(FAULTS[fate], fate)
        day = arguments["depart_date"]
        offer = FlightOffer(
            *(f"UN {number}", f"Unstable Airways {self.key}".strip()),
            *(arguments["depart_city_name"], "A", arguments["arrival_city_name"], "B"),
            *(f"{day}T06:54", f"{day}T08:12", 78),
            price=Money(round(50 + number * 0.37 % 400, 2), "USD"),
        )
        return ProviderAnswer((offer,), Provenance(self.name, self.version, f"{DAY}T09:30:00Z"))

    def _admitted(self, arguments: Mapping[str, Any]) -> tuple[int, str]:
        """(the number of the request, what becomes of it)."""
        with self.log.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            lines = file.readlines()
            since = time.time() - 1
            recent = sum(
                float(when) > since and fate != "limited"
                for when, fate, _ in (line.split(" ", 2) for line in lines[-2000:])
            )
            fate = "answered"
            if recent >= self.per_second:
                fate = "limited"
            elif self.random.random() < self.faults:
                fate = self.random.choice(list(FAULTS))
            file.write(f"{time.time()} {fate} {json.dumps(arguments, sort_keys=True)}\n")
        return len(lines), fate

    def seen(self) -> tuple[Counter[str], Counter[str]]:
        """(requests by what became of them, questions by how often they were answered)."""
        lines = [line.split(" ", 2) for line in self.log.read_text(encoding="utf-8").splitlines()]
        answers = Counter(asked for _, fate, asked in lines if fate == "answered")
        return Counter(fate for _, fate, _ in lines), answers


def record(store: str, client: Unstable, questions: int, shuffle: int) -> dict[str, Any]:
    """Asks every question once in an order of its own, and says on stdout what it got, each as soon
    as it has it."""
    opened = Store(store)
    retries = Retries(most=8, first_wait_s=0.02, longest_wait_s=1.0)
    sandbox = Sandbox({"flight_search": client}, opened, DAY, retries=retries)
    for number in random.Random(shuffle).sample(range(questions), questions):
        answer = sandbox.ask("flight_search", question(number))
        digest = hashlib.sha256(answer.to_json().encode()).hexdigest()
        key = sandbox.question("flight_search", question(number)).key
        line = {"number": number, "key": key, "sha256": digest}
        print(json.dumps(line), flush=True)
    opened.close()
    return sandbox.counts.as_dict()["total"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--questions", type=int, required=True)
    parser.add_argument("--shuffle", type=int, default=0)
    parser.add_argument("--per-second", type=float, default=1000.0)
    parser.add_argument("--faults", type=float, default=0.1)
    parser.add_argument("--asked-per-second", type=float, default=400.0)
    asked = parser.parse_args()
    terms = Terms(requests_per_second=asked.asked_per_second)
    client = Unstable(asked.log, asked.per_second, asked.faults, terms, seed=asked.shuffle)
    counts = record(asked.store, client, asked.questions, asked.shuffle)
    print(json.dumps({"counts": counts}), flush=True)


if __name__ == "__main__":
    main()
