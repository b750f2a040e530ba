"""A verdict: what judging an answer yields, facts in named groups. Never numbers to learn from, for
rewards weigh the facts elsewhere.

A verdict is an ordered list of groups, and each group stands behind a gate: what has to pass before
it is looked at.

    TravelPlanner    format → commonsense → hard
    DeepTravel       format → trajectory → turns

A fact has one of four states: not applicable (nobody asked) is neither passed nor failed, and not
evaluated (the gate was shut) is not "passed" either. `asked` names the facts that an episode is
held to, whether they were looked at or not: it is the denominator of every rate and every reward of
ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

ALSO_PASSES = "also_passes"  # in a verdict's details: further rules → whether they would pass it
FORMAT = "format"  # the first group of every verdict: could the answer be read?
SCHEMA = "schema"  # its one fact
MOST_UNSCORED = 0.01  # beyond it, rates come with a warning and with the worst case


class State(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
    NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True)
class Evidence:
    """Where a rule is broken and why, in words a traveller understands. `day` counts from 1; None:
    the answer as a whole."""

    day: int | None
    field: str | None  # the part of the answer: TravelPlanner's "breakfast", "transportation", …
    found: str | None
    needed: str | None


class Result(NamedTuple):
    """What one rule finds. `passed` is None where it says nothing about the answer."""

    passed: bool | None
    message: str | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Fact:
    name: str
    state: State
    message: str | None = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def passed(self) -> bool | None:
        """True or False; None where the rule says nothing about the answer."""
        return True if self.state is State.PASSED else False if self.state is State.FAILED else None

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "passed": self.passed,
            "state": str(self.state),
            "message": self.message,
        }
        return record | {"evidence": list(map(asdict, self.evidence))} if self.evidence else record

    @classmethod
    def of(cls, name: str, result: Result) -> Fact:
        states = {None: State.NOT_APPLICABLE, True: State.PASSED, False: State.FAILED}
        return cls(name, states[result.passed], result.message, result.evidence)

    @classmethod
    def from_record(cls, name: str, record: Mapping[str, Any]) -> Fact:
        return cls(
            name,
            State(record["state"]),
            record["message"],
            tuple(Evidence(**each) for each in record.get("evidence", ())),
        )


Facts = dict[str, Fact]


def facts_of(**checks: tuple[bool, str]) -> Facts:
    """Facts from checks: whether each holds, and the sentence that says why where it does not."""
    results = {name: Result(holds, None if holds else why) for name, (holds, why) in checks.items()}
    return {name: Fact.of(name, result) for name, result in results.items()}


@dataclass(frozen=True)
class Group:
    """Facts that are looked at together. `facts` is None where the gate was shut, or the rules
    crashed: nothing was evaluated. `gate` names what must pass first: an earlier group, or one of
    its facts as "group.fact"."""

    name: str
    asked: tuple[str, ...]
    facts: Mapping[str, Fact] | None
    gate: tuple[str, ...] = ()

    @property
    def passed_count(self) -> int:
        """How many facts passed; at most as many as were asked."""
        return sum(fact.passed is True for fact in (self.facts or {}).values())

    @property
    def passed(self) -> bool:
        """Every fact that was asked passed."""
        return self.facts is not None and all(
            name in self.facts and self.facts[name].passed is True for name in self.asked
        )

    def record(self) -> dict[str, Any]:
        facts = None if self.facts is None else {n: f.record() for n, f in self.facts.items()}
        return {
            "name": self.name,
            "gate": list(self.gate),
            "asked": list(self.asked),
            "facts": facts,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Group:
        found = record["facts"]
        facts = found and {name: Fact.from_record(name, fact) for name, fact in found.items()}
        return cls(record["name"], tuple(record["asked"]), facts, tuple(record["gate"]))


def format_group(problem: str | None) -> Group:
    """The first group of a verdict. `problem` says why the answer could not be read."""
    if problem is None:
        return _READABLE
    return Group(FORMAT, (SCHEMA,), {SCHEMA: Fact(SCHEMA, State.FAILED, problem)})


_READABLE = Group(FORMAT, (SCHEMA,), {SCHEMA: Fact(SCHEMA, State.PASSED)})


VERIFIED = "verified by"


def verified_by(verifier: str) -> str:
    """What stands as the rules of a verdict where no set of rules judged, but a verifier."""
    return f"{VERIFIED} {verifier}"


@dataclass(frozen=True)
class Verdict:
    """`final` is the one place where it stands whether the episode passed. `rules` says who judged:
    "strict", "verified by rules".

    `delivered`: there was something to judge. `error` is the kind of exception that the rules
    raised on this answer (the official code of TravelPlanner does). `details` are the domain's own,
    as JSON: TravelPlanner's costs.
    """

    rules: str
    groups: tuple[Group, ...]
    final: bool
    delivered: bool = True
    error: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises ValueError for a fact of two groups: figures of facts go by their names."""
        groups: dict[str, str] = {}
        for group in self.groups:
            for name in group.asked:
                if groups.setdefault(name, group.name) != group.name:
                    raise ValueError(
                        f"the fact '{name}' is in two groups of this verdict, '{groups[name]}' and"
                        f" '{group.name}'"
                    )

    def group(self, name: str) -> Group:
        """Raises KeyError, with the names that there are."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(
            f"no group '{name}' in this verdict, which has"
            f" {', '.join(group.name for group in self.groups)}"
        )

    def passed(self, names: Iterable[str]) -> bool:
        """Whether all of these groups passed."""
        return all(self.group(name).passed for name in names)

    @property
    def facts(self) -> Facts:
        """All that was evaluated, group by group."""
        return {name: fact for g in self.groups for name, fact in (g.facts or {}).items()}

    @property
    def failed(self) -> list[Fact]:
        """The facts that were looked at and broken."""
        return [fact for fact in self.facts.values() if fact.state is State.FAILED]

    @property
    def readable(self) -> bool:
        """Whether the answer could be read."""
        return self.groups[0].passed

    @property
    def schema_problem(self) -> str | None:
        """Why the answer could not be read."""
        facts = self.groups[0].facts or {}
        return facts[SCHEMA].message if SCHEMA in facts else None

    def record(self) -> dict[str, Any]:
        groups = [group.record() for group in self.groups]
        record = {
            "rules": self.rules,
            "final": self.final,
            "delivered": self.delivered,
            "error": self.error,
            "groups": groups,
        }
        return record | ({"details": dict(self.details)} if self.details else {})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Verdict:
        """The verdict that `record` wrote."""
        groups = tuple(map(Group.from_record, record["groups"]))
        return cls(
            record["rules"],
            groups,
            record["final"],
            record["delivered"],
            record["error"],
            record.get("details") or {},
        )
