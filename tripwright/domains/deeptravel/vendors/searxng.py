"""SearXNG: a search of the web through an instance of one's own, `GET /search?format=json`.

Interface: https://docs.searxng.org/dev/search_api.html. An instance answers JSON only where its
settings.yml has `json` under `search: formats:`
(https://docs.searxng.org/admin/settings/settings_search.html); everywhere else this is a 403, on
most public instances too. The software sets no terms on what it finds; the engines behind an
instance and its operator may. Never called live here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer, WebPage
from tripwright.domains.deeptravel.vendors.reading import at, readable, rows_at, text_at
from tripwright.domains.deeptravel.vendors.vendor import HttpVendor, checked_results, said, utc_now


class Searxng(HttpVendor):
    name: ClassVar[str] = "searxng"
    tools: ClassVar[frozenset[str]] = frozenset(("web_search",))
    published_terms: ClassVar[Terms] = Terms(
        attribution="SearXNG", terms_url="https://docs.searxng.org/"
    )

    def __init__(
        self,
        *,
        base_url: str,
        language: str = "en",
        max_results: int = 10,
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 20.0,
        now: Callable[[], datetime] = utc_now,
    ):
        super().__init__(base_url, contact=contact, terms=terms, timeout_s=timeout_s, now=now)
        self.language, self.max_results = language, checked_results(self.name, max_results)

    def settings(self) -> dict[str, object]:
        return {"language": self.language, "max_results": self.max_results}

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        query = said(arguments, "query")
        refusal = self.refusal_of(query)
        if refusal is not None:
            return refusal
        answer = self._search(query)
        pages = readable(self.name, rows_at(self.name, answer, "results"), web_page)
        silent = at(answer, "unresponsive_engines")
        if not pages and isinstance(silent, list) and silent:
            # Nothing found and nobody answered are not the same: the engines' fault must not become
            # "there is no such page".
            names = ", ".join(name for engine in silent if (name := text_at(engine, 0)))
            raise ProviderFault(
                "server_error",
                f"{self._http.base_url} found nothing, its engines did not answer:"
                f" {names or 'unnamed'}.",
            )
        return self.result(tuple(pages[: self.max_results]), f"No page found for '{query}'.")

    def _search(self, query: str) -> Any:
        try:
            return self._http.get(
                "/search", {"q": query, "format": "json", "language": self.language}
            )
        except ProviderFault as fault:
            if fault.kind != "unauthorized":
                raise
            advice = (
                "An instance answers JSON only with 'json' under 'search: formats:' in its"
                " settings.yml."
            )
            raise ProviderFault(fault.kind, f"{fault} {advice}") from None


def web_page(entry: Any) -> WebPage | None:
    """Of SearXNG and of Tavily, which name these fields alike. None where there is no address."""
    url = text_at(entry, "url")
    return WebPage(text_at(entry, "title") or url, url, text_at(entry, "content")) if url else None
