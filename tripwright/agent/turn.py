"""Reads one assistant turn (rows P1, P2, S1): exactly one `<tool_call>{"name": …, "arguments": {…}}</tool_call>` or `<answer>…</answer>`.

A turn may open with a thought, `<think>…</think>`; what stands in there is no call and no answer, whatever tags it mentions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LONGEST_CALL = 4000  # characters; nothing the seven tools take is near it
MOST_BRACKETS = 100  # [ and {, which bounds the nesting: far below what overflows whatever walks the arguments later


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]

    @property
    def key(self) -> str:
        """Equal for calls that ask the same."""
        return self.name + json.dumps(self.arguments, sort_keys=True)


@dataclass(frozen=True)
class Answer:
    text: str


@dataclass(frozen=True)
class Unreadable:
    problem: str


def read_turn(text: str) -> Call | Answer | Unreadable:
    """Never raises. Free text around the call or the answer is the agent's reasoning and is allowed."""
    text = _without_thought(text)
    calls, answers = text.count("<tool_call>"), text.count("<answer>")
    if calls + answers != 1:
        return Unreadable(f"a turn holds one <tool_call> or one <answer>, this one has {calls} and {answers}")
    name = "tool_call" if calls else "answer"
    _, _, rest = text.partition(f"<{name}>")
    body, closed, after = rest.partition(f"</{name}>")
    if not closed:
        return Unreadable(f"<{name}> is not closed")
    if answers:
        return Answer(body.strip())
    if len(body) > LONGEST_CALL:
        return Unreadable("the tool call is too long")
    if body.count("[") + body.count("{") > MOST_BRACKETS:
        return Unreadable("the tool call is nested too deeply")
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return Unreadable("the tool call is not JSON")
    if not isinstance(call, dict) or not isinstance(call.get("name"), str) or not isinstance(call.get("arguments"), dict):
        return Unreadable('a tool call is {"name": …, "arguments": {…}}')
    return Call(call["name"], call["arguments"])


def _without_thought(text: str) -> str:
    """What follows the thought that a turn opens with; an unclosed one is read like any other text."""
    _, closed, rest = text.partition("</think>")
    return rest if closed and text.lstrip().startswith("<think>") else text


def write_call(name: str, arguments: dict[str, Any]) -> str:
    """The text of a tool call, without spaces between JSON tokens."""
    call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))
    return f"<tool_call>{call}</tool_call>"
