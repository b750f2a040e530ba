"""Files of requests: made by several processes, without repeats, in splits that share none, and to
be gone on with after a kill.

The subtle thing is repeats. Each n-th request is made without looking at the others; where it
equals an earlier one, its next attempt is taken. That is decided here, in order, so one process and
many write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tripwright import __version__
from tripwright.domains.travelplanner.queries.make_item import (
    Exhausted,
    Maker,
    QueryItem,
    QuerySettings,
    make_item,
)
from tripwright.domains.travelplanner.queries.make_journal import MakingJournal
from tripwright.domains.travelplanner.queries.make_pool import in_order, worker_count
from tripwright.domains.travelplanner.queries.splits import Key, request_key, split_sizes
from tripwright.domains.travelplanner.query import Query
from tripwright.files import write_atomically
from tripwright.world.store import World


@dataclass
class QueryBatch:
    """What was made. `resumed`: requests taken over from a run that was stopped. `rejected`: reason
    → attempts, of all runs together."""

    files: dict[str, int] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    resumed: int = 0


def make_files(
    world: World,
    out: Path,
    count: int,
    settings: QuerySettings,
    *,
    splits: dict[str, float] | None = None,
    excluded: frozenset[Key] = frozenset(),
    workers: int | None = None,
    restart: bool = False,
    report: Callable[[QueryBatch], None] | None = None,
) -> QueryBatch:
    """Makes `count` different requests: the file `out`, or with `splits` the folder `out` with one
    file each, cut in order.

    Goes on where a killed run with the same settings stopped. Raises Exhausted where the world does
    not give so many.
    """
    sizes = split_sizes(count, splits) if splits else {}
    batch = QueryBatch()
    with MakingJournal(out, _identity(world, count, settings, sizes, excluded), restart) as journal:
        for entry in journal.entries:
            _take(batch, entry)
        batch.resumed = len(batch.records)
        keys = {request_key(Query.model_validate(record)) for record in batch.records}
        maker = Maker.of(world, settings, excluded)
        tasks = [(index, 0) for index in range(batch.resumed, count)]
        arguments = (world, settings, excluded)
        try:
            for task, item in zip(
                tasks,
                in_order(Maker.of, arguments, make_item, tasks, worker_count(workers, len(tasks))),
                strict=True,
            ):
                entry = _unseen(maker, task[0], item, keys)
                journal.add(entry)
                _take(batch, entry)
                if report:
                    report(batch)
        except Exhausted:
            journal.remove()  # going on would end here again
            raise
        batch.files = _write(out, batch.records, sizes)
        journal.remove()
    return batch


def _unseen(maker: Maker, index: int, item: QueryItem, keys: set[Key]) -> dict[str, Any]:
    """The journal's entry for this item, or for its first later attempt that is no repeat. Adds its
    key to `keys`."""
    rejected = Counter(item.rejected)
    while (key := request_key(Query.model_validate(item.record))) in keys:
        rejected["repeats an earlier one"] += 1
        item = make_item(maker, (index, item.attempt + 1), rejected)
        rejected += item.rejected
    keys.add(key)
    return {"rejected": dict(rejected), "record": item.record}


def _take(batch: QueryBatch, entry: dict[str, Any]) -> None:
    batch.records.append(entry["record"])
    batch.rejected.update(entry["rejected"])


def _write(out: Path, records: list[dict[str, Any]], sizes: dict[str, int]) -> dict[str, int]:
    if not sizes:
        write_atomically(out, _lines(records))
        return {str(out): len(records)}
    out.mkdir(exist_ok=True)
    sizes_written, start = {}, 0
    for name, size in sizes.items():
        path = out / f"{name}.jsonl"
        write_atomically(path, _lines(records[start : start + size]))
        sizes_written[str(path)] = size
        start += size
    return sizes_written


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _identity(
    world: World,
    count: int,
    settings: QuerySettings,
    sizes: dict[str, int],
    excluded: frozenset[Key],
) -> dict[str, Any]:
    """Everything that the bytes depend on."""
    digest = hashlib.sha256(json.dumps(sorted(excluded, key=repr)).encode()).hexdigest()
    return {
        "tripwright": __version__,
        "world": world.content_hash,
        "count": count,
        **asdict(settings),
        "splits": sizes,
        "excluded": digest if excluded else None,
    }
