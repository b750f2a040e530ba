"""Trajectories, or requests, in the layouts that other trainers read: a `.parquet` or `.jsonl`
file, or a file in a folder with LLaMA-Factory's list of data sets beside it. Every message text is
the transcript's, to the letter.

Tool calls stay in the text of the turn that made them, as the model wrote them: a structured call
would be written anew by the reader's chat template, in its own spacing. `tools` is a JSON text,
because Arrow fills the missing keys of nested objects with nulls. The columns' types are fixed
here, so that a file without any level or token id has them too.

verl's RLHFDataset reads rows of requests (rows P8, P10): the prompt of an episode, and what an
agent loop needs to play and to judge it. Only the fields of a request go there, nothing that its
file adds, such as a plan that answers it: training data must not hold the answer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.data.files import StoredEpisode, marks_of, replacing
from tripwright.domains import domain_of, domain_of_file
from tripwright.domains.domain import Domain
from tripwright.errors import NotJson, UserError, read_json
from tripwright.files import write_atomically
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


def dataset_info(file_name: str) -> dict[str, Any]:
    """The entry of LLaMA-Factory's dataset_info.json for a file of `llama_factory_rows`."""
    return {
        "file_name": file_name,
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


ROWS_PER_GROUP = 256  # of a parquet file: what is in memory at once

# by layout, of a file without rows
COLUMNS = {
    "messages": ("id messages tools train input_ids loss_mask level dialect world query".split()),
    "trl": ["messages", "tools"],
    "verl": "data_source prompt ability reward_model extra_info agent_name".split(),
}


def write_rows(rows: Iterable[dict[str, Any]], path: Path, layout: str) -> int:
    """How many. The file's ending chooses: `.parquet`, or `.jsonl`."""
    if path.suffix == ".jsonl":
        return write_json_lines(rows, path)
    pa, pq = _pyarrow()
    rows = iter(rows)
    group = list(itertools.islice(rows, ROWS_PER_GROUP))
    schema = _schema(pa, group[0] if group else dict.fromkeys(COLUMNS[layout]))
    count = 0
    with replacing(path) as out, pq.ParquetWriter(out, schema) as writer:
        while group:
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
            group = list(itertools.islice(rows, ROWS_PER_GROUP))
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


def _schema(pa: Any, row: dict[str, Any]) -> Any:
    """Types that no single value may show are fixed; a plain column, such as what marks a request,
    holds numbers or texts as its value does."""
    text = pa.string()
    messages = pa.list_(pa.struct([("role", text), ("content", text)]))

    def plain(value: Any) -> Any:
        return pa.int64() if isinstance(value, int) else text

    fixed = {
        "messages": messages,
        "prompt": messages,
        "train": pa.list_(pa.bool_()),
        "input_ids": pa.list_(pa.int32()),
        "loss_mask": pa.list_(pa.int8()),
        "reward_model": pa.struct([("style", text), ("ground_truth", text)]),
        "extra_info": pa.struct(
            [(name, plain(value)) for name, value in (row.get("extra_info") or {}).items()]
        ),
    }
    return pa.schema([(name, fixed.get(name, plain(value))) for name, value in row.items()])


AGENT = "tripwright"  # the name under which an agent loop is registered


def verl_rows(
    queries: Path, dialect: Dialect, world: Any, split: str = "train"
) -> Iterator[dict[str, Any]]:
    """`world` is the source of a place, or None (`domains/folders.py`).

    `extra_info.index` is the line of the query file, counted from 0. Texts of JSON, because
    Arrow fills missing keys with nulls."""
    domain = domain_of(dialect)
    holds = domain_of_file(queries) or domain
    if holds is not domain:
        raise UserError(
            f"'{queries}' holds {holds.title}, and dialect '{dialect.name}' answers {domain.title}:"
            " choose another --dialect."
        )
    system = dialect.prompt(dialect.offered())
    empty = True
    for line, request in domain.read(queries):
        empty = False
        origin = domain.origin(request)
        if world is not None and origin is not None and origin not in world.cities:
            raise UserError(
                f"{queries}:{line}: starts in {ascii(origin)}, no city of world '{world.name}': is"
                " it the right world?"
            )
        yield verl_row(domain, request, dialect, system, world, line - 1, split)
    if empty:
        raise UserError(
            f"No queries in '{queries}'. Expected a JSONL file, one query record per line."
        )


def verl_row(
    domain: Domain,
    request: Any,
    dialect: Dialect,
    system: str,
    place: Any,
    index: int,
    split: str = "train",
) -> dict[str, Any]:
    """One request; `place` is the source of the place that it is about, or None."""
    name, content_hash = getattr(place, "name", None), getattr(place, "content_hash", None)
    return {
        "data_source": f"tripwright/{name}" if name is not None else "tripwright",
        "prompt": [
            {"role": "system", "content": system},
            {"role": "user", "content": request.query},
        ],
        "ability": "travel planning",
        "reward_model": {"style": "rule", "ground_truth": _asked(request)},
        "extra_info": {
            "index": index,
            "split": split,
            **marks_of(domain, request),
            "dialect": dialect.name,
            "world": name,
            "world_hash": content_hash,
        },
        "agent_name": AGENT,
    }


def _asked(request: Any) -> str:
    fields = {field.alias or name for name, field in type(request).model_fields.items()}
    return json.dumps(
        {key: value for key, value in request.record().items() if key in fields}, ensure_ascii=False
    )


TRAJECTORY_LAYOUTS = ("messages", "trl", "llama-factory")
LAYOUTS = (*TRAJECTORY_LAYOUTS, "verl")
ENDINGS = (".parquet", ".jsonl")
DATASETS = "dataset_info.json"


def check_layout(layout: str) -> None:
    if layout not in LAYOUTS:
        raise UserError(f"Unknown layout '{layout}'. Available: {', '.join(LAYOUTS)}.")


def check_split(split: str) -> None:
    if not split.replace("_", "").replace("-", "").isalnum():
        raise UserError(
            f"--split '{split}' is no name of a file: letters, digits, '-' and '_' make one."
        )


def place_of(out: Path, split: str, layout: str) -> Path:
    """The file to write for `--out`."""
    if layout == "llama-factory":
        if out.is_file() or out.suffix in ENDINGS:
            raise UserError(
                f"--layout llama-factory writes a data file and {DATASETS}: name a folder for"
                f" --out, not '{out}'."
            )
        return out / f"tripwright_{split}.jsonl"
    if out.suffix in ENDINGS and not out.is_dir():
        return out
    if out.is_file() or (out.suffix and not out.is_dir()):
        raise UserError(
            f"'{out}' is neither a folder nor a name that ends in {' or '.join(ENDINGS)}."
        )
    return out / f"{split}.parquet"


def export(
    trajectories: Iterable[StoredEpisode], layout: str, out: Path, split: str = "train"
) -> tuple[Path, int]:
    """(the file written, its rows) for one of TRAJECTORY_LAYOUTS. Raises UserError before anything
    is half written."""
    path = place_of(out, split, layout)
    if layout == "llama-factory":
        return path, _export_llama_factory(trajectories, path)
    rows = message_rows(trajectories) if layout == "messages" else trl_rows(trajectories)
    return path, write_rows(rows, path, layout)


def _export_llama_factory(trajectories: Iterable[StoredEpisode], path: Path) -> int:
    """The list may be LLaMA-Factory's own: other data sets stay in it, and the file goes there
    under the name of ours."""
    listing = path.with_name(DATASETS)
    datasets = _datasets(listing)
    rows = write_json_lines(llama_factory_rows(trajectories), path)
    datasets[path.stem] = dataset_info(path.name)
    write_atomically(listing, json.dumps(datasets, indent=2, ensure_ascii=False) + "\n")
    return rows


def _datasets(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        datasets = read_json(path.read_bytes())
    except NotJson:
        datasets = None
    if not isinstance(datasets, dict):
        raise UserError(
            f"'{path}' is not a list of data sets (a JSON object). Mend it, or name another folder"
            " for --out."
        )
    return datasets
