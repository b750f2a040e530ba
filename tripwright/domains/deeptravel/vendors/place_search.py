"""What the two searches for a place by its name share: their settings, the text that is sent, how
an answer is read entry by entry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.tools.answers import PointOfInterest, ProviderAnswer
from tripwright.domains.deeptravel.vendors.reading import readable, rows_at
from tripwright.domains.deeptravel.vendors.vendor import HttpVendor, checked_results, said, utc_now


class PlaceSearch(HttpVendor):
    """A subclass names the address (`public_url`, `path`), what is sent, and where an answer holds
    its entries (`entries`)."""

    tools: ClassVar[frozenset[str]] = frozenset(("poi_search",))
    public_url: ClassVar[str]
    path: ClassVar[str]
    entries: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        *,
        base_url: str = "",  # empty: the public server
        language: str = "en",
        max_results: int = 10,
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 20.0,
        now: Callable[[], datetime] = utc_now,
    ):
        super().__init__(
            base_url or self.public_url, contact=contact, terms=terms, timeout_s=timeout_s, now=now
        )
        self.language, self.max_results = language, checked_results(self.name, max_results)

    @abstractmethod
    def parameters(self, text: str) -> Mapping[str, Any]: ...

    @abstractmethod
    def place(self, entry: Any, city: str) -> PointOfInterest | None:
        """None for an entry that names no place."""

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        query, city = said(arguments, "query"), said(arguments, "city_name")
        text = f"{query}, {city}" if query and city else query
        refusal = self.refusal_of(text)
        if refusal is not None:
            return refusal
        answer = rows_at(self.name, self._http.get(self.path, self.parameters(text)), *self.entries)
        places = readable(self.name, answer, lambda entry: self.place(entry, city))
        return self.result(tuple(places[: self.max_results]), f"No place found for '{text}'.")
