"""A judge's endpoint on this machine that says what it is told to, and what is judged: a request,
an episode, judgements as text."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import completion
from tests.files import read_lines
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import RUBRICS
from tripwright.llm.client import ChatEndpoint
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript

Reply = tuple[int, bytes, dict[str, str]]

REQUEST = TravelRequest(
    id="r1",
    query="From Oldport to Millbrook on 26 June 2026, back on the 28th, one person.",
    origin="Oldport",
    destination="Millbrook",
    depart_date="2026-06-26",
    return_date="2026-06-28",
)
ROWS = {
    "rows": [{"row": 1, "number": "TW 214", "departs_at": "2026-06-26T06:54"}],
    "source": "made up",
}


def episode(
    answer: str | None = "### Outbound recommendations\n#### TW 214\n[call 1, row 1]",
    shown: str | None = None,
) -> Transcript:
    call = ToolCall("flight_search", {"depart_city_name": "Oldport"}, json.dumps(ROWS))
    segments = [
        Segment("assistant", "a call", call=call),
        Segment("tool", shown or call.result),
        Segment("assistant", answer or ""),
    ]
    return Transcript(segments, StopReason.ANSWER, answer)


def chat(content: str, finish: str = "stop", usage: dict[str, int] | None = None) -> Reply:
    counted = {"prompt_tokens": 1000, "completion_tokens": 100} if usage is None else usage
    return completion(content, finish, usage=counted)


def judgement(
    conclusion: str = "very_satisfied",
    unmet: tuple[str, ...] = (),
    keys: tuple[str, ...] = RUBRICS,
    reason: str = "As read.",
) -> str:
    rubrics = {key: "not_met" if key in unmet else "met" for key in keys}
    problems = [{"rubric": key, "said": "TW 214", "message": f"{key} is wrong"} for key in unmet]
    return json.dumps(
        {"reason": reason, "rubrics": rubrics, "problems": problems, "conclusion": conclusion}
    )


def turn_judgement(conclusion: str = "satisfied", unmet: tuple[str, ...] = ()) -> str:
    return judgement(conclusion, unmet, ("parameters", "reflects"))


class Judge:
    """A server that answers the n-th request with the n-th reply, the last one for ever; `takes`
    says which formats it accepts."""

    def __init__(self, serve: Callable[..., str]) -> None:
        self.replies: list[Reply | str] = [judgement()]
        self.requests: list[dict[str, Any]] = []
        self.takes_schema = True
        self._lock = threading.Lock()
        self.serve, self.url = serve, serve(self.answer)

    def answer(self, request: dict[str, Any]) -> Reply:
        with self._lock:
            self.requests.append(request)
            if "response_format" in request and not self.takes_schema:
                return (
                    400,
                    b'{"error": {"message": "This response_format type is unavailable now"}}',
                    {},
                )
            served = sum(
                self.takes_schema or "response_format" not in each for each in self.requests
            )
            reply = self.replies[min(served, len(self.replies)) - 1]
        return chat(reply) if isinstance(reply, str) else reply

    def endpoint(self, **settings: Any) -> ChatEndpoint:
        return ChatEndpoint(
            self.url,
            "judge",
            **{"timeout_s": 60.0, "max_retries": 1, "first_wait_s": 0.001, **settings},
        )


def lines(folder: Path) -> list[dict[str, Any]]:
    return read_lines(folder / "judgements.jsonl")


LIMITED: Reply = (429, b'{"error": {"message": "slow down"}}', {"Retry-After": "0"})
GOOD, BAD, WORSE = (
    judgement(),
    judgement("dissatisfied_logic", ("logic",)),
    judgement("dissatisfied_incomplete", ("complete",)),
)
