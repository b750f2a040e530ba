"""A world for assistants that speak MCP, over stdio or streamable HTTP: its tools as agents call
them and, where its domain has a desk and plans as data, the exact planner and the judge.

Words of a request that nobody understands are named, and nothing is planned or judged without them.
What cannot be done is a tool's error of one line. Nothing is kept between two calls."""

from __future__ import annotations

import atexit
import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from tripwright import __version__
from tripwright.domains import alike, domain_of_face, face_named, faces, open_folder
from tripwright.domains.desk import FormProblems
from tripwright.domains.domain import Domain
from tripwright.domains.place import Place
from tripwright.errors import UserError, described, one_line, printable
from tripwright.tools.toolbox import ToolHostDown, answered

PLAN_SECONDS = 30.0  # of one search; assistants wait for a minute or so
PLANNED_AT_ONCE = 2  # a search leaves no core to others; more wait for their turn
PLANNING = {
    "plan_trip": "Plan a trip exactly, within its budget and with every wish kept. Gives the plan"
    " by days, its cost in US dollars and the judge's verdict; or why there is no such plan.",
    "explain_infeasible": "Say why a trip has no plan: requirements that cannot be met together,"
    " each of them needed for the conflict, and single changes after which there is a plan.",
    "score_plan": "Judge a plan, rule by rule and with its cost; `final` says whether it passes."
    " The plan is a list of days as plan_trip gives it.",
}
Json = dict[str, Any]


class AssistantTools:
    """What an assistant may call at a place, the planner and the judge last. Tools of the world
    answer in a face, by default the first."""

    def __init__(self, domain: Domain, place: Place, face: str | None):
        self.domain, self.place = domain, place
        known = faces(alike(self.domain))
        self.box = self.place.tools(face_named(face or next(iter(known)), known))
        self.listed = [_tool(**schema["function"]) for schema in self.box.schemas]
        if self.domain.desk is None or self.domain.plans is None:
            return
        self.desk, self.plans, self.judge = self.domain.desk, self.domain.plans, self.domain.judge
        about = "The whole request in words, all of them understood; or else the fields."
        fields: Json = {"text": {"type": "string", "description": about}}
        fields |= {field.name: field.schema() for field in self.desk.form(self.place)}
        rules = {"type": "string", "enum": list(self.judge.rules)}
        plan = {"type": "array", "items": {"type": "object"}}
        for name, description in PLANNING.items():
            own = {"plan": plan, "rules": rules} if name == "score_plan" else {}
            schema = {"type": "object", "properties": fields | own, "required": list(own)[:1]}
            self.listed.append(_tool(schema, name=name, description=description))

    def call(self, name: str, said: Json) -> types.CallToolResult:
        found, is_error = None, False
        try:
            if name not in (names := [tool.name for tool in self.listed]):
                raise UserError(f"Unknown tool {printable(name)}. Accepted: {', '.join(names)}.")
            if name in PLANNING:
                found = self._score(dict(said)) if name == "score_plan" else self._plan(name, said)
                text = json.dumps(found, ensure_ascii=False)
            else:
                answer = answered(self.box, name, said)
                text, is_error = answer.text, answer.error
        except FormProblems as wrong:  # an assistant knows fields by their names, not their labels
            known = ", ".join(field.name for field in self.desk.form(self.place))
            named = [f"{each.field}: {each.message}" for each in wrong.problems]
            text, is_error = one_line(f"{' '.join(named)} Accepted: {known}, or text."), True
        except (UserError, ToolHostDown) as problem:
            text, is_error = one_line(str(problem)), True
        content: list[Any] = [types.TextContent(text=text)]
        return types.CallToolResult(content=content, structured_content=found, is_error=is_error)

    def _plan(self, name: str, said: Json) -> Json:
        (request, cannot), why = self._request(said), name == "explain_infeasible"
        source, rules = self.place.source, self.judge.rules_named(None)
        with self.plans.at_most(PLAN_SECONDS):
            solved = self.plans.solve(request, source, False, None, why, rules)
        found = {"query": request.record(), **({"cannot": cannot} if cannot else {}), **solved}
        if (plan := solved["plan"]) is not None:
            found["verdict"] = self.plans.judge(request, plan, source, rules).record()
        return found

    def _score(self, said: Json) -> Json:
        plan, rules = said.pop("plan", None), self.judge.rules_named(said.pop("rules", None))
        if not isinstance(plan, list):
            raise UserError(f"plan: expected a list of days, found {described(plan)}.")
        return self.plans.judge(self._request(said)[0], plan, self.place.source, rules).record()

    def _request(self, fields: Json) -> tuple[Any, Sequence[str]]:
        """And wishes that were understood and that nothing here can keep."""
        if "text" not in fields:
            return self.desk.request(fields, self.place), ()
        if len(fields) > 1 or not isinstance(fields["text"], str):
            found = ", ".join(f"{name} ({described(value)})" for name, value in fields.items())
            raise UserError(f"Give the request as a text, or in fields: found {found}.")
        understood = self.desk.read(fields["text"], self.place)
        if unclear := understood.problem or " ".join(understood.missing.values()):
            raise UserError(f"The request is not understood: {unclear}")
        return self.desk.request(understood.values, self.place), understood.cannot


def _tool(parameters: Json, **named: Any) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.Tool(input_schema=parameters, annotations=hints, **named)


@contextmanager
def mcp_server(world: Path, face: str | None) -> Iterator[Server[Any]]:
    """Of the world in a folder, which is open meanwhile."""
    with open_folder(world, domain_of_face(face) if face else None) as where:
        tools, searches = AssistantTools(*where, face), CapacityLimiter(PLANNED_AT_ONCE)

        async def listed(_: Any, __: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=tools.listed)

        async def call(_: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
            turn, said = searches if asked.name in PLANNING else None, asked.arguments or {}
            return await to_thread.run_sync(tools.call, asked.name, said, limiter=turn)

        yield Server("tripwright", version=__version__, on_list_tools=listed, on_call_tool=call)


def mcp_app(world: Path, face: str | None) -> Any:
    """What a worker runs. Our guard stands before it, in place of the package's own."""
    opened = ExitStack()
    atexit.register(opened.close)
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    how: Json = {"stateless_http": True, "json_response": True, "transport_security": unguarded}
    return opened.enter_context(mcp_server(world, face)).streamable_http_app(**how)


async def serve_stdio(server: Server[Any]) -> None:
    """Until stdin ends. The package keeps stdout for the protocol, whoever prints."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that reads cannot be interrupted
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
