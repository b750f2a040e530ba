"""transcripts.jsonl → score.json: every figure of a run from its lines alone, whatever worlds and policies they come from.

The subtle things: a line may be the second try of an episode that was unscored, so the later line of an id wins; unscored episodes
are out of every rate (law 4) and come back in `worst_case` once they are more than 1%; figures do not depend on the order of the
lines, because an interrupted run finishes in another order; several samples of one query count as one query in every interval.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

from tripwright.constraints.facts import COMMONSENSE_NAMES, HARD_NAMES
from tripwright.evals.stats import clustered_rate, mean, rate

MOST_UNSCORED = 0.01
SEED = 0
HARD_WISHES = {
    "valid_cuisine": "cuisine",
    "valid_room_rule": "house rule",
    "valid_transportation": "transportation",
    "valid_room_type": "room type",
}


VERIFIED = "verified by"


def verified_by(verifier: str) -> str:
    """What stands as a score's rules where no rules of plans judged, but a verifier."""
    return f"{VERIFIED} {verifier}"


def judged_by(rules: str) -> str:
    """In words: "strict rules", "verified by rules"."""
    return rules if rules.startswith(VERIFIED) else f"{rules} rules"


@dataclass(frozen=True)
class Outcome:
    """What one line says, without its tokens. The six T4 facts are False, and `passed` empty, where the plan never got that far."""

    id: str
    query: str  # equal for samples of the same query
    level: str | None
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
            query=f"{record.get('world')} {sorted((k, str(v)) for k, v in query.items() if k != 'oracle')}",
            level=query.get("level"),
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


def score_records(records: Iterable[Mapping[str, Any]], rules: str, card: Mapping[str, Any]) -> dict[str, Any]:
    """The score of the lines of one or several transcripts.jsonl. `records` is read once and may be a stream."""
    latest = {str(record["id"]): Outcome.of(record) for record in records}
    outcomes = [latest[key] for key in sorted(latest)]
    scored = [outcome for outcome in outcomes if outcome.scored]
    unscored = len(outcomes) - len(scored)
    score: dict[str, Any] = {
        "n": len(scored),
        "unscored": unscored,
        "rules": rules,
        "metrics": {**_rates(scored), **_means(scored)},
        "constraints": _constraints(scored),
        "levels": _levels(scored),
        "stop_reasons": dict(Counter(outcome.stop_reason for outcome in outcomes).most_common()),
    }
    faults = Counter(outcome.fault or "unknown" for outcome in outcomes if not outcome.scored)
    if unscored > MOST_UNSCORED * len(outcomes):
        score["warning"] = (
            f"{unscored} of {len(outcomes)} episodes are unscored because of faults on our side; the rates leave them out, "
            f"and worst_case counts them as failed. The most frequent fault: {faults.most_common(1)[0][0].rstrip('.')}."
        )
        score["worst_case"] = _rates(outcomes)
    return {**score, "run_card": dict(card)}


def _rates(outcomes: list[Outcome]) -> dict[str, Any]:
    rates: dict[str, Any] = {
        "final": _rate(outcomes, lambda o: o.final),
        "delivery": _rate(outcomes, lambda o: o.delivered),
        "schema": _rate(outcomes, lambda o: o.schema_valid),
        "commonsense_micro": _micro(outcomes, lambda o: o.share(o.commonsense)),
        "commonsense_macro": _rate(outcomes, lambda o: o.all_of(o.commonsense)),
        "hard_micro": _micro(outcomes, lambda o: o.share(o.hard)),
        "hard_macro": _rate(outcomes, lambda o: o.all_of(o.hard)),
    }
    samples = _by_query(outcomes)
    every = min((len(group) for group in samples), default=0)
    if every > 1:  # pass^k: k samples of a query all pass; estimated without bias from every sample there is
        rates[f"pass^{every}"] = mean([comb(sum(o.final for o in group), every) / comb(len(group), every) for group in samples], SEED)
    return rates


def _means(outcomes: list[Outcome]) -> dict[str, Any]:
    def per_query(value: Callable[[Outcome], float | None]) -> dict[str, Any]:
        known = [[found for o in group if (found := value(o)) is not None] for group in _by_query(outcomes)]
        return dict(mean([sum(values) / len(values) for values in known if values], SEED))

    return {"turns_mean": per_query(lambda o: o.turns), "completion_tokens_mean": per_query(lambda o: o.completion_tokens)}


def _constraints(outcomes: list[Outcome]) -> dict[str, Any]:
    """Share passing each constraint among the episodes it applies to; these sum up to the micro rates."""
    names = dict.fromkeys(name for o in outcomes for name in o.asked)
    if not names or COMMONSENSE_NAMES[0] in names:  # TravelPlanner's thirteen stand in their order, asked or not
        names = dict.fromkeys((*COMMONSENSE_NAMES, *HARD_NAMES, *names))
    return {name: _rate([o for o in outcomes if name in o.asked], partial(_passed, name)) for name in names}


def _passed(name: str, outcome: Outcome) -> bool:
    return name in outcome.passed


def _levels(outcomes: list[Outcome]) -> dict[str, Any]:
    found = dict.fromkeys([level for level in ("easy", "medium", "hard") if any(o.level == level for o in outcomes)])
    found |= dict.fromkeys(sorted({str(o.level) for o in outcomes if o.level is not None}))
    return {level: {"final": _rate([o for o in outcomes if o.level == level], lambda o: o.final)} for level in found}


def _by_query(outcomes: list[Outcome]) -> list[list[Outcome]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.query].append(outcome)
    return list(groups.values())


def _rate(outcomes: list[Outcome], is_pass: Callable[[Outcome], bool]) -> dict[str, Any]:
    """Wilson's interval for one sample per query; with several, whole queries are resampled."""
    groups = _by_query(outcomes)
    if len(groups) < len(outcomes):
        return dict(clustered_rate([(sum(map(is_pass, group)), len(group)) for group in groups], SEED))
    return dict(rate(sum(map(is_pass, outcomes)), len(outcomes)))


def _micro(outcomes: list[Outcome], share: Callable[[Outcome], tuple[int, int]]) -> dict[str, Any]:
    groups = [[share(o) for o in group] for group in _by_query(outcomes)]
    return dict(clustered_rate([(sum(k for k, _ in group), sum(n for _, n in group)) for group in groups], SEED))
