"""One HTTP request to somebody else's interface: JSON back, or a ProviderFault that says what
happened without repeating any secret."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

from tripwright import __version__
from tripwright.llm.urls import shown_url
from tripwright.tools.redaction import Redaction, with_keys

if TYPE_CHECKING:
    import httpx2

FaultKind = Literal[
    "timeout", "connection", "server_error", "rate_limit", "bad_response", "unauthorized"
]
MAX_ANSWER_MB = 16.0  # an answer of a thousand offers has a few
# vendors of open data refuse clients that do not say who they are
USER_AGENT = f"tripwright/{__version__}"


class ProviderFault(Exception):
    """Our side could not answer. `retry_after_s` is what the provider asked to be left alone
    for."""

    def __init__(self, kind: FaultKind, message: str, retry_after_s: float | None = None):
        super().__init__(message)
        self.kind: FaultKind = kind
        self.retry_after_s = retry_after_s


class HttpCaller:
    """Threads may share one. `timeout_s` is for a whole attempt, from the look-up of the name to
    the last byte, `max_answer_mb` for an answer as it is unpacked. A {VARIABLE} in the URL stands
    for a key; no key that this process knows appears in a message."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 20.0,
        max_answer_mb: float = MAX_ANSWER_MB,
    ):
        self._url = with_keys(base_url.rstrip("/"))
        self.base_url = shown_url(base_url.rstrip("/"))  # as messages and settings say it
        self._headers = {"user-agent": USER_AGENT, "accept": "application/json", **(headers or {})}
        self._timeout_s, self.max_answer_mb = timeout_s, max_answer_mb
        self.shown = Redaction().shown
        self._clients: dict[int, httpx2.AsyncClient] = {}  # by process: forks share no connection

    def get(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        return self.request("GET", path, parameters=parameters)

    def post(self, path: str, body: Any) -> Any:
        return self.request("POST", path, body=body)

    def request(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Any = None,
        form: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON of a 2xx answer. Raises ProviderFault; a 4xx that is the call's own fault is
        `Refused`, with the vendor's JSON."""
        import httpx2

        from tripwright.tools.event_loop import run  # loads asyncio

        asked = {"params": parameters, "json": body, "data": form}
        try:
            response, content = run(
                self._exchange(method, self._url + path, asked), self._timeout_s
            )
        except TimeoutError:
            raise ProviderFault(
                "timeout", f"{self.base_url} did not answer within {self._timeout_s:g} s."
            ) from None
        except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL) as error:
            raise ProviderFault(
                "connection", f"{self.base_url} cannot be reached: {self.shown(error)}"
            ) from None
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = None
            if response.is_success:
                raise ProviderFault(
                    "bad_response",
                    f"{self.base_url} answered no JSON: {self.shown(_text(content))}",
                ) from None
        if response.is_success:
            return value
        raise self._problem(response, self.shown(_text(content)), value)

    async def _exchange(
        self, method: str, url: str, asked: Mapping[str, Any]
    ) -> tuple[httpx2.Response, bytes]:
        """The answer and its content. Read piece by piece, and a piece is unpacked to at most a
        megabyte: what is too long is noticed before it is in memory."""
        content, client = bytearray(), self._client()
        client.cookies.clear()  # an answer depends on its question alone
        async with client.stream(method, url, **asked) as response:
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > self.max_answer_mb * 1e6:
                    raise ProviderFault(
                        "bad_response",
                        f"{self.base_url} answered with more than {self.max_answer_mb:g} MB, which"
                        " is max_answer_mb.",
                    )
        return response, bytes(content)

    def _problem(self, response: httpx2.Response, text: str, body: Any) -> Exception:
        status = response.status_code
        wait_s = retry_after_s(response.headers, limited=status == 429)
        kind: FaultKind | None = None
        if status in (401, 402, 403):
            kind = "unauthorized"
        elif status == 429:
            kind = "rate_limit"
        elif status >= 500 or status in (408, 425):
            kind = "server_error"
        if kind is not None:
            return ProviderFault(kind, f"{self.base_url} answered {status}: {text}", wait_s)
        return RefusedCall(status, text, body)

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        if (process := os.getpid()) not in self._clients:
            client = httpx2.AsyncClient(
                timeout=None,  # `run` has one for the whole of it
                headers=self._headers,
                verify=self._url.startswith("https://"),
            )
            self._clients.setdefault(process, client)
        return self._clients[process]

    def close(self) -> None:
        if client := self._clients.pop(os.getpid(), None):
            from tripwright.tools.event_loop import run

            run(client.aclose(), self._timeout_s)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


class RefusedCall(Exception):
    """A 4xx about the call itself. A client turns it into an answer (`ProviderAnswer`, refused) or,
    where it makes no sense, into a fault."""

    def __init__(self, status: int, message: str, body: Any):
        super().__init__(message)
        self.status, self.body = status, body


def retry_after_s(headers: Mapping[str, str], limited: bool = True) -> float | None:
    """Seconds that a vendor asks for: `Retry-After` (a number or a date), else, of one who says
    that its limit is reached, `ratelimit-reset` (seconds, or a date as Duffel sends): others send
    that with every answer."""
    for name in ("retry-after", "ratelimit-reset") if limited else ("retry-after",):
        if not (value := headers.get(name)):
            continue
        try:
            seconds = float(value)
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, OverflowError):
                continue
        if 0 <= seconds < 86_400:
            return seconds
    return None
