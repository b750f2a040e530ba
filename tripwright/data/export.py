"""Trajectories in the layouts that other trainers read, as a `.parquet` or a `.jsonl` file. Every
message text is the transcript's, to the letter.

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
from tripwright.files import json_object, replacing, write_atomically
from tripwright.transcript import Segment

SHAREGPT_ROLES = {"user": "human", "assistant": "gpt", "tool": "observation"}


def messages(trajectory: StoredEpisode) -> list[dict[str, str]]:
    """Raises UserError where these layouts cannot say what its turns saw."""
    if len(trajectory.transcript.contexts) > 1:
        raise UserError(
            f"Episode '{trajectory.id}' has turns for which earlier exchanges were left out, and in"
            " this layout every turn is trained on after all before it: take --layout messages."
        )
    return _messages(trajectory.transcript.segments)


def _messages(segments: Iterable[Segment]) -> list[dict[str, str]]:
    return [{"role": segment.role, "content": segment.text} for segment in segments]


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
                "messages": _messages(segments),
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


def trl_rows(trajectories: Iterable[StoredEpisode]) -> Iterator[dict[str, Any]]:
    """TRL's conversational language modelling: for SFTTrainer with assistant_only_loss=True, which
    trains on every assistant message.

    (Its prompt/completion layout would train on the last message alone.)
    """
    for trajectory in trajectories:
        yield {"messages": messages(trajectory), "tools": tools_text(trajectory)}


def llama_factory_rows(trajectories: Iterable[StoredEpisode]) -> Iterator[dict[str, Any]]:
    """LLaMA-Factory's sharegpt: the system prompt apart, then human and observation in turn with
    gpt. Its template writes `tools` into the system prompt; an empty text where the dialect's
    prompt needs none. Each schema is the bare function, which every version reads."""
    for trajectory in trajectories:
        system, *rest = messages(trajectory)
        schemas = json.loads(tools_text(trajectory) or "[]")
        yield {
            "conversations": [
                {"from": SHAREGPT_ROLES[message["role"]], "value": message["content"]}
                for message in rest
            ],
            "system": system["content"],
            "tools": (
                json.dumps([schema["function"] for schema in schemas], ensure_ascii=False)
                if schemas
                else ""
            ),
        }


ROWS = {"messages": message_rows, "trl": trl_rows, "llama-factory": llama_factory_rows}
ENDINGS = (".parquet", ".jsonl")
DATASETS = "dataset_info.json"  # LLaMA-Factory's list of data sets
SHAREGPT = {
    "formatting": "sharegpt",
    "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
    "tags": {
        "role_tag": "from",
        "content_tag": "value",
        "user_tag": "human",
        "assistant_tag": "gpt",
        "observation_tag": "observation",
        "function_tag": "function_call",
    },
}


def export(trajectories: Iterable[StoredEpisode], layout: str, path: Path) -> int:
    """Writes them to `path` and returns the number of rows. For LLaMA-Factory the file is named in
    the list of data sets beside it, which may hold others. Raises UserError before anything is half
    written."""
    if layout not in ROWS:
        raise UserError(f"Unknown layout '{layout}'. Available: {', '.join(ROWS)}.")
    if path.suffix not in ENDINGS:
        raise UserError(f"'{path}' is no name of a file that ends in {' or '.join(ENDINGS)}.")
    listing = path.with_name(DATASETS)
    datasets = json_object(listing)
    if layout == "llama-factory" and datasets is None and listing.exists():
        raise UserError(
            f"'{listing}' is not a list of data sets (a JSON object). Mend it, or name another"
            " folder for --out."
        )
    count = write_rows(ROWS[layout](trajectories), path)
    if layout == "llama-factory":
        datasets = {**(datasets or {}), path.stem: {"file_name": path.name, **SHAREGPT}}
        write_atomically(listing, json.dumps(datasets, indent=2, ensure_ascii=False) + "\n")
    return count


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
