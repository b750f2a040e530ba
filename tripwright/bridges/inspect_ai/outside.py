"""Benchmarks that are not about trips and that no kept library has, as Inspect's tasks: Natural
Plan (row P15) and STAR's questions with a Search tool (row S10). docs/out-of-domain.md has the
commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from tripwright.agent.session import Session
from tripwright.bridges.inspect_ai.solvers import EpisodeFault, chat_messages, converse, last_words
from tripwright.bridges.inspect_ai.tasks import in_one_line
from tripwright.errors import NotJson, UserError, described, read_json
from tripwright.evals.outside.natural_plan import KINDS, Kind
from tripwright.evals.outside.star_search import (
    DIALECT,
    PASSAGES,
    Question,
    WikipediaSearch,
    exact_match,
    read_questions,
)
from tripwright.llm.endpoint import is_address, shown_url
from tripwright.transcript import StopReason

BY_LEVEL = [grouped(accuracy(), "level"), stderr()]


@task
@in_one_line
def natural_plan(file: str, prompt: str = "5shot", answers: str | None = None) -> Task:
    """One of Natural Plan's three published files. `answers` names a field of the file, for
    instance "pred_5shot_pro", whose answers are scored in place of a model's (`--model none`)."""
    kind, examples = _examples(Path(file))
    texts = [f"prompt_{prompt}", *([answers] if answers else [])]
    for key, example in examples.items():
        for name in texts:
            if not isinstance(example.get(name), str):
                raise UserError(
                    f"'{file}', example '{key}': '{name}' should be a text, found"
                    f" {described(example.get(name))}."
                )
        try:
            kind.is_right("", example)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"'{file}', example '{key}': its golden plan cannot be read"
                f" ({type(error).__name__}: {error})."
            ) from None
    return Task(
        dataset=MemoryDataset(
            [
                Sample(
                    example[f"prompt_{prompt}"],
                    id=key,
                    metadata={"level": _level(kind, example), "example": example},
                )
                for key, example in examples.items()
            ],
            name=kind.name,
        ),
        solver=published(answers) if answers else generate(),
        scorer=natural_plan_match(kind.name),
        name=f"natural_plan_{kind.name}",
    )


def _examples(path: Path) -> tuple[Kind, dict[str, Any]]:
    files = "trip_planning.json, meeting_planning.json and calendar_scheduling.json"
    try:
        examples = read_json(path.read_bytes()) if path.is_file() else None
    except NotJson:
        examples = None
    if isinstance(examples, dict) and all(isinstance(each, dict) for each in examples.values()):
        for kind in KINDS:
            if examples and all(kind.mark in example for example in examples.values()):
                return kind, examples
    raise UserError(f"'{path}' is none of Natural Plan's files: expected {files}.")


def _level(kind: Kind, example: dict[str, Any]) -> str:
    """How hard it is, as the paper counts: "2 people, 1 days"."""
    return ", ".join(f"{example.get(name)} {name.removeprefix('num_')}" for name in kind.counts)


@solver
def published(field: str) -> Solver:
    """Says what the file holds. Calls no model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content(str(state.model), state.metadata["example"][field])
        return state

    return solve


@scorer(metrics=BY_LEVEL)
def natural_plan_match(kind: str) -> Scorer:
    """Correct by the published rules; where they raise, incorrect, and the exception is named."""
    is_right = next(each.is_right for each in KINDS if each.name == kind)

    async def judge(state: TaskState, target: Target) -> Score:
        answer, error = state.output.completion, None
        try:
            right = is_right(answer, state.metadata["example"])
        except Exception as raised:  # the published script ends here, for all examples
            right, error = False, f"the published script raises {type(raised).__name__} here"
        return Score(value=CORRECT if right else INCORRECT, answer=answer, explanation=error)

    return judge


@task
@in_one_line
def star_search(questions: str, retriever: str, passages: int = PASSAGES) -> Task:
    """FlashRAG's question sets under `questions`, with STAR's prompt and a Search tool over the
    server at `retriever`."""
    if not is_address(retriever):
        raise UserError(
            f"'{shown_url(retriever)}' is not a URL: expected one like http://localhost:8000."
        )
    by_id = {question.id: question for question in read_questions(Path(questions))}
    return Task(
        dataset=MemoryDataset(
            [
                Sample(
                    question.query,
                    id=question.id,
                    target=list(question.golden_answers),
                    metadata={"level": question.set},
                )
                for question in by_id.values()
            ],
            name="star_search",
        ),
        solver=searching(by_id, WikipediaSearch(retriever, passages)),
        scorer=answer_match(),
        fail_on_error=False,  # a dead server costs its samples, which eval-retry plays again
    )


@solver
def searching(by_id: dict[str, Question], tools: WikipediaSearch) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session = Session(by_id[str(state.sample_id)], tools, DIALECT)
        await converse(session, native_tools=False)
        transcript = session.transcript
        state.messages = chat_messages(transcript, "verbatim", tools.schemas)
        state.output = last_words(transcript, str(state.model))
        state.metadata["stop_reason"] = str(transcript.stop_reason)
        if transcript.stop_reason is StopReason.UNSCORED:
            raise EpisodeFault(transcript.fault or "unscored for an unknown reason")
        state.metadata["answer"] = transcript.answer
        return state

    return solve


@scorer(metrics=BY_LEVEL)
def answer_match() -> Scorer:
    async def judge(state: TaskState, target: Target) -> Score:
        answer = state.metadata["answer"]
        right = answer is not None and exact_match(answer, list(target))
        stopped = None if answer is not None else f"no answer: {state.metadata['stop_reason']}"
        return Score(value=CORRECT if right else INCORRECT, answer=answer, explanation=stopped)

    return judge
