"""An LLM judge as verifier of whole answers and of single turns: any OpenAI-compatible endpoint,
rubrics as data, several votes, every token counted (DeepTravel, section 3.3 and Appendices A.2.2,
A.2.3; rows D3, D4).

Whose fault was it (law 4)? An endpoint that is dead, limits us or talks nonsense leaves the item
`Unscored`, never failed. An answer that is missing, or longer than any answer in the format of row
D11, is the model's failure and is judged without asking: otherwise a policy could earn an unscored
rollout by flooding its judge.

How a reply is asked for is found out once and remembered: structured output (`response_format`), a
JSON object in the text, or the line of A.2.2.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import (
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
    messages,
    response_format,
    trajectory_case,
    turn_case,
)
from tripwright.domains.deeptravel.verifiers.judge_reply import UnreadableReply, Vote, read_reply
from tripwright.domains.deeptravel.verifiers.rubrics import LevelName, Rubrics, load_rubrics
from tripwright.domains.deeptravel.verifiers.votes import agreement, middle, rubric_verdicts
from tripwright.llm.client import ChatEndpoint, Fault
from tripwright.llm.endpoint import map_unordered
from tripwright.llm.paid_calls import JudgementLog
from tripwright.llm.prices import Prices
from tripwright.transcript import Transcript

LONGEST_ANSWER = 20_000  # characters: an answer in the format of row D11 has some 3,000
READ_ATTEMPTS = 2  # replies in one form, the second after being told what could not be read
SHOWN_BACK = 2_000  # characters of an unreadable reply that are sent back with it


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
        counts = {
            name: value
            for name, value in asdict(self).items()
            if name not in ("agreement_sum", "usage", "forms")
        }
        mean = self.agreement_sum / self.items if self.items else None
        usd = {"usd": prices.usd(self.usage)} if prices else {}
        return {
            **counts,
            "agreement": mean,
            "forms": dict(self.forms),
            **_rounded(self.usage),
            **usd,
        }


class LlmJudge:
    """A `Verifier`. Threads may share one; the votes on one item are asked for at once.

    `votes` is the number on each item, decided as `votes.py` says. Without a log, votes are
    remembered while the object lives.
    """

    def __init__(
        self,
        endpoint: ChatEndpoint,
        rubrics: Rubrics | None = None,
        votes: int = 1,
        log: JudgementLog | None = None,
        prices: Prices | None = None,
    ):
        if votes < 1:
            raise ValueError(f"a judge needs one vote or more, found {votes}")
        self.endpoint, self.rubrics, self.votes, self.prices = (
            endpoint,
            rubrics or load_rubrics(),
            votes,
            prices,
        )
        self.log = log or JudgementLog()
        self.account = Account()
        self._lock = threading.Lock()
        self._paying: dict[str, threading.Lock] = {}  # by question
        self._worked: set[Form] = set()
        self._dropped: set[Form] = set()
        levels: tuple[LevelName, ...] = ("trajectory", "turn")
        self._structured = {
            name: replace(
                endpoint,
                extra_body={
                    **endpoint.extra_body,
                    "response_format": response_format(self.rubrics.level(name)),
                },
            )
            for name in levels
        }
        settings = [
            endpoint.model,
            endpoint.temperature,
            endpoint.top_p,
            endpoint.max_tokens,
            dict(endpoint.extra_body),
        ]
        self._identity = json.dumps([settings, self.rubrics.fingerprint], sort_keys=True)

    @property
    def name(self) -> str:
        return f"judge:{self.endpoint.model}:{self.rubrics.name}:{self.rubrics.fingerprint}:votes={self.votes}"  # noqa: E501

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        """Row D3, from the request and the answer alone. Raises Unscored, and UserError for what
        can never work (a wrong key)."""
        case = trajectory_case(request, transcript)
        if problem := _not_worth_asking(case.answer):
            return TrajectoryFinding(
                "dissatisfied_incomplete", {"complete": False}, (problem,), problem.message
            )
        votes = self._judged(case)
        conclusion = middle([vote.conclusion for vote in votes], self.rubrics.trajectory.scale)
        speaker = _speaker(votes, conclusion)
        rubrics = rubric_verdicts([vote.rubrics for vote in votes])
        return TrajectoryFinding(
            cast(Conclusion, conclusion), rubrics, speaker.problems, speaker.reason
        )

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        """Row D4, of call number `call`, from 1. Raises Unscored, and ValueError for a call that
        was not made."""
        case = turn_case(request, transcript, call)
        if problem := _not_worth_asking(case.answer):
            return TurnFinding(call, "inconsistent_with_response", (problem,), problem.message)
        votes = self._judged(case)
        conclusion = middle([vote.conclusion for vote in votes], self.rubrics.turn.scale)
        speaker = _speaker(votes, conclusion)
        return TurnFinding(call, cast(TurnConclusion, conclusion), speaker.problems, speaker.reason)

    # ---- votes

    def _judged(self, case: Case) -> list[Vote]:
        """All votes on this item. Threads that ask the same wait for the one that pays."""
        key = self._key(case)
        with self._lock:
            paying = self._paying.setdefault(key, threading.Lock())
        try:
            with paying:
                return self._collected(case, key)
        finally:
            with self._lock:
                self._paying.pop(key, None)  # whoever comes later finds the votes in the log

    def _collected(self, case: Case, key: str) -> list[Vote]:
        """Votes paid for now or before. One that is missing leaves the item unscored; the others
        stay in the log."""
        earlier = {
            number: line for number, line in self.log.votes(key).items() if number <= self.votes
        }
        numbers = [number for number in range(1, self.votes + 1) if number not in earlier]

        def ask(number: int) -> Vote | NoVerdict:
            return self._ask(case, key, number)

        replies = (
            list(map_unordered(ask, numbers, len(numbers)))
            if len(numbers) > 1
            else [ask(number) for number in numbers]
        )
        with self._lock:
            self.account.votes_reused += len(earlier)
            faults = [each for each in replies if isinstance(each, NoVerdict)]
            if faults:
                self.account.unscored += 1
        if faults:
            raise faults[0]
        lines = self.log.votes(key)
        votes = [Vote.from_json(lines[number]["judged"]) for number in range(1, self.votes + 1)]
        self._close(
            case,
            key,
            votes,
            [line["usage"] for number, line in lines.items() if number <= self.votes],
        )
        return votes

    def _close(
        self, case: Case, key: str, votes: list[Vote], usages: list[dict[str, float]]
    ) -> None:
        conclusions = [vote.conclusion for vote in votes]
        verdict = middle(conclusions, self.rubrics.level(case.level).scale)
        agreed = agreement(conclusions, verdict)
        usage = _rounded(sum((Counter(each) for each in usages), Counter[str]()))
        usd = {"usd": self.prices.usd(usage)} if self.prices else {}
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
                **usd,
            }
        )

    def _ask(self, case: Case, key: str, number: int) -> Vote | NoVerdict:
        self.log.check_cost()
        usage: Counter[str] = Counter()
        outcome, form = self._vote(case, usage)
        line = {
            **_item(case, key),
            "vote": number,
            "model": self.endpoint.model,
            "usage": _rounded(usage),
        }
        if isinstance(outcome, NoVerdict):
            self.log.add({**line, "judged": None, "fault": str(outcome)})
        else:
            self.log.add({**line, "judged": outcome.to_json(), "form": form})
        with self._lock:
            self.account.usage.update(
                {name: usage[name] for name in ("prompt_tokens", "completion_tokens", "seconds")}
            )
            self.account.replies += int(usage["replies"])
            self.account.replies_without_count += int(usage["replies_without_count"])
            if isinstance(outcome, Vote):
                self.account.votes_asked += 1
                self.account.forms[form] += 1
                self.account.verdict_first += outcome.verdict_first
                self.account.contradictions += outcome.contradicts_itself
        return outcome

    def _vote(self, case: Case, usage: Counter[str]) -> tuple[Vote | NoVerdict, Form]:
        """One vote, in the first form that the endpoint takes and the judge can write."""
        level, last = self.rubrics.level(case.level), NoVerdict("no form to ask in")
        for form in self._forms():
            endpoint = self._structured[case.level] if form == "schema" else self.endpoint
            conversation: list[dict[str, str]] = messages(self.rubrics, case, form)
            for _ in range(READ_ATTEMPTS):
                outcome = endpoint.complete(conversation)
                if isinstance(outcome, Fault):
                    last = NoVerdict(
                        f"{outcome.kind} after {outcome.attempts} attempts: {outcome.message}"
                    )
                    # Servers refuse a response_format with 400 or 422, and some fall over it with
                    # 500.
                    if (
                        form == "schema"
                        and outcome.kind in ("rejected", "server_error")
                        and form not in self._worked
                    ):
                        break
                    return last, form
                usage.update(outcome.usage)
                usage.update(
                    replies=1, replies_without_count=int("prompt_tokens" not in outcome.usage)
                )
                try:
                    vote = read_reply(outcome, level, case.call)
                except UnreadableReply as problem:
                    last = NoVerdict(f"the judge's reply cannot be read: {problem}.")
                    correction = (
                        f"Your reply cannot be read: {problem}. Answer again, in the form asked"
                        " for."
                    )
                    again = [
                        {"role": "assistant", "content": outcome.text[:SHOWN_BACK]},
                        {"role": "user", "content": correction},
                    ]
                    conversation = [*conversation[:2], *again]
                else:
                    self._settle(form)
                    return vote, form
        return last, form

    def _forms(self) -> list[Form]:
        with self._lock:
            return [form for form in FORMS if form not in self._dropped]

    def _settle(self, form: Form) -> None:
        """A form is dropped when a later one works and it never has. One that has worked is kept:
        the judge only slipped."""
        with self._lock:
            self._worked.add(form)
            self._dropped.update(
                each for each in FORMS[: FORMS.index(form)] if each not in self._worked
            )

    def _key(self, case: Case) -> str:
        question = messages(self.rubrics, case, "object")
        return hashlib.sha256(
            json.dumps([self._identity, case.level, question]).encode()
        ).hexdigest()[:24]


def _not_worth_asking(answer: str) -> VerifierProblem | None:
    if not answer.strip():
        return VerifierProblem("complete", "there is no answer")
    if len(answer) > LONGEST_ANSWER:
        return VerifierProblem(
            "complete",
            f"the answer has {len(answer):,} characters; more than {LONGEST_ANSWER:,} are not"
            " judged",
        )
    return None


def _speaker(votes: list[Vote], conclusion: str) -> Vote:
    """The first vote that says what was decided: its reason and problems are told."""
    return next(vote for vote in votes if vote.conclusion == conclusion)


def _item(case: Case, key: str) -> dict[str, Any]:
    return {"key": key, "id": case.request.id, "level": case.level, "call": case.call}


def _rounded(usage: Mapping[str, float]) -> dict[str, float]:
    return {
        name: round(value, 3) if name == "seconds" else int(value)
        for name, value in usage.items()
        if value or name == "replies"
    }
