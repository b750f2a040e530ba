"""Web pages from a SearXNG of your own: https://docs.searxng.org/dev/search_api.html.

It answers JSON only with `json` under `search: formats:` in its settings.yml, else with a 403.
"""

from typing import Any

import httpx2

URL = "http://localhost:8888/search"


def search_web(query: str) -> list[dict[str, Any]]:
    asked = {"q": query, "format": "json", "language": "en"}
    answer = httpx2.get(URL, params=asked, timeout=20).raise_for_status().json()
    if not answer["results"] and answer.get("unresponsive_engines"):
        # the engines' fault must not become "there is no such page"; it may pass
        raise ConnectionError(f"no engine answered: {answer['unresponsive_engines']}")
    return [
        {"title": page["title"], "url": page["url"], "snippet": page.get("content")}
        for page in answer["results"][:10]
    ]
