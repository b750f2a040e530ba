"""Writes rows to a parquet file or a JSONL file. The columns' types are fixed here, so that a file
without any level or token id has them too."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tripwright.data.files import replacing
from tripwright.errors import UserError

ROWS_PER_GROUP = 256  # of a parquet file: what is in memory at once

# Column → type, in words; `_arrow` says what they are. Layouts by name. A file has those of them
# that its rows have, and the marks of its domain's requests, whose types their values say.
COLUMNS: dict[str, dict[str, str]] = {
    "messages": {
        "id": "text",
        "messages": "messages",
        "tools": "text",
        "train": "flags",
        "input_ids": "ids",
        "loss_mask": "bits",
        "level": "text",
        "dialect": "text",
        "world": "text",
        "query": "text",
    },
    "trl": {"messages": "messages", "tools": "text"},
    "verl": {
        "data_source": "text",
        "prompt": "messages",
        "ability": "text",
        "reward_model": "judge",
        "extra_info": "extra",
        "agent_name": "text",
    },
}


def write_rows(rows: Iterable[dict[str, Any]], path: Path, layout: str) -> int:
    """How many. The file's ending chooses: `.parquet`, or `.jsonl`."""
    if path.suffix == ".jsonl":
        return write_json_lines(rows, path)
    pa, pq = _pyarrow()
    count, rows = 0, iter(rows)
    first = list(itertools.islice(rows, 1))
    rows, schema = (
        itertools.chain(first, rows),
        pa.schema(_arrow(pa, COLUMNS[layout], first[0] if first else None)),
    )
    with replacing(path) as out, pq.ParquetWriter(out, schema) as writer:
        while group := list(itertools.islice(rows, ROWS_PER_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def write_json_lines(rows: Iterable[dict[str, Any]], path: Path) -> int:
    count = 0
    with replacing(path) as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise UserError(
            "Parquet needs the 'data' extra: pip install 'tripwright[data]'. A name that ends in"
            " .jsonl needs nothing."
        ) from None
    return pyarrow, pyarrow.parquet


def _arrow(pa: Any, columns: dict[str, str], row: dict[str, Any] | None) -> list[tuple[str, Any]]:
    """Of the columns of `row`, and of what its `extra_info` has: what marks a request is its
    domain's. None: there is no row."""
    text, number = pa.string(), pa.int64()

    def type_of(value: Any) -> Any:
        return number if isinstance(value, int) else text

    extra = (row or {}).get("extra_info", {})
    kinds = {
        "text": text,
        "number": number,
        "messages": pa.list_(pa.struct([("role", text), ("content", text)])),
        "flags": pa.list_(pa.bool_()),
        "ids": pa.list_(pa.int32()),
        "bits": pa.list_(pa.int8()),
        "judge": pa.struct([("style", text), ("ground_truth", text)]),
        "extra": pa.struct([(name, type_of(value)) for name, value in extra.items()]),
    }
    if row is None:
        return [(name, kinds[kind]) for name, kind in columns.items()]
    return [
        (name, kinds[columns[name]] if name in columns else type_of(value))
        for name, value in row.items()
    ]
