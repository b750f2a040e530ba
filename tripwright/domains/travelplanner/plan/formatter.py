"""Itineraries in words → plans, by an LLM behind an endpoint (STAR, Appendix E; row S2): of a file,
or of what an agent answered, before it is judged. The deterministic way is `plan.itinerary`.

Whose fault was it? A service that is dead is our side's failure, and the itinerary is unscored; a
text from which no plan can be read, though the service answered, has failed, as in STAR's pipeline.
So has one for which it writes a name that the itinerary does not hold: a formatter that mends a
misspelt hotel would pass a plan that the agent never wrote, and an episode left out for such a name
would spare a vague plan its 0.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from annotated_types import Ge

from tripwright.domains.judging import JudgingSettings
from tripwright.domains.travelplanner.plan.itinerary import FormattedPlan, read_route
from tripwright.domains.travelplanner.plan.parse import INCOMPLETE, extract_answer
from tripwright.domains.travelplanner.plan.plan import (
    MEALS,
    NOTHING,
    OFFICIAL_FIELDS,
    CityOf,
    PlaceKind,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.strict_reading import folded
from tripwright.domains.travelplanner.ungrounded import names_of
from tripwright.llm.client import ChatEndpoint, Completion, Fault
from tripwright.llm.endpoint import Breaker, map_unordered
from tripwright.llm.paid_calls import JudgementLog
from tripwright.world.records import LONGEST_NAME

# STAR, Appendix E, "Prompt for Formatting Planning", as printed but for its examples, which are not.
PROMPT = """Please assist me in extracting valid information from a given natural language text and reconstructing it in JSON format, as demonstrated in the following example.

Important: You must output **ONLY** valid JSON format. Do not include any explanatory text, markdown code blocks, or additional formatting.

Guidelines:

- Each item should include ['day', 'current_city', 'transportation', 'breakfast', 'attraction', 'lunch', 'dinner', 'accommodation']. Replace non-specific information like 'eat at home/on the road' with '-'. Additionally, delete any '$' symbols.
- Transportation: If transportation details indicate a journey from one city to another (e.g., from A to B), the 'current_city' should be updated to the destination city (in this case, B). If there's information about transportation, ensure that the 'current_city' aligns with the destination mentioned in the transportation details (i.e., the current city should follow the format 'from A to B'). Also, ensure that all flight numbers and costs are followed by a colon (i.e., 'Flight Number:' and 'Cost:'), consistent with the provided example. For the 'driving' or 'drive' mode, unless otherwise specified, always use 'Self-driving' consistently.
- Attraction: Use a ';' to separate different attractions, with each attraction strictly formatted as 'Name, City'.
- Day: start from 1.

Output Format:

Return **ONLY** the JSON array, nothing else.

Examples: {examples}

Now please help me extract valid information from the following text and reconstruct it in a strict JSON format. Your response must be **ONLY** the JSON array. Do not include any markdown code blocks, explanatory text, or other formatting. Just the raw JSON array starting with [and ending with].

Original user query: {query}

Planning text: {text}"""

EXAMPLE_TEXT = """Day 1: drive from Oldport to Millbrook (about 2 hours 5 mins, 200 km, $10). Dinner at **The Green Door**, then check into
[Loft by the river] for two nights.
Day 2: breakfast at Corner Bakery, a visit to the **Clock Museum** and **Mill Park**, lunch at Noodle House; dinner on the way.
Day 3: fly home, Millbrook to Oldport, flight F7654321, 18:05 to 19:00."""

EXAMPLE_ANSWER = """\
[{"day": 1, "current_city": "from Oldport to Millbrook", "transportation": "Self-driving, from Oldport to Millbrook, duration: 2 hours 5 mins, distance: 200 km, cost: 10", "breakfast": "-", "attraction": "-", "lunch": "-", "dinner": "The Green Door, Millbrook", "accommodation": "Loft by the river, Millbrook"}, \
{"day": 2, "current_city": "Millbrook", "transportation": "-", "breakfast": "Corner Bakery, Millbrook", "attraction": "Clock Museum, Millbrook;Mill Park, Millbrook;", "lunch": "Noodle House, Millbrook", "dinner": "-", "accommodation": "Loft by the river, Millbrook"}, \
{"day": 3, "current_city": "from Millbrook to Oldport", "transportation": "Flight Number: F7654321, from Millbrook to Oldport, Departure Time: 18:05, Arrival Time: 19:00", "breakfast": "-", "attraction": "-", "lunch": "-", "dinner": "-", "accommodation": "-"}]"""

SIGNS_AROUND = "*_`\"“”'()[],.;:!?"  # that an itinerary may have around a name
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
            formatted = format_itinerary(self._endpoint, query, text, usage)
            line = {"key": key, "vote": 1, "model": self.settings.model, "usage": usage}
            if formatted.unscored:
                line |= {"judged": None, "fault": formatted.problem}
            else:
                line |= {"judged": {"plan": formatted.plan, "problem": formatted.problem}}
            self.log.add(line)
        return in_cities(formatted, city_of)


def format_itinerary(
    endpoint: ChatEndpoint, query: Query | str, text: str, usage: Counter[str]
) -> FormattedPlan:
    """A name that the formatter made up is pointed out to it once. `usage` is counted up by what
    was asked.

    Raises UserError for what can never work (a wrong key, an unknown model).
    """
    itinerary = extract_answer(text)
    if itinerary is None:
        return FormattedPlan(None, INCOMPLETE)
    if not itinerary.strip():
        return FormattedPlan(None, "there is no itinerary")
    conversation, invented = messages(query, itinerary), ""
    for _ in range(2):
        outcome = endpoint.complete(conversation)
        if isinstance(outcome, Fault):
            if outcome.kind == "context_overflow":
                problem = "the itinerary is longer than the formatter's model can read"
                return FormattedPlan(None, problem)
            problem = f"{outcome.kind} after {outcome.attempts} attempts: {outcome.message}"
            return FormattedPlan(None, problem, unscored=True)
        usage.update(outcome.usage)
        formatted = read_answer(outcome)
        plan, invented = _as_spelt(formatted.plan or [], itinerary)
        if not invented:
            return replace(formatted, plan=plan or None)
        correction = f"{invented} is not in the itinerary. Answer again, each name exactly as the itinerary spells it."
        conversation += [
            {"role": "assistant", "content": outcome.text},
            {"role": "user", "content": correction},
        ]
    problem = f"the formatter wrote {invented}, which the itinerary does not say"
    return FormattedPlan(None, problem)


def messages(query: Query | str, text: str) -> list[dict[str, str]]:
    if not isinstance(query, str):
        query = query.query or f"{query.org} to {query.dest}, {query.days} days"
    examples = f"{EXAMPLE_TEXT}\n{EXAMPLE_ANSWER}"
    prompt = PROMPT.format(examples=examples, query=query, text=text)
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


def _as_spelt(plan: list[dict[str, Any]], text: str) -> tuple[list[dict[str, Any]], str]:
    """The plan with places as the itinerary spells them, and the first name or flight number that
    it does not hold, in quotes; empty if there is none."""
    places = dict[str, str]()
    for field, names in names_of(plan).items():
        for name in sorted(names) if field != "city" else ():
            spelt = None if name in NOTHING and _letters(name) else _spelt(name, text)
            if spelt is None:
                return plan, f"'{' '.join((name.rpartition(',')[0] or name).split())[:80]}'"
            places[name] = spelt

    def listed(places_of_day: str) -> str:
        return ";".join(places.get(each.strip(), each) for each in places_of_day.split(";"))

    fields = (*MEALS, "attraction", "accommodation")
    return [{**day, **{field: listed(day[field]) for field in fields}} for day in plan], ""


def _spelt(name: str, text: str) -> str | None:
    """'Name, City' with the name in the itinerary's words; None for one that it does not hold. A
    state behind the city is dropped: the official format has none there."""
    alone, comma, city = name.rpartition(",")
    if not alone.strip():
        return _said(name, text)
    said = _said(alone, text)
    if said is None:
        alone, comma, city = alone.rpartition(",")
        said = _said(alone, text) if alone.strip() else None
    return None if said is None else f"{said}{comma}{city}"


def _said(name: str, text: str) -> str | None:
    """The name as it stands where letters and digits are the same, else the itinerary's words for
    it: with or without accents, "&" for "and", in another order with at most two words between."""
    if _letters(name) in _letters(text):
        return name
    if len(name) > LONGEST_NAME:
        return None
    words, wanted = text.split(), _folded_words(name)
    folded_text, in_one, each = _folded_words(text), "".join(wanted), Counter(wanted)
    for size in range(1, len(wanted) + 3):
        for start in range(len(words) - size + 1):
            found = folded_text[start : start + size]
            if "".join(found) == in_one or not each - Counter(found):
                return " ".join(words[start : start + size]).strip(SIGNS_AROUND)
    return None


def _folded_words(text: str) -> list[str]:
    return [folded(word.replace("&", "and")) for word in text.split()]


def in_cities(formatted: FormattedPlan, city_of: CityOf) -> FormattedPlan:
    """Where the whole text of a place is its name in the world, its city is added, and a state
    behind a place's city is dropped; everything else stays as written."""
    if not formatted.plan:
        return formatted
    return FormattedPlan([_in_cities(day, city_of) for day in formatted.plan])


def _in_cities(day: dict[str, Any], city_of: CityOf) -> dict[str, Any]:
    route = read_route(day["current_city"])
    cities = [route[1], route[0]] if route else [day["current_city"]]

    def placed(kind: PlaceKind, name: str) -> str:
        if city := city_of(kind, name, cities):
            return f"{name}, {city}"
        place, _, state = name.rpartition(",")
        alone, _, city = place.rpartition(",")
        return place if state and city_of(kind, alone, [city.strip()]) else name

    return {
        **day,
        **{meal: placed("restaurant", day[meal]) for meal in MEALS},
        "attraction": ";".join(
            placed("attraction", sight.strip()) for sight in day["attraction"].split(";")
        ),
        "accommodation": placed("accommodation", day["accommodation"]),
    }


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def format_all(
    endpoint: ChatEndpoint,
    requests: Iterable[tuple[Key, Query | str, str]],
    concurrency: int = 8,
    city_of: CityOf | None = None,
) -> Iterator[tuple[Key, FormattedPlan]]:
    """In the order they finish, `concurrency` at once; `city_of` as for `in_cities`. After many
    faults in a row (`Breaker`) the rest is unscored without asking."""
    breaker = Breaker()

    def work(each: tuple[Key, Query | str, str]) -> tuple[Key, FormattedPlan]:
        key, query, text = each
        if breaker.is_open:
            return key, FormattedPlan(None, breaker.why, unscored=True)
        formatted = format_itinerary(endpoint, query, text, Counter())
        unscored = formatted.unscored
        breaker.note(Fault("bad_response", formatted.problem or "") if unscored else formatted)
        return key, in_cities(formatted, city_of) if city_of else formatted

    return map_unordered(work, requests, concurrency)
