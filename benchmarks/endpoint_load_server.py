"""The token server of `endpoint_load.py`: chat completions that are known beforehand, written at
the speed of a model.

    python benchmarks/endpoint_load_server.py SCRIPT.json MS_PER_TOKEN        # prints its port

SCRIPT.json holds the model's turns for each request's text. A reply is sent whole, after as long as
its tokens take; four characters are a token. One process, one thread: HTTP is read by hand, because
a framework would be what is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

CHARACTERS_PER_TOKEN = 4


def replies(script: dict[str, list[str]]) -> dict[str, list[tuple[int, bytes]]]:
    """Request's text → (tokens, HTTP answer) of each turn."""
    return {text: [_reply(turn) for turn in turns] for text, turns in script.items()}


def _reply(turn: str) -> tuple[int, bytes]:
    text, tag, call = turn.partition("<tool_call>")
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tag:
        made = json.loads(call.removesuffix("</tool_call>"))
        function = {"name": made["name"], "arguments": json.dumps(made["arguments"])}
        message["tool_calls"] = [{"id": "call0", "type": "function", "function": function}]
    tokens = max(1, len(turn) // CHARACTERS_PER_TOKEN)
    named = {"id": "load", "object": "chat.completion", "created": 0, "model": "load"}
    body = {
        **named,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if tag else "stop"}
        ],
        "usage": {
            "prompt_tokens": 1000,
            "completion_tokens": tokens,
            "total_tokens": 1000 + tokens,
        },
    }
    raw = json.dumps(body).encode()
    return (
        tokens,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        % (len(raw), raw),
    )


class Connection(asyncio.Protocol):
    """One kept connection: a request, a wait, an answer, the next request."""

    def __init__(self, known: dict[str, list[tuple[int, bytes]]], seconds_per_token: float):
        self._known, self._seconds_per_token, self._buffer = known, seconds_per_token, bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(self._buffer) < end + 4 + length:
            return
        request = json.loads(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        said = request["messages"]
        turn = sum(message["role"] == "assistant" for message in said)
        text = next(message["content"] for message in said if message["role"] == "user")
        tokens, answer = self._known[text][turn]
        asyncio.get_running_loop().call_later(
            tokens * self._seconds_per_token, self._transport.write, answer
        )


async def main() -> None:
    known = replies(json.loads(Path(sys.argv[1]).read_text()))
    seconds_per_token = float(sys.argv[2]) / 1000
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(known, seconds_per_token), "127.0.0.1", 0, backlog=4096
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main())
