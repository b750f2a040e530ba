"""What the clients of web services share: who asked when, what a blank query is, and how trouble
becomes a ProviderFault."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import Provenance, ProviderAnswer, Record
from tripwright.domains.deeptravel.vendors.reading import text_at
from tripwright.errors import UserError
from tripwright.llm.endpoint import is_address
from tripwright.tools.http import PLACE_OF_KEY, USER_AGENT, HttpCaller, RefusedCall

QUERY_CHARACTERS = 400  # longer ones are no search: Tavily refuses them, and a URL cannot hold them
MAX_RESULTS = 50
PLAIN_WORD = re.compile(r"[A-Za-z._-]{0,32}|.{0,15}")  # in a URL; any other may be a key
OSM_ATTRIBUTION = "© OpenStreetMap contributors, ODbL 1.0, https://www.openstreetmap.org/copyright"


def utc_now() -> datetime:
    return datetime.now(UTC)


class HttpVendor(ABC):
    """One vendor's interface, one attempt a call. Threads may share one.

    `terms` replaces what the vendor publishes for its public server, for a server of one's own.
    `contact` (an address or a page) goes into the User-Agent: servers of open data want to know
    whom to write to. Raises UserError for a base URL that is none.
    """

    name: ClassVar[str]
    tools: ClassVar[frozenset[str]]
    published_terms: ClassVar[Terms]
    # of our reading of the answers: another one is another key in a snapshot
    client_version: ClassVar[int] = 1

    def __init__(
        self,
        base_url: str,
        *,
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 20.0,
        headers: Mapping[str, str] | None = None,
        now: Callable[[], datetime] = utc_now,
    ):
        check_address(f"The base_url of '{self.name}'", base_url)
        if not 0 < timeout_s < float("inf"):
            raise UserError(
                f"timeout_s of '{self.name}' is a number of seconds above 0: found {timeout_s:g}."
            )
        agent = f"{USER_AGENT} ({contact})" if contact else USER_AGENT
        if not agent.isascii() or not agent.isprintable():
            raise UserError(
                f"The contact of '{self.name}' goes into a header of HTTP: expected plain ASCII,"
                f" found {contact!a}."
            )
        self.terms = terms or self.published_terms
        self._http = HttpCaller(base_url, {"user-agent": agent, **(headers or {})}, timeout_s)
        self._now = now

    def limit_answers(self, max_answer_mb: float) -> None:
        """A longer answer, unpacked, is a fault. Raises UserError."""
        if not 0 < max_answer_mb < float("inf"):
            raise UserError(
                f"max_answer_mb of '{self.name}' is a number of megabytes above 0: found"
                f" {max_answer_mb:g}."
            )
        self._http.max_answer_mb = max_answer_mb

    @property
    def version(self) -> str:
        """With the server and every setting that changes the answers: another one is another key in
        a snapshot."""
        settings = {"server": self._http.base_url, **self.settings()}
        return "; ".join(
            [str(self.client_version), *(f"{name}={value}" for name, value in settings.items())]
        )

    def settings(self) -> dict[str, object]:
        return {}

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault and nothing else."""
        if tool not in self.tools:
            raise ProviderFault(
                "bad_response",
                f"{self.name} does not answer {tool}, only {', '.join(sorted(self.tools))}.",
            )
        try:
            return self.answer(tool, arguments)
        except RefusedCall as refusal:
            raise ProviderFault(
                "bad_response", f"{self._http.base_url} answered {refusal.status}: {refusal}"
            ) from None

    @abstractmethod
    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault or Refused."""

    def result(
        self, records: tuple[Record, ...], note: str = "", *, refused: bool = False
    ) -> ProviderAnswer:
        return ProviderAnswer(records, self.source(), "" if records else note, refused)

    def undocumented(self, what: str) -> ProviderFault:
        """For an answer without what it cannot do without."""
        return ProviderFault(
            "bad_response", f"{self._http.base_url} answered otherwise than documented: {what}."
        )

    def source(self) -> Provenance:
        fetched_at = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Provenance(
            self.name, self.version, fetched_at, self.terms.attribution, self.terms.may_store
        )

    def refusal_of(self, query: str, what: str = "query") -> ProviderAnswer | None:
        """What is wrong with an argument before anyone is asked."""
        if not query:
            return self.result((), f"The {what} is empty: write what to look for.", refused=True)
        if len(query) > QUERY_CHARACTERS:
            note = (
                f"The {what} is too long: found {len(query)} characters, expected at most"
                f" {QUERY_CHARACTERS}."
            )
            return self.result((), note, refused=True)
        if not any(letter.isalnum() for letter in query):
            return self.result((), f"The {what} '{query}' holds no word.", refused=True)
        return None

    def close(self) -> None:
        self._http.close()


def check_address(whose: str, url: str, takes_query: bool = False) -> None:
    """Raises UserError for what is no URL, and for one that may hold a key: it is written into
    every snapshot and into messages, this one excepted."""
    if not is_address(url) or PLACE_OF_KEY.search(urlsplit(url).netloc):
        raise UserError(f"{whose} is no URL: expected one like https://example.org.")
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.fragment or (parts.query and not takes_query):
        raise UserError(
            f"{whose} is a plain address like https://example.org: found one with a user or a"
            " query."
        )
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    for word in [*parts.path.split("/"), *(word for pair in pairs for word in pair)]:
        if not PLAIN_WORD.fullmatch(PLACE_OF_KEY.sub("", word)):
            raise UserError(
                f"{whose} has a part that may be a key. Write the name of an environment variable"
                " in its place, as in https://example.org/{MY_KEY}/v1, and set that variable."
            )


def said(arguments: Mapping[str, Any], name: str) -> str:
    """An argument as one line without control characters: what a model writes must not look like
    our fault to a vendor."""
    return " ".join(
        "".join(
            letter if letter.isprintable() else " " for letter in text_at(arguments, name)
        ).split()
    )


def checked_results(name: str, max_results: int) -> int:
    if not 1 <= max_results <= MAX_RESULTS:
        raise UserError(f"max_results of '{name}' is from 1 to {MAX_RESULTS}: found {max_results}.")
    return max_results


def with_attribution(terms: Terms, *others: Terms) -> Terms:
    """Of an answer made with the help of other vendors: it may be kept only if all allow it, and
    names them all."""
    lines = [terms.attribution, *(other.attribution for other in others)]
    attribution = "; ".join(dict.fromkeys(line for line in lines if line))
    return replace(
        terms,
        attribution=attribution,
        may_store=terms.may_store and all(other.may_store for other in others),
    )
