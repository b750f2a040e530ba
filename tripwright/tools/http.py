"""One HTTP request to somebody else's interface: JSON back, or a ProviderFault that says what
happened without repeating any secret.

Keys stay out of what is stored, shown and logged, whatever a vendor repeats: the values of
variables that are named like keys, and of all that a services file says a key is in.

Requests run on an event loop, under a deadline for the whole of each. The time limits of blocking
clients are per read: a server that sends a byte now and then is waited for without end. What is
asynchronous can be cancelled at any moment. One event loop serves a whole process; its thread is a
daemon, so nothing waits for it when the process ends."""

from __future__ import annotations

import json
import os
import re
import threading
from base64 import b64encode
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote, quote_plus

from tripwright import __version__
from tripwright.errors import UserError, printable
from tripwright.llm.endpoint import retry_after_s, shown_url

if TYPE_CHECKING:
    import asyncio

    import httpx2


_NAME = re.compile(
    r"(^|_)(API_?KEY|ACCESS_?KEY|SECRET_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$",
    re.IGNORECASE,
)
PLACE_OF_KEY = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")  # of a key in a URL: {MY_KEY}
FEWEST_CHARACTERS = 8  # a shorter value may be a word of any text
SHOWN_CHARACTERS = 200  # of a foreign message
HIDDEN = "***"
_keys_read: set[str] = set()  # in this process, from variables of any name


def key_in(variable: str, whose: str) -> str:
    """The key in an environment variable; every Redaction that is made later hides it, whatever the
    variable is called. Raises UserError where `whose` key is not there."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"{whose} needs the environment variable {variable}, which is not set.")
    _keys_read.add(key)
    return key


def with_keys(url: str) -> str:
    """The URL to send to: each {VARIABLE} in it is that variable's key. Raises UserError."""
    return PLACE_OF_KEY.sub(lambda place: quote(key_in(place[1], f"'{url}'"), safe=""), url)


class Redaction:
    """Looks for every way in which a key is usually written: as it is, inside JSON or a URL, in
    base64 and in hexadecimal digits. It can be hidden from it: backwards, or in two parts."""

    def __init__(self, environment: Mapping[str, str] | None = None):
        variables = (os.environ if environment is None else environment).items()
        values = {value.strip() for name, value in variables if _NAME.search(name)}
        values |= _keys_read if environment is None else set()
        keys = [value for value in values if len(value) >= FEWEST_CHARACTERS]
        # the longest first: a key may be part of a longer one
        self._written = sorted(
            {form for key in keys for form in _forms(key)}, key=len, reverse=True
        )

    def __call__(self, text: str) -> str:
        for form in self._written:
            text = text.replace(form, HIDDEN)
        return text

    def within(self, value: Any) -> Any:
        """JSON with its texts redacted; names and numbers stay."""
        if not self._written:
            return value
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {name: self.within(entry) for name, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self.within(entry) for entry in value]
        return value

    def shown(self, message: object) -> str:
        """One short line of a foreign message: no keys, no control characters."""
        line = printable(self(str(message)))
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"


def _forms(key: str) -> set[str]:
    raw = key.encode("utf-8", "surrogateescape")
    every_byte = "".join(f"%{byte:02x}" for byte in raw)
    forms = {key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]}
    # not every writer of URLs escapes the same letters, nor in the same case
    urls = {quote(raw), quote(raw, safe=""), quote_plus(raw)}
    forms |= urls | {re.sub("%..", lambda code: code[0].lower(), url) for url in urls}
    forms |= {every_byte, every_byte.upper(), raw.hex(), raw.hex().upper()}
    for before in range(3):  # bytes in front of it in base64, as in Basic authentication
        text = b64encode(bytes(before) + raw).decode()
        # letters that depend on the key alone; then all, with padding
        whole = text[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        forms |= {whole, text.rstrip("="), text} if not before else {whole}
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}


T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], timeout_s: float) -> T:
    """What `work` returns or raises. Raises TimeoutError, and cancels the work, when it has not
    ended after so many seconds."""
    import asyncio  # loaded only by those who ask somebody

    future = asyncio.run_coroutine_threadsafe(work, _event_loop())
    try:
        return future.result(timeout_s)
    finally:
        future.cancel()  # of what has ended, nothing


_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has not got the thread


def _event_loop() -> asyncio.AbstractEventLoop:
    import asyncio

    process = os.getpid()
    if process not in _loops:
        loop = asyncio.new_event_loop()
        # told of how work ended that was cancelled, and that nobody waits for any more
        loop.set_exception_handler(lambda *_: None)
        if _loops.setdefault(process, loop) is loop:  # no other thread was faster
            name = "tripwright event loop"
            threading.Thread(target=loop.run_forever, name=name, daemon=True).start()
        else:
            loop.close()
    return _loops[process]


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

    def post(self, path: str, body: Any) -> Any:
        """The JSON of a 2xx answer. Raises ProviderFault."""
        import httpx2

        try:
            response, content = run(self._exchange(self._url + path, body), self._timeout_s)
        except TimeoutError:
            raise ProviderFault(
                "timeout", f"{self.base_url} did not answer within {self._timeout_s:g} s."
            ) from None
        except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL) as error:
            raise ProviderFault(
                "connection", f"{self.base_url} cannot be reached: {self.shown(error)}"
            ) from None
        status, said = response.status_code, self.shown(content.decode("utf-8", "replace"))
        if not response.is_success:
            kind = fault_of_status(status) or "bad_response"
            wait_s = asked_wait_s(response.headers, limited=status == 429)
            raise ProviderFault(kind, f"{self.base_url} answered {status}: {said}", wait_s)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise ProviderFault(
                "bad_response", f"{self.base_url} answered no JSON: {said}"
            ) from None

    async def _exchange(self, url: str, body: Any) -> tuple[httpx2.Response, bytes]:
        """The answer and its content. Read piece by piece, and a piece is unpacked to at most a
        megabyte: what is too long is noticed before it is in memory."""
        content, client = bytearray(), self._client()
        client.cookies.clear()  # an answer depends on its question alone
        async with client.stream("POST", url, json=body) as response:
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > self.max_answer_mb * 1e6:
                    raise ProviderFault(
                        "bad_response",
                        f"{self.base_url} answered with more than {self.max_answer_mb:g} MB, which"
                        " is max_answer_mb.",
                    )
        return response, bytes(content)

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
            run(client.aclose(), self._timeout_s)


def fault_of_status(status: int) -> FaultKind | None:
    """None for a status that is about the call itself."""
    if status in (401, 402, 403):
        return "unauthorized"
    if status == 429:
        return "rate_limit"
    return "server_error" if status >= 500 or status in (408, 425) else None


def asked_wait_s(headers: Mapping[str, str], limited: bool = True) -> float | None:
    """Seconds that a vendor asks for, less than a day: `Retry-After`, else, of one who says that
    its limit is reached, `ratelimit-reset` (seconds, or a date as Duffel sends): others send that
    with every answer."""
    for name in ("retry-after", "ratelimit-reset") if limited else ("retry-after",):
        seconds = retry_after_s(headers.get(name))
        if seconds is not None and seconds < 86_400:
            return seconds
    return None
