"""What a rater may know of a transcript: the request, the answer, the tool calls with their answers, the seconds it took. Not the run, not
the model, not what the agent thought, not what the judge or the oracle said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tripwright.domains.travelplanner.plan.render import LABELS, day_rows, printable
from tripwright.transcript import Transcript

# Field of a request → how a person calls it: TravelPlanner's names first, then those of row D8's travellers.
FIELDS = {
    "org": "From",
    "dest": "To",
    "days": "Days",
    "date": "Dates",
    "visiting_city_number": "Cities to visit",
    "people_number": "People",
    "budget": "Budget (USD)",
    "house rule": "House rule",
    "room type": "Room",
    "cuisine": "Cuisines",
    "transportation": "Transport",
    "origin": "From",
    "destination": "To",
    "depart_date": "Leaves",
    "return_date": "Returns",
    "nights": "Nights",
    "party_size": "People",
    "transport": "Transport",
    "depart_after": "Departs after",
    "arrive_by": "Arrives by",
    "return_after": "Returns after",
    "return_by": "Home by",
    "total_budget": "Budget in all",
    "nightly_budget": "Budget a night",
    "hotel": "Hotel",
    "hotel_near": "Hotel near",
    "visit": "To visit",
}
MONEY = ("total_budget", "nightly_budget")


def request_of(record: Mapping[str, Any]) -> Any:
    """The request of a line of transcripts: `request` (row D8) or `query` (TravelPlanner); None where there is neither."""
    return record["request"] if record.get("request") is not None else record.get("query")


def blind_content(record: Mapping[str, Any], transcript: Transcript) -> dict[str, Any]:
    """The part of an item of `items.jsonl` that describes one transcript."""
    request = request_of(record)
    seconds = transcript.usage.get("seconds")
    return {
        "request": _request(request),
        "answer": _answer(record.get("plan"), request, transcript),
        "calls": list(_calls(transcript)),
        "seconds": round(float(seconds), 1) if isinstance(seconds, int | float) else None,
    }


def _request(request: Any) -> dict[str, Any]:
    if not isinstance(request, Mapping):
        return {"text": str(request or ""), "facts": []}
    wishes = request.get("local_constraint")
    said = {**request, **(wishes if isinstance(wishes, Mapping) else {})}
    facts = [[label, text] for field, label in FIELDS.items() if (text := _fact(field, said))]
    return {"text": str(request.get("query") or ""), "facts": facts}


def _fact(field: str, said: Mapping[str, Any]) -> str:
    value = said.get(field)
    if value in (None, "", [], (), {}):
        return ""
    if field == "date" and isinstance(value, Sequence) and not isinstance(value, str):
        return printable(f"{value[0]} to {value[-1]}")
    if isinstance(value, list | tuple):
        return printable(", ".join(str(part) for part in value))
    money = f" {said.get('currency') or 'USD'}" if field in MONEY else ""
    return printable(f"{value:,.12g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)) + money


def _answer(plan: Any, request: Any, transcript: Transcript) -> dict[str, Any]:
    """Markdown, a plan by days, text that is neither, or why there is none."""
    if isinstance(plan, list) and plan:
        return {"kind": "plan", "days": _days(plan, request)}
    if transcript.answer is None or not transcript.answer.strip():
        why = str(transcript.stop_reason or "unknown").replace("_", " ")
        return {"kind": "none", "why": "the answer is empty" if transcript.answer is not None else why}
    text = transcript.answer.strip()
    return {"kind": "text" if text[0] in "[{" and text[-1] in "]}" else "markdown", "text": text}


def _days(plan: list[Any], request: Any) -> list[dict[str, Any]]:
    dates = request.get("date") if isinstance(request, Mapping) else None
    days = []
    for row in day_rows(plan, None):
        date = printable(dates[row.number - 1]) if isinstance(dates, list) and row.number <= len(dates) else ""
        lines = [[LABELS.get(field, field), *pieces] for field, pieces in row.pieces.items()]
        days.append({"number": row.number, "date": date, "city": row.city if row.odd is None else row.odd, "lines": lines})
    return days


def _calls(transcript: Transcript) -> Iterator[dict[str, Any]]:
    """`shown` is what the agent was given instead, where its text does not hold the tool's whole answer: a page of it, or a fault."""
    segments = transcript.segments
    for place, segment in enumerate(segments):
        if segment.call is None:
            continue
        call = segment.call
        after = segments[place + 1] if place + 1 < len(segments) else None
        told = segment if segment.role == "tool" else after if after is not None and after.role == "tool" else None
        content: dict[str, Any] = {"name": call.name, "arguments": call.arguments, "result": call.result, "error": call.error}
        if told is not None and call.result not in told.text:
            content["shown"] = told.text
        yield content
