"""The agent as OpenAI's chat completions, so that chat programs can talk to it (docs/serving.md).

The last words of the conversation that are a whole request become a trip like any other, with its
limits and its log; what is looked up comes as `reasoning_content`, the plan as text. Words that are
no request are answered by what was not understood. Sampling settings have no meaning here, and are
not read."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import MinLen
from anyio import to_thread
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, StreamingResponse

from tripwright.domains.desk import FormProblems
from tripwright.errors import counted
from tripwright.llm.paid_calls import COUNTED

if TYPE_CHECKING:
    from tripwright.server.trips import TripRoutes

MOST_TOGETHER = 4  # of the last messages of a user, that are read as one text
Json = dict[str, Any]


class ChatMessage(BaseModel):
    role: str
    content: str | list[Json] | None = None

    @property
    def text(self) -> str:
        said = self.content if isinstance(self.content, list) else [{"text": self.content}]
        return "\n".join(str(part["text"]) for part in said if part.get("text"))


class AskedChat(BaseModel):
    model: str
    messages: Annotated[list[ChatMessage], MinLen(1)]
    stream: bool = False
    stream_options: Json | None = None


class ChatAnswer(BaseModel):
    id: str
    object: str
    created: int
    model: str
    choices: list[Json]
    usage: dict[str, int] | None = None


class ChatRoutes:
    def __init__(self, trips: TripRoutes):
        self._trips = trips
        self.router = router = APIRouter(prefix="/v1")
        router.add_api_route("/models", self.models, methods=["GET"])
        router.add_api_route(
            "/chat/completions",
            self.chat,
            methods=["POST"],
            response_model=None,
            responses={200: {"model": ChatAnswer, "content": {"text/event-stream": {}}}},
        )

    def models(self, request: Request) -> Json:
        """Who plans."""
        self._trips.owner(request)
        same = {"object": "model", "created": 0, "owned_by": "tripwright"}
        return {"object": "list", "data": [{"id": name, **same} for name in self._trips.planners]}

    async def chat(self, asked: AskedChat, request: Request) -> Response:
        begin = partial(self._begun, asked, request)
        begun = await to_thread.run_sync(begin, limiter=self._trips.readers)
        about = {"id": f"chatcmpl-{begun.get('id', 'none')}", "created": int(time.time())}
        about |= {"model": asked.model, "object": "chat.completion" + ".chunk" * asked.stream}
        said = self._said(begun)
        if asked.stream:
            counts = bool((asked.stream_options or {}).get("include_usage"))
            return StreamingResponse(_chunks(about, said, counts), media_type="text/event-stream")
        message, usage = {"role": "assistant", "content": "", "reasoning_content": ""}, None
        async for name, part in said:
            if name == "usage":
                usage = part
            else:
                message[name] += part
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return JSONResponse({**about, "choices": [choice], "usage": usage})

    def _begun(self, asked: AskedChat, request: Request) -> Json:
        """A trip, or {"words"} that answer what is none."""
        texts = [each.text for each in asked.messages if each.role == "user" and each.text]
        asker, why = self._trips.paced(request), "Say where from, where to and when."
        for count in range(1, min(len(texts), MOST_TOGETHER) + 1):
            try:
                return self._trips.begin(
                    request, asker, text="\n".join(texts[-count:]), planner=asked.model
                )
            except FormProblems as wrong:
                why = str(wrong)
        return {"words": why}

    async def _said(self, begun: Json) -> AsyncIterator[tuple[str, Any]]:
        """Pieces of the message by its parts; the usage last."""
        usage = dict.fromkeys(COUNTED[:2], 0)
        if "id" not in begun:
            yield "content", begun["words"]
        else:
            async for name, part in self._planned(begun["id"]):
                yield name, part
            record = await run_in_threadpool(self._trips.store.record, begun["id"])
            stated = record["transcript"].get("usage") or {} if record else {}
            usage = {name: int(stated.get(name, 0)) for name in usage}
        yield "usage", {**usage, "total_tokens": sum(usage.values())}

    async def _planned(self, id: str) -> AsyncIterator[tuple[str, str]]:
        try:
            async for event in self._trips.events_of(id, 0):
                body = json.loads(event["data"])
                if event["event"] == "call":
                    told = ", ".join(
                        f"{name}: {value}" for name, value in body["arguments"].items()
                    )
                    yield "reasoning_content", f"{body['tool']} ({told}) … "
                elif event["event"] == "answer":
                    rows = body["rows"]
                    outcome = "refused" if body["error"] else counted(len(rows or ()), "row")
                    yield "reasoning_content", f"{outcome}\n"
                elif event["event"] == "done":
                    yield "content", "\n".join(plan_lines(body))
        finally:  # nobody reads on: a trip that is done stays as it is
            self._trips.store.finish(id, "cancelled", {})


async def _chunks(
    about: Json, said: AsyncIterator[tuple[str, Any]], counts: bool
) -> AsyncIterator[str]:
    def event(*choices: Json, **more: Any) -> str:
        return f"data: {json.dumps({**about, 'choices': choices, **more})}\n\n"

    def new(ended: str | None = None, **delta: str) -> str:
        return event({"index": 0, "delta": delta, "finish_reason": ended})

    yield new(role="assistant", content="")
    async for name, part in said:
        if name == "usage":
            yield new("stop")
            if counts:
                yield event(usage=part)
        else:
            yield new(**{name: part})
    yield "data: [DONE]\n\n"


def plan_lines(trip: Json) -> Iterator[str]:
    """A finished trip in Markdown."""
    yield f"Understood: {trip.get('sentence') or trip['words']}\n"
    if trip.get("cannot"):
        yield f"Cannot be kept here: {'; '.join(trip['cannot'])}\n"
    view, no_plan = trip["view"], trip["no_plan"]
    if no_plan:
        yield "There is no such trip."
        yield from (f"- {why}" for why in no_plan["why"])
        if no_plan["changes"]:
            yield "\nWhat would help:"
            yield from (f"- {change['words']}" for change in no_plan["changes"])
    elif view is None:
        yield trip["error"] or "No plan came out."
    else:
        yield f"## {view['title']}"
        for part in view["parts"]:
            yield f"\n**{part['title']}**, {', '.join(filter(None, (part['date'], part['where'])))}"
            yield from (_line(item, view["currency"]) for item in part["items"])
            yield from (f"- ✗ {remark}" for remark in part["remarks"])
        if view["cost"] is not None:
            budget = "" if view["budget"] is None else f" of {view['budget']:,.2f}"
            yield f"\n**Total**: {view['cost']:,.2f}{budget} {view['currency']}"
        yield from ("", *view["notes"])
        failed = [check["title"] for check in view["checks"] if check["state"] == "failed"]
        if view["passed"]:
            yield "✓ All that was checked is kept."
        else:
            yield f"✗ Not kept: {'; '.join(failed) or 'what was asked for'}."


def _line(item: Json, currency: str) -> str:
    times = "–".join(each[11:16] for each in (item["starts"], item["ends"]) if each and each[11:16])
    cost = "" if item["cost"] is None else f"{item['cost']:,.2f} {currency}"
    facts = (f"{label}: {text}" for label, text in item["facts"])
    known = ", ".join(filter(None, (times, cost, *facts, *item["remarks"])))
    line = f"- {'or: ' if item['alternative'] else ''}{item['label']}: {item['text']}"
    return f"{line}; {known}" if known else line
