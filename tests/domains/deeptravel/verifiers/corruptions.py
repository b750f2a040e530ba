"""Six ways to spoil a grounded answer. Each changes the facts that a renderer tells, so every
wording can carry every corruption."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from made_trips import Cited, Facts, Trip

INVENTED = (
    "Hotel Solaria",
    "The Golden Pheasant",
    "Riverside Palace",
    "Marlowe House",
    "Harbour View Lodge",
    "Grand Central Plaza",
    "Old Mill Suites",
    "Casa Lumina",
    "Hotel Miradora",
    "Park Royal",
    "Vela Boutique Rooms",
    "Qingchen Riverside Hotel",
    "Comfort Central Hotel",
)


def _picked(rng: Random, facts: Facts, *parts: str) -> Cited | None:
    found = [part[0] for name in parts if (part := getattr(facts, name))]
    return rng.choice(found) if found else None


def wrong_price(rng: Random, trip: Trip, facts: Facts) -> bool:
    """Off by 12 to 60% and 8 units at least, or the price of another row."""
    cited = _picked(rng, facts, "outbound", "back", "stay")
    assert cited is not None
    price = cited.values["price"]
    others = [
        row["price"]
        for row in _rows(trip, cited.call)
        if abs(row["price"] - price) > max(8, 0.12 * price)
    ]
    if others and rng.random() < 0.4:
        cited.values["price"] = rng.choice(others)
    else:
        cited.values["price"] = float(
            round(price + rng.choice([-1, 1]) * max(8.0, price * rng.uniform(0.12, 0.6)))
        )
    return cited.values["price"] > 0


def other_train(rng: Random, trip: Trip, facts: Facts) -> bool:
    """The number of another row, which has other times, or a number that no row has."""
    cited = _picked(rng, facts, "outbound", "back")
    assert cited is not None
    said = {
        ride.values["number"]
        for ride in (*facts.outbound, *facts.back, facts.spare)
        if ride is not None
    }
    others = [
        row["number"]
        for row in _rows(trip, cited.call)
        if row["number"] not in said and row["departs_at"] != cited.values["departs_at"]
    ]
    if others and rng.random() < 0.6:
        cited.values["number"] = rng.choice(others)
    else:
        number = cited.values["number"]
        digit = number[-1]
        cited.values["number"] = number[:-1] + rng.choice([d for d in "0123456789" if d != digit])
    known = {
        row["number"]: row
        for call in range(1, len(trip.transcript.calls) + 1)
        for row in _rows(trip, call)
        if "number" in row
    }
    there = known.get(cited.values["number"])
    return there is None or there["departs_at"][11:] != cited.values["departs_at"][11:]


def invented_hotel(rng: Random, trip: Trip, facts: Facts) -> bool:
    if not facts.stay:
        return False
    old, name = facts.stay[0].values["name"], rng.choice(INVENTED)
    facts.stay[0].values["name"] = name
    for _, way in facts.visits:
        if way.values["origin"] == old:
            way.values["origin"] = name
    return True


def impossible_connection(rng: Random, trip: Trip, facts: Facts) -> bool:
    """A return that leaves before the arrival (in the words, or by another row), or a ride that
    arrives before it departs."""
    if facts.back and facts.outbound_date == facts.return_date and rng.random() < 0.7:
        arrives = datetime.fromisoformat(facts.outbound[0].values["arrives_at"])
        leaves = arrives - timedelta(minutes=rng.randint(10, 90))
        length = facts.back[0].values["minutes"]
        facts.back[0].values.update(
            departs_at=_stamp(leaves), arrives_at=_stamp(leaves + timedelta(minutes=length))
        )
        return True
    ride = rng.choice([facts.outbound[0], *facts.back[:1]])
    departs = datetime.fromisoformat(ride.values["departs_at"])
    ride.values["arrives_at"] = _stamp(departs - timedelta(minutes=rng.randint(10, 100)))
    return True


def wrong_date(rng: Random, trip: Trip, facts: Facts) -> bool:
    """Another day in the answer's words, or a search for another day whose rows the answer tells
    truly."""
    shift = rng.choice([-2, -1, 1, 2, 7])
    if rng.random() < 0.5:
        _search_another_day(trip, facts, shift)
        return True
    facts.outbound_date = _moved(facts.outbound_date, shift)
    facts.checkin, facts.checkout = _moved(facts.checkin, shift), _moved(facts.checkout, shift)
    return True


def missing_part(rng: Random, trip: Trip, facts: Facts) -> bool:
    parts = [name for name in ("outbound", "back", "stay", "visits") if getattr(facts, name)]
    if len(parts) < 2:
        return False
    part = rng.choice(parts[1:])
    setattr(facts, part, [])
    return True


def _search_another_day(trip: Trip, facts: Facts, shift: int) -> None:
    """The outbound call and all its rows move; the answer follows its rows."""
    import json

    call = facts.outbound[0].call
    asked = trip.transcript.calls[call - 1]
    asked.arguments["depart_date"] = _moved(asked.arguments["depart_date"], shift)
    body = json.loads(asked.result)
    for row in body["rows"]:
        for label in ("departs_at", "arrives_at"):
            row[label] = _moved(row[label][:10], shift) + row[label][10:]
    asked.result = json.dumps(body, ensure_ascii=False)
    for segment in trip.transcript.segments:
        if segment.role == "tool" and trip.transcript.segments.index(segment):
            before = trip.transcript.segments[trip.transcript.segments.index(segment) - 1]
            if before.call is asked:
                segment.text = asked.result
    facts.outbound_date = _moved(facts.outbound_date, shift)


def _rows(trip: Trip, call: int) -> list[dict[str, Any]]:
    import json

    rows: list[dict[str, Any]] = json.loads(trip.transcript.calls[call - 1].result)["rows"]
    return rows


def _moved(day: str, days: int) -> str:
    return (datetime.fromisoformat(day) + timedelta(days=days)).date().isoformat()


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")


Corruption = Callable[[Random, Any, Any], bool]
CORRUPTIONS: dict[str, Corruption] = {
    "wrong price": wrong_price,
    "other train": other_train,
    "invented hotel": invented_hotel,
    "impossible connection": impossible_connection,
    "wrong date": wrong_date,
    "missing part": missing_part,
}
SHAPES = {"invented hotel": "stay"}


def corrupted(
    name: str,
    seed: int,
    make: Callable[[int, str | None], Trip],
    render: Callable[[Any, Any], str],
    words: Any,
) -> tuple[Trip, str]:
    """A made-up trip and its corrupted answer. Draws again where a corruption cannot be told: it
    has no stay, or this wording leaves the changed fact out (then the answer would still be
    true)."""
    for attempt in range(50):
        trip = copy.deepcopy(make(seed + 10_000 * attempt, SHAPES.get(name)))
        facts = copy.deepcopy(trip.facts)
        sound = render(trip.facts, words(seed))
        calls = [dict(call.arguments) for call in trip.transcript.calls]
        if not CORRUPTIONS[name](Random(f"{name}-{seed}-{attempt}"), trip, facts):
            continue
        spoilt = render(facts, words(seed))
        if spoilt != sound or calls != [call.arguments for call in trip.transcript.calls]:
            return replace(trip, facts=facts), spoilt
    raise AssertionError(f"no trip could be corrupted by {name} from seed {seed}")
