"""One HTTP request to somebody else's interface: JSON back, or a ProviderFault that says what
happened without repeating any secret."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from tripwright import __version__
from tripwright.llm.urls import shown_url

if TYPE_CHECKING:
    import httpx2

FaultKind = Literal[
    "timeout", "connection", "server_error", "rate_limit", "bad_response", "unauthorized"
]
SHOWN_CHARACTERS = 200  # of a foreign message
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
    """Threads may share one. `secrets` never appear in a message: a vendor may repeat a key, and a
    URL may hold one."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 20.0,
        secrets: tuple[str, ...] = (),
    ):
        self._url = base_url.rstrip("/")
        self.base_url = shown_url(self._url)  # as messages and settings say it
        self._headers = {"user-agent": USER_AGENT, "accept": "application/json", **(headers or {})}
        self._timeout_s, self._secrets = timeout_s, tuple(secret for secret in secrets if secret)

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

        try:
            response = self._client.request(
                method, self._url + path, params=parameters, json=body, data=form
            )
        except httpx2.TimeoutException:
            raise ProviderFault(
                "timeout", f"{self.base_url} did not answer within {self._timeout_s:g} s."
            ) from None
        except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL) as error:
            raise ProviderFault(
                "connection", f"{self.base_url} cannot be reached: {self.shown(error)}"
            ) from None
        if response.is_success:
            try:
                return response.json()
            except (ValueError, RecursionError):
                raise ProviderFault(
                    "bad_response", f"{self.base_url} answered no JSON: {self.shown(response.text)}"
                ) from None
        raise self._problem(response)

    def _problem(self, response: httpx2.Response) -> Exception:
        status, text = response.status_code, self.shown(response.text)
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
        try:
            body = response.json()
        except (ValueError, RecursionError):
            body = None
        return RefusedCall(status, text, body)

    def shown(self, message: object) -> str:
        """One short line of a foreign message, without secrets."""
        line = " ".join(str(message).split())
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        return httpx2.Client(
            timeout=self._timeout_s,
            headers=self._headers,
            verify=self.base_url.startswith("https://"),
        )

    def close(self) -> None:
        if "_client" in self.__dict__:
            self._client.close()


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
            except ValueError:
                continue
        if 0 <= seconds < 86_400:
            return seconds
    return None
