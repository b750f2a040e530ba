"""The rows of an update in verl's queue: which of its ranks gets which, and our columns of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import transfer_queue as tq
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size

from tripwright.bridges.verl.weighed import Update


def arranged(
    batch: KVBatchMeta,
    updates: list[Update],
    uids: Sequence[str],
    ranks: int,
    members: int,
    padding_id: int,
) -> tuple[KVBatchMeta, int]:
    """The rows of the updates in the order in which verl deals them out, and how many make an
    update. verl gives each rank a slice and cuts each slice into minibatches; so every update has
    as many rows, filled up with empty ones, and each of its ranks as many of them and about as many
    tokens. The rest of the batch leaves the queue."""
    tags = dict(zip(batch.keys, batch.tags, strict=True))
    keys = [[row.key(uids) for row in update] for update in updates]
    wanted = [key for update in keys for key in update]
    if idle := list(tags.keys() - set(wanted)):
        tq.kv_clear(keys=idle, partition_id=batch.partition_id)
    unit = math.lcm(ranks, members)
    rows = max(-(-len(update) // unit) * unit for update in keys)
    small = KVBatchMeta(wanted, [tags[key] for key in wanted], batch.partition_id)
    if len(wanted) < rows * len(keys):
        small = upsample_batch_to_divisible_size(small, rows * len(keys), padding_id)
    tags = dict(zip(small.keys, small.tags, strict=True))
    padding = small.keys[len(wanted) :]
    slices: list[list[str]] = [[] for _ in range(ranks)]
    for update in keys:
        short = rows - len(update)
        whole, padding = update + padding[:short], padding[short:]
        whole.sort(key=lambda key: -tags[key]["seq_len"])
        for place, key in enumerate(whole):  # there and back again: the long rows are shared out
            turn, at = divmod(place, ranks)
            slices[at if turn % 2 == 0 else ranks - 1 - at].append(key)
    order = [key for part in slices for key in part]
    return KVBatchMeta(order, [tags[key] for key in order], batch.partition_id), rows


def write_update(batch: KVBatchMeta, updates: list[Update], uids: Sequence[str]) -> None:
    """Columns of the response's tokens into verl's queue."""
    rows = {row.key(uids): row for update in updates for row in update}
    nothing = torch.zeros(1)

    def column(name: str) -> torch.Tensor:
        parts = [
            rows[key].response(getattr(rows[key], name)) if key in rows else nothing
            for key in batch.keys
        ]
        return torch.nested.as_nested_tensor(parts, layout=torch.jagged)

    fields = {
        "old_log_probs": column("old_T"),
        "advantages": column("advantages_T"),
        "rollout_is_weights": column("weights_T"),
    }
    tq.kv_batch_put(
        keys=batch.keys,
        partition_id=batch.partition_id,
        fields=TensorDict(fields, batch_size=len(batch.keys)),
    )
