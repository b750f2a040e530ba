"""A server of MCP for the tests, made with the official package. Run, it speaks over stdin and
stdout."""

import json
import os
import time
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("trains", version="7", log_level="CRITICAL")
TRAINS = [
    {
        "code": "G 3124",
        "line": {"by": "CR"},
        "leaves": "2026-06-26T06:54:00+08:00",
        "arrives": "2026-06-26T11:02:00+08:00",
        "fare": ["233.00"],
    },
    {
        "code": 571,
        "leaves": "2026-06-26T09:00:00+08:00",
        "arrives": "2026-06-26T10:30:00+08:00",
        "fare": [],
    },
    {"code": "no times"},
]


@server.tool(structured_output=False)
def trains(origin: str, destination: str, day: str, language: str = "") -> str:
    """Trains of a day, as JSON in a text."""
    if origin == "Nowhere":
        return json.dumps({"journeys": []})
    if origin == "Broken":
        return json.dumps({"journeys": [{"code": "x"}]})
    if origin == "Changed":
        return json.dumps({"trips": []})
    return json.dumps({"journeys": TRAINS, "asked": [origin, destination, day, language]})


@server.tool()
def weather(city: str, days: int = 1) -> list[dict[str, Any]]:
    """The weather of a city."""
    return [
        {
            "day": day + 1,
            "sky": "clear",
            "celsius": 21.5,
            "wind": {"from": "west"},
            "rain": None,
            "city": city,
        }
        for day in range(days)
    ]


@server.tool()
def says(text: str) -> dict[str, str]:
    """Repeats a text."""
    return {"url": text}


@server.tool()
def fails(message: str) -> str:
    """Fails with a message."""
    raise ToolError(message)


@server.tool()
def crashes() -> str:
    """A bug."""
    raise RuntimeError("a secret of the server")


@server.tool()
def key() -> str:
    """The key it was started with, and one that it was not given."""
    raise ToolError(f"bad key {os.environ.get('TRAINS_KEY')} {os.environ.get('OTHER_KEY')}")


@server.tool()
def sleeps() -> str:
    """Answers late."""
    time.sleep(30)
    return "late"


if __name__ == "__main__":
    server.run("stdio")
