"""An item as the page draws it: markdown as a tree, tool answers as tables with numbered rows, cards that know whether their row exists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tripwright.errors import NotJson, read_json
from tripwright.evals.study.markdown import Node, blocks

MOST_COLUMNS = 40


def item_view(item: Mapping[str, Any]) -> dict[str, Any]:
    """What the server sends of an item of `items.jsonl`."""
    calls = [{**_call(call), "number": number} for number, call in enumerate(item["calls"], start=1)]
    answer = dict(item["answer"])
    if answer["kind"] == "markdown":
        answer["blocks"] = blocks(answer.pop("text"))
        rows = {call["number"]: len(call["table"]["rows"]) if call["table"] else 0 for call in calls}
        for card in _cards(answer["blocks"]):
            card["found"] = 1 <= card["row"] <= rows.get(card["call"], 0)
    return {"item": item["item"], "request": item["request"], "answer": answer, "calls": calls, "seconds": item["seconds"]}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call["arguments"] if isinstance(call["arguments"], Mapping) else {"arguments": call["arguments"]}
    table, said = _table(call["result"])
    return {
        "name": call["name"],
        "arguments": [[str(name), _cell(value)] for name, value in arguments.items() if value not in ("", None)],
        "error": bool(call["error"]),
        "table": table,
        "text": said,
        "shown": call.get("shown"),
    }


def _table(result: str) -> tuple[dict[str, Any] | None, str]:
    """(rows under columns, what else the answer says). A result that has no rows is text as it stands."""
    try:
        value = read_json(result.encode("utf-8", "replace"))
    except NotJson:
        return None, result
    rest = ""
    if isinstance(value, dict):
        rows = value.get("rows")
        others = {name: other for name, other in value.items() if name != "rows"}
        if rows is None:
            return ({"columns": list(map(str, others)), "rows": [[*map(_cell, others.values())]]}, "") if _flat(others) else (None, result)
        rest = "\n".join(f"{name}: {_cell(other)}" for name, other in others.items())
        value = rows
    if not isinstance(value, list) or not value:
        return None, rest or result
    if all(isinstance(row, dict) for row in value):
        columns = _columns(value)
        if len(columns) <= MOST_COLUMNS:
            return {"columns": columns, "rows": [[_cell(row.get(name)) for name in columns] for row in value]}, rest
    if all(isinstance(row, list) for row in value):
        return {"columns": [], "rows": [list(map(_cell, row)) for row in value]}, rest
    return {"columns": [], "rows": [[_cell(row)] for row in value]}, rest


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first, then those in which rows differ: those say nothing new that hold the same in every row, such as the city asked for."""
    first, *others = dict.fromkeys(name for row in rows for name in row if name != "row") or [""]
    return [first, *sorted(others, key=lambda name: len({_cell(row.get(name)) for row in rows}) == 1)]


def _flat(value: Mapping[str, Any]) -> bool:
    """One record, such as a distance, and no error that is better read as a sentence."""
    return len(value) > 1 and not any(isinstance(other, dict | list) for other in value.values())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cards(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if node["kind"] == "card":
            yield node
        for part in ("blocks", "inline", "head"):
            yield from _cards(list(_flattened(node.get(part, ()))))
        for part in ("items", "rows"):
            for entry in node.get(part, ()):
                yield from _cards(entry["inline"] if isinstance(entry, dict) else list(_flattened(entry)))


def _flattened(entries: Sequence[Any]) -> Iterator[Node]:
    """The cells of a table are lists of nodes; other parts are nodes."""
    for entry in entries:
        if isinstance(entry, list):
            yield from entry
        else:
            yield entry
