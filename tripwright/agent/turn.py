"""Reads one assistant turn (rows P1, P2, S1, D6): exactly one `<tool_call>{"name": …, "arguments":
{…}}</tool_call>` or one `<answer>…</answer>`.

A turn may open with a thought, `<think>…</think>`, or with those that its dialect has tags for
(`TurnFormat`); what stands in there is no call and no answer, whatever tags it mentions.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tripwright.agent.reasoning import without_reasoning
from tripwright.transcript import call_key

Notation = Literal["tool_call", "text", "search", "talk"]

LONGEST_CALL = 4000  # characters; nothing the tools take is near it
_SEARCH_TAGS = ("search", "answer")
# [ and {, which bounds the nesting: far below what overflows whatever walks the arguments later
MOST_BRACKETS = 100


@dataclass(frozen=True)
class TurnFormat:
    """How a dialect's turns look. `thoughts`: the tags that a turn may open with, in any order,
    `most_thoughts` in all. `function_calls`: whether a call may also be written
    `train_search(depart_city_name="Suzhou", …)`, with named arguments that are plain texts,
    numbers, True, False or None. `notation` "tool_call": rows P1 and P2. "text": no tools and no
    tags; the whole text of a turn is the answer, thoughts included, also where a token limit cut
    it. "search": Search-R1's `<search>words</search>` or `<answer>…</answer>`. "talk":
    `<tool_call>…</tool_call>`, and whatever holds none is said to the user; thoughts are left out
    wherever they stand, and however they were opened, because someone hears what is left.

    `least_thoughts` and `words_outside` say what a clean turn is, fit to be imitated; a turn is
    read without them."""

    thoughts: tuple[str, ...] = ("think",)
    most_thoughts: int = 1
    least_thoughts: int = 0
    words_outside: bool = True
    function_calls: bool = False
    notation: Notation = "tool_call"


ONE_THOUGHT = TurnFormat()
WHOLE_TEXT = TurnFormat(thoughts=(), most_thoughts=0, notation="text")
# row S10, as Search-R1 reads turns: tags in a thought count
SEARCH_TURNS = TurnFormat(thoughts=(), most_thoughts=0, notation="search")
TALK_TURNS = TurnFormat(notation="talk")


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]

    @property
    def key(self) -> str:
        return call_key(self.name, self.arguments)


@dataclass(frozen=True)
class Answer:
    text: str


@dataclass(frozen=True)
class Unreadable:
    problem: str


def read_turn(text: str, form: TurnFormat = ONE_THOUGHT) -> Call | Answer | Unreadable:
    """Never raises. Free text around the call or the answer is the agent's reasoning and is
    allowed."""
    if form.notation == "text":
        return Answer(text)
    if form.notation == "search":
        return _search_turn(text)
    text = without_reasoning(text) if form.notation == "talk" else _without_thoughts(text, form)
    if form.notation == "talk" and "<tool_call>" not in text:
        return Answer(text)
    calls, answers = text.count("<tool_call>"), text.count("<answer>")
    if calls + answers != 1:
        return Unreadable(
            f"a turn holds one <tool_call> or one <answer>, this one has {calls} and {answers}"
        )
    name = "tool_call" if calls else "answer"
    _, _, rest = text.partition(f"<{name}>")
    body, closed, after = rest.partition(f"</{name}>")
    if not closed:
        return Unreadable(f"<{name}> is not closed")
    if answers:
        return Answer(body.strip())
    if len(body) > LONGEST_CALL:
        return Unreadable("the tool call is too long")
    if form.function_calls and not body.lstrip().startswith("{"):
        return _function_call(body.strip())
    if body.count("[") + body.count("{") > MOST_BRACKETS:
        return Unreadable("the tool call is nested too deeply")
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return Unreadable("the tool call is not JSON")
    if (
        not isinstance(call, dict)
        or not isinstance(call.get("name"), str)
        or not isinstance(call.get("arguments"), dict)
    ):
        return Unreadable('a tool call is {"name": …, "arguments": {…}}')
    return Call(call["name"], call["arguments"])


def _search_turn(text: str) -> Call | Answer | Unreadable:
    """As in Search-R1's `generation.py`: the turn ends with its first `</search>`, else with its
    first `</answer>`; of what is left, the first pair of tags counts."""
    for tag in _SEARCH_TAGS:
        head, closed, _ = text.partition(f"</{tag}>")
        if closed:
            text = head + closed
            break
    pairs: dict[int, tuple[str, str]] = {}  # where it opens → tag, what stands in it
    for tag in _SEARCH_TAGS:
        at = text.find(f"<{tag}>")
        end = text.find(f"</{tag}>", at) if at >= 0 else -1
        if end >= 0:
            pairs[at] = (tag, text[at + len(tag) + 2 : end].strip())
    if not pairs:
        return Unreadable("a turn holds <search>…</search> or <answer>…</answer>")
    tag, body = pairs[min(pairs)]
    return Answer(body) if tag == "answer" else Call("search", {"query": body})


def _without_thoughts(text: str, form: TurnFormat) -> str:
    """What follows the thoughts that a turn opens with; an unclosed one is read like any other
    text."""
    for _ in range(form.most_thoughts):
        opened = next((tag for tag in form.thoughts if text.lstrip().startswith(f"<{tag}>")), None)
        _, closed, rest = text.partition(f"</{opened}>") if opened else ("", "", "")
        if not closed:
            break
        text = rest
    return text


_CALLED = re.compile(r"([A-Za-z_]\w{0,99})\s*\(")
_NAMED = re.compile(
    r"""\s*([A-Za-z_]\w{0,99})\s*=\s*("(?:[^"\\\n]|\\["'\\])*"|'(?:[^'\\\n]|\\["'\\])*'|[^\s,()"']{1,30})\s*(,|\))"""
)
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?|True|False|None")


def _function_call(body: str) -> Call | Unreadable:
    """The paper's own notation, read piece by piece: nothing is parsed as Python but single
    literals."""
    expected_form = 'a tool call is {"name": …, "arguments": {…}} or tool(argument="…", …)'
    head = _CALLED.match(body)
    if head is None:
        return Unreadable(expected_form)
    arguments: dict[str, Any] = {}
    at, ended = head.end(), False
    if re.fullmatch(r"\s*\)", body[at:]):
        return Call(head[1], arguments)
    while not ended:
        argument = _NAMED.match(body, at)
        if argument is None or (argument[2][0] not in "\"'" and not _PLAIN.fullmatch(argument[2])):
            return Unreadable(expected_form)
        if argument[1] in arguments:
            return Unreadable(f"the tool call says '{argument[1]}' twice")
        arguments[argument[1]] = ast.literal_eval(argument[2])
        at, ended = argument.end(), argument[3] == ")"
        if not ended and re.fullmatch(r"\s*\)", body[at:]):  # a comma after the last
            at, ended = len(body), True
    return Unreadable(expected_form) if body[at:].strip() else Call(head[1], arguments)


def write_call(name: str, arguments: Mapping[str, Any]) -> str:
    """The text of a tool call, without spaces between JSON tokens."""
    call = json.dumps(
        {"name": name, "arguments": arguments}, ensure_ascii=False, separators=(",", ":")
    )
    return f"<tool_call>{call}</tool_call>"
