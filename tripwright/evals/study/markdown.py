"""An answer's markdown as a tree of plain values, so that a page can build it from text nodes
alone: no HTML comes out of here, and none that a model wrote goes in. Tags, comments and addresses
of images stand there as the text they are.

Blocks: heading, paragraph, list, table, quote, code, rule. Inline: text, strong, em, code, link
(its address as text) and card, which is an evidence card of row D11, "[call 2, row 1]". What is not
recognised is text: nothing is lost and nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Node = dict[str, Any]

# of inline marks in each other, of quotes and of lists: deeper ones are shown as they were written
DEEPEST = 4
# Bounded repetitions: an answer of brackets alone must not keep the server busy.
_INLINE = re.compile(
    r"\\(?P<escaped>[\\`*_\[\]#|<>~-])"
    r"|(?P<ticks>`{1,3})(?P<code>[^`](?:.{0,500}?[^`])?)(?P=ticks)(?!`)"
    r"|\[call\s{0,3}(?P<call>\d{1,4})\s{0,3},?\s{0,3}row\s{0,3}(?P<row>\d{1,6})\]"
    r"|!?\[(?P<label>[^\[\]\n]{0,300})\]\((?P<url>[^()\s]{0,500})\)"
    r"|\*\*(?P<strong>\S(?:.{0,500}?\S)??)\*\*(?!\*)"
    r"|(?<!\w)__(?P<strong_>\S(?:.{0,500}?\S)??)__(?!\w)"
    r"|\*(?P<em>[^\s*](?:[^*]{0,500}?[^\s*])?)\*"
    r"|(?<!\w)_(?P<em_>[^\s_](?:[^_]{0,500}?[^\s_])?)_(?!\w)",
    re.DOTALL | re.IGNORECASE,
)
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*")
_ITEM = re.compile(r"(\s*)(?:[-*+•]|(\d{1,9})[.)])\s+(\S.*)")
_RULE = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_TABLE_LINE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*){0,60}\|?\s*")
# Control characters, lone surrogates, and those that turn the direction of what follows: a text
# must look like what it is.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


def blocks(text: str) -> list[Node]:
    """The tree of an answer."""
    lines = (
        _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))
        .expandtabs(4)
        .split("\n")
    )
    return _blocks(lines, 0)


def inline(text: str, depth: int = 0) -> list[Node]:
    nodes: list[Node] = []
    place = 0
    for found in _INLINE.finditer(text):
        if node := _inline_node(found, depth):
            _add_text(nodes, text[place : found.start()])
            if node["kind"] == "text":
                _add_text(nodes, node["text"])
            else:
                nodes.append(node)
            place = found.end()
    _add_text(nodes, text[place:])
    return nodes


def _inline_node(found: re.Match[str], depth: int) -> Node | None:
    if found["escaped"]:
        return {"kind": "text", "text": found["escaped"]}
    if found["code"]:
        return {"kind": "code", "text": found["code"]}
    if found["call"]:
        return {"kind": "card", "call": int(found["call"]), "row": int(found["row"])}
    if found["url"] is not None:
        return {"kind": "link", "text": found["label"], "url": found["url"]}
    for kind in ("strong", "em"):
        if said := found[kind] or found[f"{kind}_"]:
            return {"kind": kind, "inline": inline(said, depth + 1)} if depth < DEEPEST else None
    return None


def _add_text(nodes: list[Node], text: str) -> None:
    if not text:
        return
    if nodes and nodes[-1]["kind"] == "text":
        nodes[-1]["text"] += text
    else:
        nodes.append({"kind": "text", "text": text})


def _blocks(lines: list[str], depth: int) -> list[Node]:
    found: list[Node] = []
    place = 0
    while place < len(lines):
        if not lines[place].strip():
            place += 1
            continue
        for take in _TAKERS:
            node, end = take(lines, place, depth)
            if node:
                break
        else:
            node, end = _paragraph(lines, place)
        found.append(node)
        place = end
    return found


Taken = tuple[Node, int]  # an empty node: not this kind; else the node and the line after it


def _fence(lines: list[str], place: int, depth: int) -> Taken:
    opening = _FENCE.match(lines[place])
    if not opening:
        return {}, place
    end = next(
        (i for i in range(place + 1, len(lines)) if lines[i].strip().startswith(opening[1])),
        len(lines),
    )
    return {"kind": "code", "text": "\n".join(lines[place + 1 : end])}, end + 1


def _heading(lines: list[str], place: int, depth: int) -> Taken:
    found = _HEADING.fullmatch(lines[place])
    return (
        ({"kind": "heading", "level": len(found[1]), "inline": inline(found[2])}, place + 1)
        if found
        else ({}, place)
    )


def _rule(lines: list[str], place: int, depth: int) -> Taken:
    return ({"kind": "rule"}, place + 1) if _RULE.fullmatch(lines[place]) else ({}, place)


def _quote(lines: list[str], place: int, depth: int) -> Taken:
    end = place
    while end < len(lines) and lines[end].lstrip().startswith(">"):
        end += 1
    if end == place or depth >= DEEPEST:
        return {}, place
    return {
        "kind": "quote",
        "blocks": _blocks(
            [line.lstrip()[1:].removeprefix(" ") for line in lines[place:end]], depth + 1
        ),
    }, end


def _list(lines: list[str], place: int, depth: int) -> Taken:
    """Flat, with a level for each item; a line that begins no block of its own goes on with the
    item before it."""
    items: list[tuple[int, str | None, str]] = []
    indents: list[int] = []
    end = place
    while end < len(lines):
        line = lines[end]
        if found := None if _RULE.fullmatch(line) else _ITEM.fullmatch(line):
            indent = len(found[1])
            while indents and indent < indents[-1]:
                indents.pop()
            if not indents or indent > indents[-1] + 1:
                indents.append(indent)
            items.append((min(len(indents), DEEPEST) - 1, found[2], found[3]))
        elif items and line.strip() and not _begins_block(line):
            level, number, text = items[-1]
            items[-1] = (level, number, f"{text}\n{line.strip()}")
        elif (
            items and not line.strip() and end + 1 < len(lines) and _ITEM.fullmatch(lines[end + 1])
        ):
            pass  # a blank between two items
        else:
            break
        end += 1
    if not items:
        return {}, place
    return {
        "kind": "list",
        "items": [
            {"level": level, "number": number, "inline": inline(text)}
            for level, number, text in items
        ],
    }, end


def _table(lines: list[str], place: int, depth: int) -> Taken:
    if (
        "|" not in lines[place]
        or place + 1 == len(lines)
        or "|" not in lines[place + 1]
        or not _TABLE_LINE.fullmatch(lines[place + 1])
    ):
        return {}, place
    end = place + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    rows = [
        [inline(cell.strip()) for cell in _cells(line)]
        for line in (lines[place], *lines[place + 2 : end])
    ]
    return {"kind": "table", "head": rows[0], "rows": rows[1:]}, end


def _cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))


def _paragraph(lines: list[str], place: int) -> Taken:
    end = place + 1
    while (
        end < len(lines)
        and lines[end].strip()
        and not _begins_block(lines[end])
        and not _ITEM.fullmatch(lines[end])
    ):
        end += 1
    return {
        "kind": "paragraph",
        "inline": inline("\n".join(line.strip() for line in lines[place:end])),
    }, end


def _begins_block(line: str) -> bool:
    return bool(
        _HEADING.fullmatch(line) or _FENCE.match(line) or _RULE.fullmatch(line)
    ) or line.lstrip().startswith(("|", ">"))


_TAKERS: tuple[Callable[[list[str], int, int], Taken], ...] = (
    _fence,
    _heading,
    _rule,
    _quote,
    _table,
    _list,
)
