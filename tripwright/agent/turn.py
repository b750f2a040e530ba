"""Reads one assistant turn (rows P1, P2, S1, S5, D6): one `<tool_call>{"name": …, "arguments":
{…}}</tool_call>` or one `<answer>…</answer>`.

A turn may open with a thought, `<think>…</think>`, or with those that its dialect has tags for
(`TurnFormat`); what stands in there is no call and no answer, whatever tags it mentions, and so is
what stands before a `</think>` without an opening tag. This is
the one place that says whether a turn is in its dialect's format: what is not is `Unreadable`, and
so has no answer that reward, evaluation or the choice of training data could count.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

LONGEST_CALL = 4000  # characters; nothing the tools take is near it
# [ and {, which bounds the nesting: far below what overflows whatever walks the arguments later
MOST_BRACKETS = 100


@dataclass(frozen=True)
class TurnFormat:
    """How a dialect's turns look. `thoughts`: the tags that a turn may open with, each once and in
    this order, `least_thoughts` at the least. Without `words_outside` a turn is its thoughts and
    then the call or the answer, with nothing before, between or after them but white space
    (STAR, Appendix E; DeepTravel, A.2.1); with it, other words are the agent's reasoning.
    `function_calls`: whether a call may also be written
    `train_search(depart_city_name="Suzhou", …)`, with named arguments that are plain texts,
    numbers, True, False or None."""

    thoughts: tuple[str, ...] = ("think",)
    least_thoughts: int = 0
    words_outside: bool = True
    function_calls: bool = False


ONE_THOUGHT = TurnFormat()
EITHER_NOTATION = TurnFormat(function_calls=True)


@dataclass(frozen=True)
class Call:
    """The first call of a turn. `alone`: the turn holds no other call and no answer."""

    name: str
    arguments: dict[str, Any]
    alone: bool = True


@dataclass(frozen=True)
class Answer:
    text: str


@dataclass(frozen=True)
class Unreadable:
    problem: str


def read_turn(text: str, form: TurnFormat = ONE_THOUGHT) -> Call | Answer | Unreadable:
    """Never raises. Of a turn with several calls, or a call and an answer, the first call is read:
    whether that is a mistake the dialect says (`on_parallel`)."""
    thoughts, rest, stray = opening_thoughts(text, form)
    if len(thoughts) < form.least_thoughts:
        return Unreadable(f"a turn opens with {_tags(form)}, this one does not")
    if stray and not form.words_outside:
        return Unreadable(f"each of {_tags(form)} stands once, where a turn opens, and in order")
    calls, answers = rest.count("<tool_call>"), rest.count("<answer>")
    if calls == 0 and answers != 1:
        return Unreadable(
            f"a turn holds one <tool_call> or one <answer>, this one has {calls} and {answers}"
        )
    name = "tool_call" if calls else "answer"
    before, _, rest = rest.partition(f"<{name}>")
    body, closed, after = rest.partition(f"</{name}>")
    if not closed:
        return Unreadable(f"<{name}> is not closed")
    alone = calls + answers == 1
    if not form.words_outside and (before.strip() or (alone and after.strip())):
        return Unreadable(
            f"words stand outside the tags, {'before' if before.strip() else 'after'} <{name}>"
        )
    if not calls:
        return Answer(body.strip())
    if len(body) > LONGEST_CALL:
        return Unreadable("the tool call is too long")
    if form.function_calls and not body.lstrip().startswith("{"):
        return _function_call(body.strip(), alone)
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
    return Call(call["name"], call["arguments"], alone)


class Opening(NamedTuple):
    """What a turn opens with: its thoughts' texts, what follows them, and whether tags of thoughts
    stand anywhere else."""

    thoughts: list[str]
    rest: str
    stray: bool


def opening_thoughts(text: str, form: TurnFormat) -> Opening:
    """Each tag once and in the form's order; an unclosed thought is read like any other text. Of
    one that was never opened the closing tag is a stray one."""
    thoughts, rest = list[str](), opened(text, form)
    unopened = rest != text
    for tag in form.thoughts:
        head, begun, body = rest.partition(f"<{tag}>")
        if not begun or head.strip():
            continue
        thought, closed, after = body.partition(f"</{tag}>")
        if closed:
            rest = after
            thoughts.append(thought)
    elsewhere = "".join([*thoughts, rest])
    stray = unopened or any(
        mark in elsewhere for tag in form.thoughts for mark in (f"<{tag}>", f"</{tag}>")
    )
    return Opening(thoughts, rest, stray)


def opened(text: str, form: TurnFormat) -> str:
    """The turn, and where it has the closing tag of a thought and no opening one before it, with
    that: the thought reaches to the last closing tag."""
    opening, closing = f"<{form.thoughts[0]}>", f"</{form.thoughts[0]}>"
    if closing not in text or opening in text.partition(closing)[0]:
        return text
    thought, _, rest = text.rpartition(closing)
    return _written(thought, form) + rest


def _written(thought: str, form: TurnFormat) -> str:
    """Tags that it mentions lose their brackets, so that it ends where it ends."""
    for tag in form.thoughts:
        thought = thought.replace(f"<{tag}>", tag).replace(f"</{tag}>", f"/{tag}")
    return f"<{form.thoughts[0]}>{thought}</{form.thoughts[0]}>"


def with_thought(text: str, form: TurnFormat, thought: str = "") -> str:
    """The turn with this thought, where the format asks for one and the turn has none."""
    if len(opening_thoughts(text, form).thoughts) >= form.least_thoughts:
        return text
    return f"{_written(thought, form)}\n{text}"


def _tags(form: TurnFormat) -> str:
    return " or ".join(f"<{tag}>…</{tag}>" for tag in form.thoughts)


_CALLED = re.compile(r"([A-Za-z_]\w{0,99})\s*\(")
_NAMED = re.compile(
    r"""\s*([A-Za-z_]\w{0,99})\s*=\s*("(?:[^"\\\n]|\\["'\\])*"|'(?:[^'\\\n]|\\["'\\])*'|[^\s,()"']{1,30})\s*(,|\))"""
)
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?|True|False|None")


def _function_call(body: str, alone: bool) -> Call | Unreadable:
    """The paper's own notation, read piece by piece: nothing is parsed as Python but single
    literals."""
    expected_form = 'a tool call is {"name": …, "arguments": {…}} or tool(argument="…", …)'
    head = _CALLED.match(body)
    if head is None:
        return Unreadable(expected_form)
    arguments: dict[str, Any] = {}
    at, ended = head.end(), False
    if re.fullmatch(r"\s*\)", body[at:]):
        return Call(head[1], arguments, alone)
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
    return Unreadable(expected_form) if body[at:].strip() else Call(head[1], arguments, alone)


def calls_of(text: str) -> tuple[str, list[Call]]:
    """(words, calls) of a turn that is words and then calls, for those to whom calls are no words.
    Of any other turn all is words."""
    rest = opening_thoughts(text, EITHER_NOTATION).rest
    words, *blocks = rest.split("<tool_call>")
    read = [
        read_turn(f"<tool_call>{block}", EITHER_NOTATION)
        for block in map(str.rstrip, blocks)
        if block.find("</tool_call>") == len(block) - len("</tool_call>")
    ]
    calls = [call for call in read if isinstance(call, Call)]
    if not blocks or len(calls) < len(blocks):
        return text, []
    return text[: len(text) - len(rest)] + words, calls


def write_call(name: str, arguments: Mapping[str, Any]) -> str:
    """The text of a tool call, without spaces between JSON tokens."""
    call = json.dumps(
        {"name": name, "arguments": arguments}, ensure_ascii=False, separators=(",", ":")
    )
    return f"<tool_call>{call}</tool_call>"
