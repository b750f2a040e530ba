"""The body of a request, which may be no larger than a server wants it."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request


async def body_within(request: Request, most_bytes: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most_bytes:
            raise HTTPException(413, f"The body is larger than {most_bytes:,} bytes.")
        chunks.append(chunk)
    return b"".join(chunks)
