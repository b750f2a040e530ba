"""What a chat completion's request must be for the strictest of those who publish rules: OpenAI
(API reference, chat/create), DeepSeek (create-chat-completion) and, of the order of roles, the
chat templates of Mistral and Qwen."""

import json
import re
from typing import Any

KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    # thoughts: of those who told them apart themselves
    "assistant": {"role", "content", "tool_calls", "reasoning_content", "reasoning"},
    "tool": {"role", "content", "tool_call_id"},
}
# role → those it may stand behind; None: at the beginning
AFTER = {
    "system": {None},
    "user": {None, "system", "assistant"},
    "assistant": {"user", "tool"},
    "tool": {"assistant", "tool"},
}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def broken_rule(request: dict[str, Any]) -> str | None:
    """In the words of a refusal; None where the request is as published."""
    try:
        _check(request)
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as broken:
        return str(broken) or "a field has another type"
    return None


def _check(request: dict[str, Any]) -> None:
    assert request["model"] and request["messages"], "'model' and 'messages' are required"
    assert len(request.keys() & {"max_tokens", "max_completion_tokens"}) < 2, "two lengths"
    offered = request.get("tools")
    assert offered is None or offered, "[] is too short - 'tools'"
    for tool in offered or ():
        function = tool["function"]
        assert tool["type"] == "function" and NAME.fullmatch(function["name"]), "no function"
        assert function["parameters"]["type"] == "object", "parameters are an object"
    unanswered, before = set[str](), None
    for message in request["messages"]:
        role = message["role"]
        assert message.keys() <= KEYS[role], f"unknown keys in a message of role '{role}'"
        if role == "tool":
            assert message["tool_call_id"] in unanswered, (
                "messages with role 'tool' must be a response to a preceding 'tool_calls'"
            )
            unanswered.remove(message["tool_call_id"])
        else:
            assert not unanswered, "'tool_calls' must be followed by tool messages for each id"
        assert before in AFTER[role], f"role '{role}' behind '{before}'"
        before = role
        calls = message.get("tool_calls")
        parts = message["content"] if isinstance(message["content"], list) else None
        texts = [part["text"] for part in parts] if parts else [message["content"]]
        assert all(isinstance(text, str) for text in texts) or (calls and texts == [None]), (
            "no text"
        )
        assert calls is None or calls, "[] is too short - 'tool_calls'"
        for call in calls or ():
            assert offered and call["type"] == "function" and call["id"], "a call of no function"
            assert call["id"] not in unanswered, "two calls with one id"
            unanswered.add(call["id"])
            assert NAME.fullmatch(call["function"]["name"]), "a name does not match the pattern"
            arguments = json.loads(call["function"]["arguments"])
            assert isinstance(arguments, dict), "'function.arguments' must be a JSON object as text"
    assert before in ("user", "tool"), "the last message is the user's or a tool's"
