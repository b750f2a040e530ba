"""An item as the page draws it: markdown as a tree, rows of tools as numbered tables, cards that
know whether their row exists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tripwright.evals.study.markdown import Node, blocks
from tripwright.transcript import Rows


def item_view(item: Mapping[str, Any]) -> dict[str, Any]:
    """What the server sends of an item of `items.jsonl`. Studies made before calls had rows cannot
    tell which cards' rows exist."""
    older = any("rows" not in call for call in item["calls"])
    calls = [
        {**_call(call), "number": number} for number, call in enumerate(item["calls"], start=1)
    ]
    answer = dict(item["answer"])
    if answer["kind"] == "markdown":
        answer["blocks"] = blocks(answer.pop("text"))
        rows = {
            call["number"]: len(call["table"]["rows"]) if call["table"] else 0 for call in calls
        }
        for card in _cards(answer["blocks"]):
            card["found"] = older or 1 <= card["row"] <= rows.get(card["call"], 0)
    return {
        "item": item["item"],
        "request": item["request"],
        "answer": answer,
        "calls": calls,
        "seconds": item["seconds"],
    }


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = (
        call["arguments"]
        if isinstance(call["arguments"], Mapping)
        else {"arguments": call["arguments"]}
    )
    rows = Rows.from_json(call["rows"]) if call.get("rows") else None
    return {
        "name": call["name"],
        "arguments": [
            [str(name), _cell(value)]
            for name, value in arguments.items()
            if value not in ("", None)
        ],
        "error": bool(call["error"]),
        "table": None if rows is None else _table(rows),
        "text": call["result"] if rows is None else _beside(rows),
        "shown": call.get("shown"),
    }


def _table(rows: Rows) -> dict[str, Any]:
    """The first field, then those in which rows differ: what is the same in every row, such as the
    city asked for, says nothing new."""
    columns = {
        name: [_cell(row[place]) for row in rows.values] for place, name in enumerate(rows.fields)
    }
    first, *others = rows.fields
    order = [first, *sorted(others, key=lambda name: len(set(columns[name])) == 1)]
    return {
        "columns": order,
        "rows": [list(row) for row in zip(*(columns[name] for name in order), strict=True)],
    }


def _beside(rows: Rows) -> str:
    """What an answer says of all its rows."""
    about = [f"{name}: {_cell(value)}" for name, value in rows.about.items()]
    count = (
        []
        if rows.total in (None, len(rows.values))
        else [f"{len(rows.values)} of {rows.total} rows"]
    )
    return "\n".join([*about, *count, *([rows.note] if rows.note else [])])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cards(tree: Any) -> Iterator[Node]:
    if isinstance(tree, list):
        for node in tree:
            yield from _cards(node)
    elif isinstance(tree, dict) and tree["kind"] == "card":
        yield tree
    elif isinstance(tree, dict):
        for part in tree.values():
            yield from _cards(part)
