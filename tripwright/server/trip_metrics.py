"""What the trip server counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

REQUESTS = Counter(
    "tripwright_requests_total", "Requests by route and status.", ["method", "route", "status"]
)
TRIPS = Counter("tripwright_trips_total", "Trips by how they ended.", ["status"])
TRIP_SECONDS = Histogram("tripwright_trip_seconds", "Planning a trip, without its wait.")
