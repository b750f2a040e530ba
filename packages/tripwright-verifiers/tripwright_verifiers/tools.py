"""The tools of the rollouts' worlds, as one MCP server for all rollouts of a worker. What a rollout
has done is its state; the server has an episode at hand that follows it, and may lose that."""

import json
from functools import lru_cache
from typing import Any, cast

import verifiers.v1 as vf
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent, Tool

from tripwright.bridges import EpisodeFault, OpenEpisode
from tripwright.errors import UserError

Move = tuple[str, str]  # a tool and its arguments as JSON; without a tool, a message in words


class TripState(vf.State):
    """Of one rollout, shared by its task and the server of tools."""

    id: str = ""
    row: str = ""
    moves: list[Move] = []
    over: bool = False
    fault: str = ""  # of our side


@lru_cache(maxsize=512)
def _opened(_: str, row: str) -> tuple[OpenEpisode, list[Move]]:
    return OpenEpisode(json.loads(row)), []


def followed(state: TripState, *more: Move) -> tuple[OpenEpisode, str]:
    """A rollout's episode after its moves and some more, which its state then has as well, and what
    answers the last of them."""
    (episode, taken), shown = _opened(state.id, state.row), ""
    # of calls made at once, each came with the state from before all of them
    state.moves = [*max(taken, state.moves, key=len), *more]
    for name, said in state.moves[len(taken) :]:
        taken.append((name, said))
        shown = episode.call(name, said) if name else episode.answer(said)
    return episode, shown


class TripTools(vf.Toolset[vf.SharedToolsetConfig, TripState]):
    TOOL_PREFIX = None  # names as the worlds have them

    def register(self, mcp: MCPServer) -> None:
        server = cast(Any, mcp)  # @vf.tool would make schemas of its own
        server.list_tools = self._with_state(self.listed)
        server.call_tool = self._with_state(self.called)

    async def listed(self) -> list[Tool]:
        functions = [each["function"] for each in followed(self.state)[0].tools]
        return [Tool(input_schema=each.pop("parameters"), **each) for each in map(dict, functions)]

    async def called(self, name: str, arguments: dict[str, Any], _: Any = None) -> CallToolResult:
        try:
            episode, text = followed(self.state, (name, json.dumps(arguments)))
            self.state.over = episode.over
        except (EpisodeFault, UserError) as fault:
            text = self.state.fault = str(fault)
        return CallToolResult(content=[TextContent(type="text", text=text)])


if __name__ == "__main__":
    TripTools.run()
