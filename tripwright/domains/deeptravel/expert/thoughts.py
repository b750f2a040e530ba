"""The thoughts that the expert writes down, in the tags of Appendix A.2.1 (row D6): what was just
shown, and what comes next. Tiny models get the work alone, where their dialect shows it
(`work.py`)."""

from __future__ import annotations

from typing import Any

from tripwright.domains.deeptravel.cards import amount
from tripwright.domains.deeptravel.expert import words
from tripwright.domains.deeptravel.expert.choice import Choice
from tripwright.domains.deeptravel.expert.findings import Findings
from tripwright.domains.deeptravel.expert.observations import SeenAnswer
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.intents import wishes_of
from tripwright.domains.deeptravel.tools.answers import HotelOffer, RouteLeg


class Thoughts:
    def __init__(self, request: TravelRequest, silent: bool):
        self._request, self._silent = request, silent
        self._saw, self._begun = "", False
        self._work = ""  # since the last call

    def saw(self, answer: SeenAnswer) -> None:
        """What is thought of an answer, until a choice is made from it."""
        if not answer.rows:
            self._saw = (
                f"Nothing was found: {' '.join(answer.note.split())[:200]}"
                if answer.note
                else "Nothing was found."
            )
        elif isinstance(answer.rows[0].record, RouteLeg):
            way = min(
                (row.record for row in answer.rows if isinstance(row.record, RouteLeg)),
                key=lambda leg: leg.minutes,
            )
            self._saw = (
                f"The fastest way from {way.origin} to {way.destination} is {way.mode},"
                f" {amount(way.minutes)} min."
            )
        else:
            self._saw = "That is what I need."

    def chose(self, choice: Choice) -> None:
        if choice.first is None:
            return
        record = choice.first.record
        name = record.name if isinstance(record, HotelOffer) else record.number
        price = f" at {amount(record.price.amount)} {record.price.currency}" if record.price else ""
        if choice.unmet:
            self._saw = (
                f"Nothing {words.wishes(self._request, choice.unmet)}. The closest is"
                f" {name}{price}."
            )
        else:
            self._saw = f"{name}{price} is the best so far."

    def worked(self, words: str) -> None:
        """How the choice was made, which stands in place of what was chosen."""
        self._work = f"{self._work} {words}".strip()

    def _worked_out(self) -> str:
        """In silence nothing but the work is said, and that once."""
        words, self._work = self._work, ""
        tag = "tool_response_thinking" if self._begun else "think"
        self._begun = True
        return f"<{tag}>{words}</{tag}>" if words else ""

    def before_call(self, tool: str, arguments: dict[str, Any]) -> str:
        if self._silent:
            return self._worked_out()
        if not self._begun:
            self._begun = True
            wishes = words.wished(
                self._request, tuple(wish for wish in wishes_of(self._request) if wish in _SAID)
            )
            call = f" What is wished: {wishes}." if wishes else ""
            return f"<think>{words.trip(self._request)}.{call} {_next(tool, arguments)}</think>\n"
        saw, self._work = self._work or self._saw or "No answer came.", ""
        return f"<tool_response_thinking>{saw}</tool_response_thinking>\n<tool_call_thinking>{_next(tool, arguments)}</tool_call_thinking>\n"  # noqa: E501

    def before_answer(self, findings: Findings) -> str:
        if self._silent:
            return self._worked_out()
        all_met = all(
            choice.meets
            for choice in (findings.there, findings.back, findings.stay)
            if choice is not None and choice.rows
        )
        over = (
            findings.total is not None
            and findings.request.total_budget is not None
            and findings.total > findings.request.total_budget
        )
        rest = (
            "Everything asked for is met."
            if all_met and not over
            else "Not everything can be met, and I say so."
        )
        return (
            f"<tool_response_thinking>{self._work or self._saw} {rest}</tool_response_thinking>\n"
            if self._begun
            else f"<think>{rest}</think>\n"
        )


_SAID = frozenset((*words.OF_WAY_THERE, *words.OF_WAY_BACK, *words.OF_STAY))


def _next(tool: str, arguments: dict[str, Any]) -> str:
    if tool in ("flight_search", "train_search"):
        what = (
            "flights"
            if tool == "flight_search"
            else "trains, also with a change,"
            if arguments.get("is_transfer")
            else "trains"
        )
        return (
            f"I look for {what} from {arguments['depart_city_name']} to"
            f" {arguments['arrival_city_name']} on {arguments['depart_date']}."
        )
    if tool == "hotel_search":
        by_name = f" called {arguments['hotel_name']}" if arguments.get("hotel_name") else ""
        return (
            f"I look for a hotel{by_name} in {arguments['city_name']} from"
            f" {arguments['checkin_date']} to {arguments['checkout_date']}."
        )
    if tool == "route_planning":
        return (
            f"I look up the way from {arguments['origin_name']} to {arguments['destination_name']}."
        )
    return f"I look up where to find {arguments['query']} in {arguments['city_name']}."
