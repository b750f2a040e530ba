"""A small trip by hand: the request, five calls with their answers, a sound answer, and the
transcript that they make."""

import json
from typing import Any

from tripwright.domains import face_named
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.tools.answers import RECORDS
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


def _ride(
    number: str, ends: tuple[str, str], departs: str, arrives: str, minutes: int, price: float
) -> dict[str, Any]:
    return {
        "number": number,
        "operator": "Northern Rail",
        "depart_city": ends[0],
        "depart_station": f"{ends[0]} Station",
        "arrive_city": ends[1],
        "arrive_station": f"{ends[1]} Station",
        "departs_at": departs,
        "arrives_at": arrives,
        "minutes": minutes,
        "transfers": 0,
        "price": price,
        "currency": "USD",
    }


def _hotel(name: str, price: float, rating: float, address: str) -> dict[str, Any]:
    return {
        "name": name,
        "city": "Wuhan",
        "checkin_date": "2026-06-26",
        "checkout_date": "2026-06-28",
        "room": "double room",
        "address": address,
        "price": price,
        "currency": "USD",
        "rating": rating,
    }


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


def made_calls() -> list[ToolCall]:
    def answer(name: str, arguments: dict[str, Any], rows: list[dict[str, Any]]) -> ToolCall:
        body = {
            "rows": [{"row": n, **row} for n, row in enumerate(rows, 1)],
            "source": "closed world, 2026-06-20T09:30:00Z",
        }
        return ToolCall(name, arguments, json.dumps(body, ensure_ascii=False))

    way = {
        "origin": "Riverside Inn",
        "destination": "Old Lighthouse",
        "city": "Wuhan",
        "mode": "walking",
        "minutes": 18.0,
        "distance_km": 1.4,
    }
    return [
        answer(
            "train_search",
            {
                "depart_city_name": "Suzhou",
                "arrival_city_name": "Wuhan",
                "depart_date": "2026-06-26",
            },
            _THERE,
        ),
        answer(
            "hotel_search",
            {"city_name": "Wuhan", "checkin_date": "2026-06-26", "checkout_date": "2026-06-28"},
            _HOTELS,
        ),
        answer(
            "train_search",
            {
                "depart_city_name": "Wuhan",
                "arrival_city_name": "Suzhou",
                "depart_date": "2026-06-28",
            },
            _BACK,
        ),
        answer(
            "poi_search",
            {"query": "Old Lighthouse", "city_name": "Wuhan"},
            [{"name": "Old Lighthouse", "city": "Wuhan", "address": "1 Rua Nova"}],
        ),
        answer(
            "route_planning",
            {
                "origin_name": "Riverside Inn",
                "destination_name": "Old Lighthouse",
                "city_name": "Wuhan",
            },
            [way],
        ),
    ]


ANSWER = """A trip from Suzhou to Wuhan for two, 26 to 28 June.

### Outbound recommendations (2026-06-26)
#### G3124 train (Suzhou → Wuhan)
- **Recommendation**: departs Suzhou Station 06:54, arrives Wuhan Station 11:02 (4 h 8 min)
- **Price**: 233 USD per person
- **Why**: arrives before 15:00
- **Evidence**: [call 1, row 1]
### Stay recommendations (2026-06-26 to 2026-06-28)
#### Riverside Inn
- **Address**: 12 Mill Lane
- **Price**: 402 USD for the whole stay (2 nights)
- **Evidence**: [call 2, row 1]
### Return recommendations (2026-06-28)
#### G3127 train (Wuhan → Suzhou)
- **Recommendation**: departs Wuhan Station 18:10, arrives Suzhou Station 22:18
- **Price**: 233 USD per person
- **Evidence**: [call 3, row 1]
### Visits
#### Old Lighthouse
- **Way there**: 18 minutes walking from Riverside Inn (1.4 km)
- **Evidence**: [call 4, row 1], [call 5, row 1]
### Risks and alternatives
- If G3124 is sold out, D3056 leaves at 08:06 [call 1, row 2]
"""


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
        labels = face_named("deeptravel_compact").tables[RECORDS[call.name]].labels
        entry = dict(zip(labels, entry, strict=True))
    record = {name: value for name, value in entry.items() if name != "row"}
    nested = [name for name, value in record.items() if isinstance(value, dict)]
    return {
        **record,
        **{
            f"{name}.{inner}": value for name in nested for inner, value in record.pop(name).items()
        },
    }
