"""Web pages from Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search.

TAVILY_API_KEY holds the key. A development key allows 100 requests a minute. Keep the answers
(may_store) only once you have made sure that https://tavily.com/terms allows it.
"""

import os
from typing import Any

import httpx2

URL = "https://api.tavily.com/search"
HEADERS = {"authorization": f"Bearer {os.environ['TAVILY_API_KEY']}"}


def search_web(query: str) -> list[dict[str, Any]]:
    asked = {"query": query, "search_depth": "basic", "max_results": 5}
    answer = httpx2.post(URL, json=asked, headers=HEADERS, timeout=20).raise_for_status().json()
    return [
        {"title": page["title"], "url": page["url"], "snippet": page["content"]}
        for page in answer["results"]
    ]
