"""The rule form of both verifiers: deterministic, without a model, unmoved by instructions in the
answer or in tool data.

A transcript is read once: the last one is remembered, because the joint reward of row D5 asks for
its turns one after another.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims import Reader, Reading
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, evidence
from tripwright.domains.deeptravel.verifiers.feasibility import feasibility
from tripwright.domains.deeptravel.verifiers.findings import (
    TrajectoryFinding,
    TurnFinding,
    VerifierProblem,
)
from tripwright.domains.deeptravel.verifiers.fits import day, last_night_ends, same_place
from tripwright.domains.deeptravel.verifiers.grounding import AnswerGrounding, ground
from tripwright.transcript import Transcript


@dataclass(frozen=True)
class _Judged:
    answered: list[CallEvidence]
    reading: Reading
    grounding: AnswerGrounding


class RuleVerifier:
    """Rows D3 and D4 by rules. Never raises Unscored: there is nothing on our side that could
    fail."""

    name = "rules"

    def __init__(self) -> None:
        self._memory = threading.local()

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        if not (transcript.answer or "").strip():
            problem = VerifierProblem("no_answer", "There is no answer.")
            return TrajectoryFinding(
                "dissatisfied_incomplete", {"complete": False}, (problem,), problem.message
            )
        judged = self._judged(request, transcript)
        return feasibility(judged.reading, judged.grounding.chosen, judged.answered, request)

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        judged = self._judged(request, transcript)
        if not 1 <= call <= len(judged.answered):
            raise ValueError(
                f"the transcript has {len(judged.answered)} calls, asked for call {call}"
            )
        asked = tuple(_call_problems(judged.answered[call - 1], judged, request))
        if asked:
            return TurnFinding(
                call, "tool_call_logic_error", asked, " ".join(problem.message for problem in asked)
            )
        said = tuple(
            problem for problem in judged.grounding.problems if call in _calls_of(problem, judged)
        )
        reason = " ".join(problem.message for problem in said[:5])
        return TurnFinding(
            call,
            "inconsistent_with_response" if said else "satisfied",
            said,
            reason or "Nothing is wrong.",
        )

    def _judged(self, request: TravelRequest, transcript: Transcript) -> _Judged:
        last = getattr(self._memory, "last", None)
        if (
            last is not None
            and last[0] is transcript
            and last[1] == request
            and last[2] == (transcript.answer, len(transcript.segments))
        ):
            judged: _Judged = last[3]
            return judged
        answered = evidence(transcript)
        reading = Reader(answered, request).read(transcript.answer or "")
        judged = _Judged(answered, reading, ground(reading, answered, request))
        self._memory.last = (
            transcript,
            request,
            (transcript.answer, len(transcript.segments)),
            judged,
        )
        return judged


def _calls_of(problem: VerifierProblem, judged: _Judged) -> set[int]:
    """The calls whose turn a problem belongs to: the one it rests on; else, as something that no
    answer says, every call that was used."""
    if problem.call is not None:
        return {problem.call}
    return judged.grounding.used or {answered.number for answered in judged.answered}


def _call_problems(  # long: one question of a call after the other
    answered: CallEvidence, judged: _Judged, request: TravelRequest
) -> list[VerifierProblem]:
    """Whether a call that the answer rests on asked for what the traveller asked for. An
    exploration may ask for anything."""
    if answered.number not in judged.grounding.used:
        return []
    said, name = answered.call.arguments, answered.call.name
    wrong: list[str] = []
    if name in ("flight_search", "train_search"):
        ends = (str(said.get("depart_city_name", "")), str(said.get("arrival_city_name", "")))
        asked = {
            (request.origin, request.destination): request.depart_date,
            (request.destination, request.origin): request.return_date,
        }
        when = next(
            (
                when
                for pair, when in asked.items()
                if same_place(ends[0], pair[0]) and same_place(ends[1], pair[1])
            ),
            "?",
        )
        if when == "?":
            used = [row for row in judged.grounding.chosen.values() if row.call == answered.number]
            legs = [
                row
                for row in used
                if same_place(row.text("depart_city"), ends[0])
                and same_place(row.text("arrive_city"), ends[1])
            ]
            # a leg of a journey with a change is looked at as a journey, by the trajectory level
            if not legs or legs != used:
                wrong.append(f"asked for {ends[0]} to {ends[1]}")
            elif said.get("depart_date") not in _days_of_legs(ends, request) and not _is_spare_only(
                answered, judged
            ):
                wrong.append(f"asked for a leg on {said.get('depart_date')}")
        elif (
            when is not None
            and said.get("depart_date") != when
            and not _is_spare_only(answered, judged)
        ):
            wrong.append(f"asked for {said.get('depart_date')}, the traveller for {when}")
    elif name == "hotel_search":
        if not same_place(str(said.get("city_name", "")), request.destination):
            wrong.append(
                f"asked for {said.get('city_name')}, the traveller goes to {request.destination}"
            )
        arrivals = {
            row.text("arrives_at")[:10]
            for row in judged.grounding.chosen.values()
            if row.kind == "ride"
        } | {request.depart_date}
        if said.get("checkin_date") not in arrivals or said.get("checkout_date") != last_night_ends(
            request
        ):
            wrong.append(f"asked for {said.get('checkin_date')} to {said.get('checkout_date')}")
    elif name in ("poi_search", "route_planning") and not any(
        same_place(str(said.get("city_name", "")), city)
        for city in (request.origin, request.destination)
    ):
        wrong.append(f"asked in {said.get('city_name')}")
    return [
        VerifierProblem(
            "wrong_parameters", f"Call {answered.number}, {name}, {what}.", "", answered.number
        )
        for what in wrong
    ]


def _days_of_legs(ends: tuple[str, str], request: TravelRequest) -> set[str]:
    """The days that a leg of a journey with a change may be asked for: the first on the day of the
    trip, the next also a day later."""
    found: set[str] = set()
    for begin, asked in (
        (request.origin, request.depart_date),
        (request.destination, request.return_date or ""),
    ):
        first = day(asked)
        if first is not None:
            found |= (
                {asked}
                if same_place(ends[0], begin)
                else {asked, (first + timedelta(days=1)).isoformat()}
            )
    return found


def _is_spare_only(answered: CallEvidence, judged: _Judged) -> bool:
    """Whether the answer names this call's rows among the risks only."""
    chosen = judged.grounding.chosen.items()
    return all(
        entity in judged.reading.spares for entity, row in chosen if row.call == answered.number
    )
