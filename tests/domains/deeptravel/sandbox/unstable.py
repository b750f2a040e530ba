"""A deliberately unstable vendor on this machine, and a recorder that asks it: for the tests here
and for benchmarks/live_sandbox.py.

The vendor's prices change at every request. It answers so many requests a second (429 with
Retry-After above that), and of those it lets in, a tenth fails: status 500, an answer that never
comes, a connection that is cut. It counts what it did.

    python unstable.py serve --per-second 2 --faults 0.1
    python unstable.py record --store live.sqlite --url http://127.0.0.1:1234 --questions 100
    --shuffle 3
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.sandbox.sandbox import Retries, Sandbox
from tripwright.domains.deeptravel.sandbox.store import open_store
from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    Money,
    Provenance,
    ProviderAnswer,
)
from tripwright.tools.http import HttpCaller

DAY = "2026-06-20"
CITIES = (
    "Suzhou",
    "Wuhan",
    "Kunming",
    "Shíjiāzhuāng",
    "Lhasa",
    "Ürümqi",
    "Xiamen",
    "Harbin",
    "Chengdu",
    "Guilin",
)


def question(number: int) -> dict[str, str]:
    """The arguments of question `number`; all are different."""
    depart, arrive = CITIES[number % 10], CITIES[(number // 10 + number + 1) % 10]
    day = f"2026-{7 + number // 280 % 6:02d}-{1 + number // 10 % 28:02d}"
    return {
        "depart_city_name": depart,
        "arrival_city_name": arrive,
        "depart_date": day,
        "depart_poi": f"gate {number}",
    }


class Vendor(ThreadingHTTPServer):
    """Counts in `seen`: requests, answered, limited, and faults by kind; in `answers`, how often
    each question was answered."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        per_second: float,
        faults: float = 0.1,
        kinds: tuple[str, ...] = ("error", "hang", "cut"),
        hang_s: float = 5.0,
    ):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.per_second, self.faults, self.kinds, self.hang_s = per_second, faults, kinds, hang_s
        self.lock, self.random, self.ended = threading.Lock(), random.Random(7), threading.Event()
        self.seen: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self._free_at = 0.0
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> Vendor:
        threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def stop(self) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()

    def admit(self) -> tuple[str, float]:
        """(what becomes of a request, seconds to come back after). A second's worth of requests may
        come at once."""
        with self.lock:
            self.seen["requests"] += 1
            now = time.monotonic()
            if self._free_at - now > 1 - 1 / self.per_second:
                self.seen["limited"] += 1
                return "limited", self._free_at - now
            self._free_at = max(self._free_at, now) + 1 / self.per_second
            fate = (
                self.random.choice(self.kinds) if self.random.random() < self.faults else "answered"
            )
            self.seen[fate] += 1
            return fate, 0.0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is none of our errors."""


class _Handler(BaseHTTPRequestHandler):
    server: Vendor

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        if place.path == "/seen":
            return self._send(
                200,
                {
                    "seen": self.server.seen,
                    "most_answers": max(self.server.answers.values(), default=0),
                },
            )
        fate, wait_s = self.server.admit()
        if fate == "limited":
            return self._send(429, {"error": "too many requests"}, {"Retry-After": f"{wait_s:.3f}"})
        if fate == "error":
            return self._send(500, {"error": "out of order"})
        if fate == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        if fate == "hang":
            self.server.ended.wait(self.server.hang_s)
            return None
        asked = json.dumps(parse_qs(place.query), sort_keys=True)
        with self.server.lock:
            self.server.answers[asked] += 1
            request = self.server.seen["requests"]
        return self._send(
            200,
            {
                "price": 50 + request * 0.37 % 400,
                "request": request,
                "key": self.headers.get("authorization", ""),
            },
        )

    def _send(
        self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(raw)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Client:
    """Its provider. `key` is sent along, and the vendor repeats it in its answer, as no vendor
    should."""

    name, version, tools = "unstable", "1", frozenset(("flight_search",))

    def __init__(self, url: str, terms: Terms | None = None, timeout_s: float = 5.0, key: str = ""):
        self.terms = terms or Terms()
        self._http = HttpCaller(url, {"authorization": key} if key else None, timeout_s)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        said = self._http.get("/flights", dict(arguments))
        cities = arguments["depart_city_name"], arguments["arrival_city_name"]
        day = arguments["depart_date"]
        offer = FlightOffer(
            *(
                f"UN {said['request']}",
                f"Unstable Airways {said['key']}".strip(),
                cities[0],
                "A",
                cities[1],
                "B",
            ),
            *(f"{day}T06:54", f"{day}T08:12", 78),
            price=Money(round(said["price"], 2), "USD"),
        )
        return ProviderAnswer((offer,), Provenance(self.name, self.version, f"{DAY}T09:30:00Z"))


def record(
    store: str,
    url: str,
    questions: int,
    shuffle: int,
    per_second: float,
    lease_s: float,
    timeout_s: float,
) -> dict[str, Any]:
    """Asks every question once in an order of its own, and says on stdout what it got, each as soon
    as it has it."""
    opened = open_store(store)
    retries = Retries(most=8, first_wait_s=0.02, longest_wait_s=1.0)
    client = Client(url, Terms(requests_per_second=per_second), timeout_s)
    sandbox = Sandbox(
        {"flight_search": client}, opened, "record", DAY, retries=retries, lease_s=lease_s
    )
    for number in random.Random(shuffle).sample(range(questions), questions):
        asked = sandbox.ask("flight_search", question(number))
        assert isinstance(asked.answer, ProviderAnswer)
        digest = hashlib.sha256(asked.answer.to_json().encode()).hexdigest()
        print(json.dumps({"number": number, "key": asked.key, "sha256": digest}), flush=True)
    opened.close()
    return sandbox.counts.as_dict()["total"]


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    serving = verbs.add_parser("serve")
    serving.add_argument("--per-second", type=float, default=2.0)
    serving.add_argument("--faults", type=float, default=0.1)
    serving.add_argument("--hang-s", type=float, default=5.0)
    recording = verbs.add_parser("record")
    recording.add_argument("--store", required=True)
    recording.add_argument("--url", required=True)
    recording.add_argument("--questions", type=int, required=True)
    recording.add_argument("--shuffle", type=int, default=0)
    recording.add_argument("--per-second", type=float, default=50.0)
    recording.add_argument("--lease-s", type=float, default=2.0)
    recording.add_argument("--timeout-s", type=float, default=20.0)
    asked = vars(parser.parse_args(words))
    if asked.pop("verb") == "serve":
        vendor = Vendor(asked["per_second"], asked["faults"], hang_s=asked["hang_s"])
        print(vendor.url, flush=True)
        vendor.serve_forever()
    else:
        try:
            print(json.dumps({"counts": record(**asked)}), flush=True)
        except ProviderFault as fault:
            sys.exit(f"{fault.kind}: {fault}")


if __name__ == "__main__":
    main(sys.argv[1:])
