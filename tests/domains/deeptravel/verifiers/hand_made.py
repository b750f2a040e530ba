"""A small trip by hand: the request, five calls with their answers, a sound answer in cards, and
the transcript that they make."""

import copy
import json
from typing import Any

from tripwright.domains import face_named
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.domains.deeptravel.verifiers.findings import JointFinding, joint
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript

REQUEST = TravelRequest(
    query=(
        "From Suzhou to Wuhan on 26 June for two, there by 3 pm, back on the 28th. We want to see"
        " the Old Lighthouse."
    ),
    origin="Suzhou",
    destination="Wuhan",
    depart_date="2026-06-26",
    return_date="2026-06-28",
    party_size=2,
    arrive_by="15:00",
    total_budget=2000,
    visit=("Old Lighthouse",),
)


_OF_A_RIDE = (
    *("number", "operator", "depart_city", "depart_station", "arrive_city", "arrive_station"),
    *("departs_at", "arrives_at", "minutes", "transfers", "price", "currency"),
)


def _ride(
    number: str, ends: tuple[str, str], departs: str, arrives: str, minutes: int, price: float
) -> dict[str, Any]:
    stations = [name for city in ends for name in (city, f"{city} Station")]
    values = (number, "Northern Rail", *stations, departs, arrives, minutes, 0, price, "USD")
    return dict(zip(_OF_A_RIDE, values, strict=True))


def _hotel(name: str, price: float, rating: float, address: str) -> dict[str, Any]:
    stay = {"checkin_date": "2026-06-26", "checkout_date": "2026-06-28"}
    room = {"room": "double room", "guests": 2, "address": address}
    paid = {"price": price, "currency": "USD", "rating": rating}
    return {"name": name, "city": "Wuhan", **stay, **room, **paid}


_THERE = [
    _ride("G3124", ("Suzhou", "Wuhan"), "2026-06-26T06:54", "2026-06-26T11:02", 248, 233.0),
    _ride("D3056", ("Suzhou", "Wuhan"), "2026-06-26T08:06", "2026-06-26T12:36", 270, 199.5),
    _ride("G99", ("Suzhou", "Wuhan"), "2026-06-26T13:00", "2026-06-26T17:00", 240, 150.0),
]
_BACK = [
    _ride("G3127", ("Wuhan", "Suzhou"), "2026-06-28T18:10", "2026-06-28T22:18", 248, 233.0),
    _ride("D3059", ("Wuhan", "Suzhou"), "2026-06-28T19:00", "2026-06-28T23:30", 270, 199.5),
]
_HOTELS = [
    _hotel("Riverside Inn", 402.0, 4.1, "12 Mill Lane"),
    _hotel("Harbour View Inn", 310.0, 3.9, "7 King Road"),
]


_WAY = {"origin": "Riverside Inn", "destination": "Old Lighthouse", "city": "Wuhan"}
_WAY |= {"mode": "walking", "minutes": 18.0, "distance_km": 1.4}
_PLACE = {"name": "Old Lighthouse", "city": "Wuhan", "address": "1 Rua Nova"}
_RIDES = ("depart_city_name", "arrival_city_name", "depart_date")
_ROUTE = ("origin_name", "destination_name", "city_name")


def made_calls() -> list[ToolCall]:
    nights = ("city_name", "checkin_date", "checkout_date")
    asked: list[tuple[str, tuple[str, ...], tuple[str, ...], list[dict[str, Any]]]] = [
        ("train_search", _RIDES, ("Suzhou", "Wuhan", "2026-06-26"), _THERE),
        ("hotel_search", nights, ("Wuhan", "2026-06-26", "2026-06-28"), _HOTELS),
        ("train_search", _RIDES, ("Wuhan", "Suzhou", "2026-06-28"), _BACK),
        ("poi_search", ("query", "city_name"), ("Old Lighthouse", "Wuhan"), [_PLACE]),
        ("route_planning", _ROUTE, ("Riverside Inn", "Old Lighthouse", "Wuhan"), [_WAY]),
    ]
    calls = []
    for name, arguments, values, rows in asked:
        numbered = [{"row": n, **row} for n, row in enumerate(rows, 1)]
        body = {"rows": numbered, "source": "closed world, 2026-06-20T09:30:00Z"}
        said = dict(zip(arguments, values, strict=True))
        calls.append(ToolCall(name, said, json.dumps(body, ensure_ascii=False)))
    return calls


SOUND: dict[str, Any] = json.loads("""
{"party": 2,
 "outbound": [{"kind": "train", "number": "G3124", "date": "2026-06-26", "departs": "06:54",
   "arrives": "11:02", "depart_city": "Suzhou", "depart_place": "Suzhou Station",
   "arrive_city": "Wuhan", "arrive_place": "Wuhan Station", "minutes": 248,
   "price": {"amount": 233, "currency": "USD", "per": "person"}, "call": 1, "row": 1,
   "reasons": [{"term": "arrives_by", "time": "11:02", "limit": "15:00"},
     {"term": "first_arrival", "call": 1}]}],
 "stay": [{"kind": "hotel", "name": "Riverside Inn", "address": "12 Mill Lane",
   "room": "double room", "guests": 2, "rating": 4.1,
   "price": {"amount": 402, "currency": "USD", "per": "room"},
   "checkin": "2026-06-26", "checkout": "2026-06-28", "rooms": 1, "call": 2, "row": 1,
   "reasons": [{"term": "best_rated", "call": 2},
     {"term": "near", "place": "Old Lighthouse", "distance_km": 1.4, "call": 5, "row": 1}]}],
 "return": [{"kind": "train", "number": "G3127", "date": "2026-06-28", "departs": "18:10",
   "arrives": "22:18", "price": {"amount": 233, "currency": "USD", "per": "person"},
   "call": 3, "row": 1}],
 "visits": [{"kind": "place", "name": "Old Lighthouse", "address": "1 Rua Nova",
   "found": {"call": 4, "row": 1},
   "way": {"mode": "walking", "minutes": 18, "distance_km": 1.4, "origin": "Riverside Inn",
     "call": 5, "row": 1}}],
 "total": {"amount": 1334, "currency": "USD"},
 "risks": [{"term": "alternative", "part": "outbound", "name": "D3056", "call": 1, "row": 2}]}
""")
ANSWER = json.dumps(SOUND)


def with_row(number: int, row: dict[str, Any], **arguments: Any) -> list[ToolCall]:
    """The calls, and once more the one of that number: asked with these arguments too, and with its
    first row, changed so, as the only one. Without a change it shows nothing."""
    calls = made_calls()
    body = json.loads(calls[number - 1].result)
    body["rows"] = [{**body["rows"][0], **row}] if row else []
    said = {**calls[number - 1].arguments, **arguments}
    return [*calls, ToolCall(calls[number - 1].name, said, json.dumps(body))]


def changed(*changes: tuple[str, Any]) -> str:
    """The sound answer with other values at these places, as "stay.0.price.amount"; None takes the
    field away."""
    answer = copy.deepcopy(SOUND)
    for path, value in changes:
        *before, last = (int(step) if step.isdecimal() else step for step in path.split("."))
        place: Any = answer
        for step in before:
            place = place[step]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return json.dumps(answer)


def made_transcript(
    text: str, given: list[ToolCall] | None = None, shown: dict[int, str] | None = None
) -> Transcript:
    """The finished episode. `shown` replaces what the model saw of a call, by its number."""
    segments = [Segment("system", "Plan trips."), Segment("user", REQUEST.query)]
    for number, call in enumerate(given if given is not None else made_calls(), start=1):
        segments += [
            Segment("assistant", "<tool_call>…</tool_call>", call=call),
            Segment("tool", (shown or {}).get(number, call.result)),
        ]
    return typed(
        Transcript(
            [*segments, Segment("assistant", f"<answer>{text}</answer>")], StopReason.ANSWER, text
        )
    )


def judged(text: str, asked: TravelRequest | None = None, **more: Any) -> JointFinding:
    """judged(answer, request, given=calls, shown={number: text}): both levels of the rule form,
    every turn."""
    return joint(RuleVerifier(), asked or REQUEST, made_transcript(text, **more), every_turn=True)


def typed(transcript: Transcript) -> Transcript:
    """The same with the rows that a session would have kept of these answers, which stand here as
    JSON text alone."""
    segments = transcript.segments
    for place, segment in enumerate(segments):
        if segment.call is not None:
            told = segments[place + 1].text
            segment.call.rows = _rows(
                segment.call, segment.call.result if segment.call.result in told else told
            )
    return transcript


def _rows(call: ToolCall, shown: str) -> Rows:
    try:
        said = json.loads(shown)
    except ValueError:
        entries = _before_the_cut(shown)
        if entries is None:
            return Rows("text")
    else:
        if isinstance(said, dict) and "rows" not in said:
            return Rows(note=said.get("error", ""))
        entries = said["rows"] if isinstance(said, dict) else said
    records = [_record(call, entry) for entry in entries]
    fields = tuple(dict.fromkeys(name for record in records for name in record))
    values = tuple(tuple(record.get(name) for name in fields) for record in records)
    return Rows("", fields, values, total=len(records))


def _before_the_cut(shown: str) -> list[Any] | None:
    """The whole objects of `{"rows": [{…}, {…}, {"num`."""
    if not shown.startswith('{"rows": ['):
        return None
    place, entries = len('{"rows": ['), []
    while True:
        try:
            entry, place = json.JSONDecoder().raw_decode(shown, place)
        except ValueError:
            return entries
        entries.append(entry)
        place += len(", ")


def _record(call: ToolCall, entry: Any) -> dict[str, Any]:
    """By the names of the fields; an array is a row of the compact face."""
    if isinstance(entry, list):
        labels = ("row", *face_named("deeptravel_compact").tables[RECORDS[call.name]].labels)
        entry = dict(zip(labels, entry, strict=True))
    record = {name: value for name, value in entry.items() if name != "row"}
    nested = [name for name, value in record.items() if isinstance(value, dict)]
    return {
        **record,
        **{
            f"{name}.{inner}": value for name in nested for inner, value in record.pop(name).items()
        },
    }
