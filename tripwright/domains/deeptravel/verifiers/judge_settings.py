"""The LLM judge in the loop: which verifier a recipe, a run or a command means (rows D3 to D6).

Without settings the rules judge alone. `by` "judge" asks the model alone, as the paper does; "both"
asks the rules first, which cost nothing, and the model only about what they pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, cast

from annotated_types import Ge, MinLen

from tripwright.agent.dialect import Dialect
from tripwright.domains.deeptravel.answer.cards import CARDS
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.task import Errand
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    TrajectoryFinding,
    TurnFinding,
)
from tripwright.domains.deeptravel.verifiers.judge import Account, LlmJudge
from tripwright.domains.deeptravel.verifiers.rubrics import load_rubrics
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.judging import Judged, JudgingSettings
from tripwright.llm.paid_calls import JudgementLog
from tripwright.llm.prices import Prices
from tripwright.transcript import Transcript


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(JudgingSettings):
    """`votes` on each item, of which more than half decide; `rubrics` a TOML file in place of the
    paper's; `passing` the conclusions that pass (not printed in the paper)."""

    by: Literal["judge", "both"] = "judge"
    votes: Annotated[int, Ge(1)] = 1
    rubrics: str | None = None
    passing: Annotated[tuple[Conclusion, ...], MinLen(1)] = PASSING_CONCLUSIONS

    @property
    def name(self) -> str:
        first = "rules, then " if self.by == "both" else ""
        return f"{first}judge:{self.model}"

    def judge(self, log: JudgementLog) -> LlmJudge:
        rubrics = load_rubrics(Path(self.rubrics) if self.rubrics is not None else None)
        return LlmJudge(self.endpoint(), rubrics, self.votes, log, self.prices)

    def verifier(self, log: JudgementLog) -> LlmJudge | RulesFirst:
        judge = self.judge(log)
        return judge if self.by == "judge" else RulesFirst(RuleVerifier(), judge)

    @property
    def items_at_once(self) -> int:
        """So that requests in flight stay within `concurrency`: the votes on an item are asked for
        at once."""
        return max(1, self.concurrency // self.votes)


@dataclass(frozen=True)
class RulesFirst:
    """A verifier of two: what the rules refuse, nobody is asked about."""

    rules: RuleVerifier
    judge: LlmJudge

    @property
    def name(self) -> str:
        return f"{self.rules.name}, then {self.judge.name}"

    @property
    def account(self) -> Account:
        return self.judge.account

    @property
    def prices(self) -> Prices | None:
        return self.judge.prices

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        finding = self.rules.trajectory(request, transcript)
        return self.judge.trajectory(request, transcript) if finding.passes() else finding

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        finding = self.rules.turn(request, transcript, call)
        return self.judge.turn(request, transcript, call) if finding.passes else finding


@contextmanager
def judging(settings: JudgeSettings, path: Path | None) -> Iterator[Judged]:
    with settings.log(path) as log:
        verifier = settings.verifier(log)
        yield lambda task: replace(
            cast(Errand, task),
            verifier=verifier,
            passing=settings.passing,
            judged_at_once=settings.items_at_once,
        )


def refusal(settings: JudgeSettings, dialect: Dialect) -> str | None:
    if settings.by == "judge" or dialect.plan_format == CARDS:
        return None
    return f"rules read no prose, in which dialect '{dialect.name}' answers: by = \"judge\"."
