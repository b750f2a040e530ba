"""What happened in one episode. A transcript stores token ids, loss mask and log-probabilities as emitted (law 5): text is decoded
from them for parsing and for people, and is never encoded again. Whoever emits a token decides its mask.

Worked example, with `|` between segments: system+user prompt | assistant call | tool answer | assistant answer
    loss_mask   0 0 0 0 0                  | 1 1 1 1 1      | 0 0 0 0     | 1 1 1 1
The assistant segments end with the stop token as sampled (mask 1); what the chat template adds around them has mask 0.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal


class StopReason(StrEnum):
    """Why the episode ended."""

    ANSWER = "answer"  # the agent gave an <answer>
    FORMAT_ERROR = "format_error"  # neither a readable tool call nor an answer
    REPEATED_CALL = "repeated_call"  # the same call with the same arguments again
    MAX_TURNS = "max_turns"
    MAX_CALLS = "max_calls"
    MAX_TURN_TOKENS = "max_turn_tokens"  # one turn grew over its limit without a stop token
    CONTEXT_OVERFLOW = "context_overflow"
    UNSCORED = "unscored"  # our side failed (endpoint dead, tool host down): no verdict, no reward


@dataclass
class ToolCall:
    name: str
    arguments: dict[str, Any]
    result: str  # all of it; the tool's segment holds what the model was shown
    error: bool = False
    fault: str | None = None  # what was done to this answer on purpose (tools/faults.py); the kind is its first word


@dataclass
class Segment:
    """One message: who wrote it, its text, and (where the policy gives them) its ids with log-probabilities."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    token_ids: list[int] = field(default_factory=list)
    loss_mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)  # 0.0 where the mask is 0
    call: ToolCall | None = None
    problem: StopReason | None = None  # of a turn that got an error message where another dialect ends the episode, for this reason


@dataclass
class Transcript:
    segments: list[Segment] = field(default_factory=list)
    stop_reason: StopReason | None = None
    answer: str | None = None  # the text inside <answer>…</answer>
    fault: str | None = None  # why it is unscored
    usage: dict[str, float] = field(default_factory=dict)  # endpoint accounting: prompt_tokens, completion_tokens, seconds
    parent: str | None = None  # id of the episode it was forked from (row S7)
    forked_at: int | None = None  # how many tokens it shares with its parent, at the least

    @property
    def token_ids(self) -> list[int]:
        return [t for s in self.segments for t in s.token_ids]

    @property
    def loss_mask(self) -> list[int]:
        return [m for s in self.segments for m in s.loss_mask]

    @property
    def logprobs(self) -> list[float]:
        return [p for s in self.segments for p in s.logprobs]

    @property
    def has_tokens(self) -> bool:
        """False for chat endpoints, which give no ids: such a transcript is text-only and not on-policy training data."""
        return any(s.token_ids for s in self.segments)

    @property
    def calls(self) -> list[ToolCall]:
        return [s.call for s in self.segments if s.call is not None]

    @property
    def turns(self) -> int:
        return sum(s.role == "assistant" for s in self.segments)

    @property
    def problems(self) -> list[StopReason]:
        """Why turns got an error message and no end, one per turn."""
        return [s.problem for s in self.segments if s.problem is not None]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Transcript:
        segments = []
        for s in record["segments"]:
            call = ToolCall(**s["call"]) if s.get("call") else None
            problem = StopReason(s["problem"]) if s.get("problem") else None
            segments.append(Segment(**{**s, "call": call, "problem": problem}))
        stop = StopReason(record["stop_reason"]) if record.get("stop_reason") else None
        return cls(
            segments,
            stop,
            record.get("answer"),
            record.get("fault"),
            record.get("usage") or {},
            record.get("parent"),
            record.get("forked_at"),
        )
