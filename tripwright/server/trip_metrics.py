"""What the trip server counts, for Prometheus. With several workers the command line sets
PROMETHEUS_MULTIPROC_DIR, and a page of figures sums them up."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

REQUESTS = Counter(
    "tripwright_requests_total", "Requests by route and status.", ["method", "route", "status"]
)
TRIPS = Counter("tripwright_trips_total", "Trips by how they ended.", ["status"])
TRIP_SECONDS = Histogram("tripwright_trip_seconds", "Planning a trip, without its wait.")


def page() -> bytes:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)
