"""What the answers of a run cost: requests, tokens and USD, summed over the transcripts that count.

Every completion is in exactly one of them: an episode that was played again took its earlier turns
from calls.jsonl, and its later line is the one that is read. What a request cost that never came
back is not known to anybody here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tripwright.llm.paid_calls import Prices


def adding_usage(lines: Iterable[dict[str, Any]], total: Counter[str]) -> Iterator[dict[str, Any]]:
    """The same lines; what each of them used is added to `total`."""
    for line in lines:
        total.update(line["transcript"].get("usage") or {})
        yield line


def sum_usage(usages: Iterable[Mapping[str, float]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for usage in usages:
        total.update(usage)
    return total


def usage_entry(total: Mapping[str, float], prices: Prices | None) -> dict[str, Any] | None:
    """The entry "usage" of score.json; None for a run that asked no endpoint. Tokens and cost are
    null where they are not known: the endpoint did not count them, or counted those of some
    requests only (`uncounted_requests`)."""
    requests = int(total.get("requests", 0))
    if not requests:
        return None
    uncounted = int(total.get("uncounted_requests", 0))

    def tokens(name: str) -> int | None:
        return int(total.get(name, 0)) if not uncounted else None

    cost = prices.usd(total) if prices and not uncounted else None
    return {
        "requests": requests,
        "prompt_tokens": tokens("prompt_tokens"),
        "completion_tokens": tokens("completion_tokens"),
        "cached_tokens": int(total["cached_tokens"]) if "cached_tokens" in total else None,
        "uncounted_requests": uncounted,
        "discarded_requests": int(total.get("discarded_requests", 0)),
        "cost_usd": cost,
        "usd_per_million_tokens": {
            "input": prices.input,
            "output": prices.output,
            "cached_input": prices.cached_input,
        }
        if prices
        else None,
    }
