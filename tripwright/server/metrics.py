"""What a tool server counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

# one label for every name that is no tool: what is asked for may be any text that a model wrote
UNKNOWN_TOOL = "unknown"
TOOL_SECONDS = Histogram(
    "tripwright_tool_seconds",
    "Seconds from a call's headers to its answer. The count is the number of calls; an 'error' is"
    " an answer to the agent.",
    ["tool", "outcome"],
    buckets=(
        *(1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3),
        *(0.01, 0.025, 0.1, 1.0, 5.0, 30.0),
    ),
)
REFUSED = Counter(
    "tripwright_refused_requests", "Requests that reached no tool, by status.", ["status"]
)
FAULTS = Counter("tripwright_server_faults", "Calls that failed for a fault of the server.")
UNANSWERED = Counter("tripwright_unanswered_calls", "Calls that a live service did not answer.")
CACHE_HITS = Counter("tripwright_answer_cache_hits", "Calls answered from a cache.")
