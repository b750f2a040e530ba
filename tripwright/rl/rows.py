"""Rollouts as the rows that an update reads: each turn after exactly the ids that it was sampled
after (law 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from tripwright.rl.rollouts import Rollout
from tripwright.transcript import TokenSequence

T = TypeVar("T")


@dataclass(frozen=True)
class RolloutRow:
    """One sequence of a rollout, with its own numbers per token."""

    rollout: Rollout
    sequence: TokenSequence

    def __len__(self) -> int:
        return len(self.sequence.places)

    def of(self, whole_T: Sequence[T]) -> list[T]:
        """Of numbers per token of the transcript, those of this row."""
        return [whole_T[place] for place in self.sequence.places]

    def spread(self, whole_T: Sequence[float] | None, alike: float) -> list[float]:
        """The same, or one number for all where there are none."""
        return self.of(whole_T) if whole_T is not None else [alike] * len(self)

    @property
    def columns(self) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
        """(token ids, loss mask, log-probabilities) for `batches.collate`."""
        t, old_T = self.rollout.episode.transcript, self.rollout.old_T
        old = t.logprobs if old_T is None else old_T
        return self.sequence.token_ids, self.sequence.loss_mask, self.of(old)


def rows_of(rollout: Rollout) -> list[RolloutRow]:
    """One row, or several where its context was cut."""
    sequences = rollout.episode.transcript.sequences
    return [RolloutRow(rollout, sequence) for sequence in sequences]
