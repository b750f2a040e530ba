"""Natural Plan (row P15) as a task of Inspect, which runs a file by its path; no kept library has
this benchmark. docs/out-of-domain.md has the commands:

    inspect eval examples/natural_plan.py -T file=data/trip_planning.json --model …

An answer is right as the published scripts count it. The rules are those of
google-deepmind/natural-plan, `evaluate_*.py`, with what they overlook, because published figures
are theirs:

- trip: cities and days, in order. Flights in a thought count like all others, nothing is read after
  the first span of days that ends on the last day, and cities after the right ones do not matter.
- meeting: as many valid meetings as in the golden plan, by a clock of its own. Times in the answer
  are not read, but for "wait until"; the first step that does not fit ends the plan.
- calendar: the first "Word, H:MM - H:MM". Minutes other than 30 are read as 00.

Where a published script ends with an exception (an unknown place, a sentence that breaks off), the
same exception is raised here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # printed as one line, without a traceback
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

Example = Mapping[str, Any]

# ---- trips


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


# ---- meetings


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


# ---- calendars


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


# ---- the three files


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
            raise PrerequisiteError(
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
    try:
        examples = json.loads(path.read_bytes())
        for name, kind in KINDS.items():
            if examples and all(kind.mark in example for example in examples.values()):
                return name, examples
    except (OSError, ValueError, TypeError, AttributeError):
        pass
    raise PrerequisiteError(f"'{path}' is none of Natural Plan's files: expected {files}.")


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
