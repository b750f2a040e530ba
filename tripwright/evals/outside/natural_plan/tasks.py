"""Natural Plan as tasks: one prompt, one answer, graded by the official rules and by robust ones,
whichever decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tripwright.agent.conversation import Conversation
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Session, Turn
from tripwright.agent.turn import WHOLE_TEXT
from tripwright.errors import UserError
from tripwright.evals.outside.figures import QuestionOutcome, outcomes_of, rate_of, score_of
from tripwright.evals.outside.natural_plan.examples import Examples, Kind, Prompt
from tripwright.evals.outside.task import Grade, NoTools, OutsideTask
from tripwright.transcript import Transcript

PlanRules = Literal["official", "robust"]
RULES: tuple[str, ...] = get_args(PlanRules)
FACT = "solved"


def dialect(max_tokens: int, context_tokens: int) -> Dialect:
    """One turn, no system prompt, no tools. Limits in tokens."""
    return Dialect(
        "natural_plan",
        system_prompt="",
        face=NoTools.face,
        plan_format="text",
        tools_in_prompt=False,
        max_turns=1,
        max_calls=0,
        max_turn_tokens=max_tokens,
        context_tokens=context_tokens,
        turns=WHOLE_TEXT,
    )


@dataclass(frozen=True)
class PlanGrader:
    """By both sets of rules; `rules` says which of them decides."""

    kind: Kind
    example: Mapping[str, Any]
    rules: PlanRules

    @property
    def name(self) -> str:
        return f"natural_plan {self.rules}"

    @property
    def fact_names(self) -> tuple[str, ...]:
        return (FACT,)

    def grade(self, transcript: Transcript) -> Grade:
        """Where the official code raises, the example is failed and the exception named. Without an
        answer there is an empty one."""
        answer, error = transcript.answer or "", None
        try:
            official = self.kind.official(answer, self.example)
        except Exception as raised:  # the official script ends here, for all examples
            official, error = False, type(raised).__name__
        found = {"official": official, "robust": self.kind.robust(answer, self.example)}
        return Grade(
            {FACT: found[self.rules]},
            {**found, "official_error": error},
            error if self.rules == "official" else None,
        )


def tasks_of(
    examples: Examples,
    rules: PlanRules,
    prompt: Prompt = "5shot",
    samples: int = 1,
    limit: int | None = None,
) -> list[OutsideTask]:
    """Ids are the file's keys, and numbers of the samples."""
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    kind = examples.kind
    return [
        OutsideTask(
            id=f"{key}{end}",
            query=Conversation(example[f"prompt_{prompt}"]),
            where=f"natural_plan/{kind.name}",
            grader=PlanGrader(kind, example, rules),
            question=key,
            level=kind.level(example),
        )
        for key, example in list(examples.by_key.items())[:limit]
        for end in ends
    ]


def score(
    records: Iterable[Mapping[str, Any]], rules: str, card: Mapping[str, Any]
) -> dict[str, Any]:
    """score.json: the share solved by the rules that decide (`final`), by each set of rules, and
    how often the official code raises."""
    outcomes = outcomes_of(records)
    errors = Counter(
        error
        for outcome in outcomes
        if outcome.scored and (error := outcome.details.get("official_error"))
    )
    return score_of(outcomes, rules, card, _rates, {"official_errors": dict(errors.most_common())})


def _rates(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    return {
        "final": rate_of(outcomes, lambda o: o.final),
        "official": rate_of(outcomes, lambda o: bool(o.details.get("official"))),
        "robust": rate_of(outcomes, lambda o: bool(o.details.get("robust"))),
        "official_raises": rate_of(outcomes, lambda o: o.details.get("official_error") is not None),
    }


class PublishedAnswers:
    """A policy that says what the file's own field holds, for instance Gemini's answers in
    `pred_5shot_pro`. Calls no model."""

    name = "published"

    def __init__(self, examples: Examples, field: str):
        """Raises UserError where an example has no text there."""
        self._answers = {key: example.get(field) for key, example in examples.by_key.items()}
        for key, answer in self._answers.items():
            if not isinstance(answer, str):
                texts = [
                    name for name, value in examples.by_key[key].items() if isinstance(value, str)
                ]
                raise UserError(
                    f"Example '{key}' has no text in the field '{field}'. Its texts are"
                    f" {', '.join(texts)}."
                )

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            answer = self._answers[session.key.question]
            session.take(Turn(answer if isinstance(answer, str) else ""))
            yield session
