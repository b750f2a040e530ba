"""Files of conversations to fine-tune on, one record a line (or a Parquet row), in the formats that
this project writes and others use:

- an episode: a line of a run's transcripts.jsonl, or of `tripwright data collect`; with its own
  token ids where a local model made it;
- messages: `{"messages": [{"role", "content", "tool_calls"?}], "tools"?, "train"?, "input_ids"?,
  "loss_mask"?}`, as chat endpoints take them and `tripwright data export` writes them for Hugging
  Face and TRL;
- sharegpt: `{"conversations": [{"from", "value"}], "system"?, "tools"?}`, as LLaMA-Factory reads
  them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.files import json_lines
from tripwright.runs import TRANSCRIPTS, episode_lines
from tripwright.transcript import Transcript

ROLES = ("system", "user", "assistant", "tool")
_SHAREGPT = {
    "human": "user",
    "gpt": "assistant",
    "observation": "tool",
    "function_call": "assistant",
    "system": "system",
}


@dataclass(frozen=True)
class TrainingConversation:
    """One record, read. `where` names the file and the line, for messages. An episode's `tools` is
    None where its line does not say."""

    where: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] | None = None
    says_tools: bool = False
    train: list[bool] | None = None
    token_ids: list[int] | None = None
    loss_mask: list[int] | None = None
    transcript: Transcript | None = None


def read_conversations(path: str | Path) -> Iterator[TrainingConversation]:
    """Raises UserError with the line's number for one that is none. Of an episode that a run tried
    again, the last try."""
    path = Path(path)
    if path.is_dir():
        path = path / TRANSCRIPTS
    if not path.is_file():
        raise UserError(
            f"No training data at '{path}'. Expected a JSONL or Parquet file, or the folder of a"
            " run."
        )
    for number, record in _records(path):
        yield _conversation(record, f"{path}:{number}")


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.name == TRANSCRIPTS:
        yield from ((line.place.number, line.record()) for line in episode_lines(path))
        return
    if path.suffix == ".parquet":
        import pyarrow.parquet  # the 'data' extra

        try:
            batches = pyarrow.parquet.ParquetFile(path).iter_batches(256)
            yield from enumerate(
                (_without_nulls(row) for batch in batches for row in batch.to_pylist()), start=1
            )
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise UserError(
                f"'{path}' is not a Parquet file: {str(error).splitlines()[0]}"
            ) from None
        return
    for number, record in json_lines(path):
        if not isinstance(record, dict):
            raise UserError(
                f"{path}:{number}: expected a JSON object, found {type(record).__name__}."
            )
        yield number, record


def _without_nulls(value: Any) -> Any:
    """Arrow gives every record of a column the keys of all, empty where it had none."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _conversation(record: dict[str, Any], where: str) -> TrainingConversation:
    if "transcript" in record:
        try:
            transcript = Transcript.from_json(record["transcript"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError(f"{where}: its transcript cannot be read.") from None
        return TrainingConversation(
            where, tools=_tools(record, where), says_tools="tools" in record, transcript=transcript
        )
    if "conversations" in record:
        record = {**record, "messages": _of_sharegpt(record, where)}
    if "messages" not in record:
        raise UserError(
            f"{where}: no 'messages', 'conversations' or 'transcript' in it; found"
            f" {', '.join(list(record)[:6]) or 'nothing'}."
        )
    messages = _messages(record["messages"], where)
    train = record.get("train")
    if train is not None and (not isinstance(train, list) or len(train) != len(messages)):
        raise UserError(
            f"{where}: 'train' must have one true or false for each of the {len(messages)}"
            " messages."
        )
    ids, mask = record.get("input_ids"), record.get("loss_mask")
    if (ids is not None or mask is not None) and not (
        isinstance(ids, list) and isinstance(mask, list) and len(ids) == len(mask)
    ):
        raise UserError(
            f"{where}: 'input_ids' and 'loss_mask' must be lists of equal length, or both absent."
        )
    return TrainingConversation(where, messages, _tools(record, where), True, train, ids, mask)


def _tools(record: dict[str, Any], where: str) -> list[dict[str, Any]] | None:
    """A list, or a JSON text of one; sharegpt's bare functions are wrapped as OpenAI's tools."""
    tools = record.get("tools")
    if isinstance(tools, str):
        try:
            tools = json.loads(tools) if tools.strip() else None
        except json.JSONDecodeError as error:
            raise UserError(f"{where}: 'tools' is not JSON ({error.msg}).") from None
    if not tools:
        return None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise UserError(f"{where}: 'tools' must be a list of JSON schemas, or a JSON text of one.")
    return [
        tool if "function" in tool else {"type": "function", "function": tool} for tool in tools
    ]


def _of_sharegpt(record: dict[str, Any], where: str) -> list[dict[str, Any]]:
    turns = record["conversations"]
    if not isinstance(turns, list) or not all(
        isinstance(turn, dict) and turn.get("from") in _SHAREGPT for turn in turns
    ):
        raise UserError(
            f"{where}: 'conversations' must be a list of turns with 'from' ({', '.join(_SHAREGPT)})"
            " and 'value'."
        )
    opening = [{"role": "system", "content": record["system"]}] if record.get("system") else []
    return [
        *opening,
        *({"role": _SHAREGPT[turn["from"]], "content": turn.get("value")} for turn in turns),
    ]


def _messages(messages: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(messages, list) or not messages:
        raise UserError(f"{where}: 'messages' must be a list of at least one message.")
    return [
        _message(message, f"{where}: message {i}") for i, message in enumerate(messages, start=1)
    ]


def _message(message: Any, where: str) -> dict[str, Any]:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ROLES:
        raise UserError(f"{where}: role {role!r} is none of {', '.join(ROLES)}.")
    content, calls = message.get("content"), message.get("tool_calls")
    if not isinstance(content, str) and not (content is None and calls):
        raise UserError(
            f"{where}: 'content' must be a text{'' if calls else ', or absent beside tool_calls'};"
            f" found {type(content).__name__}."
        )
    if not calls:
        return {
            **{key: message[key] for key in ("name", "tool_call_id") if key in message},
            "role": role,
            "content": content,
        }
    return {
        "role": role,
        "content": content or "",
        "tool_calls": [_call(call, where) for call in calls],
    }


def _call(call: Any, where: str) -> dict[str, Any]:
    """Arguments as an object: a template that writes them as JSON would put a text in quotes."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise UserError(f"{where}: a tool call needs 'function' with 'name' and 'arguments'.")
    arguments = function.get("arguments", {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except json.JSONDecodeError as error:
            raise UserError(
                f"{where}: the arguments of a call to {function['name']} are not JSON"
                f" ({error.msg})."
            ) from None
    return {**call, "type": "function", "function": {**function, "arguments": arguments}}
