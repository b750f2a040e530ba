"""What a tool server counts, for Prometheus: one set of figures for all workers, whichever of them
is asked.

Each worker counts in a file of its own that is mapped into its memory, in a folder made anew for
every server; an answer of /metrics adds the files up. The counts of a worker that died stay in the
sum, because a counter must never fall. Every cell has one writer, so counting needs no lock: it
costs a tenth of what prometheus_client's own files for several processes cost, which is felt in
every call.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import shutil
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
# one label for every name that is no tool: what is asked for may be any text that a model wrote
UNKNOWN_TOOL = "unknown"
OUTCOMES = ("ok", "error")  # an `error` is an answer to the agent, such as an unknown city
REFUSED_STATUS = (400, 413)
SECONDS_BUCKETS = (
    1e-5,
    2.5e-5,
    5e-5,
    1e-4,
    2.5e-4,
    5e-4,
    1e-3,
    2.5e-3,
    5e-3,
    0.01,
    0.025,
    0.1,
    1.0,
    5.0,
    30.0,
)

_FOLDER_PREFIX, _LOCK = "tripwright-metrics-", "lock"
_LIVE, _DEAD = ".live", ".dead"  # endings of the files of counts
# calls by bucket, the last without limit, and the sum of their seconds
_SERIES_CELLS = len(SECONDS_BUCKETS) + 2


class Metrics:
    """The counts of this worker, and the page of all. Without a folder there are no others."""

    def __init__(self, tools: Iterable[str], folder: Path | None = None):
        self._folder = folder
        series = [(tool, outcome) for tool in (*tools, UNKNOWN_TOOL) for outcome in OUTCOMES]
        self._series = {
            (tool, outcome == "error"): i * _SERIES_CELLS
            for i, (tool, outcome) in enumerate(series)
        }
        first = len(series) * _SERIES_CELLS
        self._refused = {status: first + i for i, status in enumerate(REFUSED_STATUS)}
        others = first + len(REFUSED_STATUS)
        self._faults, self._unanswered, self._hits, self._cache_bytes, self._memory = range(
            others, others + 5
        )
        self._cells = _cells(self._memory + 1, folder)

    def called(self, tool: str, error: bool, seconds: float) -> None:
        cells, first = self._cells, self._series[tool, error]
        cells[first + bisect_left(SECONDS_BUCKETS, seconds)] += 1
        cells[first + _SERIES_CELLS - 1] += seconds

    def refused(self, status: int) -> None:
        self._cells[self._refused[status]] += 1

    def failed(self) -> None:
        self._cells[self._faults] += 1

    def unanswered(self) -> None:
        self._cells[self._unanswered] += 1

    def sample(self, cache_bytes: int, cache_hits: int) -> None:
        """Notes what nobody reports as it changes: the cache of this worker, and its memory."""
        self._cells[self._cache_bytes], self._cells[self._hits] = cache_bytes, cache_hits
        self._cells[self._memory] = memory_bytes()

    def page(self) -> bytes:
        """The figures of all workers in Prometheus' text format."""
        registry = CollectorRegistry()
        registry.register(_Page(self))
        return generate_latest(registry)

    def families(self) -> Iterator[Metric]:
        workers = self._all_workers()
        total = [sum(cells) for cells in zip(*(cells for _, cells in workers), strict=True)]
        seconds = HistogramMetricFamily(
            "tripwright_tool_seconds",
            "Seconds from a call's headers to its answer. The count is the number of calls; an"
            " 'error' is an answer to the agent.",
            labels=["tool", "outcome"],
        )
        bounds = [*map(str, SECONDS_BUCKETS), "+Inf"]
        for (tool, error), first in self._series.items():
            *counts, elapsed = total[first : first + _SERIES_CELLS]
            seconds.add_metric(
                [tool, OUTCOMES[error]], list(zip(bounds, accumulate(counts), strict=True)), elapsed
            )
        yield seconds
        refusals = CounterMetricFamily(
            "tripwright_refused_requests",
            "Requests that reached no tool, by status.",
            labels=["status"],
        )
        for status, cell in self._refused.items():
            refusals.add_metric([str(status)], total[cell])
        yield refusals
        yield CounterMetricFamily(
            "tripwright_server_faults",
            "Calls that failed for a fault of the server.",
            total[self._faults],
        )
        yield CounterMetricFamily(
            "tripwright_unanswered_calls",
            "Calls that a live service did not answer.",
            total[self._unanswered],
        )
        yield CounterMetricFamily(
            "tripwright_answer_cache_hits",
            "Calls answered from a cache, some seconds ago.",
            total[self._hits],
        )
        live = {pid: cells for pid, cells in workers if pid is not None}
        cache = sum(cells[self._cache_bytes] for cells in live.values())
        yield GaugeMetricFamily(
            "tripwright_answer_cache_bytes",
            "Size of the caches of answers, some seconds ago.",
            cache,
        )
        memory = GaugeMetricFamily(
            "tripwright_worker_memory_bytes",
            "Memory of a worker (PSS: with its share of shared pages), some seconds ago.",
            labels=["pid"],
        )
        for pid, cells in live.items():
            memory.add_metric([pid], cells[self._memory])
        yield memory

    def _all_workers(self) -> list[tuple[str | None, Sequence[float]]]:
        """(process id, counts) of each worker; the dead have no id."""
        if self._folder is None:
            return [(str(os.getpid()), self._cells)]
        while True:
            try:
                return [
                    (
                        path.stem if path.suffix == _LIVE else None,
                        memoryview(path.read_bytes()).cast("d"),
                    )
                    for path in sorted(self._folder.iterdir())
                    if path.suffix in (_LIVE, _DEAD) and path.stat().st_size
                ]
            except FileNotFoundError:  # a worker died, and its file was renamed
                continue


class _Page(Collector):
    def __init__(self, metrics: Metrics):
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return self._metrics.families()


def _cells(count: int, folder: Path | None) -> memoryview[float]:
    """`count` numbers, 0 at first, in a file of this process if there is a folder."""
    if folder is None:
        return memoryview(bytearray(8 * count)).cast("d")
    with open(folder / f"{os.getpid()}{_LIVE}", "w+b") as file:
        file.truncate(8 * count)
        return memoryview(mmap.mmap(file.fileno(), 8 * count)).cast("d")


def memory_bytes() -> int:
    """The proportional set size of this process, or its peak resident size where the system does
    not tell."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """A new folder for the counts of one server, gone afterwards. Folders of killed servers are
    swept first: theirs are unlocked."""
    parent = Path(tempfile.gettempdir())
    for stale in parent.glob(f"{_FOLDER_PREFIX}*"):
        _sweep(stale)
    folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX, dir=parent))
    try:
        with open(folder / _LOCK, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def forget_worker(folder: Path, pid: int) -> None:
    """A dead worker uses no memory; its counts stay."""
    path = folder / f"{pid}{_LIVE}"
    if path.exists():
        path.rename(folder / f"{pid}-{time.time_ns()}{_DEAD}")


def _sweep(folder: Path) -> None:
    try:
        with open(folder / _LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # in use, another user's, or only just made
        return
