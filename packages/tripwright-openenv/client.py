"""The client of a server in `server/`, for who holds the model and its loop."""

from collections.abc import Mapping
from typing import Any

from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.mcp_client import MCPToolClient


class TripwrightEnv(MCPToolClient):
    """An episode after the other, each client in a session of its own.

    with TripwrightEnv(base_url="http://127.0.0.1:8000").sync() as env:
        result = env.reset(split="train", index=0)
        messages, tools = result.observation.messages, result.observation.tool_schemas
        while not result.done:
            said = ask_the_model(messages, tools)  # a message of chat completions
            result = env.step(TripwrightEnv.action(said))
            messages += [said, TripwrightEnv.reply(said, result.observation)]
        print(result.reward, result.observation.metadata)
    """

    @staticmethod
    def action(message: Mapping[str, Any]) -> CallToolAction:
        """What a model's message asks of the environment: its first call, also one whose arguments
        are no JSON; a message without a native call is an answer, or what its dialect has."""
        said = message.get("content") or ""
        if not message.get("tool_calls"):
            return CallToolAction(tool_name="answer", arguments={"text": said})
        function = message["tool_calls"][0]["function"]
        written = {"said": said, "arguments": function["arguments"]}
        return CallToolAction(tool_name=function["name"], metadata=written)

    @staticmethod
    def reply(message: Mapping[str, Any], seen: CallToolObservation) -> dict[str, Any]:
        """The message that answers it."""
        calls = message.get("tool_calls")
        about = {"role": "tool", "tool_call_id": calls[0]["id"]} if calls else {"role": "user"}
        return about | {"content": seen.result}

    def _step_payload(self, action: Any) -> dict[str, Any]:
        return super()._step_payload(action) | {"metadata": action.metadata}  # which it leaves out
