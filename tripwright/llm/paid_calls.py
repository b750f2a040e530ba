"""What tokens cost, and what models have answered and was paid for, kept so that a killed run
repeats no paid call.

calls.jsonl holds every completion of a run, one flushed line each, written before it is used. An
episode that a kill cut short is played again, and its calls are answered from here as long as it
asks the same: the same episode, the same step of it, the same messages and tools. Two limits: a
request that was in flight at the kill was perhaps paid for and never arrived; and a line is handed
to the system, not forced onto the disk, so it survives the death of the process and not that of the
machine. Once an episode stands in transcripts.jsonl its lines have no use: they are dropped at the
next start, and the whole file is deleted when no episode is left that needs it.

judgements.jsonl holds what models that take part in judging have said: a line for each vote on an
item ("vote", from 1; a formatter has one), or for a fault in its place. A line belongs to its
`key`, a hash of the whole question and of who is asked, so several files of transcripts may share
one log."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.files import Journal, keep_lines
from tripwright.llm.client import Completion, Fault, RequestedCall


@dataclass(frozen=True)
class Prices:
    """In USD per million tokens, and after how many USD nothing is asked any more. Without
    `cached_input`, prompt tokens that the server had in its cache cost what others do."""

    input: float
    output: float
    cached_input: float | None = None
    max_usd: float | None = None

    def __post_init__(self) -> None:
        for name, price in asdict(self).items():
            if price is not None and not 0 <= price < math.inf:
                raise UserError(f"Prices are in USD, 0 or more; found {name} {price}.")

    @property
    def per_million(self) -> dict[str, float | None]:
        return {name: usd for name, usd in asdict(self).items() if name != "max_usd"}

    def usd(self, usage: Mapping[str, float]) -> float:
        """Cost of the tokens that `usage` counts, those of completions that were paid for and could
        not be used (discarded) included."""
        prompt, completion, in_cache = (
            usage.get(name, 0) + usage.get(f"discarded_{name}", 0) for name in COUNTED
        )
        cached = min(in_cache, prompt) if self.cached_input is not None else 0
        asked = (prompt - cached) * self.input + cached * (self.cached_input or 0.0)
        return (asked + completion * self.output) / 1e6

    def check(self, usage: Mapping[str, float]) -> None:
        """Before a request. Raises CostLimitReached where what `usage` counts has cost so much
        already."""
        cost = self.usd(usage)
        if self.max_usd is not None and cost >= self.max_usd:
            raise CostLimitReached(
                f"Stopped by a max_cost_usd of {self.max_usd:g}: this has cost ${cost:.4g}. Nothing"
                " is lost: the same command with a higher limit goes on where it stopped."
            )


def prices_of(
    price_in: float | None,
    price_out: float | None,
    cached: float | None = None,
    max_usd: float | None = None,
) -> Prices | None:
    """From the settings of these names; None where none is given."""
    if price_in is not None and price_out is not None:
        return Prices(price_in, price_out, cached, max_usd)
    if (price_in, price_out, cached, max_usd) == (None,) * 4:
        return None
    missing = "--price-in" if price_in is None else "--price-out"
    raise UserError(
        "Prices and a limit on cost (--max-cost-usd) need --price-in and --price-out, or in TOML"
        f" price_in and price_out, in USD per million tokens: {missing} is missing."
    )


COUNTED = ("prompt_tokens", "completion_tokens", "cached_tokens")


class CostLimitReached(UserError):
    """The next request might cost more than was allowed."""


@dataclass(frozen=True)
class CallKey:
    """What a completion answers. `step` tells the requests of one episode apart."""

    episode: str
    step: str
    sha256: str  # of messages and tools

    @classmethod
    def of(
        cls,
        episode: str,
        step: object,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> CallKey:
        content = json.dumps([messages, tools], sort_keys=True)
        return cls(episode, str(step), hashlib.sha256(content.encode()).hexdigest())


class PaidCalls:
    """The journal and the account of one run. Threads share it; one process at a time has it (the
    run folder is locked).

    `prices` make tokens a cost, that of earlier starts included.
    """

    def __init__(self, path: Path, prices: Prices | None = None):
        self.path, self.prices = path, prices
        # of the whole run: requests, COUNTED, uncounted_requests; discarded_… of finished episodes
        self.usage: Counter[str] = Counter()
        # requests of this start that ended without a completion, after their retries
        self.faults = 0
        # by episode: what its present play was given, and all that was paid for
        self._used: dict[str, set[CallKey]] = defaultdict(set)
        self._known: dict[str, dict[CallKey, Completion]] = defaultdict(dict)
        self._journal: Journal | None = None  # opened with the first completion
        self._closed = False
        self._lock = threading.Condition()
        self._in_flight = 0

    @property
    def cost_usd(self) -> float | None:
        """Of the whole run so far; None without prices."""
        return self.prices.usd(self.usage) if self.prices else None

    def take_up(self, finished: Container[str], usage: Mapping[str, float]) -> None:
        """Reads what earlier starts left. `finished` episodes need none of it; `usage` is what they
        used."""
        self.usage.update(usage)

        def needed(record: Any) -> bool:
            request, completion = _read(record)
            if request.episode in finished:
                return False
            self._remember(request, completion)
            return True

        keep_lines(
            self.path,
            needed,
            "not a kept completion. Remove this line, or choose a new folder for --out.",
        )

    def find(self, request: CallKey) -> Completion | None:
        """The completion that an earlier try of the episode got for the same request."""
        with self._lock:
            completion = self._known[request.episode].get(request)
            if completion is not None:
                self._used[request.episode].add(request)
        return completion

    def ask(self, request: CallKey, send: Callable[[], Completion | Fault]) -> Completion | Fault:
        """Sends a request and keeps its completion. Raises CostLimitReached instead of sending."""
        with self._lock:
            if self.prices is not None:
                self.prices.check(self.usage)
            self._in_flight += 1
        try:
            outcome = send()
            if isinstance(outcome, Completion):
                self.keep(request, outcome)
        finally:
            with self._lock:
                self._in_flight -= 1
                self._lock.notify_all()
        with self._lock:
            self.faults += isinstance(outcome, Fault) and outcome.kind != "context_overflow"
        return outcome

    def keep(self, request: CallKey, completion: Completion) -> None:
        """Writes a completion down."""
        with self._lock:
            # a thread that was left alone with a request in flight: what it brings is remembered by
            # nobody
            if self._closed:
                return
            if self._journal is None:
                self._journal = Journal(self.path)
            self._journal.append({**vars(request), "completion": vars(completion)})
            self._remember(request, completion)
            self._used[request.episode].add(request)

    def unused(self, episode: str) -> Counter[str]:
        """The usage, as discarded, of what the play that just ended was not given although an
        earlier one had paid for it: a tool answered otherwise, or it met its end before. For the
        episode's transcript, once for each play."""
        usage = Counter[str]()
        with self._lock:
            given_out = self._used.pop(episode, set())
            for key, lost in self._known.get(episode, {}).items():
                if key not in given_out:
                    counts = {name: lost.usage[name] for name in COUNTED if lost.usage.get(name)}
                    usage.update({"discarded_requests": 1})
                    usage.update({f"discarded_{name}": n for name, n in counts.items()})
        return usage

    def finish(self, episode: str) -> None:
        """The episode stands in the run's transcripts: nothing of it is asked again."""
        with self._lock:
            self._known.pop(episode, None)

    def drain(self, seconds: float) -> int:
        """Waits at most so long for the requests in flight, which are paid for. Returns how many
        did not arrive."""
        deadline = time.monotonic() + seconds
        with self._lock:
            while self._in_flight and (left_s := deadline - time.monotonic()) > 0:
                self._lock.wait(left_s)
            return self._in_flight

    def close(self, all_done: bool) -> None:
        """After the last episode. `all_done`: each is finished, and if no other needs it either,
        the file is deleted."""
        with self._lock:
            self._closed = True
            if self._journal:
                self._journal.close()
            if all_done and not any(self._known.values()):
                self.path.unlink(missing_ok=True)

    def _remember(self, request: CallKey, completion: Completion) -> None:
        self._known[request.episode][request] = completion
        self.usage.update({"requests": 1, **completion.usage})


def _read(record: Any) -> tuple[CallKey, Completion]:
    answer = record["completion"]
    calls = tuple(RequestedCall(*call) for call in answer["tool_calls"])
    completion = Completion(**{**answer, "tool_calls": calls})
    return CallKey(record["episode"], record["step"], record["sha256"]), completion


class JudgementLog:
    """Written by one process at a time, by many threads. Without a path it remembers for as long as
    it lives."""

    def __init__(self, path: Path | None = None, prices: Prices | None = None):
        self.path, self.prices = path, prices
        self.usage = Counter[str]()  # of all votes, those of earlier starts too
        self._votes: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        if path:
            self._journal = Journal(
                path,
                self._take_up,
                "not a judgement. Remove this line, or move the file away.",
                in_use=f"'{path}' is in use: another process judges with it now. Wait for it.",
            )

    def __enter__(self) -> JudgementLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Threads that are left alone with a request in flight may still come: what they bring is
        then remembered by nobody."""
        with self._lock:
            if self._journal:
                self._journal.close()
                self._journal = None

    def votes(self, key: str) -> dict[int, dict[str, Any]]:
        """The readable votes on this item, by number."""
        with self._lock:
            return dict(self._votes.get(key, {}))

    def check_cost(self) -> None:
        """Before a request. Raises CostLimitReached."""
        if self.prices is not None:
            with self._lock:
                self.prices.check(self.usage)

    def add(self, line: dict[str, Any]) -> None:
        with self._lock:
            if self._journal:
                self._journal.append(line)
            self._remember(line)

    def _remember(self, line: dict[str, Any]) -> None:
        self.usage.update({name: n for name, n in line.get("usage", {}).items() if name in COUNTED})
        if line.get("judged") is not None:  # a fault is tried again
            self._votes[line["key"]][line["vote"]] = line

    def _take_up(self, record: Any) -> None:
        str(record["key"]), int(record["vote"])
        self._remember(record)
