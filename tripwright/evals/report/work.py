"""How the agent worked, read from one transcripts.jsonl; of each episode only what the figures need
is kept.

The subtle thing: what one line cannot say is left out of that figure only, so that episodes of any
kind of request can be looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import Any, Literal, NamedTuple

from tripwright.domains import domains, faces
from tripwright.domains.domain import Counts
from tripwright.evals.outcome import Outcome
from tripwright.runs import episode_lines
from tripwright.transcript import OVERLONG, StopReason, call_key

ANSWER, UNREADABLE = "answer", "(unreadable turn)"
Kind = Literal["fine", "error", "fault", "repeated", "unreadable"]


class Step(NamedTuple):
    """One turn that was no answer: the tool it called, and what came of it."""

    tool: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Work:
    """One episode. `tokens` were written by the agent and `context` is all of its tokens; None
    where the transcript does not say."""

    id: str
    domain: str
    query: str
    scored: bool
    passed: bool
    stop: str
    steps: tuple[Step, ...]
    turns: int
    tokens: float | None
    characters: int
    context: int | None
    asked: tuple[str, ...]  # constraints that it is held to
    failed: frozenset[str]  # of them
    ungrounded: tuple[Counts | None, ...]  # in each sense of its domain's

    @property
    def answered(self) -> bool:
        return self.stop == StopReason.ANSWER

    @property
    def overlong(self) -> bool:
        return self.stop in OVERLONG

    @property
    def calls(self) -> int:
        return sum(step.kind != "unreadable" for step in self.steps)

    def count(self, *kinds: Kind) -> int:
        return sum(step.kind in kinds for step in self.steps)


@dataclass(frozen=True)
class Behaviour:
    """All episodes of one evaluation. `offered`: the tools that the agent had, where the run card
    says."""

    name: str
    works: list[Work]
    unreadable: int = 0  # lines
    offered: frozenset[str] = frozenset()
    rules: str | None = None
    card: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def scored(self) -> list[Work]:
        return [work for work in self.works if work.scored]

    @cached_property
    def tools(self) -> Counter[str]:
        return Counter(
            step.tool for work in self.scored for step in work.steps if step.kind != "unreadable"
        )

    @cached_property
    def unknown_tools(self) -> frozenset[str]:
        """Names that were called, are not among those offered, and never got an answer without an
        error."""
        answered = {step.tool for work in self.scored for step in work.steps if step.kind == "fine"}
        return frozenset(self.tools) - self.offered - answered

    @property
    def has_steps(self) -> bool:
        """False where every turn is an answer: questions that are asked without tools."""
        return any(work.steps for work in self.scored)

    @property
    def counts_tokens(self) -> bool:
        return bool(self.scored) and all(work.tokens is not None for work in self.scored)


def read_behaviour(
    name: str, path: Path, score: Mapping[str, Any], card: Mapping[str, Any]
) -> Behaviour:
    """`card`: of the run that made the episodes; it names the tools' face."""
    works: list[Work] = []
    unreadable = 0
    for line in episode_lines(path):
        try:
            works.append(read_work(line.record()))
        except (ValueError, KeyError, TypeError, AttributeError):
            unreadable += 1
    rules = score.get("rules")
    return Behaviour(
        name, works, unreadable, _offered(card), rules if isinstance(rules, str) else None, card
    )


def _offered(card: Mapping[str, Any]) -> frozenset[str]:
    dialect = card.get("dialect")
    face = faces().get(str(dialect.get("face"))) if isinstance(dialect, dict) else None
    return (
        frozenset(schema["function"]["name"] for schema in face.schemas())
        if face is not None
        else frozenset()
    )


def read_work(record: Mapping[str, Any]) -> Work:
    """Raises ValueError, KeyError, TypeError or AttributeError for what is no episode of a run."""
    transcript, outcome = record["transcript"], Outcome.of(record)
    segments = transcript["segments"]
    writings = [segment["text"] for segment in segments if segment["role"] == "assistant"]
    ids = sum(len(segment.get("token_ids") or ()) for segment in segments)
    domain = domains().get(outcome.domain)
    return Work(
        id=outcome.id,
        domain=intern(outcome.domain),
        query=outcome.query,
        scored=outcome.scored,
        passed=outcome.final,
        stop=intern(outcome.stop_reason),
        steps=tuple(_steps(segments, outcome.stop_reason)),
        turns=outcome.turns,
        tokens=outcome.completion_tokens,
        characters=sum(map(len, writings)),
        context=ids or None,
        asked=outcome.asked,
        failed=frozenset(outcome.asked).difference(outcome.passed)
        if outcome.scored
        else frozenset(),
        ungrounded=tuple(each.counts(record) for each in domain.ungrounded)
        if outcome.scored and domain is not None
        else (),
    )


def _steps(segments: list[dict[str, Any]], stop: str | None) -> Iterator[Step]:
    """In order. A turn that ended the episode as a mistake is its last step."""
    earlier: set[str] = set()
    for segment in segments:
        if call := segment.get("call"):
            key = call_key(call["name"], call["arguments"])
            kind: Kind = (
                "repeated"
                if key in earlier
                else "fault"
                if call.get("fault")
                else "error"
                if call.get("error")
                else "fine"
            )
            if kind != "fault":
                earlier.add(key)
            yield Step(intern(str(call["name"])), kind)
        elif problem := segment.get("problem"):
            yield _mistake(problem, segment["text"])
    if stop in (StopReason.REPEATED_CALL, StopReason.FORMAT_ERROR):
        last = next(
            (segment["text"] for segment in reversed(segments) if segment["role"] == "assistant"),
            "",
        )
        yield _mistake(stop, last)


def _mistake(problem: str, text: str) -> Step:
    if problem == StopReason.REPEATED_CALL:
        return Step(intern(_called(text)), "repeated")
    return Step(UNREADABLE, "unreadable")


def _called(text: str) -> str:
    """The tool of a call that was refused: it stands in the turn's text alone."""
    body = text.rpartition("<tool_call>")[2].partition("</tool_call>")[0]
    try:
        return str(json.loads(body)["name"])
    except (ValueError, KeyError, TypeError):
        return body.partition("(")[0].strip()[:60] or UNREADABLE
