"""What a traveller would read in a plan, beside what the strict rules have judged.

`mutant` writes a plan that passes a little differently: keys added and repeated, days after the
last, prices, times and lengths said in other ways and wrongly, names spelt otherwise, words added
anywhere. `differences` then reads the text that was given, not what the judge made of it: every
key, word, sign and number must be one of the rows that were judged. It shares no code with the
rules but the rows they chose, and asks more than they do on purpose: what it reports about an
accepted plan is for a person to look at. `fuzz_judge.py --misread` runs it.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.plan.parse import parse_answer
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.rules.strict_reading import PlannedDay, StrictPlan, read_plan
from tripwright.domains.travelplanner.scoring.lines import read_record
from tripwright.verdict import Verdict
from tripwright.world.store import World

PLACES = "breakfast lunch dinner attraction accommodation transportation"
P3_LEG = "mode from to duration distance cost flight_number departure_time arrival_time"
KEYS = {
    "official": set(f"day days current_city {PLACES}".split()),
    "p3": set(f"days city {PLACES} {P3_LEG}".split()),
}
GLUE = set("from to departure arrival time duration distance cost".split())
UNITS = set(
    "d day days h hr hrs hour hours m min mins minute minutes am pm a p km kilometers kilometres"
    " kilometer kilometre mi mile miles usd us dollar dollars".split()
)
MODE_WORDS = {"flight": {"flight", "number"}, "taxi": {"taxi"}, "self-driving": {"self", "driving"}}
SIGNS = set(" -,:;.()'&$/\t\n")
TOKEN = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


class Judged(NamedTuple):
    verdict: Verdict
    plan: StrictPlan


# ---- reading


def judged(text: str, kind: str, query: Query, world: World) -> Judged | None:
    """By the strict rules, from the text as a model or a file gives it; None where there is no
    plan."""
    plan: Any
    if kind == "p3":
        days = parse_answer(text).days
        plan = None if days is None else to_official(days, city_lookup(world))
    else:
        try:
            plan = read_record(f'{{"query": {{}}, "plan": {text}}}'.encode())["plan"]
        except ValueError:
            plan = None
    if plan is None:
        return None
    return Judged(judge(query, plan, world, "strict"), read_plan(query, plan, world))


def differences(text: str, kind: str, query: Query, read: Judged) -> Iterator[str]:
    """What the text says that was not judged, a line each."""
    days = json.loads(text, object_pairs_hook=lambda pairs: tuple(("pair", *p) for p in pairs))
    for number, day in enumerate(days, start=1):
        if number > query.days:
            if any(
                key not in KEYS[kind] or value not in ("-", "", number, str(number))
                for _, key, value in day
            ):
                yield f"day {number} beyond the trip says {day}"
            continue
        judged_day = read.plan.days[number - 1]
        yield from (f"day {number}: {what}" for what in _keys(day, kind))
        yield from (f"day {number}: {what}" for what in _words(day, judged_day, query, read))
        yield from (f"day {number}: {what}" for what in _claims(day, judged_day, read.plan.world))
    yield from _trip(read, query)


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Every (key, value) of the objects inside, keys of lists left out."""
    if isinstance(value, tuple):
        for _, key, inside in value:
            yield key, inside
            yield from _pairs(inside)
    elif isinstance(value, list):
        for each in value:
            yield from _pairs(each)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, tuple | list):
        for each in value:
            yield from _texts(each[2] if isinstance(value, tuple) else each)
    elif value is not None:
        yield str(value)


def _keys(day: Any, kind: str) -> Iterator[str]:
    objects = [day, *(value for _, value in _pairs(day) if isinstance(value, tuple))]
    for each in objects:
        for key, count in Counter(key for _, key, _ in each).items():
            if count > 1:
                yield f"key {key!r} {count} times"
    for key, value in _pairs(day):
        if key not in KEYS[kind]:
            yield f"unknown key {key!r} says {value!r}"


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _words(day: Any, planned: PlannedDay, query: Query, read: Judged) -> Iterator[str]:
    """Words and signs that are in no row of the day. Figures of a leg are `_claims`' to look at."""
    world, leg = read.plan.world, planned.leg
    rows = [row.name for place in planned.places() for row in place.rows[:1]]
    cities = [city for city in (planned.start, planned.end) if city]
    sources = [*rows, *cities, *(world.cities[city] for city in cities)]
    if leg is not None and leg.flight is not None:
        sources.append(leg.flight.number)
    known = {token for source in sources for token in TOKEN.findall(_fold(source))}
    if leg is not None and leg.mode is not None:
        known |= GLUE | UNITS | MODE_WORDS[leg.mode]
    signs = SIGNS | set("".join(sources))
    for text in _texts(day):
        for token in TOKEN.findall(_fold(text)):
            if token not in known and not token[0].isdigit():
                yield f"the word {token!r} of {text!r}"
        for sign in set(text) - signs:
            if not sign.isalnum():
                yield f"the sign {sign!r} of {text!r}"
    for key, value in _pairs(day):
        if key in ("day", "days"):
            if str(value).removesuffix(".0") != str(planned.number):
                yield f"its number is {value!r}"
        elif key not in ("transportation", "cost", "duration", "distance", "flight_number") and (
            not key.endswith("_time")
        ):
            for text in _texts(value) if not isinstance(value, tuple) else ():
                yield from (
                    f"the figure {token!r} of {text!r}"
                    for token in TOKEN.findall(_fold(text))
                    if token[0].isdigit() and token not in known
                )


def _claims(day: Any, planned: PlannedDay, world: World) -> Iterator[str]:
    """What is said of the leg, label by label, against its row: 5 percent, or a dollar."""
    leg = planned.leg
    for label, value in _claimed(day):
        figures = [float(each.replace(",", "")) for each in re.findall(NUMBER, value)]
        if not figures:
            continue
        if leg is None or leg.route.origin is None or leg.route.destination is None:
            yield f"{label} {value!r} of no leg"
            continue
        ground = world.ground(leg.route.origin, leg.route.destination)
        if label == "cost":
            km = _km(ground.distance) if ground else math.nan
            true = [leg.flight.price_usd] if leg.flight else [km // 1, km * 0.05 // 1]
            true = true[:1] if leg.mode == "taxi" else true
            good = len(figures) == 1 and any(_near(figures[0], usd, 1) for usd in true)
        elif label == "duration":
            true_text = leg.flight.duration if leg.flight else ground.duration if ground else ""
            good = _near(_minutes(value), _minutes(true_text), 0)
        elif label == "distance":
            true_text = f"{leg.flight.distance_miles} miles" if leg.flight else ground.distance  # type: ignore[union-attr]
            good = _near(_km(value), _km(true_text), 0)
        elif leg.flight is None:
            good = False
        else:
            true_text = getattr(leg.flight, label)
            good = _clock(value) == _clock(true_text)
        if not good:
            yield f"{label} {value!r} is not that of the leg"


def _claimed(day: Any) -> Iterator[tuple[str, str]]:
    for key, value in _pairs(day):
        if key in ("cost", "duration", "distance", "departure_time", "arrival_time"):
            yield key, str(value)
        elif key == "transportation" and isinstance(value, str):
            for piece in value.split(", ")[2:]:
                label, _, said = piece.partition(":")
                yield label.strip().lower().replace(" ", "_"), said


def _near(said: float, true: float, least: float) -> bool:
    return abs(said - true) <= max(least, 0.05 * true)


def _minutes(text: str) -> float:
    scale = {"d": 1440, "h": 60, "m": 1}
    return sum(
        float(number.replace(",", "")) * scale[unit]
        for number, unit in re.findall(NUMBER + r"\s*([dhm])", _fold(text))
    )


def _km(text: str) -> float:
    match = re.search(NUMBER + r"\s*([km])", _fold(text))
    if match is None:
        return math.nan
    return float(match[1].replace(",", "")) * (1 if match[2] == "k" else 1.609344)


def _clock(text: str) -> int | None:
    match = re.search(r"(\d{1,2}):(\d\d)\s*([ap]?)", _fold(text))
    if match is None:
        return None
    hour = int(match[1]) % 12 + 12 * (match[3] == "p") if match[3] else int(match[1])
    return 60 * hour + int(match[2])


def _trip(read: Judged, query: Query) -> Iterator[str]:
    """Over all days: nothing twice, every night long enough, twenty-four hours a day, the sum."""
    letters = re.compile(r"[\W_]")
    for kind in ("meals", "sights"):
        places = [place for day in read.plan.days for place in getattr(day, kind)]
        names = Counter(
            (letters.sub("", _fold(place.rows[0].name)), place.city) for place in places
        )
        yield from (f"{name} of {city} {n} times" for (name, city), n in names.items() if n > 1)
    for day in read.plan.days:
        if day.leg is not None and day.sights:
            spent = _minutes(day.leg.duration) + 30 * (len(day.sights) + len(day.meals))
            if spent > 24 * 60:
                yield f"day {day.number} takes {spent / 60:.1f} hours"
    total = 0.0
    for day in read.plan.days:
        if day.leg is not None and day.leg.unit_usd is not None:
            seats = {"flight": 1, "taxi": 4, "self-driving": 5}[str(day.leg.mode)]
            total += day.leg.unit_usd * math.ceil(query.people_number / seats)
        total += sum(place.rows[0].average_cost_usd for place in day.meals) * query.people_number
        if day.stay is not None:
            row = read.plan.stays[day.stay.key].row
            assert row is not None
            total += row.price_usd * math.ceil(query.people_number / row.maximum_occupancy)
    judged_usd = read.verdict.details["total_cost"]
    if abs(total - (judged_usd or 0)) > 0.01 or total > query.budget:
        yield f"it costs {total}, judged {judged_usd}, budget {query.budget}"


# ---- mutants

SAYINGS: tuple[Any, ...] = (
    0,
    7,
    4,
    "4",
    True,
    [1],
    {"a": 1},
    None,
    "",
    "-",
    " ",
    "\u200b",
    "€5",
) + (
    "first class",
    "Paris",
    "Fly on to Paris, first class",
    "vegan",
    "day 2",
    "by boat",
    "x2",
    "and 3 more",
    "for free",
    "(closed)",
)
EXTRA_KEYS = (
    "plan notes cost Dinner city current_city extra price day days to from mode transport hotel"
    " attractions date meals flight_number departure_time arrival_time"
).split() + ["", "dinner "]
CLAIM_TEXTS = (
    "0|-|1|{}|{}.00|${}|{} USD|{} EUR|-{}|{}0|{} each|~{}|{} or less|{} {}|{},{}|0{}|{}e2|½ {}"
    "|{} PM|{} am|{}:00|{} miles|{} km|{}h|{}m|{} hours|{} mins|1h {}m|{}d|{} (one way)"
    "|{}\u00a0USD|{}%|US${}"
).split("|")
SPELLINGS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.lower,
    str.swapcase,
    lambda text: text.replace(" ", "  ", 1),
    lambda text: f" {text} ",
    lambda text: text.replace(" ", "\u00a0"),
    lambda text: unicodedata.normalize("NFKD", text),
    lambda text: text.replace("from", "From", 1),
    lambda text: text.replace(" ", "-", 1),
    lambda text: text + ".",
    lambda text: text.replace("a", "\u0430", 1),  # the Cyrillic one
    lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),  # wide
    lambda text: text.replace(",", ", ", 1),
    lambda text: text.replace(", ", ",", 1),
    lambda text: text.replace(";", "; ", 1),
)


def mutant(
    rng: random.Random, p3: list[Any], official: list[Any], world: World, query: Query
) -> tuple[str, str]:
    """(kind, text): one to three changes to a plan that passes."""
    kind = rng.choice(("p3", "official"))
    days = copy.deepcopy(p3 if kind == "p3" else official)
    repeats: list[tuple[str, Any]] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice((_extra, _pad, _claim, _place, _spell, _append, _swap, _crowd, _repeat))(
            rng, days, kind, world, query, repeats
        )
    text = json.dumps(days, ensure_ascii=rng.random() < 0.5)
    for key, value in repeats:
        spots = [match.start() for match in re.finditer(rf'"{key}": ', text)]
        if spots:
            spot = rng.choice(spots)
            text = f'{text[:spot]}"{key}": {json.dumps(value)}, {text[spot:]}'
    return kind, text


def _day(rng: random.Random, days: list[Any]) -> dict[str, Any]:
    return rng.choice([day for day in days if day])


def _extra(rng: random.Random, days: list[Any], *_: Any) -> None:
    day = _day(rng, days)
    inside = [day, *(value for value in day.values() if isinstance(value, dict))]
    key = rng.choice((*EXTRA_KEYS, "We fly on to Paris, first class, $9,000"))
    rng.choice(inside)[key] = copy.deepcopy(rng.choice(SAYINGS))


def _pad(rng: random.Random, days: list[Any], kind: str, *_: Any) -> None:
    more: dict[str, Any] = rng.choice(({}, {"days": len(days) + 1}, dict.fromkeys(days[-1], "-")))
    if rng.random() < 0.8:
        more[rng.choice((*days[-1], *EXTRA_KEYS))] = copy.deepcopy(rng.choice(SAYINGS))
    days.append(more)


def _claim(rng: random.Random, days: list[Any], kind: str, *_: Any) -> None:
    day = rng.choice([day for day in days if day.get("transportation", "-") != "-"] or days[:1])
    leg = day.get("transportation")
    template = rng.choice(CLAIM_TEXTS)
    if isinstance(leg, dict):
        label = rng.choice([key for key in leg if key not in ("mode", "from", "to")] or ["cost"])
        old = str(leg.get(label, "7"))
        said: Any = _reworded(rng, old) if rng.random() < 0.5 else template.replace("{}", old)
        if label == "cost" and rng.random() < 0.8:
            said = rng.choice((0, 1, -1, rng.randint(2, 500), 10**9))
        leg[label] = said
    elif isinstance(leg, str):
        label, _, old = rng.choice(leg.split(", ")[2:] or ["cost: 7"]).partition(": ")
        said = _reworded(rng, old) if rng.random() < 0.5 else template.replace("{}", old)
        changed = f"{label}: {said}"
        pieces = [each for each in leg.split(", ") if not each.startswith(f"{label}: ")]
        day["transportation"] = ", ".join([*pieces, changed])


def _reworded(rng: random.Random, text: str) -> str:
    """The same in other words, or nearly."""
    if match := re.fullmatch(r"(\d\d?):(\d\d)", text):
        hour = int(match[1])
        half = rng.choice(
            ("AM", "PM", "pm", "p.m.", "a.m.")
            if rng.random() < 0.3
            else ("PM",)
            if hour > 11
            else ("AM",)
        )
        return f"{hour % 12 or 12}:{match[2]}{rng.choice(('', ' '))}{half}"
    if match := re.fullmatch(r"(\d+) hours? ?(\d*).*", text):
        return (
            rng.choice(("{}h {}m", "{}h{}m", "{} hr {} min", "{}:{}", "{}h", "{} hrs, {} mins"))
            .replace("{}", match[1], 1)
            .replace("{}", match[2] or "0", 1)
        )
    if match := re.fullmatch(r"([\d,.]+) (km|miles)", text):
        other = rng.choice(("miles", "mi", "km", "KM", "kilometers"))
        factor = (
            1.0
            if (other[0].lower() == "k") == (match[2] == "km")
            else 0.6214
            if match[2] == "km"
            else 1.609
        )
        if rng.random() < 0.3:
            factor = 1.0
        return f"{float(match[1].replace(',', '')) * factor:.1f} {other}"
    return f"{text}{rng.choice(SAYINGS)}"


FIELDS = ("breakfast", "lunch", "dinner", "attraction", "accommodation")


def _place(
    rng: random.Random, days: list[Any], kind: str, world: World, query: Query, *_: Any
) -> None:
    """Another row, of this city or another."""
    day, field = _day(rng, days), rng.choice(FIELDS)
    city = rng.choice([*world.cities])
    if rng.random() < 0.8:
        here = day.get("city", day.get("current_city"))
        names = [city for city in world.cities if city in json.dumps(here)]
        city = rng.choice(names or [city])
    rows: list[Any] = {"attraction": world.attractions, "accommodation": world.accommodations}.get(
        field, world.restaurants
    )(city)
    name = rng.choice(rows).name
    said = name if kind == "p3" else f"{name}, {city}"
    day[field] = ([said] if kind == "p3" else f"{said};") if field == "attraction" else said


def _spell(rng: random.Random, days: list[Any], *_: Any) -> None:
    _in_a_text(rng, days, rng.choice(SPELLINGS))


def _append(rng: random.Random, days: list[Any], *_: Any) -> None:
    said = str(rng.choice(SAYINGS))
    glue = rng.choice((", ", " ", "; ", ";", " (", ",", "\n", ": ", " to ", " and "))
    _in_a_text(rng, days, lambda t: t + glue + said if rng.random() < 0.7 else said + glue + t)


def _in_a_text(rng: random.Random, days: list[Any], change: Any) -> None:
    day = _day(rng, days)
    spots: list[tuple[Any, Any]] = []
    for holder in [day, *(value for value in day.values() if isinstance(value, dict | list))]:
        for at in range(len(holder)) if isinstance(holder, list) else holder:
            if isinstance(holder[at], str):
                spots.append((holder, at))
    if spots:
        holder, at = rng.choice(spots)
        holder[at] = change(holder[at])


def _swap(rng: random.Random, days: list[Any], *_: Any) -> None:
    one, other = _day(rng, days), _day(rng, days)
    a, b = rng.choice(FIELDS), rng.choice(FIELDS)
    one[a], other[b] = other.get(b, "-"), one.get(a, "-")


def _crowd(
    rng: random.Random, days: list[Any], kind: str, world: World, query: Query, *_: Any
) -> None:
    """Many sights, and meals, on one day."""
    day = _day(rng, days)
    here = json.dumps(day.get("city", day.get("current_city")))
    city = rng.choice([city for city in world.cities if city in here] or [*world.cities])
    names = [row.name for row in world.attractions(city)][: rng.choice((2, 5, 30))]
    day["attraction"] = names if kind == "p3" else "".join(f"{name}, {city};" for name in names)
    if rng.random() < 0.5:
        rows = rng.sample(world.restaurants(city), 3)
        for meal, row in zip(FIELDS[:3], rows, strict=False):
            day[meal] = row.name if kind == "p3" else f"{row.name}, {city}"


def _repeat(
    rng: random.Random, days: list[Any], kind: str, world: World, query: Query, repeats: Any
) -> None:
    day = _day(rng, days)
    repeats.append((rng.choice([*day]), rng.choice((*SAYINGS[:7], day[rng.choice([*day])]))))
