"""One question as a task: a Search tool, an answer in words, exact match as the grade (row S10).

Context overflow, a spent call budget and a missing `<answer>` are failures and stay in every
denominator; a retriever that is down is our side's fault, and the episode unscored (law 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tripwright.agent.conversation import Conversation
from tripwright.agent.dialect import Dialect
from tripwright.evals.outside.qa.dialects import SearchDialect
from tripwright.evals.outside.qa.match import exact_match, f1, sub_exact_match
from tripwright.evals.outside.qa.passages import Retriever
from tripwright.evals.outside.qa.questions import Question
from tripwright.evals.outside.qa.search import SearchTools
from tripwright.evals.outside.task import Grade, OutsideTask
from tripwright.tools.toolbox import Tools
from tripwright.transcript import Transcript


@dataclass(frozen=True)
class ExactMatch:
    golden_answers: tuple[str, ...]
    name: str = "exact match"

    @property
    def fact_names(self) -> tuple[str, ...]:
        return ("answered", "exact_match")

    def grade(self, transcript: Transcript) -> Grade:
        answer, gold, searches = transcript.answer, self.golden_answers, len(transcript.calls)
        if answer is None:
            matches = {"exact_match": False, "sub_exact_match": False, "f1": 0.0}
        else:
            matches = {
                "exact_match": exact_match(answer, gold),
                "sub_exact_match": sub_exact_match(answer, gold),
                "f1": f1(answer, gold),
            }
        facts = {"answered": answer is not None, "exact_match": bool(matches["exact_match"])}
        return Grade(facts, {**matches, "answered": answer is not None, "searches": searches})


@dataclass(frozen=True)
class SearchOf:
    """The tools of every episode over one retriever."""

    retriever: Retriever
    top_k: int

    def __call__(self, dialect: Dialect, emptied: bool) -> Tools:
        return SearchTools(self.retriever, dialect.face, self.top_k, emptied)


def question_tasks(
    questions: Sequence[Question], retriever: Retriever, dialect: SearchDialect, samples: int = 1
) -> list[OutsideTask]:
    """Ids are the set, the question's own id and the number of the sample, so that they survive
    interruptions."""
    tools = SearchOf(retriever, dialect.top_k)
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    return [_task(question, dialect, tools, end) for question in questions for end in ends]


def _task(question: Question, dialect: SearchDialect, tools: SearchOf, end: str) -> OutsideTask:
    name, gold = f"{question.set}/{question.id}", question.golden_answers
    asked = dialect.question_prompt.replace("{question}", question.text)
    query = Conversation(asked, fields={"text": question.text, "golden_answers": list(gold)})
    return OutsideTask(
        f"{name}{end}", query, f"qa/{question.set}", ExactMatch(gold), name, question.set, tools
    )
