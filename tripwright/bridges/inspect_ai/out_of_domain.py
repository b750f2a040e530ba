"""Natural Plan (row P15) and STAR's question answering (row S10) as tasks of Inspect. No kept
library has these benchmarks; docs/out-of-domain.md has the commands.

**Natural Plan** asks whether an answer is right as the published scripts count it. The rules are
those of google-deepmind/natural-plan, `evaluate_*.py`, with what they overlook, because published
figures are theirs:

- trip: cities and days, in order. Flights in a thought count like all others, nothing is read after
  the first span of days that ends on the last day, and cities after the right ones do not matter.
- meeting: as many valid meetings as in the golden plan, by a clock of its own. Times in the answer
  are not read, but for "wait until"; the first step that does not fit ends the plan.
- calendar: the first "Word, H:MM - H:MM". Minutes other than 30 are read as 00.

Where a published script ends with an exception (an unknown place, a sentence that breaks off), the
same exception is raised here.

**STAR's questions** have its printed prompt, one Search tool and exact match. The prompt is that of
Appendix E, word for word (the "final itinerary" in it, too); the question is the user's first
message. The limits are those of Appendix C.3: five passages a search, 60 calls, 32K tokens; a
context that overflows, a spent budget and a missing answer are failures. How a search shows its
passages is not printed, and they are written as Search-R1 writes them. The tool's schema is not
printed either.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

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

from tripwright.agent.dialect import TOOLS, Dialect
from tripwright.agent.turn import TurnFormat
from tripwright.bridges.inspect_ai.trips import episode, final, in_one_line
from tripwright.episode import Asked, Episode, TaskDefaults
from tripwright.errors import UserError, object_or_none
from tripwright.files import json_lines
from tripwright.llm.endpoint import Endpoint, Fault
from tripwright.tools.answer import ToolError, defused
from tripwright.tools.face import Face, Pieces, Refusal, ToolResult
from tripwright.tools.signatures import Core
from tripwright.tools.toolbox import AnswerBox, ToolHostDown
from tripwright.transcript import Transcript
from tripwright.verdict import Group, Verdict, facts_of, format_group

Example = Mapping[str, Any]

# ---- Natural Plan: trips


def trip_is_right(answer: str, example: Example) -> bool:
    cities = [city for city in example["cities"].split("**") if city]
    days = [int(each) for each in example["durations"].split("**") if each]
    golden = list(zip(cities, days, strict=True))
    return stays(answer)[: len(golden)] == golden


def stays(answer: str) -> list[tuple[str, int]]:
    """(city, days) in order: a stay is from one flight to the next, both days counted. Empty where
    no span of days or no flight is named."""
    total_days, spans = None, list[str]()
    flights = list[tuple[int, str, str]]()
    for line in answer.split("\n"):
        if total := re.search(r"European cities for (\d+) days", line):
            total_days = int(total[1])
        if span := re.search(r"(?<!\d)\d+-\d+", line):
            spans.append(span[0])
            if _last_day(span[0]) == total_days:
                break
        if flight := _last_flight(line):
            flights.append(flight)
    if not spans or not flights:
        return []
    turns = [1, *(day for day, _, _ in flights), _last_day(spans[-1])]
    cities = [flights[0][1], *(to for _, _, to in flights)]
    return [
        (city, end - start + 1) for city, (start, end) in zip(cities, pairwise(turns), strict=True)
    ]


def _last_day(span: str) -> int:
    return int(span.split("-")[1])


def _last_flight(line: str) -> tuple[int, str, str] | None:
    r"""(day, from, to) as `.*Day (\d+).*from (\w+) to (\w+)` finds them: the last way of the line,
    and the last day before it. As one pattern, a line of a model that loops takes hours."""
    *_, way = [None, *re.finditer(r"(?=from (\w+) to (\w+))", line)]
    *_, day = [None, *re.finditer(r"Day (\d+)", line[: way.start()] if way else "")]
    return (int(day[1]), way[1], way[2]) if way and day else None


# ---- Natural Plan: meetings


class Friend(NamedTuple):
    place: str
    start: datetime
    end: datetime
    minutes: float


def meeting_is_right(answer: str, example: Example) -> bool:
    _, solution, plan = answer.partition("SOLUTION:")
    steps = [step.strip() for step in (plan if solution else answer).split(".")]
    golden = meetings_held(example["golden_plan"], example)
    return meetings_held([step for step in steps if step], example) == golden


def meetings_held(steps: Sequence[str], example: Example) -> int:
    """How many take place before the first step that does not fit."""
    (place, start), *others = example["constraints"]
    friends = {}
    for name, where, hours, minutes in others:
        begin, end = (_clock(time.strip()) for time in hours.split("to"))
        friends[name] = Friend(where, begin, end, minutes)
    now, met = _clock(start), list[str]()
    for step in steps:
        try:
            if step.startswith("You start"):
                continue
            if step.startswith("You travel"):
                to = step.split("travel to ")[1].split(" in")[0].strip()
                now += timedelta(minutes=example["dist_matrix"][place][to])
                place = to
            elif step.startswith("You wait"):
                until = _clock(step.split("wait until ")[1].split(".")[0].strip())
                if until <= now:
                    break
                now = until
            elif step.startswith("You meet"):
                name = step.split("meet ")[1].split(" for")[0].strip()
                if name in met:
                    break
                friend = friends[name]
                end = now + timedelta(minutes=friend.minutes)
                if place != friend.place or now < friend.start or end > friend.end:
                    break
                now = end
                met.append(name)
            else:
                break
        except ValueError:  # a time that cannot be read
            break
    return len(met)


def _clock(time: str) -> datetime:
    """ "9:05AM" """
    return datetime.strptime(time, "%I:%M%p")


# ---- Natural Plan: calendars


def calendar_is_right(answer: str, example: Example) -> bool:
    return first_slot(answer) == first_slot(example["golden_plan"])


def first_slot(text: str) -> tuple[str, float, float] | None:
    """(day, start, end) in hours."""
    slot = re.search(r"(?<![A-Za-z])([A-Za-z]+), (\d+):(\d+) - (\d+):(\d+)", text, re.ASCII)
    if slot is None:
        return None
    day, start, start_minute, end, end_minute = slot.groups()
    return day, _half_hours(start, start_minute), _half_hours(end, end_minute)


def _half_hours(hour: str, minute: str) -> float:
    return float(hour) + (0.5 if minute == "30" else 0.0)


# ---- Natural Plan: the three files


class Kind(NamedTuple):
    """One of the published files: known by its field `mark`; `counts` say how hard an example
    is."""

    mark: str
    counts: tuple[str, ...]
    is_right: Callable[[str, Example], bool]


KINDS = {
    "trip": Kind("durations", ("num_cities",), trip_is_right),
    "meeting": Kind("dist_matrix", ("num_people",), meeting_is_right),
    "calendar": Kind("num_days", ("num_people", "num_days"), calendar_is_right),
}


@task
@in_one_line
def natural_plan(file: str, prompt: str = "5shot", answers: str | None = None) -> Task:
    """One of Natural Plan's three published files. `answers` names a field of the file, for
    instance "pred_5shot_pro", whose answers are scored in place of a model's (`--model none`)."""
    name, examples = _examples(Path(file))
    kind = KINDS[name]
    texts = [f"prompt_{prompt}", *([answers] if answers else [])]
    samples = []
    for key, example in examples.items():
        try:
            kind.is_right("", example)
            if not all(isinstance(example[name], str) for name in texts):
                raise TypeError(f"{' or '.join(texts)} is no text")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"'{file}', example '{key}' cannot be read ({type(error).__name__}: {error})."
            ) from None
        # how hard it is, as the paper counts: "2 people, 1 days"
        counts = (f"{example.get(count)} {count.removeprefix('num_')}" for count in kind.counts)
        about = {"level": ", ".join(counts), "example": example}
        samples.append(Sample(example[f"prompt_{prompt}"], id=key, metadata=about))
    return Task(
        dataset=MemoryDataset(samples, name=name),
        solver=published(answers) if answers else generate(),
        scorer=natural_plan_match(name),
        name=f"natural_plan_{name}",
    )


def _examples(path: Path) -> tuple[str, dict[str, Any]]:
    files = "trip_planning.json, meeting_planning.json and calendar_scheduling.json"
    examples = object_or_none(path.read_bytes()) if path.is_file() else None
    if examples and all(isinstance(each, dict) for each in examples.values()):
        for name, kind in KINDS.items():
            if all(kind.mark in example for example in examples.values()):
                return name, examples
    raise UserError(f"'{path}' is none of Natural Plan's files: expected {files}.")


@solver
def published(field: str) -> Solver:
    """Says what the file holds. Calls no model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content(str(state.model), state.metadata["example"][field])
        return state

    return solve


@scorer(metrics=[grouped(accuracy(), "level"), stderr()])
def natural_plan_match(kind: str) -> Scorer:
    """Correct by the published rules; where they raise, incorrect, and the exception is named."""

    async def judge(state: TaskState, target: Target) -> Score:
        answer, error = state.output.completion, None
        try:
            right = KINDS[kind].is_right(answer, state.metadata["example"])
        except Exception as raised:  # the published script ends here, for all examples
            right, error = False, f"the published script raises {type(raised).__name__} here"
        return Score(value=CORRECT if right else INCORRECT, answer=answer, explanation=error)

    return judge


# ---- STAR's questions

PROMPT = f"""You are a specialized AI Search Assistant designed to answer questions by systematically retrieving and synthesizing \
information from a comprehensive knowledge base.

Critical Format Requirements:
- Each response must follow EXACTLY one of these two patterns:
<think> thinking process </think> <tool_call> {{"name": "tool_name", "arguments": {{...}}}} </tool_call>
<think> thinking process </think> <answer> final answer </answer>
- You can have **ONLY ONE** <think> and **ONE** <tool_call> per response
- **NEVER** combine multiple tool calls in a single response
- After gathering all information, provide the final answer using pattern 2. The final itinerary must be wrapped in **CLOSED** <answer> \
tags.

Available Tools:
{TOOLS}

Task Guidelines:
- **Maintain Search Agent Identity:** You are a Search Assistant. Your core mission is to understand the user's question thoroughly, and \
then identify all information gaps that need to be filled. After systematically gathering relevant information using the Search tool, \
synthesize accurate, comprehensive answers from retrieved information.
- **Single Tool Call Discipline:** For each piece of required information, use exactly one tool and invoke it with a single <tool_call> \
</tool_call> sequence. Do not combine or chain multiple tool calls in a single response.
- **Absolute Trust in Tool Output:** Treat all tool outputs as authoritative and complete. Do not guess, assume, or fabricate any details \
beyond what the tool provides.
- **Synthesize Grounded Answers:** After gathering all required information, provide your thinking process in <think> </think> tags. \
Deliver a **CLEAR** and **CONCISE** final answer within <answer> </answer> tags. Ensure your answer directly addresses the user's question.

Example Response Format:
<think> I need to search for Leonardo DiCaprio's 1997 film. Let me retrieve information about his filmography from that year. </think>
<tool_call>
{{"name": "Search", "arguments": {{"query": "Leonardo DiCaprio 1997 film"}}}}
</tool_call>

Now begin the conversation with the user."""  # noqa: E501

PASSAGES = 5  # a search shows


class WikipediaServer(Endpoint):
    """With Search-R1's `POST /retrieve`."""

    answer = "list of passages"


class WikipediaSearch(Core):
    """The one tool, over a server that may be named with its path. What goes wrong with the server
    is tried again and then our side's fault."""

    def __init__(self, url: str, passages: int = PASSAGES):
        self._server = WikipediaServer(
            url.rstrip("/").removesuffix("/retrieve"), api_key_env="RETRIEVER_API_KEY"
        )
        self._passages = passages

    def Search(self, query: str) -> str:
        """Search Wikipedia. Returns the passages that match best, the best first.

        Args:
            query: What to search for.
        """
        if not query.strip():
            raise ToolError("query must be words to search for.", "missing_argument")
        body = {"queries": [query], "topk": self._passages, "return_scores": True}
        reply = self._server.ask("/retrieve", body, self._shown)
        if isinstance(reply, Fault):
            raise ToolHostDown(reply.message)
        return reply.value

    def _shown(self, answer: Any) -> str:
        (found,) = answer["result"]
        contents = [each["document"]["contents"].partition("\n") for each in found]
        return "\n".join(
            f"Doc {number}(Title: {defused(title)}) {defused(text)}"
            for number, (title, _, text) in enumerate(contents[: self._passages], start=1)
        )


def _written(face: Face, result: ToolResult) -> Pieces:
    if isinstance(result, Refusal):
        return Pieces(f"Error: {result.problem}")
    return Pieces(result or "No passage matches.")


FACE = Face("star_search", _written, tables={}, core=WikipediaSearch)
DIALECT = Dialect(
    "star_search",
    PROMPT,
    face=FACE,
    plan_format="text",
    tools_in_prompt=False,  # the prompt itself lists it
    max_turns=61,  # 60 calls and the answer
    max_calls=60,
    context_tokens=32 * 1024,
    on_repeated="answer",
    turns=TurnFormat(least_thoughts=1, words_outside=False),
)

SETS = ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")
SPLITS = ("test", "dev")  # the later three sets have no answers to their test questions


@dataclass(frozen=True)
class Question(TaskDefaults):
    """One question as an episode, judged by exact match with any of the golden answers."""

    id: str
    query: str
    golden: tuple[str, ...]
    box: AnswerBox
    domain = where = "star_search"

    @property
    def request(self) -> Question:
        return self

    def record(self) -> dict[str, Any]:
        return {"query": self.query}

    def tools(self, dialect: Dialect, emptied: bool) -> AnswerBox:
        return self.box

    def judged(self, transcript: Transcript, plan_format: str) -> Episode:
        said = transcript.answer
        right = said is not None and exact_match(said, self.golden)
        answered = format_group(f"no answer: {transcript.stop_reason}" if said is None else None)
        facts = facts_of(exact_match=(right, f"expected {' or '.join(self.golden)}"))
        groups = answered, Group("answer", tuple(facts), facts)
        return Episode(self, transcript, Verdict("exact match", groups, right, said is not None))

    def asked(self, transcript: Transcript) -> Asked:
        return {"answer": ("exact_match",)}


def read_questions(folder: Path) -> list[Sample]:
    """Of the sets that are there, in FlashRAG's layout: FOLDER/nq/test.jsonl with {"id",
    "question", "golden_answers"} per line. Raises UserError."""
    files = {
        name: path
        for name in SETS
        for split in reversed(SPLITS)
        if (path := folder / name / f"{split}.jsonl").is_file()
    }
    if not files:
        raise UserError(
            f"'{folder}' holds none of the sets {', '.join(SETS)}: expected FlashRAG's layout,"
            f" {folder}/nq/test.jsonl and so on."
        )
    return [
        _question(name, record, f"{path}:{number}")
        for name, path in files.items()
        for number, record in json_lines(path)
    ]


def _question(name: str, record: Any, where: str) -> Sample:
    try:
        text, answers = record["question"].strip().rstrip("?") + "?", record["golden_answers"]
        if not answers or not all(isinstance(answer, str) for answer in answers):
            raise TypeError
        id = f"{name}/{record['id']}"
        return Sample(text, target=answers, id=id, metadata={"level": name})
    except (KeyError, TypeError, AttributeError):
        raise UserError(
            f'{where}: expected {{"id": …, "question": "…", "golden_answers": ["…"]}}, as FlashRAG'
            " has it."
        ) from None


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def exact_match(answer: str, golden: Sequence[str]) -> bool:
    """As Search-R1's `qa_em.py` compares: lower case, no ASCII punctuation, no articles, single
    blanks. (Inspect's `exact` splits at hyphens and reads numbers, and is kinder.)"""

    def normalised(text: str) -> str:
        bare = text.lower().translate(_NO_PUNCTUATION)
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())

    return normalised(answer) in map(normalised, golden)


@task
@in_one_line
def star_search(questions: str, retriever: str, passages: int = PASSAGES) -> Task:
    """FlashRAG's question sets under `questions`, with STAR's prompt and a Search tool over the
    server at `retriever`."""
    samples = read_questions(Path(questions))
    box = AnswerBox(WikipediaSearch(retriever, passages), FACE)
    asked = {
        str(each.id): Question(str(each.id), str(each.input), tuple(each.target), box)
        for each in samples
    }
    return Task(
        dataset=MemoryDataset(samples, name="star_search"),
        solver=episode(asked, DIALECT, native_tools=False, samples=1),
        scorer=answer_match(),
        fail_on_error=False,  # a dead server costs its samples, which eval-retry plays again
    )


@scorer(metrics=[grouped(accuracy(), "level"), stderr()])
def answer_match() -> Scorer:
    """By the question's own verdict."""
    return final()
