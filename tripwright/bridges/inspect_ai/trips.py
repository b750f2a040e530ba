"""`inspect eval tripwright/trips`: a query file, played by Inspect's model in a world. Our verdicts
are Inspect's scores.

The dialect says of which domain the requests are. What is kept open for live tools is closed when
the process ends, because a task of Inspect has no end of its own.

A fault on our side raises, so that Inspect counts the sample as an error (not as a failure of the
agent, law 4) and `--retry-on-error` tries it again. The whole record of the episode goes into the
sample's store under `EPISODE`; a scorer reads nothing else. `final` says whether a sample passed,
with every fact in words; `facts` says it constraint by constraint. Its figures are
`score_records`' own: the same episodes have the same figures here and in a run folder's
score.json. They count every epoch as a sample of its query, so that intervals take whole queries,
as there.

What Inspect's model is sent is what `--policy endpoint` sends (`policies/endpoint.py`)."""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any

from anyio import to_thread
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # printed as one line, without a traceback
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ContentReasoning,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo
from pydantic import TypeAdapter

from tripwright.agent.chat import EstimatedTokens
from tripwright.agent.dialect import Dialect
from tripwright.bridges.gateway import EpisodeFault
from tripwright.domains import domain_of
from tripwright.domains.place import PlaceOptions
from tripwright.episode import Session, close_session, open_session
from tripwright.episode import Task as Trip
from tripwright.errors import UserError
from tripwright.evals.evaluate import open_tasks, read_requests, settled_rules
from tripwright.evals.outcome import Outcome
from tripwright.evals.run_card import queries_entry, run_card
from tripwright.evals.scoreboard import score_records
from tripwright.llm.client import Completion, RequestedCall
from tripwright.policies.endpoint import Notation, messages, notation, take
from tripwright.transcript import Transcript
from tripwright.verdict import State, Verdict


def chat_messages(
    transcript: Transcript,
    how: Notation,
    schemas: list[dict[str, Any]],
    context_from: int | None = None,
) -> list[ChatMessage]:
    """The conversation so far; `how` and `context_from` as in the endpoint policy."""
    return [_message(message) for message in messages(transcript, how, schemas, context_from)]


def tool_infos(schemas: Sequence[dict[str, Any]]) -> list[ToolInfo]:
    """JSON functions of OpenAI's format as Inspect hands them to a provider: the same, and closed
    (`additionalProperties` false), which providers need who read calls strictly."""
    return [ToolInfo.model_validate(schema["function"]) for schema in schemas]


def completion_of(output: ModelOutput) -> Completion:
    """What the model said, as our own client would say it: text, calls and reasoning, no token
    ids."""
    # of arguments that Inspect could not read, nothing is left
    calls = tuple(
        RequestedCall(
            call.id,
            call.function,
            "(no JSON)" if call.parse_error else json.dumps(call.arguments),
        )
        for call in output.message.tool_calls or ()
    )
    usage: dict[str, float] = {"uncounted_requests": 1}
    if (used := output.usage) is not None:
        usage = {"prompt_tokens": used.input_tokens, "completion_tokens": used.output_tokens}
    finish_reason = "length" if output.stop_reason == "max_tokens" else output.stop_reason
    content = output.message.content
    blocks = [] if isinstance(content, str) else content
    reasoning = "".join(block.reasoning for block in blocks if isinstance(block, ContentReasoning))
    return Completion(output.message.text, calls, finish_reason, usage, reasoning)


def _message(message: dict[str, Any]) -> ChatMessage:
    made = [(call["id"], call["function"]) for call in message.get("tool_calls", ())]
    calls = [
        {"id": id, "function": each["name"], "arguments": json.loads(each["arguments"])}
        for id, each in made
    ]
    return _MESSAGE.validate_python({**message, "tool_calls": calls} if calls else message)


_MESSAGE = TypeAdapter[ChatMessage](ChatMessage)
EPISODE = "episode"  # key in a sample's store: one line of transcripts.jsonl


@solver
def episode(
    tasks: Mapping[str, Trip], dialect: Dialect, native_tools: bool, samples: int
) -> Solver:
    """Inspect's model plays the sample's task to its end; its record is kept, of an episode without
    a verdict too, which is an error. `tasks` by sample id."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        trip = tasks[str(state.sample_id)]
        if samples > 1 or state.epoch > 1:  # named as `tripwright run --samples` names it
            trip = trip.renamed(f"{trip.id}-s{state.epoch - 1:02d}")
        session = open_session(trip, dialect)
        await converse(session, native_tools)
        finished = await to_thread.run_sync(close_session, session)
        state.store.set(EPISODE, json.loads(json.dumps(finished.record())))
        transcript = session.transcript
        turns = ["", *(each.text for each in transcript.segments if each.role == "assistant")]
        said = turns[-1] if transcript.answer is None else transcript.answer  # shown first
        state.messages = chat_messages(transcript, "native", [])
        state.output = ModelOutput.from_content(str(state.model), said)
        state.completed = True
        if finished.verdict is None:
            raise EpisodeFault(transcript.fault or "unscored for an unknown reason")
        return state

    return solve


async def converse(session: Session, native_tools: bool) -> None:
    """Inspect's model takes the turns; what its provider raises is Inspect's to handle."""
    schemas, model = session.tools.schemas, get_model()
    how = notation(session.dialect, native_tools)
    offered = tool_infos(schemas) if how == "native" else []
    session.count_with(EstimatedTokens(() if how == "verbatim" else schemas))
    while session.goes_on():
        output = await model.generate(
            chat_messages(session.transcript, how, schemas, session.context_from), tools=offered
        )
        completion = completion_of(output)
        if completion.finish_reason == "model_length":
            session.transcript.usage.update({"requests": 1, **completion.usage})
            session.overflow()
        else:  # in a thread, because a live tool may take seconds
            await to_thread.run_sync(take, session, completion)


@metric(scores="unreduced")
def figures() -> Metric:
    """T4's rates, pass^k and means as score.json has them, each with the ends of its interval; the
    final pass rate by level; and the share that passes each constraint among the episodes it
    applies to, which sum up to the micro rates."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        records = [score.score.metadata[EPISODE] for score in scores if score.score.metadata]
        score = score_records(records, "", {})
        levels = score.get("levels", {})
        of_levels = {f"final_{name}": metrics["final"] for name, metrics in levels.items()}
        found = {
            f"{name}{end}": estimate[key]
            for name, estimate in {**score["metrics"], **of_levels}.items()
            for end, key in (("", "value"), ("_low", "low"), ("_high", "high"))
        }
        found |= {name: estimate["value"] for name, estimate in score["constraints"].items()}
        return {name: value for name, value in found.items() if value is not None}

    return measure


def of_episodes(score: Callable[[dict[str, Any]], Score]) -> Scorer:
    """By the sample's episode, where it has one that was judged."""

    async def judge(state: TaskState, target: Target) -> Score:
        record = state.store.get(EPISODE)
        if record is None or record["verdict"] is None:
            return Score.unscored(
                reason="scoring_failed",
                explanation="no episode to judge: it did not end, because of a limit of Inspect's"
                " or because another solver played",
            )
        return score(record)

    return judge


@scorer(metrics=[accuracy(), stderr()])
def final() -> Scorer:
    """Correct where every fact passes; the explanation names those that do not."""

    def score(record: dict[str, Any]) -> Score:
        transcript, plan = record["transcript"], record.get("plan")
        verdict = Verdict.from_record(record["verdict"])
        return Score(
            value=CORRECT if verdict.final else INCORRECT,
            answer=(
                json.dumps(plan, ensure_ascii=False) if plan is not None else transcript["answer"]
            ),
            explanation=explained(record),
            metadata={"stop_reason": transcript["stop_reason"], **verdict.details},
        )

    return of_episodes(score)


@scorer(metrics=[figures()])
def facts() -> Scorer:
    """1 or 0 for every constraint that the episode is held to; what was not evaluated did not
    pass."""

    def score(record: dict[str, Any]) -> Score:
        outcome = Outcome.of(record)
        value: dict[str, str | int | float | bool | None] = {
            "delivered": int(outcome.delivered),
            "schema": int(outcome.schema_valid),
            **{name: int(name in outcome.passed) for name in outcome.asked},
        }
        return Score(
            value=value, explanation=explained(record), metadata={EPISODE: without_words(record)}
        )

    return of_episodes(score)


def explained(record: Mapping[str, Any]) -> str:
    """One line per fact that did not pass: its group, its name, its state and why."""
    verdict = Verdict.from_record(record["verdict"])
    lines = [f"Stopped by: {record['transcript']['stop_reason']}."]
    if verdict.error:
        lines.append(f"The rules raised {verdict.error} on this answer.")
    for group in verdict.groups:
        if group.facts is None:
            lines.append(f"{group.name}: not looked at.")
        for fact in (group.facts or {}).values():
            if fact.state in (State.FAILED, State.NOT_EVALUATED):
                state = fact.state.replace("_", " ")
                lines.append(f"{group.name} {fact.name}: {state}. {fact.message or ''}".strip())
    return "\n".join([*lines, "Every fact passed."] if verdict.final else lines)


def without_words(record: Mapping[str, Any]) -> dict[str, Any]:
    """What `score_records` reads of a record. Words and tokens are in the sample already; of a
    turn's mask its sum is kept, the number of sampled tokens."""
    transcript = record["transcript"]
    segments = [
        {"role": segment["role"], "loss_mask": [sum(segment.get("loss_mask") or ())]}
        for segment in transcript["segments"]
    ]
    outcome = {name: transcript.get(name) for name in ("stop_reason", "fault", "usage")}
    return {**record, "transcript": {**outcome, "segments": segments}}


def in_one_line(make: Callable[..., Task]) -> Callable[..., Task]:
    """A user's mistake as Inspect prints one."""

    @wraps(make)
    def made(*args: Any, **named: Any) -> Task:
        try:
            return make(*args, **named)
        except UserError as error:
            raise PrerequisiteError(str(error)) from None

    return made


@task
@in_one_line
def trips(
    queries: str,
    world: str | None = None,
    dialect: str = "planner_r1",
    rules: str | None = None,
    samples: int = 1,
    native_tools: bool = True,
    services: str | None = None,
    store: str | None = None,
    snapshot: str | None = None,
    replay: bool = False,
) -> Task:
    """Trip requests for Inspect's model to plan with tools, judged as `tripwright run` judges them.
    The parameters are that command's options."""
    spoken, asked = read_requests(queries, dialect)
    judged_by = settled_rules(spoken, rules)
    folder, file = (Path(each) if each else None for each in (world, services))
    opened = ExitStack()
    atexit.register(opened.close)
    options = PlaceOptions(folder, file, store, snapshot, replay)
    place = opened.enter_context(domain_of(spoken).open(options))
    tasks = open_tasks(asked, place, spoken, judged_by, path=Path(queries))
    asked_for, player = queries_entry(Path(queries)), {"kind": "inspect"}
    card = run_card(player, {}, spoken, judged_by, asked_for, place.identity, samples)
    return Task(
        dataset=MemoryDataset(
            [_sample(each) for each in tasks],
            name=Path(queries).stem,
        ),
        solver=episode({each.id: each for each in tasks}, spoken, native_tools, samples),
        scorer=[final(), facts()],
        epochs=samples,
        # a dead endpoint costs its samples, which --retry-on-error or eval-retry play again
        fail_on_error=False,
        config=GenerateConfig(max_tokens=spoken.max_turn_tokens),
        metadata={"run_card": card},
    )


def _sample(trip: Trip) -> Sample:
    request = trip.request.record()
    about = {"level": request.get("level"), "domain": trip.domain, "request": request}
    return Sample(input=request["query"], id=trip.id, metadata=about)
