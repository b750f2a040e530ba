"""A server of MCP written by hand as the specification of 2025-06-18 describes it, with nothing but
the standard library.

It knows no `server/discover`, lists its tools on two pages, promises structured content for the
second one without giving any, and dies in the middle of a call where a file is missing.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

MARK = Path(sys.argv[1])


def answer(method: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }
    if method == "tools/list":
        page = parameters.get("cursor") or "first"
        tools = [{"name": f"{page} tool", "inputSchema": {"type": "object"}}]
        if page == "second":
            tools[0]["outputSchema"] = {"type": "object", "required": ["city"]}
        return {"tools": tools} | ({"nextCursor": "second"} if page == "first" else {})
    if method == "tools/call":
        if not MARK.exists():
            MARK.touch()
            os._exit(3)
        return {
            "content": [{"type": "text", "text": json.dumps([{"city": "Wuhan", "open": True}])}]
        }
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        said = (
            {"result": result}
            if result is not None
            else {"error": {"code": -32601, "message": "Method not found"}}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"]} | said), flush=True)
