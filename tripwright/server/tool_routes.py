"""The tools of the trip server's world, as `serve tools` answers them, for programs: /v1/tools."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends
from starlette.exceptions import HTTPException

from tripwright.server.jobs import Agency
from tripwright.tools.toolbox import answered


def tool_routes(agency: Agency, caller: Any) -> APIRouter:
    """`caller` is the dependency that asks for a key, and keeps the pace."""
    face = agency.planners[agency.default_planner].dialect.face
    tools = agency.domain.tools(agency.place.source, face, None)
    names = [schema["function"]["name"] for schema in tools.schemas]
    router = APIRouter(prefix="/v1/tools", dependencies=[Depends(caller)])

    @router.get("")
    def schemas() -> dict[str, Any]:
        return {"face": face.name, "schemas": tools.schemas}

    @router.post("/{name}")
    def call(name: str, arguments: Annotated[dict[str, Any], Body()]) -> dict[str, Any]:
        """A wrong call is an answer with an error, as an agent would read it."""
        if name not in names:
            raise HTTPException(404, f"No tool '{name[:40]}'. There are {', '.join(names)}.")
        answer = answered(tools, name, arguments)
        rows = answer.rows(answer.text)
        return {
            "text": answer.text,
            "error": answer.error,
            "rows": None if rows is None else rows.to_json(),
        }

    return router
