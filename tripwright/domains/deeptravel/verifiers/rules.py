"""The rule form of both verifiers: deterministic, without a model, unmoved by instructions in the
answer or in tool data. It judges answers in cards and reads no other.

A transcript is read once: the last one is remembered, because the joint reward of row D5 asks for
its turns one after another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

from tripwright.domains.deeptravel.answer.cards import NotCards, read_cards
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, evidence
from tripwright.domains.deeptravel.verifiers.fields import field_problems
from tripwright.domains.deeptravel.verifiers.findings import (
    TrajectoryFinding,
    TurnFinding,
    VerifierProblem,
)
from tripwright.domains.deeptravel.verifiers.itinerary import Itinerary, checkout_asked, same
from tripwright.domains.deeptravel.verifiers.trajectory import trajectory_of
from tripwright.transcript import Transcript


class _Judged(NamedTuple):
    trip: Itinerary | str  # or why the answer is outside the contract
    problems: tuple[VerifierProblem, ...]  # of its fields


class RuleVerifier:
    """Rows D3 and D4 by rules. Never raises NoVerdict: there is nothing on our side that could
    fail."""

    name = "rules"

    def __init__(self) -> None:
        self._memory = threading.local()

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        trip = self._judged(request, transcript).trip
        if isinstance(trip, str):
            problem = VerifierProblem("format", f"The answer is outside the contract: {trip}")
            return TrajectoryFinding(
                "dissatisfied_incomplete", {"complete": False}, (problem,), problem.message
            )
        return trajectory_of(trip)

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        """Raises ValueError for a call that was not made."""
        trip, problems = self._judged(request, transcript)
        if not 1 <= call <= len(transcript.calls):
            raise ValueError(
                f"the transcript has {len(transcript.calls)} calls, asked for call {call}"
            )
        if isinstance(trip, str):
            return TurnFinding(call, "inconsistent_with_response", (), trip)
        asked = tuple(call_problems(trip.answered[call - 1], trip))
        # what rests on no row that was shown belongs to every turn
        said = tuple(each for each in problems if each.call in (call, None))
        reason = " ".join(each.message for each in (asked or said)[:5]) or "Nothing is wrong."
        if asked:
            return TurnFinding(call, "tool_call_logic_error", asked, reason)
        return TurnFinding(
            call, "inconsistent_with_response" if said else "satisfied", said, reason
        )

    def _judged(self, request: TravelRequest, transcript: Transcript) -> _Judged:
        key = (transcript.answer, len(transcript.segments))
        last = getattr(self._memory, "last", None)
        if last is not None and last[0] is transcript and last[1:3] == (request, key):
            remembered: _Judged = last[3]
            return remembered
        try:
            trip = Itinerary(request, read_cards(transcript.answer or ""), evidence(transcript))
            judged = _Judged(trip, tuple(field_problems(trip)))
        except NotCards as problem:
            judged = _Judged(str(problem), ())
        self._memory.last = (transcript, request, key, judged)
        return judged


def call_problems(answered: CallEvidence, trip: Itinerary) -> Iterator[VerifierProblem]:
    """Whether a call that a recommendation rests on asked for what the traveller asked for. An
    exploration may ask for anything."""
    if answered.number not in trip.used:
        return
    request, said, name = trip.request, answered.call.arguments, answered.call.name
    right: dict[str, set[str]] = {}
    if name in ("flight_search", "train_search"):
        back = same(str(said.get("depart_city_name", "")), request.destination)
        begin, end = (request.origin, request.destination)[:: -1 if back else 1]
        right = {
            "depart_city_name": {begin},
            "arrival_city_name": {end},
            "depart_date": {(request.return_date or "") if back else request.depart_date},
        }
    elif name == "hotel_search":
        arrivals = {pick.row.text("arrives_at")[:10] for pick in trip.picks("outbound")}
        right = {
            "city_name": {request.destination},
            "checkin_date": arrivals | {request.depart_date},
            "checkout_date": {checkout_asked(request)},
        }
    elif name in ("poi_search", "route_planning"):
        right = {"city_name": {request.destination}}
    for argument, values in right.items():
        if not any(same(str(said.get(argument, "")), value) for value in values):
            expected = " or ".join(sorted(values))
            message = f"call {answered.number}, {name}, asked for {said.get(argument)!r}"
            yield VerifierProblem(
                "wrong_parameters",
                f"{argument}: {message}, the request needs {expected}.",
                str(said.get(argument)),
                answered.number,
                field=argument,
            )
