"""Trajectories as messages, which other trainers read, in a `.parquet` or a `.jsonl` file. Every
text is the transcript's, to the letter.

Tool calls stay in the text of the turn that made them, as the model wrote them: a structured call
would be written anew by the reader's chat template, in its own spacing. `tools` is a JSON text,
because Arrow fills the missing keys of nested objects with nulls. The columns' types are fixed
here, so that a file without any level or token id has them too."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tripwright.data.trajectories import StoredEpisode
from tripwright.errors import UserError
from tripwright.files import replacing


def tools_text(trajectory: StoredEpisode) -> str | None:
    """The schemas of the tools that the chat template was given; None in dialects that give it
    none."""
    if "tools" not in trajectory.record:
        raise UserError(
            f"Episode '{trajectory.id}' does not say which tools it was given. Export a file made"
            " by 'tripwright data collect'."
        )
    schemas = trajectory.record["tools"]
    return None if schemas is None else json.dumps(schemas, ensure_ascii=False)


def message_rows(trajectories: Iterable[StoredEpisode]) -> Iterator[dict[str, Any]]:
    """Hugging Face rows. `train`: for each message, whether it is trained on. `input_ids` and
    `loss_mask` are those that the episode stored as they were emitted (law 5), null where a
    transcript has none; they are never made here from the texts. What marks a request beside its
    level is its domain's to say: `days`, or `wishes` ("with", "without"). An episode whose context
    was cut has a row for each context."""
    for trajectory in trajectories:
        transcript, record = trajectory.transcript, trajectory.record
        has_tokens = transcript.has_tokens
        for context, sequence in zip(transcript.contexts, transcript.sequences, strict=True):
            segments = [transcript.segments[n] for n in context.segments]
            yield {
                "id": trajectory.id,
                "messages": [{"role": each.role, "content": each.text} for each in segments],
                "tools": tools_text(trajectory),
                "train": [
                    n in context.turns and (any(s.loss_mask) or not has_tokens)
                    for n, s in zip(context.segments, segments, strict=True)
                ],
                "input_ids": sequence.token_ids if has_tokens else None,
                "loss_mask": sequence.loss_mask if has_tokens else None,
                **trajectory.marks,
                "dialect": record.get("dialect"),
                "world": record.get("world"),
                "query": json.dumps(trajectory.request.record(), ensure_ascii=False),
            }


ENDINGS = (".parquet", ".jsonl")


def export(trajectories: Iterable[StoredEpisode], path: Path) -> int:
    """Writes them to `path` and returns the number of rows. Raises UserError before anything is
    half written."""
    if path.suffix not in ENDINGS:
        raise UserError(f"'{path}' is no name of a file that ends in {' or '.join(ENDINGS)}.")
    return write_rows(message_rows(trajectories), path)


ROWS_PER_GROUP = 256  # of a parquet file: what is in memory at once


def write_rows(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """How many. The file's ending chooses: `.parquet`, or `.jsonl`."""
    count = 0
    if path.suffix == ".jsonl":
        with replacing(path) as out:
            for row in rows:
                out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                count += 1
        return count
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = iter(rows)
    group = list(itertools.islice(rows, ROWS_PER_GROUP))
    schema = _schema(pa, group[0])
    with replacing(path) as out, pq.ParquetWriter(out, schema) as writer:
        while group:
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
            group = list(itertools.islice(rows, ROWS_PER_GROUP))
    return count


def _schema(pa: Any, row: dict[str, Any]) -> Any:
    """As the first row's values show it. Token ids are as small as they can be, and where there
    is no value the column holds texts."""
    fixed = {"input_ids": pa.list_(pa.int32()), "loss_mask": pa.list_(pa.int8())}
    shown = {name: pa.infer_type([value]) for name, value in row.items() if value is not None}
    return pa.schema([(name, fixed.get(name, shown.get(name, pa.string()))) for name in row])
