"""Makes travellers' requests from live services: which combinations of intents they can answer, and
what they answer (DeepTravel, Appendix A.3.1; row D8).

They are asked through the sandbox, which keeps their limits and, with a store, every answer: the
same command goes on where it was, and the requests can be replayed against the very answers that
prove them. What a service does not answer now costs a draw and proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from tripwright.domains.deeptravel.requests.intents import Combination
from tripwright.domains.deeptravel.requests.intents_draw import RejectedDraft, RequestScope
from tripwright.domains.deeptravel.sandbox.keys import checked_day
from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.tools.answers import Provenance, ProviderAnswer
from tripwright.domains.deeptravel.tools.live_catalog import AnswerSource, answer_of
from tripwright.errors import UserError
from tripwright.tools.answer import ToolError

WAYS = ("flight_search", "train_search")
STAYS, PLACES, ROUTES = "hotel_search", "poi_search", "route_planning"
MOST_FAULTS = 5  # in a row, each after the sandbox's own attempts: then a service counts as down
MOST_DAYS = 366
_NOTHING = ProviderAnswer((), Provenance("nobody", "", ""))


class LiveAsker:
    """For a `Survey`. A tool that nobody answers, a refusal and a search that is not recorded find
    nothing. What is found is data, as an agent will be shown it: no name can close a tag.

    `note` says what becomes of the answers so far where a service is down, for the message.
    """

    def __init__(self, source: AnswerSource, note: str = ""):
        self._source, self._kept, self._faults = source, note, 0

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises Rejected where a service did not answer, and UserError after MOST_FAULTS of these
        in a row."""
        if tool not in self._source.tools:
            return _NOTHING
        try:
            answer = answer_of(self._source, tool, arguments, tool)
        except ToolError:
            answer = _NOTHING
        except ProviderFault as fault:
            self._faults += 1
            if self._faults >= MOST_FAULTS:
                raise UserError(
                    f"{tool} was not answered {MOST_FAULTS} times in a row, the last time because:"
                    f" {fault}{self._kept}"
                ) from None
            raise RejectedDraft(f"{tool} was not answered") from None
        self._faults = 0
        return answer


def possible_with(tools: frozenset[str]) -> Callable[[Combination], bool]:
    """Whether these tools can answer a combination of intents. Raises UserError where they know no
    way at all."""
    if not tools.intersection(WAYS):
        raise UserError(
            f"Requests need {' or '.join(WAYS)}, found {', '.join(sorted(tools)) or 'no tool'}."
        )
    sights = {PLACES, ROUTES} <= tools

    def possible(combination: Combination) -> bool:
        stays = combination.shape == "one_way" or STAYS in tools
        return stays and (sights or not {"hotel_near", "visit"}.intersection(combination.wishes))

    return possible


def named_places(cities: str, days: str) -> RequestScope:
    """ "London, Paris" and "2026-06-26..2026-06-30, 2026-07-04". Raises UserError."""
    names = list(
        dict.fromkeys(" ".join(name.split()) for name in cities.split(",") if name.strip())
    )
    if len(names) < 2:
        raise UserError(
            f"Requests go from one city to another: found {', '.join(names) or 'none'} in --cities,"
            " expected at least two."
        )
    dates = {day for part in days.split(",") if part.strip() for day in _days(part.strip())}
    if not dates or len(dates) > MOST_DAYS:
        raise UserError(
            f"--days '{days}' names {len(dates)} days, expected 1 to {MOST_DAYS}, as in"
            " 2026-06-26..2026-06-30,2026-07-04."
        )
    return RequestScope(tuple(names), tuple(sorted(dates)))


def _days(part: str) -> list[str]:
    first, ranged, last = (text.strip() for text in part.partition(".."))
    try:
        start, end = (
            date.fromisoformat(checked_day(text)) for text in (first, last if ranged else first)
        )
    except UserError:
        raise UserError(
            f"--days: '{part}' is no day like 2026-06-26 and no range like 2026-06-26..2026-06-30."
        ) from None
    if end < start:
        raise UserError(f"--days: '{part}' ends before it begins.")
    if (end - start).days >= MOST_DAYS:
        raise UserError(
            f"--days: '{part}' is {(end - start).days + 1} days long, expected at most {MOST_DAYS}."
        )
    return [
        (start + timedelta(days=number)).isoformat() for number in range((end - start).days + 1)
    ]
