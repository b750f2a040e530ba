"""What became of an episode, read from its line of transcripts.jsonl: the form that every figure is
made of, whatever the domain; and what its request asked for, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains import domains
from tripwright.errors import printable
from tripwright.runs import id_in
from tripwright.verdict import ALSO_PASSES, FORMAT

# said elsewhere, or asked by nobody; of requests whose fields have no labels
UNSAID = ("query", "id", "level", "question", "oracle")
MONEY = ("total_budget", "nightly_budget")


@dataclass(frozen=True)
class Checks:
    """One group of a verdict: the facts that the episode is held to, and which of them passed; none
    did where it was not looked at."""

    asked: tuple[str, ...] = ()
    passed: frozenset[str] = frozenset()
    all_passed: bool = False

    @property
    def share(self) -> tuple[int, int]:
        """(passed, asked)"""
        return len(self.passed), len(self.asked)


@dataclass(frozen=True)
class Outcome:
    """What one line says, without its tokens. `groups` are the verdict's, in order; of an unscored
    episode, those that it is held to. `slices` are what its request is counted under: section of a
    score → value, or None where it does not say."""

    id: str
    domain: str
    query: str  # equal for samples of the same query
    text: str  # of the request
    slices: Mapping[str, Any]
    stop_reason: str
    fault: str | None  # why it is unscored
    scored: bool
    final: bool
    delivered: bool
    groups: Mapping[str, Checks]
    turns: int
    completion_tokens: float | None
    # what is no yes or no: name → (value, in how many checks)
    measures: Mapping[str, tuple[float, float]]
    # by further rules, which have not judged it: whether they would pass it
    also_passes: Mapping[str, bool]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Outcome:
        verdict, transcript, request = record["verdict"], record["transcript"], record["request"]
        return cls(
            id=id_in(record),
            domain=record["domain"],
            query=f"{record.get('world')} {_identity(request)}",
            text=str(request.get("query") or ""),
            slices={
                section: request.get(field)
                for section, field in slice_fields(record["domain"]).items()
            },
            stop_reason=str(transcript["stop_reason"]),
            fault=transcript.get("fault"),
            scored=verdict is not None,
            final=bool(verdict and verdict["final"]),
            delivered=bool(verdict and verdict["delivered"]),
            groups=_groups(record),
            turns=sum(segment["role"] == "assistant" for segment in transcript["segments"]),
            completion_tokens=_completion_tokens(transcript),
            measures=record.get("measures") or {},
            also_passes=((verdict or {}).get("details") or {}).get(ALSO_PASSES, {}),
        )

    @property
    def schema_valid(self) -> bool:
        return self.group(FORMAT).all_passed

    @property
    def checks(self) -> dict[str, Checks]:
        """The groups that say something of the answer beyond its format."""
        return {name: group for name, group in self.groups.items() if name != FORMAT}

    @property
    def asked(self) -> tuple[str, ...]:
        """The facts of all `checks`."""
        return tuple(name for group in self.checks.values() for name in group.asked)

    @property
    def passed(self) -> tuple[str, ...]:
        """Those of `asked` that passed."""
        return tuple(
            name for group in self.checks.values() for name in group.asked if name in group.passed
        )

    @property
    def marks(self) -> dict[str, Any]:
        """The same as `slices`, by the fields of the request."""
        return {field: self.slices[section] for section, field in slice_fields(self.domain).items()}

    def group(self, name: str) -> Checks:
        """One without facts where the verdict has no such group."""
        return self.groups.get(name, Checks())


def slice_fields(domain: str) -> Mapping[str, str]:
    """Section of a score → the field of a request whose values divide it. What is no domain
    (another benchmark) may say how hard it is."""
    entry = domains().get(domain)
    return entry.requests.slices if entry is not None else {"levels": "level"}


def facts_of(outcomes: Sequence[Outcome]) -> dict[str, tuple[str, ...]]:
    """Group → all facts of it: as the domains know them beforehand, then as these episodes are held
    to them."""
    facts: dict[str, list[str]] = {}
    for name in dict.fromkeys(outcome.domain for outcome in outcomes):
        domain = domains().get(name)
        for group, names in domain.judge.facts.items() if domain is not None else ():
            facts.setdefault(group, []).extend(names)
    for outcome in outcomes:
        for group, checks in outcome.checks.items():
            facts.setdefault(group, []).extend(checks.asked)
    return {group: tuple(dict.fromkeys(names)) for group, names in facts.items()}


def mark_words(marks: Mapping[str, Any]) -> list[str]:
    """{"level": "easy", "days": 3} → ["easy", "3 days"]"""
    return [
        f"{value} {field}" if isinstance(value, int) else str(value)
        for field, value in marks.items()
        if value is not None
    ]


def _groups(record: Mapping[str, Any]) -> dict[str, Checks]:
    if record["verdict"] is None:
        return {name: Checks(tuple(names)) for name, names in record["asked"].items()}
    groups = {}
    for group in record["verdict"]["groups"]:
        asked, facts = tuple(group["asked"]), group["facts"] or {}
        passed = frozenset(name for name in asked if name in facts and facts[name]["passed"])
        all_passed = group["facts"] is not None and len(passed) == len(asked)
        groups[group["name"]] = Checks(asked, passed, all_passed)
    return groups


def _identity(request: Mapping[str, Any]) -> str:
    """Equal for samples of the same request. Another benchmark's names its question; its words may
    be new in each sample, as where a simulated customer speaks first."""
    question = request.get("question")
    return str(
        question or sorted((key, str(value)) for key, value in request.items() if key != "oracle")
    )


def _completion_tokens(transcript: Mapping[str, Any]) -> float | None:
    """As sampled, else as the endpoint counted them, else unknown."""
    tokens = sum(sum(segment.get("loss_mask") or ()) for segment in transcript["segments"])
    return float(tokens) if tokens else (transcript.get("usage") or {}).get("completion_tokens")


def request_facts(record: Mapping[str, Any]) -> list[list[str]]:
    """[label, value] of each field that the request gives and its domain has a label for; of a
    domain without labels, of all fields."""
    domain, request = domains().get(record["domain"]), record["request"]
    # wishes, in an object of their own
    inner = [value for value in request.values() if isinstance(value, Mapping)]
    values = {
        key: value
        for fields in (request, *inner)
        for key, value in fields.items()
        if not isinstance(value, Mapping)
    }
    labels = domain.report.labels if domain is not None else {}
    labels = labels or {
        key: key.replace("_", " ").capitalize() for key in values if key not in UNSAID
    }
    return [[label, text] for field, label in labels.items() if (text := _words(field, values))]


def _words(field: str, values: Mapping[str, Any]) -> str:
    value = values.get(field)
    if value in (None, "", "-", [], ()):
        return ""
    if field == "date" and isinstance(value, list | tuple):
        text = f"{value[0]} to {value[-1]}"
    elif isinstance(value, list | tuple):
        text = ", ".join(map(str, value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:,.12g}"
    else:
        text = str(value)
    money = f" {values.get('currency') or 'USD'}" if field in MONEY else ""
    return printable(text) + money
