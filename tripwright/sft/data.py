"""A file of conversations, or so many of the expert's, as a source for fine-tuning (rows S4, D6):
given in a new order every epoch.

Nothing is left out in silence: `Figures` counts what was read, used, cut and dropped, and why.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.errors import UserError
from tripwright.sft.chat_masks import ChatMasks, as_episode
from tripwright.sft.files import TrainingConversation, read_conversations
from tripwright.sft.trainer import SftSettings
from tripwright.transcript import StopReason, Transcript


@dataclass(frozen=True)
class TokenizedRow:
    """Token ids, and a mask that is 1 on what is trained on in full."""

    token_ids: list[int]
    loss_mask: list[int]


@dataclass
class Figures:
    """Of a file: conversations read; how many are used, of these how many were cut; why the others
    are not; tokens used and trained on."""

    read: int = 0
    used: int = 0
    cut: int = 0
    too_long: int = 0
    without_turns: int = 0  # nothing that the assistant says, or nothing left of it after the cut
    unscored: int = 0  # episodes that failed by our fault
    tokens: int = 0
    trained_tokens: int = 0

    def line(self, most_tokens: int) -> str:
        reasons = {
            f"longer than {most_tokens} tokens": self.too_long,
            "without a turn of the assistant": self.without_turns,
            "unscored": self.unscored,
        }
        out = ", ".join(f"{count} {why}" for why, count in reasons.items() if count)
        cut = f" {self.cut} were cut to {most_tokens} tokens." if self.cut else ""
        omissions = f" Left out: {out}." if out else ""
        return (
            f"{self.used} of {self.read} conversations, {self.tokens} tokens, {self.trained_tokens}"
            f" of them the assistant's.{cut}{omissions}"
        )


class FileSamples:
    """A `sft.Source`: the order of epoch e depends on the seed and e alone, so that any position
    can be jumped to."""

    def __init__(
        self, rows: list[TokenizedRow], figures: Figures, seed: int, epochs: float | None = None
    ):
        self.rows, self.figures, self.seed = rows, figures, seed
        self.count, self.position = len(rows), 0
        self.most = None if epochs is None else round(epochs * self.count)
        self._order: tuple[int, list[int]] = (-1, [])

    @property
    def epoch(self) -> int:
        return self.position // self.count

    def __iter__(self) -> Iterator[TokenizedRow]:
        return self

    def __next__(self) -> TokenizedRow:
        if self.most is not None and self.position >= self.most:
            raise StopIteration
        if self._order[0] != self.epoch:
            self._order = (
                self.epoch,
                random.Random(f"{self.seed}-{self.epoch}").sample(range(self.count), self.count),
            )
        row = self.rows[self._order[1][self.position % self.count]]
        self.position += 1
        return row

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = state["position"]


def file_samples(
    settings: SftSettings, dialect: Dialect, tokenizer: Any, positions: int, seed: int
) -> FileSamples:
    """The source of `[sft] data`. `positions`: how many the model has. Raises UserError where the
    file holds nothing to train on."""
    most_tokens = min(settings.max_tokens or dialect.context_tokens, positions)
    rows, figures = read_rows(settings, tokenizer, dialect.schemas(), most_tokens)
    return FileSamples(rows, figures, seed, settings.max_epochs)


def expert_samples(
    transcripts: Iterable[Transcript], settings: SftSettings, seed: int
) -> FileSamples:
    """The first `settings.expert_transcripts` of the expert's, read in epochs as a file's are."""
    rows = [
        TokenizedRow(ids, mask)
        for t in itertools.islice(transcripts, settings.expert_transcripts)
        for _, ids, mask in t.sequences
    ]
    tokens, agent_tokens = (
        sum(len(row.token_ids) for row in rows),
        sum(sum(row.loss_mask) for row in rows),
    )
    return FileSamples(
        rows,
        Figures(len(rows), len(rows), tokens=tokens, trained_tokens=agent_tokens),
        seed,
        settings.max_epochs,
    )


def read_rows(
    settings: SftSettings, tokenizer: Any, schemas: list[dict[str, Any]] | None, most_tokens: int
) -> tuple[list[TokenizedRow], Figures]:
    """`schemas`: the tools that the template is given for an episode whose line does not say."""
    encoder, figures, rows = Encoder(tokenizer, schemas), Figures(), []
    for conversation in read_conversations(settings.data or ""):
        figures.read += 1
        if (
            conversation.transcript is not None
            and conversation.transcript.stop_reason == StopReason.UNSCORED
        ):
            figures.unscored += 1
            continue
        for row in encoder.encode(conversation):
            if len(row.token_ids) > most_tokens:
                if settings.too_long == "refuse":
                    raise UserError(
                        f"{conversation.where}: {len(row.token_ids)} tokens, {most_tokens} are"
                        " allowed. Raise sft.max_tokens and the dialect's context_tokens, or set"
                        ' sft.too_long to "drop" or "cut".'
                    )
                if settings.too_long == "drop":
                    figures.too_long += 1
                    continue
                figures.cut += 1
                row = TokenizedRow(row.token_ids[:most_tokens], row.loss_mask[:most_tokens])
            if not any(row.loss_mask[1:]):  # the first token is never predicted
                figures.without_turns += 1
                continue
            rows.append(row)
            figures.used += 1
            figures.tokens += len(row.token_ids)
            figures.trained_tokens += sum(row.loss_mask)
    if not rows:
        raise UserError(f"'{settings.data}' holds nothing to train on: {figures.line(most_tokens)}")
    return rows, figures


class Encoder:
    """Conversations → rows, with the ids they come with, or else those of this tokenizer."""

    def __init__(self, tokenizer: Any, schemas: list[dict[str, Any]] | None):
        self.tokenizer, self.schemas, self.masks = tokenizer, schemas, ChatMasks(tokenizer)
        self._formats: dict[str, ChatFormat] = {}

    def encode(self, conversation: TrainingConversation) -> list[TokenizedRow]:
        """One row; of an episode whose context was cut, one for each context."""
        try:
            if conversation.transcript is not None:
                return self._of_transcript(conversation.transcript, conversation)
            if conversation.token_ids is not None:
                self._check_ids(
                    conversation.token_ids,
                    [m["content"] for m in conversation.messages if m["role"] == "assistant"],
                )
                return [TokenizedRow(conversation.token_ids, conversation.loss_mask or [])]
            return [
                TokenizedRow(
                    *self.masks.encode(
                        conversation.messages, conversation.tools, conversation.train
                    )
                )
            ]
        except UserError as error:
            raise UserError(f"{conversation.where}: {error}") from None

    def _of_transcript(
        self, transcript: Transcript, conversation: TrainingConversation
    ) -> list[TokenizedRow]:
        turns = [(segment.role, segment.text) for segment in transcript.segments]
        if transcript.has_tokens:
            self._check_ids(
                transcript.token_ids, [text for role, text in turns if role == "assistant"]
            )
            return [TokenizedRow(ids, mask) for _, ids, mask in transcript.sequences]
        roles = [role for role, _ in turns]
        if roles[:2] != ["system", "user"] or set(roles[2:]) - {"assistant", "tool"}:
            raise UserError(
                "a transcript begins with system and user and goes on with assistant and tool;"
                f" found {', '.join(roles[:4])}."
            )
        chat = self._chat(conversation.tools if conversation.says_tools else self.schemas)
        cut = transcript.stop_reason == StopReason.MAX_TURN_TOKENS
        return [
            TokenizedRow(
                *as_episode(
                    chat,
                    [turns[n] for n in seen],
                    [n in own for n in seen],
                    cut=cut and seen[-1] == len(turns) - 1,
                )
            )
            for seen, own in transcript.contexts
        ]

    def _chat(self, tools: list[dict[str, Any]] | None) -> ChatFormat:
        key = repr(tools)
        if key not in self._formats:
            self._formats[key] = ChatFormat(self.tokenizer, tools)
        return self._formats[key]

    def _check_ids(self, ids: list[int], turns: list[str]) -> None:
        """Ids mean something to the tokenizer that made them alone."""
        if max(ids, default=0) >= len(self.tokenizer) or (
            turns and turns[-1] not in self.tokenizer.decode(ids, skip_special_tokens=False)
        ):
            raise UserError(
                "its token ids are of another tokenizer than this model's. Export the texts alone,"
                " or start from that model."
            )
