"""The retail tasks of τ²-bench as jobs of `evals.run` (row P15): the agent's policy is ours, tools,
rules and tasks are the package's.

A task passes where the shop's database ends as it should and the customer was told what had to be
told, as the package multiplies them; no model judges. A talk that the agent did not bring to its
end (context, calls, an unreadable turn) has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.agent.conversation import Conversation
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import TALK_TURNS
from tripwright.episode import Asked, Episode, TaskDefaults
from tripwright.evals.figures import PerQuery, most_samples, with_intervals
from tripwright.evals.outside.figures import (
    QuestionOutcome,
    by_question,
    mean_of,
    outcomes_of,
    rate_of,
    score_of,
)
from tripwright.evals.outside.task import OUTSIDE, Grade, OutsideTask
from tripwright.evals.outside.tau.package import Package, TaskText, WorkerDown
from tripwright.evals.outside.tau.talk import SHOP, Customer, Talk
from tripwright.statistics.samples import pass_hat_k
from tripwright.tools.toolbox import Tools
from tripwright.transcript import StopReason, Transcript

BENCHMARK = "tau_retail"
GRADER = "database and communicated texts"
FACTS = ("database", "communicated")

# τ²-bench's words to the agent.
AGENT_PROMPT = """<instructions>
You are a customer service agent that helps the user according to the <policy> provided below.
In each turn you can either:
- Send a message to the user.
- Make a tool call.
You cannot do both at the same time.

Try to be helpful and always follow the policy. Always make sure you generate valid JSON only.
</instructions>
{policy}"""


@dataclass(frozen=True)
class ShopDialect(Dialect):
    """`shop_tools` are the schemas of the shop's tools, which no face of ours knows."""

    shop_tools: tuple[dict[str, Any], ...] = ()

    def schemas(self) -> list[dict[str, Any]] | None:
        return list(self.shop_tools)


def dialect_of(package: Package) -> ShopDialect:
    return ShopDialect(
        BENCHMARK,
        AGENT_PROMPT.format(policy=package.policy),
        face=SHOP,
        plan_format="text",
        max_turns=200,
        max_calls=200,
        max_turn_tokens=4096,
        context_tokens=32 * 1024,
        on_malformed="error",
        on_parallel="first",
        on_repeated="answer",  # an order looks different after it was changed
        turns=TALK_TURNS,
        shop_tools=tuple(package.schemas),
    )


@dataclass(frozen=True)
class ShopGrader:
    talk: Talk | None
    name: str = GRADER

    @property
    def fact_names(self) -> tuple[str, ...]:
        return FACTS

    def grade(self, transcript: Transcript) -> Grade:
        if self.talk is None or transcript.stop_reason is not StopReason.ANSWER:
            if self.talk is not None:
                self.talk.close()
            return Grade(
                dict.fromkeys(FACTS, False),
                {"explanation": [f"the talk did not end: {transcript.stop_reason}"]},
            )
        told = {"customer_turns": self.talk.customer_turns, "ended_by_customer": self.talk.ended}
        try:
            found = self.talk.grade()
        except WorkerDown as fault:
            return Grade({}, told, fault=f"the shop could not grade: {fault}")
        return Grade(
            {name: bool(found[name]) for name in FACTS},
            {**told, "explanation": found["explanation"]},
        )


class RetailTask(TaskDefaults):
    """A talk begins when its episode is opened: the customer speaks first."""

    where = BENCHMARK
    domain = OUTSIDE

    def __init__(self, id: str, task: TaskText, package: Package, customer: Customer):
        self.id, self._task, self._package, self._customer = id, task, package, customer
        self._talk: Talk | None = None

    @property
    def query(self) -> Conversation:
        return Conversation(
            self._talk.first if self._talk is not None else "", fields={"task": self._task.id}
        )

    def renamed(self, id: str) -> RetailTask:
        return RetailTask(id, self._task, self._package, self._customer)

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        self._talk = Talk(self._package, self._customer, self._task)
        return self._talk

    def judged(self, transcript: Transcript, plan_format: str, rules: str) -> Episode:
        return self._as_task.judged(transcript, plan_format, rules)

    def unscored(self, transcript: Transcript) -> Episode:
        if self._talk is not None:
            self._talk.close()
        return self._as_task.unscored(transcript)

    def asked(self, transcript: Transcript) -> Asked:
        return self._as_task.asked(transcript)

    @property
    def _as_task(self) -> OutsideTask:
        return OutsideTask(
            self.id, self.query, self.where, ShopGrader(self._talk), f"{self.where}/{self._task.id}"
        )


def retail_tasks(
    package: Package, customer: Customer, samples: int = 1, limit: int | None = None
) -> list[RetailTask]:
    """In the package's order. Ids are the task's and the number of the sample, so that they survive
    interruptions."""
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    return [
        RetailTask(f"retail/{task.id}{end}", task, package, customer)
        for task in package.tasks[:limit]
        for end in ends
    ]


def score_retail(
    records: Iterable[Mapping[str, Any]], rules: str, card: Mapping[str, Any]
) -> dict[str, Any]:
    """With pass^k for every k up to the samples that each task has (row P15 has pass@1 =
    pass^1)."""
    outcomes = outcomes_of(records)
    scored = [outcome for outcome in outcomes if outcome.scored]
    return score_of(outcomes, rules, card, _rates, {"pass^k": pass_hat(scored)})


def pass_hat(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """For every k up to the samples that nine in ten tasks have; pass^1 is the final rate."""
    groups = by_question(outcomes)
    most = most_samples({task: [each.base for each in samples] for task, samples in groups.items()})
    passed = {
        task: (len(samples), sum(each.final for each in samples))
        for task, samples in groups.items()
    }
    further = {
        str(k): PerQuery(
            "chance", {t: (pass_hat_k(n, c, k), 1) for t, (n, c) in passed.items() if n >= k}
        )
        for k in range(2, most + 1)
    }
    return {"1": rate_of(outcomes, lambda o: o.final), **with_intervals(further)}


def _rates(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    return {
        "final": rate_of(outcomes, lambda o: o.final),
        "ended_by_customer": rate_of(outcomes, lambda o: bool(o.details.get("ended_by_customer"))),
        "customer_turns_mean": mean_of(outcomes, lambda o: o.details.get("customer_turns")),
    }
