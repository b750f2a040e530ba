"""Makes tools fail on purpose, to train and test agents in an environment that is not reliable
(STAR; row S9): instead of an answer the agent gets STAR's sentence, `Error: Current tool
{tool_name} is not available.`

A fault never passes for the world's own answer in our records: each is noted on the answer. An
episode's faults depend on the seed, the episode's key and the number of the call, on nothing else:
not on other episodes, threads or the order in which they run.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tripwright.errors import UserError
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.face import Face
from tripwright.tools.signatures import tool_functions
from tripwright.tools.toolbox import Tools

UNAVAILABLE = "unavailable"


def unanswered(fault: str | None) -> bool:
    """Whether what an answer notes (a live tool's goes on with details) kept the question from its
    answer: the same one may be asked again."""
    return fault is not None and fault.startswith(UNAVAILABLE)


@dataclass(frozen=True)
class Faults:
    """How often, and to which tools. `per_tool` goes by the core's names."""

    probability: float = 0.0  # of a fault at any call; row S9 looks at 0 to 0.10
    # instead of `probability`, for these tools
    per_tool: dict[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        per_tool = {f"per_tool.{tool}": chance for tool, chance in self.per_tool.items()}
        for name, chance in {"probability": self.probability, **per_tool}.items():
            if not 0 <= chance <= 1:
                raise UserError(f"The probability of a fault is from 0 to 1; {name} is {chance}.")

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

    @property
    def face(self) -> Face:
        return self.tools.face

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return self.tools.schemas

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        # of three numbers the first counts: so recorded episodes and new ones meet the same faults
        draw, _, _ = (self._random.random() for _ in range(3))
        tool = self.face.offer.core_name(name)
        # what is no tool cannot fail
        if tool is None or draw >= self.faults.per_tool.get(tool, self.faults.probability):
            return self.tools.call(name, arguments)
        answer = self.face.error(f"Error: Current tool {name} is not available.", UNAVAILABLE)
        return replace(answer, fault=UNAVAILABLE)
