"""An LLM judge as verifier of whole answers and of single turns: any OpenAI-compatible endpoint,
rubrics as data, several votes, every token counted (DeepTravel, section 3.3 and Appendices A.2.2,
A.2.3; rows D3 to D6).

Whose fault was it (law 4)? An endpoint that is dead, limits us or talks nonsense leaves the item
unscored, never failed. An answer that is missing, or longer than any answer in the format of row
D11, is the model's failure and is judged without asking: otherwise a policy could earn an unscored
rollout by flooding its judge.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median_high
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from annotated_types import Ge, MinLen

from tripwright.agent.dialect import Dialect
from tripwright.domains.deeptravel.cards import CARDS
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.task import Errand
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    NoVerdict,
    TrajectoryFinding,
    TurnConclusion,
    TurnFinding,
    VerifierProblem,
)
from tripwright.domains.deeptravel.verifiers.judge_prompts import (
    FORMS,
    Case,
    Form,
    LevelName,
    Rubrics,
    UnreadableReply,
    Vote,
    load_rubrics,
    messages,
    read_reply,
    trajectory_case,
    turn_case,
)
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.domains.judging import Judged, JudgingSettings
from tripwright.llm.client import ChatEndpoint, Fault
from tripwright.llm.endpoint import map_unordered
from tripwright.llm.paid_calls import JudgementLog, Prices
from tripwright.transcript import Transcript

LONGEST_ANSWER = 20_000  # characters: an answer in the format of row D11 has some 3,000
READ_ATTEMPTS = 2  # replies in one form, the second after being told what could not be read
SHOWN_BACK = 2_000  # characters of an unreadable reply that are sent back with it
AGAIN = "Your reply cannot be read: {problem}. Answer again, in the form asked for."
MET = (True, None, False)  # of a rubric, best to worst: met, not asked, not met

Value = TypeVar("Value")


def middle(votes: Sequence[Value], best_to_worst: Sequence[Value]) -> Value:
    """The verdict of one vote or more: the middle one, counted from the best, so the best that more
    than half of the votes reach. Raises ValueError where there is none.

    It has two properties that the most frequent vote lacks. A verdict passes exactly if more than
    half of the votes pass, wherever on the scale the line of passing is drawn; and one worse vote
    never makes a verdict better. An even split falls to the worse side (law 3).

    Best to worst a b c:  a a c → a;  a c → c;  a a b c → b;  a a b b c → b.
    """
    return best_to_worst[median_high(map(best_to_worst.index, votes))]


def rubric_verdicts(votes: Sequence[dict[str, bool | None]]) -> dict[str, bool | None]:
    """Rubric by rubric; a vote that gives no rubrics (A.2.2's plain line) has no say."""
    keys = dict.fromkeys(key for vote in votes for key in vote)
    return {key: middle([vote[key] for vote in votes if key in vote], MET) for key in keys}


@dataclass
class Account:
    """What was judged and what it cost, in this process. Tokens are those that the server counted;
    `seconds` add up over all threads."""

    items: int = 0  # decided; the same question again counts again
    unscored: int = 0  # times that an item was not decided
    votes_asked: int = 0
    votes_reused: int = 0  # from judgements.jsonl
    replies: int = 0  # more than votes where a judge had to be asked again
    # the server said no tokens: tokens and cost are then lower bounds
    replies_without_count: int = 0
    verdict_first: int = 0  # votes that decided before giving a reason
    contradictions: int = 0  # votes whose rubrics led to a worse conclusion than they drew
    agreement_sum: float = 0.0
    unanimous: int = 0
    # prompt_tokens, completion_tokens, seconds
    usage: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)  # how the votes were asked for

    def record(self, prices: Prices | None) -> dict[str, Any]:
        counts = {**vars(self), "forms": dict(self.forms)}
        agreements, usage = counts.pop("agreement_sum"), counts.pop("usage")
        counts |= {"agreement": agreements / self.items if self.items else None, **_rounded(usage)}
        return counts | ({"usd": prices.usd(self.usage)} if prices else {})


class LlmJudge:
    """A `Verifier`. Threads may share one; the `votes` on one item are asked for at once. Without a
    log, votes are remembered while the object lives.

    How a reply is asked for is found out once: structured output, a JSON object in the text, or the
    line of A.2.2.
    """

    def __init__(
        self,
        endpoint: ChatEndpoint,
        rubrics: Rubrics | None = None,
        votes: int = 1,
        log: JudgementLog | None = None,
        prices: Prices | None = None,
    ):
        self.endpoint, self.votes, self.prices = endpoint, votes, prices
        self.rubrics = rubrics or load_rubrics()
        self.log = log or JudgementLog()
        self.account = Account()
        self._lock = threading.Lock()
        self._paying: dict[str, threading.Lock] = {}  # by question
        self._forms, self._form_worked = FORMS, False
        self._structured = {name: self._with_schema(name) for name in get_args(LevelName)}
        sampling = [endpoint.temperature, endpoint.top_p, endpoint.max_tokens]
        settings = [endpoint.model, *sampling, dict(endpoint.extra_body)]
        self._identity = json.dumps([settings, self.rubrics.fingerprint], sort_keys=True)

    def _with_schema(self, level: LevelName) -> ChatEndpoint:
        asked = {"response_format": self.rubrics.level(level).response_format}
        return replace(self.endpoint, extra_body={**self.endpoint.extra_body, **asked})

    @property
    def name(self) -> str:
        rubrics = f"{self.rubrics.name}:{self.rubrics.fingerprint}"
        return f"judge:{self.endpoint.model}:{rubrics}:votes={self.votes}"

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        """Row D3, from the request and the answer alone. Raises NoVerdict, and UserError for what
        can never work (a wrong key)."""
        case = trajectory_case(request, transcript)
        if problem := _not_worth_asking(case.answer):
            return TrajectoryFinding(
                "dissatisfied_incomplete", {"complete": False}, (problem,), problem.message
            )
        votes, speaker = self._judged(case)
        rubrics = rubric_verdicts([vote.rubrics for vote in votes])
        conclusion = cast(Conclusion, speaker.conclusion)
        return TrajectoryFinding(conclusion, rubrics, speaker.problems, speaker.reason)

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        """Row D4, of call number `call`, from 1. Raises NoVerdict, and ValueError for a call that
        was not made."""
        case = turn_case(request, transcript, call)
        if problem := _not_worth_asking(case.answer):
            return TurnFinding(call, "inconsistent_with_response", (problem,), problem.message)
        _, speaker = self._judged(case)
        conclusion = cast(TurnConclusion, speaker.conclusion)
        return TurnFinding(call, conclusion, speaker.problems, speaker.reason)

    # ---- votes

    def _judged(self, case: Case) -> tuple[list[Vote], Vote]:
        """All votes on this item, and the first that says what was decided. Threads that ask the
        same wait for the one that pays."""
        question = [self._identity, case.level, messages(self.rubrics, case, "object")]
        key = hashlib.sha256(json.dumps(question).encode()).hexdigest()[:24]
        with self._lock:
            paying = self._paying.setdefault(key, threading.Lock())
        try:
            with paying:
                votes = self._collected(case, key)
                return votes, self._closed(case, key, votes)
        finally:
            with self._lock:
                self._paying.pop(key, None)  # whoever comes later finds the votes in the log

    def _collected(self, case: Case, key: str) -> list[Vote]:
        """Votes paid for now or before. One that is missing leaves the item unscored; the others
        stay in the log."""
        earlier = self.log.votes(key)
        missing = [number for number in range(1, self.votes + 1) if number not in earlier]
        ask = map_unordered(lambda n: self._asked(case, key, n), missing, len(missing))
        faults = [outcome for outcome in ask if isinstance(outcome, str)]
        with self._lock:
            self.account.votes_reused += self.votes - len(missing)
            self.account.unscored += bool(faults)
        if faults:
            raise NoVerdict(faults[0])
        lines = self.log.votes(key)
        return [Vote.from_json(lines[n]["judged"]) for n in range(1, self.votes + 1)]

    def _closed(self, case: Case, key: str, votes: list[Vote]) -> Vote:
        """Counts and keeps the verdict; gives the first vote that says it."""
        conclusions = [vote.conclusion for vote in votes]
        verdict = middle(conclusions, self.rubrics.level(case.level).scale)
        agreed = conclusions.count(verdict) / len(votes)
        lines = self.log.votes(key)
        paid = sum((Counter(lines[n]["usage"]) for n in range(1, self.votes + 1)), Counter[str]())
        usage = _rounded(paid)
        with self._lock:
            self.account.items += 1
            self.account.agreement_sum += agreed
            self.account.unanimous += agreed == 1
        self.log.add(
            {
                **_item(case, key),
                "conclusion": verdict,
                "votes": conclusions,
                "agreement": agreed,
                "usage": usage,
                **({"usd": self.prices.usd(usage)} if self.prices else {}),
            }
        )
        return votes[conclusions.index(verdict)]

    def _asked(self, case: Case, key: str, number: int) -> Vote | str:
        """Pays for one vote and keeps it; of one that came to nothing, why."""
        self.log.check_cost()
        usage: Counter[str] = Counter()
        outcome, form = self._vote(case, usage)
        who = {"vote": number, "model": self.endpoint.model}
        line = {**_item(case, key), **who, "usage": _rounded(usage)}
        if isinstance(outcome, str):
            self.log.add({**line, "judged": None, "fault": outcome})
        else:
            self.log.add({**line, "judged": outcome.to_json(), "form": form})
        with self._lock:
            self.account.replies += usage.pop("replies", 0)
            self.account.replies_without_count += usage.pop("replies_without_count", 0)
            self.account.usage.update(usage)
            if isinstance(outcome, Vote):
                self.account.votes_asked += 1
                self.account.forms[form] += 1
                self.account.verdict_first += outcome.verdict_first
                self.account.contradictions += outcome.contradicts_itself
        return outcome

    def _vote(self, case: Case, usage: Counter[str]) -> tuple[Vote | str, Form]:
        """In the first form that the endpoint takes and the judge can write."""
        level, why = self.rubrics.level(case.level), ""
        for form in self._forms:
            endpoint = self._structured[case.level] if form == "schema" else self.endpoint
            question = conversation = messages(self.rubrics, case, form)
            for _ in range(READ_ATTEMPTS):
                outcome = endpoint.complete(conversation)
                if isinstance(outcome, Fault):
                    why = f"{outcome.kind} after {outcome.attempts} attempts: {outcome.message}"
                    # servers refuse a response_format with 400 or 422, and some fall over it
                    # with 500
                    refused = form == "schema" and outcome.kind in ("rejected", "server_error")
                    if refused and not self._form_worked:
                        break
                    return why, form
                uncounted = "prompt_tokens" not in outcome.usage
                usage.update(outcome.usage, replies=1, replies_without_count=int(uncounted))
                try:
                    vote = read_reply(outcome, level, case.call)
                except UnreadableReply as problem:
                    why = f"the judge's reply cannot be read: {problem}."
                    conversation = [
                        *question,
                        {"role": "assistant", "content": outcome.text[:SHOWN_BACK]},
                        {"role": "user", "content": AGAIN.format(problem=problem)},
                    ]
                else:
                    self._settle(form)
                    return vote, form
        return why, form

    def _settle(self, form: Form) -> None:
        """The first form that works is the first that is asked in from then on."""
        with self._lock:
            if not self._form_worked:
                self._forms, self._form_worked = FORMS[FORMS.index(form) :], True


def _not_worth_asking(answer: str) -> VerifierProblem | None:
    if not answer.strip():
        return VerifierProblem("complete", "there is no answer")
    if len(answer) > LONGEST_ANSWER:
        return VerifierProblem(
            "complete", f"the answer has more than {LONGEST_ANSWER:,} characters"
        )
    return None


def _item(case: Case, key: str) -> dict[str, Any]:
    return {"key": key, "id": case.request.id, "level": case.level, "call": case.call}


def _rounded(usage: Mapping[str, float]) -> dict[str, float]:
    return {
        name: round(value, 3) if name == "seconds" else int(value)
        for name, value in usage.items()
        if value or name == "replies"
    }


# ---- which verifier a recipe, a run or a command means


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(JudgingSettings):
    """`by` "judge" asks the model alone, as the paper does; "both" asks the rules first, which cost
    nothing, and the model only about what they pass. `votes` on each item, of which more than half
    decide; `rubrics` a TOML file in place of the paper's; `passing` the conclusions that pass (not
    printed in the paper)."""

    by: Literal["judge", "both"] = "judge"
    votes: Annotated[int, Ge(1)] = 1
    rubrics: str | None = None
    passing: Annotated[tuple[Conclusion, ...], MinLen(1)] = PASSING_CONCLUSIONS

    @property
    def name(self) -> str:
        first = "rules, then " if self.by == "both" else ""
        return f"{first}judge:{self.model}"

    def verifier(self, log: JudgementLog) -> LlmJudge | RulesFirst:
        rubrics = load_rubrics(Path(self.rubrics) if self.rubrics is not None else None)
        judge = LlmJudge(self.endpoint(), rubrics, self.votes, log, self.prices)
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
