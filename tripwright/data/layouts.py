"""Trajectories in the layouts that other trainers read. Every message text is the transcript's, to
the letter.

Tool calls stay in the text of the turn that made them, as the model wrote them: a structured call
would be written anew by the reader's chat template, in its own spacing. `tools` is a JSON text,
because Arrow fills the missing keys of nested objects with nulls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tripwright.data.files import StoredEpisode
from tripwright.errors import UserError
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
