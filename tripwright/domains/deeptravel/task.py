"""DeepTravel's kind of job (rows D1 to D5): a traveller's request, live tools or a closed world behind them, an answer judged by what the
transcript holds.

Its verdict has the two kinds of facts that every verdict has. The rubrics of the trajectory stand where TravelPlanner's commonsense does;
the turns stand where its hard constraints do, tool by tool, and are looked at only where the trajectory passed (the early stop of row D5).
So row D5's reward is the last stage of row P5's curriculum (0 or 1), and the denser stages can be tried as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tripwright.agent.dialect import Dialect, PlanFormat
from tripwright.domains.deeptravel.answer.advice_reading import NotAdvice, read_markdown
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.tools.live_box import LiveToolBox, OnFault
from tripwright.domains.deeptravel.tools.live_catalog import AskedSource
from tripwright.domains.deeptravel.verifiers.findings import PASSING_CONCLUSIONS, RUBRICS, Conclusion, Problem, Verifier
from tripwright.domains.deeptravel.verifiers.joint import JointFinding, joint
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.travelplanner.rules.evaluate import Rules
from tripwright.domains.travelplanner.rules.facts import Evidence, Fact, Facts, State, Verdict
from tripwright.episode import Asked, Episode
from tripwright.tools.toolbox import Tools
from tripwright.transcript import StopReason, Transcript

NO_CALL = "tools"  # the name of the one turn that is missing where nothing was asked


@dataclass(frozen=True)
class Errand:
    """`where` names what answers; `on_fault` says what a service that does not answer means (`tools/live_box.py`). With `every_turn` a
    trajectory that fails spares no turn: its verdict has both kinds of facts, for rewards that read the turns alone."""

    id: str
    query: TravelRequest
    source: AskedSource
    where: str
    verifier: Verifier = field(default_factory=RuleVerifier)
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS
    on_fault: OnFault = "stop"
    every_turn: bool = False

    def renamed(self, id: str) -> Errand:
        return replace(self, id=id)

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        return LiveToolBox(self.source, dialect.face, on_fault=self.on_fault, emptied=emptied)

    def record(self) -> dict[str, Any]:
        return {"request": self.query.record()}

    def judged(self, transcript: Transcript, plan_format: PlanFormat, rules: Rules) -> Episode:
        """`rules` are of plans and say nothing here: what judges is the verifier."""
        try:
            found = joint(self.verifier, self.query, transcript, passing=self.passing, early_stop=not self.every_turn)
        except Exception as error:  # a run of thousands of episodes must not end at the words of one; resumed, it would meet them again
            found = JointFinding(None, unscored=f"verifier {self.verifier.name} failed: {type(error).__name__}: {error}")
        more = {**self._said_asked(transcript), "verifier": {"name": self.verifier.name, **asdict(found)}}
        if found.reward is None:
            transcript.fault, transcript.stop_reason = found.unscored, StopReason.UNSCORED
            return Episode(self, transcript, None, None, None, more)
        problem = None if transcript.answer is not None else f"no answer: {transcript.stop_reason}"
        return Episode(self, transcript, None, problem, self._verdict(found, transcript), more)

    def unscored(self, transcript: Transcript) -> Episode:
        """With what it would have been held to: the worst case of a score counts it as failed."""
        return Episode(self, transcript, None, None, None, self._said_asked(transcript))

    def asked(self, transcript: Transcript) -> Asked:
        return Asked(self._rubrics, _tools(transcript))

    def passes(self, episode: Episode, rules: Rules) -> bool:
        return episode.verdict is not None and episode.verdict.final

    @property
    def _rubrics(self) -> tuple[str, ...]:
        """A backup plan is a fact to be held to only where an answer without one does not pass."""
        return tuple(name for name in RUBRICS if name != "backup_plan" or "very_satisfied_without_backup" not in self.passing)

    def _said_asked(self, transcript: Transcript) -> dict[str, Any]:
        """For the record, since a line of it says nothing else about the facts of its kind."""
        return {"asked": {"commonsense": list(self._rubrics), "hard": list(_tools(transcript))}}

    def _verdict(self, found: JointFinding, transcript: Transcript) -> Verdict:
        by = f"verified by {self.verifier.name}"
        if found.trajectory is None:
            return Verdict.undelivered(by)
        passes = found.trajectory.passes(self.passing)
        said = found.trajectory.rubrics
        rubrics = {name: _fact(name, said.get(name) is not False, found.trajectory.problems) for name in self._rubrics}
        if not passes and all(fact.passed for fact in rubrics.values()):  # a judge may conclude more than its rubrics say
            rubrics[self._rubrics[0]] = _fact(self._rubrics[0], False, found.trajectory.problems)
        turns = _turns(found, transcript) if passes or self.every_turn else None
        return Verdict(by, True, rubrics, turns, None, None, found.reward == 1.0)


def _tools(transcript: Transcript) -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.name for call in transcript.calls)) or (NO_CALL,)


def _turns(found: JointFinding, transcript: Transcript) -> Facts:
    """Tool by tool: failed where one of its turns fails, not evaluated where one of them was not looked at any more."""
    facts = {name: Fact(name, State.NOT_EVALUATED) for name in _tools(transcript)}
    judged = {turn.call: turn for turn in found.turns}
    for name in facts:
        turns = [judged.get(number) for number, call in enumerate(transcript.calls, 1) if call.name == name]
        if any(turn is not None and not turn.passes for turn in turns):
            problems = [problem for turn in turns if turn is not None for problem in turn.problems]
            facts[name] = _fact(name, False, problems)
        elif turns and all(turn is not None for turn in turns):
            facts[name] = Fact(name, State.PASSED)
    return facts


def _fact(name: str, passed: bool, problems: Sequence[Problem]) -> Fact:
    if passed:
        return Fact(name, State.PASSED)
    evidence = tuple(Evidence(None, problem.kind, problem.said or None, problem.message) for problem in problems[:5])
    return Fact(name, State.FAILED, problems[0].message if problems else None, evidence)


def format_problem(transcript: Transcript) -> str | None:
    """Why an answer is not in the format of row D11. A cold start is strict about it (row D6); the reward reads other words too."""
    if transcript.answer is None:
        return f"no answer: {transcript.stop_reason}"
    try:
        advice = read_markdown(transcript.answer)
    except NotAdvice as problem:
        return str(problem)
    return f"more than two recommendations for the {advice.too_many[0].kind}" if advice.too_many else None
