"""Tavily: a search of the web, `POST /search`, with a key from the environment variable
TAVILY_API_KEY.

Interface: https://docs.tavily.com/documentation/api-reference/endpoint/search, whose example answer
is in the tests; its errors: https://help.tavily.com/articles/8645538886-understanding-http-errors.
Limits: https://docs.tavily.com/documentation/rate-limits, 100 requests a minute with a development
key. Terms: https://tavily.com/terms. Whether they allow keeping what was found we could not read
there, so it is not kept unless `may_store` says that you have made sure. Never called live here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer
from tripwright.domains.deeptravel.vendors.reading import readable, rows_at
from tripwright.domains.deeptravel.vendors.searxng import web_page
from tripwright.domains.deeptravel.vendors.vendor import HttpVendor, checked_results, said, utc_now
from tripwright.errors import UserError
from tripwright.tools.http import RefusedCall, key_in

PUBLIC_URL = "https://api.tavily.com"
KEY_VARIABLE = "TAVILY_API_KEY"
MAX_TAVILY_RESULTS = 20
DEPTHS = ("basic", "advanced")  # one credit, two credits
LIMIT_REACHED = (432, 433)  # of the plan, of paying as one goes: waiting does not help


class Tavily(HttpVendor):
    """Raises UserError where no key is set."""

    name: ClassVar[str] = "tavily"
    tools: ClassVar[frozenset[str]] = frozenset(("web_search",))
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=100 / 60,
        may_store=False,
        attribution="Tavily",
        terms_url="https://tavily.com/terms",
    )

    def __init__(
        self,
        *,
        base_url: str = PUBLIC_URL,
        search_depth: str = "basic",
        max_results: int = 5,
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 20.0,
        now: Callable[[], datetime] = utc_now,
    ):
        key = key_in(KEY_VARIABLE, "'tavily'")
        # no HTTP library takes it, and its complaint would quote it
        if not key.isascii() or not key.isprintable() or " " in key:
            raise UserError(
                f"The environment variable {KEY_VARIABLE} holds no key: expected one word of plain"
                " ASCII."
            )
        if search_depth not in DEPTHS:
            raise UserError(
                f"search_depth of 'tavily' is one of {', '.join(DEPTHS)}: found '{search_depth}'."
            )
        if max_results > MAX_TAVILY_RESULTS:
            raise UserError(
                f"max_results of 'tavily' is from 1 to {MAX_TAVILY_RESULTS}: found {max_results}."
            )
        headers = {"authorization": f"Bearer {key}"}
        super().__init__(
            base_url,
            contact=contact,
            terms=terms,
            timeout_s=timeout_s,
            headers=headers,
            now=now,
        )
        self.search_depth, self.max_results = search_depth, checked_results(self.name, max_results)

    def settings(self) -> dict[str, object]:
        return {"search_depth": self.search_depth, "max_results": self.max_results}

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        query = said(arguments, "query")
        refusal = self.refusal_of(query)
        if refusal is not None:
            return refusal
        try:
            body = {
                "query": query,
                "search_depth": self.search_depth,
                "max_results": self.max_results,
            }
            answer = self._http.post("/search", body)
        except RefusedCall as problem:
            if problem.status in LIMIT_REACHED:
                raise ProviderFault(
                    "unauthorized", f"{self._http.base_url} answered {problem.status}: {problem}"
                ) from None
            raise
        pages = readable(self.name, rows_at(self.name, answer, "results"), web_page)
        return self.result(tuple(pages[: self.max_results]), f"No page found for '{query}'.")
