"""Made-up trips: a request, the transcript of the calls that answer it, and the facts that a
grounded answer may state."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript

CITIES = (
    "Suzhou Wuhan Lisbon Porto Ghent Turin Oslo Bergen Denver Tucson Salzburg Linz Kyoto Nagoya"
    " Leeds Norwich".split()
    + [
        "San Marino Alto",
        "Port Alder",
        "Kansas City",
        "St. Hollow",
        "Zürich",
        "Las Palmas",
        "New Haven",
        "Łódź",
    ]
)
CARRIERS = ["Tailwind", "Blue Heron Air", "Meridian Airways", "Condor Norte", "Skylark"]
OPERATORS = ["Northern Rail", "Intercity", "Rapid Express", "Regio"]
HOTELS = [
    "Harbour View Inn",
    "The Old Mill",
    "Grand Central Hotel",
    "Casa Lumen",
    "Qingchen Yuejiang Hotel",
    "Comfort Lodge",
    "Hotel Mirador",
    "Park Plaza",
    "Le Bo 1946 Riverside Hotel",
    "Maison Verte",
    "Bluebird Hostel",
    "Novaro Suites",
    "The Wren",
    "Pension Alpina",
]
PLACES = [
    "City Museum",
    "Conference Center",
    "Old Lighthouse",
    "Botanical Garden",
    "Saint Ana Cathedral",
    "Glass Pavilion",
    "Fish Market",
]
STREETS = ["Mill Lane", "Harbour Street", "Rua Nova", "Via Roma", "King Road", "Lime Avenue"]


@dataclass
class Cited:
    """A row as an answer may cite it: call and row are counted from 1."""

    call: int
    row: int
    values: dict[str, Any]


@dataclass
class Facts:
    """What a grounded answer states. Renderers read nothing else, so a corruption changes the facts
    and any renderer tells them."""

    request: TravelRequest
    outbound: list[Cited]
    back: list[Cited] = field(default_factory=list)
    stay: list[Cited] = field(default_factory=list)
    # the place, and the way there from the hotel or the station
    visits: list[tuple[Cited, Cited]] = field(default_factory=list)
    spare: Cited | None = None  # an alternative for the risks
    outbound_date: str = ""
    return_date: str = ""
    checkin: str = ""
    checkout: str = ""


@dataclass
class Trip:
    request: TravelRequest
    transcript: Transcript
    facts: Facts


def day_after(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def _plus(moment: str, minutes: int) -> str:
    return (datetime.fromisoformat(moment) + timedelta(minutes=minutes)).isoformat(
        timespec="minutes"
    )


def _rides(
    rng: Random,
    kind: str,
    origin: str,
    destination: str,
    day: str,
    base: int,
    used: set[str],
    early: int,
    late: int,
) -> list[dict[str, Any]]:
    rows = []
    for _ in range(rng.randint(3, 6)):
        while (number := _number(rng, kind)) in used:
            pass
        used.add(number)
        departs = f"{day}T{rng.randint(early, late):02d}:{rng.choice([0, 0, 5, 10, 15, 24, 30, 30, 41, 48, 54]):02d}"  # noqa: E501
        minutes = base + rng.choice([0, 0, 3, 7, 12, 18, 25])
        price = round(rng.uniform(35, 480) + rng.choice([0, 0.5]), rng.choice([0, 0, 2]))
        where = ("airport", "Airport") if kind == "flight" else ("station", "Station")
        rows.append(
            {
                "number": number,
                "carrier" if kind == "flight" else "operator": rng.choice(
                    CARRIERS if kind == "flight" else OPERATORS
                ),
                "depart_city": origin,
                f"depart_{where[0]}": f"{origin} {where[1]}",
                "arrive_city": destination,
                f"arrive_{where[0]}": f"{destination} {where[1]}",
                "departs_at": departs,
                "arrives_at": _plus(departs, minutes),
                "minutes": minutes,
                "stops" if kind == "flight" else "transfers": 0,
                "price": float(price),
                "currency": "USD",
            }
        )
    rows.sort(key=lambda row: row["departs_at"])
    return rows


def _number(rng: Random, kind: str) -> str:
    if kind == "flight":
        return rng.choice(
            [
                f"TW {rng.randint(10, 999)}",
                f"BH{rng.randint(100, 9999)}",
                f"M7 {rng.randint(100, 999)}",
            ]
        )
    return rng.choice(
        [f"G{rng.randint(100, 9999)}", f"D{rng.randint(100, 9999)}", f"IC {rng.randint(100, 2999)}"]
    )


def _hotels(rng: Random, city: str, checkin: str, checkout: str) -> list[dict[str, Any]]:
    nights = (date.fromisoformat(checkout) - date.fromisoformat(checkin)).days
    rows = []
    for name in rng.sample(HOTELS, rng.randint(3, 5)):
        rows.append(
            {
                "name": name,
                "city": city,
                "checkin_date": checkin,
                "checkout_date": checkout,
                "room": rng.choice(["double room", "twin room", "river view room", "private room"]),
                "address": f"{rng.randint(1, 240)} {rng.choice(STREETS)}",
                "price": float(nights * rng.randint(38, 290)),
                "currency": "USD",
                "rating": rng.choice([3.4, 3.9, 4.0, 4.2, 4.5, 4.8]),
            }
        )
    return rows


class _Calls:
    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def ask(self, name: str, arguments: dict[str, Any], rows: list[dict[str, Any]]) -> int:
        body = {
            "rows": [{"row": n, **row} for n, row in enumerate(rows, 1)],
            "source": "closed world, 2026-06-01T00:00:00Z",
        }
        self.calls.append(ToolCall(name, arguments, json.dumps(body, ensure_ascii=False)))
        return len(self.calls)

    def rides(
        self, kind: str, rows: list[dict[str, Any]], origin: str, destination: str, day: str
    ) -> int:
        return self.ask(
            f"{kind}_search",
            {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": day},
            rows,
        )


def made_trip(seed: int, shape: str | None = None) -> Trip:
    """`shape` is "stay" (there, nights, back), "day" (there and back in one day) or "one_way";
    drawn where None."""
    rng = Random(f"trip-{seed}")
    shape = shape or rng.choices(["stay", "day", "one_way"], [7, 2, 1])[0]
    origin, destination = rng.sample(CITIES, 2)
    day = day_after("2026-04-01", rng.randint(0, 240))
    nights = rng.randint(1, 5) if shape == "stay" else 0
    party = rng.choice([1, 1, 2, 2, 3, 4])
    kind, base, used, calls = (
        rng.choice(["flight", "train"]),
        rng.randint(55, 290),
        set[str](),
        _Calls(),
    )
    there = _rides(rng, kind, origin, destination, day, base, used, 5, 8 if shape == "day" else 15)
    back_day = day_after(day, nights)
    home = (
        _rides(rng, kind, destination, origin, back_day, base, used, 16, 18)
        if shape != "one_way"
        else []
    )
    if rng.random() < 0.3:  # an exploration that the answer does not use
        other = "train" if kind == "flight" else "flight"
        calls.rides(
            other,
            _rides(rng, other, origin, destination, day, base + 40, used, 5, 15),
            origin,
            destination,
            day,
        )
    call = calls.rides(kind, there, origin, destination, day)
    picks = sorted(rng.sample(range(len(there)), 3))
    rng.shuffle(picks)
    spare = Cited(call, picks[2] + 1, there[picks[2]])
    facts = Facts(
        TravelRequest(origin=origin, destination=destination, depart_date=day),
        [],
        outbound_date=day,
        return_date=back_day,
    )
    facts.outbound = [Cited(call, n + 1, there[n]) for n in picks[: rng.randint(1, 2)]]
    facts.spare, facts.checkin, facts.checkout = spare, day, back_day
    if nights:
        _add_stay(rng, calls, facts, destination, day, back_day)
    if home:
        call = calls.rides(kind, home, destination, origin, back_day)
        facts.back = [
            Cited(call, n + 1, home[n]) for n in rng.sample(range(len(home)), rng.randint(1, 2))
        ]
    visits = rng.sample(PLACES, 1) if rng.random() < 0.4 else []
    for place in visits:
        _add_visit(rng, calls, facts, place, destination, kind)
    facts.request = _request(rng, facts, seed, kind, shape, party, tuple(visits))
    return Trip(facts.request, transcript_of(facts.request, calls.calls), facts)


def _add_stay(
    rng: Random, calls: _Calls, facts: Facts, city: str, checkin: str, checkout: str
) -> None:
    rows = _hotels(rng, city, checkin, checkout)
    call = calls.ask(
        "hotel_search",
        {"city_name": city, "checkin_date": checkin, "checkout_date": checkout},
        rows,
    )
    facts.stay = [
        Cited(call, n + 1, rows[n]) for n in rng.sample(range(len(rows)), rng.randint(1, 2))
    ]


def _add_visit(rng: Random, calls: _Calls, facts: Facts, place: str, city: str, kind: str) -> None:
    address = f"{rng.randint(1, 240)} {rng.choice(STREETS)}"
    found = {"name": place, "city": city, "address": address, "category": "sight"}
    call = calls.ask("poi_search", {"query": place, "city_name": city}, [found])
    start = (
        facts.stay[0].values["name"]
        if facts.stay
        else facts.outbound[0].values["arrive_airport" if kind == "flight" else "arrive_station"]
    )
    way = {
        "origin": start,
        "destination": place,
        "city": city,
        "mode": rng.choice(["walking", "driving"]),
        "minutes": float(rng.randint(6, 38)),
        "distance_km": round(rng.uniform(0.4, 9.0), 1),
    }
    leg = calls.ask(
        "route_planning",
        {"origin_name": start, "destination_name": place, "city_name": city},
        [way],
    )
    facts.visits.append((Cited(call, 1, found), Cited(leg, 1, way)))


def _request(
    rng: Random, facts: Facts, seed: int, kind: str, shape: str, party: int, visits: tuple[str, ...]
) -> TravelRequest:
    wishes: dict[str, Any] = {}
    arrives = max(ride.values["arrives_at"] for ride in facts.outbound)
    if rng.random() < 0.5 and arrives[:10] == facts.outbound_date and arrives[11:13] < "22":
        wishes["arrive_by"] = f"{int(arrives[11:13]) + 1:02d}:00"
    if rng.random() < 0.5:
        wishes["transport"] = kind
    if facts.back and rng.random() < 0.3:
        wishes["return_after"] = (
            f"{int(min(ride.values['departs_at'] for ride in facts.back)[11:13]):02d}:00"
        )
    if rng.random() < 0.5:
        dear = [
            max((one.values["price"] for one in part), default=0.0)
            for part in (facts.outbound, facts.back, facts.stay)
        ]
        wishes["total_budget"] = float(
            int(party * (dear[0] + dear[1]) + party * dear[2]) // 50 * 50 + 150
        )
    home = facts.return_date if shape != "one_way" else None
    origin, destination = facts.request.origin, facts.request.destination
    words = (
        f"We are {party} and want to go from {origin} to {destination} on {facts.outbound_date}"
        + (f", back on {home}." if home else ".")
    )
    if visits:
        words += f" We would like to see the {visits[0]}."
    return TravelRequest(
        id=f"made-{seed}",
        query=words,
        origin=origin,
        destination=destination,
        depart_date=facts.outbound_date,
        return_date=home,
        party_size=party,
        visit=visits,
        **wishes,
    )


def transcript_of(request: TravelRequest, calls: list[ToolCall], answer: str = "") -> Transcript:
    segments = [Segment("system", "Plan trips."), Segment("user", request.query)]
    for call in calls:
        segments.append(
            Segment(
                "assistant",
                f"<tool_call>{json.dumps({'name': call.name, 'arguments': call.arguments})}</tool_call>",  # noqa: E501
                call=call,
            )
        )
        segments.append(Segment("tool", call.result))
    return Transcript(
        [*segments, Segment("assistant", f"<answer>{answer}</answer>")], StopReason.ANSWER, answer
    )
