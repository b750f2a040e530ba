"""A server of MCP written by hand as the specification of 2025-06-18 describes it, with nothing but
the standard library.

It knows no `server/discover`, and dies in the middle of a call where a file is missing.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

MARK = Path(sys.argv[1])


def answer(method: str) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": "first tool", "inputSchema": {"type": "object"}}]}
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
        result = answer(message["method"])
        said = (
            {"result": result}
            if result is not None
            else {"error": {"code": -32601, "message": "Method not found"}}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"]} | said), flush=True)
