"""One line of a transcripts.jsonl as every figure reads it, whatever kind of request it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, HARD_NAMES

HARD_WISHES = {
    "valid_cuisine": "cuisine",
    "valid_room_rule": "house rule",
    "valid_transportation": "transportation",
    "valid_room_type": "room type",
}


@dataclass(frozen=True)
class Outcome:
    """What one line says, without its tokens. The six T4 facts are False, and `passed` empty, where the plan never got that far."""

    id: str
    query: str  # equal for samples of the same query
    text: str  # of the request
    level: str | None
    days: int | None
    stop_reason: str
    fault: str | None  # why it is unscored
    scored: bool
    final: bool
    delivered: bool
    schema_valid: bool
    commonsense: tuple[str, ...]  # constraints that apply to this query, in two kinds
    hard: tuple[str, ...]
    passed: frozenset[str]
    turns: int
    completion_tokens: float | None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Outcome:
        verdict, transcript = record["verdict"], record["transcript"]
        query = record.get("query") or record["request"]  # of TravelPlanner's kind, or DeepTravel's
        facts = {**((verdict or {}).get("commonsense") or {}), **((verdict or {}).get("hard") or {})}
        commonsense, hard = _asked(record, facts)
        return cls(
            id=str(record["id"]),
            query=f"{record.get('world')} {_identity(query)}",
            text=str(query.get("query") or ""),
            level=query.get("level"),
            days=query.get("days"),
            stop_reason=str(transcript["stop_reason"]),
            fault=transcript.get("fault"),
            scored=verdict is not None,
            final=bool(verdict and verdict["final"]),
            delivered=bool(verdict and verdict["delivered"]),
            schema_valid=verdict is not None and record.get("schema_problem") is None
            if "request" in record
            else record["plan"] is not None,
            commonsense=commonsense,
            hard=hard,
            passed=frozenset(name for name, fact in facts.items() if fact["passed"]),
            turns=sum(segment["role"] == "assistant" for segment in transcript["segments"]),
            completion_tokens=_completion_tokens(transcript),
        )

    @property
    def asked(self) -> tuple[str, ...]:
        return (*self.commonsense, *self.hard)

    def share(self, names: Sequence[str]) -> tuple[int, int]:
        """(passed, asked) among these constraints. What was not evaluated counts as failed."""
        return sum(name in self.passed for name in names), len(names)

    def all_of(self, names: Iterable[str]) -> bool:
        return self.passed.issuperset(names)


def _identity(request: Mapping[str, Any]) -> str:
    """Equal for samples of the same request. Another benchmark's names its question; its words may be new in each sample, as where a
    simulated customer speaks first."""
    question = request.get("question")
    return str(question or sorted((key, str(value)) for key, value in request.items() if key != "oracle"))


def _asked(record: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the episode is held to, in its two kinds: as the line says, or as TravelPlanner's request does."""
    if said := record.get("asked"):
        return tuple(said["commonsense"]), tuple(said["hard"])
    wishes = record["query"].get("local_constraint") or {}
    wished = [name for name, wish in HARD_WISHES.items() if wishes.get(wish) not in (None, [])]
    extra = [name for name, fact in facts.items() if name not in (*COMMONSENSE_NAMES, *HARD_NAMES) and fact["passed"] is not None]
    return COMMONSENSE_NAMES, (*(name for name in HARD_NAMES if name in wished or name == "valid_cost"), *extra)


def _completion_tokens(transcript: Mapping[str, Any]) -> float | None:
    """As sampled, else as the endpoint counted them, else unknown."""
    sampled = sum(sum(segment.get("loss_mask") or ()) for segment in transcript["segments"])
    return float(sampled) if sampled else (transcript.get("usage") or {}).get("completion_tokens")
