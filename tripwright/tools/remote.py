"""The client of tools that a server offers (`tripwright serve tools`), with the interface of a
ToolBox: an episode does not notice where its tools run.

Whose fault it was stays visible (law 4). A mistake of the model's comes back as an answer, as from
a ToolBox. A server that cannot be reached, fails, or suddenly has another world is our side: it is
asked again with growing pauses, and then `call` raises ToolHostDown. Calls change nothing on the
server, so asking twice is safe. Threads may share one RemoteToolBox and with it its connections.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tripwright.errors import UserError
from tripwright.llm.endpoint import backoff_s, is_address, shown_url
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.face import Face
from tripwright.tools.http import Redaction
from tripwright.tools.toolbox import ToolHostDown

if TYPE_CHECKING:
    import httpx2

WORLD_HEADER = "x-world-hash"
LONGEST_WAIT_SECONDS = 15.0  # between two attempts
PASSING_STATUS = {408, 429}  # and all from 500


class RemoteToolBox:
    """Asks the server once at the start: raises UserError where it cannot be reached, has no such
    face, or serves another world than the one whose content hash is expected."""

    def __init__(
        self,
        base_url: str,
        face: Face,
        *,
        page_rows: int | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 5,
        first_wait_seconds: float = 0.25,
        world_hash: str | None = None,
    ):
        import httpx2  # a quarter of a second to import: only for those who use a server

        if not is_address(base_url):
            raise UserError(
                f"Tool server '{shown_url(base_url)}' is not a URL: expected one like"
                " http://localhost:8321."
            )
        self._url = base_url.rstrip("/")
        self.base_url = shown_url(self._url)  # as messages say it
        self.face = face
        self.page_rows = page_rows
        self._max_retries, self._first_wait_seconds = max_retries, first_wait_seconds
        self._query = urlencode(
            {"face": self.face.name} | ({"page_rows": page_rows} if page_rows is not None else {})
        )
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=None, keepalive_expiry=30.0
        )
        # Reading the certificates takes longer than a hundred calls: only for those who need them.
        self._client = httpx2.Client(
            timeout=timeout_seconds, limits=limits, verify=base_url.startswith("https://")
        )
        try:
            self.world = self._get("/world")  # the manifest: name, rows, content hash
            self._schemas = self._get(f"/tools?{self._query}")["schemas"]
            self._world_hash = str(self.world["content_hash"])
        except ToolHostDown as error:
            raise UserError(
                f"{error} Start a server with 'tripwright serve tools --world DIR'."
            ) from None
        except (LookupError, TypeError):
            raise UserError(
                f"{self.base_url} is not a server of tools: expected the URL that 'tripwright serve"
                " tools' prints."
            ) from None
        if world_hash is not None and world_hash != self._world_hash:
            raise UserError(
                f"{self.base_url} serves another world: expected content hash {world_hash}, found"
                f" {self._world_hash} (world '{self.world.get('name')}')."
            )

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """A fresh copy each time: callers may edit it."""
        copy: list[dict[str, Any]] = json.loads(json.dumps(self._schemas))
        return copy

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Answers one tool call. `arguments` is an object or the JSON text of one. Raises
        ToolHostDown."""
        try:
            text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
            content = json.dumps({"name": name, "arguments": text})
        except (TypeError, ValueError, RecursionError):
            return self.face.error("The arguments are not valid JSON.", "not_json")
        response, record = self._ask("POST", f"/tools?{self._query}", content)
        if response.status_code == 413:  # no model means to write so much
            return self.face.error(
                f"The arguments are too long: {len(text):,} characters.", "too_long"
            )
        if response.status_code != 200:
            raise ToolHostDown(
                f"{self.base_url} answered {response.status_code}: {_detail(response)}"
            )
        if response.headers.get(WORLD_HEADER) != self._world_hash:
            raise ToolHostDown(f"{self.base_url} has another world than at the start.")
        try:
            return ToolAnswer.from_json(record)
        except (LookupError, TypeError):
            raise ToolHostDown(
                f"{self.base_url} answered JSON that is no tool's answer: {_shown(response.text)}"
            ) from None

    def close(self) -> None:
        """Ends the connections; a call afterwards fails."""
        self._client.close()

    def _get(self, path: str) -> dict[str, Any]:
        response, record = self._ask("GET", path)
        if response.status_code != 200:
            raise UserError(
                f"{self.base_url}{path.partition('?')[0]} answered {response.status_code}:"
                f" {_detail(response)}"
            )
        return record

    def _ask(
        self, method: str, path: str, content: str | None = None
    ) -> tuple[httpx2.Response, dict[str, Any]]:
        """The first answer that is not a passing fault, and its JSON if its status is 200. Raises
        ToolHostDown after the last attempt."""
        import httpx2

        headers = {"content-type": "application/json"} if content is not None else {}
        for attempt in range(1, self._max_retries + 2):
            try:
                response = self._client.request(
                    method, self._url + path, content=content, headers=headers
                )
                if response.status_code >= 500 or response.status_code in PASSING_STATUS:
                    fault = f"answered {response.status_code}: {_detail(response)}"
                elif response.status_code != 200:
                    return response, {}
                elif (record := _object(response)) is not None:
                    return response, record
                else:
                    fault = f"answered with something other than JSON: {_shown(response.text)}"
            except httpx2.TimeoutException:
                fault = "did not answer in time."
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                fault = f"cannot be reached: {_shown(error)}."
            except httpx2.InvalidURL as error:
                raise UserError(f"Tool server '{self.base_url}' is not a URL: {error}.") from None
            if attempt <= self._max_retries:
                time.sleep(backoff_s(self._first_wait_seconds, attempt, LONGEST_WAIT_SECONDS))
        attempts = f" ({attempt} attempts)" if attempt > 1 else ""
        raise ToolHostDown(f"{self.base_url} {fault}{attempts}")


def _object(response: httpx2.Response) -> dict[str, Any] | None:
    try:
        value = response.json()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _detail(response: httpx2.Response) -> str:
    """What a server says is wrong: its one line, or the beginning of whatever came."""
    return _shown((_object(response) or {}).get("detail") or response.text)


def _shown(message: object) -> str:
    return Redaction().shown(message)
