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
from dataclasses import dataclass, replace
from typing import Any

from tripwright.errors import UserError
from tripwright.tools.answer import UNAVAILABLE, ToolAnswer
from tripwright.tools.face import Face
from tripwright.tools.toolbox import Tools


@dataclass(frozen=True)
class Faults:
    probability: float = 0.0  # of a fault at any call; row S9 looks at 0 to 0.10
    seed: int = 0
    # whether the members of a group of RL meet the same ones; else each meets its own, as in STAR
    shared_by_group: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise UserError(
                f"The probability of a fault is from 0 to 1; probability is {self.probability}."
            )


class FaultyTools:
    """Tools of one episode with faults. `key` tells the episode apart, for instance its task's
    id."""

    def __init__(self, tools: Tools, faults: Faults, key: str):
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
        # what is no tool cannot fail
        if self.face.offer.core_name(name) is None or draw >= self.faults.probability:
            return self.tools.call(name, arguments)
        answer = self.face.error(f"Error: Current tool {name} is not available.", UNAVAILABLE)
        return replace(answer, fault=UNAVAILABLE)
