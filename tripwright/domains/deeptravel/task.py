"""One traveller's request as an episode: live tools or a closed world answer it, and verifiers
judge the answer by what the transcript holds (DeepTravel, section 3; rows D1 to D5).

Its verdict's groups are the trajectory's rubrics and then the turns, tool by tool, which are looked
at only where the trajectory passed (the early stop of row D5). So row D5's reward is 1 where both
groups pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.domains.deeptravel.cards import CARDS, NotCards, read_cards
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.sandbox.provider import AnswerSource
from tripwright.domains.deeptravel.tools.live_tools import LiveToolBox, OnFault
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    RUBRICS,
    Conclusion,
    JointFinding,
    Verifier,
    VerifierProblem,
    joint,
)
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.domain import Counts, Grounding, Json
from tripwright.episode import Asked, Episode, TaskDefaults
from tripwright.tools.toolbox import Tools
from tripwright.transcript import StopReason, Transcript
from tripwright.verdict import (
    FORMAT,
    SCHEMA,
    Evidence,
    Fact,
    Facts,
    Group,
    State,
    Verdict,
    format_group,
    verified_by,
)

NAME = "deeptravel"  # in the registry of domains
RULES_READ_NO_PROSE = (
    "Dialect 'deeptravel' answers in free Markdown, which only an LLM judge can verify; rules judge"
    " the cards of deeptravel_cards and deeptravel_cards_compact."
)
NO_CALL = "tools"  # the name of the one turn that is missing where nothing was asked


@dataclass(frozen=True)
class Errand(TaskDefaults):
    """`where` names what answers; `on_fault` says what a service that does not answer means
    (`tools/live_tools.py`). With `every_turn` a trajectory that fails spares no turn: its verdict
    has both groups of facts, for rewards that read the turns alone."""

    id: str
    request: TravelRequest
    source: AnswerSource
    where: str
    verifier: Verifier = field(default_factory=RuleVerifier)
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS
    on_fault: OnFault = "stop"
    every_turn: bool = False
    judged_at_once: int = 1

    domain = NAME

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        return LiveToolBox(self.source, dialect.face, on_fault=self.on_fault, emptied=emptied)

    def judged(self, transcript: Transcript, plan_format: str) -> Episode:
        """By the verifier. An answer outside the contract of cards is judged no further."""
        problem = format_problem(transcript, plan_format)
        if problem is not None and transcript.fault is None:
            finding = JointFinding(0.0, turns_saved=len(transcript.calls), reason=problem)
        elif plan_format != CARDS and isinstance(self.verifier, RuleVerifier):
            finding = JointFinding(None, unscored=RULES_READ_NO_PROSE)
        else:
            finding = joint(
                self.verifier,
                self.request,
                transcript,
                passing=self.passing,
                every_turn=self.every_turn,
            )
        more = {"verifier": {"name": self.verifier.name, **asdict(finding)}}
        if finding.reward is None:
            transcript.fault, transcript.stop_reason = finding.unscored, StopReason.UNSCORED
            return Episode(self, transcript, None, more)
        return Episode(self, transcript, self._verdict(finding, transcript, problem), more)

    def asked(self, transcript: Transcript) -> Asked:
        return {FORMAT: (SCHEMA,), "trajectory": self._rubrics, "turns": _tools(transcript)}

    @property
    def _rubrics(self) -> tuple[str, ...]:
        """A backup plan is a fact to be held to only where an answer without one does not pass."""
        spared = {"backup_plan"} if "very_satisfied_without_backup" in self.passing else set()
        return tuple(name for name in RUBRICS if name not in spared)

    def _verdict(
        self, finding: JointFinding, transcript: Transcript, problem: str | None
    ) -> Verdict:
        rubrics: Facts | None = None
        turns: Facts | None = None
        if finding.trajectory is not None:
            passes = finding.trajectory.passes(self.passing)
            answers = finding.trajectory.rubrics
            rubrics = {
                name: _fact(name, answers.get(name) is not False, finding.trajectory.problems)
                for name in self._rubrics
            }
            # a judge may conclude more than its rubrics say
            if not passes and all(fact.passed for fact in rubrics.values()):
                first = self._rubrics[0]
                rubrics[first] = _fact(first, False, finding.trajectory.problems)
            turns = _turns(finding, transcript) if passes or self.every_turn else None
        groups = (
            format_group(problem),
            Group("trajectory", self._rubrics, rubrics, gate=(FORMAT,)),
            Group("turns", _tools(transcript), turns, gate=("trajectory",)),
        )
        passed, delivered = finding.reward == 1.0, finding.trajectory is not None
        return Verdict(verified_by(self.verifier.name), groups, passed, delivered=delivered)


def _tools(transcript: Transcript) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.name for call in transcript.calls)) or (NO_CALL,)


def _turns(finding: JointFinding, transcript: Transcript) -> Facts:
    """Tool by tool: failed where one of its turns fails, not evaluated where one of them was not
    looked at any more."""
    found = {turn.call: turn for turn in finding.turns}
    facts: dict[str, Fact] = {}
    for name in _tools(transcript):
        calls = [number for number, call in enumerate(transcript.calls, 1) if call.name == name]
        turns = [found[number] for number in calls if number in found]
        if not all(turn.passes for turn in turns):
            problems = [problem for turn in turns for problem in turn.problems]
            facts[name] = _fact(name, False, problems)
        else:
            state = State.PASSED if calls and len(turns) == len(calls) else State.NOT_EVALUATED
            facts[name] = Fact(name, state)
    return facts


def _fact(name: str, passes: bool, problems: Sequence[VerifierProblem]) -> Fact:
    if passes:
        return Fact(name, State.PASSED)
    evidence = tuple(
        Evidence(None, problem.field or problem.kind, problem.said or None, problem.message)
        for problem in problems[:5]
    )
    return Fact(name, State.FAILED, problems[0].message if problems else None, evidence)


def figures(episodes: Sequence[Episode]) -> dict[str, Any]:
    """How often the trajectory passed, and what the early stop of row D5 saved, for the metrics of
    a training step."""
    findings = [e.more["verifier"] for e in episodes if "verifier" in e.more]
    judged = sum(len(each["turns"]) for each in findings)
    saved = sum(each["turns_saved"] for each in findings)
    passed = sum(e.verdict is not None and e.verdict.group("trajectory").passed for e in episodes)
    return {
        "trajectory_pass_rate": passed / len(episodes),
        "turns_judged": judged,
        "turns_saved": saved,
        "turns_saved_share": saved / max(1, judged + saved),
    }


def unjudged(dialect: Dialect, judge: Any) -> str | None:
    """Why nobody can judge the answers of a dialect, where there is no LLM judge."""
    return None if judge or dialect.plan_format == CARDS else RULES_READ_NO_PROSE


def format_problem(transcript: Transcript, plan_format: str) -> str | None:
    """Why there is no answer in cards, or none at all: turns that are not in the format of A.2.1
    end an episode without one. The first group of the verdict: reward, evaluation and cold start
    (row D6) go by it."""
    if transcript.answer is None:
        return f"no answer: {transcript.stop_reason}"
    if plan_format != CARDS:
        return None
    try:
        read_cards(transcript.answer)
    except NotCards as problem:
        return str(problem)
    return None


# ---- what reports and studies read of an episode's record

# "wrong_parameters" is about a call, not about what the answer says
_CLAIM = re.compile(r"(?!wrong_parameters$)(?:invented|ungrounded|wrong)_(.+)")


def wrong_claims(record: Json) -> Counts | None:
    """Kind of claim (price, time, name …) → (1, 1) where one is invented, wrong or ungrounded. None
    where no turn was looked at: row D5 looks at none where the trajectory fails."""
    turns = (record.get("verifier") or {}).get("turns") or ()
    kinds = (str(problem.get("kind")) for turn in turns for problem in turn.get("problems") or ())
    claims = (match[1].replace("_", " ") for kind in kinds if (match := _CLAIM.fullmatch(kind)))
    return dict.fromkeys(claims, (1, 1)) if turns else None


GROUNDINGS = (
    Grounding(
        "Claims that no tool answer bears out",
        "Share of the answers whose turns were verified in which a claim of this kind is invented,"
        " wrong or ungrounded. Answers whose trajectory fails are not looked at any further (row"
        " D5).",
        wrong_claims,
        of_every_answer=True,
    ),
)


COUNTERPARTS = {  # rubric → the dimension of row D10 that asks nearly the same
    "complete": "completeness",
    "main_requirement": "intention",
    "logic": "feasibility",
    "specific_requirements": "personalisation",
}
