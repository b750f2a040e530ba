"""Makes tools fail on purpose, to train and test agents in an environment that is not reliable
(STAR; row S9).

| kind | what the agent gets |
|---|---|
| `unavailable` | STAR's sentence instead of an answer: `Error: Current tool {tool_name} is not
available.` | | `latency` | its answer after a drawn number of seconds, which are waited only where
`wait` asks for it | | `timeout` | an error sentence instead of an answer; drawn by itself, or made
of a latency above `timeout_seconds` | | `stale` | an answer that was right once: of a tool asked
about a day (`Core.DATED`) that of the day before, else what it last answered | | `truncated` | the
first half of the answer, which does not say so |

A fault never passes for the world's own answer in our records: each is noted on the answer. An
episode's faults depend on the seed, the episode's key and the number of the call, on nothing else:
not on other episodes, threads or the order in which they run.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from typing import Any, Literal, get_args

from tripwright.errors import UserError
from tripwright.tools.answer import ToolAnswer, ToolError
from tripwright.tools.face import Face
from tripwright.tools.signatures import PAGE, CheckedCall, tool_functions
from tripwright.tools.toolbox import Tools, read_arguments

FaultKind = Literal["unavailable", "latency", "timeout", "stale", "truncated"]
# not answered, or not wholly: the same question may be asked again
UNANSWERED = ("unavailable", "timeout", "truncated")


def fault_kind(fault: str) -> str:
    """The kind in what an answer notes, which may go on with details ("latency 2.31 s")."""
    return fault.split()[0]


@dataclass(frozen=True)
class Faults:
    """How often, to which tools, and what. `per_tool` goes by the core's names; `kinds` are weights
    against each other."""

    probability: float = 0.0  # of a fault at any call; row S9 looks at 0 to 0.10
    # instead of `probability`, for these tools
    per_tool: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, float] = field(default_factory=lambda: {"unavailable": 1.0})
    latency_seconds: tuple[float, float] = (1.0, 20.0)  # drawn evenly between these
    timeout_seconds: float = 30.0
    wait: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, chance in {
            "probability": self.probability,
            **{f"per_tool.{tool}": p for tool, p in self.per_tool.items()},
        }.items():
            if not 0 <= chance <= 1:
                raise UserError(f"The probability of a fault is from 0 to 1; {name} is {chance}.")
        if unknown := [kind for kind in self.kinds if kind not in get_args(FaultKind)]:
            raise UserError(
                f"Unknown kind of fault '{unknown[0]}'. Accepted: {', '.join(get_args(FaultKind))}."
            )
        weights = self.kinds.values()
        if not all(0 <= weight < math.inf for weight in weights) or not sum(weights) > 0:
            raise UserError(
                f"The kinds of faults have weights from 0 with one above 0, found {self.kinds}."
            )
        ordered = (
            len(self.latency_seconds) == 2
            and 0 <= self.latency_seconds[0] <= self.latency_seconds[1] < math.inf
        )
        if not ordered or not 0 < self.timeout_seconds < math.inf:
            seconds = f"{', '.join(map(str, self.latency_seconds))} and {self.timeout_seconds}"
            raise UserError(
                "latency_seconds are two numbers from 0, smaller first, timeout_seconds one above"
                f" 0; found {seconds}."
            )

    def check_tools(self, face: Face) -> None:
        """Raises UserError where `per_tool` names what is no tool behind this face."""
        tools = tool_functions(face.core)
        if unknown := [tool for tool in self.per_tool if tool not in tools]:
            raise UserError(
                f"Unknown tool '{unknown[0]}' in per_tool. Accepted: {', '.join(tools)}."
            )


class FaultyTools:
    """Tools of one episode with faults. `key` tells the episode apart, for instance its task's
    id."""

    def __init__(self, tools: Tools, faults: Faults, key: str):
        faults.check_tools(tools.face)
        self.tools, self.faults = tools, faults
        # of text: seeded by its hash function's digest, equal in every process
        self._random = random.Random(f"{faults.seed} {key}")
        self._last: dict[str, tuple[CheckedCall, ToolAnswer]] = {}

    @property
    def face(self) -> Face:
        return self.tools.face

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return self.tools.schemas

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        kind, seconds = self._draw(self.face.offer.core_name(name))
        if kind == "latency" and seconds > self.faults.timeout_seconds:
            kind = "timeout"
        if kind == "unavailable":
            return replace(
                self.face.error(f"Error: Current tool {name} is not available.", kind), fault=kind
            )
        if kind == "timeout":
            return self._timed_out(name)
        call = self._asked(name, arguments)
        if kind == "stale" and call and (old := self._earlier(call)):
            return replace(old, fault=kind)
        answer = self.tools.call(name, arguments)
        if call:
            self._last[call.tool] = (call, answer)
        if kind == "latency":
            self._wait(seconds)
            return replace(answer, fault=f"{kind} {seconds:.2f} s")
        if kind == "truncated":
            half = answer.text[: len(answer.text) // 2]
            return replace(answer, text=half, fault=kind, make_rows=partial(answer.rows, half))
        return answer

    def _draw(self, tool: str | None) -> tuple[str | None, float]:
        """(kind or None, seconds of latency). Always three draws, so that what one call meets does
        not move the faults of the next."""
        whether, which, how_long = (self._random.random() for _ in range(3))
        low, high = self.faults.latency_seconds
        seconds = low + how_long * (high - low)
        # what is no tool cannot fail
        if tool is None or whether >= self.faults.per_tool.get(tool, self.faults.probability):
            return None, seconds
        rest = which * sum(self.faults.kinds.values())
        for kind, weight in self.faults.kinds.items():
            rest -= weight
            if rest < 0:
                return kind, seconds
        # rounding
        return (
            next(kind for kind, weight in reversed(self.faults.kinds.items()) if weight > 0),
            seconds,
        )

    def _timed_out(self, name: str) -> ToolAnswer:
        limit = self.faults.timeout_seconds
        self._wait(limit)
        answer = self.face.error(
            f"Error: Current tool {name} timed out after {limit:g} seconds.", "timeout"
        )
        return replace(answer, fault=f"timeout {limit:g} s")

    def _wait(self, seconds: float) -> None:
        if self.faults.wait:
            time.sleep(seconds)

    def _asked(self, name: str, arguments: Mapping[str, Any] | str) -> CheckedCall | None:
        """None for a call that is refused anyway."""
        try:
            return self.face.offer.read(name, read_arguments(arguments), paged=True)
        except ToolError:
            return None

    def _earlier(self, call: CheckedCall) -> ToolAnswer | None:
        """What a cache that was not kept up would say; None where it holds nothing yet, and then
        the true answer is given."""
        if day := self.face.core.DATED.get(call.tool):
            try:
                before = date.fromisoformat(call.arguments[day]) - timedelta(days=1)
            except (ValueError, OverflowError):
                return None
            name, arguments = self.face.offer.call_of(
                call.tool, {**call.arguments, day: before.isoformat()}
            )
            return self.tools.call(
                name, {**arguments, PAGE: call.page} if call.page > 1 else arguments
            )
        then, answer = self._last.get(call.tool, (call, None))
        return answer if then != call else None
