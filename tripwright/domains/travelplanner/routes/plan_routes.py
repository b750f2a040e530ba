"""Plans judged and made for programs: /v1/score and /v1/solve of the trip server answer as
`score --json` and `solve --json` do for one line, less its number."""

from __future__ import annotations

import threading
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import AfterValidator
from starlette.exceptions import HTTPException

from tripwright.domains.desk import FieldProblem, FormProblems
from tripwright.domains.place import Place
from tripwright.domains.travelplanner.oracle.options import at_most
from tripwright.domains.travelplanner.planning import solve_query
from tripwright.domains.travelplanner.query import query_to_plan
from tripwright.domains.travelplanner.rules.evaluate import Rules
from tripwright.domains.travelplanner.scoring.lines import BAD_LINE, LineReader
from tripwright.domains.travelplanner.scoring.score import judge_line, line_record
from tripwright.server.guard import Strict, sendable

SOLVE_SECONDS = 10.0
SOLVED_AT_ONCE = 2  # in each worker: a search leaves no core to others

Record = Annotated[dict[str, Any], AfterValidator(sendable)]


class PlanToScore(Strict):
    query: Record
    plan: Annotated[list[Any] | None, AfterValidator(sendable)]
    rules: Rules = "strict"


class QueryToSolve(Strict):
    query: Record
    cheapest: bool = False


async def sent_bytes(request: Request) -> bytes:
    return await request.body()


def router(place: Place, caller: Any) -> APIRouter:
    """`caller` is the dependency that asks for a key, and keeps the pace."""
    world, free = place.source, threading.BoundedSemaphore(SOLVED_AT_ONCE)
    reader = LineReader(world)
    router = APIRouter(prefix="/v1", dependencies=[Depends(caller)])

    @router.post("/score")
    def score(asked: PlanToScore, sent: Annotated[bytes, Depends(sent_bytes)]) -> dict[str, Any]:
        """The body is read as a line of a file of plans, so that a key that a day gives twice is
        seen here, too."""
        line = reader.line(1, sent)
        if line.error == BAD_LINE:
            raise FormProblems((FieldProblem("query", str(line.problem)),))
        judged = line_record(line, judge_line(line, world, asked.rules))
        del judged["line"]
        if "problem" in judged:
            judged["problem"] = judged["problem"].removeprefix("line 1: ")
        return judged

    @router.post("/solve")
    def solve(asked: QueryToSolve) -> dict[str, Any]:
        try:
            query = query_to_plan(asked.query)
        except ValueError as error:
            raise FormProblems((FieldProblem("query", str(error)),)) from None
        if not free.acquire(blocking=False):
            raise HTTPException(429, "Other requests are being solved.", {"Retry-After": "1"})
        try:
            with at_most(SOLVE_SECONDS):
                return dict(solve_query(query, world, asked.cheapest))
        finally:
            free.release()

    return router
