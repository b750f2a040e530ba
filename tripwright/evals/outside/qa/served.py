"""A retriever behind Search-R1's protocol: `POST /retrieve {"queries": […], "topk": 3,
"return_scores": true}`.

The answer is {"result": [[{"document": {"id", "contents"}, "score"}, …]]}, one list per query;
without scores a list of documents. So its `retrieval_server.py` with E5 and the whole of Wikipedia
can stand on another machine. A server that fails is asked again, with growing pauses; then it is
our side's fault and the episode ends unscored (law 4).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tripwright.errors import UserError
from tripwright.evals.outside.qa.passages import Passage, RetrieverDown
from tripwright.llm.urls import is_address, shown_url
from tripwright.tools.http import HttpCaller, ProviderFault, RefusedCall

PATH = "/retrieve"


class ServedRetriever:
    """`url` with or without `/retrieve`. What the server has indexed it does not say."""

    def __init__(
        self,
        url: str,
        name: str = "search-r1 server",
        timeout_s: float = 60.0,
        max_retries: int = 3,
        first_wait_s: float = 0.5,
    ):
        if not is_address(url):
            raise UserError(
                f"Retriever '{shown_url(url)}' is not a URL: expected one like"
                " http://localhost:8000/retrieve."
            )
        address = url.rstrip("/").removesuffix(PATH)
        self.url = shown_url(address)
        self.name, self._max_retries, self._first_wait_s = name, max_retries, first_wait_s
        self._http = HttpCaller(address, timeout_s=timeout_s)

    @property
    def identity(self) -> dict[str, Any]:
        """By its address: another server may have another index, so a run is not continued with
        it."""
        return {"name": self.name, "url": self.url}

    def search(self, query: str, top_k: int) -> Sequence[Passage]:
        body = {"queries": [query], "topk": top_k, "return_scores": True}
        for attempt in range(self._max_retries + 1):
            try:
                return self._read(self._http.post(PATH, body))[:top_k]
            except RefusedCall as refused:  # it will not take the same words better the next time
                raise RetrieverDown(
                    f"{self.url}{PATH} answered {refused.status}: {refused}"
                ) from None
            except ProviderFault as fault:
                problem = str(fault)
            if attempt < self._max_retries:
                time.sleep(self._first_wait_s * 2**attempt)
        raise RetrieverDown(f"{problem} ({self._max_retries + 1} attempts)")

    def _read(self, answer: Any) -> list[Passage]:
        try:
            (found,) = answer["result"]
            documents = [each.get("document", each) for each in found]
            return [
                Passage(str(document.get("id", "")), _text(document["contents"]))
                for document in documents
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise RetrieverDown(
                f'{self.url}{PATH} answered something other than {{"result": [[{{"document":'
                " …}]]}."
            ) from None

    def close(self) -> None:
        self._http.close()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
