"""Did a response do as told? Meta's strict and loose readings of one turn, by the checkers.

Strict: the response as it is; an empty one follows nothing. Loose: any of eight variants, as it is,
without its first line, without its last, without both, and each of these without asterisks; a
variant that is blank does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tripwright.evals.outside.multi_if.checkers import Checkers, CheckerUnfit, UnknownInstruction
from tripwright.evals.outside.multi_if.conversations import Instruction

UNKNOWN = "no checker"


@dataclass
class Followed:
    """Of one turn: for each instruction, in the file's order, whether it was followed. `errors`:
    name of an instruction → why its checker gave no verdict, which counts as not followed."""

    instructions: list[str]
    strict: list[bool] = field(default_factory=list)
    loose: list[bool] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        return asdict(self)


def followed(checkers: Checkers, instructions: Sequence[Instruction], response: str) -> Followed:
    """Raises CheckerUnfit. What else a checker raises is noted, and its instruction counts as not
    followed there."""
    found = Followed([instruction.id for instruction in instructions])
    for instruction in instructions:
        strict = bool(response) and _follows(checkers, instruction, response, found)
        found.strict.append(strict)
        found.loose.append(
            any(
                variant.strip() and _follows(checkers, instruction, variant, found)
                for variant in variants(response)
            )
        )
    return found


def variants(response: str) -> list[str]:
    lines = response.split("\n")
    cut = [response, *("\n".join(kept).strip() for kept in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*cut, *(each.replace("*", "") for each in cut)]


def _follows(checkers: Checkers, instruction: Instruction, response: str, found: Followed) -> bool:
    try:
        return checkers.follows(instruction, response)
    except CheckerUnfit:
        raise
    except UnknownInstruction:
        found.errors[instruction.id] = UNKNOWN
    except Exception as error:
        # a checker's own mistake must not end a run of thousands of conversations
        found.errors[instruction.id] = type(error).__name__
    return False
