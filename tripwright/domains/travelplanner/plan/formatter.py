"""Itineraries in words → plans, by an LLM behind an endpoint (STAR, Appendix E; row S2): of a file,
or of what an agent answered, before it is judged. The deterministic way is `plan.itinerary`.

Whose fault was it? A service that is dead, or that writes a name which the itinerary does
not hold, is our side's failure, and the itinerary is unscored; a text from which no plan can be
read, though the service answered, has failed. The check of names matters: a formatter that mends a
misspelt hotel would pass a plan that the agent never wrote.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from annotated_types import Ge

from tripwright.domains.judging import JudgingSettings
from tripwright.domains.travelplanner.plan.itinerary import FormattedPlan, read_route
from tripwright.domains.travelplanner.plan.parse import CLOSE, OPEN, extract_answer
from tripwright.domains.travelplanner.plan.plan import MEALS, OFFICIAL_FIELDS, CityOf, PlaceKind
from tripwright.domains.travelplanner.query import Query
from tripwright.llm.client import ChatEndpoint, Completion, Fault
from tripwright.llm.endpoint import MOST_FAULTS, map_unordered
from tripwright.llm.paid_calls import JudgementLog

TOLD: dict[str, str] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)

Key = TypeVar("Key")


@dataclass(frozen=True)
class FormatterSettings(JudgingSettings):
    """The formatter of row S2 within an episode: it reads what an agent answered in words."""

    temperature: Annotated[float, Ge(0)] | None = 0.0


class Formatter:
    """The model that reads itineraries in the episodes of a run. What it has read is kept."""

    def __init__(self, settings: FormatterSettings, log: JudgementLog):
        self.settings, self.log, self._endpoint = settings, log, settings.endpoint()
        self.name = f"formatter:{settings.model}"

    def read(self, query: Query, text: str, city_of: CityOf) -> FormattedPlan:
        """As `format_itinerary`. Raises CostLimitReached too."""
        question = [self.settings.model, self.settings.temperature, messages(query, text)]
        key = hashlib.sha256(json.dumps(question).encode()).hexdigest()[:24]
        if (line := self.log.votes(key).get(1)) is not None:
            formatted = FormattedPlan(**line["judged"])
        else:
            self.log.check_cost()
            usage = Counter[str]()
            formatted = _formatted(self._endpoint, query, text, usage)
            line = {"key": key, "vote": 1, "model": self.settings.model, "usage": usage}
            if formatted.unscored:
                line |= {"judged": None, "fault": formatted.problem}
            else:
                line |= {"judged": {"plan": formatted.plan, "problem": formatted.problem}}
            self.log.add(line)
        return _in_cities(formatted, city_of)


def format_itinerary(
    endpoint: ChatEndpoint, query: Query, text: str, city_of: CityOf | None = None
) -> FormattedPlan:
    """A name that the formatter made up is pointed out to it once. `city_of` gives a city to a
    place written without one.

    Raises UserError for what can never work (a wrong key, an unknown model).
    """
    formatted = _formatted(endpoint, query, text, Counter())
    return _in_cities(formatted, city_of) if city_of else formatted


def _formatted(
    endpoint: ChatEndpoint, query: Query, text: str, usage: Counter[str]
) -> FormattedPlan:
    """`usage` is counted up by what was asked."""
    itinerary = extract_answer(text) if OPEN in text or CLOSE in text else text
    if itinerary is None:
        return FormattedPlan(None, f"the last {OPEN} block is not complete")
    if not itinerary.strip():
        return FormattedPlan(None, "there is no itinerary")
    conversation = messages(query, itinerary)
    outcome = _asked(endpoint, conversation, usage)
    formatted, invented = _understood(outcome, itinerary)
    if invented and isinstance(outcome, Completion):
        correction = f"{invented} is not in the itinerary. Answer again, each name exactly as the itinerary spells it."
        again = [
            {"role": "assistant", "content": outcome.text},
            {"role": "user", "content": correction},
        ]
        outcome = _asked(endpoint, [*conversation, *again], usage)
        formatted, invented = _understood(outcome, itinerary)
    if invented:
        problem = f"the formatter wrote {invented}, which the itinerary does not say"
        return FormattedPlan(None, problem, unscored=True)
    return formatted


def _asked(
    endpoint: ChatEndpoint, conversation: list[dict[str, str]], usage: Counter[str]
) -> Completion | Fault:
    outcome = endpoint.complete(conversation)
    if isinstance(outcome, Completion):
        usage.update(outcome.usage)
    return outcome


def _in_cities(formatted: FormattedPlan, city_of: CityOf) -> FormattedPlan:
    if not formatted.plan:
        return formatted
    return FormattedPlan([_with_cities(day, city_of) for day in formatted.plan])


def _understood(outcome: Completion | Fault, text: str) -> tuple[FormattedPlan, str]:
    """(what the formatter gave, the first name that it made up)"""
    if isinstance(outcome, Completion):
        formatted = read_answer(outcome)
        return formatted, _invented(formatted.plan or [], text)
    if outcome.kind == "context_overflow":
        problem = "the itinerary is longer than the formatter's model can read"
        return FormattedPlan(None, problem), ""
    problem = f"{outcome.kind} after {outcome.attempts} attempts: {outcome.message}"
    return FormattedPlan(None, problem, unscored=True), ""


def messages(query: Query, text: str) -> list[dict[str, str]]:
    asked = query.query or f"{query.org} to {query.dest}, {query.days} days"
    prompt = TOLD["prompt"].format(examples=TOLD["example"], query=asked, text=text)
    return [{"role": "user", "content": prompt.encode("utf-8", "replace").decode()}]


def read_answer(completion: Completion) -> FormattedPlan:
    """The plan in the formatter's answer, whatever fences or thoughts surround the array."""
    if completion.finish_reason == "length":
        problem = "the formatter's answer was cut off: the itinerary is too long for its limit"
        return FormattedPlan(None, f"{problem} of tokens")
    text = completion.text.rpartition("</think>")[2]
    start, end = text.find("["), text.rfind("]")
    try:
        days = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        days = None
    if not isinstance(days, list):
        return FormattedPlan(None, "the formatter answered with something other than a JSON array")
    if not days:
        return FormattedPlan(None, "the formatter found no day-by-day itinerary in the text")
    plan = []
    for number, day in enumerate(days, start=1):
        if wrong := _problem(day, number):
            return FormattedPlan(None, f"the formatter's day {number} {wrong}")
        fields = {field: day[field].strip() or "-" for field in OFFICIAL_FIELDS}
        plan.append({"days": number, **fields})
    return FormattedPlan(plan)


def _problem(day: Any, number: int) -> str | None:
    if not isinstance(day, dict):
        return "is no object"
    if (counted := day.get("days", day.get("day"))) not in (number, str(number)):
        return f"has another number ({ascii(counted)[:20]})"
    lacking = (field for field in OFFICIAL_FIELDS if not isinstance(day.get(field), str))
    return next((f"has no text for '{field}'" for field in lacking), None)


def _invented(plan: list[dict[str, Any]], text: str) -> str:
    """The first name or flight number that the itinerary does not hold, letters and digits
    compared; empty if there is none."""
    letters = _letters(text)
    for day in plan:
        pieces = [day[field] for field in (*MEALS, "accommodation")] + day["attraction"].split(";")
        names = [
            piece.rpartition(",")[0] or piece for piece in pieces if piece.strip() not in ("", "-")
        ]
        names += re.findall(r"Flight Number: ([^,]+)", day["transportation"])
        for name in names:
            if _letters(name) not in letters:
                return f"'{' '.join(name.split())[:80]}'"
    return ""


def _with_cities(day: dict[str, Any], city_of: CityOf) -> dict[str, Any]:
    """Where the whole text of a place is its name in the world, its city is added; everything else
    stays as written."""
    route = read_route(day["current_city"]) if day["current_city"].startswith("from ") else None
    cities = [route[1], route[0]] if route else [day["current_city"]]

    def placed(kind: PlaceKind, name: str) -> str:
        city = city_of(kind, name, cities)
        return f"{name}, {city}" if city else name

    sights = ";".join(
        placed("attraction", sight.strip()) if sight.strip() else sight
        for sight in day["attraction"].split(";")
    )
    meals: dict[str, str] = {meal: placed("restaurant", day[meal]) for meal in MEALS}
    return {
        **day,
        **meals,
        "attraction": sights,
        "accommodation": placed("accommodation", day["accommodation"]),
    }


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def format_all(
    endpoint: ChatEndpoint,
    requests: Iterable[tuple[Key, Query, str]],
    concurrency: int = 8,
    city_of: CityOf | None = None,
) -> Iterator[tuple[Key, FormattedPlan]]:
    """In the order they finish, `concurrency` at once. After MOST_FAULTS faults in a row the rest
    is unscored without asking."""
    waiting, faults = iter(requests), 0

    def while_it_lives() -> Iterator[tuple[Key, Query, str]]:
        while faults < MOST_FAULTS and (each := next(waiting, None)) is not None:
            yield each

    def work(each: tuple[Key, Query, str]) -> tuple[Key, FormattedPlan]:
        key, query, text = each
        return key, format_itinerary(endpoint, query, text, city_of)

    for key, formatted in map_unordered(work, while_it_lives(), concurrency):
        faults = faults + 1 if formatted.unscored else 0
        yield key, formatted
    problem = f"not asked: {MOST_FAULTS} itineraries in a row had failed"
    for key, _, _ in waiting:
        yield key, FormattedPlan(None, problem, unscored=True)
